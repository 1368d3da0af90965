/* A history's runs drawn as a trend. */
#include <string.h>

#include "tests/runs.h"
#include "tests/subject.h"
#include "tests/tap.h"

static unsigned count_polygons(const struct draw *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->items->len; i++)
        n += item_at(d, i)->kind == ITEM_POLYGON;
    return n;
}

static void test_trend(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    g_autoptr(GPtrArray) runs = small_history();
    struct figure_input in = history_of(runs);
    struct draw *d = draw(&figure_trend, &in, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "80.0 ms, 0.0 % above the 3 runs before"));
    g_assert_cmpuint(count_text(d, "ranks 4"), ==, 1);
    g_assert_cmpuint(count_text(d, "mini"), >=, 2); /* commits */
    g_assert_cmpuint(count_polygons(d), ==, 4);     /* one each, and in the legend */
    draw_list.cancel(d);
    in.n_runs = 5; /* the slower one is the last */
    d = draw(&figure_trend, &in, &o, NULL);
    g_assert_true(has_text(d, "112.0 ms, 12.0 % above the 4 runs before"));
    draw_list.cancel(d);
    in.n_runs = 6; /* and none that the next one is compared with */
    d = draw(&figure_trend, &in, &o, NULL);
    g_assert_true(has_text(d, "100.0 ms, 0.0 % above the 4 runs before"));
    draw_list.cancel(d);
}

/* Of one that is no run like those before, no difference to them is said. */
static void test_incomparable(void)
{
    const struct figure_options o = {.width = 1280, .height = 720},
                                korean = {.width = 1280, .height = 720, .lang = language_find("ko", NULL)};
    g_autoptr(GPtrArray) runs = small_history();
    g_ptr_array_add(runs, run_new("4", 20e6, 0.02, "incomparable", "mini"));
    const struct figure_input in = history_of(runs);
    struct draw *d = draw(&figure_trend, &in, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "20.0 ms, not comparable with the runs before"));
    g_assert_false(has_text(d, "below the"));
    g_assert_cmpuint(count_text(d, "not comparable"), ==, 1);
    draw_list.cancel(d);
    d = draw(&figure_trend, &in, &korean, NULL);
    g_assert_true(has_text(d, "이전 실행과 비교 불가"));
    draw_list.cancel(d);
}

static void test_trend_edges(void)
{
    static const unsigned numbers[] = {1, 2, 10000};
    struct figure_options o = {.width = 1280, .height = 720};
    g_autofree char *name = g_strnfill(500, 'W');
    g_autoptr(GError) error = NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
        g_autoptr(GPtrArray) runs = runs_new();
        for (unsigned k = 0; k < numbers[i]; k++)
            g_ptr_array_add(runs, run_new(k % 1000 < 900 ? "2" : name, 1e8 + k, k % 2,
                                          k % 3 ? "slower" : "faster", name));
        const struct figure_input in = history_of(runs);
        struct draw *d = draw(&figure_trend, &in, &o, &error);
        g_assert_no_error(error);
        check_figure(d);
        g_assert_cmpuint(d->items->len, <, 9000);
        draw_list.cancel(d);
    }
    g_autoptr(GPtrArray) none = runs_new();
    g_ptr_array_add(none, run_new("2", 1, 0, NULL, "n"));
    ((struct measurement *)none->pdata[0])->n[METRIC_STEP] = 0;
    const struct figure_input in = history_of(none);
    g_assert_null(draw(&figure_trend, &in, &o, &error));
    g_assert_nonnull(strstr(error->message, "no run of the history has steps"));
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/trend/small", test_trend);
    g_test_add_func("/trend/incomparable", test_incomparable);
    g_test_add_func("/trend/edges", test_trend_edges);
    return g_test_run();
}
