/* tests/work-trace.h -- traces of simulated DDP and DataParallel steps of a small model, with all that plans say of them. */
#ifndef TESTS_WORK_TRACE_H
#define TESTS_WORK_TRACE_H

#include "plan/mode.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"

struct work {
    const struct mode *mode;
    uint32_t ranks;
    uint8_t algo, gather, overlap;
};

static inline void work_simulate(const struct work *w, struct trace *trace)
{
    const struct model_override small = {.layers = 3, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6};
    GError *error = NULL;
    struct model *model = model_load("mini", &small, &error);
    g_assert_no_error(error);
    const struct shape shape = {.model = model,
                                .ranks = w->ranks,
                                .batch = w->ranks * 4,
                                .algo = w->algo,
                                .gather = w->gather,
                                .overlap = w->overlap,
                                .bucket_bytes = 8192,
                                .first_bucket_bytes = 8192};
    struct plan plan;
    plan_make(w->mode, &shape, &plan, &error);
    g_assert_no_error(error);
    struct cost_model *costs = cost_unit_new("F=1,B=1.2,W=0.9,C=0.2", &error);
    g_assert_no_error(error);
    const struct run run = {.plan = &plan, .model = model, .costs = costs};
    trace_init(trace);
    sim_engine.run(&run, trace, &error);
    g_assert_no_error(error);
    cost_model_free(costs);
    plan_release(&plan);
    model_free(model);
}

#endif
