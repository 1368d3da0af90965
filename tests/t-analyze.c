/* The analysis against a bitmap of every nanosecond, its invariances, and statistics by counting. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyze.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

enum { HORIZON = 2048, ROUNDS = 400 };

/* What is busy at each nanosecond of a rank in a step. */
struct bitmap {
    bool cls[SPAN_CLASSES][HORIZON], phase[PHASES][HORIZON],
        work[HORIZON]; /* work: computes, and not only copies */
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
        if (op->tag.step != step || trace->t.lanes[s->lane].rank != rank || s->cls == SPAN_HOST)
            continue;
        map->first = MIN(map->first, s->start_ns);
        map->last = MAX(map->last, s->end_ns);
        const bool work = s->cls == SPAN_COMPUTE && op->tag.kind != OP_PACK && op->tag.kind != OP_UNPACK;
        for (int64_t t = s->start_ns; t < s->end_ns; t++)
            map->work[t] |= work;
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
        if (round % 2)
            small_kernels(&trace, rand, true);
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
        if (op->tag.step != a->median_step || op->tag.bucket != bucket)
            continue;
        const bool slowest = rank == a->slowest_rank,
                   last = op->end_ns > end || (op->end_ns == end && rank < want.rank);
        if (slowest ? want.rank != rank || last : want.rank != a->slowest_rank && last) {
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
        for (int64_t t = start; t < end; t++) {
            want.hidden_ns += map->cls[SPAN_COMPUTE][t];
            want.copied_ns += map->cls[SPAN_COMPUTE][t] && !map->work[t];
        }
        for (unsigned c = 0; c < CAUSES; c++)
            want.exposed_ns += a->bucket_causes[want.rank * (a->n_buckets + 1) + bucket].ns[c];
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
    g_assert_cmpint(got->copied_ns, ==, want.copied_ns);
    g_assert_cmpint(got->hidden_ns + got->exposed_ns, <=, got->end_ns - got->start_ns);
}

/* With what is of no bucket, they sum to what the step exposes where each is of the slowest rank. */
static bool check_sum(const struct analysis *a)
{
    const struct causes *none = &a->bucket_causes[a->slowest_rank * (a->n_buckets + 1) + a->n_buckets];
    int64_t sum_ns = 0;
    for (unsigned c = 0; c < CAUSES; c++)
        sum_ns += none->ns[c];
    for (uint32_t i = 0; i < a->n_buckets; i++) {
        if (a->buckets[i].rank != OP_NONE && a->buckets[i].rank != a->slowest_rank)
            return false;
        sum_ns += a->buckets[i].exposed_ns;
    }
    g_assert_cmpint(sum_ns, ==, a->partition[a->median_step * a->n_ranks + a->slowest_rank].exposed_comm_ns);
    return true;
}

static void test_buckets(void)
{
    GRand *rand = g_rand_new_with_seed(23);
    struct bitmap *map = g_new(struct bitmap, 1);
    uint32_t reduced = 0, summed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis a;
        small_random(&trace, rand);
        for (size_t i = 0; i < trace.n_ops; i += 2) /* some copies */
            if (trace.ops[i].tag.kind == OP_OPTIM)
                trace.ops[i].tag.kind = OP_UNPACK;
        g_assert_true(analyze(&trace, &a, NULL));
        for (uint32_t bucket = 0; bucket < a.n_buckets; bucket++) {
            expect_bucket(&trace, &a, bucket, map);
            reduced += a.buckets[bucket].rank != OP_NONE;
        }
        summed += check_sum(&a);
        analysis_release(&a);
        trace_release(&trace);
    }
    g_assert_cmpuint(reduced, >, ROUNDS / 2);
    g_assert_cmpuint(summed, >, ROUNDS / 8);
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
        g_assert_cmpint(x->end_ns - x->ready_ns, ==, y->end_ns - y->ready_ns);
        g_assert_cmpint(x->start_ns - x->launch_ns, ==, y->start_ns - y->launch_ns);
        g_assert_cmpuint(x->rank, ==, y->rank);
    }
    if (a->backward_start_ns)
        g_assert_cmpint(a->backward_start_ns + shift_ns, ==, b->backward_start_ns);
}

/* Where spans overlap, which of them has what they share may change with the spans' bounds. */
static void assert_same_exposed(const struct analysis *a, const struct analysis *b)
{
    for (uint32_t i = 0; i < a->n_buckets; i++)
        g_assert_cmpint(a->buckets[i].exposed_ns, ==, b->buckets[i].exposed_ns);
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
        int64_t by_ns = (int64_t)g_rand_int(rand) * 1000003;
        shift(&trace, by_ns);
        g_assert_true(analyze(&trace, &after, NULL));
        assert_same(&before, &after, by_ns);
        assert_same_exposed(&before, &after);
        analysis_release(&after);
        split_spans(&trace, rand);
        g_assert_true(analyze(&trace, &after, NULL));
        assert_same(&before, &after, by_ns);
        analysis_release(&after);
        analysis_release(&before);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* Kernels without gaps are as busy as their ops, whatever the host does meanwhile. */
static void test_kernels(void)
{
    GRand *rand = g_rand_new_with_seed(26);
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        struct analysis before, after;
        small_random(&trace, rand);
        g_assert_true(analyze(&trace, &before, NULL));
        g_assert_cmpint(before.launch_wait_ns, ==, -1);
        small_kernels(&trace, rand, false);
        g_assert_true(analyze(&trace, &after, NULL));
        assert_same(&before, &after, 0);
        g_assert_cmpint(after.launch_wait_ns, >=, 0);
        g_assert_cmpint(after.launch_wait_ns, <=,
                        after.partition[after.median_step * after.n_ranks + after.slowest_rank].window_ns);
        analysis_release(&before);
        analysis_release(&after);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* A kernel, and the call that launched it, of op `op`; call_end_ns < 0: the call is not known. */
static void launched(struct trace *trace, uint32_t op, int64_t start_ns, int64_t end_ns, int64_t call_end_ns)
{
    trace_add_span(trace, &(struct trace_span){start_ns, end_ns, trace->ops[op].lane, op,
                                               trace->t.lanes[trace->ops[op].lane].cls, "k"});
    if (call_end_ns >= 0)
        trace_add_span(trace, &(struct trace_span){call_end_ns - 1, call_end_ns, small_lane(0, LANE_HOST, 0),
                                                   op, SPAN_HOST, "launch"});
}

static int64_t wait_of(struct trace *trace, bool bound)
{
    struct analysis a;
    trace_finish(trace);
    g_assert_true(analyze(trace, &a, NULL));
    int64_t ns = a.launch_wait_ns;
    g_assert_true(analysis_launch_bound(&a) == bound);
    analysis_release(&a);
    trace_release(trace);
    return ns;
}

static void two_ops(struct trace *trace, uint32_t second_lane)
{
    struct trace_op op = small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), 0, 10, 1010);
    small_init(trace, 1, 0);
    trace->n_steps = 1;
    trace_add_bare_op(trace, &op);
    op.lane = second_lane;
    trace_add_bare_op(trace, &op);
}

static void test_launch_bound(void)
{
    struct trace trace;
    const uint32_t compute = small_lane(0, LANE_COMPUTE, 0), other = small_lane(0, LANE_COMPUTE, 1);
    /* Gaps 100-200, launched at 170, and 300-310, launched long before: 70 of 990. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, 10);
    launched(&trace, 0, 200, 300, 170);
    launched(&trace, 1, 310, 1010, 190);
    g_assert_cmpint(wait_of(&trace, false), ==, 70);
    /* A call that returns when its kernel runs: no more than the gap.  100 of 990. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, 10);
    launched(&trace, 0, 200, 300, 250);
    launched(&trace, 1, 310, 1010, 260);
    g_assert_cmpint(wait_of(&trace, true), ==, 100);
    /* 98 and 99 of 989: just below and at a tenth. */
    for (int64_t late = 98; late < 100; late++) {
        two_ops(&trace, compute);
        launched(&trace, 0, 20, 100, 10);
        launched(&trace, 1, 300, 1010, 100 + late);
        g_assert_cmpint(wait_of(&trace, late == 99), ==, late);
    }
    /* What it depends on ends only at 150 of the gap 100-300. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, 10);
    launched(&trace, 1, 300, 1010, 180);
    trace.ops[1].ready_ns = 150;
    g_assert_cmpint(wait_of(&trace, false), ==, 30);
    /* Another lane computes in 100-160 of the gap 100-200. */
    two_ops(&trace, other);
    launched(&trace, 0, 20, 100, 10);
    launched(&trace, 0, 200, 300, 180);
    launched(&trace, 1, 50, 160, 15);
    g_assert_cmpint(wait_of(&trace, false), ==, 20);
    /* An op with a call whose kernel is not there: which launched which is not known. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, 10);
    launched(&trace, 1, 300, 1010, 250);
    trace_add_span(&trace,
                   &(struct trace_span){260, 270, small_lane(0, LANE_HOST, 0), 1, SPAN_HOST, "launch"});
    g_assert_cmpint(wait_of(&trace, false), ==, 0);
    /* A copy on the lane keeps it busy; before a copy nothing computes late. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, 10);
    trace_add_span(&trace, &(struct trace_span){100, 290, compute, OP_NONE, SPAN_COPY, "copy"});
    launched(&trace, 1, 300, 1010, 299);
    g_assert_cmpint(wait_of(&trace, false), ==, 9);
    /* Nothing known of launches. */
    two_ops(&trace, compute);
    launched(&trace, 0, 20, 100, -1);
    launched(&trace, 1, 300, 1010, -1);
    g_assert_cmpint(wait_of(&trace, false), ==, -1);
}

/* other_ns: what else is computed, apart. */
static double slowdown_of(bool simulated, unsigned beside, unsigned apart, int64_t other_ns)
{
    struct trace trace;
    struct analysis a;
    struct trace_op comm = small_op(OP_ALLREDUCE, small_lane(0, LANE_COMM, 0), 0, 1000, 2000);
    small_init(&trace, 1, 0);
    trace.n_steps = 1;
    trace.simulated = simulated;
    trace.n_costs = 3;
    trace.costs = g_new0(struct cost_key, 3);
    trace_add_op(&trace, &comm);
    struct trace_op other = small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), 0, 5000, 5000 + other_ns);
    other.cost = 2;
    trace_add_op(&trace, &other);
    for (unsigned key = 0; key < 2; key++) {
        struct trace_op op = small_op(OP_BWD, small_lane(0, LANE_COMPUTE, key), 0, 0, 0);
        op.cost = key;
        for (unsigned i = 0; i < apart; i++) { /* 10, 11, 12, ... and twice that */
            op.start_ns = op.ready_ns = 50 * i;
            op.end_ns = op.start_ns + (10 + i) * (key + 1);
            trace_add_op(&trace, &op);
        }
        for (unsigned i = 0; i < beside; i++) { /* 20, 22, 24, ..., of key 1 as apart */
            op.start_ns = op.ready_ns = 1000 + 50 * i;
            op.end_ns = op.start_ns + (key ? (10 + i) * 2 : 20 + 2 * i);
            trace_add_op(&trace, &op);
        }
        op.start_ns = op.ready_ns =
            1999 - 40 * key; /* not half of it, or just half, is beside communication */
        op.end_ns = op.start_ns + 40 * (key + 1) + 1;
        if (!key)
            trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    g_assert_true(analyze(&trace, &a, NULL));
    double percent = a.slowdown_percent;
    analysis_release(&a);
    trace_release(&trace);
    return percent;
}

static void test_slowdown(void)
{
    /* Medians 11 and 22 apart, 22 and 22 beside; 3 of each: (3 * 22 + 3 * 22) / (3 * 11 + 3 * 22) - 1. */
    g_assert_cmpfloat_with_epsilon(slowdown_of(false, 3, 3, 0), 100. / 3, 1e-9);
    g_assert_true(isnan(slowdown_of(false, 2, 3, 0)));
    g_assert_true(isnan(slowdown_of(false, 3, 2, 0)));
    g_assert_true(isnan(slowdown_of(true, 3, 3, 0)));
    /* 132 beside are a fiftieth of 6600, of which the others are 33 + 66 + 66 + 66. */
    g_assert_cmpfloat_with_epsilon(slowdown_of(false, 3, 3, 6369), 100. / 3, 1e-9);
    g_assert_true(isnan(slowdown_of(false, 3, 3, 6370)));
}

/* Two ranks, 10 and 8 us for 1 MiB, of which rank 1 waits for none. */
static void test_bandwidth(void)
{
    struct trace trace;
    struct analysis a;
    double algorithm, bus;
    small_init(&trace, 2, 2);
    trace.n_steps = 1;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_op op = small_op(OP_ALLREDUCE, small_lane(rank, LANE_COMM, 0), 0, 2000 * rank, 10000);
        op.tag.bucket = 0;
        trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    g_assert_true(analyze(&trace, &a, NULL));
    g_assert_cmpint(a.buckets[0].transfer_ns, ==, 8000);
    g_assert_cmpuint(a.buckets[0].members, ==, 2);
    g_assert_true(bucket_bandwidth(&a.buckets[0], 1 << 20, &algorithm, &bus));
    g_assert_cmpfloat_with_epsilon(algorithm, 131072e6, 1);
    g_assert_cmpfloat_with_epsilon(bus, 131072e6, 1); /* 2 (2 - 1) / 2 */
    a.buckets[0].members = 8;
    g_assert_true(bucket_bandwidth(&a.buckets[0], 1 << 20, &algorithm, &bus));
    g_assert_cmpfloat_with_epsilon(bus, 131072e6 * 1.75, 1);
    a.buckets[0].members = 1;
    g_assert_false(bucket_bandwidth(&a.buckets[0], 1 << 20, &algorithm, &bus));
    a.buckets[0].members = 2;
    a.buckets[0].transfer_ns = 0;
    g_assert_false(bucket_bandwidth(&a.buckets[0], 1 << 20, &algorithm, &bus));
    g_assert_false(bucket_bandwidth(&a.buckets[1], 1 << 20, &algorithm, &bus)); /* not reduced */
    analysis_release(&a);
    trace_release(&trace);
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
    g_test_add_func("/analyze/kernels", test_kernels);
    g_test_add_func("/analyze/launch-bound", test_launch_bound);
    g_test_add_func("/analyze/slowdown", test_slowdown);
    g_test_add_func("/analyze/bandwidth", test_bandwidth);
    g_test_add_func("/analyze/permuted-ranks", test_permuted_ranks);
    g_test_add_func("/analyze/waits", test_waits);
    g_test_add_func("/analyze/unknown-op", test_unknown_op);
    g_test_add_func("/analyze/statistics", test_statistics);
    g_test_add_func("/analyze/refusals", test_refusals);
    return g_test_run();
}
