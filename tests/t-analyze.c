/* The analysis against a bitmap of every nanosecond, its invariances, and statistics by counting. */
#include <stdlib.h>
#include <string.h>

#include "profile/analyze.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

enum { HORIZON = 2048, ROUNDS = 400 };

/* What is busy at each nanosecond of a rank in a step. */
struct bitmap {
    bool cls[SPAN_CLASSES][HORIZON], phase[PHASES][HORIZON];
    int64_t first, last;
};

static void fill(const struct trace *trace, uint32_t step, uint32_t rank, struct bitmap *map)
{
    memset(map, 0, sizeof *map);
    map->first = INT64_MAX;
    map->last = INT64_MIN;
    for (size_t i = 0; i < trace->n_spans; i++) {
        const struct trace_span *s = &trace->spans[i];
        const struct trace_op *op = &trace->ops[s->op];
        if (op->tag.step != step || trace->t.lanes[s->lane].rank != rank)
            continue;
        map->first = MIN(map->first, s->start_ns);
        map->last = MAX(map->last, s->end_ns);
        for (int64_t t = s->start_ns; t < s->end_ns; t++)
            map->cls[s->cls][t] = map->phase[op_phase(op->tag.kind)][t] = true;
    }
}

static void check_partition(const struct bitmap *map, const struct partition *p)
{
    struct partition want = {.window_ns = map->last - map->first};
    for (int64_t t = map->first; t < map->last; t++) {
        bool c = map->cls[SPAN_COMPUTE][t], m = map->cls[SPAN_COMM][t], x = map->cls[SPAN_COPY][t];
        want.compute_ns += c;
        want.exposed_comm_ns += m && !c;
        want.exposed_copy_ns += x && !c && !m;
        want.idle_ns += !c && !m && !x;
        want.comm_ns += m;
        want.hidden_comm_ns += m && c;
    }
    g_assert_cmpmem(p, sizeof *p, &want, sizeof want);
    g_assert_cmpint(p->compute_ns + p->exposed_comm_ns + p->exposed_copy_ns + p->idle_ns, ==, p->window_ns);
}

static void test_partition(void)
{
    GRand *rand = g_rand_new_with_seed(21);
    struct bitmap *map = g_new(struct bitmap, 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis a;
        GError *error = NULL;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &a, &error));
        for (uint32_t step = 0; step < a.n_steps; step++) {
            int64_t first = INT64_MAX, last = INT64_MIN;
            for (uint32_t rank = 0; rank < a.n_ranks; rank++) {
                fill(&trace, step, rank, map);
                check_partition(map, &a.partition[step * a.n_ranks + rank]);
                first = MIN(first, map->first);
                last = MAX(last, map->last);
            }
            g_assert_cmpint(a.step_ns[step], ==, last - first);
        }
        fill(&trace, a.median_step, a.slowest_rank, map);
        for (unsigned phase = 0; phase < PHASES; phase++) {
            int64_t busy = 0;
            for (int64_t t = map->first; t < map->last; t++)
                busy += map->phase[phase][t];
            g_assert_cmpint(a.phase_ns[phase], ==, busy);
        }
        analysis_release(&a);
        trace_release(&trace);
    }
    g_free(map);
    g_rand_free(rand);
}

/* A step is the median if as many are at most as long, and the first such. */
static void test_median_step(void)
{
    GRand *rand = g_rand_new_with_seed(22);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis a;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &a, NULL));
        int64_t median = a.step_ns[a.median_step];
        g_assert_cmpint(a.median_ns, ==, median);
        uint32_t below = 0, upto = 0;
        for (uint32_t step = 0; step < a.n_steps; step++) {
            below += a.step_ns[step] < median;
            upto += a.step_ns[step] <= median;
            g_assert_true(step >= a.median_step || a.step_ns[step] != median);
            g_assert_cmpint(a.min_ns, <=, a.step_ns[step]);
            g_assert_cmpint(a.max_ns, >=, a.step_ns[step]);
        }
        g_assert_cmpuint(below, <=, (a.n_steps - 1) / 2);
        g_assert_cmpuint(upto, >, (a.n_steps - 1) / 2);
        const struct partition *p = &a.partition[a.median_step * a.n_ranks];
        for (uint32_t rank = 0; rank < a.n_ranks; rank++)
            g_assert_true(p[rank].window_ns < p[a.slowest_rank].window_ns ||
                          (p[rank].window_ns == p[a.slowest_rank].window_ns && rank >= a.slowest_rank));
        analysis_release(&a);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* By the definitions, one bucket and rank at a time. */
static void expect_bucket(const struct trace *trace, const struct analysis *a, uint32_t bucket,
                          struct bitmap *map)
{
    struct bucket_times want = {.rank = OP_NONE};
    int64_t end = INT64_MIN, start = INT64_MAX, ready = 0, launch = INT64_MIN, origin = INT64_MAX;
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        uint32_t rank = trace->t.lanes[op->lane].rank;
        if (op->tag.step == a->median_step && op->tag.bucket == bucket &&
            (op->end_ns > end || (op->end_ns == end && rank < want.rank))) {
            end = op->end_ns;
            want.rank = rank;
        }
    }
    if (want.rank != OP_NONE) {
        for (uint32_t b = 0; b <= bucket; b++) {
            int64_t first = INT64_MAX, first_ready = INT64_MIN;
            for (size_t i = 0; i < trace->n_ops; i++) {
                const struct trace_op *op = &trace->ops[i];
                if (op->tag.step != a->median_step || trace->t.lanes[op->lane].rank != want.rank)
                    continue;
                if (op->tag.kind == OP_BWD)
                    origin = MIN(origin, op->start_ns);
                if (op->tag.bucket != b || op->start_ns >= first)
                    continue;
                first = op->start_ns;
                first_ready = op->ready_ns;
            }
            launch = MAX(launch, first_ready);
            ready = first_ready;
            start = first;
        }
        origin = origin == INT64_MAX ? 0 : origin;
        fill(trace, a->median_step, want.rank, map);
        for (int64_t t = start; t < end; t++)
            want.hidden_ns += map->cls[SPAN_COMPUTE][t];
        want.exposed_ns = end - start - want.hidden_ns;
        want.ready_ns = ready - origin;
        want.launch_ns = launch - origin;
        want.start_ns = start - origin;
        want.end_ns = end - origin;
    }
    const struct bucket_times *got = &a->buckets[bucket];
    g_assert_cmpuint(got->rank, ==, want.rank);
    g_assert_cmpint(got->ready_ns, ==, want.ready_ns);
    g_assert_cmpint(got->launch_ns, ==, want.launch_ns);
    g_assert_cmpint(got->start_ns, ==, want.start_ns);
    g_assert_cmpint(got->end_ns, ==, want.end_ns);
    g_assert_cmpint(got->hidden_ns, ==, want.hidden_ns);
    g_assert_cmpint(got->exposed_ns, ==, want.exposed_ns);
    g_assert_cmpint(got->hidden_ns + got->exposed_ns, ==, got->end_ns - got->start_ns);
}

static void test_buckets(void)
{
    GRand *rand = g_rand_new_with_seed(23);
    struct bitmap *map = g_new(struct bitmap, 1);
    uint32_t reduced = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis a;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &a, NULL));
        for (uint32_t bucket = 0; bucket < a.n_buckets; bucket++) {
            expect_bucket(&trace, &a, bucket, map);
            reduced += a.buckets[bucket].rank != OP_NONE;
        }
        analysis_release(&a);
        trace_release(&trace);
    }
    g_assert_cmpuint(reduced, >, ROUNDS / 2);
    g_free(map);
    g_rand_free(rand);
}

static void assert_same(const struct analysis *a, const struct analysis *b, int64_t shift_ns)
{
    g_assert_cmpmem(a->partition, a->n_steps * a->n_ranks * sizeof *a->partition, b->partition,
                    b->n_steps * b->n_ranks * sizeof *b->partition);
    g_assert_cmpmem(a->step_ns, a->n_steps * sizeof *a->step_ns, b->step_ns, b->n_steps * sizeof *b->step_ns);
    g_assert_cmpuint(a->median_step, ==, b->median_step);
    g_assert_cmpuint(a->slowest_rank, ==, b->slowest_rank);
    g_assert_cmpmem(a->phase_ns, sizeof a->phase_ns, b->phase_ns, sizeof b->phase_ns);
    for (uint32_t i = 0; i < a->n_buckets; i++) {
        const struct bucket_times *x = &a->buckets[i], *y = &b->buckets[i];
        g_assert_cmpint(x->hidden_ns, ==, y->hidden_ns);
        g_assert_cmpint(x->exposed_ns, ==, y->exposed_ns);
        g_assert_cmpint(x->end_ns - x->ready_ns, ==, y->end_ns - y->ready_ns);
        g_assert_cmpint(x->start_ns - x->launch_ns, ==, y->start_ns - y->launch_ns);
        g_assert_cmpuint(x->rank, ==, y->rank);
    }
    if (a->backward_start_ns)
        g_assert_cmpint(a->backward_start_ns + shift_ns, ==, b->backward_start_ns);
}

static void shift(struct trace *trace, int64_t by_ns)
{
    for (size_t i = 0; i < trace->n_ops; i++) {
        trace->ops[i].ready_ns += by_ns;
        trace->ops[i].start_ns += by_ns;
        trace->ops[i].end_ns += by_ns;
    }
    for (size_t i = 0; i < trace->n_spans; i++) {
        trace->spans[i].start_ns += by_ns;
        trace->spans[i].end_ns += by_ns;
    }
}

static void split_spans(struct trace *trace, GRand *rand)
{
    struct trace_span *pieces = g_new(struct trace_span, trace->n_spans * 2);
    size_t n = 0;
    for (size_t i = 0; i < trace->n_spans; i++) {
        struct trace_span s = trace->spans[i], head = s;
        if (s.end_ns - s.start_ns >= 2) {
            head.end_ns = s.start_ns =
                s.start_ns + g_rand_int_range(rand, 1, (gint32)(s.end_ns - s.start_ns));
            pieces[n++] = head;
        }
        pieces[n++] = s;
    }
    g_free(trace->spans);
    trace->spans = pieces;
    trace->n_spans = n;
}

static void test_invariance(void)
{
    GRand *rand = g_rand_new_with_seed(24);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis before, after;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &before, NULL));
        split_spans(&trace, rand);
        g_assert_true(analyze(&trace, &after, NULL));
        assert_same(&before, &after, 0);
        analysis_release(&after);
        int64_t by_ns = (int64_t)g_rand_int(rand) * 1000003;
        shift(&trace, by_ns);
        g_assert_true(analyze(&trace, &after, NULL));
        assert_same(&before, &after, by_ns);
        analysis_release(&after);
        analysis_release(&before);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

static void test_permuted_ranks(void)
{
    GRand *rand = g_rand_new_with_seed(25);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis before, after;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &before, NULL));
        uint32_t ranks = trace.t.n_ranks, by = (uint32_t)g_rand_int_range(rand, 0, (gint32)ranks);
        for (uint32_t i = 0; i < trace.t.n_lanes; i++)
            trace.t.lanes[i].rank = (trace.t.lanes[i].rank + by) % ranks;
        g_assert_true(analyze(&trace, &after, NULL));
        for (uint32_t step = 0; step < before.n_steps; step++)
            for (uint32_t rank = 0; rank < ranks; rank++)
                g_assert_cmpmem(&before.partition[step * ranks + rank], sizeof(struct partition),
                                &after.partition[step * ranks + (rank + by) % ranks],
                                sizeof(struct partition));
        g_assert_cmpint(before.median_ns, ==, after.median_ns);
        g_assert_cmpuint(before.median_step, ==, after.median_step);
        analysis_release(&before);
        analysis_release(&after);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* Three ranks arrive at 0, 50 and 30 and leave at 80, 80 and 75; the second gang is of another step. */
static void test_waits(void)
{
    static const int64_t starts[] = {0, 50, 30}, ends[] = {80, 80, 75};
    struct trace trace;
    struct analysis a;
    small_init(&trace, 3, 0);
    trace.n_steps = 2;
    for (uint32_t step = 0; step < 2; step++)
        for (uint32_t rank = 0; rank < 3; rank++) {
            int64_t base = step * 1000, late = step * rank;
            struct trace_op op = small_op(OP_ALLREDUCE, small_lane(rank, LANE_COMM, 0), step,
                                          base + starts[rank], base + ends[rank] + late);
            op.tag.gang = 4;
            trace_add_op(&trace, &op);
        }
    trace_finish(&trace);
    g_assert_true(analyze(&trace, &a, NULL));
    g_assert_cmpuint(a.median_step, ==, 0);
    g_assert_cmpuint(a.slowest_rank, ==, 0);
    g_assert_cmpint(a.transfer_ns, ==, 30);
    g_assert_cmpint(a.wait_ns, ==, 50);
    analysis_release(&a);
    trace_release(&trace);
}

/* A kernel of which only the lane is known counts to the step that its lane is in. */
static void test_unknown_op(void)
{
    struct trace trace;
    struct analysis a;
    small_init(&trace, 1, 0);
    trace.n_steps = 2;
    for (uint32_t step = 0; step < 2; step++) {
        struct trace_op op = small_op(OP_FWD, 0, step, step * 100, step * 100 + 10);
        trace_add_op(&trace, &op);
        op = small_op(OP_FWD, 0, step, step * 100 + 10, step * 100 + 10 + 20 * step);
        trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    trace.spans[trace.n_spans - 1].op = OP_NONE;
    g_assert_true(analyze(&trace, &a, NULL));
    g_assert_cmpint(a.step_ns[0], ==, 10);
    g_assert_cmpint(a.step_ns[1], ==, 30);
    g_assert_cmpint(a.partition[1].compute_ns, ==, 30);
    analysis_release(&a);
    trace_release(&trace);
}

/* Exact: the k-th order statistics hold the median unless fewer than k of n fair coins show heads, or tails.
 */
static void test_statistics(void)
{
    uint64_t choose[61] = {1};
    int64_t sorted[60];
    for (uint32_t n = 1; n <= 60; n++) {
        for (uint32_t i = n; i > 0; i--)
            choose[i] += choose[i - 1];
        sorted[n - 1] = (int64_t)n * n * n;
        uint64_t tail = 0;
        uint32_t k = 0;
        while (k < n && (double)(tail += choose[k]) * 2 / (double)(UINT64_C(1) << n) <= 0.05)
            k++;
        int64_t ci[2];
        samples_ci95(sorted, n, ci);
        k = MAX(k, 1);
        g_assert_cmpint(ci[0], ==, sorted[k - 1]);
        g_assert_cmpint(ci[1], ==, sorted[n - k]);
        g_assert_cmpuint(k > 1 || n >= CI95_SAMPLES, ==, n >= CI95_SAMPLES);
    }
    /* Published: of 20 samples the 6th and the 15th. */
    int64_t ci[2];
    samples_ci95(sorted, 20, ci);
    g_assert_cmpint(ci[0], ==, 6 * 6 * 6);
    g_assert_cmpint(ci[1], ==, 15 * 15 * 15);
    /* Thousands of samples: about n/2 - 0.98 sqrt(n). */
    int64_t *many = g_new(int64_t, 10000);
    for (int64_t i = 0; i < 10000; i++)
        many[i] = i;
    samples_ci95(many, 10000, ci);
    g_assert_cmpint(ci[0], >=, 4900);
    g_assert_cmpint(ci[0], <=, 4903);
    g_assert_cmpint(ci[1], ==, 9999 - ci[0]);
    g_free(many);
}

static void refuse(struct trace *trace, int code, const char *part)
{
    struct analysis a;
    GError *error = NULL;
    g_assert_false(analyze(trace, &a, &error));
    g_assert_error(error, ANALYZE_ERROR, code);
    g_assert_nonnull(strstr(error->message, part));
    g_error_free(error);
    trace_release(trace);
}

static void test_refusals(void)
{
    struct trace trace;
    struct trace_op op = small_op(OP_FWD, 0, 0, 0, 1);
    small_init(&trace, 1, 0);
    refuse(&trace, ANALYZE_ERROR_EMPTY, "no complete step");
    small_init(&trace, 1, 0);
    trace_add_op(&trace, &op);
    refuse(&trace, ANALYZE_ERROR_EMPTY, "no complete step");
    small_init(&trace, 1, 0);
    trace_add_op(&trace, &op);
    trace.n_steps = 2;
    refuse(&trace, ANALYZE_ERROR_EMPTY, "step 1");
    small_init(&trace, 1, 0);
    trace_add_op(&trace, &op);
    op.tag.step = 9;
    trace_add_op(&trace, &op);
    trace.n_steps = 1;
    refuse(&trace, ANALYZE_ERROR_INVALID, "step 9");
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/analyze/partition", test_partition);
    g_test_add_func("/analyze/median-step", test_median_step);
    g_test_add_func("/analyze/buckets", test_buckets);
    g_test_add_func("/analyze/invariance", test_invariance);
    g_test_add_func("/analyze/permuted-ranks", test_permuted_ranks);
    g_test_add_func("/analyze/waits", test_waits);
    g_test_add_func("/analyze/unknown-op", test_unknown_op);
    g_test_add_func("/analyze/statistics", test_statistics);
    g_test_add_func("/analyze/refusals", test_refusals);
    return g_test_run();
}
