#include "sim/sim.h"

#include "base/huge.h"
#include "profile/trace.h"

struct timeline {
    struct cost *cost;          /* by plan cost */
    int64_t *start_ns, *end_ns; /* by op; start may be NULL */
    int64_t step_ns;
};

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

static bool too_long(const struct run *run, const char *upto, GError **error)
{
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG,
                "cost model %s: up to %s the ops take more than 292 years; check the costs", run->costs->name,
                upto);
    return false;
}

/* Refuses what would not fit int64_t if all ops ran one after another. */
static bool check_sum(const struct run *run, const struct cost *cost, GError **error)
{
    const struct plan *plan = run->plan;
    int64_t total_ns = 0, most_ns = 0;
    for (uint32_t i = 0; i < plan->n_costs; i++)
        most_ns = MAX(most_ns, cost[i].alone_ns);
    if (most_ns <= INT64_MAX / MAX(plan->n_ops, 1))
        return true;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (__builtin_add_overflow(total_ns, cost[plan->ops[i].cost].alone_ns, &total_ns)) {
            g_autofree char *text = plan_op_text(plan, i);
            return too_long(run, text, error);
        }
    return true;
}

/* What each plan cost takes. */
static bool price(const struct run *run, struct cost *cost, GError **error)
{
    const struct plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->n_costs; i++)
        if (!run->costs->price(run->costs, &plan->costs[i], &cost[i], error)) {
            g_prefix_error(error, "cost model %s: ", run->costs->name);
            return false;
        }
    return check_sum(run, cost, error);
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

static void fill_ops(const struct plan *plan, const struct timeline *line, struct trace *trace)
{
    trace_reserve(trace, plan->n_ops);
    for (uint32_t at = 0; at < plan->n_ops; at++) {
        uint32_t i = plan->order[at];
        const struct op *op = &plan->ops[i];
        struct trace_op row = {op->tag,
                               op->lane,
                               op->cost,
                               ready(plan, i, line->end_ns),
                               line->start_ns[i],
                               line->end_ns[i],
                               line->cost[op->cost].work_ns};
        row.tag.step = 0;
        trace_add_op(trace, &row);
    }
}

static int64_t sweep(const struct plan *plan, const struct timeline *line)
{
    g_autofree int64_t *cost_ns = g_new(int64_t, plan->n_costs);
    for (uint32_t i = 0; i < plan->n_costs; i++)
        cost_ns[i] = line->cost[i].alone_ns;
    return sweep_once(plan, cost_ns, line->start_ns, line->end_ns);
}

static bool launches(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].cls == LANE_HOST)
            return true;
    return false;
}

/* "2 ranks share each device", "2 cores shared by all threads" */
static void label_sharing(const struct run *run, struct trace *trace)
{
    const struct sharing *s = run->sharing;
    const struct tables *t = &run->plan->t;
    g_autofree char *interference = sharing_text(s);
    if (*interference)
        trace_label(trace, "interference", "%s", interference);
    uint32_t devices = 0;
    for (uint32_t i = 0; i < t->n_lanes; i++)
        devices = MAX(devices, t->lanes[i].device + 1);
    if (s->cluster && devices > 0 && devices < t->n_ranks)
        trace_label(trace, "sharing",
                    t->n_ranks % devices ? "up to %u ranks share a device" : "%u ranks share each device",
                    (t->n_ranks + devices - 1) / devices);
    if (s->cores > 0)
        trace_label(trace, "sharing", "%.0f core%s shared by all threads", s->cores,
                    s->cores == 1 ? "" : "s");
}

static void fill(const struct run *run, const struct timeline *line, struct trace *trace)
{
    const struct plan *plan = run->plan;
    trace_adopt(trace, &plan->t, plan->n_costs, plan->costs);
    trace->simulated = true;
    trace_label(trace, "engine", "%s", sim_engine.name);
    trace_label(trace, "cost", "%s", run->costs->name);
    if (run->sharing)
        label_sharing(run, trace);
    if (launches(plan))
        trace_label(trace, "launches", "one thread at a time launches, for all ranks");
    fill_memory(plan, trace);
    trace->cancelled = run->cancel && *run->cancel;
    if (!trace->cancelled) {
        fill_ops(plan, line, trace);
        trace->n_steps = 1;
        if (run->progress)
            run->progress(run->user, 1, 1);
    }
    trace_finish(trace);
}

static bool check(const struct run *run, GError **error)
{
    g_assert(run->plan->sealed);
    const struct sharing *s = run->sharing;
    if (!run->costs) {
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "the simulator has no cost model; give it one");
        return false;
    }
    if (s && s->interference == INTERFERENCE_SM && (!s->cluster || s->sms >= s->cluster->sms)) {
        g_set_error(
            error, PLAN_ERROR, PLAN_ERROR_INPUT,
            "interference sm:%u needs a cluster whose devices have more multiprocessors (sms) than that; "
            "%s has %u: take factor:X or another cluster",
            s->sms, s->cluster ? s->cluster->name : "none", s->cluster ? s->cluster->sms : 0);
        return false;
    }
    return true;
}

static void timeline_release(struct timeline *line)
{
    g_free(line->cost);
    g_free(line->start_ns);
    g_free(line->end_ns);
}

/* On failure nothing is left in it. */
static bool timeline_make(struct timeline *line, const struct run *run, bool starts, GError **error)
{
    const struct plan *plan = run->plan;
    if (!check(run, error))
        return false;
    const bool flows = run->sharing && flow_needed(plan, run->sharing);
    *line = (struct timeline){.cost = g_new(struct cost, plan->n_costs),
                              .start_ns = starts || flows ? huge_new(int64_t, plan->n_ops) : NULL,
                              .end_ns = huge_new(int64_t, plan->n_ops)};
    bool ok = price(run, line->cost, error);
    if (ok) {
        line->step_ns = flows ? flow_time(plan, line->cost, run->sharing, line->start_ns, line->end_ns)
                              : sweep(plan, line);
        ok = line->step_ns < INT64_MAX || too_long(run, "the last", error);
    }
    if (!ok)
        timeline_release(line);
    return ok;
}

bool sim_step_ns(const struct run *run, int64_t *step_ns, GError **error)
{
    struct timeline line;
    if (!timeline_make(&line, run, false, error))
        return false;
    *step_ns = line.step_ns;
    timeline_release(&line);
    return true;
}

static bool sim_run(const struct run *run, struct trace *trace, GError **error)
{
    struct timeline line;
    if (!timeline_make(&line, run, true, error))
        return false;
    fill(run, &line, trace);
    timeline_release(&line);
    return true;
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
