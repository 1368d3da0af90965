#include "plan/pipeline.h"

/* Value `v` is a rank's gradient, weight or moment of a layer; a head's copy of the embedding counts its
 * words only. */
static uint32_t piece_of(struct pipe_rank *r, uint32_t v, uint32_t layer)
{
    const struct model *model = r->p->b->shape->model;
    const bool copy = layer == 0 && r->stages[0] != 0;
    return copy ? plan_add_view(r->p->b->plan, v, 0, model->params[0].numel * dtype_bytes(model->dtype)) : v;
}

/* Calls `each` for the layers whose parameters the rank has, the embedding's copy too. */
static void for_layers(struct pipe_rank *r, void (*each)(struct pipe_rank *, uint32_t layer))
{
    for (uint32_t layer = 0; layer < r->p->b->plan->t.n_layers; layer++)
        if (r->weight[layer] != OP_NONE && r->p->b->plan->t.layers[layer].n_params)
            each(r, layer);
}

struct size {
    uint64_t bytes;
    uint32_t params;
};

/* Of the rank's own layers; `copies`: of the embedding's too. */
static struct size size_of(const struct pipe_rank *r, bool copies)
{
    const struct tables *t = &r->p->b->plan->t;
    struct size s = {0};
    for (uint32_t i = 0; i < t->n_params; i++) {
        const bool copy = t->params[i].layer == 0 && r->stages[0] != 0;
        if (r->weight[t->params[i].layer] != OP_NONE && (!copy || (copies && i == 0))) {
            s.bytes += t->params[i].bytes;
            s.params++;
        }
    }
    return s;
}

static struct op_tag tag_of(const struct pipe_rank *r, enum op_kind kind)
{
    struct op_tag tag = build_tag(kind);
    tag.micro = pipe_tag_micro(r, 0);
    tag.version = r->versions;
    return tag;
}

static uint32_t add_collective(struct pipe_rank *r, enum op_kind kind, uint32_t number, uint32_t members,
                               uint64_t bytes)
{
    const struct pipeline *p = r->p;
    struct plan *plan = p->b->plan;
    struct op_tag tag = tag_of(r, kind);
    tag.coll = r->round * pipe_collectives(p) + number;
    tag.gang = p->comm_gangs + tag.coll;
    tag.bytes = bytes;
    const struct cost_key key = {.bytes = bytes,
                                 .members = (uint16_t)members,
                                 .nodes = build_nodes(p->b->shape),
                                 .kind = (uint8_t)kind};
    return plan_add_op(plan, r->comm, &tag, plan_add_cost(plan, &key));
}

/* Head and embedding add up their gradients of the words that they share, as Megatron-LM's embedding group
 * does. */
static uint32_t reduce_tied(struct pipe_rank *r)
{
    struct pipeline *p = r->p;
    const struct model *model = p->b->shape->model;
    const uint64_t bytes = model->params[0].numel * dtype_bytes(model->dtype);
    const uint32_t words = plan_add_view(p->b->plan, r->grad[0], 0, bytes),
                   op = add_collective(r, OP_ALLREDUCE, 0, 2, bytes);
    plan_dep(p->b->plan, r->last);
    plan_access(p->b->plan, words, ACCESS_UPDATE);
    return op;
}

static void read_gradient(struct pipe_rank *r, uint32_t layer)
{
    const bool copy = layer == 0 && r->stages[0] != 0;
    if (!copy)
        plan_access(r->p->b->plan, r->grad[layer], ACCESS_READ);
}

/* The squares of a rank's gradients, to which a rank alone adds the factor. */
static void add_norm(struct pipe_rank *r, uint32_t wait)
{
    struct plan *plan = r->p->b->plan;
    const struct size s = size_of(r, false);
    const struct op_tag tag = tag_of(r, OP_NORM);
    const bool alone = r->norms == OP_NONE;
    r->last = plan_add_op(plan, r->compute, &tag, build_norm_cost(r->p->b, s.bytes, s.params));
    if (wait != OP_NONE)
        plan_dep(plan, wait);
    plan_access(plan, alone ? r->norm : r->norms + 1 + r->rank, ACCESS_WRITE);
    for_layers(r, read_gradient);
}

static void add_clip(struct pipe_rank *r)
{
    struct pipeline *p = r->p;
    struct plan *plan = p->b->plan;
    const uint32_t ranks = p->actions->n_ranks,
                   op = add_collective(r, OP_ALLGATHER, p->tied_apart, ranks, sizeof(double));
    plan_dep(plan, r->last);
    for (uint32_t i = 0; i < ranks; i++)
        plan_access(plan, r->norms + 1 + i, i == r->rank ? ACCESS_READ : ACCESS_WRITE);
    const struct op_tag tag = tag_of(r, OP_CLIP);
    const struct cost_key key = {
        .bytes = ranks * sizeof(double), .kernels = 2, .members = 1, .kind = OP_CLIP};
    r->last = plan_add_op(plan, r->compute, &tag, plan_add_cost(plan, &key));
    plan_dep(plan, op);
    plan_access(plan, r->norm, ACCESS_WRITE);
    plan_access(plan, r->norms, ACCESS_READ);
}

static void step_layer(struct pipe_rank *r, uint32_t layer)
{
    const uint32_t *const classes[] = {r->weight, r->grad, r->moment, r->variance};
    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        if (classes[i][layer] != OP_NONE) {
            const uint32_t piece = piece_of(r, classes[i][layer], layer);
            plan_access(r->p->b->plan, piece, i == 1 ? ACCESS_READ : ACCESS_UPDATE);
        }
}

static void begin_anew(struct pipe_rank *r, uint32_t layer)
{
    r->grad_begun[layer] = false;
}

static void add_optimizer(struct pipe_rank *r, uint32_t wait)
{
    struct plan *plan = r->p->b->plan;
    const struct size s = size_of(r, true);
    struct op_tag tag = tag_of(r, OP_OPTIM);
    tag.layer0 = (uint16_t)r->p->first_layer[r->stages[0]];
    tag.layer1 = (uint16_t)r->p->first_layer[r->stages[r->n_stages - 1] + 1];
    r->last = plan_add_op(plan, r->compute, &tag, build_optimizer_cost(r->p->b, s.bytes, s.params));
    if (wait != OP_NONE)
        plan_dep(plan, wait);
    for_layers(r, step_layer);
    if (r->norm != OP_NONE)
        plan_access(plan, r->norm, ACCESS_READ);
    for_layers(r, begin_anew);
    r->versions++;
}

uint32_t pipe_collectives(const struct pipeline *p)
{
    return p->tied_apart + (p->b->shape->clip && p->actions->n_ranks > 1);
}

void pipe_update(struct pipe_rank *r)
{
    const struct pipeline *p = r->p;
    const uint32_t *rank = p->actions->rank;
    const bool shares = r->rank == rank[0] || r->rank == rank[pipe_stages(p) - 1];
    const uint32_t wait = p->tied_apart && shares ? reduce_tied(r) : OP_NONE;
    if (r->norm != OP_NONE) {
        add_norm(r, wait);
        if (r->norms != OP_NONE)
            add_clip(r);
    }
    add_optimizer(r, wait);
}

/* --- asynchronous */

static void stash_layer(struct pipe_rank *r, uint32_t layer)
{
    struct plan *plan = r->p->b->plan;
    plan_access(plan, r->weight[layer], ACCESS_READ);
    plan_access(plan, r->stash[r->versions] + layer - r->p->first_layer[r->stages[0]], ACCESS_WRITE);
}

/* A copy of the weights as they are, for the micro-batches under way that have run forward with them. */
static void add_stash(struct pipe_rank *r)
{
    struct plan *plan = r->p->b->plan;
    const struct size s = size_of(r, false);
    const struct op_tag tag = tag_of(r, OP_STASH);
    const struct cost_key key = {.bytes = 2 * s.bytes, .kernels = s.params, .members = 1, .kind = OP_STASH};
    const uint32_t *first = &r->p->first_layer[r->stages[0]];
    r->stash[r->versions] = plan->n_values;
    for (uint32_t layer = first[0]; layer < first[1]; layer++) {
        const uint32_t v = build_add_value(r->p->b, r->rank, VALUE_WEIGHT, layer, 0,
                                           build_value_bytes(r->p->b, VALUE_WEIGHT, layer, 1));
        plan->values[v].version = r->versions;
        plan->values[v].flags = 0;
    }
    r->last = plan_add_op(plan, r->compute, &tag, plan_add_cost(plan, &key));
    for_layers(r, stash_layer);
}

void pipe_step(struct pipe_rank *r, uint32_t at)
{
    r->users[r->version[pipe_slot(r, &r->list[at])]]--;
    if (r->users[r->versions])
        add_stash(r);
    add_optimizer(r, OP_NONE);
}
