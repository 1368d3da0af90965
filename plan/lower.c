#include "plan/gangs.h"

/* Of a value of `from`: the view of its first chunk, and how many there are; 0 where there are none yet. */
struct chunks {
    uint32_t first, n;
};

struct lower {
    const struct plan *from;
    struct plan *to;
    struct gang *gangs; /* of `from`, gathered */
    uint32_t *gang_ops;
    uint32_t *gang_ids; /* of `to`: of a ring's first hop, or of the gang itself */
    uint32_t *op_ids;   /* of `to`: the op or its last hop; OP_NONE for one that vanished */
    struct chunks *chunks;
    enum allreduce algo;
    size_t elem_bytes;
};

static bool is_lowered(const struct lower *l, const struct op *op)
{
    return l->algo == ALLREDUCE_RING && op->tag.kind == OP_ALLREDUCE && op->tag.gang != OP_NONE;
}

static void copy_values(struct lower *l)
{
    const struct plan *from = l->from;
    for (uint32_t i = 0; i < from->n_values; i++) {
        const struct value *v = &from->values[i];
        if (v->root == i)
            plan_add_value(l->to, v);
        else
            plan_add_view(l->to, v->root, v->offset, v->bytes);
    }
}

static void add_gangs(struct lower *l)
{
    const struct plan *from = l->from;
    for (uint32_t g = 0; g < from->n_gangs; g++) {
        const struct gang *gang = &l->gangs[g];
        l->gang_ids[g] = l->to->n_gangs;
        if (gang->n == 0 || !is_lowered(l, &from->ops[l->gang_ops[gang->first]]))
            plan_add_gang(l->to, from->gangs[g].shift);
        else
            for (uint32_t hop = 0; hop < 2 * (gang->n - 1); hop++)
                plan_add_gang(l->to, 1);
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

/* Chunk c of n as views; floor(c e / n) without the product's overflow. */
static void add_chunks(struct lower *l, uint32_t value, uint32_t n)
{
    const struct value v = l->to->values[value];
    uint64_t elems = v.bytes / l->elem_bytes, at = 0;
    l->chunks[value] = (struct chunks){l->to->n_values, n};
    for (uint32_t c = 1; c <= n; c++) {
        uint64_t end = elems / n * c + elems % n * c / n;
        plan_add_view(l->to, v.root, v.offset + at * l->elem_bytes, (end - at) * l->elem_bytes);
        at = end;
    }
}

/* Hop h < n-1 reduces: member i sends chunk i-h and adds to chunk i-h-1, so that in the end it owns chunk
 * i+1.  The n-1 hops after that pass the owned chunks on: member i sends i+1 first, which is i-h again. */
static void add_hop(struct lower *l, const struct op *op, uint32_t n, uint32_t member, uint32_t hop)
{
    bool reduces = hop < n - 1;
    uint32_t sent = (member + 2 * n - hop) % n, received = (sent + n - 1) % n;
    uint32_t views = l->chunks[l->from->accesses[op->first_access].value].first;
    struct op_tag tag = op->tag;
    tag.kind = reduces ? OP_EXCHANGE_ADD : OP_EXCHANGE;
    tag.algo = ALLREDUCE_RING;
    tag.hop = (uint16_t)hop;
    tag.chunk = (uint16_t)received;
    tag.gang = l->gang_ids[op->tag.gang] + hop;
    tag.bytes = l->to->values[views + sent].bytes;
    struct cost_key key = {.bytes = tag.bytes, .members = (uint16_t)n, .kind = tag.kind, .algo = tag.algo};
    plan_add_op(l->to, op->lane, &tag, plan_add_cost(l->to, &key));
    if (hop == 0)
        add_deps(l, op);
    plan_access(l->to, views + sent, ACCESS_READ);
    plan_access(l->to, views + received, reduces ? ACCESS_UPDATE : ACCESS_WRITE);
}

static bool lower_op(struct lower *l, uint32_t id, GError **error)
{
    const struct op *op = &l->from->ops[id];
    const struct gang *gang = &l->gangs[op->tag.gang];
    uint32_t value = l->from->accesses[op->first_access].value, member = 0;
    if (l->from->values[value].bytes % l->elem_bytes) {
        g_autofree char *text = plan_op_text(l->from, id);
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "%s reduces %" G_GUINT64_FORMAT " bytes, no whole number of elements of %u", text,
                    l->from->values[value].bytes, (unsigned)l->elem_bytes);
        return false;
    }
    while (l->gang_ops[gang->first + member] != id)
        member++;
    if (gang->n > 1 && l->chunks[value].n != gang->n)
        add_chunks(l, value, gang->n);
    for (uint32_t hop = 0; hop < 2 * (gang->n - 1); hop++)
        add_hop(l, op, gang->n, member, hop);
    l->op_ids[id] = gang->n > 1 ? l->to->n_ops - 1 : OP_NONE;
    return true;
}

static void copy_op(struct lower *l, uint32_t id)
{
    const struct op *op = &l->from->ops[id];
    struct op_tag tag = op->tag;
    if (tag.gang != OP_NONE)
        tag.gang = l->gang_ids[tag.gang];
    l->op_ids[id] = plan_add_op(l->to, op->lane, &tag, plan_add_cost(l->to, &l->from->costs[op->cost]));
    add_deps(l, op);
    for (uint32_t i = op->first_access; i < op[1].first_access; i++)
        plan_access(l->to, l->from->accesses[i].value, l->from->accesses[i].mode);
}

bool plan_lower_allreduce(const struct plan *from, enum allreduce algo, size_t elem_bytes, struct plan *to,
                          GError **error)
{
    plan_init(to);
    tables_release(&to->t);
    tables_copy(&to->t, &from->t);
    to->n_colls = from->n_colls;
    to->rank_share = g_memdup2(from->rank_share, from->t.n_ranks * sizeof *from->rank_share);
    to->rank_rows = g_memdup2(from->rank_rows, from->t.n_ranks * sizeof *from->rank_rows);
    to->n_micro = from->n_micro;
    to->micro_rows =
        g_memdup2(from->micro_rows, (size_t)from->t.n_ranks * from->n_micro * sizeof *from->micro_rows);
    to->optimizer = from->optimizer;
    g_autofree struct gang *gangs = g_new(struct gang, from->n_gangs + 1);
    g_autofree uint32_t *gang_ops = g_new(uint32_t, from->n_ops + 1),
                        *op_ids = g_new(uint32_t, from->n_ops + 1),
                        *gang_ids = g_new(uint32_t, from->n_gangs + 1);
    g_autofree struct chunks *chunks = g_new0(struct chunks, from->n_values + 1);
    struct lower l = {from, to, gangs, gang_ops, gang_ids, op_ids, chunks, algo, elem_bytes};
    gangs_gather(from, gangs, gang_ops);
    copy_values(&l);
    add_gangs(&l);
    bool ok = true;
    for (uint32_t i = 0; i < from->n_ops && ok; i++) {
        if (is_lowered(&l, &from->ops[i]))
            ok = lower_op(&l, i, error);
        else
            copy_op(&l, i);
    }
    if (!ok)
        plan_release(to);
    return ok;
}
