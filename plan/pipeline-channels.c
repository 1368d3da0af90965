#include "plan/pipeline.h"

/* A receive is posted when its rank has so many actions left before the one that needs it. */
#define PREFETCH 4

static bool is_backward(const struct action *a)
{
    return a->kind == ACTION_B || a->kind == ACTION_I;
}

/* The rank that the result of an action goes to; OP_NONE if it goes nowhere, or stays. */
static uint32_t receiver_of(const struct pipeline *p, const struct action *a)
{
    const uint32_t *rank = p->actions->rank;
    uint32_t to = OP_NONE;
    if (a->kind == ACTION_F && a->stage + 1u < pipe_stages(p))
        to = rank[a->stage + 1];
    else if (is_backward(a) && a->stage > 0)
        to = rank[a->stage - 1];
    return to == rank[a->stage] ? OP_NONE : to;
}

static uint32_t add_lane(struct pipe_rank *r, uint32_t peer, bool forward, bool sends)
{
    struct build *b = r->p->b;
    if (b->shape->one_comm_lane) {
        if (r->comm == OP_NONE)
            r->comm = build_lane(b, "comm", r->rank, LANE_COMM);
        return r->comm;
    }
    g_autofree char *name =
        g_strdup_printf("%s %s %u", forward ? "forward" : "backward", sends ? "to" : "from", peer);
    const uint32_t lane = build_lane(b, name, r->rank, LANE_COMM);
    b->plan->t.lanes[lane].peer = peer;
    return lane;
}

static uint32_t channel_lane(struct pipe_rank *r, uint32_t peer, bool forward, bool sends)
{
    for (uint32_t i = 0; i < r->n_channels; i++) {
        const struct channel *c = &r->channels[i];
        if (c->peer == peer && c->forward == forward && c->sends == sends)
            return c->lane;
    }
    g_assert(r->n_channels < G_N_ELEMENTS(r->channels));
    const uint32_t lane = add_lane(r, peer, forward, sends);
    r->channels[r->n_channels++] = (struct channel){peer, lane, forward, sends};
    return lane;
}

/* By slot: the action that needs what arrives there, forward or backward. */
static uint32_t *find_needs(const struct pipe_rank *r, bool forward)
{
    uint32_t *needs = g_new(uint32_t, (gsize)r->n_stages * r->p->micro);
    for (uint32_t i = 0; i < r->n_list; i++)
        if (forward ? r->list[i].kind == ACTION_F : is_backward(&r->list[i]))
            needs[pipe_slot(r, &r->list[i])] = i;
    return needs;
}

/* From the last message to the first: a message is posted early enough for any after it. */
static void post(struct inbox *box, const uint32_t *needs)
{
    uint32_t earliest = OP_NONE;
    for (uint32_t i = box->n; i-- > 0;) {
        struct message *m = &box->messages[i];
        earliest = MIN(earliest, needs[m->slot]);
        m->after = earliest >= PREFETCH ? earliest - PREFETCH : OP_NONE;
    }
}

static void fill_inbox(struct pipe_rank *r, struct inbox *box)
{
    const struct pipeline *p = r->p;
    const struct actions *all = p->actions;
    GArray *messages = g_array_sized_new(FALSE, FALSE, sizeof(struct message), p->micro);
    uint32_t *position = r->position + (box->forward ? 0 : r->n_stages * p->micro);
    for (uint32_t i = all->first[box->peer]; i < all->first[box->peer + 1]; i++) {
        const struct action *a = &all->list[i];
        if ((a->kind == ACTION_F) != box->forward || receiver_of(p, a) != r->rank)
            continue;
        const uint32_t to = box->forward ? a->stage + 1u : a->stage - 1u;
        struct message m = {a->stage, a->micro, p->local[to] * p->micro + a->micro, OP_NONE};
        position[m.slot] = messages->len;
        g_array_append_val(messages, m);
    }
    box->n = messages->len;
    box->messages = (struct message *)(void *)g_array_free(messages, FALSE);
    g_autofree uint32_t *needs = find_needs(r, box->forward);
    post(box, needs);
}

static void add_inbox(struct pipe_rank *r, uint32_t peer, bool forward)
{
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        if (r->inboxes[i].peer == peer && r->inboxes[i].forward == forward)
            return;
    g_assert(r->n_inboxes < G_N_ELEMENTS(r->inboxes));
    struct inbox *box = &r->inboxes[r->n_inboxes++];
    *box = (struct inbox){.peer = peer, .lane = channel_lane(r, peer, forward, false), .forward = forward};
    fill_inbox(r, box);
}

void pipe_open_channels(struct pipe_rank *r)
{
    const struct pipeline *p = r->p;
    const uint32_t *rank = p->actions->rank, slots = r->n_stages * p->micro;
    r->position = pipe_ids(r, (gsize)2 * slots);
    for (uint32_t i = 0; i < r->n_stages; i++) {
        const uint32_t s = r->stages[i];
        if (s > 0 && rank[s - 1] != r->rank)
            add_inbox(r, rank[s - 1], true);
        if (s + 1 < pipe_stages(p) && rank[s + 1] != r->rank)
            add_inbox(r, rank[s + 1], false);
    }
}

void pipe_close_channels(struct pipe_rank *r)
{
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        g_free(r->inboxes[i].messages);
}

static uint32_t boundary_layer(const struct pipeline *p, uint32_t stage, bool forward)
{
    return p->first_layer[forward ? stage + 1 : stage] - 1;
}

/* What crosses between a stage and the next one, or back: the output of a layer, or the gradient by it. */
static uint32_t message_cost(const struct pipe_rank *r, const struct message *m, uint64_t bytes,
                             uint32_t peer, bool forward)
{
    struct build *b = r->p->b;
    uint32_t *cost = &r->p->hops[((gsize)m->stage * 2 + forward) * 2 + pipe_is_last(r->p, m->micro)];
    const struct cost_key key = {.bytes = bytes,
                                 .members = 2,
                                 .nodes = build_node(b->shape, peer) == build_node(b->shape, r->rank) ? 1 : 2,
                                 .kind = OP_RECV};
    if (*cost == OP_NONE)
        *cost = plan_add_cost(b->plan, &key);
    return *cost;
}

static uint32_t add_message(struct pipe_rank *r, enum op_kind kind, uint32_t lane, uint32_t peer,
                            const struct message *m, bool forward, uint64_t bytes)
{
    const struct pipeline *p = r->p;
    struct plan *plan = p->b->plan;
    const uint32_t id = plan_add_op(plan, lane, &p->blank, message_cost(r, m, bytes, peer, forward));
    struct op_tag *tag = &plan->ops[id].tag;
    tag->kind = (uint8_t)kind;
    tag->stage = (uint16_t)m->stage;
    tag->micro = pipe_tag_micro(r, m->micro);
    tag->version = r->versions;
    tag->gang = p->gangs[2 * (m->stage - !forward) + !forward] + tag->micro;
    tag->bytes = bytes;
    return id;
}

static void receive(struct pipe_rank *r, struct inbox *box)
{
    struct pipeline *p = r->p;
    const struct message *m = &box->messages[box->next++];
    const uint32_t layer = boundary_layer(p, m->stage, box->forward), peer = p->actions->rank[m->stage];
    const enum value_class cls = box->forward ? VALUE_ACT : VALUE_DELTA;
    const uint64_t bytes = pipe_bytes(p, cls, layer, m->micro);
    const uint32_t value = build_add_value(p->b, r->rank, cls, layer, pipe_tag_micro(r, m->micro), bytes);
    const uint32_t op = add_message(r, OP_RECV, box->lane, peer, m, box->forward, bytes);
    if (m->after != OP_NONE)
        plan_dep(p->b->plan, r->last_op[m->after]);
    else if (r->round > 0)
        plan_dep(p->b->plan, r->last_op[r->n_list]);
    plan_access(p->b->plan, value, ACCESS_WRITE);
    (box->forward ? r->x : r->dy)[m->slot] = value;
    (box->forward ? r->x_op : r->dy_op)[m->slot] = op;
}

void pipe_receive(struct pipe_rank *r, uint32_t at)
{
    const struct action *a = &r->list[at];
    if (a->kind == ACTION_W)
        return;
    const bool forward = a->kind == ACTION_F;
    const uint32_t position = r->position[(forward ? 0 : r->n_stages * r->p->micro) + pipe_slot(r, a)];
    if (position == OP_NONE)
        return;
    const uint32_t peer = r->p->actions->rank[forward ? a->stage - 1 : a->stage + 1];
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        if (r->inboxes[i].peer == peer && r->inboxes[i].forward == forward)
            while (r->inboxes[i].next <= position)
                receive(r, &r->inboxes[i]);
}

void pipe_send(struct pipe_rank *r, uint32_t at, uint32_t after)
{
    struct pipeline *p = r->p;
    const struct action *a = &r->list[at];
    const uint32_t peer = receiver_of(p, a), slot = pipe_slot(r, a);
    if (peer == OP_NONE)
        return;
    const bool forward = a->kind == ACTION_F;
    const uint32_t layer = boundary_layer(p, a->stage, forward);
    const uint64_t bytes = pipe_bytes(p, forward ? VALUE_ACT : VALUE_DELTA, layer, a->micro);
    const struct message m = {.stage = a->stage, .micro = a->micro};
    add_message(r, OP_SEND, channel_lane(r, peer, forward, true), peer, &m, forward, bytes);
    plan_dep(p->b->plan, after);
    /* The stage's last output, or the gradient by its input. */
    const uint32_t layers = p->first_layer[a->stage + 1] - p->first_layer[a->stage];
    plan_access(p->b->plan, forward ? r->acts[slot] + 2 * (layers - 1) : r->deltas[slot], ACCESS_READ);
}
