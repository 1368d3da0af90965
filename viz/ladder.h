/* viz/ladder.h -- ranks as columns, what they hold as rows of boxes, and what happens between two rows as arrows:
 * how figures show a collective by its hops and a step by its stages.  Beside each row stands what happens after it.
 * Lengths are units of the pen.
 */
#ifndef VIZ_LADDER_H
#define VIZ_LADDER_H

#include "viz/frame.h"

/* Of more ranks than columns, the last but one column stands for those left out. */
struct ladder {
    const struct frame *frame;
    double x0, gutter;          /* left edge; width of what stands beside */
    double top, box, pitch;     /* of the first row of boxes; height of a box; from a row to the next */
    double column, width;       /* from a column to the next; width of a box */
    uint32_t n_ranks, n_columns;
    uint32_t rows;              /* that fit: at most those asked for */
};

/* Divides the area; a head of rank names is part of it.  No more than most columns.  False: no two rows or, of several
 * ranks, no two columns fit. */
bool ladder_make(struct ladder *, const struct frame *, double x0, double x1, double y0, double y1, double gutter,
                 uint32_t n_ranks, uint32_t most, uint32_t rows);
/* Where its last row ends. */
double ladder_end(const struct ladder *);

/* The column of a rank, and the rank of a column: OP_NONE for those left out. */
uint32_t ladder_column(const struct ladder *, uint32_t rank);
uint32_t ladder_rank(const struct ladder *, uint32_t column);
double ladder_middle(const struct ladder *, uint32_t column); /* x */
double ladder_row(const struct ladder *, uint32_t row);       /* y of the boxes' upper edge */

double ladder_head(const struct ladder *); /* y of the middle of the ranks' names, above the first row */
/* What is drawn until the end is a column's: one group, of its rank. */
void ladder_begin_column(const struct ladder *, uint32_t column);
void ladder_end_column(const struct ladder *, uint32_t column);
void ladder_name(const struct ladder *, uint32_t column); /* of the rank, over its column */
/* The first of the n texts that fits, in large letters, and below it, where there is room, the second one if it fits; it
 * may be NULL.  In the column of those left out only an ellipsis.  text NULL: an empty box. */
void ladder_box(const struct ladder *, uint32_t row, uint32_t column, struct shade, unsigned n,
                const char *const *texts, const char *second);
/* From a row to the next one. */
void ladder_arrow(const struct ladder *, uint32_t row, uint32_t from_column, uint32_t to_column, uint32_t color,
                  bool dashed);
/* What happens between a row and the next: a name and, below or behind it, numbers. */
void ladder_beside(const struct ladder *, uint32_t row, const char *name, const char *numbers);

/* A line that ends in a head. */
void ladder_line_to(const struct pen *, double x0, double y0, double x1, double y1, uint32_t color, bool dashed);

#endif
