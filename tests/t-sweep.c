/* The sweep against a fixpoint: start times raised until nothing changes, knowing nothing of orders or slots.
 */
#include "plan/plan.h"
#include "profile/trace.h"
#include "sim/sim.h"
#include "tests/tap.h"
#include "tests/timing-plan.h"

enum { PLANS = 400 };

struct times {
    int64_t *start_ns, *end_ns, makespan_ns;
};

static int64_t fixpoint_start(const struct plan *plan, uint32_t i, const int64_t *end_ns)
{
    int64_t at = 0;
    for (uint32_t d = plan->ops[i].first_dep; d < plan->ops[i + 1].first_dep; d++)
        at = MAX(at, end_ns[plan->deps[d]]);
    for (uint32_t j = 0; j < i; j++)
        if (plan->ops[j].lane == plan->ops[i].lane)
            at = MAX(at, end_ns[j]);
    return at;
}

static int64_t fixpoint_end(const struct plan *plan, uint32_t i, const int64_t *start_ns,
                            const int64_t *cost_ns)
{
    int64_t at = start_ns[i], takes = cost_ns[plan->ops[i].cost];
    for (uint32_t j = 0; j < plan->n_ops && plan->ops[i].tag.gang != OP_NONE; j++)
        if (plan->ops[j].tag.gang == plan->ops[i].tag.gang) {
            at = MAX(at, start_ns[j]);
            takes = MAX(takes, cost_ns[plan->ops[j].cost]);
        }
    return at + takes;
}

static struct times fixpoint(const struct plan *plan, const int64_t *cost_ns)
{
    struct times t = {g_new0(int64_t, plan->n_ops + 1), g_new0(int64_t, plan->n_ops + 1), 0};
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = plan->n_ops; i-- > 0;) {
            int64_t start = fixpoint_start(plan, i, t.end_ns);
            t.start_ns[i] = start;
            int64_t end = fixpoint_end(plan, i, t.start_ns, cost_ns);
            changed |= end != t.end_ns[i];
            t.end_ns[i] = end;
            t.makespan_ns = MAX(t.makespan_ns, end);
        }
    }
    return t;
}

static void check_times(const struct plan *plan, const struct times *truth, const int64_t *start_ns,
                        const int64_t *end_ns)
{
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        g_assert_cmpint(start_ns[i], ==, truth->start_ns[i]);
        g_assert_cmpint(end_ns[i], ==, truth->end_ns[i]);
    }
}

static void check_plan(const struct plan *plan, GRand *rand)
{
    struct sweep *sweep = sweep_new(plan);
    int64_t *cost_ns = g_new0(int64_t, plan->n_costs + 1);
    int64_t *start_ns = g_new(int64_t, plan->n_ops + 1), *end_ns = g_new(int64_t, plan->n_ops + 1);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < plan->n_costs; i++)
            cost_ns[i] = pick(rand, 4) ? pick(rand, 1000) : 0;
        struct times truth = fixpoint(plan, cost_ns);
        int64_t makespan_ns = sweep_time(sweep, cost_ns, start_ns, end_ns);
        g_assert_cmpint(makespan_ns, ==, truth.makespan_ns);
        g_assert_cmpint(sweep_time(sweep, cost_ns, NULL, NULL), ==, truth.makespan_ns);
        check_times(plan, &truth, start_ns, end_ns);
        g_assert_cmpint(sweep_once(plan, cost_ns, NULL, end_ns), ==, truth.makespan_ns);
        check_times(plan, &truth, start_ns, end_ns);
        g_assert_cmpint(sweep_once(plan, cost_ns, start_ns, end_ns), ==, truth.makespan_ns);
        check_times(plan, &truth, start_ns, end_ns);
        g_free(truth.start_ns);
        g_free(truth.end_ns);
    }
    g_free(start_ns);
    g_free(end_ns);
    g_free(cost_ns);
    sweep_free(sweep);
}

static bool rows_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                       GError **error)
{
    (void)model;
    (void)error;
    out->alone_ns = out->work_ns = key->rows * 37 + key->kind % 3 * 11;
    return true;
}

/* The engine's trace, told from the plan alone: no op before its inputs' ends, lanes in order without
 * overlap, members of a gang ending together. */
static void check_trace(const struct plan *plan)
{
    static const struct cost_model model = {.name = "rows", .price = rows_price};
    struct run run = {.plan = plan, .costs = &model};
    struct trace trace;
    trace_init(&trace);
    g_assert_true(sim_engine.run(&run, &trace, NULL));
    g_assert_cmpuint(trace.n_ops, ==, plan->n_ops);
    int64_t *end_ns = g_new0(int64_t, plan->n_ops + 1);
    int64_t *lane_ns = g_new0(int64_t, plan->t.n_lanes), *gang_ns = g_new0(int64_t, plan->n_gangs + 1);
    for (uint32_t at = 0; at < trace.n_ops; at++) {
        uint32_t i = plan->order[at];
        const struct trace_op *op = &trace.ops[at];
        int64_t ready_ns = 0;
        for (uint32_t d = plan->ops[i].first_dep; d < plan->ops[i + 1].first_dep; d++)
            ready_ns = MAX(ready_ns, end_ns[plan->deps[d]]);
        g_assert_cmpint(op->ready_ns, ==, ready_ns);
        g_assert_cmpint(op->start_ns, ==, MAX(ready_ns, lane_ns[op->lane]));
        end_ns[i] = lane_ns[op->lane] = op->end_ns;
        if (op->tag.gang == OP_NONE)
            continue;
        if (gang_ns[op->tag.gang])
            g_assert_cmpint(op->end_ns, ==, gang_ns[op->tag.gang]);
        gang_ns[op->tag.gang] = op->end_ns;
    }
    for (size_t i = 1; i < trace.n_spans; i++)
        if (trace.spans[i].lane == trace.spans[i - 1].lane)
            g_assert_cmpint(trace.spans[i].start_ns, >=, trace.spans[i - 1].end_ns);
    g_free(end_ns);
    g_free(lane_ns);
    g_free(gang_ns);
    trace_release(&trace);
}

static void test_fixpoint(void)
{
    GRand *rand = g_rand_new_with_seed(2);
    uint32_t ops = 0, gangs = 0;
    for (int i = 0; i < PLANS; i++) {
        struct plan plan;
        random_plan(&plan, rand, 1);
        check_plan(&plan, rand);
        check_trace(&plan);
        ops += plan.n_ops;
        gangs += plan.n_gangs;
        plan_release(&plan);
    }
    g_assert_cmpuint(ops, >, 10 * PLANS);
    g_assert_cmpuint(gangs, >, 2 * PLANS);
    g_rand_free(rand);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/sweep/fixpoint", test_fixpoint);
    return g_test_run();
}
