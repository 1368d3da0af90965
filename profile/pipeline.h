/* profile/pipeline.h -- what a step of a pipeline's trace says of its schedule.
 *
 * An action is a run of ops of one (kind, stage, micro-batch) that follow each other on a rank's compute
 * lanes: F, B, I, W, R or the loss.  What else such a lane does (clipping, the optimizer, copies of weights)
 * is an update.  Only compute lanes count, and of an op all of [start, end), gaps between its kernels too.
 *
 *   makespan: from the first start to the last end of an action of any rank; updates before and behind are
 * not in it.  span of a rank: the same of its own actions. busy + update + idle = makespan, of each rank,
 * exactly: the union of its actions; of its updates within the makespan, without busy; the rest. bubble: idle
 * / total = idle / (ranks * makespan), summed over the ranks: (p-1)/(m+p-1) of 1F1B (Qi et al., Zero Bubble
 * Pipeline Parallelism); idle / ideal = idle / busy: (p-1)/m (Narayanan et al., Efficient Large-Scale
 * Language Model Training on GPU Clusters). period: end of the last of several chained training steps
 * (rounds) less the end of the one before it, each over all ranks. in flight: a micro-batch of a stage holds
 * activations from the start of its F, where it is run again from that of its R, to the end of the last of
 * its B, or I and W; of equal times, ends come first.  What waits for R meanwhile, the stage's input, is not
 * counted. exposed sends: what a rank idles before an action (for a pair: before both) while the message that
 * it waits for is on its way: the gap on its compute lanes before it, within the makespan, and in that the
 * time in which both ends of the message were there, from the later start of SEND and RECV to the end of
 * RECV. Only where nothing that the action needs became ready later.  Gaps do not overlap, so that the sum is
 * a part of idle.  What ranks further on then wait in turn is not in it. unit: time in F, all ranks', by
 * ranks and micro-batches: F of a micro-batch on a whole rank. slowest stage: of the greatest time in
 * actions, the first such.
 */
#ifndef PROFILE_PIPELINE_H
#define PROFILE_PIPELINE_H

#include "profile/trace.h"

struct pipeline_action {
    int64_t start_ns, end_ns;
    int64_t ready_ns;    /* of its first op */
    int64_t transfer_ns; /* of the message that it received; 0: none */
    uint32_t rank, micro, version, round;
    uint16_t stage; /* STAGE_NONE: an update */
    uint8_t kind;   /* enum op_kind; of an update OP_OPTIM */
    uint8_t pair;   /* enum pair */
};

struct pipeline_rank {
    uint32_t n_stages;        /* that it has */
    uint32_t in_flight;       /* at most, micro-batches of a stage */
    int64_t start_ns, end_ns; /* span; both 0 where it has no action */
    int64_t busy_ns, update_ns, idle_ns, exposed_send_ns;
};

struct pipeline_times {
    uint32_t n_ranks, n_stages, n_micro, n_rounds; /* n_micro: of all rounds */
    bool asynchronous;                             /* weights change within a round: there is no flush */
    struct pipeline_action *actions;               /* rank after rank, by start: [first[r], first[r + 1]) */
    size_t *first;
    struct pipeline_rank *ranks;
    int64_t *stage_ns;     /* a stage each: time in its actions */
    int64_t *round_end_ns; /* a round each, absolute */
    int64_t start_ns, makespan_ns, unit_ns;
    int64_t period_ns;                         /* -1: one round only */
    int64_t busy_ns, idle_ns, exposed_send_ns; /* sums over the ranks */
    uint32_t slowest_stage;
};

/* Of one step; NULL where it is no pipeline's.  Every op is of a step, lane and rank that the trace has. */
struct pipeline_times *pipeline_times_new(const struct trace *, uint32_t step);
void pipeline_times_free(struct pipeline_times *); /* may be NULL */

/* What runs as one with the action at that place, the first of a pair, losses of its own left out; NULL:
 * none. */
const struct pipeline_action *pipeline_partner(const struct pipeline_times *, size_t first);

double pipeline_bubble_of_total(const struct pipeline_times *); /* 0 to 1 */
double pipeline_bubble_of_ideal(const struct pipeline_times *); /* 0 and more */
double pipeline_in_flight(const struct pipeline_rank *);        /* in micro-batches of a whole rank */
/* By how much the slowest stage's time exceeds the mean of all stages, in percent of that. */
double pipeline_stage_excess(const struct pipeline_times *);

#endif
