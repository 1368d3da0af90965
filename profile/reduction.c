#include "profile/reduction.h"

static void add_reduction(struct reduction *r, const struct trace_op *op)
{
    if (!r->exists || op->start_ns < r->start_ns) {
        r->ready_ns = op->ready_ns;
        r->start_ns = op->start_ns;
    }
    r->end_ns = r->exists ? MAX(r->end_ns, op->end_ns) : op->end_ns;
    r->exists = true;
}

static void set_launches(struct rank_times *own, uint32_t n_buckets)
{
    int64_t launch = INT64_MIN;
    for (uint32_t bucket = 0; bucket < n_buckets; bucket++) {
        struct reduction *r = &own->reductions[bucket];
        if (r->exists)
            r->launch_ns = launch = MAX(launch, r->ready_ns);
    }
}

struct rank_times *rank_times_new(const struct trace *trace, uint32_t step, uint32_t n_buckets)
{
    struct rank_times *times = g_new(struct rank_times, trace->t.n_ranks);
    for (uint32_t rank = 0; rank < trace->t.n_ranks; rank++)
        times[rank] = (struct rank_times){{INT64_MAX, INT64_MIN}, g_new0(struct reduction, n_buckets)};
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->tag.step != step)
            continue;
        struct rank_times *own = &times[trace->t.lanes[op->lane].rank];
        if (op->tag.kind == OP_BWD)
            own->backward.start_ns = MIN(own->backward.start_ns, op->start_ns);
        if (op->tag.kind == OP_BWD || op->tag.kind == OP_PACK)
            own->backward.end_ns = MAX(own->backward.end_ns, op->end_ns);
        if (op_phase(op->tag.kind) == PHASE_COMM && op->tag.bucket < n_buckets)
            add_reduction(&own->reductions[op->tag.bucket], op);
    }
    for (uint32_t rank = 0; rank < trace->t.n_ranks; rank++)
        set_launches(&times[rank], n_buckets);
    return times;
}

void rank_times_free(struct rank_times *times, uint32_t n_ranks)
{
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        g_free(times[rank].reductions);
    g_free(times);
}
