/* plan/mode.h -- how a training mode becomes a plan.  One file a mode, each ending in its descriptor. */
#ifndef PLAN_MODE_H
#define PLAN_MODE_H

#include "plan/model.h"
#include "plan/plan.h"

/* none: all-reduce after backward; backward: during it; optimizer: as backward, and each bucket's copy-out and optimizer
 * step beside the all-reduce of the buckets after it. */
enum overlap { OVERLAP_NONE, OVERLAP_BACKWARD, OVERLAP_OPTIMIZER, OVERLAPS };
const char *overlap_name(unsigned overlap); /* "none" */

/* What to plan. */
struct shape {
    const struct model *model;
    uint32_t ranks, batch; /* batch: samples of all ranks together */
    uint8_t overlap;       /* enum overlap */
    uint8_t algo;          /* enum allreduce to lower to; ALLREDUCE_WHOLE leaves one gang */
    uint64_t bucket_bytes, first_bucket_bytes;
    uint8_t optimizer;     /* enum optimizer */
    uint32_t accumulate;   /* micro-batches of a step, all but the last without all-reduce; 0 counts as 1 */
    bool clip;             /* clip the gradients by their global norm */
    bool bucket_view;      /* gradients are views of the buckets: no copy-out */
    bool first_iteration;  /* PyTorch's first: weights broadcast, one bucket, no overlap, buckets rebuilt */
    uint32_t devices;      /* that the ranks share in turn; 0: one each */
    uint32_t node_devices; /* devices of a node, filled one after another; 0: all in one */
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

extern const struct mode mode_single, mode_ddp;
extern const struct mode *const modes[];        /* ends with NULL */
const struct mode *mode_find(const char *name); /* NULL if there is none */

/* check, build, lower, seal.  plan is uninitialised; on failure nothing is left in it.  A DDP plan has a comm lane and
 * bucket copies even on one rank, as in PyTorch; there is then nothing to lower the all-reduce to. */
bool plan_make(const struct mode *, const struct shape *, struct plan *, GError **);

/* torch.chunk's rule: ceil(batch/ranks) each while it lasts; the last may get less, those after it none. */
uint32_t chunk_size(uint32_t batch, uint32_t ranks, uint32_t rank);

#endif
