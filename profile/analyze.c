#include "profile/analyze.h"

#include <math.h>
#include <stdlib.h>

#include "profile/cause.h"
#include "profile/gang.h"
#include "profile/index.h"
#include "profile/launch.h"
#include "profile/reduction.h"
#include "profile/slowdown.h"

G_DEFINE_QUARK(parprof_analyze, analyze_error)

static struct partition part(const struct index *index, uint32_t step, uint32_t rank, struct interval span)
{
    struct intervals compute = index_busy(index, step, rank, SPAN_COMPUTE);
    struct intervals comm = index_busy(index, step, rank, SPAN_COMM);
    struct intervals copy = index_busy(index, step, rank, SPAN_COPY);
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
            struct interval own = index_window(index, step, rank);
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

static uint32_t bucket_rank(const struct rank_times *times, const struct analysis *a, uint32_t bucket)
{
    const bool takes_part = times[a->slowest_rank].reductions[bucket].exists;
    return takes_part ? a->slowest_rank : last_rank(times, a->n_ranks, bucket);
}

static int64_t exposed_of(const struct analysis *a, uint32_t rank, uint32_t bucket)
{
    const struct causes *causes = &a->bucket_causes[(gsize)rank * (a->n_buckets + 1) + bucket];
    int64_t sum_ns = 0;
    for (unsigned c = 0; c < CAUSES; c++)
        sum_ns += causes->ns[c];
    return sum_ns;
}

/* Without the waiting for others, as the last to begin has none. */
static void time_transfer(const struct rank_times *times, uint32_t n_ranks, uint32_t bucket,
                          struct bucket_times *t)
{
    t->transfer_ns = INT64_MAX;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct reduction *r = &times[rank].reductions[bucket];
        if (!r->exists)
            continue;
        t->transfer_ns = MIN(t->transfer_ns, r->end_ns - r->start_ns);
        t->members++;
    }
}

bool bucket_bandwidth(const struct bucket_times *t, uint64_t bytes, double *algorithm, double *bus)
{
    if (t->rank == OP_NONE || t->members < 2 || t->transfer_ns <= 0)
        return false;
    *algorithm = (double)bytes / (double)t->transfer_ns * 1e9;
    *bus = *algorithm * 2 * (t->members - 1) / t->members;
    return true;
}

bool analysis_launch_bound(const struct analysis *a)
{
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    return a->launch_wait_ns > 0 && a->launch_wait_ns >= p->window_ns / (100 / LAUNCH_BOUND_PERCENT);
}

static struct bucket_times time_bucket(const struct rank_times *own, uint32_t bucket,
                                       const struct intervals *compute, const struct intervals *work)
{
    const struct reduction *r = &own->reductions[bucket];
    int64_t origin = own->backward.start_ns == INT64_MAX ? 0 : own->backward.start_ns;
    struct bucket_times t = {r->ready_ns - origin, r->launch_ns - origin, r->start_ns - origin,
                             r->end_ns - origin};
    t.hidden_ns = intervals_within(compute, r->start_ns, r->end_ns);
    t.copied_ns = t.hidden_ns - intervals_within(work, r->start_ns, r->end_ns);
    return t;
}

/* When a rank computes what is not only moved into buckets and out of them. */
static struct intervals busy_without_copies(const struct index *index, uint32_t step, uint32_t rank)
{
    const struct trace *t = index->trace;
    g_autoptr(GArray) spans = index_spans(index, step, rank, SPAN_COMPUTE),
                      all = g_array_new(FALSE, FALSE, sizeof(struct interval));
    for (guint i = 0; i < spans->len; i++) {
        const struct trace_span *s = &t->spans[g_array_index(spans, size_t, i)];
        const unsigned kind = s->op < t->n_ops ? t->ops[s->op].tag.kind : OP_FWD;
        const struct interval v = {s->start_ns, s->end_ns};
        if (kind != OP_PACK && kind != OP_UNPACK)
            g_array_append_val(all, v);
    }
    return intervals_of((struct interval *)(void *)all->data, all->len);
}

static void time_buckets(const struct index *index, const struct rank_times *times, struct analysis *a)
{
    struct intervals *compute = g_new(struct intervals, a->n_ranks),
                     *work = g_new(struct intervals, a->n_ranks);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
        compute[rank] = index_busy(index, a->median_step, rank, SPAN_COMPUTE);
        work[rank] = busy_without_copies(index, a->median_step, rank);
    }
    for (uint32_t bucket = 0; bucket < a->n_buckets; bucket++) {
        const uint32_t rank = bucket_rank(times, a, bucket);
        if (rank != OP_NONE) {
            a->buckets[bucket] = time_bucket(&times[rank], bucket, &compute[rank], &work[rank]);
            a->buckets[bucket].exposed_ns = exposed_of(a, rank, bucket);
            time_transfer(times, a->n_ranks, bucket, &a->buckets[bucket]);
        }
        a->buckets[bucket].rank = rank;
    }
    if (times[a->slowest_rank].backward.start_ns != INT64_MAX) {
        a->backward_start_ns = times[a->slowest_rank].backward.start_ns;
        a->backward_end_ns = times[a->slowest_rank].backward.end_ns;
    }
    for (uint32_t rank = 0; rank < a->n_ranks; rank++) {
        intervals_release(&compute[rank]);
        intervals_release(&work[rank]);
    }
    g_free(compute);
    g_free(work);
}

static void time_phases(const struct index *index, struct analysis *a)
{
    for (unsigned phase = 0; phase < PHASES; phase++) {
        struct intervals set = index_phase(index, a->median_step, a->slowest_rank, phase);
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
        struct rank_times *times = rank_times_new(trace, a->median_step, a->n_buckets);
        time_phases(&index, a);
        time_waits(trace, a);
        find_causes(&index, times, a);
        time_buckets(&index, times, a);
        a->launch_wait_ns = launch_wait_ns(&index, a->median_step, a->slowest_rank);
        a->slowdown_percent = slowdown_percent(&index);
        a->pipeline = pipeline_times_new(trace, a->median_step);
        rank_times_free(times, a->n_ranks);
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
    g_free(a->causes);
    g_free(a->bucket_causes);
    pipeline_times_free(a->pipeline);
    *a = (struct analysis){0};
}
