/* The simulator and its cost models against closed forms, on plans made by hand. */
#include <math.h>
#include <string.h>

#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

static const struct cluster cluster = {.name = (char *)"test",
                                       .devices = 4,
                                       .f32_tflops = 10,
                                       .f64_tflops = 2,
                                       .memory_gbs = 100,
                                       .launch_us = 3,
                                       .efficiency = 0.5,
                                       .link_gbps = 10,
                                       .link_us = 20};

static int64_t price(const struct cost_model *model, struct cost_key key)
{
    GError *error = NULL;
    struct cost cost = {-1, -1};
    model->price(model, &key, &cost, &error);
    g_assert_no_error(error);
    return cost.alone_ns;
}

static void assert_says(GError **error, const char *says)
{
    g_assert_nonnull(*error);
    if (!strstr((*error)->message, says))
        g_error("\"%s\" lacks \"%s\"", (*error)->message, says);
    g_clear_error(error);
}

/* --- plans by hand */

static void begin_plan(struct plan *plan, uint32_t ranks)
{
    plan_init(plan);
    plan->t.n_ranks = ranks;
    plan->t.mode = tables_intern(&plan->t, "hand");
    plan->t.model = tables_intern(&plan->t, "none");
    plan->rank_share = g_new0(double, ranks);
    plan->rank_rows = g_new0(uint32_t, ranks);
    plan->n_micro = 1;
    plan->micro_rows = g_new0(uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++) {
        plan_add_lane(plan, &(struct lane){"compute", r, r, OP_NONE, LANE_COMPUTE});
        plan_add_lane(plan, &(struct lane){"comm", r, r, OP_NONE, LANE_COMM});
    }
}

static uint32_t add_op(struct plan *plan, uint32_t rank, struct cost_key key, uint32_t gang)
{
    struct op_tag tag = {.kind = key.kind,
                         .algo = key.algo,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = key.bytes};
    key.members = MAX(key.members, 1);
    return plan_add_op(plan, 2 * rank + (gang != OP_NONE), &tag, plan_add_cost(plan, &key));
}

static void seal(struct plan *plan)
{
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
}

static void simulate(const struct plan *plan, const struct cost_model *costs, struct trace *trace)
{
    GError *error = NULL;
    struct run run = {.plan = plan, .costs = costs};
    trace_init(trace);
    sim_engine.run(&run, trace, &error);
    g_assert_no_error(error);
}

/* --- the ring */

static void ring_plan(struct plan *plan, uint32_t n, uint64_t chunk_bytes)
{
    uint32_t before[32];
    begin_plan(plan, n);
    for (uint32_t hop = 0; hop < 2 * (n - 1); hop++) {
        uint32_t gang = plan_add_gang(plan, 1);
        for (uint32_t r = 0; r < n; r++) {
            struct cost_key key = {.bytes = chunk_bytes,
                                   .members = (uint16_t)n,
                                   .algo = ALLREDUCE_RING,
                                   .kind = hop < n - 1 ? OP_EXCHANGE_ADD : OP_EXCHANGE};
            uint32_t op = add_op(plan, r, key, gang);
            if (hop)
                plan_dep(plan, before[r]);
            before[r] = op;
        }
    }
    seal(plan);
}

/* Of 10 Gb/s and 20 us: 2(n-1)(20 us + bytes/n 8/10 ns), each hop rounded to a whole ns. */
static void check_ring(const struct cost_model *model, uint32_t n, uint64_t chunk_bytes)
{
    struct plan plan;
    struct trace trace;
    ring_plan(&plan, n, chunk_bytes);
    simulate(&plan, model, &trace);
    int64_t hops = 2 * (n - 1), hop_ns = 20000 + (int64_t)((chunk_bytes * 8 + 5) / 10);
    int64_t end_ns = 0;
    for (size_t i = 0; i < trace.n_ops; i++)
        end_ns = MAX(end_ns, trace.ops[i].end_ns);
    g_assert_cmpint(end_ns, ==, hops * hop_ns);
    struct cost_key whole = {.bytes = n * chunk_bytes, .members = (uint16_t)n, .kind = OP_ALLREDUCE};
    g_assert_cmpint(ABS(price(model, whole) - end_ns), <=, hops / 2);
    if (chunk_bytes % 5 == 0)
        g_assert_cmpint(price(model, whole), ==, end_ns);
    trace_release(&trace);
    plan_release(&plan);
}

static void test_ring(void)
{
    static const uint64_t chunks[] = {0, 1, 3, 5, 4096, 1000000, (25 << 20) / 4, UINT64_C(7) << 30};
    struct cost_model *model = cost_analytic_new(&cluster, NULL);
    for (uint32_t n = 1; n <= 9; n++)
        for (size_t i = 0; i < G_N_ELEMENTS(chunks); i++)
            check_ring(model, n, chunks[i]);
    cost_model_free(model);
}

/* --- analytic costs */

static void test_roofline(void)
{
    struct cost_model *model = cost_analytic_new(&cluster, NULL);
    struct cost_key key = {
        .shape = "x f32", .flops = 5000000000, .bytes = 1000, .kernels = 2, .members = 1, .kind = OP_FWD};
    /* 5 GFLOP at half of 10 TFLOP/s is 1 ms; of 2 TFLOP/s 5 ms; 1 GB at 100 GB/s is 10 ms; a launch is 3 us.
     */
    g_assert_cmpint(price(model, key), ==, 1006000);
    key.shape = "x f64";
    g_assert_cmpint(price(model, key), ==, 5006000);
    /* TF32 is for products, on what has it: 5 GFLOP at half of 50 TFLOP/s. */
    struct cluster rounding = cluster;
    rounding.tf32_tflops = 50;
    struct cost_model *rounded = cost_analytic_new(&rounding, NULL);
    key.shape = "x tf32";
    g_assert_cmpint(price(rounded, key), ==, 1006000);
    key.gemms[0] = (struct gemm){1000, 1000, 2500, 1};
    g_assert_cmpint(price(rounded, key), ==, 206000);
    g_assert_cmpint(price(model, key), ==, 1006000);
    key.shape = "x f32";
    g_assert_cmpint(price(rounded, key), ==, 1006000);
    cost_model_free(rounded);
    key.gemms[0] = (struct gemm){0};
    key.shape = "x f64";
    key.bytes = 1000000000;
    g_assert_cmpint(price(model, key), ==, 10006000);
    key.kernels = 0;
    g_assert_cmpint(price(model, key), ==, 10000000);
    key = (struct cost_key){.kind = OP_LOSS, .members = 1};
    g_assert_cmpint(price(model, key), ==, 0);
    g_assert_nonnull(strstr(model->name, "analytic"));
    g_assert_nonnull(strstr(model->name, "test"));
    cost_model_free(model);
    GError *error = NULL;
    struct cluster broken = cluster;
    broken.memory_gbs = 0;
    g_assert_null(cost_analytic_new(&broken, &error));
    assert_says(&error, "memory_gbs");
}

/* --- unit costs */

static struct cost_model *unit_costs(const char *spec)
{
    GError *error = NULL;
    struct cost_model *model = cost_unit_new(spec, &error);
    g_assert_no_error(error);
    return model;
}

static void check_units(const char *spec, const char *name, int64_t f, int64_t bw, int64_t c)
{
    struct cost_model *model = unit_costs(spec);
    g_assert_cmpstr(model->name, ==, name);
    struct cost_key key = {.share = 1, .members = 3, .kind = OP_FWD};
    g_assert_cmpint(price(model, key), ==, f);
    key.kind = OP_BWD;
    g_assert_cmpint(price(model, key), ==, bw);
    key.kind = OP_EXCHANGE;
    g_assert_cmpint(price(model, key), ==, c);
    key.kind = OP_EXCHANGE_ADD;
    g_assert_cmpint(price(model, key), ==, c);
    key.kind = OP_ALLREDUCE;
    g_assert_cmpint(price(model, key), ==, 4 * c);
    static const uint8_t free_kinds[] = {OP_INPUT, OP_LOSS, OP_PACK, OP_UNPACK, OP_OPTIM};
    for (size_t i = 0; i < G_N_ELEMENTS(free_kinds); i++) {
        key.kind = free_kinds[i];
        g_assert_cmpint(price(model, key), ==, 0);
    }
    cost_model_free(model);
}

static void test_unit(void)
{
    check_units("", "unit:F=1,B=1,W=1,C=0", 1000000, 2000000, 0);
    check_units("F=1,B=1,W=1,C=0", "unit:F=1,B=1,W=1,C=0", 1000000, 2000000, 0);
    check_units("C=.25,F=2.5", "unit:F=2.5,B=1,W=1,C=0.25", 2500000, 2000000, 250000);
    check_units("W=0,B=1e-3,F=0", "unit:F=0,B=0.001,W=0,C=0", 0, 1000, 0);
}

static void test_unit_refusals(void)
{
    static const char *const specs[] = {
        "F",     "F=",   "=1",     "F=-1", "F=nan", "F=inf", "F=1e999",  "F=0x10",  "f=1",
        "X=1",   "F=1,", ",F=1",   "F=1 ", " F=1",  "F =1",  "F= 1",     "F=1;B=2", "F=1,F=1",
        "F=1,5", "F=1e", "F=1..2", "F=+1", "F=--1", "BF=1",  "F=1,,B=1", "F=1B=1",  ","};
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        GError *error = NULL;
        if (cost_unit_new(specs[i], &error))
            g_error("\"%s\" was taken", specs[i]);
        assert_says(&error, "unit:F=1,B=1,W=1,C=0");
    }
}

/* Shares of one rank sum to 1, so its forward is one unit, to half a ns an op. */
static void test_unit_sum(void)
{
    enum { LAYERS = 97 };
    struct plan plan;
    struct trace trace;
    struct cost_model *model = unit_costs("F=1");
    begin_plan(&plan, 1);
    for (int i = 0; i < LAYERS; i++)
        add_op(&plan, 0,
               (struct cost_key){
                   .rows = (uint32_t)i, .share = (i + 1) * 2.0 / (LAYERS * (LAYERS + 1)), .kind = OP_FWD},
               OP_NONE);
    seal(&plan);
    simulate(&plan, model, &trace);
    g_assert_cmpint(ABS(trace.ops[LAYERS - 1].end_ns - 1000000), <=, LAYERS / 2);
    trace_release(&trace);
    plan_release(&plan);
    cost_model_free(model);
}

/* --- what the engine writes */

/* Rank 0 forwards for 1 ms, rank 1 for 2 ms; then they exchange for 0.5 ms; rank 0 goes backward meanwhile.
 */
static void small_plan(struct plan *plan)
{
    struct cost_key exchange = {.bytes = 8, .members = 2, .kind = OP_EXCHANGE};
    begin_plan(plan, 2);
    uint32_t one =
        add_op(plan, 0, (struct cost_key){.shape = "small", .share = 1, .rows = 1, .kind = OP_FWD}, OP_NONE);
    uint32_t two =
        add_op(plan, 1, (struct cost_key){.shape = "large", .share = 2, .rows = 2, .kind = OP_FWD}, OP_NONE);
    uint32_t gang = plan_add_gang(plan, 1);
    add_op(plan, 0, exchange, gang);
    plan_dep(plan, one);
    add_op(plan, 1, exchange, gang);
    plan_dep(plan, two);
    add_op(plan, 0, (struct cost_key){.shape = "small", .share = 1, .rows = 1, .kind = OP_BWD}, OP_NONE);
    uint64_t bytes[] = {100, 20, 3};
    for (uint32_t i = 0; i < G_N_ELEMENTS(bytes); i++)
        plan_add_value(
            plan,
            &(struct value){.bytes = bytes[i], .rank = i / 2, .cls = VALUE_WEIGHT, .flags = VALUE_LIVE_IN});
    seal(plan);
}

static void test_engine(void)
{
    static const struct {
        uint8_t kind;
        uint32_t rank;
        int64_t ready_us, start_us, end_us;
    } truth[] = {{OP_FWD, 0, 0, 0, 1000},
                 {OP_FWD, 1, 0, 0, 2000},
                 {OP_EXCHANGE, 0, 1000, 1000, 2500},
                 {OP_EXCHANGE, 1, 2000, 2000, 2500},
                 {OP_BWD, 0, 0, 1000, 3000}};
    struct plan plan;
    struct trace trace;
    struct cost_model *model = unit_costs("C=0.5");
    small_plan(&plan);
    simulate(&plan, model, &trace);
    g_assert_cmpuint(trace.n_ops, ==, G_N_ELEMENTS(truth));
    g_assert_cmpuint(trace.n_spans, ==, G_N_ELEMENTS(truth));
    for (uint32_t at = 0; at < trace.n_ops; at++) {
        const struct trace_op *op = &trace.ops[at];
        uint32_t i = plan.order[at];
        g_assert_cmpuint(op->tag.kind, ==, truth[i].kind);
        g_assert_cmpuint(trace.t.lanes[op->lane].rank, ==, truth[i].rank);
        g_assert_cmpint(op->ready_ns, ==, truth[i].ready_us * 1000);
        g_assert_cmpint(op->start_ns, ==, truth[i].start_us * 1000);
        g_assert_cmpint(op->end_ns, ==, truth[i].end_us * 1000);
        g_assert_cmpstr(trace.costs[op->cost].shape, ==, plan.costs[plan.ops[i].cost].shape);
    }
    g_assert_true(trace.simulated);
    g_assert_false(trace.cancelled);
    g_assert_cmpuint(trace.n_steps, ==, 1);
    g_assert_cmpstr(trace_label_value(&trace, "engine"), ==, "sim");
    g_assert_cmpstr(trace_label_value(&trace, "cost"), ==, "unit:F=1,B=1,W=1,C=0.5");
    g_assert_cmpuint(trace.n_memory, ==, VALUE_CLASSES);
    g_assert_cmpstr(trace.memory_names[VALUE_WEIGHT], ==, value_class_name(VALUE_WEIGHT));
    g_assert_cmpuint(trace.memory_bytes[VALUE_WEIGHT], ==, 120);
    g_assert_cmpuint(trace.memory_bytes[VALUE_CLASSES + VALUE_WEIGHT], ==, 3);
    g_assert_null(trace.loss);
    trace_release(&trace);
    plan_release(&plan);
    cost_model_free(model);
}

static void assert_run_refused(const struct plan *plan, const struct cost_model *costs, const char *says)
{
    GError *error = NULL;
    struct trace trace;
    struct run run = {.plan = plan, .costs = costs};
    trace_init(&trace);
    g_assert_false(sim_engine.run(&run, &trace, &error));
    assert_says(&error, says);
    trace_release(&trace);
}

static void test_engine_refusals(void)
{
    struct plan plan;
    small_plan(&plan);
    assert_run_refused(&plan, NULL, "cost model");
    struct cost_table *table = cost_table_new();
    for (uint32_t i = 0; i < plan.n_costs; i++)
        if (plan.costs[i].rows != 2)
            cost_table_add(table, &plan.costs[i], &(struct cost){5, 5});
    assert_run_refused(&plan, cost_table_model(table), "FWD \"large\"");
    cost_table_free(table);
    struct cost_model *huge = unit_costs("F=1e300");
    assert_run_refused(&plan, huge, "292 years");
    cost_model_free(huge);
    /* 4e12 ms fit alone; three times that does not. */
    struct cost_model *large = unit_costs("F=4e12");
    assert_run_refused(&plan, large, "op 1 ");
    cost_model_free(large);
    plan_release(&plan);
}

static void note_progress(void *user, uint32_t done, uint32_t of)
{
    *(uint32_t *)user = done * 10 + of;
}

static void test_cancel(void)
{
    struct plan plan;
    struct trace trace;
    volatile int cancel = 1;
    uint32_t progress = 99;
    struct cost_model *model = unit_costs("");
    struct run run = {.costs = model, .cancel = &cancel, .progress = note_progress, .user = &progress};
    small_plan(&plan);
    run.plan = &plan;
    trace_init(&trace);
    g_assert_true(sim_engine.run(&run, &trace, NULL));
    g_assert_true(trace.cancelled);
    g_assert_cmpuint(trace.n_steps, ==, 0);
    g_assert_cmpuint(trace.n_ops, ==, 0);
    g_assert_cmpuint(progress, ==, 99);
    trace_release(&trace);
    cancel = 0;
    trace_init(&trace);
    g_assert_true(sim_engine.run(&run, &trace, NULL));
    g_assert_false(trace.cancelled);
    g_assert_cmpuint(progress, ==, 11);
    trace_release(&trace);
    plan_release(&plan);
    cost_model_free(model);
}

static void test_empty(void)
{
    struct plan plan;
    struct trace trace;
    struct cost_model *model = unit_costs("");
    begin_plan(&plan, 1);
    seal(&plan);
    simulate(&plan, model, &trace);
    g_assert_cmpuint(trace.n_ops, ==, 0);
    trace_release(&trace);
    plan_release(&plan);
    cost_model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/sim/ring", test_ring);
    g_test_add_func("/sim/roofline", test_roofline);
    g_test_add_func("/sim/unit", test_unit);
    g_test_add_func("/sim/unit/refusals", test_unit_refusals);
    g_test_add_func("/sim/unit/sum", test_unit_sum);
    g_test_add_func("/sim/engine", test_engine);
    g_test_add_func("/sim/engine/refusals", test_engine_refusals);
    g_test_add_func("/sim/engine/cancel", test_cancel);
    g_test_add_func("/sim/engine/empty", test_empty);
    return g_test_run();
}
