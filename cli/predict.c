#include "cli/predict.h"

#include "sim/sim.h"

void outcome_release(struct outcome *o)
{
    if (o->there) {
        analysis_release(&o->analysis);
        trace_release(&o->trace);
    }
    o->there = false;
}

void label_trace(const struct job *job, const struct shape *shape, struct trace *trace)
{
    if (shape->first_iteration)
        trace_label(trace, "iteration", "the first");
    const struct cluster *c = job->cluster;
    if (c && shape->ranks > c->nodes * c->devices)
        trace_label(trace, "cluster", "%s, extended from %u to %u devices", c->name, c->nodes * c->devices,
                    shape->ranks);
}

bool predict(const struct job *job, const struct shape *shape, const struct cost_model *costs,
             struct outcome *out, GError **error)
{
    struct plan own;
    *out = (struct outcome){0};
    const struct plan *plan = job_plan(job, shape, &own, error);
    if (!plan)
        return false;
    struct run run = {.plan = plan, .model = job->model, .costs = costs, .steps = 1};
    trace_init(&out->trace);
    out->there = sim_engine.run(&run, &out->trace, error) && analyze(&out->trace, &out->analysis, error);
    if (!out->there)
        trace_release(&out->trace);
    else
        label_trace(job, shape, &out->trace);
    job_plan_release(job, &own);
    return out->there;
}

double predict_best_bucket(const struct job *job, const struct cost_model *costs, int64_t step_ns,
                           int64_t *best_ns)
{
    static const double usual[] = {1, 2, 5, 10, 25, 50, 100};
    double best = 0;
    *best_ns = step_ns - step_ns / 100;
    for (unsigned i = 0; i < G_N_ELEMENTS(usual); i++) {
        struct shape shape = job->shape;
        struct outcome outcome;
        /* Priced by formula, the hops of a ring and the whole come to the same; measured costs know the hops.
         */
        shape.algo = job->engine->real ? shape.algo : ALLREDUCE_WHOLE;
        shape.bucket_bytes = shape.first_bucket_bytes = (uint64_t)usual[i] << 20;
        /* A size that cannot be priced is no suggestion. */
        if (!predict(job, &shape, costs, &outcome, NULL))
            continue;
        if (outcome.analysis.median_ns < *best_ns) {
            *best_ns = outcome.analysis.median_ns;
            best = usual[i];
        }
        outcome_release(&outcome);
    }
    return best;
}
