#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "profile/table.h"
#include "profile/where.h"

#define SAID  4
#define LEAST 20 /* a part of the first item: smaller ones are not said alone */

const char *where_what_name(unsigned what)
{
    static const char *const names[WHERE_WHATS] = {[WHERE_THROUGHOUT] = "throughout", [WHERE_LAYERS] = "layers",
                                                   [WHERE_BUCKET] = "bucket",         [WHERE_BUCKETS] = "buckets",
                                                   [WHERE_MESSAGE] = "message",       [WHERE_MESSAGES] = "messages",
                                                   [WHERE_COMM] = "communication",    [WHERE_PEER] = "peer",
                                                   [WHERE_PEERS] = "peers",           [WHERE_COPIES] = "copies",
                                                   [WHERE_IDLING] = "idle",           [WHERE_EXPOSED] = "exposed",
                                                   [WHERE_REST] = "rest"};
    if (what >= WHERE_PHASE_LAYERS && what < WHERE_PHASE)
        return "layers";
    return what >= WHERE_PHASE && what < WHERE_BUCKET ? "phase" : what < WHERE_WHATS ? names[what] : "?";
}

char *where_layers(const struct where *w, const struct where_item *item)
{
    const struct layer_row *layers = w->t.layers;
    if (item->what == WHERE_THROUGHOUT || item->layer0 == OP_NONE)
        return NULL;
    const uint32_t first = item->layer0, last = item->layer1 - 1;
    const bool begins = first == 0 || g_strcmp0(layers[first - 1].block, layers[first].block),
               ends = last + 1 == w->t.n_layers || g_strcmp0(layers[last + 1].block, layers[last].block);
    if (first == last)
        return printable(layers[first].name);
    if (!g_strcmp0(layers[first].block, layers[last].block) && begins && ends)
        return printable(layers[first].block);
    g_autofree char *from = printable(begins ? layers[first].block : layers[first].name),
                    *to = printable(ends ? layers[last].block : layers[last].name);
    return g_strdup_printf("%s to %s", from, to);
}

unsigned where_main_items(const struct where *w)
{
    unsigned n = 0;
    while (n < w->n_items && n < SAID && w->items[n].what != WHERE_REST &&
           llabs(w->items[n].ns) * LEAST >= llabs(w->items[0].ns))
        n++;
    return n;
}

static char *number(const char *format, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(text, sizeof text, format, x));
}

/* "12.4 ms", "850 ns": three digits or more. */
static char *duration(int64_t ns)
{
    const double x = fabs((double)ns);
    if (x < 1e3)
        return g_strdup_printf("%.0f ns", x);
    const double size = x < 1e6 ? 1e3 : x < 1e10 ? 1e6 : 1e9;
    g_autofree char *text = number(x / size < 10 ? "%.2f" : "%.1f", x / size);
    return g_strdup_printf("%s %s", text, size < 1e6 ? "µs" : size < 1e9 ? "ms" : "s");
}

static void say_ranks(const struct where *w, const struct where_item *item, GString *out)
{
    if (w->t.n_ranks < 2 || !w->traced)
        return;
    if (item->alike >= w->t.n_ranks)
        g_string_append(out, " on every rank");
    else if (item->alike > 1)
        g_string_append_printf(out, " on rank %u and %u other%s", w->rank, item->alike - 1, item->alike > 2 ? "s" : "");
    else
        g_string_append_printf(out, " on rank %u", w->rank);
}

static void say_times(const struct where_item *item, const char *of_what, GString *out)
{
    g_autofree char *times = number("%.2f", item->times);
    if (item->times > 0)
        g_string_append_printf(out, " (%s%s times as long)", of_what, times);
}

/* What a transfer takes more may be its own, or only no longer hidden. */
static void say_transfer(const struct where_item *item, GString *out)
{
    if (item->times > 0 && (item->times - 1) * (item->ns > 0 ? 1 : -1) < 0.01)
        g_string_append(out, item->ns > 0 ? " (as long as before, but less of it beside computation)"
                                          : " (as long as before, but more of it beside computation)");
    else
        say_times(item, "", out);
}

static void say_computation(const struct where *w, const struct where_item *item, GString *out)
{
    g_autofree char *layers = where_layers(w, item);
    const char *phase = item->phase < PHASES ? phase_name(item->phase) : NULL;
    if (item->what == WHERE_THROUGHOUT)
        g_string_append(out, "in all computation");
    else if (layers && phase)
        g_string_append_printf(out, "in %s of %s", phase, layers);
    else
        g_string_append_printf(out, "in %s", layers ? layers : phase ? phase : "computation");
    say_ranks(w, item, out);
    say_times(item, item->what == WHERE_THROUGHOUT ? "throughout " : "", out);
}

static void say_what(const struct where *w, const struct where_item *item, GString *out)
{
    switch (item->what) {
    case WHERE_BUCKET:
        g_string_append_printf(out, "in the exposed all-reduce of bucket %u", item->bucket);
        break;
    case WHERE_BUCKETS:
        g_string_append(out, "in the exposed all-reduces of several buckets");
        break;
    case WHERE_MESSAGE:
        g_string_append_printf(out, "in messages between rank %u and rank %u", w->rank, item->peer);
        break;
    case WHERE_MESSAGES:
        g_string_append_printf(out, "in messages of rank %u", w->rank);
        break;
    case WHERE_COMM:
        g_string_append(out, "in communication");
        break;
    case WHERE_PEER:
        g_string_append_printf(out, "in waiting for rank %u", item->peer);
        return;
    case WHERE_PEERS:
        g_string_append(out, "in waiting for other ranks");
        return;
    case WHERE_COPIES:
        g_string_append(out, "in copies");
        return;
    case WHERE_IDLING:
        g_string_append(out, "idle");
        return;
    case WHERE_EXPOSED:
        g_string_append(out, "in exposed communication");
        return;
    default:
        say_computation(w, item, out);
        return;
    }
    say_transfer(item, out);
}

static bool is_seen_from(const struct where_item *item)
{
    return item->what >= WHERE_BUCKET && item->what <= WHERE_IDLING;
}

static void say_items(const struct where *w, GString *out)
{
    const unsigned n = where_main_items(w);
    int64_t left_ns = w->step_ns[1] - w->step_ns[0];
    bool seen = false;
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *time = duration(w->items[i].ns);
        g_string_append_printf(out, "%s %s %s ", i ? "," : ":", time, w->items[i].ns > 0 ? "more" : "less");
        say_what(w, &w->items[i], out);
        left_ns -= w->items[i].ns;
        seen |= is_seen_from(&w->items[i]);
    }
    if (left_ns) {
        g_autofree char *time = duration(left_ns);
        g_string_append_printf(out, "%s %s %s %s", n ? "," : ":", time, left_ns > 0 ? "more" : "less",
                               w->traced ? "elsewhere" : "idle or in what the reports do not tell apart");
    }
    if (seen && w->t.n_ranks > 1)
        g_string_append_printf(out, "; seen from rank %u, which is busy longest", w->rank);
}

static void say_clock(const struct where *w, GString *out)
{
    const double percent = 100 * fabs(w->clock - 1);
    g_autofree char *text = number("%.0f", percent);
    if (w->clock > 0 && percent >= 1)
        g_string_append_printf(out, "; GPU clock %s %% %s", text, w->clock < 1 ? "lower" : "higher");
}

char *where_sentence(const struct where *w, const char *base, const char *new)
{
    const int64_t ns = w->step_ns[1] - w->step_ns[0];
    GString *out = g_string_new(NULL);
    g_autofree char *time = duration(ns),
                    *percent = number("%.1f", w->step_ns[0] ? 100 * fabs((double)ns) / (double)w->step_ns[0] : 0);
    if (ns)
        g_string_append_printf(out, "%s is %s (%s %%) %s than %s", new, time, percent, ns > 0 ? "slower" : "faster",
                               base);
    else
        g_string_append_printf(out, "%s takes as long as %s", new, base);
    say_items(w, out);
    say_clock(w, out);
    return g_string_free(out, FALSE);
}

/* --- JSON */

static void index_member(const char *key, uint32_t value, GString *out)
{
    if (value != OP_NONE)
        g_string_append_printf(out, ", \"%s\": %u", key, value);
}

static void layer_members(const struct where *w, uint32_t layer0, uint32_t layer1, GString *out)
{
    if (layer0 >= w->t.n_layers)
        return;
    g_string_append(out, ", \"layers\": [");
    for (uint32_t i = layer0; i < layer1 && i < w->t.n_layers; i++) {
        g_string_append(out, i > layer0 ? ", " : "");
        json_string(out, w->t.layers[i].name);
    }
    g_string_append_c(out, ']');
}

static void item_json(const struct where *w, const struct where_item *item, const char *before, GString *out)
{
    g_string_append_printf(out, "%s\n   {\"what\": \"%s\", \"ns\": %" G_GINT64_FORMAT, before,
                           where_what_name(item->what), item->ns);
    if (item->phase < PHASES)
        g_string_append_printf(out, ", \"phase\": \"%s\"", phase_name(item->phase));
    if (item->what != WHERE_THROUGHOUT)
        layer_members(w, item->layer0, item->layer1, out);
    if (item->what == WHERE_BUCKET)
        index_member("bucket", item->bucket, out);
    if (item->what == WHERE_MESSAGE || item->what == WHERE_PEER)
        index_member("peer", item->peer, out);
    if (item->times > 0) {
        g_string_append(out, ", \"times\": ");
        json_double(out, item->times);
    }
    if (item->alike)
        g_string_append_printf(out, ", \"ranks_alike\": %u", item->alike);
    g_string_append_c(out, '}');
}

static void part_json(const struct where *w, const struct where_part *p, const char *before, GString *out)
{
    g_string_append_printf(out, "%s\n   {\"kind\": \"%s\"", before, where_kind_name(p->key.kind));
    if (p->key.op < OP_KINDS)
        g_string_append_printf(out, ", \"op\": \"%s\"", op_name(p->key.op));
    layer_members(w, p->key.layer0, p->key.layer1, out);
    index_member("bucket", p->key.bucket, out);
    index_member("peer", p->key.peer, out);
    g_string_append_printf(out, ", \"base_ns\": %" G_GINT64_FORMAT ", \"new_ns\": %" G_GINT64_FORMAT "}", p->ns[0],
                           p->ns[1]);
}

void where_json(const struct where *w, const char *base, const char *new, GString *out)
{
    g_autofree char *sentence = where_sentence(w, base, new);
    g_string_append(out, "{\"sentence\": ");
    json_string(out, sentence);
    g_string_append_printf(out, ",\n  \"of\": \"%s\", \"base_ns\": %" G_GINT64_FORMAT ", \"new_ns\": %" G_GINT64_FORMAT,
                           w->traced ? "traces" : "reports", w->step_ns[0], w->step_ns[1]);
    index_member("rank", w->rank, out);
    if (w->clock > 0) {
        g_string_append(out, ", \"clock\": ");
        json_double(out, w->clock);
    }
    g_string_append(out, ",\n  \"items\": [");
    for (unsigned i = 0; i < w->n_items; i++)
        item_json(w, &w->items[i], i ? "," : "", out);
    g_string_append(out, "],\n  \"parts\": [");
    for (uint32_t i = 0; i < w->n_parts; i++)
        part_json(w, &w->parts[i], i ? "," : "", out);
    g_string_append(out, "]}");
}
