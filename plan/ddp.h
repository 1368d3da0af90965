/* plan/ddp.h -- the parts of mode ddp: gradients in buckets, and what is special in the first iteration. */
#ifndef PLAN_DDP_H
#define PLAN_DDP_H

#include "plan/build.h"

#define DDP_BROADCAST_BYTES ((uint64_t)250 << 20) /* of weights in one broadcast */

/* How tensors fall into buckets; order of members is feed order. */
struct ddp_packing {
    uint32_t n_buckets;
    struct bucket_row *buckets;
    uint32_t *members;
};

/* Gradients fed in the order in which they become ready, the reverse of definition. */
struct ddp_packing ddp_pack_gradients(const struct shape *);
/* All parameters in definition order.  limit: in bytes; UINT64_MAX: one bucket. */
struct ddp_packing ddp_pack_in_order(const struct shape *, uint64_t limit);
void ddp_packing_release(struct ddp_packing *);

/* One rank's part of the buckets. */
struct ddp_rank {
    uint32_t comm;  /* lane */
    uint32_t roots; /* value of bucket 0; the others follow */
    uint32_t views; /* of parameter p: in its layer's gradients views + 2p, in its bucket the one after */
};

/* Takes the packing into the tables, and adds a gang and a collective for each bucket, of its number. */
void ddp_fill_tables(struct build *, struct ddp_packing *);
struct ddp_rank ddp_add_values(struct build *, const struct build_rank *);

/* Backward of the micro-batch that communicates: each gradient is copied into its bucket as its layer ends,
 * and buckets are launched strictly in order, once they are full and all before them are; without overlap,
 * after the last op of backward.  allreduce[i] is the op of bucket i. */
void ddp_backward(struct build *, const struct build_rank *, const struct ddp_rank *,
                  const struct build_micro *, uint32_t *allreduce);
/* Copy-outs, norm and optimizer. */
void ddp_update(struct build *, const struct build_rank *, const struct ddp_rank *,
                const uint32_t *allreduce);

/* Of the first iteration: gangs by number. */
struct ddp_first {
    struct ddp_packing weights; /* what is broadcast together */
    uint32_t n_rebuilt;         /* buckets of the iterations after it */
    uint32_t gangs;             /* one for each of `weights`, then two for the rebuilt buckets */
};

struct ddp_first ddp_first_begin(struct build *);
void ddp_first_end(struct ddp_first *);
/* Broadcasts the weights from rank 0, before any is read; those of the other ranks are no longer live in. */
void ddp_first_weights(struct build *, struct build_rank *, const struct ddp_rank *,
                       const struct ddp_first *);
/* Rank 0 tells how it rebuilt the buckets: indices of the parameters and number of buckets, then their sizes.
 */
void ddp_first_rebuild(struct build *, const struct build_rank *, const struct ddp_rank *,
                       const struct ddp_first *);

#endif
