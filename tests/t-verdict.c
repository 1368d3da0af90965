/* The rule of verdicts as a gate: how often it is wrong about noise of many kinds, and what it says of cases
 * made by hand. With -m slow 2,000 repeats of each, else few enough to take seconds; the seeds are fixed. */
#include <stdio.h>
#include <string.h>

#include "profile/compare-out.h"
#include "tests/tap.h"
#include "tests/trial.h"

#define STEP_NS TRIAL_STEP_NS

struct fixture {
    struct measurement *runs[2][16];
    struct side side[2];
    double relative[METRICS];
    struct comparison c;
};

static void begin(struct fixture *f, uint32_t n_base, uint32_t n_new)
{
    *f = (struct fixture){0};
    for (uint32_t i = 0; i < n_base; i++)
        f->runs[0][i] = trial_measurement("base.json");
    for (uint32_t i = 0; i < n_new; i++)
        f->runs[1][i] = trial_measurement("new.json");
    f->side[0] = (struct side){"BASE", f->runs[0], n_base};
    f->side[1] = (struct side){"NEW", f->runs[1], n_new};
    for (unsigned m = 0; m < METRICS; m++)
        f->relative[m] = -1;
}

static int judge(struct fixture *f)
{
    comparison_release(&f->c);
    compare(&f->side[0], &f->side[1], f->relative, &f->c);
    return f->c.verdict;
}

static void end(struct fixture *f)
{
    comparison_release(&f->c);
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < f->side[k].n; i++)
            measurement_free(f->runs[k][i]);
}

/* --- as a gate */

static struct rates try(const struct noise_of *noise, uint32_t runs, uint32_t steps, double rise,
                        unsigned repeats)
{
    return trial_compare(&(struct trial){*noise, runs, steps, rise, 42}, repeats);
}

static unsigned repeats_of(void)
{
    return g_test_slow() ? 2000 : tap_cases(60);
}

/* Of few repeats chance may give more than the true rate: three deviations of it are allowed. */
static void at_most(const struct rates *r, unsigned n, double rate, const char *what)
{
    const double chance = 3 * sqrt(rate * (1 - rate) / r->repeats) * (r->repeats < 2000);
    g_test_message("%s: %u of %u, at most %.1f %%", what, n, r->repeats, 100 * rate);
    if (n >= (rate + chance) * r->repeats)
        g_error("%s: %u of %u, should be below %.1f %%", what, n, r->repeats, 100 * (rate + chance));
}

static void test_false_alarms(void)
{
    static const struct {
        struct noise_of noise;
        uint32_t runs, steps;
    } cases[] = {{{NOISE_GAUSSIAN, 0.02}, 1, 10},      {{NOISE_GAUSSIAN, 0.05}, 1, 20},
                 {{NOISE_GAUSSIAN, 0.05}, 1, 6},       {{NOISE_BIMODAL, 0.01, 0.08}, 1, 20},
                 {{NOISE_BIMODAL, 0.01, 0.12}, 1, 10}, {{NOISE_BIMODAL, 0.005, 0.3}, 1, 12},
                 {{NOISE_HEAVY, 0.02}, 1, 10},         {{NOISE_HEAVY, 0.04}, 1, 20},
                 {{NOISE_BIMODAL, 0.01, 0.12}, 8, 1},  {{NOISE_HEAVY, 0.04}, 6, 5},
                 {{NOISE_GAUSSIAN, 0.04}, 3, 10}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct rates r = try(&cases[i].noise, cases[i].runs, cases[i].steps, 0, repeats_of());
        g_autofree char *what =
            g_strdup_printf("%s noise %u called slower", noise_name(cases[i].noise.kind), i);
        at_most(&r, r.of[VERDICT_SLOWER], 0.01, what);
    }
}

static void test_found(void)
{
    static const struct {
        double sd;
        uint32_t runs, steps;
    } cases[] = {{0.01, 1, 12}, {0.02, 1, 20}, {0.02, 8, 4}, {0.02, 10, 1}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct noise_of noise = {NOISE_GAUSSIAN, cases[i].sd};
        struct rates r = try(&noise, cases[i].runs, cases[i].steps, 0.10, repeats_of());
        at_most(&r, r.repeats - r.of[VERDICT_SLOWER], 0.05, "a rise of twice the threshold missed");
        r = try(&noise, cases[i].runs, cases[i].steps, -0.10, repeats_of());
        at_most(&r, r.repeats - r.of[VERDICT_FASTER], 0.05, "a fall of twice the threshold missed");
    }
}

/* What it says that it can see, it sees; and equal runs without much noise are the same. */
static void test_promises(void)
{
    for (unsigned i = 0; i < 3; i++) {
        const struct noise_of noise = {NOISE_GAUSSIAN, 0.005 * (1 << i)};
        const struct rates same = try(&noise, 1, 20, 0, repeats_of());
        const struct rates r = try(&noise, 1, 20, same.detects, repeats_of());
        const struct rates half = try(&noise, 1, 20, same.detects / 2, repeats_of());
        at_most(&r, r.repeats - r.of[VERDICT_SLOWER], 0.20, "a rise of what it detects missed");
        at_most(&half, half.of[VERDICT_SLOWER], 0.50, "a rise of half of what it detects found");
        at_most(&same, same.repeats - same.of[VERDICT_SAME], 0.05, "equal runs not called the same");
    }
}

static void test_dependent(void)
{
    static const struct noise_of cases[] = {{NOISE_DRIFT, 0.01, 0.06},     {NOISE_DRIFT, 0.01, 0.12},
                                            {NOISE_DRIFT, 0.02, 0.12},     {NOISE_CORRELATED, 0.04, 0.8},
                                            {NOISE_CORRELATED, 0.08, 0.9}, {NOISE_CORRELATED, 0.12, 0.9}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct rates r = try(&cases[i], 1, 30, 0, repeats_of());
        g_autofree char *what = g_strdup_printf("%s noise %u called slower", noise_name(cases[i].kind), i);
        at_most(&r, r.of[VERDICT_SLOWER], 0.01, what);
        at_most(&r, r.repeats - r.of[VERDICT_AMBIGUOUS] - r.of[VERDICT_INCOMPARABLE], 0.05,
                "dependent samples given a verdict");
        if (cases[i].kind == NOISE_DRIFT)
            at_most(&r, r.repeats - r.of[VERDICT_INCOMPARABLE], 0.05, "a drift not seen");
    }
}

/* Equal runs on a machine that wanders or drifts on from base's to new's. */
static void test_wander(void)
{
    static const struct noise_of cases[] = {{NOISE_CORRELATED, 0.05, 0.5}, {NOISE_CORRELATED, 0.08, 0.8},
                                            {NOISE_CORRELATED, 0.12, 0.9}, {NOISE_CORRELATED, 0.16, 0.95},
                                            {NOISE_DRIFT, 0.01, 0.01},     {NOISE_DRIFT, 0.02, 0.02}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        for (uint32_t runs = 6; runs <= 12; runs += 2) {
            const struct trial trial = {cases[i], runs, 1, 0, 42, true};
            const struct rates r = trial_compare(&trial, repeats_of());
            g_autofree char *what = g_strdup_printf("%u runs a side, %s by %.2f, called slower", runs,
                                                    noise_name(cases[i].kind), cases[i].gap);
            at_most(&r, r.of[VERDICT_SLOWER], 0.01, what);
        }
}

/* What so few runs find all the same, and what they say that they find. */
static void test_found_of_runs(void)
{
    const struct noise_of noise = {NOISE_GAUSSIAN, 0.04};
    const struct rates r = try(&noise, 6, 1, 0.30, repeats_of());
    at_most(&r, r.repeats - r.of[VERDICT_SLOWER], 0.20, "30 % more missed by 6 runs with 4 % noise");
    for (uint32_t runs = 6; runs <= 12; runs += 3) {
        const struct noise_of some = {NOISE_GAUSSIAN,
                                      0.025}; /* the reach of wander.h is beyond the threshold */
        const struct rates same = try(&some, runs, 1, 0, repeats_of()),
                           found = try(&some, runs, 1, same.detects, repeats_of()),
                           half = try(&some, runs, 1, same.detects / 2, repeats_of());
        at_most(&found, found.repeats - found.of[VERDICT_SLOWER], 0.20, "a rise of what runs detect missed");
        at_most(&half, half.of[VERDICT_SLOWER], 0.50, "a rise of half of what runs detect found");
    }
}

/* --- by hand */

static const double even[] = {1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00};

static void equal_sides(struct fixture *f)
{
    begin(f, 1, 1);
    for (unsigned k = 0; k < 2; k++)
        trial_set(f->runs[k][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS);
}

static void because(struct fixture *f, int verdict, const char *why)
{
    g_assert_cmpint(judge(f), ==, verdict);
    const char *said = f->c.why ? f->c.why : f->c.of[METRIC_STEP].why;
    if (!said || !strstr(said, why))
        g_error("said \"%s\", should say \"%s\"", said ? said : "nothing", why);
}

static void test_incomparable(void)
{
    struct fixture f;
    equal_sides(&f);
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    f.runs[1][0]->why_not = g_strdup("it was hot");
    because(&f, VERDICT_INCOMPARABLE, "new.json: it was hot");
    g_clear_pointer(&f.runs[1][0]->why_not, g_free);
    g_free(f.runs[1][0]->fingerprint.must[1]);
    f.runs[1][0]->fingerprint.must[1] = g_strdup("8");
    because(&f, VERDICT_INCOMPARABLE, "ranks is 4 in base.json and 8 in new.json");
    g_assert_cmpuint(f.c.armed, ==, 0);
    end(&f);
    equal_sides(&f);
    trial_set(f.runs[1][0], METRIC_STEP, even, 5, STEP_NS);
    because(&f, VERDICT_INCOMPARABLE, "NEW has 5 samples, and 6 are needed");
    g_clear_pointer(&f.runs[1][0]->x[METRIC_STEP], g_free);
    f.runs[1][0]->n[METRIC_STEP] = 0;
    because(&f, VERDICT_INCOMPARABLE, "nothing was measured on both sides");
    end(&f);
}

/* 10 % more is slower, by 3 % it is the same, by 4.5 % open, on a floor of 20 us it is nothing. */
static void test_thresholds(void)
{
    struct fixture f;
    equal_sides(&f);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * 1.10);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * 0.90);
    g_assert_cmpint(judge(&f), ==, VERDICT_FASTER);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * 1.03);
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * 1.045);
    g_assert_cmpint(judge(&f), ==, VERDICT_AMBIGUOUS);
    f.relative[METRIC_STEP] = 0.01;
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    end(&f);
    begin(&f, 1, 1);
    trial_set(f.runs[0][0], METRIC_STEP, even, G_N_ELEMENTS(even), 1e5);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), 1.15e5); /* 15 us */
    g_assert_cmpint(judge(&f), !=, VERDICT_SLOWER);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), 1.30e5);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    end(&f);
}

/* A part may double where that is little of the step; one that matters is slower though the step is not; an
 * overlap is never; on a shared GPU exposed communication neither. */
static void test_parts(void)
{
    struct fixture f;
    equal_sides(&f);
    trial_set(f.runs[0][0], METRIC_EXPOSED_COMM, even, G_N_ELEMENTS(even), 0.01 * STEP_NS);
    trial_set(f.runs[1][0], METRIC_EXPOSED_COMM, even, G_N_ELEMENTS(even), 0.02 * STEP_NS);
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    trial_set(f.runs[1][0], METRIC_EXPOSED_COMM, even, G_N_ELEMENTS(even), 0.06 * STEP_NS);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    g_assert_cmpint(f.c.of[METRIC_STEP].verdict, ==, VERDICT_SAME);
    g_assert_cmpfloat(f.c.of[METRIC_EXPOSED_COMM].adjusted, ==, 2 * f.c.of[METRIC_EXPOSED_COMM].p);
    f.runs[0][0]->shared = true;
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    g_assert_cmpint(f.c.of[METRIC_EXPOSED_COMM].verdict, ==, VERDICT_NONE);
    trial_set(f.runs[0][0], METRIC_OVERLAP, even, G_N_ELEMENTS(even), 90);
    trial_set(f.runs[1][0], METRIC_OVERLAP, even, G_N_ELEMENTS(even), 10);
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    g_assert_cmpuint(f.c.armed, ==, 1);
    end(&f);
}

static void test_exact(void)
{
    static const double mib[] = {100};
    struct fixture f;
    equal_sides(&f);
    trial_set(f.runs[0][0], METRIC_MEMORY, mib, 1, 1048576);
    trial_set(f.runs[1][0], METRIC_MEMORY, mib, 1, 1048576 * 1.01);
    g_assert_cmpint(judge(&f), ==, VERDICT_SAME);
    trial_set(f.runs[1][0], METRIC_MEMORY, mib, 1, 1048576 * 1.03);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    trial_set(f.runs[1][0], METRIC_MEMORY, mib, 1, 1048576 * 0.5);
    g_assert_cmpint(judge(&f), ==, VERDICT_FASTER);
    end(&f);
    begin(&f, 2, 2); /* of simulations a step is enough; their runs should agree */
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 2; i++) {
            f.runs[k][i]->simulated = true;
            trial_set(f.runs[k][i], METRIC_STEP, even, 1, STEP_NS * (k && i ? 1.2 : 1));
        }
    g_assert_cmpint(judge(&f), ==, VERDICT_AMBIGUOUS);
    trial_set(f.runs[1][0], METRIC_STEP, even, 1, STEP_NS * 1.2);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    end(&f);
}

/* A step that cannot be compared leaves nothing to its parts, but to memory. */
static void test_step_lost(void)
{
    static const double wild[] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, mib[] = {100};
    struct fixture f;
    equal_sides(&f);
    trial_set(f.runs[1][0], METRIC_STEP, wild, G_N_ELEMENTS(wild), STEP_NS);
    trial_set(f.runs[0][0], METRIC_IDLE, even, G_N_ELEMENTS(even), 0.1 * STEP_NS);
    trial_set(f.runs[1][0], METRIC_IDLE, even, G_N_ELEMENTS(even), 0.5 * STEP_NS);
    because(&f, VERDICT_INCOMPARABLE, "NEW is too noisy");
    trial_set(f.runs[0][0], METRIC_MEMORY, mib, 1, 1048576);
    trial_set(f.runs[1][0], METRIC_MEMORY, mib, 1, 2 * 1048576);
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    g_assert_cmpuint(f.c.armed, ==, 1);
    end(&f);
}

/* What drifts cannot be compared; a rise that is no more than runs of one side are apart says nothing. */
static void test_moves(void)
{
    struct fixture f;
    double x[G_N_ELEMENTS(even)];
    equal_sides(&f);
    for (unsigned i = 0; i < G_N_ELEMENTS(even); i++)
        x[i] = even[i] + 0.012 * i;
    trial_set(f.runs[1][0], METRIC_STEP, x, G_N_ELEMENTS(even), STEP_NS);
    because(&f, VERDICT_INCOMPARABLE, "NEW drifts: it moves by 12.");
    end(&f);
    begin(&f, 2, 2);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 2; i++)
            trial_set(f.runs[k][i], METRIC_STEP, even, G_N_ELEMENTS(even),
                      STEP_NS * (1 + 0.118 * k + 0.08 * i));
    g_assert_cmpint(judge(&f), !=, VERDICT_SLOWER);
    for (unsigned i = 0; i < 2; i++)
        trial_set(f.runs[i][1], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * (1.005 + 0.118 * i));
    g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
    end(&f);
}

/* Six runs a side are six numbers, their medians; with five the steps count. */
static void test_units(void)
{
    struct fixture f;
    for (uint32_t runs = 5; runs < 7; runs++) {
        begin(&f, runs, runs);
        for (unsigned k = 0; k < 2; k++)
            for (uint32_t i = 0; i < runs; i++)
                trial_set(f.runs[k][i], METRIC_STEP, even, 3 + i, STEP_NS);
        judge(&f);
        g_assert_true(f.c.by_run == (runs == 6));
        g_assert_cmpuint(f.c.of[METRIC_STEP].n[0], ==, runs == 6 ? 6 : 3 + 4 + 5 + 6 + 7);
        end(&f);
    }
}

/* --- outputs */

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void well_formed(const char *xml)
{
    static const GMarkupParser nothing = {0};
    g_autoptr(GError) error = NULL;
    GMarkupParseContext *context = g_markup_parse_context_new(&nothing, 0, NULL, NULL);
    g_markup_parse_context_parse(context, xml, -1, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
}

#define HOSTILE "a|b<script>&\"'`*_[x](y)\n\x01\xff%0A::error::\\|"

/* Names and reasons that are markup everywhere; failures and skips are counted alike. */
static void test_outputs(void)
{
    struct fixture f;
    equal_sides(&f);
    trial_set(f.runs[1][0], METRIC_STEP, even, G_N_ELEMENTS(even), STEP_NS * 1.2);
    for (unsigned k = 0; k < 2; k++) {
        g_free(f.runs[k][0]->name);
        f.runs[k][0]->name = g_strdup(HOSTILE);
        trial_set(f.runs[k][0], METRIC_IDLE, even, 3, STEP_NS);
    }
    g_strfreev(f.runs[1][0]->fingerprint.may);
    f.runs[1][0]->fingerprint.may = g_strsplit(HOSTILE "\t" HOSTILE, "\t", -1);
    for (unsigned strict = 0; strict < 2; strict++) {
        g_autoptr(GString) xml = g_string_new(NULL), md = g_string_new(NULL), json = g_string_new(NULL),
                           notes = g_string_new(NULL), text = g_string_new(NULL);
        const struct compared_sides sides = {f.side[0], f.side[1], strict, "compare"};
        g_assert_cmpint(judge(&f), ==, VERDICT_SLOWER);
        comparison_junit(&f.c, &sides, xml);
        comparison_markdown(&f.c, &sides, MARKDOWN_ROOM, md);
        comparison_json(&f.c, &sides, json);
        comparison_annotations(&f.c, &sides, notes);
        comparison_print(&f.c, &sides, text);
        well_formed(xml->str);
        g_assert_nonnull(strstr(xml->str, strict ? "tests=\"2\" failures=\"2\" errors=\"0\" skipped=\"0\""
                                                 : "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""));
        g_assert_cmpuint(count(xml->str, "<testcase "), ==, 2);
        g_assert_cmpuint(count(xml->str, "<failure "), ==, 1 + strict);
        g_assert_cmpuint(count(xml->str, "<skipped "), ==, 1 - strict);
        g_assert_cmpuint(count(notes->str, "\n"), ==, 1 + strict);
        g_assert_cmpuint(count(json->str, "{\"metric\": "), ==, 2);
        g_assert_null(strpbrk(md->str, "<>`&") ? strstr(md->str, "<script") : NULL);
        g_assert_null(strstr(md->str, "a|b"));
        g_auto(GStrv) lines = g_strsplit(md->str, "\n", -1);
        for (char **line = lines; *line; line++)
            if (**line == '|')
                g_assert_cmpuint(count(*line, "|"), ==, 8);
        g_assert_true(g_utf8_validate(md->str, -1, NULL) && g_utf8_validate(xml->str, -1, NULL));
        g_assert_null(strpbrk(text->str, "\x01\xff"));
    }
    end(&f);
}

/* As a whole incomparable: one case, with the reason. */
static void test_outputs_of_nothing(void)
{
    struct fixture f;
    g_autoptr(GString) xml = g_string_new(NULL), md = g_string_new(NULL);
    equal_sides(&f);
    f.runs[1][0]->why_not = g_strdup(HOSTILE);
    judge(&f);
    const struct compared_sides sides = {f.side[0], f.side[1], false, "compare"};
    comparison_junit(&f.c, &sides, xml);
    comparison_markdown(&f.c, &sides, MARKDOWN_ROOM, md);
    well_formed(xml->str);
    g_assert_cmpuint(count(xml->str, "<skipped "), ==, 1);
    g_assert_nonnull(strstr(xml->str, "&lt;script&gt;"));
    g_assert_null(strstr(md->str, "<script"));
    end(&f);
}

static void test_room(void)
{
    struct fixture f;
    equal_sides(&f);
    g_free(f.runs[1][0]->name);
    f.runs[1][0]->name = g_strnfill(3000000, '|');
    judge(&f);
    const struct compared_sides sides = {f.side[0], f.side[1], false, "compare"};
    for (gsize room = 0; room < 200; room += 13) {
        g_autoptr(GString) md = g_string_new("before");
        comparison_markdown(&f.c, &sides, room, md);
        g_assert_cmpuint(md->len, <=, 6 + room);
    }
    g_autoptr(GString) md = g_string_new(NULL);
    comparison_markdown(&f.c, &sides, MARKDOWN_ROOM, md);
    g_assert_cmpuint(md->len, <=, 1048576);
    g_assert_cmpuint(md->len, >, 1000000);
    end(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/verdict/false-alarms", test_false_alarms);
    g_test_add_func("/verdict/found", test_found);
    g_test_add_func("/verdict/promises", test_promises);
    g_test_add_func("/verdict/dependent", test_dependent);
    g_test_add_func("/verdict/wander", test_wander);
    g_test_add_func("/verdict/found-of-runs", test_found_of_runs);
    g_test_add_func("/verdict/incomparable", test_incomparable);
    g_test_add_func("/verdict/thresholds", test_thresholds);
    g_test_add_func("/verdict/parts", test_parts);
    g_test_add_func("/verdict/exact", test_exact);
    g_test_add_func("/verdict/step-lost", test_step_lost);
    g_test_add_func("/verdict/moves", test_moves);
    g_test_add_func("/verdict/units", test_units);
    g_test_add_func("/verdict/outputs", test_outputs);
    g_test_add_func("/verdict/outputs-of-nothing", test_outputs_of_nothing);
    g_test_add_func("/verdict/room", test_room);
    return g_test_run();
}
