#include "profile/trace.h"

#include <stdlib.h>

/* Members of a gang side by side, in the order of the ops. */
static int compare_gang_ops(const void *a, const void *b)
{
    const struct trace_op *x = *(const struct trace_op *const *)a, *y = *(const struct trace_op *const *)b;
    if (x->tag.step != y->tag.step)
        return x->tag.step < y->tag.step ? -1 : 1;
    if (x->tag.gang != y->tag.gang)
        return x->tag.gang < y->tag.gang ? -1 : 1;
    return (x > y) - (x < y);
}

static const struct trace_op **gang_ops(const struct trace *trace, size_t *n)
{
    const struct trace_op **members = g_new(const struct trace_op *, trace->n_ops);
    *n = 0;
    for (size_t i = 0; i < trace->n_ops; i++)
        if (trace->ops[i].tag.gang != OP_NONE && trace->ops[i].cost < trace->n_costs)
            members[(*n)++] = &trace->ops[i];
    if (*n)
        qsort(members, *n, sizeof *members, compare_gang_ops);
    return members;
}

static size_t gang_end(const struct trace_op *const *members, size_t n, size_t begin)
{
    size_t end = begin + 1;
    while (end < n && members[end]->tag.step == members[begin]->tag.step &&
           members[end]->tag.gang == members[begin]->tag.gang)
        end++;
    return end;
}

static void add_gang_costs(const struct trace *trace, struct cost_table *table)
{
    size_t n;
    const struct trace_op **members = gang_ops(trace, &n);
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        int64_t arrived = members[i]->start_ns, ended = members[i]->end_ns;
        for (size_t j = i + 1; j < end; j++) {
            arrived = MAX(arrived, members[j]->start_ns);
            ended = MAX(ended, members[j]->end_ns);
        }
        for (size_t j = i; j < end; j++)
            cost_table_add(table, &trace->costs[members[j]->cost], ended - arrived);
    }
    g_free(members);
}

struct cost_table *trace_costs(const struct trace *trace)
{
    struct cost_table *table = cost_table_new();
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->cost < trace->n_costs && op->tag.gang == OP_NONE)
            cost_table_add(table, &trace->costs[op->cost], op->end_ns - op->start_ns);
    }
    add_gang_costs(trace, table);
    return table;
}
