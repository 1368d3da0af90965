/* Data parallel training with bucketed all-reduce, as PyTorch's DistributedDataParallel does it from its
 * second iteration on (torch/nn/parallel/distributed.py, torch/csrc/distributed/c10d/reducer.cpp of
 * PyTorch 2.7): gradients are fed to the buckets in the order in which they become ready, each is copied into
 * its bucket as the last layer that it needs ends, buckets are launched strictly in order, and the optimizer
 * waits for all of them. */
#include "plan/bucket.h"
#include "plan/build.h"

#define OPS_MAX    (1u << 24)
#define BUCKET_MAX ((uint64_t)1 << 40)

/* How the gradients fall into buckets; order of members is feed order. */
struct packing {
    uint32_t n_buckets;
    struct bucket_row *buckets;
    uint32_t *members;
};

static struct packing pack(const struct shape *shape)
{
    const struct model *model = shape->model;
    uint32_t n = model->n_params;
    struct packing p = {0, g_new(struct bucket_row, n), g_new(uint32_t, n)};
    g_autofree uint64_t *bytes = g_new(uint64_t, n);
    g_autofree uint32_t *ids = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = n - 1 - i;
        bytes[i] = model->params[ids[i]].numel * dtype_bytes(model->dtype);
    }
    p.n_buckets =
        bucket_assign(n, bytes, ids, shape->first_bucket_bytes, shape->bucket_bytes, p.buckets, p.members);
    return p;
}

static bool check_count(const struct shape *shape, GError **error)
{
    struct packing p = pack(shape);
    g_free(p.buckets);
    g_free(p.members);
    /* A layer packs into each bucket that it touches, and neighbours share at most one. */
    uint64_t ops = shape->ranks * (3 * (uint64_t)shape->model->n_layers + 3 + 2 * (uint64_t)p.n_buckets) +
                   p.n_buckets * plan_lowered_ops(shape->algo, shape->ranks);
    if (ops <= OPS_MAX)
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "--ranks %u with %u buckets would make %" G_GUINT64_FORMAT " operations and the most is %u, "
                "give fewer ranks or a larger --bucket-mb",
                shape->ranks, p.n_buckets, ops, OPS_MAX);
    return false;
}

static bool check(const struct shape *shape, GError **error)
{
    if (!build_check(shape, error))
        return false;
    if (shape->bucket_bytes > BUCKET_MAX || shape->first_bucket_bytes > BUCKET_MAX) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "%s is out of range, give 0 to %u",
                    shape->bucket_bytes > BUCKET_MAX ? "--bucket-mb" : "--first-bucket-mb",
                    (unsigned)(BUCKET_MAX >> 20));
        return false;
    }
    return check_count(shape, error);
}

/* One rank's part of the buckets. */
struct rank_buckets {
    uint32_t comm;  /* lane */
    uint32_t roots; /* value of bucket 0; the others follow */
    uint32_t views; /* of parameter p: in its layer's gradients views + 2p, in its bucket the one after */
};

static void fill_tables(struct build *b)
{
    struct tables *t = &b->plan->t;
    struct packing p = pack(b->shape);
    t->n_buckets = p.n_buckets;
    t->buckets = p.buckets;
    t->bucket_params = p.members;
    for (uint32_t i = 0; i < p.n_buckets; i++) {
        for (uint32_t k = 0; k < p.buckets[i].n_params; k++)
            t->params[p.members[p.buckets[i].first_param + k]].bucket = i;
        plan_add_gang(b->plan, 0);
    }
    b->plan->n_colls = p.n_buckets;
}

static struct rank_buckets add_values(struct build *b, const struct build_rank *r)
{
    const struct model *model = b->shape->model;
    const struct tables *t = &b->plan->t;
    struct lane lane = {"comm", r->rank, r->rank, OP_NONE, LANE_COMM};
    struct rank_buckets rb = {.comm = plan_add_lane(b->plan, &lane), .roots = b->plan->n_values};
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        struct value v = {.bytes = t->buckets[i].bytes, .rank = r->rank, .index = i, .cls = VALUE_BUCKET};
        plan_add_value(b->plan, &v);
    }
    g_autofree uint64_t *at = g_new(uint64_t, t->n_params);
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        uint64_t end = 0;
        for (uint32_t k = 0; k < t->buckets[i].n_params; k++) {
            uint32_t param = t->bucket_params[t->buckets[i].first_param + k];
            at[param] = end;
            end += t->params[param].bytes;
        }
    }
    rb.views = b->plan->n_values;
    for (uint32_t i = 0; i < t->n_params; i++) {
        const struct param *p = &model->params[i];
        plan_add_view(b->plan, build_value(r, VALUE_GRAD, p->layer), p->offset * dtype_bytes(model->dtype),
                      t->params[i].bytes);
        plan_add_view(b->plan, rb.roots + t->params[i].bucket, at[i], t->params[i].bytes);
    }
    return rb;
}

/* A tag with a bucket and the layers that it spans: neighbours, since the feed follows the model. */
static struct op_tag bucket_tag(const struct build *b, enum op_kind kind, uint32_t bucket)
{
    const struct tables *t = &b->plan->t;
    const uint32_t *members = &t->bucket_params[t->buckets[bucket].first_param];
    struct op_tag tag = build_tag(kind);
    tag.bucket = bucket;
    tag.layer0 = (uint16_t)t->params[members[t->buckets[bucket].n_params - 1]].layer;
    tag.layer1 = (uint16_t)(t->params[members[0]].layer + 1);
    return tag;
}

static uint32_t copy_cost(struct build *b, enum op_kind kind, uint64_t bytes, uint32_t kernels)
{
    struct cost_key key = {.bytes = 2 * bytes, .kernels = kernels, .members = 1, .kind = (uint8_t)kind};
    return plan_add_cost(b->plan, &key);
}

/* PACK of a layer's gradients into one bucket.  [from, to) of bucket_params. */
static void add_pack(struct build *b, const struct build_rank *r, const struct rank_buckets *rb,
                     uint32_t from, uint32_t to)
{
    const struct tables *t = &b->plan->t;
    uint32_t layer = t->params[t->bucket_params[from]].layer;
    struct op_tag tag = build_tag(OP_PACK);
    tag.bucket = t->params[t->bucket_params[from]].bucket;
    tag.layer0 = (uint16_t)layer;
    tag.layer1 = (uint16_t)(layer + 1);
    uint64_t bytes = 0;
    for (uint32_t i = from; i < to; i++)
        bytes += t->params[t->bucket_params[i]].bytes;
    plan_add_op(b->plan, r->compute, &tag, copy_cost(b, OP_PACK, bytes, to - from));
    for (uint32_t i = from; i < to; i++) {
        plan_access(b->plan, rb->views + 2 * t->bucket_params[i], ACCESS_READ);
        plan_access(b->plan, rb->views + 2 * t->bucket_params[i] + 1, ACCESS_WRITE);
    }
}

static uint32_t add_allreduce(struct build *b, const struct rank_buckets *rb, uint32_t bucket,
                              uint32_t launched_after)
{
    struct op_tag tag = bucket_tag(b, OP_ALLREDUCE, bucket);
    tag.gang = tag.coll = bucket;
    tag.bytes = b->plan->t.buckets[bucket].bytes;
    struct cost_key key = {.bytes = tag.bytes, .members = (uint16_t)b->shape->ranks, .kind = OP_ALLREDUCE};
    uint32_t op = plan_add_op(b->plan, rb->comm, &tag, plan_add_cost(b->plan, &key));
    plan_dep(b->plan, launched_after);
    plan_access(b->plan, rb->roots + bucket, ACCESS_UPDATE);
    return op;
}

static void add_unpack(struct build *b, const struct build_rank *r, const struct rank_buckets *rb,
                       uint32_t bucket, uint32_t allreduce)
{
    const struct bucket_row *row = &b->plan->t.buckets[bucket];
    struct op_tag tag = bucket_tag(b, OP_UNPACK, bucket);
    plan_add_op(b->plan, r->compute, &tag, copy_cost(b, OP_UNPACK, row->bytes, row->n_params));
    plan_dep(b->plan, allreduce);
    for (uint32_t k = 0; k < row->n_params; k++) {
        uint32_t param = b->plan->t.bucket_params[row->first_param + k];
        plan_access(b->plan, rb->views + 2 * param + 1, ACCESS_READ);
        plan_access(b->plan, rb->views + 2 * param, ACCESS_WRITE);
    }
}

/* Backward with copy-in.  Buckets fill in the order of their numbers, so none ever waits for one before it;
 * each is launched after the op that filled it or, without overlap, after the last op of backward. */
static void add_backward(struct build *b, const struct build_rank *r, const struct rank_buckets *rb,
                         uint32_t *allreduce)
{
    const struct tables *t = &b->plan->t;
    bool overlap = b->shape->overlap == OVERLAP_BACKWARD;
    uint32_t next = 0;
    for (uint32_t layer = t->n_layers; layer-- > 0;) {
        build_backward(b, r, layer);
        while (next < t->n_params && t->params[t->bucket_params[next]].layer == layer) {
            uint32_t bucket = t->params[t->bucket_params[next]].bucket, from = next;
            uint32_t end = t->buckets[bucket].first_param + t->buckets[bucket].n_params;
            while (next < end && t->params[t->bucket_params[next]].layer == layer)
                next++;
            add_pack(b, r, rb, from, next);
            if (overlap && next == end)
                allreduce[bucket] = add_allreduce(b, rb, bucket, b->plan->n_ops - 1);
        }
    }
    uint32_t last = b->plan->n_ops - 1;
    for (uint32_t i = 0; i < t->n_buckets && !overlap; i++)
        allreduce[i] = add_allreduce(b, rb, i, last);
}

static void build(const struct shape *shape, struct plan *plan)
{
    struct build b;
    build_begin(&b, shape, mode_ddp.name, plan);
    fill_tables(&b);
    g_autofree uint32_t *allreduce = g_new(uint32_t, plan->t.n_buckets);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        struct build_rank r = build_rank(&b, rank);
        struct rank_buckets rb = add_values(&b, &r);
        build_forward(&b, &r);
        add_backward(&b, &r, &rb, allreduce);
        /* Without overlap nothing computes while anything is on the link. */
        for (uint32_t i = 0; i < plan->t.n_buckets; i++)
            add_unpack(&b, &r, &rb, i,
                       allreduce[shape->overlap == OVERLAP_BACKWARD ? i : plan->t.n_buckets - 1]);
        build_optimizer(&b, &r);
    }
    build_end(&b);
}

const struct mode mode_ddp = {
    .name = "ddp",
    .summary = "data parallel, gradients all-reduced in buckets during backward",
    .has_buckets = true,
    .check = check,
    .build = build,
};
