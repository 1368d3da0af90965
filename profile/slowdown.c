#include "profile/slowdown.h"

#include <math.h>
#include <stdlib.h>

struct sample {
    uint32_t cost;
    bool beside;
    int64_t busy_ns;
};

static int compare_samples(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->beside != y->beside)
        return x->beside - y->beside;
    return (x->busy_ns > y->busy_ns) - (x->busy_ns < y->busy_ns);
}

/* How long the ops of a rank and step compute, and how long of that beside communication; by op. */
static void add_times(const struct index *index, uint32_t step, uint32_t rank, int64_t *busy_ns,
                      int64_t *beside_ns)
{
    const struct trace *trace = index->trace;
    struct intervals comm = index_busy(index, step, rank, SPAN_COMM);
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++) {
            const struct trace_span *s = &trace->spans[i];
            if (index->step[i] != step || s->cls != SPAN_COMPUTE || s->op == OP_NONE)
                continue;
            busy_ns[s->op] += s->end_ns - s->start_ns;
            beside_ns[s->op] += intervals_within(&comm, s->start_ns, s->end_ns);
        }
    }
    intervals_release(&comm);
}

static GArray *list_samples(const struct index *index)
{
    const struct trace *trace = index->trace;
    GArray *samples = g_array_new(FALSE, FALSE, sizeof(struct sample));
    int64_t *busy_ns = g_new0(int64_t, trace->n_ops + 1), *beside_ns = g_new0(int64_t, trace->n_ops + 1);
    for (uint32_t step = 0; step < trace->n_steps; step++)
        for (uint32_t rank = 0; rank < trace->t.n_ranks; rank++)
            add_times(index, step, rank, busy_ns, beside_ns);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        struct sample sample = {op->cost, beside_ns[i] > 0, busy_ns[i]};
        if (op->cost < trace->n_costs && trace->t.lanes[op->lane].cls == LANE_COMPUTE && busy_ns[i] > 0 &&
            (!beside_ns[i] || beside_ns[i] >= busy_ns[i] - beside_ns[i]))
            g_array_append_val(samples, sample);
    }
    g_free(busy_ns);
    g_free(beside_ns);
    g_array_sort(samples, compare_samples);
    return samples;
}

static double median(const struct sample *samples, guint n)
{
    return (double)samples[(n - 1) / 2].busy_ns;
}

double slowdown_percent(const struct index *index)
{
    double beside_ns = 0, apart_ns = 0, all_ns = 0;
    if (index->trace->simulated)
        return NAN;
    GArray *samples = list_samples(index);
    const struct sample *s = (const struct sample *)(void *)samples->data;
    for (guint i = 0, split, end; i < samples->len; i = end) {
        for (split = i; split < samples->len && s[split].cost == s[i].cost && !s[split].beside; split++)
            ;
        for (end = split; end < samples->len && s[end].cost == s[i].cost; end++)
            ;
        if (split - i < SLOWDOWN_SAMPLES || end - split < SLOWDOWN_SAMPLES)
            continue;
        beside_ns += (end - split) * median(&s[split], end - split);
        apart_ns += (end - split) * median(&s[i], split - i);
    }
    for (guint i = 0; i < samples->len; i++)
        all_ns += (double)s[i].busy_ns;
    g_array_unref(samples);
    return apart_ns > 0 && beside_ns * SLOWDOWN_PART >= all_ns ? (beside_ns / apart_ns - 1) * 100 : NAN;
}
