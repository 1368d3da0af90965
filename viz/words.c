#include "viz/words.h"

#include <string.h>

#include "viz/layout.h"
#include "viz/rows.h"

#define MIN_MODEL    80.0
#define PACED        "paced to " /* how a link's label begins */
#define ABBREVIATION 4           /* letters; modes no longer than that are written in capitals */

static bool is(const char *name, const char *overlap)
{
    return name && g_str_equal(name, overlap);
}

const char *words_percent(double percent, char text[static 32])
{
    return g_ascii_formatd(text, 32, "%.1f", percent);
}

static char *message(const struct language *l, const struct figure_input *in)
{
    const struct analysis *a = in->analysis;
    const struct partition *p = &a->partition[(size_t)a->median_step * a->n_ranks + a->slowest_rank];
    const double percent = p->comm_ns > 0 ? 100.0 * (double)p->hidden_comm_ns / (double)p->comm_ns : 0;
    const bool almost = percent >= 99.5 && p->exposed_comm_ns > 0; /* not to be rounded to all of it */
    char time[32], number[32];

    if (a->pipeline)
        return say(l, "timeline.idle", "percent",
                   words_percent(100 * pipeline_bubble_of_total(a->pipeline), number), "time",
                   format_duration(a->pipeline->makespan_ns, time), NULL);
    if (p->comm_ns <= 0)
        return g_strdup(word(l, a->phase_ns[PHASE_BACKWARD] > 0  ? "timeline.one-step"
                                : a->phase_ns[PHASE_FORWARD] > 0 ? "timeline.forward-alone"
                                                                 : "timeline.some-step"));
    if (p->hidden_comm_ns <= 0)
        return say(l, "timeline.nothing-hidden", "time", format_duration(p->comm_ns, time), NULL);
    g_ascii_formatd(number, sizeof number, "%.0f", almost ? 99 : percent);
    return say(l, almost ? "timeline.hides-over" : "timeline.hides", "percent", number, NULL);
}

char *words_mode(const struct language *l, const char *mode)
{
    char *name = pen_one_line(mode ? word_or(l, "mode", mode) : word(l, "figure.step"));

    for (char *c = name; strlen(name) <= ABBREVIATION && *c; c++)
        *c = g_ascii_toupper(*c);
    return name;
}

char *words_model(const struct language *l, const char *model)
{
    g_autofree char *known = say_known(l, "models", model ? model : word(l, "figure.unnamed-model"));

    return pen_one_line(known);
}

char *words_headline(const struct pen *pen, const struct figure_input *in, double width)
{
    const struct tables *t = &in->trace->t;
    const struct font *font = &pen->title;
    g_autofree char *what = message(pen->lang, in), *mode = words_mode(pen->lang, t->mode);
    g_autofree char *rest = say(pen->lang, "figure.headline", "mode", mode, "model", "", "n",
                                count(t->n_ranks), "message", what, NULL);
    const double left = MAX(width - pen_width(pen, font, rest), MIN_MODEL);
    g_autofree char *models = words_model(pen->lang, t->model),
                    *model = pen_ellipsize(pen, font, models, left);
    g_autofree char *brief =
        say(pen->lang, "figure.headline-brief", "mode", mode, "n", count(t->n_ranks), "message", what, NULL);
    g_autofree char *whole = say(pen->lang, "figure.headline", "mode", mode, "model", model, "n",
                                 count(t->n_ranks), "message", what, NULL);
    if (!g_str_equal(models, model) && pen_width(pen, font, brief) <= width) /* the caption has it */
        return g_steal_pointer(&brief);
    return pen_ellipsize(pen, font, pen_width(pen, font, whole) <= width ? whole : what, width);
}

void words_append(GString *text, const char *part)
{
    if (part && *part)
        g_string_append_printf(text, " · %s", part);
}

static void append_own(GString *text, char *part)
{
    words_append(text, part);
    g_free(part);
}

/* Keys have letters, digits and - alone. */
static const char *value_word(const struct language *l, const char *value)
{
    g_autofree char *key = g_strdelimit(g_strdup(value), " '", '-');
    const char *said = word_or(l, "value", key);

    return said == key ? value : said;
}

void words_append_label(const struct language *l, GString *text, const char *key, const char *value)
{
    const char *on = strstr(value, " on ");
    g_autofree char *what = on ? g_strndup(value, (size_t)(on - value)) : NULL;
    g_autofree char *said =
        g_str_has_prefix(value, PACED) ? say(l, "caption.paced", "n", value + strlen(PACED), NULL)
        : on ? say(l, "caption.on", "what", value_word(l, what), "where", on + strlen(" on "), NULL)
             : g_strdup(value_word(l, value));
    g_autofree char *known = say_known(l, "known", said);
    g_autofree char *name = g_strdelimit(g_strdup(key), " ", '-');
    const char *label = word_or(l, "label", name);

    append_own(text, say(l, "caption.label", "key", label == name ? key : label, "value", known, NULL));
}

GString *words_work(const struct language *l, bool simulated, const char *mode, const char *model,
                    uint32_t ranks)
{
    g_autofree char *models = words_model(l, model);
    g_autofree char *work = say(l, simulated ? "caption.simulated" : "caption.work", "mode",
                                mode ? word_or(l, "mode", mode) : word(l, "caption.unknown-mode"), "model",
                                models, "n", count(ranks), NULL);

    return g_string_new(work);
}

static void describe_buckets(const struct language *l, const struct tables *t, GString *text)
{
    uint64_t least = UINT64_MAX, most = 0;
    char low[32], high[32];

    for (uint32_t i = 0; i < t->n_buckets; i++) {
        least = MIN(least, t->buckets[i].bytes);
        most = MAX(most, t->buckets[i].bytes);
    }
    format_bytes(least, low);
    format_bytes(most, high);
    if (g_str_equal(low, high))
        append_own(text, say(l, "caption.buckets", "n", count(t->n_buckets), "size", low, NULL));
    else
        append_own(text, say(l, "caption.buckets-between", "n", count(t->n_buckets), "least", low, "most",
                             high, NULL));
}

static void describe_pipeline(const struct language *l, const struct figure_input *in, GString *text)
{
    const struct pipeline_times *p = in->analysis->pipeline;
    const char *schedule = in->trace->t.schedule;
    char total[32], ideal[32];

    append_own(
        text, say(l, "caption.schedule", "schedule", schedule ? schedule : word(l, "caption.unknown"), NULL));
    if (p->n_stages > p->n_ranks)
        append_own(text, say(l, "caption.stages", "n", count(p->n_stages), NULL));
    append_own(text, p->n_rounds > 1 ? say(l, "caption.rounds", "rounds", count(p->n_rounds), "n",
                                           count(p->n_micro / p->n_rounds), NULL)
                                     : say(l, "caption.micro", "n", count(p->n_micro), NULL));
    append_own(text,
               say(l, "caption.bubble", "total", words_percent(100 * pipeline_bubble_of_total(p), total),
                   "ideal", words_percent(100 * pipeline_bubble_of_ideal(p), ideal), NULL));
}

static void describe_step(const struct language *l, const struct figure_input *in, uint32_t step,
                          uint32_t from, GString *text)
{
    const struct trace *t = in->trace;
    const uint32_t micro = rows_micro_batches(t, step);

    if (in->name)
        append_own(text, say(l, "caption.overlap", "overlap", word_or(l, "overlap", in->name), NULL));
    if (in->analysis->n_steps > 1)
        append_own(text, say(l, step == in->analysis->median_step ? "caption.median-step" : "caption.step",
                             "i", count(step + 1), "n", count(in->analysis->n_steps), NULL));
    if (t->cancelled)
        words_append(text, word(l, "caption.interrupted"));
    if (in->analysis->pipeline)
        describe_pipeline(l, in, text);
    else if (micro > 1)
        append_own(text, say(l, "caption.micro-names", "n", count(micro), "i", count(1 + from), NULL));
    if (t->t.n_buckets)
        describe_buckets(l, &t->t, text);
}

char *words_origin(const struct pen *pen, const struct figure_input *in, uint32_t step)
{
    const struct trace *t = in->trace;
    GString *text = words_work(pen->lang, t->simulated, t->t.mode, t->t.model, t->t.n_ranks);

    describe_step(pen->lang, in, step, pen->look->count_from, text);
    for (uint32_t i = 0; i < t->n_labels; i++)
        words_append_label(pen->lang, text, t->labels[i].key, t->labels[i].value);
    words_append(text, pen->look->caption);
    return g_string_free(text, FALSE);
}

/* An overlap's, or where there is none a mode's. */
static const char *words_of(const struct language *l, const char *name)
{
    const char *said = word_or(l, "overlap", name);
    return said == name ? word_or(l, "mode", name) : said;
}

char *words_overlap(const struct language *l, const char *name)
{
    return g_strdup(is(name, "none") ? word(l, "figure.no-overlap") : words_of(l, name));
}

const char *words_made(const struct language *l, bool simulated, bool predicted)
{
    return word(l, !simulated ? "figure.measured" : predicted ? "figure.predicted" : "figure.simulated");
}

void words_saved(const struct language *l, const char *overlap, bool guessed, int64_t with_ns,
                 int64_t without_ns, char **whole, char **brief)
{
    const int64_t saved_ns = without_ns - with_ns;
    const bool claim = is(overlap, "none") && !(guessed && saved_ns < 0);
    const char *const key =
        claim ? (saved_ns < 0 ? "costs" : "saves") : (saved_ns < 0 ? "longer" : "shorter");
    char time[32], number[32];
    g_autofree char *brief_key = g_strconcat("timeline.", key, NULL),
                    *whole_key = g_strconcat(brief_key, "-percent", guessed ? "-predicted" : "", NULL);

    words_percent(100 * ABS((double)saved_ns) / (double)without_ns, number);
    format_duration(ABS(saved_ns), time);
    *brief = say(l, brief_key, "time", time, NULL);
    *whole = say(l, whole_key, "time", time, "percent", number, NULL);
}
