/* viz/lanes.h -- paints the lanes of one rank, and the legend that explains them. */
#ifndef VIZ_LANES_H
#define VIZ_LANES_H

#include "plan/op.h"
#include "viz/frame.h"
#include "viz/pen.h"
#include "viz/rows.h"

/* What stands on the cells of a kind of operation, which viz/lanes-labels.c knows. */
struct lane_label {
    unsigned form;
    double size; /* of the letters, at most; a low lane has smaller ones.  0: no cell is of that kind */
};

struct lane_labels {
    struct lane_label of[OP_KINDS];
};

/* Rows whose lanes have one height. */
struct lane_rows {
    const struct tables *t;
    const struct row *rows;
    uint32_t n;
    double lane;
};

/* One way for all lanes of a figure: cells of one kind have one size and form, the largest at which nearly
 * all of them fit, down to 14 px; all micro-batches of a pipeline have one.  Where letter and number do not
 * fit beside one another they are stacked, else the number stands alone, else nothing does.  The rows are
 * simplified. */
struct lane_labels lanes_choose_labels(const struct pen *, const struct axis *, unsigned n,
                                       const struct lane_rows *);

struct lane_style {
    double lane, strip; /* height of a lane, and of what lies between the two: ready marks */
    double strength;    /* of the colours, palette_tint */
    bool comm, marks;   /* whether there is a comm lane, and ready marks above it */
    bool spans;         /* cells say what they are when pointed at */
    const struct lane_labels *labels;
};

double lanes_height(const struct lane_style *);
double lanes_comm_y(const struct lane_style *, double y); /* top of the comm lane */
void lanes_paint(const struct pen *, const struct axis *, const struct tables *, const struct row *,
                 const struct lane_style *, double y);

/* The longest name of a cell, "B3", "bucket 2"; g_free. */
char *lanes_name(const struct pen *, const struct tables *, const struct cell *, bool comm);

/* The number by which the look tells cells apart; OP_NONE: this one has none. */
uint32_t lanes_number(const struct pen *, const struct tables *, const struct cell *);
#define LANES_OTHERS 0.35 /* strength of what it does not tell apart */

/* Entries of the legend for what the simplified rows show; their texts live as long as the language, or as
 * `texts`. */
#define LANES_LEGEND_MAX 28
unsigned lanes_legend(const struct pen *, const struct step_rows *, const struct tables *, double ns_per_unit,
                      bool marks, GPtrArray *texts, struct legend_entry entries[static LANES_LEGEND_MAX]);

#endif
