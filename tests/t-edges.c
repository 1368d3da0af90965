/* Figures of inputs at the edge of sense, of parts of a step, and what is refused. */
#include <string.h>

#include "tests/hand-digest.h"
#include "tests/small-trace.h"
#include "tests/subject.h"
#include "tests/tap.h"
#include "viz/rows.h"

static void test_many_ranks(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    struct figure_options o = {.width = 1280, .height = 720, .lang = language_find("ko", NULL)};
    spec.ranks = 256;
    spec.layers = 2;
    spec.buckets = 2;
    subject_of_ddp(&s, &spec);
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    draw_list.cancel(d);
    subject_of_ddp_release(&s);
}

static void test_small_canvas(void)
{
    struct subject s;
    subject_make(&s, true);
    for (unsigned k = 0; figures[k]; k++) {
        g_autoptr(GError) error = NULL;
        const struct figure_options o = {.width = 20, .height = 20};
        g_assert_null(figure_render(figures[k], subject_input(&s, figures[k]), &o, &draw_list, &error));
        g_assert_nonnull(strstr(error->message, "too small to read"));
    }
    subject_release(&s);
}

/* Of three steps the last takes time, or none: what is said counts them as --step does. */
static void test_empty_step(void)
{
    for (uint32_t busy = 2; busy < 4; busy++) {
        const struct figure_options o = {.width = 1280, .height = 720, .step = 2};
        struct subject s = {0};
        g_autoptr(GError) error = NULL;
        small_init(&s.trace, 1, 1);
        s.trace.n_steps = 3;
        for (uint32_t step = 0; step < 3; step++) {
            const struct trace_op op =
                small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), step, 5, step == busy ? 6 : 5);
            trace_add_op(&s.trace, &op);
        }
        trace_finish(&s.trace);
        g_assert_true(analyze(&s.trace, &s.analysis, NULL));
        s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis, .file = "bare.json"};
        g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
        g_assert_nonnull(strstr(error->message, "bare.json"));
        g_assert_nonnull(strstr(error->message, busy == 2 ? "in step 2 of the 3" : "which has 3 steps"));
        g_assert_true(!strstr(error->message, "--step 3") == (busy > 2));
        subject_of_ddp_release(&s);
    }
}

/* Ops that take no time beside one that does. */
static void test_zero_length(void)
{
    const struct figure_options o = {.width = 1280, .height = 720, .critical = true};
    struct subject s = {0};
    small_init(&s.trace, 1, 1);
    s.trace.n_steps = 1;
    for (unsigned i = 0; i < 5; i++) {
        const struct trace_op op = small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), 0, 5, i == 3 ? 6 : 5);
        trace_add_op(&s.trace, &op);
    }
    trace_finish(&s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    draw_list.cancel(d);
    subject_of_ddp_release(&s);
}

/* --- zoom */

static void test_zoom(void)
{
    struct scene_spec spec = scene_bert();
    struct figure_options o = {.width = 1280, .height = 720, .from_ns = 80000000, .to_ns = 90000000};
    struct subject s;
    g_autoptr(GError) error = NULL;
    spec.steps = 3;
    subject_of_ddp(&s, &spec);
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    g_assert_cmpuint(count_text(d, "80"), ==, 1); /* the axis begins there */
    g_assert_cmpuint(count_text(d, "0"), ==, 0);
    g_assert_cmpuint(count_text(d, "F0"), ==, 0);
    draw_list.cancel(d);
    o.from_ns = INT64_C(1) << 60;
    o.to_ns = 0;
    g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
    g_assert_nonnull(strstr(error->message, "the step lasts"));
    g_clear_error(&error);
    o = (struct figure_options){.width = 1280, .height = 720, .step = 4};
    g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
    g_assert_nonnull(strstr(error->message, "3 steps, not 4"));
    subject_of_ddp_release(&s);
}

static void test_clip(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    struct step_rows rows;
    const uint32_t ranks[] = {0, 1, 2, 3};
    const int64_t from_ns = 83100000, to_ns = 130700000;
    subject_of_ddp(&s, &spec);
    g_assert_true(rows_collect(&rows, &s.trace, 0, 4, ranks));
    const int64_t all_ns = intervals_within(&rows.rows[0].exposed, from_ns, to_ns);
    rows_clip(&rows, from_ns, to_ns);
    for (uint32_t r = 0; r < 4; r++) {
        const GArray *cells[] = {rows.rows[r].compute, rows.rows[r].comm};
        for (unsigned k = 0; k < 2; k++)
            for (unsigned i = 0; i < cells[k]->len; i++) {
                const struct cell *c = &g_array_index(cells[k], struct cell, i);
                g_assert_true(c->start_ns >= from_ns && c->start_ns < c->end_ns && c->end_ns <= to_ns);
                g_assert_cmpint(c->own_ns, <=, c->end_ns - c->start_ns);
            }
        g_assert_cmpuint(cells[0]->len, >, 0);
    }
    g_assert_cmpint(intervals_length(&rows.rows[0].exposed), ==, all_ns);
    rows_release(&rows);
    subject_of_ddp_release(&s);
}

/* --- what is refused */

static void test_refused(void)
{
    struct subject pipeline, ddp;
    struct digest d;
    subject_make(&pipeline, true);
    subject_make(&ddp, false);
    lecture_digest(&d);
    const struct figure_input none = {.digest = &d};
    const struct {
        const struct figure *figure;
        const struct figure_input *in;
        const char *why;
    } cases[] = {{&figure_overlap, &pipeline.run, "needs gradient buckets"},
                 {&figure_overlap, &none, "needs gradient buckets"},
                 {&figure_buckets, &pipeline.run, "needs gradient buckets"},
                 {&figure_buckets, &none, "a report does not say how large"},
                 {&figure_buckets, &pipeline.sweep, "a sweep has no parameters"},
                 {&figure_trend, &none, "needs a history"},
                 {&figure_overlap, &pipeline.sweep, "a sweep has only totals"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct figure_options o = {.width = 1280, .height = 720};
        g_autoptr(GError) error = NULL;
        g_assert_null(draw(cases[i].figure, cases[i].in, &o, &error));
        if (!strstr(error->message, cases[i].why))
            g_error("%s", error->message);
    }
    digest_release(&d);
    subject_release(&pipeline);
    subject_release(&ddp);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/edges/many-ranks", test_many_ranks);
    g_test_add_func("/edges/small-canvas", test_small_canvas);
    g_test_add_func("/edges/zero-length", test_zero_length);
    g_test_add_func("/edges/zoom", test_zoom);
    g_test_add_func("/edges/clip", test_clip);
    g_test_add_func("/edges/empty-step", test_empty_step);
    g_test_add_func("/edges/refused", test_refused);
    return g_test_run();
}
