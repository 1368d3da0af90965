#include "profile/analyze.h"

#include <math.h>
#include <stdlib.h>

#include "profile/gang.h"
#include "profile/interval.h"

G_DEFINE_QUARK(parprof - analyze, analyze_error)

/* Where the spans of a step are on a lane: all of them, and in an engine's own trace nothing else. */
struct slice {
    size_t begin, end;
};

struct index {
    const struct trace *trace;
    uint32_t *step;       /* of each span */
    struct slice *slices; /* [lane * n_steps + step] */
};

static void index_init(struct index *index, const struct trace *trace)
{
    *index = (struct index){trace, g_new(uint32_t, trace->n_spans),
                            g_new0(struct slice, (gsize)trace->t.n_lanes * trace->n_steps)};
    for (size_t i = 0; i < trace->n_spans; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->op != OP_NONE)
            index->step[i] = trace->ops[span->op].tag.step;
        else
            index->step[i] = i && trace->spans[i - 1].lane == span->lane ? index->step[i - 1] : 0;
        struct slice *slice = &index->slices[(gsize)span->lane * trace->n_steps + index->step[i]];
        if (slice->begin == slice->end)
            slice->begin = i;
        slice->end = i + 1;
    }
}

static void index_release(struct index *index)
{
    g_free(index->step);
    g_free(index->slices);
}

static bool is_class(const struct trace *trace, const struct trace_span *span, unsigned cls)
{
    (void)trace;
    return span->cls == cls;
}

static bool is_phase(const struct trace *trace, const struct trace_span *span, unsigned phase)
{
    return span->op != OP_NONE && op_phase(trace->ops[span->op].tag.kind) == phase;
}

/* Busy time of a rank in a step: the union of the spans that match.  Lanes are sorted, so they only need
 * merging. */
static struct intervals busy(const struct index *index, uint32_t step, uint32_t rank,
                             bool (*matches)(const struct trace *, const struct trace_span *, unsigned),
                             unsigned what)
{
    const struct trace *trace = index->trace;
    struct intervals all = {0}, own = {0};
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        own.n = 0;
        for (size_t i = slice.begin; i < slice.end; i++)
            if (index->step[i] == step && matches(trace, &trace->spans[i], what))
                intervals_add(&own, trace->spans[i].start_ns, trace->spans[i].end_ns);
        intervals_unite(&all, &own);
    }
    intervals_release(&own);
    return all;
}

/* From the first start to the last end; {INT64_MAX, INT64_MIN} where the rank did nothing. */
static struct interval window(const struct index *index, uint32_t step, uint32_t rank)
{
    const struct trace *trace = index->trace;
    struct interval all = {INT64_MAX, INT64_MIN};
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++) {
            if (index->step[i] != step)
                continue;
            all.start_ns = MIN(all.start_ns, trace->spans[i].start_ns);
            all.end_ns = MAX(all.end_ns, trace->spans[i].end_ns);
        }
    }
    return all;
}

static struct partition part(const struct index *index, uint32_t step, uint32_t rank, struct interval span)
{
    struct intervals compute = busy(index, step, rank, is_class, SPAN_COMPUTE);
    struct intervals comm = busy(index, step, rank, is_class, SPAN_COMM);
    struct intervals copy = busy(index, step, rank, is_class, SPAN_COPY);
    struct partition p = {.window_ns = span.start_ns < span.end_ns ? span.end_ns - span.start_ns : 0};
    p.compute_ns = intervals_length(&compute);
    p.comm_ns = intervals_length(&comm);
    p.hidden_comm_ns = intervals_common(&comm, &compute);
    p.exposed_comm_ns = p.comm_ns - p.hidden_comm_ns;
    intervals_unite(&compute, &comm);
    p.exposed_copy_ns = intervals_length(&copy) - intervals_common(&copy, &compute);
    intervals_unite(&compute, &copy);
    p.idle_ns = p.window_ns - intervals_length(&compute);
    g_assert(p.compute_ns + p.exposed_comm_ns + p.exposed_copy_ns + p.idle_ns == p.window_ns &&
             p.idle_ns >= 0);
    intervals_release(&compute);
    intervals_release(&comm);
    intervals_release(&copy);
    return p;
}

static bool part_steps(const struct index *index, struct analysis *a, GError **error)
{
    for (uint32_t step = 0; step < a->n_steps; step++) {
        struct interval all = {INT64_MAX, INT64_MIN};
        for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
            struct interval own = window(index, step, rank);
            a->partition[(gsize)step * a->n_ranks + rank] = part(index, step, rank, own);
            all.start_ns = MIN(all.start_ns, own.start_ns);
            all.end_ns = MAX(all.end_ns, own.end_ns);
        }
        if (all.start_ns > all.end_ns) {
            g_set_error(error, ANALYZE_ERROR, ANALYZE_ERROR_EMPTY, "step %u of the trace is empty", step);
            return false;
        }
        a->step_ns[step] = all.end_ns - all.start_ns;
    }
    return true;
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The k-th smallest and largest of n hold the median unless fewer than k samples lie on one side of it: with
 * probability 1 - 2 P(Binomial(n, 1/2) < k). */
void samples_ci95(const int64_t *sorted, uint32_t n, int64_t *ci95)
{
    double log_term = -(double)n * log(2), tail = 0;
    uint32_t k = 0;
    while (k < n / 2) {
        tail += exp(log_term);
        if (2 * tail > 0.05)
            break;
        log_term += log((double)(n - k) / (k + 1));
        k++;
    }
    k = MAX(k, 1);
    ci95[0] = sorted[k - 1];
    ci95[1] = sorted[n - k];
}

static void summarize_steps(struct analysis *a)
{
    int64_t *sorted = g_memdup2(a->step_ns, a->n_steps * sizeof *sorted);
    qsort(sorted, a->n_steps, sizeof *sorted, compare_ns);
    a->min_ns = sorted[0];
    a->max_ns = sorted[a->n_steps - 1];
    a->median_ns = sorted[(a->n_steps - 1) / 2];
    samples_ci95(sorted, a->n_steps, a->ci95_ns);
    while (a->step_ns[a->median_step] != a->median_ns)
        a->median_step++;
    g_free(sorted);
    const struct partition *median = &a->partition[(gsize)a->median_step * a->n_ranks];
    for (uint32_t rank = 1; rank < a->n_ranks; rank++)
        if (median[rank].window_ns > median[a->slowest_rank].window_ns)
            a->slowest_rank = rank;
}

/* A rank's backward, {INT64_MAX, INT64_MIN} where it has none; and its part in each bucket's all-reduce. */
struct rank_times {
    struct interval backward;
    struct reduction {
        int64_t ready_ns, launch_ns, start_ns, end_ns;
        bool exists;
    } * reductions;
};

static void add_reduction(struct reduction *r, const struct trace_op *op)
{
    if (!r->exists || op->start_ns < r->start_ns) {
        r->ready_ns = op->ready_ns;
        r->start_ns = op->start_ns;
    }
    r->end_ns = r->exists ? MAX(r->end_ns, op->end_ns) : op->end_ns;
    r->exists = true;
}

static struct rank_times *time_ranks(const struct trace *trace, const struct analysis *a)
{
    struct rank_times *times = g_new(struct rank_times, a->n_ranks);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        times[rank] = (struct rank_times){{INT64_MAX, INT64_MIN}, g_new0(struct reduction, a->n_buckets)};
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->tag.step != a->median_step)
            continue;
        struct rank_times *own = &times[trace->t.lanes[op->lane].rank];
        if (op->tag.kind == OP_BWD)
            own->backward.start_ns = MIN(own->backward.start_ns, op->start_ns);
        if (op->tag.kind == OP_BWD || op->tag.kind == OP_PACK)
            own->backward.end_ns = MAX(own->backward.end_ns, op->end_ns);
        if (op_phase(op->tag.kind) == PHASE_COMM && op->tag.bucket < a->n_buckets)
            add_reduction(&own->reductions[op->tag.bucket], op);
    }
    return times;
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

static uint32_t last_rank(const struct rank_times *times, uint32_t n_ranks, uint32_t bucket)
{
    uint32_t last = OP_NONE;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct reduction *r = &times[rank].reductions[bucket];
        if (r->exists && (last == OP_NONE || r->end_ns > times[last].reductions[bucket].end_ns))
            last = rank;
    }
    return last;
}

static struct bucket_times time_bucket(const struct rank_times *own, uint32_t bucket,
                                       const struct intervals *compute)
{
    const struct reduction *r = &own->reductions[bucket];
    int64_t origin = own->backward.start_ns == INT64_MAX ? 0 : own->backward.start_ns;
    struct bucket_times t = {r->ready_ns - origin, r->launch_ns - origin, r->start_ns - origin,
                             r->end_ns - origin};
    struct interval whole = {r->start_ns, r->end_ns};
    t.hidden_ns = intervals_common(compute, &(struct intervals){&whole, 1, 1});
    t.exposed_ns = t.end_ns - t.start_ns - t.hidden_ns;
    return t;
}

static void time_buckets(const struct index *index, struct analysis *a)
{
    struct rank_times *times = time_ranks(index->trace, a);
    struct intervals *compute = g_new(struct intervals, a->n_ranks);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
        compute[rank] = busy(index, a->median_step, rank, is_class, SPAN_COMPUTE);
        set_launches(&times[rank], a->n_buckets);
    }
    for (uint32_t bucket = 0; bucket < a->n_buckets; bucket++) {
        uint32_t rank = last_rank(times, a->n_ranks, bucket);
        if (rank != OP_NONE)
            a->buckets[bucket] = time_bucket(&times[rank], bucket, &compute[rank]);
        a->buckets[bucket].rank = rank;
    }
    if (times[a->slowest_rank].backward.start_ns != INT64_MAX) {
        a->backward_start_ns = times[a->slowest_rank].backward.start_ns;
        a->backward_end_ns = times[a->slowest_rank].backward.end_ns;
    }
    for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
        g_free(times[rank].reductions);
        intervals_release(&compute[rank]);
    }
    g_free(times);
    g_free(compute);
}

static void time_phases(const struct index *index, struct analysis *a)
{
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct intervals set = busy(index, a->median_step, a->slowest_rank, is_phase, phase);
        a->phase_ns[phase] = intervals_length(&set);
        intervals_release(&set);
    }
}

static void time_waits(const struct trace *trace, struct analysis *a)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        if (members[i]->tag.step != a->median_step)
            continue;
        int64_t shortest = INT64_MAX;
        for (size_t j = i; j < end; j++)
            shortest = MIN(shortest, members[j]->end_ns - members[j]->start_ns);
        for (size_t j = i; j < end; j++) {
            if (trace->t.lanes[members[j]->lane].rank != a->slowest_rank)
                continue;
            a->transfer_ns += shortest;
            a->wait_ns += members[j]->end_ns - members[j]->start_ns - shortest;
        }
    }
    g_free(members);
}

/* What the rest takes for granted; a trace may come from a file. */
static bool check(const struct trace *trace, GError **error)
{
    if (!trace->n_steps || !trace->n_spans || !trace->t.n_ranks) {
        g_set_error(error, ANALYZE_ERROR, ANALYZE_ERROR_EMPTY, "the trace has no complete step");
        return false;
    }
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->tag.step < trace->n_steps && op->lane < trace->t.n_lanes &&
            trace->t.lanes[op->lane].rank < trace->t.n_ranks)
            continue;
        g_set_error(
            error, ANALYZE_ERROR, ANALYZE_ERROR_INVALID,
            "op %zu of the trace is of step %u and lane %u, but there are %u steps, %u lanes and %u ranks", i,
            op->tag.step, op->lane, trace->n_steps, trace->t.n_lanes, trace->t.n_ranks);
        return false;
    }
    return true;
}

bool analyze(const struct trace *trace, struct analysis *a, GError **error)
{
    *a = (struct analysis){trace->n_steps, trace->t.n_ranks, trace->t.n_buckets};
    if (!check(trace, error))
        return false;
    a->partition = g_new(struct partition, (gsize)a->n_steps * a->n_ranks);
    a->step_ns = g_new(int64_t, a->n_steps);
    a->buckets = g_new0(struct bucket_times, a->n_buckets);
    struct index index;
    index_init(&index, trace);
    bool ok = part_steps(&index, a, error);
    if (ok) {
        summarize_steps(a);
        time_phases(&index, a);
        time_buckets(&index, a);
        time_waits(trace, a);
    } else {
        analysis_release(a);
    }
    index_release(&index);
    return ok;
}

void analysis_release(struct analysis *a)
{
    g_free(a->partition);
    g_free(a->step_ns);
    g_free(a->buckets);
    *a = (struct analysis){0};
}
