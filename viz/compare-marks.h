/* viz/compare-marks.h -- what differs in a rank's lanes, cell by cell: a bar as long as the difference at the
 * end of the cell, full where it takes longer and hollow where it takes shorter, and in words where there is
 * room. */
#ifndef VIZ_COMPARE_MARKS_H
#define VIZ_COMPARE_MARKS_H

#include "viz/deltas.h"
#include "viz/frame.h"

#define MARKS_BAND                                                                                           \
    7.0 /* height that bars need, above the lane of computation and below that of communication */

struct marks_place {
    const struct axis *axis;
    double compute_y, comm_y; /* of the bars' upper edges */
    double words_y;           /* middle of the line of words */
    double taken0, taken1;    /* of that line, x of what stands there already; taken1 <= taken0: nothing */
};

/* struct delta of the rank; that of the whole figure that is greatest is named first, in full. */
void compare_marks_paint(const struct frame *, const struct tables *, const GArray *deltas,
                         const struct delta *greatest, uint32_t rank, const struct marks_place *);
/* "+4.2 ms" */
const char *compare_signed(int64_t ns, char text[static 40]);
/* What the bars mean, for frame_legend. */
unsigned compare_marks_legend(const struct pen *, bool longer, bool shorter,
                              struct legend_entry entries[static 2]);

#endif
