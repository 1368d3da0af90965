#include "exec/compute.h"

/* Applies scale_copy to pairs (source, destination). */
static int copy_pairs(const struct compute *c, void *stream, uint32_t op, double scale, void *const *mem)
{
    const struct plan *plan = c->plan;
    const uint32_t first = plan->ops[op].first_access, n = plan->ops[op + 1].first_access - first;
    int status = 0;
    for (uint32_t i = 0; i + 1 < n && !status; i += 2) {
        const uint64_t bytes = plan->values[plan->accesses[first + i].value].bytes;
        status = c->k->scale_copy(stream, bytes / c->k->elem_bytes, scale, mem[i], mem[i + 1]);
    }
    return status;
}

static int optimize(const struct compute *c, void *stream, uint32_t op, void *const *mem)
{
    const struct plan *plan = c->plan;
    const uint32_t first = plan->ops[op].first_access, n = plan->ops[op + 1].first_access - first;
    int status = 0;
    for (uint32_t i = 0; i + 1 < n && !status; i += 2) {
        const uint64_t bytes = plan->values[plan->accesses[first + i].value].bytes;
        status = c->k->sgd(stream, bytes / c->k->elem_bytes, c->lr, mem[i + 1], mem[i]);
    }
    return status;
}

/* All but the last are added up there. */
static int sum(const struct compute *c, void *stream, uint32_t op, void *const *mem)
{
    const struct plan *plan = c->plan;
    const uint32_t first = plan->ops[op].first_access, n = plan->ops[op + 1].first_access - first - 1;
    const uint64_t bytes = plan->values[plan->accesses[first + n].value].bytes;
    return c->k->sum(stream, n, bytes / c->k->elem_bytes, (const void *const *)mem, mem[n]);
}

static int loss(const struct compute *c, void *stream, uint32_t samples, void *const *mem)
{
    const struct dims *d = &c->model->dims;
    const size_t tokens = (size_t)samples * d->seq;
    const int32_t *target = (const int32_t *)mem[1] + tokens;
    if (c->model->task == TASK_TOKENS)
        return c->k->cross_entropy(stream, tokens, d->vocab, mem[0], target, mem[2], mem[3]);
    return c->k->cross_entropy(stream, samples, d->classes, mem[0], target, mem[2], mem[3]);
}

static int backward(const struct compute *c, void *stream, const struct op *op, uint32_t samples,
                    void *const *mem)
{
    /* The first layer has no gradient by its input: one access less. */
    const bool first = op[1].first_access - op[0].first_access < 7;
    void *const *rest = mem + (first ? 4 : 5);
    return layer_backward(c, stream, op->tag.layer0, samples, mem[0], mem[1], mem[2], mem[3],
                          first ? NULL : mem[4], rest[0], rest[1]);
}

int compute_op(const struct compute *c, void *stream, uint32_t id, void *const *mem)
{
    const struct op *op = &c->plan->ops[id];
    const uint32_t rank = c->plan->t.lanes[op->lane].rank, samples = c->plan->rank_rows[rank];
    switch (op->tag.kind) {
    case OP_FWD:
        return layer_forward(c, stream, op->tag.layer0, samples, mem[0], mem[1], mem[2], mem[3], mem[4]);
    case OP_LOSS:
        return loss(c, stream, samples, mem);
    case OP_BWD:
        return backward(c, stream, op, samples, mem);
    case OP_PACK:
        return copy_pairs(c, stream, id, c->plan->rank_share[rank], mem);
    case OP_UNPACK:
        return copy_pairs(c, stream, id, 1, mem);
    case OP_SUM:
        return sum(c, stream, id, mem);
    case OP_OPTIM:
        return optimize(c, stream, id, mem);
    default:
        g_assert_not_reached();
    }
}
