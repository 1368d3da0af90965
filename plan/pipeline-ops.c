#include "plan/pipeline.h"

/* One action of a rank. */
struct work {
    struct pipe_rank *r;
    const struct action *action;
    uint32_t slot, layer0, layer1, samples;
    bool last;           /* see struct pipeline */
    struct op_tag tag;   /* of its ops, which add kind and layers */
    uint32_t wait, also; /* ops of other lanes that the next op depends on; OP_NONE */
};

static uint8_t pair_of(const struct pipe_rank *r, uint32_t at)
{
    if (r->list[at].paired)
        return PAIR_FIRST;
    return at > 0 && r->list[at - 1].paired ? PAIR_SECOND : PAIR_NONE;
}

static struct work work_of(struct pipe_rank *r, uint32_t at)
{
    const struct action *a = &r->list[at];
    const uint32_t *first = &r->p->first_layer[a->stage];
    struct work w = {.r = r,
                     .action = a,
                     .slot = pipe_slot(r, a),
                     .layer0 = first[0],
                     .layer1 = first[1],
                     .samples = pipe_samples(r->p, a->micro),
                     .last = pipe_is_last(r->p, a->micro),
                     .tag = r->p->blank,
                     .wait = OP_NONE,
                     .also = OP_NONE};
    if (a->kind == ACTION_F)
        r->version[w.slot] = r->versions;
    w.tag.stage = a->stage;
    w.tag.micro = pipe_tag_micro(r, a->micro);
    w.tag.version = r->version[w.slot];
    w.tag.pair = pair_of(r, at);
    return w;
}

/* The layer's part of its stage, by FLOPs; of a stage that has none, by their number. */
static double share_of(const struct work *w, enum op_kind kind, uint32_t layer)
{
    const struct pipeline *p = w->r->p;
    uint64_t *cached = &p->stage_flops[((gsize)kind * pipe_stages(p) + w->action->stage) * 2 + w->last];
    uint32_t n = w->layer1 - MAX(w->layer0, kind == OP_BWD_INPUT ? 1 : 0);
    if (*cached == UINT64_MAX) {
        *cached = 0;
        for (uint32_t i = w->layer1 - n; i < w->layer1; i++)
            *cached += build_layer_flops(p->b, kind, i, w->samples);
    }
    const double part =
        *cached ? (double)build_layer_flops(p->b, kind, layer, w->samples) / (double)*cached : 1.0 / n;
    return part / w->r->n_stages;
}

static uint32_t cost_of(const struct work *w, enum op_kind kind, uint32_t layer)
{
    const struct pipeline *p = w->r->p;
    const bool paired = w->tag.pair != PAIR_NONE;
    uint32_t *cached =
        &p->costs[(((gsize)kind * p->b->shape->model->n_layers + layer) * 2 + w->last) * 2 + paired];
    if (*cached == OP_NONE)
        *cached = build_layer_cost(p->b, kind, layer, w->samples, share_of(w, kind, layer), paired);
    return *cached;
}

/* On the compute lane. */
static struct op_tag *add_op(const struct work *w, enum op_kind kind, uint32_t cost)
{
    struct plan *plan = w->r->p->b->plan;
    w->r->last = plan_add_op(plan, w->r->compute, &w->tag, cost);
    struct op_tag *tag = &plan->ops[w->r->last].tag;
    tag->kind = (uint8_t)kind;
    return tag;
}

static void wait_once(struct work *w)
{
    if (w->wait != OP_NONE)
        plan_dep(w->r->p->b->plan, w->wait);
    if (w->also != OP_NONE)
        plan_dep(w->r->p->b->plan, w->also);
    w->wait = w->also = OP_NONE;
}

static uint32_t value(const struct work *w, enum value_class cls, uint32_t layer)
{
    return pipe_add_value(w->r, cls, layer, w->action->micro);
}

/* Tokens and targets, once a micro-batch, early enough for action `at`. */
static uint32_t input_of(struct pipe_rank *r, uint32_t at)
{
    struct build *b = r->p->b;
    const uint32_t micro = r->list[at].micro, samples = pipe_samples(r->p, micro), ahead = 4;
    if (r->input[micro] != OP_NONE)
        return r->input[micro];
    const uint64_t bytes = model_input_bytes(b->shape->model, samples);
    uint32_t *cost = &r->p->input_costs[pipe_is_last(r->p, micro)];
    if (*cost == OP_NONE)
        *cost = build_input_cost(b, samples);
    struct op_tag tag = r->p->blank;
    tag.micro = pipe_tag_micro(r, micro);
    tag.version = r->versions;
    r->input[micro] = build_add_value(b, r->rank, VALUE_INPUT, OP_NONE, tag.micro, bytes);
    r->input_op[micro] = plan_add_op(b->plan, r->copy, &tag, *cost);
    if (at >= ahead)
        plan_dep(b->plan, r->last_op[at - ahead]);
    else if (r->round > 0)
        plan_dep(b->plan, r->last_op[r->n_list]);
    plan_access(b->plan, r->input[micro], ACCESS_WRITE);
    return r->input[micro];
}

/* The weights that the micro-batch's forward used. */
static uint32_t weight_of(const struct work *w, uint32_t layer)
{
    const struct pipe_rank *r = w->r;
    const struct model *model = r->p->b->shape->model;
    const uint32_t owner = build_weight_layer(model, layer);
    uint32_t weights = r->weight[owner];
    if (r->version[w->slot] != r->versions && r->p->asynchronous)
        weights = r->stash[r->version[w->slot]] + layer - w->layer0;
    return owner == layer ? weights : r->words;
}

/* Its accesses follow. */
static void add_layer(struct work *w, enum op_kind kind, uint32_t layer)
{
    struct op_tag *tag = add_op(w, kind, cost_of(w, kind, layer));
    tag->layer0 = (uint16_t)layer;
    tag->layer1 = (uint16_t)(layer + 1);
    wait_once(w);
}

static uint32_t input_at(const struct work *w, uint32_t layer)
{
    return layer == w->layer0 ? w->r->x[w->slot] : w->r->acts[w->slot] + 2 * (layer - 1 - w->layer0);
}

/* Where a layer's backward leaves the gradient by its input, and behind it, if it is split, what is pending.
 */
static uint32_t dx_of(const struct work *w, uint32_t layer)
{
    const uint32_t values = w->action->kind == ACTION_B ? 1 : 2;
    return w->r->deltas[w->slot] + values * (layer - MAX(w->layer0, 1));
}

static uint32_t dy_of(const struct work *w, uint32_t layer)
{
    return layer + 1 == w->layer1 ? w->r->dy[w->slot] : dx_of(w, layer + 1);
}

static uint32_t saved_of(const struct work *w, uint32_t layer)
{
    return w->r->acts[w->slot] + 2 * (layer - w->layer0) + 1;
}

/* Forward of the stage's layers, first or again, into values of their own. */
static void forward(struct work *w, enum op_kind kind)
{
    struct pipe_rank *r = w->r;
    r->acts[w->slot] = r->p->b->plan->n_values;
    for (uint32_t layer = w->layer0; layer < w->layer1; layer++) {
        value(w, VALUE_ACT, layer);
        value(w, VALUE_SAVED, layer);
    }
    for (uint32_t layer = w->layer0; layer < w->layer1; layer++) {
        const uint32_t act = r->acts[w->slot] + 2 * (layer - w->layer0);
        const struct access all[] = {{weight_of(w, layer), ACCESS_READ},
                                     {input_at(w, layer), ACCESS_READ},
                                     {act, ACCESS_WRITE},
                                     {act + 1, ACCESS_WRITE},
                                     {r->scratch, ACCESS_WRITE}};
        add_layer(w, kind, layer);
        plan_access_few(r->p->b->plan, all, G_N_ELEMENTS(all));
    }
}

static void loss(struct work *w, uint32_t at)
{
    struct pipe_rank *r = w->r;
    struct build *b = r->p->b;
    const uint32_t last = w->layer1 - 1, input = input_of(r, at);
    uint32_t *cost = &r->p->loss_costs[pipe_is_last(r->p, w->action->micro)];
    if (*cost == OP_NONE)
        *cost = build_loss_cost(b, w->samples);
    r->dy[w->slot] = value(w, VALUE_DELTA, last);
    add_op(w, OP_LOSS, *cost);
    plan_dep(b->plan, r->input_op[w->action->micro]);
    plan_access(b->plan, r->acts[w->slot] + 2 * (last - w->layer0), ACCESS_READ);
    plan_access(b->plan, input, ACCESS_READ);
    plan_access(b->plan, r->dy[w->slot], ACCESS_WRITE);
    plan_access(b->plan, r->losses + pipe_tag_micro(r, w->action->micro), ACCESS_WRITE);
}

static void act_forward(struct work *w, uint32_t at)
{
    struct pipe_rank *r = w->r;
    const struct pipeline *p = r->p;
    const uint32_t next = w->action->stage + 1u;
    r->users[r->versions]++;
    w->wait = r->x_op[w->slot];
    if (w->layer0 == 0) {
        r->x[w->slot] = input_of(r, at);
        w->wait = r->input_op[w->action->micro];
    }
    forward(w, OP_FWD);
    if (next == pipe_stages(p))
        loss(w, at);
    else if (p->actions->rank[next] == r->rank)
        r->x[p->local[next] * p->micro + w->action->micro] =
            r->acts[w->slot] + 2 * (w->layer1 - 1 - w->layer0);
}

/* Of each layer, the gradient by its input, and what the weight gradients will need; tokens have no gradient.
 */
static void add_deltas(struct work *w)
{
    struct pipe_rank *r = w->r;
    r->deltas[w->slot] = r->p->b->plan->n_values;
    for (uint32_t layer = MAX(w->layer0, 1); layer < w->layer1; layer++) {
        value(w, VALUE_DELTA, layer - 1);
        if (w->action->kind == ACTION_I)
            value(w, VALUE_PENDING, layer);
    }
}

/* The first to write a layer's gradients in a round, the others add to them. */
static struct access grad_access(struct work *w, uint32_t layer)
{
    struct pipe_rank *r = w->r;
    const uint32_t owner = build_weight_layer(r->p->b->shape->model, layer);
    const struct access access = {r->grad[owner], r->grad_begun[owner] ? ACCESS_UPDATE : ACCESS_WRITE};
    r->grad_begun[owner] = true;
    return access;
}

/* B, I or W of the stage's layers, from the last to the first. */
static void backward(struct work *w, enum op_kind kind)
{
    const uint32_t first = kind == OP_BWD_INPUT ? MAX(w->layer0, 1) : w->layer0;
    for (uint32_t layer = w->layer1; layer-- > first;) {
        struct access all[PLAN_FEW] = {{weight_of(w, layer), ACCESS_READ},
                                       {input_at(w, layer), ACCESS_READ},
                                       {saved_of(w, layer), ACCESS_READ},
                                       {dy_of(w, layer), ACCESS_READ}};
        uint32_t n = 4;
        if (layer && kind != OP_BWD_WEIGHT)
            all[n++] = (struct access){dx_of(w, layer), ACCESS_WRITE};
        if (layer && kind != OP_BWD)
            all[n++] =
                (struct access){dx_of(w, layer) + 1, kind == OP_BWD_INPUT ? ACCESS_WRITE : ACCESS_READ};
        if (kind != OP_BWD_INPUT)
            all[n++] = grad_access(w, layer);
        all[n++] = (struct access){w->r->scratch, ACCESS_WRITE};
        add_layer(w, kind, layer);
        plan_access_few(w->r->p->b->plan, all, n);
    }
}

/* A stage whose predecessor is on the same rank leaves its gradient there. */
static void act_backward(struct work *w)
{
    struct pipe_rank *r = w->r;
    const struct pipeline *p = r->p;
    const struct action *a = w->action;
    /* What runs again does not need the gradient that is still on its way. */
    if (a->micro < p->kept_from)
        forward(w, OP_RECOMPUTE);
    w->wait = r->dy_op[w->slot];
    add_deltas(w);
    backward(w, a->kind == ACTION_I ? OP_BWD_INPUT : OP_BWD);
    if (a->stage > 0 && p->actions->rank[a->stage - 1] == r->rank)
        r->dy[p->local[a->stage - 1] * p->micro + a->micro] = r->deltas[w->slot];
}

/* Of a stage that is the first layer alone I was nothing: nobody has waited for its gradient yet. */
static void act_weight(struct work *w)
{
    if (w->layer1 == 1)
        w->wait = w->r->dy_op[w->slot];
    backward(w, OP_BWD_WEIGHT);
}

/* A pair begins when both have what they need, and ends together. */
static void receive(struct pipe_rank *r, uint32_t at, struct work *w)
{
    pipe_receive(r, at);
    if (w->tag.pair != PAIR_FIRST)
        return;
    pipe_receive(r, at + 1);
    const struct action *then = &r->list[at + 1];
    w->also = (then->kind == ACTION_F ? r->x_op : r->dy_op)[pipe_slot(r, then)];
}

static void send(struct pipe_rank *r, uint32_t at, const struct work *w)
{
    if (w->tag.pair == PAIR_FIRST)
        return;
    if (w->tag.pair == PAIR_SECOND)
        pipe_send(r, at - 1, r->last);
    pipe_send(r, at, r->last);
}

void pipe_action(struct pipe_rank *r, uint32_t at)
{
    struct work w = work_of(r, at);
    receive(r, at, &w);
    switch ((enum action_kind)w.action->kind) {
    case ACTION_F:
        act_forward(&w, at);
        break;
    case ACTION_B:
    case ACTION_I:
        act_backward(&w);
        break;
    case ACTION_W:
        act_weight(&w);
        break;
    case ACTION_KINDS:
        g_assert_not_reached();
    }
    r->last_op[at] = r->last;
    send(r, at, &w);
    if (r->p->asynchronous && w.action->kind == ACTION_B)
        pipe_step(r, at);
}
