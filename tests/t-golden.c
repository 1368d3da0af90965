/* Lists of what is drawn, and figures in characters, as they were. */
#include <string.h>

#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/runs.h"
#include "tests/subject.h"
#include "tests/tap.h"
#include "tests/work-trace.h"
#include "viz/draw-text.h"

/* PARPROF_UPDATE_GOLDEN=1 writes them anew: look at the difference before it is kept. */
static void compare(const char *name, GBytes *bytes)
{
    g_autofree char *file = g_test_build_filename(G_TEST_DIST, "golden", "figures", name, NULL);
    g_autofree char *expected = NULL;
    gsize n, expected_n;
    const char *text = g_bytes_get_data(bytes, &n);
    if (g_getenv("PARPROF_UPDATE_GOLDEN"))
        g_assert_true(g_file_set_contents(file, text, (gssize)n, NULL));
    if (!g_file_get_contents(file, &expected, &expected_n, NULL))
        g_error("%s is not there", file);
    if (n == expected_n && !memcmp(text, expected, n))
        return;
    g_auto(GStrv) now = g_strsplit(text, "\n", -1), then = g_strsplit(expected, "\n", -1);
    unsigned line = 0;
    while (now[line] && then[line] && !strcmp(now[line], then[line]))
        line++;
    g_error("%s:%u is '%s', and is drawn as '%s'", file, line + 1, then[line] ? then[line] : "",
            now[line] ? now[line] : "");
}

static void check_golden(const struct figure *f, const struct figure_input *in, const char *name)
{
    static const char *const languages[] = {"en", "ko"};
    for (unsigned l = 0; l < G_N_ELEMENTS(languages); l++) {
        const struct figure_options o = {.width = 1280,
                                         .height = 720,
                                         .lang = language_find(languages[l], NULL)},
                                    cells = {.width = 800, .height = 576, .lang = o.lang};
        g_autoptr(GError) error = NULL;
        g_autoptr(GBytes) list = figure_render(f, in, &o, &draw_list, &error);
        g_assert_no_error(error);
        g_autofree char *list_name = g_strdup_printf("%s-%s.list", name, languages[l]);
        compare(list_name, list);
        g_autoptr(GBytes) text = figure_render(f, in, &cells, &draw_text, &error);
        g_assert_no_error(error);
        g_autofree char *text_name = g_strdup_printf("%s-%s.txt", name, languages[l]);
        compare(text_name, text);
    }
}

static void golden_scattered(uint8_t gather, const char *name)
{
    struct subject s = {0};
    work_simulate(&(struct work){.mode = &mode_dp, .ranks = 4, .algo = ALLREDUCE_TREE, .gather = gather}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_dp, &s.run, name);
    subject_of_ddp_release(&s);
}

static void golden_looped(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    subject_of_ddp(&s, &spec);
    spec.overlap = false;
    scene_make(&spec, &s.other);
    g_assert_true(analyze(&s.other, &s.other_analysis, NULL));
    s.variant = (struct variant){"none", &s.other, &s.other_analysis, NULL};
    s.run.others = &s.variant;
    s.run.n_others = 1;
    check_golden(&figure_ddp, &s.run, "ddp");
    check_golden(&figure_compare, &s.run, "compare");
    analysis_release(&s.other_analysis);
    trace_release(&s.other);
    subject_of_ddp_release(&s);
}

static void golden_reduced(void)
{
    struct subject s = {0};
    work_simulate(&(struct work){.mode = &mode_ddp, .ranks = 3, .algo = ALLREDUCE_RING}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_allreduce, &s.run, "allreduce");
    subject_of_ddp_release(&s);
}

static void test_golden(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    spec.ranks = 2;
    spec.layers = 3;
    spec.buckets = 3;
    spec.bucket_ns = 30000000;
    memset(&s, 0, sizeof s);
    subject_of_ddp(&s, &spec);
    check_golden(&figure_timeline, &s.run, "timeline");
    check_golden(&figure_overlap, &s.run, "overlap");
    check_golden(&figure_buckets, &s.run, "buckets");
    subject_of_ddp_release(&s);
    memset(&s, 0, sizeof s);
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 2, 1, 4, 1, 0}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_grid, &s.run, "grid");
    subject_of_ddp_release(&s);
    lecture_digest(&s.digest);
    check_golden(&figure_breakdown, &(struct figure_input){.digest = &s.digest}, "breakdown");
    check_golden(&figure_memory, &(struct figure_input){.digest = &s.digest}, "memory");
    digest_release(&s.digest);
    buckets_series(&s.series);
    check_golden(&figure_sweep, &(struct figure_input){.series = &s.series}, "sweep");
    series_release(&s.series);
    golden_reduced();
    golden_scattered(GATHER_LOGITS, "dp");
    golden_scattered(GATHER_LOSS, "dp-loss");
    golden_looped();
    g_autoptr(GPtrArray) runs = small_history();
    const struct figure_input history = history_of(runs);
    check_golden(&figure_trend, &history, "trend");
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/golden/figures", test_golden);
    return g_test_run();
}
