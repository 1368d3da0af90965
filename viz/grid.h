/* viz/grid.h -- what figure grid places (grid.c), paints (grid-paint.c) and writes (grid-labels.c).  Lengths are units of the pen. */
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
    double letter, digits; /* ems, of the widest letter and the widest number */
};

struct box {
    double x, y, w, h;
    uint32_t rank;
    struct shade shade;
    size_t block;
    bool numbered; /* its label has the number of its micro-batch */
};

/* In both. */
#define NOTE_HEIGHT 20.0 /* above the rows */
#define CELL_GAP    1.0
#define LABEL_AIR   1.2
#define BAR         3.0 /* width of an update that takes no time */
#define MIN_TEXT    14.0
#define MAX_TEXT    24.0
#define MIN_VERSION 14.0

bool grid_has_kind(const struct pipeline_times *, unsigned kind);
/* From the first action's start to the last end of anything. */
int64_t grid_span_ns(const struct pipeline_times *);
/* As the figure counts micro-batches. */
uint32_t grid_number(const struct grid *, const struct pipeline_action *);

/* How wide labels are. */
void grid_measure(struct grid *);
/* What a cell says, right of the bar of an update before it.  True: its number is seen. */
bool grid_label(const struct grid *, const struct box *, double bar);
/* All but title, legend and caption. */
void grid_paint(const struct grid *);

#endif
