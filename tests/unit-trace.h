/* tests/unit-trace.h -- the trace of a small model, planned and simulated in units of 1 ms. */
#ifndef TESTS_UNIT_TRACE_H
#define TESTS_UNIT_TRACE_H

#include "plan/mode.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"

/* Of the shape all but the model is given; cost: "F=1,B=1". */
static inline void unit_simulate(const struct mode *mode, uint32_t layers, struct shape shape, const char *cost,
                                 struct trace *trace)
{
    const struct model_override small = {
        .layers = layers, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6};
    GError *error = NULL;
    struct model *model = model_load("mini", &small, &error);
    g_assert_no_error(error);
    shape.model = model;
    struct plan plan;
    plan_make(mode, &shape, &plan, &error);
    g_assert_no_error(error);
    struct cost_model *costs = cost_unit_new(cost, &error);
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
