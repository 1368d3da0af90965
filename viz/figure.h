/* viz/figure.h -- figures of traces, reports and sweeps.  One file a kind, each ending in its descriptor. */
#ifndef VIZ_FIGURE_H
#define VIZ_FIGURE_H

#include "profile/analyze.h"
#include "profile/digest.h"
#include "profile/measurement.h"
#include "profile/series.h"
#include "profile/trace.h"
#include "viz/draw.h"
#include "viz/lang.h"
#include "viz/palette.h"
#include "viz/pen.h"

/* What there is: a run has trace, analysis and digest; a report only a digest; a sweep only a series; a
 * history only runs.  What is not
 * there is NULL; a figure says what it lacks. */
struct figure_input {
    const struct trace *trace;
    const struct analysis *analysis;
    const struct digest *digest;
    const struct series *series;
    const char *name;             /* of the overlap that the trace is of, "backward"; may be NULL */
    const char *file;             /* of the file that the trace is from; NULL: none */
    const struct variant *others; /* the same step with other overlaps, to compare with: the first one most */
    uint32_t n_others;
    struct measurement *const *runs; /* of a history, the oldest first */
    uint32_t n_runs;
};

/* What the colours of cells tell apart. */
enum color_by { COLOR_BY_KIND, COLOR_BY_STAGE, COLOR_BY_MICRO, COLOR_BY_BUCKET };

/* How a figure looks.  All 0 but the size is the standard look. */
struct figure_options {
    double width, height; /* px; 1280 x 720 */
    const char *caption;  /* extra text of the caption, may be NULL */
    bool normalise;       /* breakdown: times as parts of the first step of their group */
    bool outlines;        /* as in struct canvas, as the next ones */
    double dpi;
    bool transparent, ascii;
    const char *font;
    GString *missing;
    const struct palette *palette; /* NULL: light */
    const struct language *lang;   /* NULL: English */
    double font_scale;             /* 0: 1 */
    const char *title;             /* NULL: the figure's own; "": none */
    bool no_legend, no_caption;
    const char *rank_name; /* NULL: the language's word */
    bool ranks_up;         /* rank 0 is the lowest row */
    uint32_t count_from;   /* number of the first rank, stage, micro-batch and bucket: 0 or 1 */
    uint8_t color_by;      /* enum color_by */
    bool late;             /* grid: forwards of the warm-up as late as their consumers allow */
    /* timeline */
    uint32_t step;           /* counted from 1; 0: the median */
    int64_t from_ns, to_ns;  /* of the step; to_ns 0: its end */
    bool from_first_layer;       /* buckets: numbered from the first layer, not in launch order */
    bool critical;           /* what the step's length hangs on is outlined */
    const char *notes;       /* "TEXT@SPAN", several with ; between them; NULL: none */
};

struct figure {
    const char *name, *summary;
    /* Draws onto a canvas that is begun.  False: the input lacks what the figure needs, and why. */
    bool (*draw)(const struct figure_input *, const struct pen *, GError **);
};

extern const struct figure figure_timeline, figure_breakdown, figure_memory, figure_sweep, figure_grid,
    figure_overlap, figure_buckets, figure_compare, figure_trend;
extern const struct figure figure_allreduce, figure_dp, figure_ddp;
extern const struct figure *const figures[]; /* ends with NULL */
const struct figure *figure_find(const char *name);

/* Whether that canvas can be drawn on, before there is anything to draw: not too small to read, not too large to open. */
bool figure_fits(const struct figure *, const struct figure_options *, const struct draw_ops *, GError **);

/* A canvas for the figure.  NULL also where it is too small to read or too large to open. */
struct draw *figure_begin(const struct figure *, const struct figure_input *, const struct figure_options *,
                          const struct draw_ops *, GError **);
/* The figure and its notes, onto a canvas that is begun. */
bool figure_draw(const struct figure *, const struct figure_input *, const struct figure_options *,
                 const struct draw_ops *, struct draw *, GError **);
/* begin, draw, finish: the whole file's bytes.  NULL also for a canvas that is too small to read or too large
 * to open. */
GBytes *figure_render(const struct figure *, const struct figure_input *, const struct figure_options *,
                      const struct draw_ops *, GError **);

#endif
