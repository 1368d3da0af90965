/* tests/subject.h -- what figures are drawn of in tests: runs, reports, sweeps and histories, made at random or of a scene. */
#ifndef TESTS_SUBJECT_H
#define TESTS_SUBJECT_H

#include "tests/check-drawn.h"
#include "tests/scene.h"
#include "viz/figure.h"

struct subject {
    struct trace trace, other;
    struct analysis analysis, other_analysis;
    struct digest digest, own; /* by hand; of the trace */
    struct series series;
    struct variant variant;
    struct figure_input run, report, sweep, pair;
    struct trace reduced_trace, scattered_trace; /* DDP with hops, DataParallel */
    struct analysis reduced_analysis, scattered_analysis;
    struct figure_input reduced, scattered;
    GPtrArray *runs; /* of a history */
    struct figure_input history;
};

/* At random, from GLib's seed. */
void subject_make(struct subject *, bool pipeline);
void subject_release(struct subject *);
/* Whether it has what the figure draws, and which of its inputs that is. */
bool subject_suits(const struct subject *, const struct figure *);
const struct figure_input *subject_input(const struct subject *, const struct figure *);

/* A run of DDP alone, in `run`; the release is of any that has no more than `trace`, `analysis` and `own`. */
void subject_of_ddp(struct subject *, const struct scene_spec *);
void subject_of_ddp_release(struct subject *);

/* NULL: refused, with the reason. */
static inline struct draw *draw(const struct figure *f, const struct figure_input *in,
                         const struct figure_options *o, GError **error)
{
    struct draw *d =
        draw_list.begin(&(struct canvas){.width = o->width, .height = o->height, .title = "t"}, NULL);
    drawn_with = o->palette;
    if (figure_draw(f, in, o, &draw_list, d, error))
        return d;
    draw_list.cancel(d);
    return NULL;
}

static inline const struct item *find_text(const struct draw *d, const char *text)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && !strcmp(item_at(d, i)->text, text))
            return item_at(d, i);
    g_error("no text '%s'", text);
}

/* The span of that tag which comes first. */
static inline const struct item *find_span(const struct draw *d, const char *tag, unsigned nth)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->kind == ITEM_SPAN && g_str_has_prefix(item_at(d, i)->name, tag) && !nth--)
            return item_at(d, i);
    g_error("no span '%s'", tag);
}

static inline bool has_text(const struct draw *d, const char *part)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && strstr(item_at(d, i)->text, part))
            return true;
    return false;
}

#endif
