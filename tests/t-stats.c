/* Statistics against what SciPy says of the same samples; tests/golden/stats-scipy.txt names its version. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/stats.h"
#include "tests/tap.h"

#define NUMBERS_MAX 256

struct row {
    char name[8];
    double x[NUMBERS_MAX];
    unsigned n, at;
};

static uint32_t count(struct row *r)
{
    return (uint32_t)r->x[r->at++];
}

static const double *take(struct row *r, uint32_t n)
{
    g_assert_cmpuint(r->at + n, <=, r->n);
    r->at += n;
    return &r->x[r->at - n];
}

/* Calls `check` with every row of that name; there is one at least. */
static void each(const char *name, void (*check)(struct row *))
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "golden", "stats-scipy.txt", NULL),
                    *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_true(g_str_has_prefix(text, "# SciPy "));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned seen = 0;
    for (char **line = lines; *line; line++) {
        g_auto(GStrv) words = g_strsplit(*line, " ", -1);
        struct row row = {.n = 0};
        if (!words[0] || strcmp(words[0], name))
            continue;
        for (char **word = words + 1; *word; word++)
            row.x[row.n++] = g_ascii_strtod(*word, NULL);
        check(&row);
        g_assert_cmpuint(row.at, ==, row.n);
        seen++;
    }
    g_assert_cmpuint(seen, >, 0);
}

static void near(double x, double wanted, double relative)
{
    if (!(fabs(x - wanted) <= relative * fabs(wanted) + 1e-12))
        g_error("%.17g, should be %.17g", x, wanted);
}

static void check_u(struct row *r, bool exact)
{
    const uint32_t na = count(r), nb = count(r);
    const double *a = take(r, na), *b = take(r, nb), *wanted = take(r, 2);
    const struct rank_test test = stats_mann_whitney(a, na, b, nb), back = stats_mann_whitney(b, nb, a, na);
    g_assert_true(test.exact == exact);
    near(test.u, wanted[0], 0);
    near(test.p, wanted[1], 1e-10);
    near(back.u, (double)na * nb - wanted[0], 0);
    near(back.p, wanted[1], 1e-10);
}

static void check_exact(struct row *r)
{
    check_u(r, true);
}

static void check_normal(struct row *r)
{
    check_u(r, false);
}

static void test_mann_whitney(void)
{
    static const double same[] = {3, 3, 3, 3, 3, 3};
    each("u", check_exact);
    each("norm", check_normal);
    g_assert_cmpfloat(stats_mann_whitney(same, 6, same, 6).p, ==, 1);
    g_assert_cmpfloat(stats_mann_whitney(same, 6, same, 6).z, ==, 0);
}

/* Two bootstraps draw otherwise: their ends differ by a part of the width. */
static void check_bootstrap(struct row *r)
{
    const uint32_t na = count(r), nb = count(r);
    const double *a = take(r, na), *b = take(r, nb), *wanted = take(r, 2);
    double ci[2], again[2];
    stats_bootstrap(a, na, b, nb, 0.95, ci);
    stats_bootstrap(a, na, b, nb, 0.95, again);
    g_assert_cmpmem(ci, sizeof ci, again, sizeof again);
    const double width = wanted[1] - wanted[0];
    g_assert_cmpfloat(fabs(ci[0] - wanted[0]), <, 0.06 * width);
    g_assert_cmpfloat(fabs(ci[1] - wanted[1]), <, 0.06 * width);
}

static void test_bootstrap(void)
{
    static const double one[] = {5}, other[] = {7};
    double ci[2];
    each("boot", check_bootstrap);
    stats_bootstrap(one, 1, other, 1, 0.95, ci);
    g_assert_cmpfloat(ci[0], ==, 2);
    g_assert_cmpfloat(ci[1], ==, 2);
}

/* Of all 2^n ways to give the differences signs. */
static void check_signs(const double *d, uint32_t n)
{
    double own = 0, more = 0, less = 0;
    double ranks[16];
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        double rank = 0.5;
        for (uint32_t k = 0; k < n; k++)
            rank += fabs(d[k]) > 0 ? (fabs(d[k]) < fabs(d[i])) + 0.5 * (fabs(d[k]) == fabs(d[i])) : 0;
        if (fabs(d[i]) > 0) {
            ranks[m++] = rank;
            own += d[i] > 0 ? rank : 0;
        }
    }
    for (uint32_t signs = 0; signs < 1u << m; signs++) {
        double sum = 0;
        for (uint32_t i = 0; i < m; i++)
            sum += signs >> i & 1 ? ranks[i] : 0;
        more += sum >= own;
        less += sum <= own;
    }
    const struct signed_rank test = stats_signed_rank(d, n);
    near(test.more, more / (1u << m), 1e-12);
    near(test.less, less / (1u << m), 1e-12);
}

/* Two-sided 5 % and 1 % of Wilcoxon and Wilcox's table of 1964: the largest sum that is significant. */
static void test_signed_rank(void)
{
    static const struct {
        uint32_t n, sum;
        double p;
    } table[] = {{6, 0, 0.025}, {8, 3, 0.025},  {12, 13, 0.025}, {16, 29, 0.025}, {25, 89, 0.025},
                 {8, 0, 0.005}, {12, 7, 0.005}, {16, 19, 0.005}, {25, 68, 0.005}, {50, 373, 0.005}};
    double d[STATS_PAIRS_MAX];
    uint64_t state = 3;
    for (uint32_t n = 1; n <= 12; n++)
        for (unsigned i = 0; i < 20; i++) {
            for (uint32_t k = 0; k < n; k++) /* whole numbers: zeros and equals among them */
                d[k] = (double)(stats_random(&state) % (i % 2 ? 1000000 : 9)) - (i % 2 ? 400000 : 3);
            check_signs(d, n);
        }
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++)
        for (uint32_t over = 0; over < 2; over++) {
            uint32_t left = table[i].sum + over; /* as a sum of ranks, the largest first */
            for (uint32_t k = table[i].n; k > 0; k--) {
                d[k - 1] = left >= k ? k : -(double)k;
                left -= left >= k ? k : 0;
            }
            g_assert_true((stats_signed_rank(d, table[i].n).less <= table[i].p) == !over);
        }
}

/* The interval is what the test does not reject: moved by its ends, the differences are just as unlikely as
 * asked. */
static void test_paired_shift(void)
{
    double d[40], moved[40], ci[2];
    uint64_t state = 5;
    for (uint32_t n = 5; n <= 40; n += 5) {
        const double part = n < 8 ? 1.0 / 32 : 0.01;
        for (uint32_t k = 0; k < n; k++)
            d[k] = 3 + (double)(stats_random(&state) >> 40) / 1e6;
        const double shift = stats_paired_shift(d, n, part, ci);
        g_assert_true(ci[0] < shift && shift < ci[1]);
        for (unsigned end = 0; end < 4; end++) { /* just within, just beyond, of both */
            for (uint32_t k = 0; k < n; k++)
                moved[k] = d[k] - ci[end / 2] + (end % 2 == end / 2 ? 1e-9 : -1e-9);
            const struct signed_rank test = stats_signed_rank(moved, n);
            g_assert_true(((end / 2 ? test.less : test.more) <= part) == (end % 2 == 0));
        }
    }
    g_assert_cmpfloat(stats_paired_shift(d, 4, 0.01, ci), ==, stats_paired_shift(d, 4, 0.5, moved));
    g_assert_true(isinf(ci[0]) && isinf(ci[1]));
}

static void test_normal(void)
{
    near(stats_normal_z(0.05), 1.959963984540054, 1e-9); /* NIST's table */
    near(stats_normal_z(0.002), 3.090232306167814, 1e-9);
    near(stats_student(stats_normal_z(0.02), 10), 2.764, 0.002); /* NIST's table of Student's t, 1.3.6.7.2 */
    near(stats_student(stats_normal_z(0.02), 22), 2.508, 0.001);
    near(stats_student(stats_normal_z(0.002), 10), 4.144, 0.01);
}

static void check_holm(struct row *r)
{
    const uint32_t n = count(r);
    const double *p = take(r, n), *wanted = take(r, n);
    double adjusted[16];
    stats_holm(p, n, adjusted);
    for (uint32_t i = 0; i < n; i++)
        near(adjusted[i], wanted[i], 1e-14);
}

static void test_holm(void)
{
    each("holm", check_holm);
}

static void check_trend(struct row *r)
{
    const uint32_t n = count(r);
    const double *x = take(r, n), *wanted = take(r, 4);
    const struct trend t = stats_trend(x, n);
    near(t.s, wanted[0], 0);
    near(t.variance, wanted[1], 1e-9);
    near(t.slope, wanted[2], 1e-12);
    near(stats_normal_tails(t.s / sqrt(t.variance)), wanted[3], 1e-9);
}

static void test_trend(void)
{
    static const double flat[] = {4, 4, 4};
    each("tau", check_trend);
    g_assert_cmpfloat(stats_trend(flat, 3).variance, ==, 0);
    g_assert_cmpfloat(stats_trend(flat, 1).slope, ==, 0);
}

static void check_mad(struct row *r)
{
    const uint32_t n = count(r);
    const double *x = take(r, n), *wanted = take(r, 2);
    near(stats_median(x, n), wanted[0], 1e-14);
    near(stats_mad(x, n), wanted[1], 1e-12);
}

static void test_mad(void)
{
    each("mad", check_mad);
}

/* By hand: deviations -1 0 1 0 from the median 5: products 0 + 0 + 0, then -1 1 -1 1. */
static void test_autocorrelation(void)
{
    static const double wave[] = {4, 5, 6, 5}, saw[] = {4, 6, 4, 6};
    struct autocorrelation sum = {0};
    stats_autocorrelation(wave, 4, &sum);
    g_assert_cmpfloat(sum.products, ==, 0);
    g_assert_cmpfloat(sum.squares, ==, 2);
    stats_autocorrelation(saw, 4, &sum);
    g_assert_cmpfloat(sum.products, ==, -3);
    g_assert_cmpfloat(sum.squares, ==, 6);
    g_assert_cmpuint(sum.n, ==, 8);
}

/* Every value as often as the others, within what chance allows (chi-square of 15 degrees, 0.1 %). */
static void test_random(void)
{
    uint64_t state = 7;
    double chi = 0;
    unsigned counts[16] = {0};
    enum { DRAWS = 160000 };
    for (unsigned i = 0; i < DRAWS; i++)
        counts[stats_random(&state) >> 60]++;
    for (unsigned i = 0; i < 16; i++)
        chi += (counts[i] - DRAWS / 16.0) * (counts[i] - DRAWS / 16.0) / (DRAWS / 16.0);
    g_assert_cmpfloat(chi, <, 37.7);
    state = 0; /* the first number of splitmix64 from 0, Steele, Lea and Flood */
    g_assert_cmphex(stats_random(&state), ==, 0xe220a8397b1dcdaf);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/stats/mann-whitney", test_mann_whitney);
    g_test_add_func("/stats/bootstrap", test_bootstrap);
    g_test_add_func("/stats/signed-rank", test_signed_rank);
    g_test_add_func("/stats/paired-shift", test_paired_shift);
    g_test_add_func("/stats/normal", test_normal);
    g_test_add_func("/stats/holm", test_holm);
    g_test_add_func("/stats/trend", test_trend);
    g_test_add_func("/stats/mad", test_mad);
    g_test_add_func("/stats/autocorrelation", test_autocorrelation);
    g_test_add_func("/stats/random", test_random);
    return g_test_run();
}
