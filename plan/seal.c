#include <string.h>

#include "base/huge.h"
#include "plan/gangs.h"
#include "plan/seal.h"

struct seal {
    struct plan *plan;
    GError **error;
    struct chains chains;
};

bool seal_refuse(const struct plan *plan, uint32_t op, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args), *text = plan_op_text(plan, op);
    va_end(args);
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INVALID, "%s: %s", text, what);
    return false;
}

#define refuse(s, op, ...) seal_refuse((s)->plan, (op), (s)->error, __VA_ARGS__)

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

/* --- what each op names: it exists and belongs together */

static bool check_lanes(const struct seal *s)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank >= plan->t.n_ranks || plan->t.lanes[i].cls >= LANE_CLASSES) {
            g_set_error(s->error, PLAN_ERROR, PLAN_ERROR_INVALID,
                        "lane %u is of rank %u and class %u, but there are %u ranks and %u classes", i,
                        plan->t.lanes[i].rank, plan->t.lanes[i].cls, plan->t.n_ranks, LANE_CLASSES);
            return false;
        }
    return true;
}

/* The first op that accesses a value is named, or none where no op does. */
static bool refuse_value(const struct seal *s, uint32_t value, const char *what)
{
    const struct plan *plan = s->plan;
    for (uint32_t id = 0; id < plan->n_ops; id++)
        for (uint32_t i = plan->ops[id].first_access; i < plan->ops[id + 1].first_access; i++)
            if (plan->accesses[i].value == value)
                return refuse(s, id, "accesses value %u, %s", value, what);
    g_set_error(s->error, PLAN_ERROR, PLAN_ERROR_INVALID, "value %u, which no op accesses: %s", value, what);
    return false;
}

static bool check_values(const struct seal *s)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root >= plan->n_values || plan->values[v->root].root != v->root)
            return refuse_value(s, i, "which is a view of something that is no root");
        const struct value *root = &plan->values[v->root];
        if (v->rank >= plan->t.n_ranks || v->rank != root->rank || v->cls >= VALUE_CLASSES)
            return refuse_value(s, i, "which is of a wrong rank or class");
        if (v->offset > root->bytes || v->bytes > root->bytes - v->offset)
            return refuse_value(s, i, "which lies outside its root");
    }
    return true;
}

static bool is_receiver(unsigned kind)
{
    return kind == OP_RECV || kind == OP_RECV_ADD;
}

static bool check_tag(const struct seal *s, uint32_t id)
{
    const struct plan *plan = s->plan;
    const struct op_tag *tag = &plan->ops[id].tag;
    if ((tag->layer0 == LAYER_NONE) != (tag->layer1 == LAYER_NONE) ||
        (tag->layer0 != LAYER_NONE && (tag->layer0 >= tag->layer1 || tag->layer1 > plan->t.n_layers)))
        return refuse(s, id, "layers %u to %u, but there are %u", tag->layer0, tag->layer1, plan->t.n_layers);
    if (tag->bucket != OP_NONE && tag->bucket >= plan->t.n_buckets)
        return refuse(s, id, "bucket %u, but there are %u", tag->bucket, plan->t.n_buckets);
    if (plan->t.n_stages && tag->stage != STAGE_NONE && tag->stage >= plan->t.n_stages)
        return refuse(s, id, "stage %u, but there are %u", tag->stage, plan->t.n_stages);
    if (tag->gang != OP_NONE && tag->gang >= plan->n_gangs)
        return refuse(s, id, "gang %u, but there are %u", tag->gang, plan->n_gangs);
    if (tag->gang == OP_NONE && (tag->kind == OP_SEND || is_receiver(tag->kind)))
        return refuse(s, id, "is in no gang, so it has no peer");
    if (tag->coll != OP_NONE && tag->coll >= plan->n_colls)
        return refuse(s, id, "collective %u, but there are %u", tag->coll, plan->n_colls);
    return true;
}

static bool check_op(const struct seal *s, uint32_t id)
{
    const struct plan *plan = s->plan;
    const struct op *op = &plan->ops[id];
    if (op->tag.kind >= OP_KINDS || op->lane >= plan->t.n_lanes || op->cost >= plan->n_costs)
        return refuse(s, id, "kind %u, lane %u and cost %u, but there are %u, %u and %u of them",
                      op->tag.kind, op->lane, op->cost, OP_KINDS, plan->t.n_lanes, plan->n_costs);
    const struct lane *lane = &plan->t.lanes[op->lane];
    if (lane->cls != op_lane_class(op->tag.kind))
        return refuse(s, id, "runs on a %s lane, but its kind belongs on a %s lane",
                      lane_class_name(lane->cls), lane_class_name(op_lane_class(op->tag.kind)));
    for (uint32_t i = op->first_dep; i < op[1].first_dep; i++) {
        uint32_t on = plan->deps[i];
        if (on >= id)
            return refuse(s, id, "depends on op %u, which does not come before it", on);
        if (rank_of(plan, on) != lane->rank)
            return refuse(s, id, "depends on op %u of rank %u, only gangs cross ranks", on,
                          rank_of(plan, on));
    }
    for (uint32_t i = op->first_access; i < op[1].first_access; i++) {
        const struct access *a = &plan->accesses[i];
        if (a->value >= plan->n_values || a->mode < ACCESS_READ || a->mode > ACCESS_UPDATE)
            return refuse(s, id, "accesses value %u in mode %u, but there are %u values", a->value, a->mode,
                          plan->n_values);
        if (plan->values[a->value].rank != lane->rank)
            return refuse(s, id, "accesses value %u of rank %u, only gangs cross ranks", a->value,
                          plan->values[a->value].rank);
    }
    return check_tag(s, id);
}

static bool check_ops(struct seal *s)
{
    for (uint32_t i = 0; i < s->plan->n_ops; i++)
        if (!check_op(s, i))
            return false;
    return true;
}

/* --- gangs */

static bool is_exchange(unsigned kind)
{
    return kind == OP_EXCHANGE || kind == OP_EXCHANGE_ADD;
}

static uint32_t count_accesses(const struct op *op)
{
    return op[1].first_access - op->first_access;
}

static uint64_t access_bytes(const struct plan *plan, const struct op *op, uint32_t i)
{
    return plan->values[plan->accesses[op->first_access + i].value].bytes;
}

static bool refuse_bytes(const struct seal *s, uint32_t id, uint64_t bytes, uint32_t peer)
{
    return refuse(s, id, "%" G_GUINT64_FORMAT " bytes, but op %u of its gang has %" G_GUINT64_FORMAT, bytes,
                  peer, s->plan->ops[peer].tag.bytes);
}

static bool check_exchange(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]];
    uint32_t peer = members[(i + gang->n - gang->shift % gang->n) % gang->n];
    bool whole = count_accesses(op) == 2;
    uint64_t received = whole ? access_bytes(plan, op, 1) : op->tag.bytes;
    if (plan->ops[peer].tag.bytes != received)
        return refuse_bytes(s, members[i], received, peer);
    if (whole && access_bytes(plan, op, 0) != op->tag.bytes)
        return refuse(s, members[i], "sends another number of bytes than it reads");
    return true;
}

/* n pieces, each accessed in this mode and as long as that of the first member's accesses from `at` on. */
static bool check_pieces_at(const struct seal *s, const struct gang *gang, uint32_t i, unsigned mode,
                            uint32_t n, uint32_t at)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]], *first = &plan->ops[members[0]];
    uint64_t bytes = 0;
    if (count_accesses(op) != n)
        return refuse(s, members[i], "op %u of its gang has another number of pieces", members[0]);
    for (uint32_t k = 0; k < n; k++) {
        if (plan->accesses[op->first_access + k].mode != mode)
            return refuse(s, members[i], "accesses piece %u otherwise than its kind does", k);
        if (access_bytes(plan, op, k) != access_bytes(plan, first, at + k))
            return refuse(s, members[i], "piece %u has other bytes than in op %u of its gang", k, members[0]);
        bytes += access_bytes(plan, op, k);
    }
    if (op->tag.bytes != bytes)
        return refuse(s, members[i],
                      "%" G_GUINT64_FORMAT " bytes, but its pieces are %" G_GUINT64_FORMAT " together",
                      op->tag.bytes, bytes);
    return true;
}

/* What is sent in pieces is accessed by every member piece by piece. */
static bool check_pieces(const struct seal *s, const struct gang *gang, uint32_t i, unsigned mode)
{
    return check_pieces_at(s, gang, i, mode, count_accesses(&s->plan->ops[s->plan->gang_ops[gang->first]]),
                           0);
}

static bool check_pair(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]];
    if (gang->n != 2)
        return refuse(s, members[i], "its gang has %u ops, not a sender and a receiver", gang->n);
    unsigned other = plan->ops[members[1 - i]].tag.kind;
    if (op->tag.kind == OP_SEND ? !is_receiver(other) : other != OP_SEND)
        return refuse(s, members[i], "its gang has no %s", op->tag.kind == OP_SEND ? "receiver" : "sender");
    unsigned mode = op->tag.kind == OP_SEND   ? ACCESS_READ
                    : op->tag.kind == OP_RECV ? ACCESS_WRITE
                                              : ACCESS_UPDATE;
    return check_pieces(s, gang, i, mode);
}

/* The first member has every other's pieces, in order. */
static bool check_shares(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct op *first = &s->plan->ops[s->plan->gang_ops[gang->first]];
    const bool scatter = first->tag.kind == OP_SCATTER;
    const uint32_t others = MAX(gang->n - 1, 1), each = count_accesses(first) / others;
    return check_pieces_at(s, gang, i, scatter == (i == 0) ? ACCESS_READ : ACCESS_WRITE,
                           i ? each : each * others, i ? (i - 1) * each : 0);
}

/* A piece of each member, its own it reads. */
static bool check_gathered(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]];
    if (count_accesses(op) != gang->n)
        return refuse(s, members[i], "has another number of pieces than its gang has members");
    for (uint32_t k = 0; k < gang->n; k++)
        if (plan->accesses[op->first_access + k].mode != (k == i ? ACCESS_READ : ACCESS_WRITE) ||
            access_bytes(plan, op, k) != op->tag.bytes)
            return refuse(s, members[i],
                          "piece %u is of other bytes, or accessed otherwise than its kind does", k);
    return true;
}

static bool check_alike(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]];
    if (plan->ops[members[0]].tag.bytes != op->tag.bytes)
        return refuse_bytes(s, members[i], op->tag.bytes, members[0]);
    if (op->tag.kind == OP_ALLGATHER)
        return check_gathered(s, gang, i);
    if (op->tag.kind == OP_REDUCE)
        return check_pieces(s, gang, i, i == 0 ? ACCESS_UPDATE : ACCESS_READ);
    return op->tag.kind != OP_BROADCAST || check_pieces(s, gang, i, i == 0 ? ACCESS_READ : ACCESS_WRITE);
}

static bool check_member(const struct seal *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    unsigned kind = plan->ops[members[i]].tag.kind, first = plan->ops[members[0]].tag.kind;
    if (i > 0 && rank_of(plan, members[i]) == rank_of(plan, members[i - 1]))
        return refuse(s, members[i], "its rank is in its gang twice, the other is op %u", members[i - 1]);
    if (first == OP_SEND || is_receiver(first))
        return check_pair(s, gang, i);
    if (kind != first)
        return refuse(s, members[i], "op %u of its gang is of another kind", members[0]);
    if (kind == OP_SCATTER || kind == OP_GATHER)
        return check_shares(s, gang, i);
    return is_exchange(kind) ? check_exchange(s, gang, i) : check_alike(s, gang, i);
}

static bool check_gangs(struct seal *s)
{
    struct plan *plan = s->plan;
    g_free(plan->gang_ops);
    plan->gang_ops = huge_new(uint32_t, (gsize)plan->n_ops + 1);
    plan->n_gang_ops = gangs_gather(plan, plan->gangs, plan->gang_ops);
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        if (plan->gangs[g].n == 0) {
            g_set_error(s->error, PLAN_ERROR, PLAN_ERROR_INVALID, "gang %u has no op", g);
            return false;
        }
        for (uint32_t i = 0; i < plan->gangs[g].n; i++)
            if (!check_member(s, &plan->gangs[g], i))
                return false;
    }
    return true;
}

/* --- lanes as chains */

uint32_t seal_lane_slots(const struct plan *plan, uint32_t *lane_slot)
{
    g_autofree uint32_t *rank_lanes = g_new0(uint32_t, plan->t.n_ranks + 1);
    uint32_t slots = 0;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        lane_slot[i] = rank_lanes[plan->t.lanes[i].rank]++;
        slots = MAX(slots, lane_slot[i] + 1);
    }
    return slots;
}

static void link_lanes(const struct plan *plan, struct chains *c)
{
    g_autofree uint32_t *last = g_new(uint32_t, plan->t.n_lanes + 1);
    *c = (struct chains){
        .lane_slot = g_new(uint32_t, plan->t.n_lanes + 1),
        .previous = huge_new(uint32_t, (gsize)plan->n_ops + 1),
        .place = huge_new(uint32_t, (gsize)plan->n_ops + 1),
    };
    c->slots = seal_lane_slots(plan, c->lane_slot);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        last[i] = OP_NONE;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t lane = plan->ops[i].lane;
        c->previous[i] = last[lane];
        c->place[i] = last[lane] == OP_NONE ? 1 : c->place[last[lane]] + 1;
        last[lane] = i;
    }
}

/* --- order: Kahn's algorithm with each gang one node */

struct kahn {
    uint32_t *first, *after; /* ops after op i: after[first[i] .. first[i + 1]) */
    uint32_t *waits; /* per node: edges into it that are not yet released.  Gang g is node n_ops + g */
};

static uint32_t node_of(const struct plan *plan, uint32_t op)
{
    return plan->ops[op].tag.gang == OP_NONE ? op : plan->n_ops + plan->ops[op].tag.gang;
}

static void kahn_edges(const struct seal *s, struct kahn *k)
{
    const struct plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        k->waits[node_of(plan, i)] += op[1].first_dep - op->first_dep + (s->chains.previous[i] != OP_NONE);
        for (uint32_t d = op->first_dep; d < op[1].first_dep; d++)
            k->first[plan->deps[d]]++;
        if (s->chains.previous[i] != OP_NONE)
            k->first[s->chains.previous[i]]++;
    }
    uint32_t total = 0;
    for (uint32_t i = 0; i <= plan->n_ops; i++)
        k->first[i] = total += k->first[i];
    /* Filled from the back, so that first[i] ends where it begins and neighbours stay in the order of ids. */
    for (uint32_t i = plan->n_ops; i-- > 0;) {
        const struct op *op = &plan->ops[i];
        for (uint32_t d = op->first_dep; d < op[1].first_dep; d++)
            k->after[--k->first[plan->deps[d]]] = i;
        if (s->chains.previous[i] != OP_NONE)
            k->after[--k->first[s->chains.previous[i]]] = i;
    }
}

/* Appends what a node stands for to the order, which serves as the queue too. */
static uint32_t kahn_push(struct plan *plan, uint32_t op, uint32_t n)
{
    uint32_t g = plan->ops[op].tag.gang;
    if (g == OP_NONE) {
        plan->order[n] = op;
        return n + 1;
    }
    memcpy(&plan->order[n], &plan->gang_ops[plan->gangs[g].first], plan->gangs[g].n * sizeof *plan->order);
    return n + plan->gangs[g].n;
}

static uint32_t kahn_run(struct plan *plan, struct kahn *k)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t g = plan->ops[i].tag.gang;
        if (k->waits[node_of(plan, i)] == 0 && (g == OP_NONE || plan->gang_ops[plan->gangs[g].first] == i))
            n = kahn_push(plan, i, n);
    }
    for (uint32_t done = 0; done < n; done++) {
        uint32_t op = plan->order[done];
        for (uint32_t i = k->first[op]; i < k->first[op + 1]; i++)
            if (--k->waits[node_of(plan, k->after[i])] == 0)
                n = kahn_push(plan, k->after[i], n);
    }
    return n;
}

/* An op of the node of `op`, and what it waits for, among the nodes that are left. */
static uint32_t blocker(const struct seal *s, const struct kahn *k, uint32_t op, uint32_t *waiting)
{
    const struct plan *plan = s->plan;
    uint32_t g = plan->ops[op].tag.gang, n = g == OP_NONE ? 1 : plan->gangs[g].n;
    for (uint32_t m = 0; m < n; m++) {
        uint32_t member = g == OP_NONE ? op : plan->gang_ops[plan->gangs[g].first + m];
        *waiting = member;
        if (s->chains.previous[member] != OP_NONE && k->waits[node_of(plan, s->chains.previous[member])])
            return s->chains.previous[member];
        for (uint32_t d = plan->ops[member].first_dep; d < plan->ops[member + 1].first_dep; d++)
            if (k->waits[node_of(plan, plan->deps[d])])
                return plan->deps[d];
    }
    return OP_NONE;
}

/* From any node that is left, waiting leads into a cycle; its first op is named. */
static bool refuse_deadlock(const struct seal *s, const struct kahn *k)
{
    const struct plan *plan = s->plan;
    g_autofree uint8_t *seen = g_new0(uint8_t, plan->n_ops + plan->n_gangs + 1);
    uint32_t at = 0, waiting = 0, first = OP_NONE, on = OP_NONE;
    while (k->waits[node_of(plan, at)] == 0)
        at++;
    while (seen[node_of(plan, at)] < 2) {
        seen[node_of(plan, at)]++;
        uint32_t next = blocker(s, k, at, &waiting);
        if (seen[node_of(plan, at)] == 2 && waiting < first) {
            first = waiting;
            on = next;
        }
        at = next;
    }
    g_autofree char *other = plan_op_text(plan, on);
    return refuse(s, first, "deadlock: it waits for %s, which waits for it through a gang", other);
}

static bool find_order(struct seal *s)
{
    struct plan *plan = s->plan;
    g_autofree uint32_t *first = huge_new0(uint32_t, (gsize)plan->n_ops + 1);
    g_autofree uint32_t *after = huge_new(uint32_t, (gsize)plan->n_deps + plan->n_ops + 1);
    g_autofree uint32_t *waits = huge_new0(uint32_t, (gsize)plan->n_ops + plan->n_gangs + 1);
    struct kahn k = {first, after, waits};
    g_free(plan->order);
    plan->order = huge_new(uint32_t, (gsize)plan->n_ops + 1);
    kahn_edges(s, &k);
    return kahn_run(plan, &k) == plan->n_ops || refuse_deadlock(s, &k);
}

bool plan_seal(struct plan *plan, GError **error)
{
    struct seal s = {.plan = plan, .error = error};
    plan->sealed = check_lanes(&s) && check_ops(&s) && check_values(&s) && check_gangs(&s);
    if (plan->sealed) {
        link_lanes(plan, &s.chains);
        plan->sealed = find_order(&s) && seal_hazards(plan, &s.chains, error);
        g_free(s.chains.lane_slot);
        g_free(s.chains.previous);
        g_free(s.chains.place);
    }
    return plan->sealed;
}
