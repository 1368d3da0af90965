#include "viz/words.h"

#include <string.h>

#include "viz/layout.h"
#include "viz/rows.h"

#define MIN_MODEL    80.0
#define ABBREVIATION 4 /* letters; modes no longer than that are written in capitals */

static bool is(const char *name, const char *overlap)
{
    return name && g_str_equal(name, overlap);
}

static void message(const struct figure_input *in, char text[static 96])
{
    const struct analysis *a = in->analysis;
    const struct partition *p = &a->partition[(size_t)a->median_step * a->n_ranks + a->slowest_rank];
    const double percent = p->comm_ns > 0 ? 100.0 * (double)p->hidden_comm_ns / (double)p->comm_ns : 0;
    const bool almost = percent >= 99.5 && p->exposed_comm_ns > 0; /* not to be rounded to all of it */
    char number[32];

    if (a->pipeline)
        g_snprintf(text, 96, "ranks idle for %.1f %% of %s", 100 * pipeline_bubble_of_total(a->pipeline),
                   format_duration(a->pipeline->makespan_ns, number));
    else if (p->comm_ns <= 0)
        g_strlcpy(text, "one training step", 96);
    else if (p->hidden_comm_ns <= 0)
        g_snprintf(text, 96, "nothing of %s of communication is hidden", format_duration(p->comm_ns, number));
    else
        g_snprintf(text, 96, "computation hides %s%.0f %% of communication", almost ? "over " : "",
                   almost ? 99 : percent);
}

char *words_headline(const struct pen *pen, const struct figure_input *in, const struct font *font,
                     double width)
{
    const struct tables *t = &in->trace->t;
    const char *mode = t->mode ? t->mode : "step", *model = t->model ? t->model : "unnamed model";
    char what[96];

    message(in, what);
    g_autofree char *name = pen_one_line(mode);
    for (char *c = name; strlen(name) <= ABBREVIATION && *c; c++)
        *c = g_ascii_toupper(*c);
    g_autofree char *ranks = g_strdup_printf(", %u rank%s: %s", t->n_ranks, t->n_ranks == 1 ? "" : "s", what);
    const double left =
        width - pen_width(pen, font, name) - pen_width(pen, font, ", ") - pen_width(pen, font, ranks);
    g_autofree char *short_model = pen_ellipsize(pen, font, model, MAX(left, MIN_MODEL));
    g_autofree char *whole = g_strconcat(name, ", ", short_model, ranks, NULL);
    const bool fits = pen_width(pen, font, whole) <= width;
    return pen_ellipsize(pen, font, fits ? whole : what, width);
}

static void describe_buckets(const struct tables *t, GString *text)
{
    uint64_t least = UINT64_MAX, most = 0;
    char low[32], high[32];

    for (uint32_t i = 0; i < t->n_buckets; i++) {
        least = MIN(least, t->buckets[i].bytes);
        most = MAX(most, t->buckets[i].bytes);
    }
    format_bytes(least, low);
    format_bytes(most, high);
    g_string_append_printf(text, " · %u bucket%s of %s", t->n_buckets, t->n_buckets == 1 ? "" : "s", low);
    if (!g_str_equal(low, high))
        g_string_append_printf(text, " to %s", high);
}

static void describe_pipeline(const struct figure_input *in, GString *text)
{
    const struct pipeline_times *p = in->analysis->pipeline;
    const char *schedule = in->trace->t.schedule;

    g_string_append_printf(text, " · schedule %s", schedule ? schedule : "unknown");
    if (p->n_stages > p->n_ranks)
        g_string_append_printf(text, ", %u stages", p->n_stages);
    if (p->n_rounds > 1)
        g_string_append_printf(text, ", %u steps of", p->n_rounds);
    else
        g_string_append_c(text, ',');
    g_string_append_printf(text, " %u micro-batch%s", p->n_micro / p->n_rounds,
                           p->n_micro / p->n_rounds == 1 ? "" : "es");
    g_string_append_printf(text, " · bubble %.1f %% of the makespan, %.1f %% of the computation",
                           100 * pipeline_bubble_of_total(p), 100 * pipeline_bubble_of_ideal(p));
}

static void describe_step(const struct figure_input *in, GString *text)
{
    const struct trace *t = in->trace;
    const uint32_t micro = rows_micro_batches(t, in->analysis->median_step);

    if (in->name)
        g_string_append_printf(text, " · overlap %s", in->name);
    if (in->analysis->n_steps > 1)
        g_string_append_printf(text, " · step %u of %u, the median", in->analysis->median_step + 1,
                               in->analysis->n_steps);
    if (t->cancelled)
        g_string_append(text, " · interrupted");
    if (in->analysis->pipeline)
        describe_pipeline(in, text);
    else if (micro > 1)
        g_string_append_printf(text, " · %u micro-batches (F3·1: layer 3, micro-batch 1)", micro);
    if (t->t.n_buckets)
        describe_buckets(&t->t, text);
}

char *words_origin(const struct figure_input *in, const struct figure_options *o)
{
    const struct trace *t = in->trace;
    GString *text = g_string_new(NULL);

    g_string_append_printf(text, "%s%s, %s, %u rank%s", t->simulated ? "simulated: " : "",
                           t->t.mode ? t->t.mode : "unknown mode", t->t.model ? t->t.model : "unnamed model",
                           t->t.n_ranks, t->t.n_ranks == 1 ? "" : "s");
    describe_step(in, text);
    for (uint32_t i = 0; i < t->n_labels; i++)
        g_string_append_printf(text, " · %s: %s", t->labels[i].key, t->labels[i].value);
    if (o->caption && *o->caption)
        g_string_append_printf(text, " · %s", o->caption);
    return g_string_free(text, FALSE);
}

char **words_caption(const struct pen *pen, const struct figure_input *in, const struct figure_options *o,
                     const struct font *font, double width)
{
    g_autofree char *text = words_origin(in, o);

    return pen_wrap(pen, font, text, width, pen->height < 500 ? 2 : 4);
}

char *words_overlap(const char *name)
{
    return g_strdup(is(name, "none") ? "no overlap" : name);
}

void words_saved(const char *overlap, bool guessed, int64_t with_ns, int64_t without_ns,
                 char whole[static 128], char brief[static 128])
{
    const int64_t saved_ns = without_ns - with_ns;
    char number[32], percent[32];

    g_ascii_formatd(percent, sizeof percent, "%.1f", 100 * ABS((double)saved_ns) / (double)without_ns);
    format_duration(ABS(saved_ns), number);
    const bool claim = is(overlap, "none") && !(guessed && saved_ns < 0);
    if (claim)
        g_snprintf(brief, 128, "%s %s", saved_ns < 0 ? "costs" : "saves", number);
    else
        g_snprintf(brief, 128, "%s %s", number, saved_ns < 0 ? "longer" : "shorter");
    g_snprintf(whole, 128, "%s%s (%s %%%s)", claim ? "overlap " : "", brief, percent,
               guessed ? " of the predicted" : "");
}
