/* Causes of exposed communication: against an oracle that looks at every nanosecond, on random traces and on
 * simulated random plans; and each cause by itself, made by hand. */
#include <string.h>

#include "profile/analyze.h"
#include "sim/sim.h"
#include "tests/plans.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

enum { ROUNDS = 400 };

/* --- the oracle: definitions, read out aloud */

struct oracle {
    const struct trace *trace;
    const struct analysis *analysis;
    uint32_t rank;
    uint32_t *step; /* of each span */
};

static bool is_own(const struct oracle *o, size_t span, unsigned cls)
{
    const struct trace_span *s = &o->trace->spans[span];
    return s->cls == cls && o->trace->t.lanes[s->lane].rank == o->rank &&
           o->step[span] == o->analysis->median_step;
}

static bool covers(const struct trace_span *s, int64_t t)
{
    return s->start_ns <= t && t < s->end_ns;
}

/* The span that a nanosecond belongs to, or SIZE_MAX if it is not exposed communication. */
static size_t owner(const struct oracle *o, int64_t t)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < o->trace->n_spans; i++) {
        const struct trace_span *s = &o->trace->spans[i];
        if (!covers(s, t))
            continue;
        if (is_own(o, i, SPAN_COMPUTE))
            return SIZE_MAX;
        if (is_own(o, i, SPAN_COMM) && (first == SIZE_MAX || s->start_ns < o->trace->spans[first].start_ns))
            first = i;
    }
    return first;
}

static uint32_t rank_of(const struct trace *trace, const struct trace_op *op)
{
    return trace->t.lanes[op->lane].rank;
}

/* When a rank begins its part of a collective. */
static int64_t begin_ns(const struct oracle *o, uint32_t coll, uint32_t rank)
{
    int64_t begin = INT64_MAX;
    for (size_t i = 0; i < o->trace->n_ops; i++) {
        const struct trace_op *op = &o->trace->ops[i];
        if (op->tag.step == o->analysis->median_step && op->tag.coll == coll &&
            op_phase(op->tag.kind) == PHASE_COMM && rank_of(o->trace, op) == rank)
            begin = MIN(begin, op->start_ns);
    }
    return begin;
}

/* Until when an op waits for a peer, and for which. */
static int64_t late_until(const struct oracle *o, const struct trace_op *own, uint32_t *peer)
{
    int64_t last = INT64_MIN, last_begin = INT64_MIN;
    *peer = OP_NONE;
    for (size_t i = 0; own->tag.gang != OP_NONE && i < o->trace->n_ops; i++) {
        const struct trace_op *op = &o->trace->ops[i];
        uint32_t rank = rank_of(o->trace, op);
        if (op->tag.step != own->tag.step || op->tag.gang != own->tag.gang)
            continue;
        if (op->start_ns > last || (op->start_ns == last && rank < *peer)) {
            last = op->start_ns;
            *peer = rank;
        }
    }
    bool pair = own->tag.kind == OP_SEND || own->tag.kind == OP_RECV || own->tag.kind == OP_RECV_ADD;
    if (!pair || own->tag.coll == OP_NONE)
        return last;
    uint32_t last_rank = OP_NONE;
    for (uint32_t rank = 0; rank < o->trace->t.n_ranks; rank++) {
        int64_t begin = begin_ns(o, own->tag.coll, rank);
        if (begin != INT64_MAX && begin > last_begin) {
            last_begin = begin;
            last_rank = rank;
        }
    }
    if (last_begin >= last)
        return last;
    *peer = last_rank;
    return last_begin;
}

/* Whether two spans share one ready, launch and start, and with which row they count. */
static uint32_t row_of(const struct oracle *o, size_t span)
{
    uint32_t op = o->trace->spans[span].op, n = o->trace->t.n_buckets;
    return op == OP_NONE || op_phase(o->trace->ops[op].tag.kind) != PHASE_COMM
               ? n
               : MIN(o->trace->ops[op].tag.bucket, n);
}

static bool together(const struct oracle *o, size_t a, size_t b)
{
    uint32_t x = o->trace->spans[a].op, y = o->trace->spans[b].op, row = row_of(o, a);
    if (a == b)
        return true;
    if (x == OP_NONE || y == OP_NONE || row != row_of(o, b))
        return false;
    if (row < o->trace->t.n_buckets || x == y)
        return true;
    return o->trace->ops[x].tag.coll != OP_NONE && o->trace->ops[x].tag.coll == o->trace->ops[y].tag.coll;
}

/* The first op of a bucket on the rank; NULL: none. */
static const struct trace_op *first_of(const struct oracle *o, uint32_t bucket)
{
    const struct trace_op *first = NULL;
    for (size_t i = 0; i < o->trace->n_ops; i++) {
        const struct trace_op *op = &o->trace->ops[i];
        if (op->tag.step == o->analysis->median_step && rank_of(o->trace, op) == o->rank &&
            op_phase(op->tag.kind) == PHASE_COMM && op->tag.bucket == bucket &&
            (!first || op->start_ns < first->start_ns))
            first = op;
    }
    return first;
}

static int64_t backward_end(const struct oracle *o)
{
    int64_t end = INT64_MAX;
    bool backward = false;
    for (size_t i = 0; i < o->trace->n_ops; i++) {
        const struct trace_op *op = &o->trace->ops[i];
        if (op->tag.step != o->analysis->median_step || rank_of(o->trace, op) != o->rank)
            continue;
        backward |= op->tag.kind == OP_BWD;
        if (op->tag.kind == OP_BWD || op->tag.kind == OP_PACK)
            end = end == INT64_MAX ? op->end_ns : MAX(end, op->end_ns);
    }
    return backward ? end : INT64_MAX;
}

static bool communicates(const struct oracle *o, int64_t at)
{
    for (size_t i = 0; i < o->trace->n_spans; i++) {
        const struct trace_span *s = &o->trace->spans[i];
        if (is_own(o, i, SPAN_COMM) && covers(s, at))
            return true;
    }
    return false;
}

/* What a group's n-th nanosecond is for that no late peer explains. */
static enum cause later_cause(const struct oracle *o, size_t span, int64_t n)
{
    const struct trace_span *s = &o->trace->spans[span];
    const struct trace_op *op = s->op == OP_NONE ? NULL : &o->trace->ops[s->op];
    uint32_t row = row_of(o, span);
    int64_t ready = op ? op->ready_ns : s->start_ns, launch = ready, start = op ? op->start_ns : s->start_ns;
    if (row < o->trace->t.n_buckets) {
        ready = launch = first_of(o, row)->ready_ns;
        start = first_of(o, row)->start_ns;
        for (uint32_t b = 0; b < row; b++)
            if (first_of(o, b))
                launch = MAX(launch, first_of(o, b)->ready_ns);
    }
    int64_t queued = 0;
    for (int64_t at = launch; at < start; at++)
        queued += communicates(o, at);
    if (n < launch - ready)
        return CAUSE_LATE_LAUNCH;
    if (n < launch - ready + queued)
        return CAUSE_QUEUE;
    return ready >= backward_end(o) ? CAUSE_END_OF_BACKWARD : CAUSE_BANDWIDTH;
}

/* Compares a rank's causes; late[row * ranks + peer] is waiting by peer, row n_buckets + 1 that of all. */
static void check_late(const struct oracle *o, const struct causes *got, const int64_t *late)
{
    uint32_t most = OP_NONE;
    for (uint32_t peer = 0; peer < o->trace->t.n_ranks; peer++)
        if (late[peer] > (most == OP_NONE ? 0 : late[most]))
            most = peer;
    g_assert_cmpuint(got->late_rank, ==, most);
    g_assert_cmpint(got->late_rank_ns, ==, most == OP_NONE ? 0 : late[most]);
}

static void check_rank(const struct oracle *o, int64_t horizon_ns)
{
    const uint32_t n = o->trace->t.n_buckets, ranks = o->trace->t.n_ranks;
    int64_t *late = g_new0(int64_t, (gsize)(n + 2) * ranks), *seen = g_new0(int64_t, o->trace->n_spans);
    struct causes *want = g_new0(struct causes, n + 2);
    for (int64_t t = 0; t < horizon_ns; t++) {
        uint32_t peer = OP_NONE;
        size_t span = owner(o, t), leader = 0;
        if (span == SIZE_MAX)
            continue;
        uint32_t op = o->trace->spans[span].op, row = row_of(o, span);
        bool is_late = op != OP_NONE && t < late_until(o, &o->trace->ops[op], &peer);
        /* the group's first span by start stands for it */
        for (size_t i = 0; i < o->trace->n_spans; i++)
            if (is_own(o, i, SPAN_COMM) && together(o, i, span) &&
                (!is_own(o, leader, SPAN_COMM) || !together(o, leader, span) ||
                 o->trace->spans[i].start_ns < o->trace->spans[leader].start_ns))
                leader = i;
        enum cause cause = is_late ? CAUSE_LATE_PEER : later_cause(o, leader, seen[leader]++);
        want[row].ns[cause]++;
        want[n + 1].ns[cause]++;
        if (is_late) {
            late[row * ranks + peer]++;
            late[(n + 1) * ranks + peer]++;
        }
    }
    const struct causes *rows = &o->analysis->bucket_causes[o->rank * (n + 1)];
    for (uint32_t row = 0; row < n + 2; row++) {
        const struct causes *got = row <= n ? &rows[row] : &o->analysis->causes[o->rank];
        g_assert_cmpmem(got->ns, sizeof got->ns, want[row].ns, sizeof want[row].ns);
        check_late(o, got, &late[row * ranks]);
    }
    g_free(late);
    g_free(seen);
    g_free(want);
}

static void check_trace(const struct trace *trace, int64_t *found_ns)
{
    struct analysis a;
    struct oracle o = {trace, &a, 0, g_new(uint32_t, trace->n_spans)};
    int64_t horizon_ns = 0;
    g_assert_true(analyze(trace, &a, NULL));
    for (size_t i = 0; i < trace->n_spans; i++) {
        const struct trace_span *s = &trace->spans[i];
        horizon_ns = MAX(horizon_ns, s->end_ns);
        o.step[i] = s->op != OP_NONE                           ? trace->ops[s->op].tag.step
                    : i && trace->spans[i - 1].lane == s->lane ? o.step[i - 1]
                                                               : 0;
    }
    for (o.rank = 0; o.rank < a.n_ranks; o.rank++) {
        const struct partition *p = &a.partition[a.median_step * a.n_ranks + o.rank];
        int64_t sum_ns = 0;
        check_rank(&o, horizon_ns);
        for (unsigned c = 0; c < CAUSES; c++) {
            sum_ns += a.causes[o.rank].ns[c];
            found_ns[c] += a.causes[o.rank].ns[c];
        }
        g_assert_cmpint(sum_ns, ==, p->exposed_comm_ns);
    }
    g_free(o.step);
    analysis_release(&a);
}

/* --- random traces: gangs, collectives, kernels of no op */

static void tag_at_random(struct trace *trace, GRand *rand)
{
    static const uint8_t kinds[] = {OP_ALLREDUCE, OP_EXCHANGE, OP_SEND, OP_RECV, OP_RECV_ADD, OP_BROADCAST};
    for (size_t i = 0; i < trace->n_ops; i++) {
        struct op_tag *tag = &trace->ops[i].tag;
        if (op_phase(tag->kind) != PHASE_COMM)
            continue;
        tag->kind = kinds[g_rand_int_range(rand, 0, G_N_ELEMENTS(kinds))];
        tag->gang = g_rand_int_range(rand, 0, 4) ? (uint32_t)g_rand_int_range(rand, 0, 12) : OP_NONE;
        tag->coll = g_rand_int_range(rand, 0, 3) ? (uint32_t)g_rand_int_range(rand, 0, 5) : OP_NONE;
        if (!g_rand_int_range(rand, 0, 3))
            tag->bucket = OP_NONE;
    }
    for (size_t i = 0; i < trace->n_spans; i++)
        if (trace->spans[i].cls == SPAN_COMM && !g_rand_int_range(rand, 0, 12))
            trace->spans[i].op = OP_NONE;
}

static void test_random_traces(void)
{
    GRand *rand = g_rand_new_with_seed(31);
    int64_t found_ns[CAUSES] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct trace trace;
        small_random(&trace, rand);
        tag_at_random(&trace, rand);
        check_trace(&trace, found_ns);
        trace_release(&trace);
    }
    for (unsigned c = 0; c < CAUSES; c++)
        g_assert_cmpint(found_ns[c], >, ROUNDS / 4);
    g_rand_free(rand);
}

/* --- simulated random plans */

static bool price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                  GError **error)
{
    (void)model, (void)error;
    out->alone_ns = out->work_ns = key->rows;
    return true;
}

static void price_at_random(struct plan *plan)
{
    enum { PRICES = 8 };
    uint32_t costs[PRICES];
    for (uint32_t i = 0; i < PRICES; i++) {
        struct cost_key key = {.members = 1, .rows = 1 + i * i};
        costs[i] = plan_add_cost(plan, &key);
    }
    plan->t.n_buckets = 2;
    plan->t.buckets = g_new0(struct bucket_row, 2);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        struct op *op = &plan->ops[i];
        uint32_t gang = op->tag.gang;
        op->cost = costs[(gang == OP_NONE ? (uint32_t)g_test_rand_int() : gang) % PRICES];
        if (op->tag.kind == OP_ALLREDUCE)
            op->tag.bucket = gang % 3 < 2 ? gang % 3 : OP_NONE;
        else if (op->tag.kind == OP_FWD && g_test_rand_bit())
            op->tag.kind = OP_BWD;
    }
}

static void test_random_plans(void)
{
    const struct cost_model model = {"squares", price};
    int64_t found_ns[CAUSES] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct plan plan;
        struct trace trace;
        GError *error = NULL;
        plans_random(&plan);
        price_at_random(&plan);
        plan_seal(&plan, &error);
        g_assert_no_error(error);
        struct run run = {.plan = &plan, .costs = &model, .steps = 1};
        trace_init(&trace);
        g_assert_true(sim_engine.run(&run, &trace, NULL));
        check_trace(&trace, found_ns);
        trace_release(&trace);
        plan_release(&plan);
    }
    g_assert_cmpint(found_ns[CAUSE_LATE_PEER], >, 0);
    g_assert_cmpint(found_ns[CAUSE_BANDWIDTH], >, 0);
}

/* --- by hand */

static void add(struct trace *trace, unsigned kind, uint32_t rank, uint32_t bucket, int64_t ready_ns,
                int64_t start_ns, int64_t end_ns)
{
    struct trace_op op = small_op(kind, small_lane(rank, op_lane_class(kind), 0), 0, start_ns, end_ns);
    op.ready_ns = ready_ns;
    op.tag.bucket = op.tag.gang = op.tag.coll = bucket;
    trace_add_op(trace, &op);
}

static void expect(const struct causes *got, int64_t late_peer, int64_t late_launch, int64_t queue,
                   int64_t end_of_backward, int64_t bandwidth, uint32_t late_rank)
{
    const int64_t want[CAUSES] = {late_peer, late_launch, queue, end_of_backward, bandwidth};
    for (unsigned c = 0; c < CAUSES; c++)
        if (got->ns[c] != want[c])
            g_error("%s is %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT, cause_name(c), got->ns[c], want[c]);
    g_assert_cmpuint(got->late_rank, ==, late_rank);
}

/* Backward until 100 on rank 0, until 130 on rank 1.  Bucket 1 is ready at 40, bucket 0 only at 60; both take
 * 50, and bucket 2, ready at the end, 20.  Rank 0 has nothing to do from 100 on. */
static void test_by_hand(void)
{
    struct trace trace;
    struct analysis a;
    small_init(&trace, 2, 3);
    trace.n_steps = 1;
    add(&trace, OP_BWD, 0, OP_NONE, 0, 0, 100);
    add(&trace, OP_BWD, 1, OP_NONE, 0, 0, 130);
    for (uint32_t rank = 0; rank < 2; rank++) {
        add(&trace, OP_ALLREDUCE, rank, 0, 60, 60, 110);
        add(&trace, OP_ALLREDUCE, rank, 1, 40, 110, 160);
    }
    add(&trace, OP_ALLREDUCE, 0, 2, 100, 160, 190);
    add(&trace, OP_ALLREDUCE, 1, 2, 130, 170, 190);
    trace_finish(&trace);
    g_assert_true(analyze(&trace, &a, NULL));
    expect(&a.bucket_causes[0], 0, 0, 0, 0, 10, OP_NONE);  /* in time, but too long */
    expect(&a.bucket_causes[1], 0, 20, 30, 0, 0, OP_NONE); /* 20 too late launched, 50 behind bucket 0 */
    expect(&a.bucket_causes[2], 10, 0, 20, 0, 0, 1);       /* 10 for rank 1, then behind bucket 1 */
    expect(&a.bucket_causes[4 + 1], 0, 20, 10, 0, 0, OP_NONE);
    expect(&a.bucket_causes[4 + 2], 0, 0, 20, 0, 0, OP_NONE);
    expect(&a.causes[0], 10, 20, 50, 0, 10, 1);
    expect(&a.causes[1], 0, 20, 30, 0, 0, OP_NONE);
    analysis_release(&a);
    trace_release(&trace);
}

/* A bucket that is ready at the very end of backward, and one a nanosecond before it. */
static void test_end_of_backward(void)
{
    for (int64_t early = 0; early < 2; early++) {
        struct trace trace;
        struct analysis a;
        small_init(&trace, 1, 1);
        trace.n_steps = 1;
        add(&trace, OP_BWD, 0, OP_NONE, 0, 0, 90);
        add(&trace, OP_PACK, 0, OP_NONE, 0, 90, 100);
        add(&trace, OP_ALLREDUCE, 0, 0, 100 - early, 100, 140);
        trace_finish(&trace);
        g_assert_true(analyze(&trace, &a, NULL));
        /* A start after the launch is no queue where nothing else is under way. */
        expect(&a.causes[0], 0, 0, 0, early ? 0 : 40, early ? 40 : 0, OP_NONE);
        analysis_release(&a);
        trace_release(&trace);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/cause/by-hand", test_by_hand);
    g_test_add_func("/cause/end-of-backward", test_end_of_backward);
    g_test_add_func("/cause/random-traces", test_random_traces);
    g_test_add_func("/cause/random-plans", test_random_plans);
    return g_test_run();
}
