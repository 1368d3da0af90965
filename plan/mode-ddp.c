/* Data parallel training with bucketed all-reduce, as PyTorch's DistributedDataParallel does it from its
 * second iteration on (torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/reducer.cpp of
 * PyTorch 2.7): gradients are fed to the buckets in the order in which they become ready, each is copied into
 * its bucket as the last layer that it needs ends, buckets are launched strictly in order, and the optimizer
 * waits for all of them.  In its first iteration the order is not known yet: one bucket holds all. */
#include "plan/ddp.h"

#define OPS_MAX    (1u << 24)
#define BUCKET_MAX ((uint64_t)1 << 40)

static struct ddp_packing packing(const struct shape *shape)
{
    return shape->first_iteration ? ddp_pack_in_order(shape, UINT64_MAX) : ddp_pack_gradients(shape);
}

static bool check_count(const struct shape *shape, GError **error)
{
    struct ddp_packing p = packing(shape);
    uint64_t buckets = p.n_buckets, layers = shape->model->n_layers, micro = MAX(shape->accumulate, 1),
             broadcasts = 0;
    ddp_packing_release(&p);
    if (shape->first_iteration) {
        p = ddp_pack_in_order(shape, DDP_BROADCAST_BYTES);
        broadcasts = p.n_buckets + 2;
        ddp_packing_release(&p);
    }
    /* A layer packs into each bucket that it touches, and neighbours share at most one.  A bucket is copied
     * in and out and stepped, then norm and optimizer. */
    uint64_t ops = shape->ranks * (micro * (2 * layers + 2) + layers + 3 * buckets + 2) +
                   (buckets + broadcasts) * plan_lowered_ops(shape->algo, shape->ranks);
    if (ops <= OPS_MAX)
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "--ranks %u with %u buckets would make %" G_GUINT64_FORMAT " operations and the most is %u, "
                "give fewer ranks, a larger --bucket-mb or a smaller --accumulate",
                shape->ranks, (unsigned)buckets, ops, OPS_MAX);
    return false;
}

static bool check(const struct shape *shape, GError **error)
{
    if (!build_check_divided(shape, error))
        return false;
    if (shape->bucket_bytes > BUCKET_MAX || shape->first_bucket_bytes > BUCKET_MAX) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s is out of range, give 0 to %u",
                    shape->bucket_bytes > BUCKET_MAX ? "--bucket-mb" : "--first-bucket-mb",
                    (unsigned)(BUCKET_MAX >> 20));
        return false;
    }
    if (shape->overlap == OVERLAP_OPTIMIZER && shape->clip) {
        g_set_error(
            error, PLAN_ERROR, PLAN_ERROR_INPUT,
            "--overlap %s cannot go with --clip-grad-norm: the norm of all gradients is known only after the "
            "last all-reduce; give --overlap %s, or do not clip",
            overlap_name(OVERLAP_OPTIMIZER), overlap_name(OVERLAP_BACKWARD));
        return false;
    }
    return check_count(shape, error);
}

static void build_micros(struct build *b, const struct build_rank *r, const struct ddp_rank *d,
                         uint32_t *allreduce)
{
    for (uint32_t i = 0; i < b->plan->n_micro; i++) {
        struct build_micro m = build_micro(b, r, i);
        build_forward(b, r, &m);
        if (i == b->plan->n_micro - 1)
            ddp_backward(b, r, d, &m, allreduce);
        else
            for (uint32_t layer = b->plan->t.n_layers; layer-- > 0;)
                build_backward(b, r, &m, layer);
    }
}

static void build(const struct shape *shape, struct plan *plan)
{
    struct build b;
    struct ddp_first first = {0};
    build_begin(&b, shape, mode_ddp.name, plan);
    struct ddp_packing p = packing(shape);
    ddp_fill_tables(&b, &p);
    if (shape->first_iteration)
        first = ddp_first_begin(&b);
    g_autofree uint32_t *allreduce = g_new(uint32_t, plan->t.n_buckets);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        struct build_rank r = build_rank(&b, rank);
        struct ddp_rank d = ddp_add_values(&b, &r);
        if (shape->first_iteration)
            ddp_first_weights(&b, &r, &d, &first);
        build_micros(&b, &r, &d, allreduce);
        ddp_update(&b, &r, &d, allreduce);
        if (shape->first_iteration)
            ddp_first_rebuild(&b, &r, &d, &first);
    }
    ddp_first_end(&first);
    build_end(&b);
}

const struct mode mode_ddp = {
    .name = "ddp",
    .summary = "data parallel, gradients all-reduced in buckets during backward",
    .has_buckets = true,
    .check = check,
    .build = build,
};
