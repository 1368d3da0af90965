#include "plan/lower.h"

#include "plan/copy.h"
#include "plan/gangs.h"

static const struct lowering *lowering_of(enum allreduce algo, unsigned kind)
{
    static const struct lowering *const all[ALLREDUCES] = {
        [ALLREDUCE_RING] = &lower_ring,
        [ALLREDUCE_TREE] = &lower_tree,
        [ALLREDUCE_REDUCE_BROADCAST] = &lower_reduce_broadcast,
        [ALLREDUCE_ALL_TO_ALL] = &lower_all_to_all,
    };
    if (algo == ALLREDUCE_WHOLE)
        return NULL;
    switch (kind) {
    case OP_ALLREDUCE:
        return all[algo];
    case OP_BROADCAST:
        return &lower_broadcast;
    case OP_REDUCE:
        return algo == ALLREDUCE_REDUCE_BROADCAST ? &lower_reduce_star : &lower_reduce;
    case OP_SCATTER:
        return &lower_scatter;
    case OP_GATHER:
        return &lower_gather;
    case OP_ALLGATHER:
        return &lower_allgather;
    default:
        return NULL;
    }
}

static const struct lowering *lowering_of_op(const struct lower *l, const struct op *op)
{
    return op->tag.gang == OP_NONE ? NULL : lowering_of(l->algo, op->tag.kind);
}

uint64_t plan_lowered_ops(enum allreduce algo, uint32_t ranks)
{
    const struct lowering *lowering = lowering_of(algo, OP_ALLREDUCE);
    return lowering ? lowering->ops(ranks) : ranks;
}

static void begin_values(struct lower *l)
{
    const struct plan *from = l->from;
    copy_values(from, l->to);
    for (uint32_t i = 0; i < from->n_ops; i++)
        if (from->ops[i].tag.kind == OP_ALLREDUCE)
            l->scratch_bytes =
                MAX(l->scratch_bytes, from->values[from->accesses[from->ops[i].first_access].value].bytes);
    for (uint32_t i = 0; i < from->t.n_ranks; i++)
        l->scratch[i] = OP_NONE;
}

static void add_gangs(struct lower *l)
{
    const struct plan *from = l->from;
    for (uint32_t g = 0; g < from->n_gangs; g++) {
        const struct gang *gang = &l->gangs[g];
        const struct lowering *lowering =
            gang->n ? lowering_of_op(l, &from->ops[l->gang_ops[gang->first]]) : NULL;
        l->gang_ids[g] = l->to->n_gangs;
        if (!lowering)
            plan_add_gang(l->to, from->gangs[g].shift);
        else
            for (uint32_t i = 0; i < lowering->gangs(gang->n); i++)
                plan_add_gang(l->to, lowering->shift ? lowering->shift(i) : 0);
    }
}

/* Adds to the op added last what the ops after `op` of `from` depend on. */
static void add_dep(struct lower *l, uint32_t op)
{
    if (l->op_ids[op] != OP_NONE) {
        plan_dep(l->to, l->op_ids[op]);
        return;
    }
    for (uint32_t i = l->from->ops[op].first_dep; i < l->from->ops[op + 1].first_dep; i++)
        add_dep(l, l->from->deps[i]);
}

static void add_deps(struct lower *l, const struct op *op)
{
    for (uint32_t i = op->first_dep; i < op[1].first_dep; i++)
        add_dep(l, l->from->deps[i]);
}

void lower_hop(struct lower *l, const struct part *part, const struct hop *hop)
{
    uint32_t id = (uint32_t)(part->op - l->from->ops);
    struct op_tag tag = part->op->tag;
    tag.kind = hop->kind;
    tag.algo = (uint8_t)part->algo;
    tag.collective = (uint8_t)op_collective(part->op->tag.kind);
    tag.hop = (uint16_t)hop->number;
    tag.chunk = (uint16_t)hop->chunk;
    tag.gang = hop->gang == OP_NONE ? OP_NONE : l->gang_ids[part->op->tag.gang] + hop->gang;
    tag.bytes = hop->bytes;
    struct cost_key key = hop->cost;
    key.algo = tag.algo;
    bool first = l->op_ids[id] == OP_NONE;
    l->op_ids[id] = plan_add_op(l->to, part->op->lane, &tag, plan_add_cost(l->to, &key));
    if (first)
        add_deps(l, part->op);
}

static uint32_t node_of(const struct lower *l, const struct part *part, uint32_t member)
{
    const struct gang *gang = &l->gangs[part->op->tag.gang];
    return l->from->t.lanes[l->from->ops[l->gang_ops[gang->first + member]].lane].node;
}

/* A sender takes as long as its receiver does, and only the receiver knows whether something is added: both
 * have its key. */
void lower_pair_of(struct lower *l, const struct part *part, uint32_t peer, enum op_kind kind,
                   enum op_kind receiver, uint32_t number, uint32_t gang, uint32_t first, uint32_t n)
{
    const struct access *accesses = &l->from->accesses[part->op->first_access + first];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += l->from->values[accesses[i].value].bytes;
    const bool apart = node_of(l, part, peer) != node_of(l, part, part->member);
    struct hop hop = {
        .kind = (uint8_t)kind,
        .number = number,
        .gang = gang,
        .bytes = bytes,
        .cost = {.kind = (uint8_t)receiver, .members = 2, .nodes = apart ? 2 : 1, .bytes = bytes}};
    lower_hop(l, part, &hop);
    for (uint32_t i = 0; i < n; i++)
        plan_access(l->to, accesses[i].value,
                    kind == OP_SEND   ? ACCESS_READ
                    : kind == OP_RECV ? ACCESS_WRITE
                                      : ACCESS_UPDATE);
}

void lower_pair(struct lower *l, const struct part *part, uint32_t peer, enum op_kind kind,
                enum op_kind receiver, uint32_t number, uint32_t gang)
{
    lower_pair_of(l, part, peer, kind, receiver, number, gang, 0,
                  part->op[1].first_access - part->op->first_access);
}

uint32_t lower_pair_gangs(uint32_t n)
{
    return 2 * (n - 1);
}

uint64_t lower_pair_ops(uint32_t n)
{
    return 4 * ((uint64_t)n - 1);
}

static bool lower_op(struct lower *l, const struct lowering *lowering, uint32_t id, GError **error)
{
    const struct op *op = &l->from->ops[id];
    const struct gang *gang = &l->gangs[op->tag.gang];
    struct part part = {
        .op = op, .n = gang->n, .nodes = l->from->costs[op->cost].nodes, .algo = lowering->algo};
    part.value = l->from->accesses[op->first_access].value;
    for (uint32_t i = op->first_access; i < op[1].first_access; i++)
        part.bytes += l->from->values[l->from->accesses[i].value].bytes;
    if (op->tag.kind == OP_ALLREDUCE && part.bytes % l->elem_bytes) {
        g_autofree char *text = plan_op_text(l->from, id);
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "%s reduces %" G_GUINT64_FORMAT " bytes, no whole number of elements of %u", text,
                    part.bytes, (unsigned)l->elem_bytes);
        return false;
    }
    while (l->gang_ops[gang->first + part.member] != id)
        part.member++;
    l->op_ids[id] = OP_NONE;
    if (part.n > 1)
        lowering->add(l, &part);
    return true;
}

static void keep_op(struct lower *l, uint32_t id)
{
    const struct op *op = &l->from->ops[id];
    const uint32_t gang = op->tag.gang == OP_NONE ? OP_NONE : l->gang_ids[op->tag.gang];
    l->op_ids[id] = copy_op(l->from, id, gang, l->to);
    add_deps(l, op);
}

static bool lower_ops(struct lower *l, GError **error)
{
    for (uint32_t i = 0; i < l->from->n_ops; i++) {
        const struct lowering *lowering = lowering_of_op(l, &l->from->ops[i]);
        if (!lowering)
            keep_op(l, i);
        else if (!lower_op(l, lowering, i, error))
            return false;
    }
    return true;
}

bool plan_lower_allreduce(const struct plan *from, enum allreduce algo, size_t elem_bytes, struct plan *to,
                          GError **error)
{
    copy_tables(from, to);
    g_autofree struct gang *gangs = g_new(struct gang, (gsize)from->n_gangs + 1);
    g_autofree uint32_t *gang_ops = g_new(uint32_t, (gsize)from->n_ops + 1),
                        *op_ids = g_new(uint32_t, (gsize)from->n_ops + 1),
                        *gang_ids = g_new(uint32_t, (gsize)from->n_gangs + 1),
                        *scratch = g_new(uint32_t, (gsize)from->t.n_ranks + 1);
    g_autofree struct chunks *chunks = g_new0(struct chunks, (gsize)from->n_values + 1);
    struct lower l = {.from = from,
                      .to = to,
                      .algo = algo,
                      .elem_bytes = elem_bytes,
                      .gangs = gangs,
                      .gang_ops = gang_ops,
                      .gang_ids = gang_ids,
                      .op_ids = op_ids,
                      .chunks = chunks,
                      .scratch = scratch};
    gangs_gather(from, gangs, gang_ops);
    begin_values(&l);
    add_gangs(&l);
    bool ok = lower_ops(&l, error);
    if (!ok)
        plan_release(to);
    return ok;
}
