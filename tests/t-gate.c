/* The rule of `parprof gate` as a gate: how often its sequence of looks is wrong about noise of many kinds,
 * against what profile/gate.h promises; and what it says of cases made by hand. */
#include <string.h>

#include "profile/compare-out.h"
#include "profile/gate.h"
#include "tests/tap.h"
#include "tests/trial.h"

enum { REPEATS = 2000, PAIRS = 64 };

static struct rates try(struct noise_of noise, double rise)
{
    return trial_gate(&(struct trial){noise, PAIRS, 1, rise, 42}, tap_cases(REPEATS));
}

/* Of fewer repeats chance may give more than the true rate: three deviations of it are allowed. */
static void below(const struct rates *r, unsigned n, double rate, const char *what)
{
    const double chance = 3 * sqrt(rate * (1 - rate) / r->repeats) * (r->repeats < REPEATS);
    g_test_message("%s: %u of %u", what, n, r->repeats);
    if (n >= (rate + chance) * r->repeats)
        g_error("%s: %u of %u, should be below %.1f %%", what, n, r->repeats, 100 * (rate + chance));
}

/* The looks together spend what the header says, no more; what the signs of few pairs can show fits. */
static void test_spending(void)
{
    double alpha = 0, beta = 0;
    for (unsigned i = 0; i < GATE_LOOKS; i++) {
        alpha += gate_looks[i].alpha;
        beta += gate_looks[i].beta;
        g_assert_cmpuint(gate_looks[i].pairs % 2, ==, 0);
        g_assert_true(gate_looks[i].alpha <= 0 || ldexp(1, -(int)gate_looks[i].pairs) <= gate_looks[i].alpha);
        g_assert_cmpfloat(ldexp(1, -(int)gate_looks[i].pairs), <=, gate_looks[i].beta);
    }
    g_assert_cmpfloat(alpha, <=, GATE_FALSE + 1e-12);
    g_assert_cmpfloat(beta, <=, GATE_MISSED + 1e-12);
    g_assert_cmpfloat(GATE_FALSE, <, 0.01);
    g_assert_true(gate_next_look(0) == &gate_looks[0] && gate_next_look(6)->pairs == 8 &&
                  !gate_next_look(gate_looks[GATE_LOOKS - 1].pairs));
}

/* At the place t of each run a drift of t and of t^2 adds to both sides alike. */
static void test_order(void)
{
    for (uint32_t pairs = 2; pairs <= 64; pairs += 2) {
        int64_t once = 0, twice = 0;
        for (uint32_t k = 0; k < pairs; k++) {
            const int64_t base = 2 * k + gate_new_first(k), new = 2 * k + !gate_new_first(k);
            once += new - base;
            twice += new *new - base *base;
        }
        g_assert_cmpint(once, ==, 0);
        g_assert_true(pairs % 4 || twice == 0);
    }
}

/* Where the noise is as large as the threshold, so that chance alone could call a difference. */
static void test_false_alarms(void)
{
    static const struct noise_of cases[] = {{NOISE_GAUSSIAN, 0.02},      {NOISE_GAUSSIAN, 0.06},
                                            {NOISE_GAUSSIAN, 0.15},      {NOISE_BIMODAL, 0.01, 0.12},
                                            {NOISE_BIMODAL, 0.01, 0.30}, {NOISE_HEAVY, 0.04},
                                            {NOISE_HEAVY, 0.10}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct rates r = try(cases[i], 0);
        below(&r, r.of[VERDICT_SLOWER], 0.01, "equal programs called slower");
        below(&r, r.of[VERDICT_FASTER], 0.01, "equal programs called faster");
    }
}

static void test_found(void)
{
    for (unsigned i = 1; i <= 4; i++) {
        const struct noise_of noise = {NOISE_GAUSSIAN, 0.015 * i};
        struct rates r = try(noise, 0.10);
        below(&r, r.repeats - r.of[VERDICT_SLOWER], 0.05, "a rise of twice the threshold missed");
        r = try(noise, -0.10);
        below(&r, r.repeats - r.of[VERDICT_FASTER], 0.05, "a fall of twice the threshold missed");
        r = try(noise, 0.05);
        below(&r, r.of[VERDICT_SAME], GATE_MISSED, "a rise of the threshold called the same");
    }
}

/* What it says that it detects, it does; and quiet programs are done after few pairs. */
static void test_promises(void)
{
    for (unsigned i = 1; i <= 3; i++) {
        const struct noise_of noise = {NOISE_GAUSSIAN, 0.01 * i};
        const struct rates same = try(noise, 0), r = try(noise, same.detects);
        below(&r, r.repeats - r.of[VERDICT_SLOWER], 0.20, "a rise of what it detects missed");
        below(&same, same.repeats - same.of[VERDICT_SAME], 0.05, "equal programs not called the same");
    }
    const struct rates quiet = try((struct noise_of){NOISE_GAUSSIAN, 0.005}, 0);
    g_assert_cmpfloat(quiet.pairs, <, 6.1);
}

/* A drift goes out; a slow wander is in both runs of a pair.  Neither makes a difference, nor hides one. */
static void test_dependent(void)
{
    static const struct noise_of cases[] = {{NOISE_DRIFT, 0.01, 0.5},      {NOISE_DRIFT, 0.02, 1.0},
                                            {NOISE_DRIFT, 0.05, 3.0},      {NOISE_CORRELATED, 0.04, 0.8},
                                            {NOISE_CORRELATED, 0.12, 0.9}, {NOISE_CORRELATED, 0.12, 0.5},
                                            {NOISE_CORRELATED, 0.3, 0.5},  {NOISE_CORRELATED, 0.3, 0.9}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct rates r = try(cases[i], 0);
        g_autofree char *what = g_strdup_printf("%s noise %u called slower", noise_name(cases[i].kind), i);
        below(&r, r.of[VERDICT_SLOWER], 0.01, what);
    }
    const struct rates drift = try(cases[0], 0.10);
    below(&drift, drift.repeats - drift.of[VERDICT_SLOWER], 0.05, "a rise under a drift missed");
}

/* --- by hand */

struct fixture {
    struct measurement *m[2];
    struct side side[2];
    struct comparison c;
};

static void begin(struct fixture *f, uint32_t pairs, double rise, double noise)
{
    double x[2][STATS_PAIRS_MAX];
    *f = (struct fixture){0};
    for (uint32_t i = 0; i < pairs; i++) {
        x[0][i] = 1 + noise * ((i * 7) % 5 - 2.0);
        x[1][i] = (1 + rise) * (1 + noise * ((i * 3) % 5 - 2.0));
    }
    for (unsigned k = 0; k < 2; k++) {
        f->m[k] = trial_measurement(k ? "./new" : "./base");
        trial_set(f->m[k], METRIC_STEP, x[k], pairs, TRIAL_STEP_NS);
        f->side[k] = (struct side){k ? "NEW" : "BASE", &f->m[k], 1};
    }
}

static int judge(struct fixture *f, double relative)
{
    comparison_release(&f->c);
    gate_compare(&f->side[0], &f->side[1], relative, &f->c);
    return f->c.verdict;
}

static void end(struct fixture *f)
{
    comparison_release(&f->c);
    measurement_free(f->m[0]);
    measurement_free(f->m[1]);
}

static void test_looks(void)
{
    struct fixture f;
    begin(&f, 5, 0, 0.001);
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_INCOMPARABLE);
    g_assert_cmpstr(f.c.why, ==, "5 pairs of runs, and 6 are needed");
    end(&f);
    begin(&f, 7, 0, 0.001); /* the look after 6: the 7th is not looked at */
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_SAME);
    g_assert_cmpuint(f.c.of[METRIC_STEP].n[0], ==, 6);
    f.m[1]->x[METRIC_STEP][6] = 1e12;
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_SAME);
    end(&f);
    begin(&f, 6, 0.10, 0.001); /* of 6 signs alone come out so too often */
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_AMBIGUOUS);
    end(&f);
    begin(&f, 8, 0.10, 0.001);
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_SLOWER);
    g_assert_cmpint(judge(&f, 0.12), ==, VERDICT_SAME);
    g_assert_cmpuint(f.c.armed, ==, 1);
    end(&f);
    begin(&f, 8, -0.10, 0.001);
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_FASTER);
    f.m[0]->why_not = g_strdup("it was hot");
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_INCOMPARABLE);
    g_assert_nonnull(strstr(f.c.why, "it was hot"));
    end(&f);
}

/* A time that is all noise of the clock: the floor of 20 us holds here too. */
static void test_floor(void)
{
    struct fixture f;
    begin(&f, 12, 0.15, 0.001);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 12; i++)
            f.m[k]->x[METRIC_STEP][i] /= 1000;
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_SAME);
    end(&f);
}

static void test_outputs(void)
{
    struct fixture f;
    g_autoptr(GString) text = g_string_new(NULL), json = g_string_new(NULL), xml = g_string_new(NULL),
                       md = g_string_new(NULL);
    begin(&f, 12, 0.10, 0.01);
    g_assert_cmpint(judge(&f, -1), ==, VERDICT_SLOWER);
    f.c.how = g_strdup("so it was");
    const struct compared_sides sides = {f.side[0], f.side[1], false, "gate"};
    comparison_print(&f.c, &sides, text);
    comparison_json(&f.c, &sides, json);
    comparison_junit(&f.c, &sides, xml);
    comparison_markdown(&f.c, &sides, MARKDOWN_ROOM, md);
    g_assert_nonnull(strstr(text->str, "BASE ./base, NEW ./new\n"));
    g_assert_nonnull(strstr(text->str, "n = 12 pairs, detects"));
    g_assert_nonnull(strstr(text->str, "so it was\n"));
    g_assert_nonnull(strstr(json->str, "\"samples_are\": \"pairs\""));
    g_assert_nonnull(strstr(json->str, "\"samples\": [[98000000, "));
    g_assert_nonnull(strstr(xml->str, "name=\"parprof gate\""));
    g_assert_nonnull(strstr(md->str, "### parprof gate: slower"));
    g_assert_nonnull(strstr(md->str, "so it was"));
    end(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/gate/spending", test_spending);
    g_test_add_func("/gate/order", test_order);
    g_test_add_func("/gate/false-alarms", test_false_alarms);
    g_test_add_func("/gate/found", test_found);
    g_test_add_func("/gate/promises", test_promises);
    g_test_add_func("/gate/dependent", test_dependent);
    g_test_add_func("/gate/looks", test_looks);
    g_test_add_func("/gate/floor", test_floor);
    g_test_add_func("/gate/outputs", test_outputs);
    return g_test_run();
}
