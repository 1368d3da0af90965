/* viz/dp-step.h -- a step of DataParallel as its stages: when they ran, and how large what they work on is. */
#ifndef VIZ_DP_STEP_H
#define VIZ_DP_STEP_H

#include "viz/figure.h"

/* In the order of the step. */
enum dp_stage {
    DP_SCATTER,   /* of the data */
    DP_BROADCAST, /* of the weights, which PyTorch calls replicate */
    DP_FORWARD,
    DP_RANK_LOSS, /* of each rank, inside forward; none where rank 0 has all outputs */
    DP_GATHER,    /* of outputs, or of losses */
    DP_LOSS,      /* of all outputs on rank 0, or the reduction of the ranks' losses there */
    DP_SCATTER_GRADIENT,
    DP_BACKWARD,
    DP_REDUCE,
    DP_STEP,
    DP_STAGES
};

struct dp_step {
    bool loss_inside; /* forward ends in the loss: two reductions */
    uint32_t n_ranks;
    int64_t ns[DP_STAGES];     /* in which any rank is in it, without waiting for peers; -1: unknown */
    uint64_t bytes[DP_STAGES]; /* all that is received in it; 0: unknown, or none */
    /* 0: unknown */
    uint64_t batch, *rows;     /* samples of all ranks, of each */
    uint64_t weights;          /* bytes of the model */
    uint64_t seq, classes;     /* tokens of a sample; what an output has for each of what it is of */
    bool per_token;            /* outputs are of tokens, not of samples */
};

/* Of a trace's step, or a report.  False with the reason, and nothing to release: it is of another mode. */
bool dp_step_make(struct dp_step *, const struct figure_input *, GError **);
void dp_step_release(struct dp_step *);

#endif
