#include "tests/subject.h"

#include <string.h>

#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/runs.h"
#include "tests/work-trace.h"

static void random_ddp(struct subject *s)
{
    struct scene_spec spec = scene_random();
    scene_make(&spec, &s->trace);
    spec.overlap = false;
    scene_make(&spec, &s->other);
}

static void random_pipeline(struct subject *s)
{
    static const char *const names[] = {"gpipe", "1f1b",      "interleaved", "zb1p",
                                        "zb2p",  "pipedream", "dualpipev"};
    struct pipe_case c = {.cost = "F=1,B=1.2,W=0.9,C=0.2,FB=2.5", .rounds = 1};
    c.schedule = names[g_test_rand_int_range(0, G_N_ELEMENTS(names))];
    c.ranks = (uint32_t)g_test_rand_int_range(1, 4) * 2;
    c.per_rank = !strcmp(c.schedule, "interleaved") || !strcmp(c.schedule, "dualpipev") ? 2 : 1;
    c.chunks = c.ranks * (uint32_t)g_test_rand_int_range(2, 5);
    pipe_simulate(&c, &s->trace);
    pipe_simulate(&c, &s->other);
}

static void random_work(struct subject *s)
{
    const struct work ddp = {.mode = &mode_ddp,
                             .ranks = (uint32_t)scene_pick(2, 12),
                             .algo = (uint8_t)g_test_rand_int_range(ALLREDUCE_RING, ALLREDUCES),
                             .overlap = (uint8_t)g_test_rand_int_range(0, OVERLAPS)};
    work_simulate(&ddp, &s->reduced_trace);
    g_assert_true(analyze(&s->reduced_trace, &s->reduced_analysis, NULL));
    s->reduced = (struct figure_input){.trace = &s->reduced_trace, .analysis = &s->reduced_analysis, .digest = &s->digest};
    const struct work dp = {.mode = &mode_dp,
                            .ranks = (uint32_t)scene_pick(1, 12),
                            .algo = ddp.ranks % 2 ? ALLREDUCE_TREE : ALLREDUCE_WHOLE,
                            .gather = (uint8_t)g_test_rand_int_range(0, GATHERS)};
    work_simulate(&dp, &s->scattered_trace);
    g_assert_true(analyze(&s->scattered_trace, &s->scattered_analysis, NULL));
    s->scattered = (struct figure_input){.trace = &s->scattered_trace, .analysis = &s->scattered_analysis};
}

static void random_history(struct subject *s)
{
    static const char *const verdicts[] = {NULL, "same", "same", "slower", "faster", "ambiguous", "incomparable"};
    g_autofree char *name = g_strnfill((gsize)scene_pick(1, 500), 'n');
    const gint32 n = (gint32)scene_pick(1, 3000);
    const int64_t ns = scene_pick(10, 100000000000);
    s->runs = runs_new();
    for (gint32 i = 0; i < n; i++)
        g_ptr_array_add(s->runs, run_new(g_test_rand_int_range(0, n) ? "2" : "4", (double)ns * (1 + g_test_rand_double()),
                                         g_test_rand_double(), verdicts[g_test_rand_int_range(0, G_N_ELEMENTS(verdicts))], name));
    s->history = history_of(s->runs);
}

void subject_make(struct subject *s, bool pipeline)
{
    memset(s, 0, sizeof *s);
    if (pipeline)
        random_pipeline(s);
    else
        random_ddp(s);
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    g_assert_true(analyze(&s->other, &s->other_analysis, NULL));
    lecture_digest(&s->digest);
    digest_make(&s->own, &(struct report){.trace = &s->trace, .analysis = &s->analysis});
    if (g_test_rand_bit())
        buckets_series(&s->series);
    else
        ranks_series(&s->series);
    s->variant = (struct variant){"none", &s->other, &s->other_analysis, NULL};
    s->run = (struct figure_input){.trace = &s->trace,
                                   .analysis = &s->analysis,
                                   .digest = &s->own,
                                   .name = "backward",
                                   .others = &s->variant,
                                   .n_others = !pipeline && g_test_rand_bit()};
    s->pair = s->run;
    s->pair.n_others = 1;
    s->report = (struct figure_input){.digest = &s->digest};
    s->sweep = (struct figure_input){.series = &s->series};
    random_work(s);
    random_history(s);
}

void subject_release(struct subject *s)
{
    g_ptr_array_unref(s->runs);
    analysis_release(&s->analysis);
    analysis_release(&s->other_analysis);
    analysis_release(&s->reduced_analysis);
    analysis_release(&s->scattered_analysis);
    trace_release(&s->trace);
    trace_release(&s->other);
    trace_release(&s->reduced_trace);
    trace_release(&s->scattered_trace);
    digest_release(&s->digest);
    digest_release(&s->own);
    series_release(&s->series);
}

bool subject_suits(const struct subject *s, const struct figure *f)
{
    const bool pipeline = s->trace.t.n_stages;
    return f == &figure_grid ? pipeline : f == &figure_overlap || f == &figure_buckets ? !pipeline && s->trace.t.n_buckets : true;
}

const struct figure_input *subject_input(const struct subject *s, const struct figure *f)
{
    if (f == &figure_allreduce || (f == &figure_ddp && g_strcmp0(s->trace.t.mode, "ddp")))
        return &s->reduced;
    if (f == &figure_dp)
        return &s->scattered;
    return f == &figure_sweep                              ? &s->sweep
           : f == &figure_trend                            ? &s->history
           : f == &figure_compare                          ? &s->pair
           : f == &figure_memory || f == &figure_breakdown ? &s->report
                                                           : &s->run;
}

void subject_of_ddp(struct subject *s, const struct scene_spec *spec)
{
    memset(s, 0, sizeof *s);
    scene_make(spec, &s->trace);
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    digest_make(&s->own, &(struct report){.trace = &s->trace, .analysis = &s->analysis});
    s->run = (struct figure_input){.trace = &s->trace, .analysis = &s->analysis, .digest = &s->own};
}

void subject_of_ddp_release(struct subject *s)
{
    digest_release(&s->own);
    analysis_release(&s->analysis);
    trace_release(&s->trace);
}
