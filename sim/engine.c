#include "sim/sim.h"

#include "profile/trace.h"

static bool sim_probe(GError **error)
{
    (void)error;
    return true;
}

static uint64_t sim_extra_bytes(const struct plan *plan, const struct model *model)
{
    (void)model;
    uint64_t an_op = sizeof(struct trace_op) + sizeof(struct trace_span) + 8 * sizeof(int64_t);
    return plan->n_ops * an_op + plan->n_deps * sizeof(int64_t);
}

/* What each plan cost takes.  Refuses what would not fit int64_t if all ops ran one after another. */
static bool price(const struct plan *plan, const struct cost_model *costs, int64_t *cost_ns, GError **error)
{
    for (uint32_t i = 0; i < plan->n_costs; i++) {
        struct cost cost;
        if (!costs->price(costs, &plan->costs[i], &cost, error)) {
            g_prefix_error(error, "cost model %s: ", costs->name);
            return false;
        }
        cost_ns[i] = cost.alone_ns;
    }
    int64_t total_ns = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (__builtin_add_overflow(total_ns, cost_ns[plan->ops[i].cost], &total_ns)) {
            char *text = plan_op_text(plan, i);
            g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG,
                        "cost model %s: up to %s the ops take more than 292 years; check the costs",
                        costs->name, text);
            g_free(text);
            return false;
        }
    return true;
}

static void fill_memory(const struct plan *plan, struct trace *trace)
{
    uint64_t *bytes = g_new(uint64_t, (size_t)plan->t.n_ranks * VALUE_CLASSES);
    plan_memory(plan, bytes, NULL);
    trace_memory(trace, VALUE_CLASSES, value_class_name, bytes);
}

static int64_t ready(const struct plan *plan, uint32_t op, const int64_t *end_ns)
{
    int64_t ready_ns = 0;
    for (uint32_t d = plan->ops[op].first_dep; d < plan->ops[op + 1].first_dep; d++)
        ready_ns = MAX(ready_ns, end_ns[plan->deps[d]]);
    return ready_ns;
}

static void fill_ops(const struct plan *plan, const int64_t *start_ns, const int64_t *end_ns,
                     struct trace *trace)
{
    trace_reserve(trace, plan->n_ops);
    for (uint32_t at = 0; at < plan->n_ops; at++) {
        uint32_t i = plan->order[at];
        const struct op *op = &plan->ops[i];
        struct trace_op row = {op->tag, op->lane, op->cost, ready(plan, i, end_ns), start_ns[i], end_ns[i], -1};
        row.tag.step = 0;
        trace_add_op(trace, &row);
    }
}

static void simulate(const struct plan *plan, const int64_t *cost_ns, struct trace *trace)
{
    int64_t *start_ns = g_new(int64_t, plan->n_ops), *end_ns = g_new(int64_t, plan->n_ops);
    struct sweep *sweep = sweep_new(plan);
    sweep_time(sweep, cost_ns, start_ns, end_ns);
    sweep_free(sweep);
    fill_ops(plan, start_ns, end_ns, trace);
    trace->n_steps = 1;
    g_free(start_ns);
    g_free(end_ns);
}

static bool sim_run(const struct run *run, struct trace *trace, GError **error)
{
    const struct plan *plan = run->plan;
    g_assert(plan->sealed);
    if (!run->costs) {
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "the simulator has no cost model; give it one");
        return false;
    }
    int64_t *cost_ns = g_new(int64_t, plan->n_costs);
    bool priced = price(plan, run->costs, cost_ns, error);
    if (priced) {
        trace_adopt(trace, &plan->t, plan->n_costs, plan->costs);
        trace->simulated = true;
        trace_label(trace, "engine", "%s", sim_engine.name);
        trace_label(trace, "cost", "%s", run->costs->name);
        fill_memory(plan, trace);
        trace->cancelled = run->cancel && *run->cancel;
        if (!trace->cancelled) {
            simulate(plan, cost_ns, trace);
            if (run->progress)
                run->progress(run->user, 1, 1);
        }
        trace_finish(trace);
    }
    g_free(cost_ns);
    return priced;
}

const struct engine sim_engine = {
    .name = "sim",
    .summary = "predicts the timeline from costs",
    .real = false,
    .probe = sim_probe,
    .algos = (1u << ALLREDUCES) - 1,
    .extra_bytes = sim_extra_bytes,
    .run = sim_run,
};
