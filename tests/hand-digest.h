/* tests/hand-digest.h -- reports and sweeps made by hand, for figures of them. */
#ifndef TESTS_HAND_DIGEST_H
#define TESTS_HAND_DIGEST_H

#include <math.h>

#include "profile/digest.h"
#include "profile/series.h"

#define MS 1000000

/* ---- reports by hand */

static inline void digest_begin(struct digest *d, const char *model, uint32_t ranks)
{
    *d = (struct digest){.mode = g_strdup("ddp"),
                         .model = g_strdup(model),
                         .backend = g_strdup("sim"),
                         .n_ranks = ranks,
                         .simulated = true,
                         .labels = g_strsplit("cluster|a100x4|cost|analytic", "|", -1),
                         .options = g_new0(char *, 1),
                         .environment = g_new0(char *, 1)};
}

/* Times in ms; the rest of the step is idle. */
static inline void add_row(struct digest *d, const char *group, const char *name, bool measured, double forward,
                    double backward, double hidden, double exposed, double optimizer, double idle)
{
    const double compute = forward + backward + optimizer, step = compute + exposed + idle;

    d->rows = g_renew(struct digest_row, d->rows, d->n_rows + 1);
    d->rows[d->n_rows++] = (struct digest_row){
        .name = g_strdup(name),
        .group = g_strdup(group),
        .measured = measured,
        .step_ns = llround(step * MS),
        .predicted_step_ns = -1,
        .phase_ns = {llround(forward * MS), llround(backward * MS), llround((hidden + exposed) * MS),
                     llround(optimizer * MS)},
        .partition = {llround(compute * MS), llround(exposed * MS), 0, llround(idle * MS), llround(step * MS),
                      llround((hidden + exposed) * MS), llround(hidden * MS)}};
}

static inline void add_memory(struct digest *d, uint32_t n, const char *const *names)
{
    d->n_memory = n;
    d->memory_names = g_new0(char *, n);
    d->memory_bytes = g_new0(uint64_t, (size_t)n * d->n_ranks);
    for (uint32_t i = 0; i < n; i++)
        d->memory_names[i] = g_strdup(names[i]);
}

static inline void lecture_digest(struct digest *d)
{
    static const char *const names[] = {"weight", "gradient", "bucket", "input",  "activation",
                                        "saved",  "delta",    "moment", "scratch"};
    static const uint64_t mib[] = {418, 418, 418, 0, 210, 612, 96, 418, 1};

    digest_begin(d, "bert-base", 8);
    add_row(d, NULL, "none", false, 31.2, 62.1, 0, 59.3, 4.2, 0.3);
    add_row(d, NULL, "backward", true, 31.4, 63.0, 52.1, 8.2, 4.2, 0.4);
    add_row(d, NULL, "optimizer", true, 31.3, 63.1, 55.9, 4.4, 4.3, 0.2);
    d->rows[1].predicted_step_ns = 105100000;
    d->rows[2].predicted_step_ns = 99100000;
    add_memory(d, G_N_ELEMENTS(names), names);
    d->memory_measured = g_new(uint64_t, d->n_ranks);
    for (uint32_t r = 0; r < d->n_ranks; r++) {
        d->memory_measured[r] = ((uint64_t)2625 + (r > 3 ? 40 : 0)) << 20;
        for (uint32_t i = 0; i < d->n_memory; i++)
            d->memory_bytes[r * d->n_memory + i] = (mib[i] + (i == 4 && r > 3 ? 64 : 0)) << 20;
    }
}

/* ---- sweeps by hand */

static inline void series_begin(struct series *s, const char *title, const char *axes)
{
    *s = (struct series){.title = g_strdup(title), .axes = g_strsplit(axes, "|", -1)};
    s->n_axes = g_strv_length(s->axes);
}

static inline struct series_point *add_point(struct series *s, const char *values, bool measured, int64_t step_ns,
                                      int64_t exposed_ns)
{
    s->points = g_renew(struct series_point, s->points, s->n_points + 1);
    struct series_point *p = &s->points[s->n_points++];
    *p = (struct series_point){.values = g_strsplit(values, "|", -1),
                               .measured = measured,
                               .step_ns = step_ns,
                               .exposed_ns = exposed_ns,
                               .predicted_ns = -1};
    g_assert_cmpuint(g_strv_length(p->values), ==, s->n_axes);
    series_find_best(s);
    return p;
}

static inline void buckets_series(struct series *s)
{
    static const char *const values[] = {"0", "1", "5", "10", "25", "50", "100", "200"};
    static const double steps[] = {131.2, 112.4, 101.9, 99.4, 98.7, 101.1, 108.3, 126.9},
                        exposed[] = {36, 17, 6.6, 4.1, 3.4, 5.8, 13, 31.6};

    series_begin(s, "bert-base, ddp, 8 ranks, dgx-h100", "bucket-mb");
    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++) {
        struct series_point *p =
            add_point(s, values[i], i % 2, llround(steps[i] * MS), llround(exposed[i] * MS));
        p->predicted_ns = i % 2 ? llround((steps[i] + 2) * MS) : -1;
    }
    struct series_point *p = add_point(s, "400", false, 0, 0);
    p->why_not = g_strdup("needs 42.1 GiB of 40.0 GiB");
    series_find_best(s);
}

static inline void ranks_series(struct series *s)
{
    static const char *const overlaps[] = {"none", "backward", "optimizer"};
    series_begin(s, "bert-base, ddp, a100x4", "overlap|ranks");
    for (unsigned i = 0; i < G_N_ELEMENTS(overlaps); i++)
        for (unsigned ranks = 1; ranks <= 64; ranks *= 2) {
            g_autofree char *values = g_strdup_printf("%s|%u", overlaps[i], ranks);
            const double comm = 60 * (1 - 1.0 / ranks), step = 97 + (i ? comm / (10 * i) : comm);
            add_point(s, values, false, llround(step * MS), llround((step - 97) * MS));
        }
}

static inline void words_series(struct series *s)
{
    series_begin(s, "bert-base, ddp, 8 ranks, a100x4", "allreduce|overlap");
    add_point(s, "ring|none", false, 161 * MS, 60 * MS);
    add_point(s, "ring|backward", false, 107 * MS, 8 * MS);
    add_point(s, "tree|none", false, 190 * MS, 89 * MS);
    add_point(s, "tree|backward", true, 131 * MS, 31 * MS);
    add_point(s, "all-to-all|none", false, 0, 0)->why_not = g_strdup("the cluster has no such links");
    series_find_best(s);
}

/* ---- drawing */

#endif
