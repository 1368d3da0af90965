/* The plan of what losses need, for evaluation. */
#include "plan/copy.h"
#include "plan/gangs.h"

struct forward {
    const struct plan *from;
    struct plan *to;
    struct gang *gangs;
    uint32_t *gang_ops;
    uint32_t *first_writer; /* by root: of writers */
    uint32_t *writers; /* ops that write to it, in order; one that does so by several accesses as often */
    bool *needed;      /* by op */
    uint32_t *stack, n_stack; /* needed ops whose own needs are not known yet */
    uint32_t *lane_slot;      /* by lane: its number among its rank's */
    uint32_t slots;           /* the most that a rank has */
    /* behind[op * slots + k]: the latest needed op on the k-th lane of the op's rank that comes before its
     * end, 0: none; else its id + 1 */
    uint32_t *behind;
    uint32_t *ids; /* by op: in `to` */
};

/* --- what is needed */

static void need(struct forward *f, uint32_t op)
{
    if (f->needed[op])
        return;
    f->needed[op] = true;
    f->stack[f->n_stack++] = op;
}

static bool overlap(const struct value *a, const struct value *b)
{
    return a->root == b->root && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool covers(const struct value *a, const struct value *b)
{
    return a->offset <= b->offset && a->offset + a->bytes >= b->offset + b->bytes;
}

/* Whoever wrote what an op reads: those before it, back to one that wrote all of it. */
static void need_writers(struct forward *f, uint32_t op, uint32_t value)
{
    const struct plan *p = f->from;
    const struct value *read = &p->values[value];
    for (uint32_t w = f->first_writer[read->root + 1]; w-- > f->first_writer[read->root];) {
        const uint32_t by = f->writers[w];
        for (uint32_t i = p->ops[by].first_access; by < op && i < p->ops[by + 1].first_access; i++) {
            const struct value *written = &p->values[p->accesses[i].value];
            if (!(p->accesses[i].mode & ACCESS_WRITE) || !overlap(written, read))
                continue;
            need(f, by);
            if (p->accesses[i].mode == ACCESS_WRITE && covers(written, read))
                return;
        }
    }
}

static void list_writers(struct forward *f)
{
    const struct plan *p = f->from;
    for (uint32_t i = 0; i < p->n_accesses; i++)
        if (p->accesses[i].mode & ACCESS_WRITE)
            f->first_writer[p->values[p->accesses[i].value].root + 1]++;
    for (uint32_t v = 0; v < p->n_values; v++)
        f->first_writer[v + 1] += f->first_writer[v];
    g_autofree uint32_t *next = g_memdup2(f->first_writer, ((gsize)p->n_values + 1) * sizeof *next);
    for (uint32_t op = 0; op < p->n_ops; op++)
        for (uint32_t i = p->ops[op].first_access; i < p->ops[op + 1].first_access; i++)
            if (p->accesses[i].mode & ACCESS_WRITE)
                f->writers[next[p->values[p->accesses[i].value].root]++] = op;
}

static void find_needed(struct forward *f)
{
    const struct plan *p = f->from;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].tag.kind == OP_LOSS)
            need(f, i);
    while (f->n_stack) {
        const uint32_t op = f->stack[--f->n_stack], g = p->ops[op].tag.gang;
        for (uint32_t i = p->ops[op].first_access; i < p->ops[op + 1].first_access; i++)
            if (p->accesses[i].mode & ACCESS_READ)
                need_writers(f, op, p->accesses[i].value);
        for (uint32_t i = 0; g != OP_NONE && i < f->gangs[g].n; i++)
            need(f, f->gang_ops[f->gangs[g].first + i]);
    }
}

/* --- the plan of it */

static void number_lanes(struct forward *f)
{
    const struct tables *t = &f->from->t;
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        for (uint32_t j = 0; j < i; j++)
            f->lane_slot[i] += t->lanes[j].rank == t->lanes[i].rank;
        f->slots = MAX(f->slots, f->lane_slot[i] + 1);
    }
}

/* Puts `before`'s latest ops, where they are later, among those of `row`. */
static void join(const struct forward *f, uint32_t before, uint32_t *row)
{
    for (uint32_t k = 0; k < f->slots; k++)
        row[k] = MAX(row[k], f->behind[(gsize)before * f->slots + k]);
}

/* Depends on the latest op of each other lane, unless the needed one before it on its own lane does. */
static void add_deps(const struct forward *f, uint32_t op)
{
    const uint32_t *row = &f->behind[(gsize)op * f->slots], own = f->lane_slot[f->from->ops[op].lane];
    const uint32_t *before = row[own] ? &f->behind[(gsize)(row[own] - 1) * f->slots] : NULL;
    for (uint32_t k = 0; k < f->slots; k++)
        if (row[k] && k != own && (!before || row[k] > before[k]))
            plan_dep(f->to, f->ids[row[k] - 1]);
}

static void copy_needed(struct forward *f)
{
    const struct plan *p = f->from;
    g_autofree uint32_t *last = g_new(uint32_t, (gsize)p->t.n_lanes + 1),
                        *gang_ids = g_new(uint32_t, (gsize)p->n_gangs + 1);
    for (uint32_t i = 0; i < p->t.n_lanes; i++)
        last[i] = OP_NONE;
    for (uint32_t g = 0; g < p->n_gangs; g++)
        gang_ids[g] = f->gangs[g].n && f->needed[f->gang_ops[f->gangs[g].first]]
                          ? plan_add_gang(f->to, p->gangs[g].shift)
                          : OP_NONE;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const struct op *op = &p->ops[i];
        const uint32_t previous = last[op->lane];
        uint32_t *row = &f->behind[(gsize)i * f->slots];
        for (uint32_t d = op->first_dep; d < op[1].first_dep; d++)
            join(f, p->deps[d], row);
        if (previous != OP_NONE)
            join(f, previous, row);
        last[op->lane] = i;
        if (!f->needed[i])
            continue;
        f->ids[i] = copy_op(p, i, op->tag.gang == OP_NONE ? OP_NONE : gang_ids[op->tag.gang], f->to);
        add_deps(f, i);
        row[f->lane_slot[op->lane]] = i + 1;
    }
}

/* What nobody touches any more need not be there. */
static void forget_values(struct plan *plan)
{
    g_autofree bool *used = g_new0(bool, (gsize)plan->n_values + 1);
    for (uint32_t i = 0; i < plan->n_accesses; i++)
        used[plan->values[plan->accesses[i].value].root] = true;
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (!used[plan->values[i].root])
            plan->values[i].flags = 0;
}

void plan_forward(const struct plan *from, struct plan *to)
{
    const gsize n = (gsize)from->n_ops + 1;
    copy_tables(from, to);
    copy_values(from, to);
    g_autofree struct gang *gangs = g_new(struct gang, (gsize)from->n_gangs + 1);
    g_autofree uint32_t *gang_ops = g_new(uint32_t, n), *stack = g_new(uint32_t, n),
                        *ids = g_new(uint32_t, n), *lane_slot = g_new0(uint32_t, (gsize)from->t.n_lanes + 1),
                        *first_writer = g_new0(uint32_t, (gsize)from->n_values + 2),
                        *writers = g_new(uint32_t, (gsize)from->n_accesses + 1);
    g_autofree bool *needed = g_new0(bool, n);
    struct forward f = {.from = from,
                        .to = to,
                        .gangs = gangs,
                        .gang_ops = gang_ops,
                        .first_writer = first_writer,
                        .writers = writers,
                        .needed = needed,
                        .stack = stack,
                        .lane_slot = lane_slot,
                        .ids = ids};
    gangs_gather(from, gangs, gang_ops);
    list_writers(&f);
    find_needed(&f);
    number_lanes(&f);
    f.behind = g_new0(uint32_t, n * f.slots);
    copy_needed(&f);
    g_free(f.behind);
    forget_values(to);
}
