/* viz/rows.h -- one step of a trace as rows of cells, a row a rank.  Times count from the start of the step.
 */
#ifndef VIZ_ROWS_H
#define VIZ_ROWS_H

#include "profile/analyze.h"
#include "profile/interval.h"
#include "profile/trace.h"
#include "viz/layout.h"

/* A bucket that became ready, and the start of its communication, never before. */
struct ready_mark {
    int64_t ready_ns, start_ns;
    uint32_t bucket;
};

struct row {
    uint32_t rank;
    /* Cells.  first and last are layers, the first of their blocks, or LAYER_NONE; of an optimizer step of
     * one bucket, that bucket; in a pipeline the stage, an action a cell.  micro: OP_NONE where the step has
     * no more than one micro-batch. */
    GArray *copies, *compute;
    GArray *comm;             /* cells, one a collective from its first hop to its last; first is the bucket;
                                 of messages between stages one a transfer: first OP_NONE, last the peer */
    struct intervals gaps;    /* inside comm cells, between hops: nothing is on the lane */
    struct intervals waits;   /* in which a member waits for its peers */
    struct intervals exposed; /* communication with no computation beside it */
    GArray *marks;            /* struct ready_mark, in order of start */
    int64_t backward_end_ns;  /* 0: the rank has no backward */
    int64_t comm_end_ns, end_ns;
    struct intervals critical, critical_comm; /* viz/critical.h fills them */
};

struct step_rows {
    struct row *rows; /* n of them, in the order asked for */
    uint32_t n;
    int64_t span_ns;         /* of the whole step, all ranks */
    int64_t backward_end_ns; /* of all ranks; 0: there is no backward */
};

uint32_t rows_micro_batches(const struct trace *, uint32_t step); /* of a step; at least 1 */
/* Any rank, in that step; of a pipeline's messages only those that take time. */
bool rows_communicate(const struct trace *, uint32_t step);
/* Step `step` of the trace for these ranks.  False: no op of it takes time. */
bool rows_collect(struct step_rows *, const struct trace *, uint32_t step, uint32_t n_ranks,
                  const uint32_t *ranks);
/* Leaves what lies in [from_ns, to_ns), cut to it. */
void rows_clip(struct step_rows *, int64_t from_ns, int64_t to_ns);
/* Many cells that are too thin become shares of the time (viz/rows-dense.h); then joins and drops what is
 * under half a unit of x. */
void rows_simplify(struct step_rows *, double ns_per_unit);
void rows_release(struct step_rows *);

#endif
