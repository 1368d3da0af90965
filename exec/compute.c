#include "exec/compute.h"

#include "exec/state.h"

static uint32_t n_accesses(const struct compute *c, uint32_t op)
{
    return c->plan->ops[op + 1].first_access - c->plan->ops[op].first_access;
}

static const struct value *value_of(const struct compute *c, uint32_t op, uint32_t i)
{
    return &c->plan->values[c->plan->accesses[c->plan->ops[op].first_access + i].value];
}

/* Elements of the i-th access. */
static size_t elements(const struct compute *c, uint32_t op, uint32_t i)
{
    return value_of(c, op, i)->bytes / c->k->elem_bytes;
}

/* Applies scale_copy to pairs (source, destination). */
static int copy_pairs(const struct compute *c, void *stream, uint32_t op, double scale, void *const *mem)
{
    const uint32_t n = n_accesses(c, op);
    int status = 0;
    for (uint32_t i = 0; i + 1 < n && !status; i += 2)
        status = c->k->scale_copy(stream, elements(c, op, i), scale, mem[i], mem[i + 1]);
    return status;
}

/* The factor is for CLIP where the squares are those of one rank of several. */
static int norm(const struct compute *c, void *stream, uint32_t op, void *const *mem)
{
    const uint32_t n = n_accesses(c, op);
    int status = c->k->zero(stream, elements(c, op, 0), mem[0]);
    for (uint32_t i = 1; i < n && !status; i++)
        status = c->k->sum_squares(stream, elements(c, op, i), mem[i], mem[0]);
    return status || value_of(c, op, 0)->cls == VALUE_NORMS
               ? status
               : c->k->clip_factor(stream, c->run->clip_norm, mem[0]);
}

/* The doubles of access i, added up in the order of the ranks. */
static int total(const struct compute *c, void *stream, uint32_t op, uint32_t i, void *const *mem,
                 double *sum)
{
    return c->k->total(stream, value_of(c, op, i)->bytes / sizeof(double), mem[i], sum);
}

static int clip(const struct compute *c, void *stream, uint32_t op, void *const *mem)
{
    const int status = total(c, stream, op, 1, mem, mem[0]);
    return status ? status : c->k->clip_factor(stream, c->run->clip_norm, mem[0]);
}

static int optimize(const struct compute *c, void *stream, uint32_t op, uint32_t step, void *const *mem)
{
    static const uint8_t accesses[OPTIMIZERS] = {
        [OPTIMIZER_SGD] = 2, [OPTIMIZER_MOMENTUM] = 3, [OPTIMIZER_ADAM] = 4};
    const unsigned optimizer = c->plan->optimizer;
    const uint32_t n = n_accesses(c, op), a_piece = accesses[optimizer],
                   t = (uint32_t)state_updates(c->run->begin) +
                       (step - c->run->data_step) * MAX(c->plan->n_updates, 1) +
                       c->plan->ops[op].tag.version + 1;
    const double *factor = n % a_piece ? (const double *)mem[n - 1] + 1 : NULL;
    int status = 0;
    for (uint32_t i = 0; i + a_piece <= n && !status; i += a_piece) {
        const size_t size = elements(c, op, i);
        if (optimizer == OPTIMIZER_ADAM)
            status = c->k->adam(stream, size, c->run->lr, 0.9, 0.999, 1e-8, t, factor, mem[i + 1], mem[i + 2],
                                mem[i + 3], mem[i]);
        else
            status = c->k->sgd(stream, size, c->run->lr, c->run->momentum, factor, mem[i + 1],
                               optimizer == OPTIMIZER_MOMENTUM ? mem[i + 2] : NULL, mem[i]);
    }
    return status;
}

/* All but the last are added up there. */
static int sum(const struct compute *c, void *stream, uint32_t op, void *const *mem)
{
    const uint32_t n = n_accesses(c, op) - 1;
    return c->k->sum(stream, n, elements(c, op, n), (const void *const *)mem, mem[n]);
}

uint32_t compute_data_step(const struct plan *plan, uint32_t op, uint32_t step)
{
    return step * plan_rounds(plan) + plan_samples(plan, op).round;
}

static int loss(const struct compute *c, void *stream, uint32_t id, void *const *mem)
{
    const struct dims *d = &c->model->dims;
    const uint32_t samples = plan_samples(c->plan, id).n;
    const double weight = plan_loss_weight(c->plan, id);
    const size_t tokens = (size_t)samples * d->seq;
    /* Behind the tokens, or alone. */
    const struct value *input = &c->plan->values[c->plan->accesses[c->plan->ops[id].first_access + 1].value];
    const bool whole = input->offset == 0;
    const int32_t *target = (const int32_t *)mem[1] + (whole ? tokens : 0);
    if (c->model->task == TASK_TOKENS)
        return c->k->cross_entropy(stream, tokens, d->vocab, weight, mem[0], target, mem[2], mem[3]);
    return c->k->cross_entropy(stream, samples, d->classes, weight, mem[0], target, mem[2], mem[3]);
}

static struct layer_call call_of(const struct compute *c, void *stream, uint32_t id, uint32_t step)
{
    const struct samples s = plan_samples(c->plan, id);
    return (struct layer_call){.compute = c,
                               .stream = stream,
                               .layer = c->plan->ops[id].tag.layer0,
                               .step = compute_data_step(c->plan, id, step),
                               .first_sample = s.first,
                               .samples = s.n};
}

static int forward(const struct compute *c, void *stream, uint32_t id, uint32_t step, void *const *mem)
{
    struct layer_call call = call_of(c, stream, id, step);
    call.weight = mem[0], call.x = mem[1], call.saved = mem[3], call.scratch = mem[4];
    return layer_forward(&call, mem[2]);
}

static bool adds(const struct compute *c, uint32_t op, uint32_t i)
{
    return c->plan->accesses[c->plan->ops[op].first_access + i].mode == ACCESS_UPDATE;
}

/* The first layer has no gradient by its input: one access less, in a backward of weights too. */
static int backward(const struct compute *c, void *stream, uint32_t id, uint32_t step, void *const *mem)
{
    const uint32_t grad = n_accesses(c, id) < 7 ? 4 : 5;
    struct layer_call call = call_of(c, stream, id, step);
    call.weight = mem[0], call.x = mem[1], call.saved = mem[2], call.scratch = mem[grad + 1];
    void *between = grad == 5 ? mem[4] : NULL;
    if (c->plan->ops[id].tag.kind == OP_BWD_WEIGHT)
        return layer_backward_weight(&call, mem[3], between, mem[grad], adds(c, id, grad));
    return layer_backward(&call, mem[3], between, mem[grad], adds(c, id, grad));
}

static int backward_input(const struct compute *c, void *stream, uint32_t id, uint32_t step, void *const *mem)
{
    struct layer_call call = call_of(c, stream, id, step);
    call.weight = mem[0], call.x = mem[1], call.saved = mem[2], call.scratch = mem[6];
    return layer_backward_input(&call, mem[3], mem[4], mem[5]);
}

int compute_op(const struct compute *c, void *stream, uint32_t id, uint32_t step, void *const *mem)
{
    const struct op *op = &c->plan->ops[id];
    switch (op->tag.kind) {
    case OP_FWD:
    case OP_RECOMPUTE:
        return forward(c, stream, id, step, mem);
    case OP_LOSS:
        return loss(c, stream, id, mem);
    case OP_BWD:
    case OP_BWD_WEIGHT:
        return backward(c, stream, id, step, mem);
    case OP_BWD_INPUT:
        return backward_input(c, stream, id, step, mem);
    case OP_PACK:
        return copy_pairs(c, stream, id, c->plan->rank_share[c->plan->t.lanes[op->lane].rank], mem);
    case OP_UNPACK:
    case OP_STASH:
        return copy_pairs(c, stream, id, 1, mem);
    case OP_SUM:
        return sum(c, stream, id, mem);
    case OP_NORM:
        return norm(c, stream, id, mem);
    case OP_CLIP:
        return clip(c, stream, id, mem);
    case OP_TOTAL:
        return total(c, stream, id, 0, mem, mem[1]);
    case OP_OPTIM:
        return optimize(c, stream, id, step, mem);
    default:
        g_assert_not_reached();
    }
}
