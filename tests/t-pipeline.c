/* Pipelines as plans: sealed and whole on every legal size, and timed by the simulator as published. */
#include <math.h>
#include <string.h>

#include "plan/schedule.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

enum { RANKS = 8, CHUNKS = 32, PER_RANK = 4 };

/* A layer a stage. */
static struct model *model_of(uint32_t stages)
{
    GError *error = NULL;
    const struct model_override o = {.layers = MAX(stages, 3) - 2, .d = 8, .vocab = 20, .seq = 2};
    struct model *model = model_load("mlp", &o, &error);
    g_assert_no_error(error);
    return model;
}

static struct shape shape_of(const struct model *model, const struct schedule *s, uint32_t ranks,
                             uint32_t per_rank, uint32_t chunks)
{
    return (struct shape){.model = model,
                          .ranks = ranks,
                          .batch = chunks,
                          .schedule = s,
                          .stages_per_rank = per_rank,
                          .chunks = chunks};
}

/* Each layer has each micro-batch once forward and once backward, whole or in two parts. */
static void check_whole(const struct plan *plan, uint32_t chunks)
{
    const uint32_t layers = plan->t.n_layers;
    g_autofree uint8_t *seen = g_new0(uint8_t, (gsize)OP_KINDS * layers * chunks);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op_tag *tag = &plan->ops[i].tag;
        if (tag->layer0 == LAYER_NONE || tag->kind == OP_OPTIM)
            continue;
        g_assert_cmpuint(plan->t.stages[tag->stage].rank, ==, plan->t.lanes[plan->ops[i].lane].rank);
        g_assert_cmpuint(++seen[((gsize)tag->kind * layers + tag->layer0) * chunks + tag->micro], ==, 1);
    }
    for (uint32_t layer = 0; layer < layers; layer++)
        for (uint32_t m = 0; m < chunks; m++) {
#define SEEN(kind) seen[((gsize)(kind)*layers + layer) * chunks + m]
            g_assert_cmpuint(SEEN(OP_FWD), ==, 1);
            g_assert_cmpuint(SEEN(OP_BWD) + SEEN(OP_BWD_WEIGHT), ==, 1);
            g_assert_cmpuint(SEEN(OP_BWD_INPUT), ==, layer ? SEEN(OP_BWD_WEIGHT) : 0);
        }
}

/* Slow: all numbers of micro-batches; else some. */
static void test_every_size(void)
{
    uint32_t plans = 0;
    for (unsigned i = 0; schedules[i]; i++)
        for (uint32_t ranks = 1; ranks <= RANKS; ranks++)
            for (uint32_t per_rank = 1; per_rank <= PER_RANK; per_rank++) {
                struct model *model = model_of(ranks * per_rank);
                for (uint32_t chunks = 1; chunks <= CHUNKS; chunks += g_test_slow() || chunks < 4 ? 1 : 7) {
                    const struct shape shape = shape_of(model, schedules[i], ranks, per_rank, chunks);
                    const struct pipe pipe = {ranks, per_rank, chunks};
                    struct plan plan;
                    GError *error = NULL;
                    if (!schedule_check(schedules[i], &pipe, NULL))
                        continue;
                    plan_make(&mode_pipeline, &shape, &plan, &error);
                    g_assert_no_error(error);
                    check_whole(&plan, chunks);
                    plan_release(&plan);
                    plans++;
                }
                model_free(model);
            }
    g_assert_cmpuint(plans, >, 500);
}

/* The last micro-batch may be smaller: values and costs are as large as its samples. */
static void test_smaller_last(void)
{
    enum { CHUNKS_HERE = 12 };
    for (unsigned i = 0; schedules[i]; i++) {
        const uint32_t per_rank = MAX(schedules[i]->stages, 1);
        struct model *model = model_of(3 * per_rank);
        struct shape shape = shape_of(model, schedules[i], 3, per_rank, CHUNKS_HERE);
        struct plan plan;
        GError *error = NULL;
        shape.batch = 3 * CHUNKS_HERE - 1;
        plan_make(&mode_pipeline, &shape, &plan, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(plan.micro_rows[CHUNKS_HERE - 1], ==, 2);
        plan_check_run(&plan, model, &error);
        g_assert_no_error(error);
        uint64_t bytes[] = {0, 0};
        for (uint32_t v = 0; v < plan.n_values; v++)
            if (plan.values[v].cls == VALUE_ACT && plan.values[v].micro + 2 >= CHUNKS_HERE)
                bytes[plan.values[v].micro + 1 == CHUNKS_HERE] += plan.values[v].bytes;
        g_assert_cmpuint(bytes[0], >, 0);
        g_assert_cmpuint(2 * bytes[0], ==, 3 * bytes[1]);
        plan_release(&plan);
        model_free(model);
    }
}

static double makespan(const char *name, uint32_t ranks, uint32_t per_rank, uint32_t chunks, uint32_t rounds,
                       const char *costs)
{
    GError *error = NULL;
    struct model *model =
        model_of(ranks * per_rank + 2); /* the first layer alone would have no input gradient */
    struct shape shape = shape_of(model, schedule_find(name), ranks, per_rank, chunks);
    struct plan plan;
    shape.rounds = rounds;
    plan_make(&mode_pipeline, &shape, &plan, &error);
    g_assert_no_error(error);
    struct cost_model *unit = cost_unit_new(costs, &error);
    g_assert_no_error(error);
    const struct run run = {.plan = &plan, .model = model, .costs = unit, .steps = 1};
    int64_t ns;
    g_assert_true(sim_step_ns(&run, &ns, &error));
    cost_model_free(unit);
    plan_release(&plan);
    model_free(model);
    return ns / 1e6;
}

/* Makespans of GPipe, PipeDream-flush, Megatron-LM's interleaving, zero bubble and DualPipeV by their papers'
 * formulas and by other simulators, F = B = W = 1. */
static void test_makespans(void)
{
    static const struct {
        const char *name;
        uint32_t ranks, per_rank, chunks, rounds;
        const char *costs;
        double units;
    } known[] = {
        {"naive", 4, 1, 8, 1, "", 96},          {"gpipe", 4, 1, 8, 1, "", 33},
        {"gpipe-torch", 4, 1, 8, 1, "", 33},    {"1f1b", 4, 1, 4, 1, "", 21},
        {"1f1b", 4, 1, 8, 1, "", 33},           {"1f1b", 8, 1, 16, 1, "", 69},
        {"interleaved", 4, 2, 8, 1, "", 28.5},  {"interleaved", 4, 4, 8, 1, "", 26.25},
        {"interleaved", 8, 2, 16, 1, "", 58.5}, {"looped-bfs", 4, 2, 8, 1, "", 28.5},
        {"zb1p", 4, 1, 8, 1, "", 27},           {"zb1p", 8, 1, 16, 1, "", 55},
        {"zb1p", 4, 2, 8, 1, "", 25.5},         {"zb2p", 4, 1, 8, 1, "", 27},
        {"zbv", 4, 2, 8, 1, "", 25.5},          {"zbv", 8, 2, 16, 1, "", 51.5},
        {"dualpipev", 4, 2, 8, 1, "", 27},      {"dualpipev", 4, 2, 8, 1, "FB=2", 22},
        {"1f1b", 4, 1, 8, 2, "", 66},           {"zb1p", 4, 1, 8, 2, "", 54},
        {"zb2p", 4, 1, 8, 2, "", 51},           {"1f1b", 4, 1, 8, 1, "C=0.25", 37},
        {"1f1b", 4, 1, 8, 1, "C=1", 49},        {"gpipe", 4, 1, 8, 1, "C=0.25", 34.5},
        {"gpipe", 4, 1, 8, 1, "C=1", 39},       {"pipedream", 4, 1, 8, 1, "", 33},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        const double units = makespan(known[i].name, known[i].ranks, known[i].per_rank, known[i].chunks,
                                      known[i].rounds, known[i].costs);
        g_test_message("%s %u x %u, V %u, %u rounds, %s: %g", known[i].name, known[i].ranks, known[i].chunks,
                       known[i].per_rank, known[i].rounds, known[i].costs, units);
        g_assert_cmpfloat(fabs(units - known[i].units), <, 1e-4);
    }
}

/* Sends and receives that share a lane wait for each other: 1F1B's neighbours send at once.  GPipe's do not.
 */
static void test_one_lane(void)
{
    struct model *model = model_of(4);
    struct shape shape = shape_of(model, schedule_find("1f1b"), 4, 1, 8);
    struct plan plan;
    g_autoptr(GError) error = NULL;
    shape.one_comm_lane = true;
    g_assert_false(plan_make(&mode_pipeline, &shape, &plan, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "deadlock"));
    model_free(model);
}

/* What is asked for and cannot be: the rule and a legal value. */
static void test_refused(void)
{
    static const struct {
        const char *name;
        uint32_t ranks, per_rank, chunks, batch, layers;
        const char *says;
    } known[] = {
        {"1f1b", 4, 1, 3, 3, 4, "--chunks 4"},        {"zbv", 4, 3, 8, 8, 12, "--stages-per-rank 2"},
        {"interleaved", 4, 2, 9, 9, 8, "--chunks 8"}, {"naive", 9, 1, 8, 8, 4, "at most 4"},
        {"1f1b", 2, 1, 8, 4, 4, "--chunks 8"},        {"pipedream", 2, 2, 4, 4, 4, "--stages-per-rank 1"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        struct model *model = model_of(known[i].layers);
        struct shape shape =
            shape_of(model, schedule_find(known[i].name), known[i].ranks, known[i].per_rank, known[i].chunks);
        struct plan plan;
        g_autoptr(GError) error = NULL;
        shape.batch = known[i].batch;
        g_assert_false(plan_make(&mode_pipeline, &shape, &plan, &error));
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
        if (!strstr(error->message, known[i].says))
            g_error("%s: \"%s\" does not say \"%s\"", known[i].name, error->message, known[i].says);
        model_free(model);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pipeline/every-size", test_every_size);
    g_test_add_func("/pipeline/smaller-last", test_smaller_last);
    g_test_add_func("/pipeline/makespans", test_makespans);
    g_test_add_func("/pipeline/one-lane", test_one_lane);
    g_test_add_func("/pipeline/refused", test_refused);
    return g_test_run();
}
