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

static int64_t work_ns(const struct trace_op *op)
{
    return op->work_ns < 0 ? op->end_ns - op->start_ns : op->work_ns;
}

/* Of the ops of one step, or of all, that have one cost key. */
struct mean {
    double alone_ns, work_ns;
    uint32_t n;
};

/* The largest double below 2^63 is what int64 has room for. */
static int64_t whole_ns(double ns)
{
    return (int64_t)MIN(ns + 0.5, 0x1.fffffffffffffp62);
}

static void add_step(const struct trace *trace, struct mean *means, struct cost_table *table)
{
    for (uint32_t i = 0; i < trace->n_costs; i++) {
        if (means[i].n)
            cost_table_add(table, &trace->costs[i],
                           &(struct cost){whole_ns(means[i].alone_ns / means[i].n),
                                          whole_ns(means[i].work_ns / means[i].n)});
        means[i] = (struct mean){0};
    }
}

static bool is_alone(const struct trace *trace, const struct trace_op *op)
{
    return op->tag.gang == OP_NONE && op->cost < trace->n_costs;
}

/* How many times as long as the mean rank each takes for the same. */
static double *find_slowness(const struct trace *trace)
{
    struct mean *means = g_new0(struct mean, trace->n_costs);
    double *own_ns = g_new0(double, trace->t.n_ranks), *mean_ns = g_new0(double, trace->t.n_ranks);
    for (size_t i = 0; i < trace->n_ops; i++)
        if (is_alone(trace, &trace->ops[i])) {
            means[trace->ops[i].cost].work_ns += (double)work_ns(&trace->ops[i]);
            means[trace->ops[i].cost].n++;
        }
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (!is_alone(trace, op))
            continue;
        own_ns[trace->t.lanes[op->lane].rank] += (double)work_ns(op);
        mean_ns[trace->t.lanes[op->lane].rank] += means[op->cost].work_ns / means[op->cost].n;
    }
    for (uint32_t r = 0; r < trace->t.n_ranks; r++)
        own_ns[r] = own_ns[r] > 0 && mean_ns[r] > 0 ? own_ns[r] / mean_ns[r] : 1;
    g_free(mean_ns);
    g_free(means);
    return own_ns;
}

/* By how many the device of each lane was shared, in turns. */
static double *count_sharers(const struct trace *trace)
{
    const struct tables *t = &trace->t;
    double *sharers = g_new(double, t->n_lanes);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        g_autofree bool *seen = g_new0(bool, t->n_ranks);
        sharers[i] = 0;
        for (uint32_t j = 0; j < t->n_lanes; j++)
            if (t->lanes[j].device == t->lanes[i].device && !seen[t->lanes[j].rank]) {
                seen[t->lanes[j].rank] = true;
                sharers[i]++;
            }
        sharers[i] = trace->interleaved ? sharers[i] : 1;
    }
    return sharers;
}

/* speed NULL: costs as they were. */
static struct cost_table *make_table(const struct trace *trace, const double *speed)
{
    struct cost_table *table = cost_table_new();
    int64_t *alone_ns = list_durations(trace);
    struct mean *means = g_new0(struct mean, trace->n_costs);
    g_autofree double *sharers = count_sharers(trace);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (i > 0 && op->tag.step != op[-1].tag.step)
            add_step(trace, means, table);
        if (op->cost >= trace->n_costs)
            continue;
        double scale = speed && is_alone(trace, op) ? speed[trace->t.lanes[op->lane].rank] : 1;
        if (is_alone(trace, op))
            scale /= sharers[op->lane];
        struct mean *mean = &means[op->cost];
        mean->alone_ns += (double)alone_ns[i] * scale;
        mean->work_ns += (double)work_ns(op) * scale;
        mean->n++;
    }
    add_step(trace, means, table);
    g_free(means);
    g_free(alone_ns);
    return table;
}

struct cost_table *trace_costs(const struct trace *trace)
{
    return make_table(trace, NULL);
}

struct cost_table *trace_costs_of_fastest(const struct trace *trace, double *speed)
{
    g_autofree double *slowness = find_slowness(trace);
    double fastest = 1;
    for (uint32_t r = 0; r < trace->t.n_ranks; r++)
        fastest = MIN(fastest, slowness[r]);
    for (uint32_t r = 0; r < trace->t.n_ranks; r++)
        speed[r] = fastest / slowness[r];
    return make_table(trace, speed);
}
