/* exec/cuda/times.h -- what times.c and records.c share: the times of ops, by events or by CUPTI.
 */
#ifndef EXEC_CUDA_TIMES_H
#define EXEC_CUDA_TIMES_H

#include "exec/cuda/run.h"
#include "profile/collect.h"

struct interval {
    int64_t start_ns, end_ns;
};

/* Records of an op in one step: records[first .. first + n). */
struct op_records {
    size_t first, n;
};

struct times {
    struct interval *by_event;  /* events: [measured step * n_ops + op] */
    struct collected collected; /* CUPTI: all of the run, once taken */
    bool taken, labelled;
    size_t next_record;
    struct op_records *records; /* by op, of the step that is gathered */
    int64_t *lane_end_ns;       /* by lane: end of the op gathered last */
    uint32_t *host_lane;        /* by rank */
    uint64_t odd_ops;           /* whose records are not what was launched */
    char *odd;                  /* the first of them */
};

/* Passes `done` on; where it is false an error of CUPTI's becomes one of the engine. */
bool cuda_own_error(bool done, GError **);

/* records.c */
bool cuda_records_gather(struct cuda *, uint32_t step, const struct timing *, size_t first_row,
                         struct trace *, GError **);

#endif
