#include <string.h>

#include "profile/gang.h"

/* What each op took, by op; of a gang, from the arrival of its last member. */
static int64_t *list_durations(const struct trace *trace)
{
    int64_t *alone_ns = g_new(int64_t, trace->n_ops);
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    for (size_t i = 0; i < trace->n_ops; i++)
        alone_ns[i] = trace->ops[i].end_ns - trace->ops[i].start_ns;
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        int64_t arrived = members[i]->start_ns, ended = members[i]->end_ns;
        for (size_t j = i + 1; j < end; j++) {
            arrived = MAX(arrived, members[j]->start_ns);
            ended = MAX(ended, members[j]->end_ns);
        }
        for (size_t j = i; j < end; j++)
            alone_ns[members[j] - trace->ops] = ended - arrived;
    }
    g_free(members);
    return alone_ns;
}

/* Of the ops of one step that have one cost key. */
struct mean {
    double alone_ns, work_ns;
    uint32_t n;
};

static void add_step(const struct trace *trace, struct mean *means, struct cost_table *table)
{
    for (uint32_t i = 0; i < trace->n_costs; i++)
        if (means[i].n)
            cost_table_add(table, &trace->costs[i],
                           &(struct cost){(int64_t)(means[i].alone_ns / means[i].n + 0.5),
                                          (int64_t)(means[i].work_ns / means[i].n + 0.5)});
    memset(means, 0, trace->n_costs * sizeof *means);
}

struct cost_table *trace_costs(const struct trace *trace)
{
    struct cost_table *table = cost_table_new();
    int64_t *alone_ns = list_durations(trace);
    struct mean *means = g_new0(struct mean, trace->n_costs);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (i > 0 && op->tag.step != op[-1].tag.step)
            add_step(trace, means, table);
        if (op->cost >= trace->n_costs)
            continue;
        struct mean *mean = &means[op->cost];
        mean->alone_ns += (double)alone_ns[i];
        mean->work_ns += (double)(op->work_ns < 0 ? op->end_ns - op->start_ns : op->work_ns);
        mean->n++;
    }
    add_step(trace, means, table);
    g_free(means);
    g_free(alone_ns);
    return table;
}
