/* viz/grid.h -- what figure grid places (grid.c) and paints (grid-paint.c).  Lengths are units of the pen. */
#ifndef VIZ_GRID_H
#define VIZ_GRID_H

#include "viz/blocks.h"
#include "viz/frame.h"

struct grid {
    struct frame frame;
    const struct figure_options *o;
    const struct tables *t;
    const struct pipeline_times *p;
    struct blocks blocks;
    double x0, y0, unit, row, cell; /* left and upper edge, width of a unit, distance and height of rows */
    double ns_per_px;               /* time in a unit of the pen */
    double shown_ns;                /* of the pipeline's time */
    double bottom;
    uint32_t rows; /* ranks that are shown */
    struct font font;
};

/* In both. */
#define NOTE_HEIGHT 20.0 /* above the rows */
#define CELL_GAP    1.0
#define LABEL_AIR   2.0
#define BAR         3.0 /* width of an update that takes no time */
#define MIN_TEXT    7.0
#define MAX_TEXT    24.0
#define SMALL_PART  0.6 /* of a text, a version's */

bool grid_has_kind(const struct pipeline_times *, unsigned kind);
/* From the first action's start to the last end of anything. */
int64_t grid_span_ns(const struct pipeline_times *);
/* As wide as the widest label with that letter, or without one. */
const char *grid_widest(const struct grid *, const char *letter, char text[static 32]);

/* All but title, legend and caption. */
void grid_paint(const struct grid *);

#endif
