/* viz/layout.h -- what figures over time share: an axis, cells on lanes, how much detail a pixel can hold,
 * and how numbers and names are written.  Knows neither a library nor a trace. */
#ifndef VIZ_LAYOUT_H
#define VIZ_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Time from from_ns, for span_ns, above 0, lies on [x0, x1]. */
struct axis {
    int64_t from_ns, span_ns;
    double x0, x1;
};

double axis_x(const struct axis *, int64_t ns); /* never outside [x0, x1] */
double axis_ns_per_unit(const struct axis *);   /* ns that one unit of x holds */
/* Distance of ticks: 1, 2 or 5 times a power of ten, not closer together than min_distance. */
int64_t axis_tick_ns(const struct axis *, double min_distance);

/* The unit in which an axis of that span is read ("ms"), and a tick written in it without the unit. */
const char *axis_unit(int64_t span_ns);
void axis_tick_text(int64_t span_ns, int64_t tick_ns, int64_t at_ns, char text[static 32]);

const char *format_duration(int64_t ns, char text[static 32]);  /* "59.2 ms"; returns text */
/* "59.2ms" or "59.2 ms", in s, ms, us, µs or ns; false: it is no such time. */
bool parse_duration(const char *text, double *ns);
const char *format_bytes(uint64_t bytes, char text[static 32]); /* "25.0 MiB" */

/* Something drawn as one box of a lane. */
struct cell {
    int64_t start_ns, end_ns;
    int64_t own_ns; /* of that, what is about its subject; cells_order sets it */
    /* What it is about: neighbours that agree in role, kind and these are one cell. */
    uint32_t first, last, micro;
    uint8_t role, kind;
    const char *name; /* of the kernel that most of it is, borrowed; NULL: none has one */
    int64_t name_ns;  /* of own_ns, that kernel's; cells_order sets it */
    /* Of many that are too thin to be drawn: the part of the time that is theirs, and that of the cells that
     * are drawn below it, both of 1.  share 0: it is one. */
    double share, below;
};

/* Sorts, and cuts what overlaps the cell before it; cells without length go. */
void cells_order(GArray *cells);
/* Joins neighbours at most gap_ns apart if they are about the same thing, but for kernels of several names that are all
 * long beside min_ns, or one is shorter than min_ns: the one with more time of its own then stands for both.  The cells
 * are ordered. */
void cells_merge(GArray *cells, double gap_ns, double min_ns);
const char *cell_kernel(const struct cell *); /* the kernel that stands for it; NULL: it is several, or has no name */
bool cell_is_itself(const struct cell *); /* it has not grown by so much else that its name would mislead */

/* What stands for a block in a cell: the number that its name ends in ("layer3": "3"), else a few letters of
 * it
 * ("embeddings": "emb"). */
void block_short(const char *block, char text[static 20]);
bool block_numbered(const char *block);

#endif
