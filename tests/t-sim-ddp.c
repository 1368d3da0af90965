/* Simulated DDP against what must hold of any schedule: sums, bounds, and orders between bucket sizes. */
#include "plan/mode.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

#define ONE_BUCKET ((uint64_t)1 << 40)

/* A simulated step: what one rank's ops take by phase, waiting not counted, for the rank with the largest
 * sum. */
struct step {
    int64_t makespan_ns, sum_ns, phase_ns[PHASES];
    uint32_t n_ops, n_buckets;
};

/* What each op takes, in a gang as long as its longest member.  Caller frees. */
static int64_t *durations(const struct plan *plan, const struct cost_model *costs)
{
    int64_t *takes_ns = g_new(int64_t, plan->n_ops), *gang_ns = g_new0(int64_t, plan->n_gangs + 1);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        struct cost cost = {0};
        costs->price(costs, &plan->costs[op->cost], &cost, NULL);
        takes_ns[i] = cost.alone_ns;
        if (op->tag.gang != OP_NONE)
            gang_ns[op->tag.gang] = MAX(gang_ns[op->tag.gang], takes_ns[i]);
    }
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.gang != OP_NONE)
            takes_ns[i] = gang_ns[plan->ops[i].tag.gang];
    g_free(gang_ns);
    return takes_ns;
}

static void add_rank(struct step *step, const struct plan *plan, uint32_t rank, const int64_t *takes_ns)
{
    int64_t phase_ns[PHASES] = {0}, sum_ns = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        if (plan->t.lanes[op->lane].rank != rank)
            continue;
        phase_ns[op_phase(op->tag.kind)] += takes_ns[i];
        sum_ns += takes_ns[i];
    }
    if (sum_ns <= step->sum_ns)
        return;
    step->sum_ns = sum_ns;
    for (unsigned p = 0; p < PHASES; p++)
        step->phase_ns[p] = phase_ns[p];
}

static struct step simulate(const struct mode *mode, const struct shape *shape,
                            const struct cost_model *costs)
{
    GError *error = NULL;
    struct plan plan;
    struct trace trace;
    plan_make(mode, shape, &plan, &error);
    g_assert_no_error(error);
    struct run run = {.plan = &plan, .model = shape->model, .costs = costs};
    trace_init(&trace);
    sim_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    struct step step = {.n_ops = plan.n_ops, .n_buckets = plan.t.n_buckets};
    for (size_t i = 0; i < trace.n_ops; i++)
        step.makespan_ns = MAX(step.makespan_ns, trace.ops[i].end_ns);
    int64_t *takes_ns = durations(&plan, costs);
    for (uint32_t rank = 0; rank < plan.t.n_ranks; rank++)
        add_rank(&step, &plan, rank, takes_ns);
    g_free(takes_ns);
    trace_release(&trace);
    plan_release(&plan);
    return step;
}

static struct model *load(const char *name)
{
    GError *error = NULL;
    struct model *model = model_load(name, NULL, &error);
    g_assert_no_error(error);
    return model;
}

static struct shape ddp(const struct model *model, uint32_t ranks, uint32_t batch, uint8_t overlap,
                        uint64_t bucket_bytes)
{
    return (struct shape){.model = model,
                          .ranks = ranks,
                          .batch = batch,
                          .overlap = overlap,
                          .bucket_bytes = bucket_bytes,
                          .first_bucket_bytes = bucket_bytes};
}

static struct cost_model *analytic(const char *name, struct cluster **cluster)
{
    GError *error = NULL;
    *cluster = cluster_load(name, &error);
    g_assert_no_error(error);
    return cost_analytic_new(*cluster, NULL);
}

static const uint64_t sizes[] = {0, 1 << 20, 5 << 20, 25 << 20, ONE_BUCKET};

/* Nothing overlaps: the slowest rank's ops run one after another. */
static void check_none(struct shape shape, const struct cost_model *costs)
{
    struct step none = simulate(&mode_ddp, &shape, costs);
    g_assert_cmpint(none.makespan_ns, ==,
                    none.phase_ns[PHASE_FORWARD] + none.phase_ns[PHASE_BACKWARD] + none.phase_ns[PHASE_COMM] +
                        none.phase_ns[PHASE_OPTIMIZER]);
    g_assert_cmpint(none.phase_ns[PHASE_COMM] > 0, ==, shape.ranks > 1);
}

/* Backward starts after forward, the last reduction ends before the optimizer; nothing is slower than without
 * overlap if the ranks are alike. */
static void check_backward(struct shape shape, const struct cost_model *costs)
{
    struct step backward = simulate(&mode_ddp, &shape, costs);
    int64_t bound_ns = backward.phase_ns[PHASE_FORWARD] + backward.phase_ns[PHASE_OPTIMIZER] +
                       MAX(backward.phase_ns[PHASE_BACKWARD], backward.phase_ns[PHASE_COMM]);
    g_assert_cmpint(backward.makespan_ns, >=, bound_ns);
    if (shape.batch % shape.ranks == 0)
        g_assert_cmpint(backward.makespan_ns, <=, backward.sum_ns);
}

static void check_bounds(const char *model_name, const char *cluster_name, uint32_t batch)
{
    struct cluster *cluster;
    struct cost_model *costs = analytic(cluster_name, &cluster);
    struct model *model = load(model_name);
    for (uint32_t ranks = 1; ranks <= 4; ranks++)
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
            for (uint8_t algo = 0; algo < ALLREDUCES; algo++) {
                struct shape shape = ddp(model, ranks, batch, OVERLAP_NONE, sizes[i]);
                shape.algo = algo;
                check_none(shape, costs);
                shape.overlap = OVERLAP_BACKWARD;
                check_backward(shape, costs);
            }
    model_free(model);
    cost_model_free(costs);
    cluster_free(cluster);
}

static void test_bounds(void)
{
    check_bounds("mini", "cpu", 12);
    check_bounds("mini", "cpu", 10);
    check_bounds("bert-base", "a100x4", 12);
}

/* Where a transfer and a copy cost nothing but time by the byte, cutting buckets finer never hurts; one
 * bucket closes at the end of backward and hides nothing.  Roundings are half a ns an op. */
static void test_buckets(void)
{
    struct cluster *cluster;
    struct cost_model *costs = analytic("a100x4", &cluster);
    struct model *model = load("bert-base");
    cluster->link_us = cluster->launch_us = 0;
    cluster->link_gbps = 200;
    int64_t finer_ns = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i += 2) {
        struct shape shape = ddp(model, 4, 32, OVERLAP_BACKWARD, sizes[i]);
        struct step step = simulate(&mode_ddp, &shape, costs);
        g_assert_cmpint(step.makespan_ns, >=, finer_ns - step.n_ops);
        finer_ns = step.makespan_ns;
    }
    struct shape one = ddp(model, 4, 32, OVERLAP_BACKWARD, ONE_BUCKET);
    struct step step = simulate(&mode_ddp, &one, costs);
    g_assert_cmpuint(step.n_buckets, ==, 1);
    g_assert_cmpint(step.makespan_ns, ==, step.sum_ns);
    struct shape each = ddp(model, 4, 32, OVERLAP_BACKWARD, 0);
    struct step fine = simulate(&mode_ddp, &each, costs);
    g_assert_cmpuint(fine.n_buckets, ==, 201);
    g_assert_cmpint(fine.makespan_ns, <, fine.sum_ns * 9 / 10);
    model_free(model);
    cost_model_free(costs);
    cluster_free(cluster);
}

/* Forward is one unit a rank, backward two, whatever the ranks. */
static void test_unit(void)
{
    struct cost_model *costs = cost_unit_new("", NULL);
    struct model *model = load("mini");
    for (uint32_t ranks = 1; ranks <= 4; ranks++) {
        struct shape shape = ddp(model, ranks, 4 * ranks, OVERLAP_NONE, 25 << 20);
        struct step step = simulate(&mode_ddp, &shape, costs);
        g_assert_cmpint(ABS(step.phase_ns[PHASE_FORWARD] - 1000000), <=, step.n_ops);
        g_assert_cmpint(ABS(step.phase_ns[PHASE_BACKWARD] - 2000000), <=, step.n_ops);
        g_assert_cmpint(step.makespan_ns, ==, step.sum_ns);
    }
    struct shape one = {.model = model, .ranks = 1, .batch = 4};
    struct step step = simulate(&mode_single, &one, costs);
    g_assert_cmpint(ABS(step.makespan_ns - 3000000), <=, step.n_ops);
    model_free(model);
    cost_model_free(costs);
}

/* The optimizer beside the all-reduces is never later than after them, and no copy-out never later than one;
 * both are told apart where the link is what takes long.  Roundings are half a ns an op. */
static void test_optimizer(void)
{
    struct cluster *cluster;
    struct cost_model *costs = analytic("a100x4", &cluster);
    struct model *model = load("bert-base");
    for (double gbps = 10; gbps <= 1000; gbps *= 10)
        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
            for (uint8_t optimizer = 0; optimizer < OPTIMIZERS; optimizer++) {
                struct shape shape = ddp(model, 4, 32, OVERLAP_BACKWARD, sizes[i]);
                cluster->link_gbps = gbps;
                shape.optimizer = optimizer;
                struct step after = simulate(&mode_ddp, &shape, costs);
                shape.overlap = OVERLAP_OPTIMIZER;
                struct step beside = simulate(&mode_ddp, &shape, costs);
                shape.bucket_view = true;
                struct step view = simulate(&mode_ddp, &shape, costs);
                g_assert_cmpint(beside.makespan_ns, <=, after.makespan_ns + after.n_ops);
                g_assert_cmpint(view.makespan_ns, <=, beside.makespan_ns + after.n_ops);
                g_assert_cmpint(ABS(beside.sum_ns - after.sum_ns), <=, after.n_ops);
                if (gbps == 10 && after.n_buckets > 1)
                    g_assert_cmpint(beside.makespan_ns, <,
                                    after.makespan_ns - after.phase_ns[PHASE_OPTIMIZER] / 2);
            }
    model_free(model);
    cost_model_free(costs);
    cluster_free(cluster);
}

/* Micro-batches share one round of all-reduces and one step. */
static void test_accumulate(void)
{
    struct cluster *cluster;
    struct cost_model *costs = analytic("a100x4", &cluster);
    struct model *model = load("bert-base");
    struct shape shape = ddp(model, 4, 32, OVERLAP_NONE, 25 << 20);
    struct step one = simulate(&mode_ddp, &shape, costs);
    for (shape.accumulate = 2; shape.accumulate <= 8; shape.accumulate *= 2) {
        struct step several = simulate(&mode_ddp, &shape, costs);
        g_assert_cmpint(several.phase_ns[PHASE_COMM], ==, one.phase_ns[PHASE_COMM]);
        g_assert_cmpint(several.phase_ns[PHASE_OPTIMIZER], ==, one.phase_ns[PHASE_OPTIMIZER]);
        g_assert_cmpint(several.phase_ns[PHASE_FORWARD], >, one.phase_ns[PHASE_FORWARD]);
        g_assert_cmpint(several.makespan_ns, <=, several.sum_ns); /* inputs are put meanwhile */
    }
    model_free(model);
    cost_model_free(costs);
    cluster_free(cluster);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/sim-ddp/bounds", test_bounds);
    g_test_add_func("/sim-ddp/buckets", test_buckets);
    g_test_add_func("/sim-ddp/unit", test_unit);
    g_test_add_func("/sim-ddp/optimizer", test_optimizer);
    g_test_add_func("/sim-ddp/accumulate", test_accumulate);
    return g_test_run();
}
