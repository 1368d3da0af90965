/* viz/ddp-times.h -- when a DDP step computes and communicates, for each place that all-reduce can have: from traces, or as
 * it would be with the phases of a step that is known. */
#ifndef VIZ_DDP_TIMES_H
#define VIZ_DDP_TIMES_H

#include "profile/interval.h"
#include "viz/figure.h"

/* None, backward, optimizer: as plan's overlaps. */
enum ddp_place { DDP_AFTER, DDP_BESIDE_BACKWARD, DDP_BESIDE_OPTIMIZER, DDP_PLACES };

struct ddp_times {
    int64_t step_ns; /* as it was run or simulated; -1: unknown */
    bool drawn;      /* the phases are that run's, of its slowest rank; else they show an order only */
    struct intervals phase[PHASES]; /* from the start of the step */
    int64_t end_ns;                 /* of the last one */
};

/* DDP_PLACES of them, from the input's trace and its variants or its report.  The order alone: a bucket is a quarter of the
 * gradients.  own: the place in the input's trace; DDP_PLACES for a report. */
void ddp_times_make(struct ddp_times *, const struct figure_input *, enum ddp_place *own);
void ddp_times_release(struct ddp_times *);

#endif
