/* Whether the members of a gang fit together. */
#include "plan/gangs.h"
#include "plan/seal.h"

struct check {
    const struct plan *plan;
    GError **error;
};

#define refuse(s, op, ...) seal_refuse((s)->plan, (op), (s)->error, __VA_ARGS__)

static bool is_receiver(unsigned kind)
{
    return kind == OP_RECV || kind == OP_RECV_ADD;
}

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

static bool refuse_bytes(const struct check *s, uint32_t id, uint64_t bytes, uint32_t peer)
{
    return refuse(s, id, "%" G_GUINT64_FORMAT " bytes, but op %u of its gang has %" G_GUINT64_FORMAT, bytes,
                  peer, s->plan->ops[peer].tag.bytes);
}

static bool check_exchange(const struct check *s, const struct gang *gang, uint32_t i)
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
static bool check_pieces_at(const struct check *s, const struct gang *gang, uint32_t i, unsigned mode,
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
static bool check_pieces(const struct check *s, const struct gang *gang, uint32_t i, unsigned mode)
{
    return check_pieces_at(s, gang, i, mode, count_accesses(&s->plan->ops[s->plan->gang_ops[gang->first]]),
                           0);
}

static unsigned message_mode(unsigned kind)
{
    return kind == OP_SEND ? ACCESS_READ : kind == OP_RECV ? ACCESS_WRITE : ACCESS_UPDATE;
}

static bool is_pair(unsigned kind, unsigned other)
{
    return kind == OP_SEND ? is_receiver(other) : is_receiver(kind) && other == OP_SEND;
}

void seal_meet(const struct plan *plan, uint32_t id, bool first, struct seal_meet *meet)
{
    const struct op *op = &plan->ops[id];
    const uint32_t rank = seal_rank(plan, id), kind = op->tag.kind;
    const bool plain = count_accesses(op) == 1 &&
                       plan->accesses[op->first_access].mode == message_mode(kind) &&
                       access_bytes(plan, op, 0) == op->tag.bytes;
    if (!plain)
        meet->state = MEET_OTHERS;
    else if (first)
        *meet = (struct seal_meet){op->tag.bytes, rank, kind};
    else
        meet->state = is_pair(kind, meet->state) && rank != meet->rank && op->tag.bytes == meet->bytes
                          ? MEET_CHECKED
                          : MEET_OTHERS;
}

static bool check_pair(const struct check *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    const struct op *op = &plan->ops[members[i]];
    if (gang->n != 2)
        return refuse(s, members[i], "its gang has %u ops, not a sender and a receiver", gang->n);
    unsigned other = plan->ops[members[1 - i]].tag.kind;
    if (op->tag.kind == OP_SEND ? !is_receiver(other) : other != OP_SEND)
        return refuse(s, members[i], "its gang has no %s", op->tag.kind == OP_SEND ? "receiver" : "sender");
    return check_pieces(s, gang, i, message_mode(op->tag.kind));
}

/* The first member has every other's pieces, in order. */
static bool check_shares(const struct check *s, const struct gang *gang, uint32_t i)
{
    const struct op *first = &s->plan->ops[s->plan->gang_ops[gang->first]];
    const bool scatter = first->tag.kind == OP_SCATTER;
    const uint32_t others = MAX(gang->n - 1, 1), each = count_accesses(first) / others;
    return check_pieces_at(s, gang, i, scatter == (i == 0) ? ACCESS_READ : ACCESS_WRITE,
                           i ? each : each * others, i ? (i - 1) * each : 0);
}

/* A piece of each member, its own it reads. */
static bool check_gathered(const struct check *s, const struct gang *gang, uint32_t i)
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

static bool check_alike(const struct check *s, const struct gang *gang, uint32_t i)
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

static bool check_member(const struct check *s, const struct gang *gang, uint32_t i)
{
    const struct plan *plan = s->plan;
    const uint32_t *members = &plan->gang_ops[gang->first];
    unsigned kind = plan->ops[members[i]].tag.kind, first = plan->ops[members[0]].tag.kind;
    if (i > 0 && seal_rank(plan, members[i]) == seal_rank(plan, members[i - 1]))
        return refuse(s, members[i], "its rank is in its gang twice, the other is op %u", members[i - 1]);
    if (first == OP_SEND || is_receiver(first))
        return check_pair(s, gang, i);
    if (kind != first)
        return refuse(s, members[i], "op %u of its gang is of another kind", members[0]);
    if (kind == OP_SCATTER || kind == OP_GATHER)
        return check_shares(s, gang, i);
    return is_exchange(kind) ? check_exchange(s, gang, i) : check_alike(s, gang, i);
}

bool seal_gang(const struct plan *plan, const struct gang *gang, GError **error)
{
    const struct check s = {plan, error};
    for (uint32_t i = 0; i < gang->n; i++)
        if (!check_member(&s, gang, i))
            return false;
    return true;
}

bool seal_gangs(struct plan *plan, GError **error)
{
    plan->n_gang_ops = gangs_gather(plan, plan->gangs, plan->gang_ops);
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        if (plan->gangs[g].n == 0) {
            g_set_error(error, PLAN_ERROR, PLAN_ERROR_INVALID, "gang %u has no op", g);
            return false;
        }
        if (!seal_gang(plan, &plan->gangs[g], error))
            return false;
    }
    return true;
}
