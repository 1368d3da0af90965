/* tests/runs.h -- runs of a history, made by hand. */
#ifndef TESTS_RUNS_H
#define TESTS_RUNS_H

#include "profile/measurement.h"
#include "profile/metric.h"
#include "viz/figure.h"

/* Nine steps about `ns`. */
static inline struct measurement *run_new(const char *ranks, double ns, double spread, const char *verdict, const char *name)
{
    const char *const must[] = {"mode", "ddp", "model", name, "ranks", ranks, NULL}, *const may[] = {"commit", name, NULL};
    struct measurement *m = g_new0(struct measurement, 1);
    m->name = g_strdup(name);
    m->time = g_strdup("2026-01-02T03:04:05Z");
    m->verdict = g_strdup(verdict);
    m->fingerprint = (struct fingerprint){g_strdupv((char **)must), g_strdupv((char **)may)};
    m->n[METRIC_STEP] = 9;
    m->x[METRIC_STEP] = g_new(double, 9);
    for (unsigned i = 0; i < 9; i++)
        m->x[METRIC_STEP][i] = ns * (1 + spread * ((i * 7) % 9 - 4.0) / 4);
    return m;
}

static inline GPtrArray *runs_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
}

static inline struct figure_input history_of(const GPtrArray *runs)
{
    return (struct figure_input){
        .runs = (struct measurement *const *)runs->pdata, .n_runs = runs->len, .file = "history.jsonl"};
}

/* Runs of 100 ms, a slower and a faster one, then on four ranks; what they are compared with leaves slower ones out. */
static inline GPtrArray *small_history(void)
{
    GPtrArray *runs = runs_new();
    for (unsigned i = 0; i < 12; i++)
        g_ptr_array_add(runs, run_new(i < 8 ? "2" : "4", i == 4 ? 112e6 : i >= 8 ? 80e6 : i >= 6 ? 93e6 : 100e6, 0.02,
                                      i == 4   ? "slower"
                                      : i == 6 ? "faster"
                                               : "same",
                                      "mini"));
    return runs;
}

#endif
