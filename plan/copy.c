#include "plan/copy.h"

void copy_tables(const struct plan *from, struct plan *to)
{
    plan_init(to);
    tables_release(&to->t);
    tables_copy(&to->t, &from->t);
    to->n_colls = from->n_colls;
    to->rank_share = g_memdup2(from->rank_share, from->t.n_ranks * sizeof *from->rank_share);
    to->rank_rows = g_memdup2(from->rank_rows, from->t.n_ranks * sizeof *from->rank_rows);
    to->micro_rows =
        g_memdup2(from->micro_rows, (gsize)from->t.n_ranks * from->n_micro * sizeof *from->micro_rows);
    to->batch = from->batch;
    to->rank_first = g_memdup2(from->rank_first, from->t.n_ranks * sizeof *from->rank_first);
    to->micro_weight =
        g_memdup2(from->micro_weight, (gsize)from->t.n_ranks * from->n_micro * sizeof *from->micro_weight);
    to->loss_scale = from->loss_scale;
    to->n_updates = from->n_updates;
    to->n_micro = from->n_micro;
    to->optimizer = from->optimizer;
    to->ini = tables_intern(&to->t, from->ini);
    to->override = from->override;
}

void copy_values(const struct plan *from, struct plan *to)
{
    for (uint32_t i = 0; i < from->n_values; i++) {
        const struct value *v = &from->values[i];
        if (v->root == i)
            plan_add_value(to, v);
        else
            plan_add_view(to, v->root, v->offset, v->bytes);
    }
}

uint32_t copy_op(const struct plan *from, uint32_t id, uint32_t gang, struct plan *to)
{
    const struct op *op = &from->ops[id];
    struct op_tag tag = op->tag;
    tag.gang = gang;
    const uint32_t copy = plan_add_op(to, op->lane, &tag, plan_add_cost(to, &from->costs[op->cost]));
    for (uint32_t i = op->first_access; i < op[1].first_access; i++)
        plan_access(to, from->accesses[i].value, from->accesses[i].mode);
    return copy;
}
