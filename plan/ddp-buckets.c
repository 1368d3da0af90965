#include "plan/bucket.h"
#include "plan/ddp.h"

static struct ddp_packing pack(const struct model *model, bool reversed, uint64_t first_limit, uint64_t limit)
{
    uint32_t n = model->n_params;
    struct ddp_packing p = {0, g_new(struct bucket_row, n), g_new(uint32_t, n)};
    g_autofree uint64_t *bytes = g_new(uint64_t, n);
    g_autofree uint32_t *ids = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = reversed ? n - 1 - i : i;
        bytes[i] = model->params[ids[i]].numel * dtype_bytes(model->dtype);
    }
    p.n_buckets = bucket_assign(n, bytes, ids, first_limit, limit, p.buckets, p.members);
    return p;
}

struct ddp_packing ddp_pack_gradients(const struct shape *shape)
{
    return pack(shape->model, true, shape->first_bucket_bytes, shape->bucket_bytes);
}

struct ddp_packing ddp_pack_in_order(const struct shape *shape, uint64_t limit)
{
    return pack(shape->model, false, limit, limit);
}

void ddp_packing_release(struct ddp_packing *p)
{
    g_free(p->buckets);
    g_free(p->members);
    *p = (struct ddp_packing){0};
}

void ddp_fill_tables(struct build *b, struct ddp_packing *p)
{
    struct tables *t = &b->plan->t;
    t->n_buckets = p->n_buckets;
    t->buckets = p->buckets;
    t->bucket_params = p->members;
    for (uint32_t i = 0; i < p->n_buckets; i++) {
        for (uint32_t k = 0; k < p->buckets[i].n_params; k++)
            t->params[p->members[p->buckets[i].first_param + k]].bucket = i;
        plan_add_gang(b->plan, 0);
    }
    b->plan->n_colls = p->n_buckets;
    *p = (struct ddp_packing){0};
}

/* Gradients that are views of the buckets outlive the step there. */
static void add_roots(struct build *b, const struct build_rank *r)
{
    const struct tables *t = &b->plan->t;
    bool view = b->shape->bucket_view;
    for (uint32_t i = 0; i < t->n_layers && view; i++)
        b->plan->values[build_value(r, VALUE_GRAD, i)].flags = 0;
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        struct value v = {.bytes = t->buckets[i].bytes,
                          .rank = r->rank,
                          .index = i,
                          .cls = VALUE_BUCKET,
                          .flags = view ? VALUE_LIVE_OUT : 0};
        plan_add_value(b->plan, &v);
    }
}

struct ddp_rank ddp_add_values(struct build *b, const struct build_rank *r)
{
    const struct model *model = b->shape->model;
    const struct tables *t = &b->plan->t;
    struct ddp_rank d = {.comm = build_lane(b, "comm", r->rank, LANE_COMM), .roots = b->plan->n_values};
    add_roots(b, r);
    g_autofree uint64_t *at = g_new(uint64_t, t->n_params);
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        uint64_t end = 0;
        for (uint32_t k = 0; k < t->buckets[i].n_params; k++) {
            uint32_t param = t->bucket_params[t->buckets[i].first_param + k];
            at[param] = end;
            end += t->params[param].bytes;
        }
    }
    d.views = b->plan->n_values;
    for (uint32_t i = 0; i < t->n_params; i++) {
        const struct param *p = &model->params[i];
        plan_add_view(b->plan, build_value(r, VALUE_GRAD, p->layer), p->offset * dtype_bytes(model->dtype),
                      t->params[i].bytes);
        plan_add_view(b->plan, d.roots + t->params[i].bucket, at[i], t->params[i].bytes);
    }
    return d;
}

/* A tag with a bucket and the layers that it spans: neighbours, since the feed follows the model. */
static struct op_tag bucket_tag(const struct build *b, enum op_kind kind, uint32_t bucket)
{
    const struct tables *t = &b->plan->t;
    const struct bucket_row *row = &t->buckets[bucket];
    uint32_t one = t->params[t->bucket_params[row->first_param]].layer;
    uint32_t other = t->params[t->bucket_params[row->first_param + row->n_params - 1]].layer;
    struct op_tag tag = build_tag(kind);
    tag.bucket = bucket;
    tag.layer0 = (uint16_t)MIN(one, other);
    tag.layer1 = (uint16_t)(MAX(one, other) + 1);
    return tag;
}

static uint32_t copy_cost(struct build *b, enum op_kind kind, uint64_t bytes, uint32_t kernels)
{
    struct cost_key key = {.bytes = 2 * bytes, .kernels = kernels, .members = 1, .kind = (uint8_t)kind};
    return plan_add_cost(b->plan, &key);
}

/* PACK of a layer's gradients into one bucket.  [from, to) of bucket_params. */
static uint32_t add_pack(struct build *b, const struct build_rank *r, const struct ddp_rank *d,
                         uint32_t micro, uint32_t from, uint32_t to)
{
    const struct tables *t = &b->plan->t;
    uint32_t layer = t->params[t->bucket_params[from]].layer;
    struct op_tag tag = build_tag(OP_PACK);
    tag.bucket = t->params[t->bucket_params[from]].bucket;
    tag.micro = micro;
    tag.layer0 = (uint16_t)layer;
    tag.layer1 = (uint16_t)(layer + 1);
    uint64_t bytes = 0;
    for (uint32_t i = from; i < to; i++)
        bytes += t->params[t->bucket_params[i]].bytes;
    uint32_t op = plan_add_op(b->plan, r->compute, &tag, copy_cost(b, OP_PACK, bytes, to - from));
    for (uint32_t i = from; i < to; i++) {
        plan_access(b->plan, d->views + 2 * t->bucket_params[i], ACCESS_READ);
        plan_access(b->plan, d->views + 2 * t->bucket_params[i] + 1, ACCESS_WRITE);
    }
    return op;
}

static uint32_t add_allreduce(struct build *b, const struct ddp_rank *d, uint32_t bucket,
                              uint32_t launched_after)
{
    struct op_tag tag = bucket_tag(b, OP_ALLREDUCE, bucket);
    tag.gang = tag.coll = bucket;
    tag.bytes = b->plan->t.buckets[bucket].bytes;
    struct cost_key key = {.bytes = tag.bytes,
                           .members = (uint16_t)b->shape->ranks,
                           .nodes = build_nodes(b->shape),
                           .kind = OP_ALLREDUCE};
    uint32_t op = plan_add_op(b->plan, d->comm, &tag, plan_add_cost(b->plan, &key));
    plan_dep(b->plan, launched_after);
    plan_access(b->plan, d->roots + bucket, ACCESS_UPDATE);
    return op;
}

/* By bucket: gradients that are still to be copied in; the next to be launched; of which micro-batch. */
struct filling {
    uint32_t *pending, next, micro;
};

/* Copies in the gradients of a layer, [from, to) of bucket_params, bucket by bucket, and launches what is
 * full. */
static void fill(struct build *b, const struct build_rank *r, const struct ddp_rank *d, struct filling *f,
                 uint32_t from, uint32_t to, uint32_t *allreduce)
{
    const struct tables *t = &b->plan->t;
    while (from < to) {
        uint32_t bucket = t->params[t->bucket_params[from]].bucket;
        uint32_t end = MIN(to, t->buckets[bucket].first_param + t->buckets[bucket].n_params);
        uint32_t pack = add_pack(b, r, d, f->micro, from, end);
        f->pending[bucket] -= end - from;
        from = end;
        for (; b->shape->overlap != OVERLAP_NONE && f->next < t->n_buckets && !f->pending[f->next]; f->next++)
            allreduce[f->next] = add_allreduce(b, d, f->next, pack);
    }
}

void ddp_backward(struct build *b, const struct build_rank *r, const struct ddp_rank *d,
                  const struct build_micro *m, uint32_t *allreduce)
{
    const struct tables *t = &b->plan->t;
    g_autofree uint32_t *pending = g_new(uint32_t, t->n_buckets);
    g_autofree uint32_t *place = g_new(uint32_t, t->n_params); /* of a parameter in bucket_params */
    struct filling f = {pending, 0, m->micro};
    for (uint32_t i = 0; i < t->n_buckets; i++)
        pending[i] = t->buckets[i].n_params;
    for (uint32_t i = 0; i < t->n_params; i++)
        place[t->bucket_params[i]] = i;
    for (uint32_t layer = t->n_layers; layer-- > 0;) {
        const struct layer_row *row = &t->layers[layer];
        build_backward(b, r, m, layer);
        if (row->n_params == 0)
            continue;
        uint32_t from = MIN(place[row->first_param], place[row->first_param + row->n_params - 1]);
        fill(b, r, d, &f, from, from + row->n_params, allreduce);
    }
    for (uint32_t last = b->plan->n_ops - 1; f.next < t->n_buckets; f.next++)
        allreduce[f.next] = add_allreduce(b, d, f.next, last);
}

static void add_unpack(struct build *b, const struct build_rank *r, const struct ddp_rank *d, uint32_t bucket,
                       uint32_t allreduce)
{
    const struct bucket_row *row = &b->plan->t.buckets[bucket];
    struct op_tag tag = bucket_tag(b, OP_UNPACK, bucket);
    plan_add_op(b->plan, r->compute, &tag, copy_cost(b, OP_UNPACK, row->bytes, row->n_params));
    plan_dep(b->plan, allreduce);
    for (uint32_t k = 0; k < row->n_params; k++) {
        uint32_t param = b->plan->t.bucket_params[row->first_param + k];
        plan_access(b->plan, d->views + 2 * param + 1, ACCESS_READ);
        plan_access(b->plan, d->views + 2 * param, ACCESS_WRITE);
    }
}

void ddp_update(struct build *b, const struct build_rank *r, const struct ddp_rank *d,
                const uint32_t *allreduce)
{
    const struct shape *shape = b->shape;
    uint32_t n = b->plan->t.n_buckets, last = allreduce[n - 1];
    bool by_bucket = shape->overlap == OVERLAP_OPTIMIZER, view = shape->bucket_view;
    struct build_gradients g = {d->views + view, by_bucket || view ? 2 : 0};
    for (uint32_t i = 0; i < n; i++) {
        /* Without overlap nothing computes while anything is on the link. */
        if (!view)
            add_unpack(b, r, d, i, shape->overlap == OVERLAP_NONE ? last : allreduce[i]);
        if (by_bucket) {
            build_optimizer(b, r, g, i);
            if (view)
                plan_dep(b->plan, allreduce[i]);
        }
    }
    if (by_bucket)
        return;
    if (shape->clip)
        build_norm(b, r, g);
    else
        build_optimizer(b, r, g, OP_NONE);
    if (view)
        plan_dep(b->plan, last);
    if (shape->clip)
        build_optimizer(b, r, g, OP_NONE);
}
