#include "plan/pipeline.h"

/* A receive is posted when its rank has so many actions left before the one that needs it. */
#define PREFETCH 4

static bool is_backward(const struct action *a)
{
    return a->kind == ACTION_B || a->kind == ACTION_I;
}

/* The stage that the result of an action of `stage` goes to; beyond the last: none. */
static uint32_t next_stage(uint32_t stage, bool forward)
{
    return forward ? stage + 1 : stage - 1;
}

static struct route *route_at(struct route *routes, uint32_t local, bool forward)
{
    return &routes[2 * local + !forward];
}

/* Of what stage `from` makes for the one after it or before it: the output of a layer, or the gradient by it.
 */
static struct route route_of(const struct pipe_rank *r, enum op_kind kind, uint32_t from, bool forward)
{
    const struct pipeline *p = r->p;
    const uint32_t to = next_stage(from, forward), n = pipe_stages(p), *rank = p->actions->rank;
    struct route route = {.peer = OP_NONE};
    if (from >= n || to >= n || rank[from] == rank[to])
        return route;
    route = (struct route){.peer = rank[kind == OP_SEND ? to : from],
                           .lane = OP_NONE,
                           .costs = {OP_NONE, OP_NONE},
                           .layer = p->first_layer[MAX(from, to)] - 1,
                           .cls = forward ? VALUE_ACT : VALUE_DELTA,
                           .tag = p->blank};
    route.tag.kind = (uint8_t)kind;
    route.tag.stage = (uint16_t)from;
    route.tag.gang = p->gangs[2 * MIN(from, to) + !forward];
    return route;
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

/* --- what will arrive */

static uint32_t position_slot(const struct pipe_rank *r, uint32_t slot, bool forward)
{
    return (forward ? 0 : r->n_stages * r->p->micro) + slot;
}

/* By slot: the action that needs what arrives there, forward or backward. */
static void find_needs(const struct pipe_rank *r, bool forward, uint32_t *needs)
{
    for (uint32_t i = 0; i < r->n_list; i++)
        if (forward ? r->list[i].kind == ACTION_F : is_backward(&r->list[i]))
            needs[pipe_slot(r, &r->list[i])] = i;
}

/* From the last message to the first: a message is posted early enough for any after it. */
static void post(const struct pipe_rank *r, struct inbox *box)
{
    uint32_t earliest = OP_NONE;
    g_autofree uint32_t *needs = g_new(uint32_t, (gsize)r->n_stages * r->p->micro);
    find_needs(r, box->forward, needs);
    for (uint32_t i = box->n; i-- > 0;) {
        struct message *m = &box->messages[i];
        earliest = MIN(earliest, needs[m->local * r->p->micro + m->micro]);
        m->after = earliest >= PREFETCH ? earliest - PREFETCH : OP_NONE;
    }
}

/* In the order in which the peer makes them. */
static void fill_inbox(struct pipe_rank *r, struct inbox *box)
{
    const struct pipeline *p = r->p;
    const struct actions *all = p->actions;
    const uint32_t first = all->first[box->peer], end = all->first[box->peer + 1];
    box->messages = g_new(struct message, end - first);
    for (uint32_t i = first; i < end; i++) {
        const struct action *a = &all->list[i];
        const uint32_t to = next_stage(a->stage, box->forward);
        if (!(box->forward ? a->kind == ACTION_F : is_backward(a)) || to >= pipe_stages(p) ||
            all->rank[to] != r->rank)
            continue;
        const struct message m = {p->local[to], a->micro, OP_NONE};
        r->position[position_slot(r, m.local * p->micro + m.micro, box->forward)] = box->n;
        box->messages[box->n++] = m;
    }
    post(r, box);
}

static struct inbox *open_inbox(struct pipe_rank *r, uint32_t peer, bool forward)
{
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        if (r->inboxes[i].peer == peer && r->inboxes[i].forward == forward)
            return &r->inboxes[i];
    g_assert(r->n_inboxes < G_N_ELEMENTS(r->inboxes));
    struct inbox *box = &r->inboxes[r->n_inboxes++];
    *box = (struct inbox){.peer = peer, .lane = channel_lane(r, peer, forward, false), .forward = forward};
    fill_inbox(r, box);
    return box;
}

static struct route arrival_of(struct pipe_rank *r, uint32_t stage, bool forward)
{
    struct route route = route_of(r, OP_RECV, next_stage(stage, !forward), forward);
    if (route.peer != OP_NONE) {
        route.inbox = open_inbox(r, route.peer, forward);
        route.lane = route.inbox->lane;
    }
    return route;
}

void pipe_open_channels(struct pipe_rank *r)
{
    const gsize routes = 2 * (gsize)r->n_stages;
    r->position = pipe_ids(r, routes * r->p->micro);
    r->arrivals = g_new(struct route, 2 * routes);
    r->departures = r->arrivals + routes;
    for (uint32_t i = 0; i < r->n_stages; i++)
        for (unsigned back = 0; back < 2; back++) {
            *route_at(r->arrivals, i, !back) = arrival_of(r, r->stages[i], !back);
            *route_at(r->departures, i, !back) = route_of(r, OP_SEND, r->stages[i], !back);
        }
}

void pipe_close_channels(struct pipe_rank *r)
{
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        g_free(r->inboxes[i].messages);
    g_free(r->arrivals);
}

/* --- messages */

static void price(const struct pipe_rank *r, struct route *route, uint32_t micro)
{
    const struct build *b = r->p->b;
    const bool last = pipe_is_last(r->p, micro);
    const uint64_t bytes = pipe_bytes(r->p, route->cls, route->layer, micro);
    const struct cost_key key = {
        .bytes = bytes,
        .members = 2,
        .nodes = build_node(b->shape, route->peer) == build_node(b->shape, r->rank) ? 1 : 2,
        .kind = OP_RECV};
    route->bytes[last] = bytes;
    route->costs[last] = plan_add_cost(b->plan, &key);
}

static uint32_t add_message(const struct pipe_rank *r, struct route *route, uint32_t micro)
{
    struct plan *plan = r->p->b->plan;
    const bool last = pipe_is_last(r->p, micro);
    if (route->costs[last] == OP_NONE)
        price(r, route, micro);
    const uint32_t id = plan_add_op(plan, route->lane, &route->tag, route->costs[last]);
    struct op_tag *tag = &plan->ops[id].tag;
    tag->micro = pipe_tag_micro(r, micro);
    tag->version = r->versions;
    tag->gang += tag->micro;
    tag->bytes = route->bytes[last];
    return id;
}

static void receive(struct pipe_rank *r, struct inbox *box)
{
    struct plan *plan = r->p->b->plan;
    const struct message *m = &box->messages[box->next++];
    struct route *route = route_at(r->arrivals, m->local, box->forward);
    const uint32_t slot = m->local * r->p->micro + m->micro,
                   value = pipe_add_value(r, route->cls, route->layer, m->micro),
                   op = add_message(r, route, m->micro);
    if (m->after != OP_NONE)
        plan_dep(plan, r->last_op[m->after]);
    else if (r->round > 0)
        plan_dep(plan, r->last_op[r->n_list]);
    plan_access(plan, value, ACCESS_WRITE);
    (box->forward ? r->x : r->dy)[slot] = value;
    (box->forward ? r->x_op : r->dy_op)[slot] = op;
}

void pipe_receive(struct pipe_rank *r, uint32_t at)
{
    const struct action *a = &r->list[at];
    if (a->kind == ACTION_W)
        return;
    const bool forward = a->kind == ACTION_F;
    struct inbox *box = route_at(r->arrivals, r->p->local[a->stage], forward)->inbox;
    if (!box)
        return;
    const uint32_t position = r->position[position_slot(r, pipe_slot(r, a), forward)];
    while (box->next <= position)
        receive(r, box);
}

void pipe_send(struct pipe_rank *r, uint32_t at, uint32_t after)
{
    const struct action *a = &r->list[at];
    if (a->kind == ACTION_W)
        return;
    const struct pipeline *p = r->p;
    const bool forward = a->kind == ACTION_F;
    struct route *route = route_at(r->departures, p->local[a->stage], forward);
    if (route->peer == OP_NONE)
        return;
    if (route->lane == OP_NONE)
        route->lane = channel_lane(r, route->peer, forward, true);
    add_message(r, route, a->micro);
    plan_dep(p->b->plan, after);
    /* The stage's last output, or the gradient by its input. */
    const uint32_t slot = pipe_slot(r, a), layers = p->first_layer[a->stage + 1] - p->first_layer[a->stage];
    plan_access(p->b->plan, forward ? r->acts[slot] + 2 * (layers - 1) : r->deltas[slot], ACCESS_READ);
}
