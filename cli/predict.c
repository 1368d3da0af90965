#include "cli/predict.h"

#include "exec/host.h"
#include "profile/facts.h"
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
    if (job->model && job->model->dtype != DTYPE_F32)
        trace_label_text(trace, "dtype", dtype_name(job->model->dtype));
    if (job->shrink > 1)
        trace_label(trace, "model", "%s, widths divided by %u", job->model->name, job->shrink);
    const struct cluster *c = job->cluster;
    if (c && c->memory_gib > 0 && trace->simulated) {
        char gib[G_ASCII_DTOSTR_BUF_SIZE];
        g_autofree char *text =
            g_strconcat(g_ascii_formatd(gib, sizeof gib, "%.1f", c->memory_gib), " GiB", NULL);
        trace_fact_text(trace, FACT_DEVICE_MEMORY, text);
    }
    if (c && shape->ranks > c->nodes * c->devices)
        trace_label(trace, "cluster", "%s, extended from %u to %u devices", c->name, c->nodes * c->devices,
                    shape->ranks);
}

/* The CPU that each lane keeps to, numbered from 0; NULL where lanes keep to none. */
static uint32_t *list_cores(const struct plan *plan, uint32_t *n_cpus)
{
    g_autofree int *cpus = host_cpus(n_cpus);
    g_autofree int *cpu_of_lane = g_new(int, plan->t.n_lanes);
    g_autofree uint32_t *lane_core = g_new(uint32_t, plan->t.n_lanes);
    host_place(plan, cpus, *n_cpus, cpu_of_lane);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        uint32_t core = 0;
        while (core < *n_cpus && cpus[core] != cpu_of_lane[i])
            core++;
        if (core == *n_cpus)
            return NULL;
        lane_core[i] = core;
    }
    return g_steal_pointer(&lane_core);
}

/* What the simulator is told; released by forecast_release. */
struct forecast {
    const struct job *job;
    struct plan own;
    const struct plan *plan; /* own, or the given one */
    struct sharing sharing;
    uint32_t *lane_core;
    double *lane_speed;
    struct run run;
};

/* On this machine threads compete for the CPUs that they may use. */
static void share_cpus(const struct job *job, struct forecast *f)
{
    const struct tables *t = &f->plan->t;
    uint32_t n_cpus;
    f->lane_core = list_cores(f->plan, &n_cpus);
    f->lane_speed = g_new(double, t->n_lanes);
    for (uint32_t i = 0; i < t->n_lanes; i++)
        f->lane_speed[i] = job->rank_speed ? job->rank_speed[t->lanes[i].rank] : 1;
    f->sharing = (struct sharing){.cores = n_cpus,
                                  .lane_core = f->lane_core,
                                  .lane_speed = f->lane_speed,
                                  .beside = job->link_gbps > 0 || job->link_us > 0};
}

static bool prepare(const struct job *job, const struct shape *shape, const struct cost_model *costs,
                    struct forecast *f, GError **error)
{
    *f = (struct forecast){.job = job, .sharing = job->sharing};
    if (!(f->plan = job_plan(job, shape, &f->own, error)))
        return false;
    if (job->engine->devices)
        f->sharing =
            (struct sharing){.devices = job->interleaved, .beside = job->link_gbps > 0 || job->link_us > 0};
    else if (job->engine->real)
        share_cpus(job, f);
    f->run = (struct run){
        .plan = f->plan, .model = job->model, .costs = costs, .sharing = &f->sharing, .steps = 1};
    return true;
}

static void forecast_release(struct forecast *f)
{
    job_plan_release(f->job, &f->own);
    g_free(f->lane_core);
    g_free(f->lane_speed);
}

bool predict(const struct job *job, const struct shape *shape, const struct cost_model *costs,
             struct outcome *out, GError **error)
{
    struct forecast f;
    *out = (struct outcome){0};
    if (!prepare(job, shape, costs, &f, error))
        return false;
    trace_init(&out->trace);
    out->there = sim_engine.run(&f.run, &out->trace, error) && analyze(&out->trace, &out->analysis, error);
    if (!out->there)
        trace_release(&out->trace);
    else
        label_trace(job, shape, &out->trace);
    forecast_release(&f);
    return out->there;
}

bool predict_step_ns(const struct job *job, const struct shape *shape, const struct cost_model *costs,
                     int64_t *step_ns)
{
    struct forecast f;
    if (!prepare(job, shape, costs, &f, NULL))
        return false;
    bool ok = sim_step_ns(&f.run, step_ns, NULL);
    forecast_release(&f);
    return ok;
}

/* Whether the size that the whole collective's price speaks for is one with the job's own all-reduce, too. */
static bool is_better(const struct job *job, const struct cost_model *costs, double mib, int64_t step_ns,
                      int64_t *best_ns)
{
    struct shape shape = job->shape;
    shape.bucket_bytes = shape.first_bucket_bytes = (uint64_t)mib << 20;
    return predict_step_ns(job, &shape, costs, best_ns) && *best_ns < step_ns - step_ns / 100;
}

double predict_best_bucket(const struct job *job, const struct cost_model *costs, int64_t step_ns,
                           int64_t *best_ns)
{
    static const double usual[] = {1, 2, 5, 10, 25, 50, 100};
    double best = 0;
    *best_ns = step_ns - step_ns / 100;
    for (unsigned i = 0; i < G_N_ELEMENTS(usual); i++) {
        struct shape shape = job->shape;
        int64_t bucket_ns;
        /* Priced by formula, the hops of a ring and the whole come to the same; measured costs know the hops.
         */
        shape.algo = job->engine->real ? shape.algo : ALLREDUCE_WHOLE;
        shape.bucket_bytes = shape.first_bucket_bytes = (uint64_t)usual[i] << 20;
        /* A size that cannot be priced is no suggestion. */
        if (predict_step_ns(job, &shape, costs, &bucket_ns) && bucket_ns < *best_ns) {
            *best_ns = bucket_ns;
            best = usual[i];
        }
    }
    if (best > 0 && job->shape.algo != ALLREDUCE_WHOLE && !job->engine->real &&
        !is_better(job, costs, best, step_ns, best_ns))
        best = 0;
    return best;
}
