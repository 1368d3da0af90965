/* tests/paper.h -- the step of the DDP paper's figure 6, simulated. */
#ifndef TESTS_PAPER_H
#define TESTS_PAPER_H

#include "plan/mode.h"
#include "sim/cost-model.h"
#include "sim/sim.h"

struct paper_row {
    const char *name, *model;
    struct model_override over;
    uint32_t samples; /* of a rank, assumed */
    double saving;    /* measured: of the step without overlap */
};

static const struct paper_row paper_rows[] = {
    {"ResNet-50", "resnet50", {0}, 32, 0.380},
    {"BERT", "bert-base", {.layers = 24, .d = 1024, .heads = 16, .ff = 4096, .seq = 512}, 8, 0.352},
};

/* The all-reduce is whole: NCCL has rings of its own. */
static inline int64_t paper_step_ns(const struct model *model, uint32_t ranks, uint32_t samples, unsigned overlap,
                                    const struct cluster *cluster)
{
    GError *error = NULL;
    struct plan plan;
    struct shape shape = {.model = model,
                          .ranks = ranks,
                          .batch = ranks * samples,
                          .overlap = (uint8_t)overlap,
                          .algo = ALLREDUCE_WHOLE,
                          .bucket_bytes = 25 << 20,
                          .first_bucket_bytes = 1 << 20,
                          .node_devices = cluster->devices};
    plan_make(&mode_ddp, &shape, &plan, &error);
    g_assert_no_error(error);
    struct cost_model *costs = cost_analytic_new(cluster, &error);
    g_assert_no_error(error);
    int64_t *cost_ns = g_new(int64_t, plan.n_costs);
    for (uint32_t i = 0; i < plan.n_costs; i++) {
        struct cost cost;
        costs->price(costs, &plan.costs[i], &cost, &error);
        g_assert_no_error(error);
        cost_ns[i] = cost.alone_ns;
    }
    struct sweep *sweep = sweep_new(&plan);
    int64_t step_ns = sweep_time(sweep, cost_ns, NULL, NULL);
    sweep_free(sweep);
    g_free(cost_ns);
    cost_model_free(costs);
    plan_release(&plan);
    return step_ns;
}

static inline double paper_saving_on(const struct paper_row *row, uint32_t samples, const struct cluster *cluster)
{
    GError *error = NULL;
    struct model *model = model_load(row->model, &row->over, &error);
    g_assert_no_error(error);
    double none = (double)paper_step_ns(model, 32, samples, OVERLAP_NONE, cluster);
    double overlapped = (double)paper_step_ns(model, 32, samples, OVERLAP_BACKWARD, cluster);
    model_free(model);
    return 1 - overlapped / none;
}

static inline double paper_saving(const struct paper_row *row, uint32_t samples, const char *name)
{
    GError *error = NULL;
    struct cluster *cluster = cluster_load(name, &error);
    g_assert_no_error(error);
    double saving = paper_saving_on(row, samples, cluster);
    cluster_free(cluster);
    return saving;
}

#endif
