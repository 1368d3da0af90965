/* viz/deltas.h -- what of a rank's step takes longer or shorter than the same of another step of the same
 * work.
 *
 * The same are cells of one lane, kind, micro-batch and subject (a block of layers, a bucket, a stage, the
 * peer of a message); several such are compared one by one, or, where the rows have not equally many, as
 * their sum, which stands at the last. Steps are compared from their starts.
 */
#ifndef VIZ_DELTAS_H
#define VIZ_DELTAS_H

#include "viz/rows.h"

struct delta {
    struct cell cell; /* as it is in the second row */
    bool comm;
    int64_t ns; /* how much longer than in the first row; below 0: shorter */
};

/* Smaller ones are no difference: of the first step, and of the cell's own time there. */
#define DELTA_STEP_PART 0.002
#define DELTA_CELL_PART 0.02

/* Of rows that are not simplified yet: struct delta, the greatest first.  What only one of the two has is
 * none.  g_array_unref */
GArray *deltas_find(const struct row *first, const struct row *second, int64_t first_step_ns);

#endif
