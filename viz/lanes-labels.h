/* viz/lanes-labels.h -- what viz/lanes.c and its labels share: where cells are, how they look, and what
 * stands on them. */
#ifndef VIZ_LANES_LABELS_H
#define VIZ_LANES_LABELS_H

#include "viz/lanes.h"

/* Where something lies on the axis. */
struct extent {
    double x, w;
};

struct extent lanes_extent(const struct axis *, int64_t start_ns, int64_t end_ns);
struct shade lanes_shade(const struct pen *, const struct tables *, const struct lane_style *,
                         const struct cell *);
/* What is drawn next is of that cell. */
void lanes_belong(const struct pen *, const struct tables *, const struct cell *);

/* Names of cells on the lane of a rank, whose cells these are, as the style's labels say. */
void lanes_label_compute(const struct pen *, const struct axis *, const struct tables *, const GArray *cells,
                         const struct lane_style *, double y);
void lanes_label_comm(const struct pen *, const struct axis *, const struct tables *, const struct row *,
                      const struct cell *, const struct lane_style *, double y);

#endif
