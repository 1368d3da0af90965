/* Lists and ranges of a sweep: every combination once, the last axis fastest, and what is refused. */
#include "cli/points.h"

#include <string.h>

#include "tests/tap.h"

static bool open_points(const char *line, struct options *o, struct points *p, GError **error)
{
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    *p = (struct points){0};
    return options_parse(o, (int)g_strv_length(argv), argv, error) && points_init(p, o, error);
}

/* All points, as "value value;value value". */
static char *spell(const char *line)
{
    struct options o;
    struct points p;
    GError *error = NULL;
    open_points(line, &o, &p, &error);
    g_assert_no_error(error);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < p.n; i++) {
        g_auto(GStrv) values = points_values(&p, i);
        g_autofree char *text = g_strjoinv(" ", values);
        g_string_append_printf(out, "%s%s", i ? ";" : "", text);
    }
    points_release(&p);
    options_release(&o);
    return g_string_free(out, FALSE);
}

static void test_spelling(void)
{
    static const struct {
        const char *given, *points;
    } cases[] = {
        {"parprof sweep", ""},
        {"parprof sweep --bucket-mb 25", ""},
        {"parprof sweep --bucket-mb 1,5,25", "1;5;25"},
        {"parprof sweep --bucket-mb 1..4", "1;2;3;4"},
        {"parprof sweep --bucket-mb 10..45+10", "10;20;30;40"},
        {"parprof sweep --bucket-mb 0.1..0.5+0.1", "0.1;0.2;0.3;0.4;0.5"},
        {"parprof sweep --bucket-mb 1..64*2", "1;2;4;8;16;32;64"},
        {"parprof sweep --bucket-mb 1..100*10", "1;10;100"},
        {"parprof sweep --bucket-mb 3,1..2,9", "3;1;2;9"},
        {"parprof sweep --bucket-mb 1 --bucket-mb 2", "1;2"},
        {"parprof sweep --link 10,20 --link none", "10,20;none"},
        {"parprof sweep --overlap none,backward --ranks 2,4", "2 none;2 backward;4 none;4 backward"},
        {"parprof sweep --model bert-base,gpt2 -n 2", "bert-base;gpt2"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *got = spell(cases[i].given);
        g_assert_cmpstr(got, ==, cases[i].points);
    }
}

static void test_options_of_a_point(void)
{
    struct options o, point;
    struct points p;
    GError *error = NULL;
    g_assert_true(
        open_points("parprof sweep --ranks 2,4 --bucket-mb 1..3 --batch 8 --model gpt2 -q", &o, &p, &error));
    g_assert_cmpuint(p.n, ==, 6);
    g_assert_true(points_options(&p, 4, &point, &error));
    g_assert_cmpstr(point.command, ==, "run");
    g_assert_cmpfloat(option_number(&point, OPTION_RANKS, 0), ==, 4);
    g_assert_cmpfloat(option_number(&point, OPTION_BUCKET_MB, 0), ==, 2);
    g_assert_cmpfloat(option_number(&point, OPTION_BATCH, 0), ==, 8);
    g_assert_cmpstr(option_text(&point, OPTION_MODEL, ""), ==, "gpt2");
    g_assert_true(point.given[OPTION_QUIET]);
    g_assert_false(point.given[OPTION_OVERLAP]);
    options_release(&point);
    points_release(&p);
    options_release(&o);
}

static void test_refusals(void)
{
    static const struct {
        const char *given, *says;
    } cases[] = {
        {"parprof sweep --bucket-mb 5..1", "a range is"},
        {"parprof sweep --bucket-mb 1..", "a range is"},
        {"parprof sweep --bucket-mb ..4", "a range is"},
        {"parprof sweep --bucket-mb 1..4*1", "a range is"},
        {"parprof sweep --bucket-mb 0..4*2", "a range is"},
        {"parprof sweep --bucket-mb 1..4+0", "a range is"},
        {"parprof sweep --bucket-mb 1..4+-1", "a range is"},
        {"parprof sweep --bucket-mb 1..4/2", "a range is"},
        {"parprof sweep --bucket-mb 0x1..0x4", "a range is"},
        {"parprof sweep --bucket-mb nan..inf", "a range is"},
        {"parprof sweep --bucket-mb 1..1e308", "too many"},
        {"parprof sweep --bucket-mb 1..1000000+1e-300", "too many"},
        {"parprof sweep --bucket-mb 1..2000 --ranks 1..2000", "more points"},
        {"parprof sweep --bucket-mb 1,,2", "takes a number"},
        {"parprof sweep --bucket-mb 1,x", "takes a number"},
        {"parprof sweep --ranks 1,2.5", "whole number"},
        {"parprof sweep --ranks 0..2", "takes 1 to"},
        {"parprof sweep --ranks 1,+3", "whole number"},
        {"parprof sweep --ranks 1,3e0", "whole number"},
        {"parprof sweep --ranks 1,\t3", "whole number"},
        {"parprof sweep --bucket-mb 1,\t3", "takes a number"},
        {"parprof sweep --ranks 1e0..4", "a range is"},
        {"parprof sweep --ranks 1..\t4", "a range is"},
        {"parprof sweep --ranks 1..+4", "a range is"},
        {"parprof sweep --ranks 1..4+1e0", "a range is"},
        {"parprof sweep --bucket-mb \t1..4", "a range is"},
        {"parprof sweep --bucket-mb 1..4*\t2", "a range is"},
        {"parprof sweep --ranks 2,2", "twice"},
        {"parprof sweep --report a --report b", "one value"},
        {"parprof sweep file.json", "takes nothing else"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct options o;
        struct points p;
        GError *error = NULL;
        g_assert_false(open_points(cases[i].given, &o, &p, &error));
        if (!error || !strstr(error->message, cases[i].says))
            g_error("'%s': \"%s\" lacks \"%s\"", cases[i].given, error ? error->message : "", cases[i].says);
        g_clear_error(&error);
        points_release(&p);
        options_release(&o);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/points/spelling", test_spelling);
    g_test_add_func("/points/options", test_options_of_a_point);
    g_test_add_func("/points/refusals", test_refusals);
    return g_test_run();
}
