/* A plan: what can be read and proved is simulated, is written as it was read and, if its kernels may be
 * given it, is run. */
#include "exec/exec.h"
#include "profile/analyze.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "plan";

/* A run is threads and memory: small plans only. */
enum { RUN_LANES_MAX = 12, RUN_OPS_MAX = 400, RUN_BYTES_MAX = 1 << 20 };

static void trace_one(const struct engine *engine, const struct run *run)
{
    GError *error = NULL;
    struct trace trace;
    struct analysis analysis;
    trace_init(&trace);
    if (fuzz_settled(engine->run(run, &trace, &error), &error) &&
        fuzz_settled(analyze(&trace, &analysis, &error), &error))
        analysis_release(&analysis);
    trace_release(&trace);
}

static void simulate(const struct plan *plan)
{
    struct cost_model *costs = cost_unit_new("F=1,B=1,W=1,C=0.1", NULL);
    const struct run run = {.plan = plan, .costs = costs, .steps = 1};
    trace_one(&sim_engine, &run);
    cost_model_free(costs);
}

static void execute(struct plan *plan, const struct model *model)
{
    GError *error = NULL;
    if (!model || !model->executable || plan->t.n_lanes > RUN_LANES_MAX || plan->n_ops > RUN_OPS_MAX)
        return;
    if (!fuzz_settled(plan_check_run(plan, model, &error), &error))
        return;
    plan_place(plan);
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        if (plan->arena_bytes[i] > RUN_BYTES_MAX)
            return;
    const struct run run = {
        .plan = plan, .model = model, .steps = 2, .seed = 1, .lr = 0.1, .momentum = 0.9, .clip_norm = 1};
    trace_one(&cpu_engine, &run);
}

/* Reading what was written gives the same bytes. */
static void write_again(const struct plan *plan)
{
    struct plan again;
    struct model *model;
    GError *error = NULL;
    g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
    plan_write_json(plan, one);
    plan_read_json(one->str, one->len, "again.json", &again, &model, &error);
    g_assert_no_error(error);
    plan_write_json(&again, other);
    g_assert_cmpstr(one->str, ==, other->str);
    plan_release(&again);
    model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    struct plan plan;
    struct model *model;
    if (!fuzz_settled(plan_read_json((const char *)data, n, "fuzz.json", &plan, &model, &error), &error))
        return 0;
    write_again(&plan);
    if (fuzz_settled(plan_seal(&plan, &error), &error)) {
        g_autoptr(GString) table = g_string_new(NULL);
        plan_write_table(&plan, table);
        simulate(&plan);
        execute(&plan, model);
    }
    plan_release(&plan);
    model_free(model);
    return 0;
}
