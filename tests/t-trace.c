/* The trace: growing, copying, sorting, and the costs that it gives. */
#include <stdlib.h>
#include <string.h>

#include "profile/trace.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

static void test_labels(void)
{
    struct trace trace;
    trace_init(&trace);
    g_assert_null(trace_label_value(&trace, "engine"));
    trace_label(&trace, "engine", "%s", "cpu");
    trace_label(&trace, "link", "paced to %d Gb/s", 10);
    trace_label(&trace, "engine", "%s", "sim");
    g_assert_cmpuint(trace.n_labels, ==, 2);
    g_assert_cmpstr(trace_label_value(&trace, "engine"), ==, "sim");
    g_assert_cmpstr(trace_label_value(&trace, "link"), ==, "paced to 10 Gb/s");
    trace_release(&trace);
    trace_release(&trace);
}

static void test_adopt(void)
{
    struct tables tables;
    tables_init(&tables);
    tables.mode = tables_intern(&tables, "ddp");
    tables.n_ranks = 3;
    tables.n_lanes = 1;
    tables.lanes = g_new0(struct lane, 1);
    tables.lanes[0].name = tables_intern(&tables, "compute");
    char *shape = g_strdup("attention d8");
    struct cost_key keys[] = {{.shape = shape, .bytes = 7}, {.shape = NULL, .bytes = 8}};
    struct trace trace;
    trace_init(&trace);
    trace_adopt(&trace, &tables, 2, keys);
    memset(shape, '#', strlen(shape));
    g_free(shape);
    tables_release(&tables);
    g_assert_cmpstr(trace.t.mode, ==, "ddp");
    g_assert_cmpuint(trace.t.n_ranks, ==, 3);
    g_assert_cmpstr(trace.t.lanes[0].name, ==, "compute");
    g_assert_cmpstr(trace.costs[0].shape, ==, "attention d8");
    g_assert_null(trace.costs[1].shape);
    g_assert_cmpuint(trace.costs[1].bytes, ==, 8);
    trace_release(&trace);
}

/* Amortised O(1): the arrays are moved few times however many ops come. */
static void test_growth(void)
{
    enum { OPS = 200000 };
    struct trace trace;
    small_init(&trace, 1, 0);
    size_t moves = 0, room = 0;
    for (int64_t i = 0; i < OPS; i++) {
        struct trace_op op = small_op(OP_FWD, 0, 0, i, i + 1);
        trace_add_op(&trace, &op);
        moves += trace.room_ops != room;
        room = trace.room_ops;
    }
    g_assert_cmpuint(trace.n_ops, ==, OPS);
    g_assert_cmpuint(trace.n_spans, ==, OPS);
    g_assert_cmpuint(moves, <, 30);
    trace_release(&trace);

    small_init(&trace, 1, 0);
    trace_reserve(&trace, 100);
    room = trace.room_ops;
    for (int64_t i = 0; i < 100; i++) {
        struct trace_op op = small_op(OP_FWD, 0, 0, i, i + 1);
        trace_add_op(&trace, &op);
    }
    g_assert_cmpuint(trace.room_ops, ==, room);
    trace_release(&trace);
}

static void test_classes(void)
{
    struct trace trace;
    small_init(&trace, 1, 0);
    const uint32_t lanes[] = {0, 2, 4, 6};
    for (unsigned i = 0; i < G_N_ELEMENTS(lanes); i++) {
        struct trace_op op = small_op(OP_FWD, lanes[i], 0, 5, 6);
        trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    g_assert_cmpuint(trace.n_ops, ==, 4);
    g_assert_cmpuint(trace.n_spans, ==, 3); /* a host lane is no busy device */
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpuint(trace.spans[i].cls, ==, i);
        g_assert_cmpuint(trace.spans[i].op, ==, i);
    }
    trace_release(&trace);
}

/* Ops added lane by lane, in any order of lanes and times: spans come out sorted, each still at its op. */
static void test_finish(void)
{
    GRand *rand = g_rand_new_with_seed(11);
    for (int round = 0; round < 300; round++) {
        struct trace trace;
        small_init(&trace, 2, 0);
        size_t n = (size_t)g_rand_int_range(rand, 0, 60);
        int64_t base = INT64_MAX;
        struct trace_op *added = g_new(struct trace_op, n);
        for (size_t i = 0; i < n; i++) {
            uint32_t lane =
                (uint32_t)g_rand_int_range(rand, 0, 2) * SMALL_LANES + (uint32_t)g_rand_int_range(rand, 0, 6);
            int64_t start = g_rand_int_range(rand, -30, 30);
            added[i] = small_op(OP_FWD, lane, 0, start, start + g_rand_int_range(rand, 0, 5));
            added[i].ready_ns = start - g_rand_int_range(rand, 0, 3);
            base = MIN(base, added[i].ready_ns);
            trace_add_op(&trace, &added[i]);
        }
        trace_finish(&trace);
        g_assert_cmpuint(trace.n_spans, ==, n);
        bool *seen = g_new0(bool, n);
        for (size_t i = 0; i < n; i++) {
            const struct trace_span *s = &trace.spans[i], *before = i ? s - 1 : NULL;
            g_assert_false(seen[s->op]);
            seen[s->op] = true;
            g_assert_cmpint(s->start_ns, ==, added[s->op].start_ns - base);
            g_assert_cmpint(s->end_ns, ==, added[s->op].end_ns - base);
            g_assert_cmpint(trace.ops[s->op].start_ns, ==, s->start_ns);
            g_assert_cmpint(trace.ops[s->op].end_ns, ==, s->end_ns);
            g_assert_cmpint(trace.ops[s->op].ready_ns, ==, added[s->op].ready_ns - base);
            g_assert_cmpuint(s->lane, ==, added[s->op].lane);
            if (before)
                g_assert_true(
                    before->lane < s->lane ||
                    (before->lane == s->lane && (before->start_ns < s->start_ns ||
                                                 (before->start_ns == s->start_ns && before->op < s->op))));
        }
        g_free(seen);
        g_free(added);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* What an op of that cost took in a step, in the mean, by trying every op against every other; -1: none did.
 */
static int64_t step_cost(const struct trace *trace, uint32_t cost, uint32_t step)
{
    int64_t sum = 0, n = 0;
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->cost != cost || op->tag.step != step)
            continue;
        int64_t start = op->start_ns, end = op->end_ns;
        for (size_t j = 0; op->tag.gang != OP_NONE && j < trace->n_ops; j++) {
            const struct trace_op *peer = &trace->ops[j];
            if (peer->tag.gang == op->tag.gang && peer->tag.step == op->tag.step) {
                start = MAX(start, peer->start_ns);
                end = MAX(end, peer->end_ns);
            }
        }
        sum += end - start;
        n++;
    }
    return n ? (2 * sum + n) / (2 * n) : -1;
}

/* The median over the steps. */
static int64_t expected_cost(const struct trace *trace, uint32_t cost)
{
    int64_t ns[8];
    size_t n = 0;
    for (uint32_t step = 0; step < trace->n_steps; step++)
        if ((ns[n] = step_cost(trace, cost, step)) >= 0)
            n++;
    if (!n)
        return -1;
    qsort(ns, n, sizeof *ns, compare_ns);
    return ns[(n - 1) / 2] + (ns[n / 2] - ns[(n - 1) / 2]) / 2;
}

static void test_costs(void)
{
    static const struct cost_key keys[] = {{.shape = "a", .kind = OP_FWD, .members = 1},
                                           {.shape = "b", .kind = OP_FWD, .members = 1},
                                           {.shape = "", .kind = OP_ALLREDUCE, .members = 3, .bytes = 100}};
    GRand *rand = g_rand_new_with_seed(12);
    for (int round = 0; round < 100; round++) {
        struct trace trace;
        small_init(&trace, 3, 0);
        trace.n_costs = 3;
        trace.costs = g_memdup2(keys, sizeof keys);
        trace.n_steps = (uint32_t)g_rand_int_range(rand, 1, 6);
        for (uint32_t step = 0; step < trace.n_steps; step++) {
            /* One gang a step, or two whose members are not side by side. */
            for (uint32_t at = 0; at < 12; at++) {
                int64_t start = step * 1000 + g_rand_int_range(rand, 0, 100);
                struct trace_op op = small_op(OP_FWD, small_lane(at % 3, LANE_COMPUTE, 0), step, start,
                                              start + g_rand_int_range(rand, 0, 100));
                op.cost = at % 2;
                if (at >= 6) {
                    op.cost = 2;
                    op.tag.gang = round % 2 ? at % 2 : 0;
                    op.end_ns = step * 1000 + 200 + g_rand_int_range(rand, 0, 9);
                }
                trace_add_op(&trace, &op);
            }
            struct trace_op free_op = small_op(OP_INPUT, small_lane(0, LANE_COPY, 0), step, 0, 5);
            trace_add_op(&trace, &free_op);
        }
        trace_finish(&trace);
        struct cost_table *table = trace_costs(&trace);
        const struct cost_model *model = cost_table_model(table);
        for (uint32_t cost = 0; cost < 3; cost++) {
            GError *error = NULL;
            struct cost price = {-1, -1};
            model->price(model, &trace.costs[cost], &price, &error);
            g_assert_no_error(error);
            g_assert_cmpint(price.alone_ns, ==, expected_cost(&trace, cost));
        }
        cost_table_free(table);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* Rank 1 takes twice as long for each of two costs; a gang says nothing of its speed. */
static void test_speeds(void)
{
    static const struct cost_key keys[] = {{.shape = "a", .kind = OP_FWD, .members = 1},
                                           {.shape = "b", .kind = OP_FWD, .members = 1},
                                           {.shape = "", .kind = OP_ALLREDUCE, .members = 2, .bytes = 100}};
    static const int64_t takes_ns[] = {100, 40, 70};
    struct trace trace;
    small_init(&trace, 2, 0);
    trace.n_costs = G_N_ELEMENTS(keys);
    trace.costs = g_memdup2(keys, sizeof keys);
    trace.n_steps = 1;
    for (uint32_t rank = 0; rank < 2; rank++)
        for (uint32_t cost = 0; cost < 3; cost++) {
            struct trace_op op =
                small_op(keys[cost].kind, small_lane(rank, cost == 2 ? LANE_COMM : LANE_COMPUTE, 0), 0,
                         1000 * cost, 1000 * cost + takes_ns[cost] * (cost < 2 ? 1 + rank : 1));
            op.cost = cost;
            op.tag.gang = cost == 2 ? 0 : OP_NONE;
            trace_add_op(&trace, &op);
        }
    trace_finish(&trace);
    double speed[2];
    struct cost_table *table = trace_costs_of_fastest(&trace, speed);
    g_assert_cmpfloat(speed[0], ==, 1);
    g_assert_cmpfloat_with_epsilon(speed[1], 0.5, 1e-12);
    for (uint32_t cost = 0; cost < 3; cost++) {
        struct cost price;
        g_assert_true(
            cost_table_model(table)->price(cost_table_model(table), &trace.costs[cost], &price, NULL));
        g_assert_cmpint(price.alone_ns, ==, takes_ns[cost]);
        g_assert_cmpint(price.work_ns, ==, takes_ns[cost]);
    }
    cost_table_free(table);
    trace_release(&trace);
}

/* Ranks 0 and 1 take turns on one device, rank 2 has its own: an op of the former costs half of what it took,
 * a gang all of it, and where no turns were taken everything does. */
static void test_turns(void)
{
    static const struct cost_key keys[] = {{.shape = "a", .kind = OP_FWD, .members = 1},
                                           {.shape = "b", .kind = OP_FWD, .members = 1},
                                           {.shape = "", .kind = OP_ALLREDUCE, .members = 3, .bytes = 100}};
    for (int turns = 0; turns < 2; turns++) {
        struct trace trace;
        small_init(&trace, 3, 0);
        trace.n_costs = G_N_ELEMENTS(keys);
        trace.costs = g_memdup2(keys, sizeof keys);
        trace.n_steps = 1;
        trace.interleaved = turns;
        for (uint32_t i = 0; i < trace.t.n_lanes; i++)
            trace.t.lanes[i].device = trace.t.lanes[i].rank / 2;
        for (uint32_t rank = 0; rank < 3; rank++)
            for (int gang = 0; gang < 2; gang++) {
                struct trace_op op = small_op(gang ? OP_ALLREDUCE : OP_FWD,
                                              small_lane(rank, gang ? LANE_COMM : LANE_COMPUTE, 0), 0,
                                              1000 * gang, 1000 * gang + 100);
                op.cost = gang ? 2 : rank / 2;
                op.tag.gang = gang ? 0 : OP_NONE;
                trace_add_op(&trace, &op);
            }
        trace_finish(&trace);
        struct cost_table *table = trace_costs(&trace);
        for (uint32_t cost = 0; cost < 3; cost++) {
            struct cost price;
            g_assert_true(
                cost_table_model(table)->price(cost_table_model(table), &trace.costs[cost], &price, NULL));
            g_assert_cmpint(price.alone_ns, ==, turns && cost == 0 ? 50 : 100);
        }
        cost_table_free(table);
        trace_release(&trace);
    }
}

/* An op of several spans: their names are the trace's own, and tell the lanes of kernels from others. */
static void test_kernels(void)
{
    struct trace trace;
    char name[] = "_Z4gemmv";
    small_init(&trace, 1, 0);
    struct trace_op op = small_op(OP_FWD, 0, 0, 10, 20);
    trace_add_bare_op(&trace, &op);
    g_assert_cmpuint(trace.n_spans, ==, 0);
    struct lane launches = {"launches", 0, 0, OP_NONE, LANE_HOST, 0};
    uint32_t host = trace_add_lane(&trace, &launches);
    g_assert_cmpuint(host, ==, SMALL_LANES);
    trace_add_span(&trace, &(struct trace_span){15, 18, 0, 0, SPAN_COMPUTE, name});
    trace_add_span(&trace, &(struct trace_span){12, 14, 0, 0, SPAN_COMPUTE, name});
    trace_add_span(&trace, &(struct trace_span){2, 3, host, 0, SPAN_HOST, "cudaLaunchKernel"});
    trace_finish(&trace);
    name[2] = 'x';
    g_assert_cmpint(trace.spans[0].start_ns, ==, 10); /* the launch is the first of all */
    g_assert_cmpint(trace.spans[1].start_ns, ==, 13);
    g_assert_cmpstr(trace.spans[0].name, ==, "_Z4gemmv");
    g_assert_true(trace.spans[0].name == trace.spans[1].name);
    g_autofree bool *kernels = trace_kernel_lanes(&trace);
    for (uint32_t lane = 0; lane < trace.t.n_lanes; lane++)
        g_assert_true(kernels[lane] == (lane == 0));
    trace_release(&trace);
}

static void test_facts(void)
{
    struct trace trace;
    trace_init(&trace);
    g_assert_null(trace_fact_value(&trace, "gpu"));
    trace_fact_text(&trace, "gpu", "a");
    trace_fact_text(&trace, "driver", "580");
    trace_fact_text(&trace, "gpu", "b");
    g_assert_cmpuint(trace.n_facts, ==, 2);
    g_assert_cmpstr(trace_fact_value(&trace, "gpu"), ==, "b");
    g_assert_null(trace_label_value(&trace, "gpu"));
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/trace/labels", test_labels);
    g_test_add_func("/trace/adopt", test_adopt);
    g_test_add_func("/trace/growth", test_growth);
    g_test_add_func("/trace/classes", test_classes);
    g_test_add_func("/trace/finish", test_finish);
    g_test_add_func("/trace/costs", test_costs);
    g_test_add_func("/trace/speeds", test_speeds);
    g_test_add_func("/trace/kernels", test_kernels);
    g_test_add_func("/trace/turns", test_turns);
    g_test_add_func("/trace/facts", test_facts);
    return g_test_run();
}
