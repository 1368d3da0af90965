/* Bytes on the links: what a trace says against the closed forms, and the line of the summary. */
#include <string.h>

#include "plan/mode.h"
#include "profile/traffic.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

enum { RANKS_MOST = 9 };

static const char tiny[] =
    "[model]\nname = tiny\ntask = tokens\nlayers = 2\nd-model = 8\nheads = 2\nff = 16\n"
    "vocab = 11\nseq-len = 4\npositions = 4\n"
    "[embeddings]\nkind = embedding\n[layer]\nkind = encoder\n[head]\nkind = head\n";

static void simulate(uint8_t algo, uint32_t ranks, bool first_iteration, struct trace *trace)
{
    GError *error = NULL;
    struct model *model = model_parse(tiny, "tiny.ini", NULL, &error);
    g_assert_no_error(error);
    struct shape shape = {.model = model,
                          .ranks = ranks,
                          .batch = ranks,
                          .algo = algo,
                          .overlap = OVERLAP_BACKWARD,
                          .first_iteration = first_iteration,
                          .bucket_bytes = 2000,
                          .first_bucket_bytes = 300};
    struct plan plan;
    struct cost_model *costs = cost_unit_new("C=1", NULL);
    plan_make(&mode_ddp, &shape, &plan, &error);
    g_assert_no_error(error);
    struct run run = {.plan = &plan, .model = model, .costs = costs};
    trace_init(trace);
    sim_engine.run(&run, trace, &error);
    g_assert_no_error(error);
    plan_release(&plan);
    cost_model_free(costs);
    model_free(model);
}

static uint64_t gradients(const struct trace *trace)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < trace->t.n_params; i++)
        bytes += trace->t.params[i].bytes;
    return bytes;
}

/* Sums over the links, by rank. */
static void check_ranks(const struct traffic *t, uint64_t bytes)
{
    uint64_t sent = 0, received = 0, n = t->n_ranks;
    for (uint32_t r = 0; r < n; r++) {
        g_assert_cmpuint(MAX(t->sent[r], t->received[r]), <=, t->busiest_bytes);
        sent += t->sent[r];
        received += t->received[r];
        if (t->algo == ALLREDUCE_REDUCE_BROADCAST) {
            g_assert_cmpuint(t->sent[r], ==, r ? bytes : (n - 1) * bytes);
            g_assert_cmpuint(t->received[r], ==, t->sent[r]);
        }
    }
    g_assert_cmpuint(sent, ==, received);
    g_assert_cmpuint(sent, ==, (t->algo == ALLREDUCE_ALL_TO_ALL ? n : 2) * (n - 1) * bytes);
    g_assert_cmpuint(MAX(t->sent[t->busiest_rank], t->received[t->busiest_rank]), ==, t->busiest_bytes);
}

static void check_closed_form(uint8_t algo, uint32_t ranks, bool first_iteration)
{
    struct trace trace;
    struct traffic t;
    simulate(algo, ranks, first_iteration, &trace);
    uint64_t bytes = gradients(&trace);
    g_assert_true(traffic_count(&trace, &t));
    g_assert_cmpint(t.algo, ==, algo);
    g_assert_cmpuint(t.gradient_bytes, ==, bytes);
    uint64_t expected = traffic_busiest_bytes(algo, ranks, bytes);
    /* Of each bucket a rank sends the ring's chunks twice but for two, which may each be an element short. */
    uint64_t slack = algo == ALLREDUCE_RING ? 2 * trace.t.n_buckets * sizeof(float) : 0;
    g_assert_cmpuint(t.busiest_bytes, >=, expected);
    g_assert_cmpuint(t.busiest_bytes, <=, expected + slack);
    check_ranks(&t, bytes);
    traffic_release(&t);
    trace_release(&trace);
}

static void test_closed_forms(void)
{
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (uint32_t ranks = 2; ranks <= RANKS_MOST; ranks++) {
            check_closed_form(algo, ranks, false);
            check_closed_form(algo, ranks, true); /* broadcasts do not count */
        }
}

static void test_formulas(void)
{
    const uint64_t b = 1000;
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_RING, 4, b), ==, 1500);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_RING, 3, b), ==, 1333);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_TREE, 8, b), ==, 3000);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_TREE, 9, b), ==, 4000);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_REDUCE_BROADCAST, 8, b), ==, 7000);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_ALL_TO_ALL, 8, b), ==, 7000);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_RING, 2, UINT64_MAX), ==, UINT64_MAX);
    g_assert_cmpuint(traffic_busiest_bytes(ALLREDUCE_ALL_TO_ALL, 9, UINT64_MAX / 2), ==, UINT64_MAX);
    for (uint8_t algo = 0; algo < ALLREDUCES; algo++)
        g_assert_cmpuint(traffic_busiest_bytes(algo, 1, b), ==, 0);
}

/* One pair of members and a bucket of 104.2 MiB. */
static void small_trace(struct trace *trace)
{
    static const struct lane lanes[] = {{"comm", 0, 0, OP_NONE, LANE_COMM},
                                        {"comm", 1, 1, OP_NONE, LANE_COMM}};
    trace_init(trace);
    trace->t.n_ranks = trace->t.n_lanes = 2;
    trace->t.lanes = g_memdup2(lanes, sizeof lanes);
    trace->t.n_buckets = 1;
    trace->t.buckets = g_new0(struct bucket_row, 1);
    trace->t.buckets[0].bytes = 104 << 20 | 1 << 18;
    trace->n_steps = 1;
    for (uint32_t i = 0; i < 4; i++) {
        struct trace_op op = {.lane = i % 2, .cost = OP_NONE, .start_ns = i, .end_ns = i + 1};
        op.tag = (struct op_tag){.kind = i < 2 ? OP_EXCHANGE_ADD : OP_EXCHANGE,
                                 .algo = ALLREDUCE_RING,
                                 .hop = (uint16_t)(i / 2),
                                 .gang = i / 2,
                                 .bytes = 52 << 20 | 1 << 17};
        trace_add_op(trace, &op);
    }
    trace_finish(trace);
}

static void test_print(void)
{
    struct trace trace;
    struct traffic t;
    g_autoptr(GString) out = g_string_new(NULL);
    small_trace(&trace);
    traffic_print(&trace, out);
    g_assert_cmpstr(
        out->str, ==,
        "ring: the busiest link carries 104.2 MiB a step, 2(n−1)/n of the gradients; with 8 ranks "
        "182.4 MiB, with 64 205.2\n");
    g_string_truncate(out, 0);
    g_assert_true(traffic_count(&trace, &t));
    traffic_json(&t, out);
    g_assert_cmpstr(
        out->str, ==,
        "{\"algo\": \"ring\", \"gradient_bytes\": 109314048, \"busiest_rank\": 0, \"busiest_bytes\": "
        "109314048, \"sent_bytes\": [109314048, 109314048], \"received_bytes\": [109314048, "
        "109314048], \"growth\": [{\"ranks\": 8, \"busiest_bytes\": 191299584}, {\"ranks\": 64, "
        "\"busiest_bytes\": 215212032}]}");
    traffic_release(&t);
    trace_release(&trace);
}

static void test_nothing(void)
{
    struct trace trace;
    struct traffic t;
    g_autoptr(GString) out = g_string_new(NULL);
    simulate(ALLREDUCE_RING, 1, false, &trace);
    g_assert_false(traffic_count(&trace, &t));
    traffic_print(&trace, out);
    trace_release(&trace);
    simulate(ALLREDUCE_WHOLE, 4, false, &trace);
    traffic_print(&trace, out);
    trace_release(&trace);
    g_assert_cmpstr(out->str, ==, "");
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/traffic/closed-forms", test_closed_forms);
    g_test_add_func("/traffic/formulas", test_formulas);
    g_test_add_func("/traffic/print", test_print);
    g_test_add_func("/traffic/nothing", test_nothing);
    return g_test_run();
}
