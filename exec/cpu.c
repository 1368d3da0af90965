#include "exec/exec.h"

#include <pthread.h>

#include "exec/arena.h"
#include "exec/backend-cpu.h"
#include "exec/host.h"
#include "exec/text.h"
#include "exec/walk.h"
#include "kernels/kernels.h"
#include "profile/facts.h"
#include "profile/trace.h"

static const char *missing;

static void open_kernels(void)
{
    missing = k_cpu_open();
}

/* From any thread. */
static bool probe(GError **error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_kernels);
    if (missing)
        g_set_error_literal(error, ENGINE_ERROR, ENGINE_ERROR_UNAVAILABLE, missing);
    return !missing;
}

static void label_link(struct trace *trace, double gbps, double us)
{
    char rate[G_ASCII_DTOSTR_BUF_SIZE], latency[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(rate, sizeof rate, "%.6g", gbps);
    g_ascii_formatd(latency, sizeof latency, "%.6g", us);
    if (gbps > 0)
        trace_label(trace, "link", "paced to %s Gb/s, %s µs", rate, latency);
    else if (us > 0)
        trace_label(trace, "link", "paced to %s µs, raw memory beyond", latency);
    else
        trace_label(trace, "link", "raw memory");
}

/* "2 ranks × (1 compute + 1 comm + 1 copy thread), 4 cores" */
static void label_threads(struct trace *trace, const struct plan *plan)
{
    uint32_t n_cpus, count[LANE_CLASSES] = {0};
    g_free(host_cpus(&n_cpus));
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        count[plan->t.lanes[i].cls] += plan->t.lanes[i].rank == 0;
    for (unsigned i = 0; i < LANE_CLASSES; i++)
        if (count[i])
            g_string_append_printf(text, "%s%u %s", text->len ? " + " : "", count[i], lane_class_name(i));
    trace_label(trace, "threads", "%u rank%s × (%s thread), %u core%s", plan->t.n_ranks,
                plan->t.n_ranks == 1 ? "" : "s", text->str, n_cpus, n_cpus == 1 ? "" : "s");
    g_string_free(text, TRUE);
}

static void label_delay(struct trace *trace, double delay)
{
    char percent[G_ASCII_DTOSTR_BUF_SIZE];
    trace_label(trace, LABEL_DELAY, "%s %% of each computation, injected",
                g_ascii_formatd(percent, sizeof percent, "%.6g", 100 * delay));
}

static void label_data(struct trace *trace, const struct text *text)
{
    g_autofree char *name = text_name(text);
    trace_label(trace, "data", "%s", name);
}

static bool label(const struct run *run, struct trace *trace, GError **error)
{
    bool jittered, poisoned;
    uint64_t seed;
    if (!cpu_jitter(&jittered, &seed, error) || !arenas_poisoned(&poisoned, error))
        return false;
    trace_label(trace, "engine", "cpu");
    label_link(trace, run->link_gbps, run->link_us);
    label_threads(trace, run->plan);
    if (run->data)
        label_data(trace, run->data->text);
    if (run->delay > 0)
        label_delay(trace, run->delay);
    if (poisoned)
        trace_label(trace, "memory", "poisoned before every step");
    if (jittered)
        trace_label(trace, "jitter", "seed %" G_GUINT64_FORMAT, seed);
    return true;
}

static bool run_plan(const struct run *run, struct trace *trace, GError **error)
{
    if (!run->model->executable) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "model %s can be planned and simulated, not run: its layers have no kernels here, give "
                    "--backend sim or another --model",
                    run->model->name);
        return false;
    }
    if (run->model->dtype == DTYPE_F32 && !probe(error))
        return false;
    return label(run, trace, error) && walk_run(run, &backend_cpu, trace, NULL, error);
}

const struct engine cpu_engine = {
    .name = "cpu",
    .summary = "trains on this machine's CPU cores, a thread per lane",
    .real = true,
    .probe = probe,
    .algos = 1u << ALLREDUCE_RING | 1u << ALLREDUCE_TREE | 1u << ALLREDUCE_REDUCE_BROADCAST |
             1u << ALLREDUCE_ALL_TO_ALL,
    .extra_bytes = cpu_extra_bytes,
    .run = run_plan,
};
