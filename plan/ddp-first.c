/* PyTorch's first iteration: the constructor's broadcast of the weights
 * (torch/csrc/distributed/c10d/comm.cpp, broadcast_coalesced) and the rebuild of the buckets (reducer.cpp,
 * sync_bucket_indices), both from rank 0. */
#include "plan/ddp.h"

/* A rank alone has nobody to tell. */
static uint32_t n_broadcasts(const struct build *b, uint32_t n)
{
    return b->shape->ranks > 1 ? n : 0;
}

struct ddp_first ddp_first_begin(struct build *b)
{
    struct ddp_packing rebuilt = ddp_pack_gradients(b->shape);
    struct ddp_first f = {ddp_pack_in_order(b->shape, DDP_BROADCAST_BYTES), rebuilt.n_buckets,
                          b->plan->n_gangs};
    uint32_t n = n_broadcasts(b, f.weights.n_buckets + 2);
    for (uint32_t i = 0; i < n; i++)
        plan_add_gang(b->plan, 0);
    b->plan->n_colls += n;
    ddp_packing_release(&rebuilt);
    return f;
}

void ddp_first_end(struct ddp_first *f)
{
    ddp_packing_release(&f->weights);
}

static uint32_t add_broadcast(struct build *b, const struct ddp_rank *d, uint32_t gang, uint64_t bytes,
                              struct op_tag tag)
{
    tag.gang = gang;
    /* Gangs and collectives were added together, one each. */
    tag.coll = gang;
    tag.bytes = bytes;
    struct cost_key key = {.bytes = bytes,
                           .kernels = 1,
                           .members = (uint16_t)b->shape->ranks,
                           .nodes = build_nodes(b->shape),
                           .kind = OP_BROADCAST};
    return plan_add_op(b->plan, d->comm, &tag, plan_add_cost(b->plan, &key));
}

static uint8_t access_of(const struct build_rank *r)
{
    return r->rank == 0 ? ACCESS_READ : ACCESS_WRITE;
}

void ddp_first_weights(struct build *b, struct build_rank *r, const struct ddp_rank *d,
                       const struct ddp_first *f)
{
    const struct tables *t = &b->plan->t;
    for (uint32_t i = 0; i < t->n_layers && r->rank > 0; i++)
        b->plan->values[build_value(r, VALUE_WEIGHT, i)].flags = VALUE_LIVE_OUT;
    for (uint32_t i = 0; i < n_broadcasts(b, f->weights.n_buckets); i++) {
        const struct bucket_row *row = &f->weights.buckets[i];
        struct op_tag tag = build_tag(OP_BROADCAST);
        tag.layer0 = (uint16_t)t->params[row->first_param].layer;
        tag.layer1 = (uint16_t)(t->params[row->first_param + row->n_params - 1].layer + 1);
        r->weights_ready = add_broadcast(b, d, f->gangs + i, row->bytes, tag);
        for (uint32_t k = row->first_param; k < row->first_param + row->n_params; k++)
            plan_access(b->plan, build_param(b, r, VALUE_WEIGHT, k), access_of(r));
    }
}

void ddp_first_rebuild(struct build *b, const struct build_rank *r, const struct ddp_rank *d,
                       const struct ddp_first *f)
{
    const uint64_t counts[] = {(uint64_t)b->plan->t.n_params + 1, f->n_rebuilt};
    uint32_t last = b->plan->n_ops - 1;
    for (uint32_t i = 0; i < n_broadcasts(b, 2); i++) {
        struct value v = {.bytes = counts[i] * sizeof(int32_t),
                          .rank = r->rank,
                          .index = i,
                          .cls = VALUE_SCRATCH,
                          .flags = r->rank == 0 ? VALUE_LIVE_IN : VALUE_LIVE_OUT};
        uint32_t value = plan_add_value(b->plan, &v);
        add_broadcast(b, d, f->gangs + f->weights.n_buckets + i, v.bytes, build_tag(OP_BROADCAST));
        plan_dep(b->plan, last);
        plan_access(b->plan, value, access_of(r));
    }
}
