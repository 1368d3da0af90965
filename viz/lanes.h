/* viz/lanes.h -- paints the lanes of one rank, and the legend that explains them. */
#ifndef VIZ_LANES_H
#define VIZ_LANES_H

#include "plan/op.h"
#include "viz/pen.h"
#include "viz/rows.h"

struct lane_style {
    double lane, strip; /* height of a lane, and of what lies between the two: ready marks */
    double strength;    /* of the colours, palette_tint */
    bool comm, marks;   /* whether there is a comm lane, and ready marks above it */
};

double lanes_height(const struct lane_style *);
double lanes_comm_y(const struct lane_style *, double y); /* top of the comm lane */
void lanes_paint(const struct pen *, const struct axis *, const struct tables *, const struct row *,
                 const struct lane_style *, double y);

/* A set of enum role, and of what has no colour of its own. */
#define LEGEND_READY ROLES
#define LEGEND_ALL   UINT32_MAX
uint32_t legend_of(const struct step_rows *, double ns_per_unit,
                   bool marks); /* what the simplified rows show */
/* Paints the entries of the set from left to right, in lines of that height; returns how many lines that
 * took. Without `paint` it only counts. */
unsigned legend_paint(const struct pen *, uint32_t set, double x, double y, double width, double line,
                      bool paint);

#endif
