#include "profile/gang.h"

static int64_t work_ns(const struct trace_op *op)
{
    return op->work_ns < 0 ? op->end_ns - op->start_ns : op->work_ns;
}

static void add_gang_costs(const struct trace *trace, struct cost_table *table)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        int64_t arrived = members[i]->start_ns, ended = members[i]->end_ns;
        for (size_t j = i + 1; j < end; j++) {
            arrived = MAX(arrived, members[j]->start_ns);
            ended = MAX(ended, members[j]->end_ns);
        }
        for (size_t j = i; j < end; j++)
            if (members[j]->cost < trace->n_costs)
                cost_table_add(table, &trace->costs[members[j]->cost],
                               &(struct cost){ended - arrived, work_ns(members[j])});
    }
    g_free(members);
}

struct cost_table *trace_costs(const struct trace *trace)
{
    struct cost_table *table = cost_table_new();
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->cost < trace->n_costs && op->tag.gang == OP_NONE)
            cost_table_add(table, &trace->costs[op->cost],
                           &(struct cost){op->end_ns - op->start_ns, work_ns(op)});
    }
    add_gang_costs(trace, table);
    return table;
}
