/* plan/mode.h -- how a training mode becomes a plan.  One file a mode, each ending in its descriptor. */
#ifndef PLAN_MODE_H
#define PLAN_MODE_H

#include "plan/model.h"
#include "plan/plan.h"

/* none: all-reduce after backward; backward: during it; optimizer: as backward, and each bucket's copy-out
 * and optimizer step beside the all-reduce of the buckets after it. */
enum overlap { OVERLAP_NONE, OVERLAP_BACKWARD, OVERLAP_OPTIMIZER, OVERLAPS };
const char *overlap_name(unsigned overlap); /* "none" */

/* Which micro-batches of a pipeline keep no activations and run forward again before backward; except-last:
 * all but the last of the chunks that were asked for. */
enum checkpoint { CHECKPOINT_NEVER, CHECKPOINT_EXCEPT_LAST, CHECKPOINT_ALWAYS, CHECKPOINTS };
const char *checkpoint_name(unsigned checkpoint); /* "except-last" */

/* What DataParallel's ranks give back: all logits, the loss is rank 0's; or each its loss. */
enum gather { GATHER_LOGITS, GATHER_LOSS, GATHERS };
const char *gather_name(unsigned gather); /* "logits" */

struct schedule;
struct actions;
struct split_rule;

/* What to plan. */
struct shape {
    const struct model *model;
    uint32_t ranks, batch; /* batch: samples of all ranks together */
    uint8_t overlap;       /* enum overlap */
    uint8_t algo;          /* enum allreduce to lower to; ALLREDUCE_WHOLE leaves one gang */
    uint64_t bucket_bytes, first_bucket_bytes;
    uint8_t optimizer;     /* enum optimizer */
    bool forward_only;     /* no more than what the losses need, to evaluate */
    uint32_t accumulate;   /* micro-batches of a step, all but the last without all-reduce; 0 counts as 1 */
    bool clip;             /* clip the gradients by their global norm */
    bool bucket_view;      /* gradients are views of the buckets: no copy-out */
    bool first_iteration;  /* PyTorch's first: weights broadcast, one bucket, no overlap, buckets rebuilt */
    uint32_t devices;      /* that the ranks share in turn; 0: one each */
    uint32_t node_devices; /* devices of a node, filled one after another; 0: all in one */

    /* Pipelines. */
    const struct schedule *schedule; /* plan/schedule.h */
    const struct actions *actions;   /* of a file, instead: they say ranks, stages and chunks */
    uint32_t chunks;                 /* micro-batches that are asked for; torch.chunk's rule may give fewer */
    uint32_t stages_per_rank;        /* 0 counts as 1 */
    uint8_t checkpoint;              /* enum checkpoint */
    const struct split_rule *split;  /* plan/split.h; NULL: even */
    const int64_t *layer_ns; /* by layer: what a micro-batch takes of it, for the balanced split (cli/balance.h);
                                NULL: FLOPs stand in */
    uint32_t rounds;         /* training steps chained in the plan; 0 counts as 1 */
    bool one_comm_lane;      /* for tests: sends and receives of a rank share a lane */

    /* DataParallel. */
    uint8_t gather; /* enum gather */
    bool loss_sum;  /* the loss is a sum over the samples, not their mean */
    bool gil;       /* one thread at a time launches */
};

/* Called in this order: check, build.  check says what is wrong with a shape, naming the option and a legal
 * value. */
struct mode {
    const char *name, *summary;
    bool has_buckets; /* whether options about buckets and overlap mean something */
    bool (*check)(const struct shape *, GError **);
    void (*build)(const struct shape *,
                  struct plan *); /* a legal shape; plan is initialised, left unsealed */
};

extern const struct mode mode_single, mode_ddp, mode_dp, mode_pipeline;
extern const struct mode *const modes[];        /* ends with NULL */
const struct mode *mode_find(const char *name); /* NULL if there is none */

/* check, build, lower, seal.  plan is uninitialised; on failure nothing is left in it.  A DDP plan has a comm
 * lane and bucket copies even on one rank, as in PyTorch; there is then nothing to lower the all-reduce to.
 */
bool plan_make(const struct mode *, const struct shape *, struct plan *, GError **);

/* Micro-batches of a pipeline's step: of struct shape's batch and chunks. */
uint32_t pipeline_micro(const struct shape *);

/* torch.chunk's rule: ceil(batch/ranks) each while it lasts; the last may get less, those after it none. */
uint32_t chunk_size(uint32_t batch, uint32_t ranks, uint32_t rank);

#endif
