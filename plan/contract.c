/* Kernels trust a plan: they take as many elements as the model says from whatever an op accesses.  So what a
 * mode builds by construction is checked here of a plan that was read. */
#include "plan/contract.h"
#include "plan/seal.h"

#define DOUBLE_BYTES sizeof(double)

static bool refuse_count(const struct contract *c, uint32_t op)
{
    return seal_refuse(c->plan, op, c->error, "has %u accesses, which its kind has not",
                       contract_accesses(c->plan, op));
}

/* Access i is of this mode and holds at least so many bytes, aligned. */
static bool takes(const struct contract *c, uint32_t op, uint32_t i, unsigned mode, uint64_t bytes,
                  uint64_t align)
{
    const struct value *v = contract_value(c->plan, op, i);
    if (contract_access(c->plan, op, i)->mode != mode)
        return seal_refuse(c->plan, op, c->error,
                           "accesses value %u (its access %u) otherwise than its kind does",
                           contract_access(c->plan, op, i)->value, i);
    if (v->bytes >= bytes && v->offset % align == 0)
        return true;
    return seal_refuse(c->plan, op, c->error,
                       "value %u (its access %u) has %" G_GUINT64_FORMAT " bytes at %" G_GUINT64_FORMAT
                       ", it needs %" G_GUINT64_FORMAT " at a multiple of %" G_GUINT64_FORMAT,
                       contract_access(c->plan, op, i)->value, i, v->bytes, v->offset, bytes, align);
}

static bool takes_elements(const struct contract *c, uint32_t op, uint32_t i, unsigned mode, uint64_t numel)
{
    return takes(c, op, i, mode, numel * c->elem_bytes, c->elem_bytes);
}

/* As many bytes as access `as`, in whole elements. */
static bool takes_same(const struct contract *c, uint32_t op, uint32_t i, unsigned mode, uint32_t as)
{
    const uint64_t bytes = contract_value(c->plan, op, as)->bytes;
    if (bytes % c->elem_bytes || contract_value(c->plan, op, i)->bytes != bytes)
        return seal_refuse(c->plan, op, c->error,
                           "its accesses %u and %u are not of equally many whole elements", as, i);
    return takes(c, op, i, mode, bytes, c->elem_bytes);
}

/* OP_NONE: those of a step of all ranks. */
static uint32_t samples_at(const struct contract *c, uint32_t rank, uint32_t micro)
{
    return micro == OP_NONE ? plan_batch(c->plan)
                            : c->plan->micro_rows[(gsize)rank * c->plan->n_micro + micro];
}

static uint32_t samples_of(const struct contract *c, uint32_t op)
{
    const struct op *o = &c->plan->ops[op];
    return samples_at(c, c->plan->t.lanes[o->lane].rank, o->tag.micro);
}

/* Tokens index tables, so they come from an INPUT of the same micro-batch, into all of a value of its own, or
 * from such a value of another rank. */
static bool takes_input(const struct contract *c, uint32_t op, uint32_t i, unsigned mode)
{
    const struct value *v = contract_value(c->plan, op, i);
    const uint32_t id = contract_access(c->plan, op, i)->value;
    if (v->cls != VALUE_INPUT || v->root != id || v->micro != c->plan->ops[op].tag.micro)
        return seal_refuse(c->plan, op, c->error, "value %u is no input of its micro-batch", id);
    return takes(c, op, i, mode, model_input_bytes(c->model, samples_of(c, op)), sizeof(int32_t));
}

/* Whether a piece of an input is of its tokens, or of its targets. */
enum part { PART_NONE, PART_TOKENS, PART_TARGETS };

static enum part part_of(const struct contract *c, const struct value *v)
{
    const struct plan *plan = c->plan;
    if (v->cls != VALUE_INPUT || v->offset % sizeof(int32_t) || v->bytes % sizeof(int32_t) ||
        (v->micro != OP_NONE && v->micro >= plan->n_micro))
        return PART_NONE;
    const uint64_t samples = samples_at(c, v->rank, v->micro),
                   tokens = samples * c->model->dims.seq * sizeof(int32_t);
    return v->offset >= tokens ? PART_TARGETS : v->offset + v->bytes <= tokens ? PART_TOKENS : PART_NONE;
}

/* The piece that comes into access i of a RECV, or of a SCATTER behind its first member, and who sends it. */
struct piece {
    uint32_t op, i;
};

static struct piece source_of(const struct contract *c, uint32_t op, uint32_t i)
{
    const struct plan *plan = c->plan;
    const struct gang *gang = &plan->gangs[plan->ops[op].tag.gang];
    const uint32_t *members = &plan->gang_ops[gang->first];
    uint32_t member = 0;
    if (plan->ops[op].tag.kind == OP_RECV)
        return (struct piece){gang->n == 2 ? members[members[0] == op] : op, i};
    while (members[member] != op)
        member++;
    return (struct piece){members[0], (MAX(member, 1) - 1) * contract_accesses(plan, op) + i};
}

/* What is received into an input was tokens or targets where it came from. */
static bool receives_input(const struct contract *c, uint32_t op, uint32_t i)
{
    const struct plan *plan = c->plan;
    const enum part part = part_of(c, contract_value(plan, op, i));
    const struct piece from = source_of(c, op, i);
    if (part != PART_NONE && from.op != op && from.i < contract_accesses(plan, from.op) &&
        contract_access(plan, from.op, from.i)->mode == ACCESS_READ &&
        part_of(c, contract_value(plan, from.op, from.i)) == part)
        return true;
    return seal_refuse(plan, op, c->error, "receives into value %u, an input, what is no piece of another",
                       contract_access(plan, op, i)->value);
}

static bool is_tied(const struct model *model, uint32_t layer)
{
    return model->dims.tied && model->layers[layer].kind == LAYER_HEAD;
}

/* All of an input, or a view of its tokens or its targets that is long enough. */
static bool takes_part(const struct contract *c, uint32_t op, uint32_t i, enum part part)
{
    const struct value *v = contract_value(c->plan, op, i);
    const uint32_t id = contract_access(c->plan, op, i)->value, samples = samples_of(c, op);
    if (v->root == id || v->cls != VALUE_INPUT)
        return takes_input(c, op, i, ACCESS_READ);
    const uint64_t tokens = (uint64_t)samples * c->model->dims.seq * sizeof(int32_t);
    if (part_of(c, v) != part)
        return seal_refuse(c->plan, op, c->error, "value %u is no view of %s", id,
                           part == PART_TOKENS ? "tokens" : "targets");
    return takes(c, op, i, ACCESS_READ,
                 part == PART_TOKENS ? tokens : model_input_bytes(c->model, samples) - tokens,
                 sizeof(int32_t));
}

static bool check_layer(const struct contract *c, uint32_t op)
{
    const struct op_tag *tag = &c->plan->ops[op].tag;
    const struct model *m = c->model;
    const uint32_t layer = tag->layer0, samples = samples_of(c, op);
    if (layer >= m->n_layers)
        return seal_refuse(c->plan, op, c->error, "is of no layer");
    /* A tied head has the words of the embedding, which begin its block. */
    const uint64_t weight = is_tied(m, layer) ? m->params[0].numel : m->layers[layer].numel;
    return takes_elements(c, op, 0, ACCESS_READ, weight) &&
           (layer == 0 ? takes_part(c, op, 1, PART_TOKENS)
                       : takes_elements(c, op, 1, ACCESS_READ, layer_out_numel(m, layer - 1, samples)));
}

static bool check_forward(const struct contract *c, uint32_t op)
{
    const uint32_t layer = c->plan->ops[op].tag.layer0, samples = samples_of(c, op);
    const struct model *m = c->model;
    if (contract_accesses(c->plan, op) != 5)
        return refuse_count(c, op);
    return check_layer(c, op) && takes_elements(c, op, 2, ACCESS_WRITE, layer_out_numel(m, layer, samples)) &&
           takes_elements(c, op, 3, ACCESS_WRITE, layer_saved_numel(m, layer, samples)) &&
           takes_elements(c, op, 4, ACCESS_WRITE, layer_scratch_numel(m, layer, samples));
}

static bool takes_gradients(const struct contract *c, uint32_t op, uint32_t i)
{
    const uint32_t layer = c->plan->ops[op].tag.layer0;
    const unsigned mode =
        contract_access(c->plan, op, i)->mode == ACCESS_UPDATE ? ACCESS_UPDATE : ACCESS_WRITE;
    return takes_elements(c, op, i, mode, c->model->layers[is_tied(c->model, layer) ? 0 : layer].numel);
}

/* The first layer has no gradient by its input. */
static bool check_backward(const struct contract *c, uint32_t op)
{
    const unsigned kind = c->plan->ops[op].tag.kind;
    const uint32_t layer = c->plan->ops[op].tag.layer0, samples = samples_of(c, op), grad = layer ? 5 : 4;
    const struct model *m = c->model;
    if (layer == 0 && kind == OP_BWD_INPUT)
        return seal_refuse(c->plan, op, c->error,
                           "is of the first layer, which has no gradient by its input");
    if (contract_accesses(c->plan, op) != grad + 2)
        return refuse_count(c, op);
    if (!check_layer(c, op))
        return false;
    const uint64_t pending = layer_pending_numel(m, layer, samples);
    return takes_elements(c, op, 2, ACCESS_READ, layer_saved_numel(m, layer, samples)) &&
           takes_elements(c, op, 3, ACCESS_READ, layer_out_numel(m, layer, samples)) &&
           (layer == 0 || (kind == OP_BWD_WEIGHT ? takes_elements(c, op, 4, ACCESS_READ, pending)
                                                 : takes_elements(c, op, 4, ACCESS_WRITE,
                                                                  layer_out_numel(m, layer - 1, samples)))) &&
           (kind == OP_BWD_INPUT ? takes_elements(c, op, grad, ACCESS_WRITE, pending)
                                 : takes_gradients(c, op, grad)) &&
           takes_elements(c, op, grad + 1, ACCESS_WRITE, layer_scratch_numel(m, layer, samples));
}

static bool check_input(const struct contract *c, uint32_t op)
{
    return contract_accesses(c->plan, op) == 1 ? takes_input(c, op, 0, ACCESS_WRITE) : refuse_count(c, op);
}

static bool check_loss(const struct contract *c, uint32_t op)
{
    const uint64_t logits = layer_out_numel(c->model, c->model->n_layers - 1, samples_of(c, op));
    if (contract_accesses(c->plan, op) != 4)
        return refuse_count(c, op);
    return takes_elements(c, op, 0, ACCESS_READ, logits) && takes_part(c, op, 1, PART_TARGETS) &&
           takes_elements(c, op, 2, ACCESS_WRITE, logits) &&
           takes(c, op, 3, ACCESS_WRITE, DOUBLE_BYTES, DOUBLE_BYTES);
}

static bool check_launch(const struct contract *c, uint32_t op)
{
    return seal_refuse(c->plan, op, c->error, "is only simulated: whoever runs ops launches them too");
}

static bool check_copies(const struct contract *c, uint32_t op)
{
    if (contract_accesses(c->plan, op) % 2)
        return refuse_count(c, op);
    for (uint32_t i = 0; i < contract_accesses(c->plan, op); i += 2)
        if (!takes_same(c, op, i, ACCESS_READ, i) || !takes_same(c, op, i + 1, ACCESS_WRITE, i))
            return false;
    return true;
}

static bool check_norm(const struct contract *c, uint32_t op)
{
    if (contract_accesses(c->plan, op) == 0)
        return refuse_count(c, op);
    for (uint32_t i = 1; i < contract_accesses(c->plan, op); i++)
        if (!takes_same(c, op, i, ACCESS_READ, i))
            return false;
    const struct value *norm = contract_value(c->plan, op, 0);
    if (norm->cls == VALUE_NORMS && norm->bytes != DOUBLE_BYTES)
        return seal_refuse(c->plan, op, c->error,
                           "writes %" G_GUINT64_FORMAT " bytes of norms, not one double", norm->bytes);
    return takes(c, op, 0, ACCESS_WRITE, norm->cls == VALUE_NORMS ? DOUBLE_BYTES : 2 * DOUBLE_BYTES,
                 DOUBLE_BYTES);
}

static bool check_clip(const struct contract *c, uint32_t op)
{
    if (contract_accesses(c->plan, op) != 2)
        return refuse_count(c, op);
    return takes(c, op, 0, ACCESS_WRITE, 2 * DOUBLE_BYTES, DOUBLE_BYTES) &&
           takes(c, op, 1, ACCESS_READ, DOUBLE_BYTES, DOUBLE_BYTES);
}

static bool check_total(const struct contract *c, uint32_t op)
{
    if (contract_accesses(c->plan, op) != 2)
        return refuse_count(c, op);
    return takes(c, op, 0, ACCESS_READ, DOUBLE_BYTES, DOUBLE_BYTES) &&
           takes(c, op, 1, ACCESS_WRITE, DOUBLE_BYTES, DOUBLE_BYTES);
}

static bool check_optim(const struct contract *c, uint32_t op)
{
    static const uint32_t pieces[OPTIMIZERS] = {
        [OPTIMIZER_SGD] = 2, [OPTIMIZER_MOMENTUM] = 3, [OPTIMIZER_ADAM] = 4};
    const uint32_t n = contract_accesses(c->plan, op), piece = pieces[c->plan->optimizer], rest = n % piece;
    if (rest > 1)
        return refuse_count(c, op);
    for (uint32_t i = 0; i < n - rest; i++)
        if (!takes_same(c, op, i, i % piece == 1 ? ACCESS_READ : ACCESS_UPDATE, i - i % piece))
            return false;
    return rest == 0 || takes(c, op, n - 1, ACCESS_READ, 2 * DOUBLE_BYTES, DOUBLE_BYTES);
}

static bool check_sum(const struct contract *c, uint32_t op)
{
    const uint32_t n = contract_accesses(c->plan, op);
    if (n < 2)
        return refuse_count(c, op);
    for (uint32_t i = 0; i < n; i++)
        if (!takes_same(c, op, i, i + 1 < n ? ACCESS_READ : ACCESS_WRITE, 0))
            return false;
    return true;
}

/* Of pieces that are moved sealing checks all else that there is to check. */
static bool check_pieces(const struct contract *c, uint32_t op)
{
    const unsigned kind = c->plan->ops[op].tag.kind;
    for (uint32_t i = 0; i < contract_accesses(c->plan, op); i++) {
        const struct value *v = contract_value(c->plan, op, i);
        if (v->offset % (v->cls == VALUE_INPUT ? sizeof(int32_t) : c->elem_bytes))
            return seal_refuse(c->plan, op, c->error, "accesses a part of an element");
        if ((kind == OP_RECV || kind == OP_SCATTER) && v->cls == VALUE_INPUT &&
            contract_access(c->plan, op, i)->mode & ACCESS_WRITE && !receives_input(c, op, i))
            return false;
    }
    return true;
}

static bool check_hop(const struct contract *c, uint32_t op)
{
    const unsigned kind = c->plan->ops[op].tag.kind;
    const bool adds = kind == OP_EXCHANGE_ADD || kind == OP_RECV_ADD;
    const bool exchange = kind == OP_EXCHANGE || kind == OP_EXCHANGE_ADD;
    if (exchange && contract_accesses(c->plan, op) != 2)
        return refuse_count(c, op);
    for (uint32_t i = exchange; adds && i < contract_accesses(c->plan, op); i++)
        if (!takes_same(c, op, i, ACCESS_UPDATE, i))
            return false;
    if (!check_pieces(c, op))
        return false;
    return !exchange ||
           (takes(c, op, 0, ACCESS_READ, 0, 1) && takes(c, op, 1, adds ? ACCESS_UPDATE : ACCESS_WRITE, 0, 1));
}

/* Sums that are not lowered. */
static bool check_reduction(const struct contract *c, uint32_t op)
{
    for (uint32_t i = 0; i < contract_accesses(c->plan, op); i++)
        if (!takes_same(c, op, i, contract_access(c->plan, op, i)->mode, i))
            return false;
    return true;
}

static bool check_op(const struct contract *c, uint32_t op)
{
    const struct plan *plan = c->plan;
    const struct op_tag *tag = &plan->ops[op].tag;
    const bool meets = op_lane_class(tag->kind) == LANE_COMM && tag->kind != OP_SUM;
    static bool (*const checks[OP_KINDS])(const struct contract *,
                                          uint32_t) = {[OP_INPUT] = check_input,
                                                       [OP_FWD] = check_forward,
                                                       [OP_RECOMPUTE] = check_forward,
                                                       [OP_LOSS] = check_loss,
                                                       [OP_BWD] = check_backward,
                                                       [OP_BWD_INPUT] = check_backward,
                                                       [OP_BWD_WEIGHT] = check_backward,
                                                       [OP_PACK] = check_copies,
                                                       [OP_UNPACK] = check_copies,
                                                       [OP_NORM] = check_norm,
                                                       [OP_CLIP] = check_clip,
                                                       [OP_TOTAL] = check_total,
                                                       [OP_STASH] = check_copies,
                                                       [OP_OPTIM] = check_optim,
                                                       [OP_LAUNCH] = check_launch,
                                                       [OP_SUM] = check_sum,
                                                       [OP_ALLREDUCE] = check_reduction,
                                                       [OP_REDUCE] = check_reduction,
                                                       [OP_BROADCAST] = check_pieces,
                                                       [OP_SCATTER] = check_pieces,
                                                       [OP_GATHER] = check_pieces,
                                                       [OP_ALLGATHER] = check_pieces,
                                                       [OP_EXCHANGE] = check_hop,
                                                       [OP_EXCHANGE_ADD] = check_hop,
                                                       [OP_SEND] = check_hop,
                                                       [OP_RECV] = check_hop,
                                                       [OP_RECV_ADD] = check_hop};
    const bool all = (tag->kind == OP_INPUT || tag->kind == OP_LOSS) && tag->micro == OP_NONE;
    if (meets != (tag->gang != OP_NONE))
        return seal_refuse(plan, op, c->error,
                           meets ? "is in no gang, so it has no peers" : "is in a gang, its kind has none");
    if (tag->micro >= plan->n_micro && !all)
        return seal_refuse(plan, op, c->error, "micro-batch %u, but there are %u", tag->micro, plan->n_micro);
    if (all && !model_fits(c->model, plan_batch(plan)))
        return seal_refuse(plan, op, c->error, "is of %u samples, too many", plan_batch(plan));
    const bool fills = tag->kind == OP_INPUT || tag->kind == OP_RECV || tag->kind == OP_SCATTER;
    for (uint32_t i = 0; i < contract_accesses(plan, op) && !fills; i++)
        if (contract_value(plan, op, i)->cls == VALUE_INPUT &&
            contract_access(plan, op, i)->mode & ACCESS_WRITE)
            return seal_refuse(plan, op, c->error, "writes value %u, which is for inputs",
                               contract_access(plan, op, i)->value);
    return (!checks[tag->kind] || checks[tag->kind](c, op)) && contract_apart(c, op);
}

/* Weights that are live in are made, a layer at a time; those of a version are copies of them. */
static bool check_weights(const struct contract *c)
{
    for (uint32_t i = 0; i < c->plan->n_values; i++) {
        const struct value *v = &c->plan->values[i];
        if (v->root != i || v->cls != VALUE_WEIGHT)
            continue;
        const char *what = NULL;
        if (v->index >= c->model->n_layers || v->bytes != c->model->layers[v->index].numel * c->elem_bytes)
            what = "is of another size than the weights of its layer";
        else if (v->version > 0 && v->flags)
            what = "is a stashed copy of weights, but outlives the step";
        if (what) {
            g_set_error(c->error, PLAN_ERROR, PLAN_ERROR_INVALID, "value %u %s", i, what);
            return false;
        }
    }
    return true;
}

static bool check_samples(const struct contract *c)
{
    for (uint32_t r = 0; r < c->plan->t.n_ranks; r++)
        if (!c->plan->rank_rows || !model_fits(c->model, MAX(1, c->plan->rank_rows[r]))) {
            g_set_error(c->error, PLAN_ERROR, PLAN_ERROR_INVALID,
                        "the plan does not say how many samples rank %u has, or too many", r);
            return false;
        }
    return true;
}

bool plan_check_run(const struct plan *plan, const struct model *model, GError **error)
{
    const struct contract c = {plan, model, dtype_bytes(model->dtype), error};
    if (!check_samples(&c) || !check_weights(&c))
        return false;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (!check_op(&c, i))
            return false;
    return true;
}
