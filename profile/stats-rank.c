#include "profile/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

struct ranked {
    double x;
    uint32_t rank; /* twice its rank from 1, so that the mean rank of equals is whole */
    bool second;   /* of b */
};

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->x, y = ((const struct ranked *)b)->x;
    return (x > y) - (x < y);
}

/* Ascending, with their ranks.  *ties: the sum of t^3 - t over groups of t equals. */
static struct ranked *rank_all(const double *a, uint32_t na, const double *b, uint32_t nb, double *ties)
{
    const uint32_t n = na + nb;
    struct ranked *all = g_new(struct ranked, n);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct ranked){i < na ? a[i] : b[i - na], 0, i >= na};
    qsort(all, n, sizeof *all, by_value);
    *ties = 0;
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && all[end].x <= all[i].x;)
            end++;
        const double t = end - i;
        *ties += t * t * t - t;
        for (uint32_t k = i; k < end; k++)
            all[k].rank = i + 1 + end;
    }
    return all;
}

/* ways[k * sums + s]: how many sets of k of the ranks have the sum s. */
static double *count_sets(const struct ranked *all, uint32_t n, uint32_t most, uint32_t sums)
{
    double *ways = g_new0(double, (gsize)(most + 1) * sums);
    ways[0] = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = MIN(i + 1, most); k > 0; k--) {
            double *to = &ways[(gsize)k * sums];
            const double *from = to - sums;
            for (uint32_t s = all[i].rank; s < sums; s++)
                to[s] += from[s - all[i].rank];
        }
    return ways;
}

/* Of the smaller group's rank sum, `sum` (doubled). */
static double exact_p(const struct ranked *all, uint32_t n, uint32_t smaller, uint32_t sum)
{
    uint32_t sums = 1;
    for (uint32_t i = n - smaller; i < n; i++)
        sums += all[i].rank;
    g_autofree double *ways = count_sets(all, n, smaller, sums);
    const double *own = &ways[(gsize)smaller * sums];
    double below = 0, above = 0, total = 0;
    for (uint32_t s = 0; s < sums; s++) {
        total += own[s];
        below += s <= sum ? own[s] : 0;
        above += s >= sum ? own[s] : 0;
    }
    return MIN(1, 2 * MIN(below, above) / total);
}

struct rank_test stats_mann_whitney(const double *a, uint32_t na, const double *b, uint32_t nb)
{
    const uint32_t n = na + nb;
    double ties, sum = 0;
    g_autofree struct ranked *all = rank_all(a, na, b, nb, &ties);
    for (uint32_t i = 0; i < n; i++)
        sum += all[i].second ? all[i].rank : 0;
    const double pairs = (double)na * nb, u = (sum - (double)nb * (nb + 1)) / 2, off = u - pairs / 2;
    const double variance = pairs / 12 * (n + 1 - ties / ((double)n * (n - 1)));
    struct rank_test test = {u, 1, variance > 0 ? off / sqrt(variance) : 0, n <= STATS_EXACT_MAX};
    if (test.exact)
        test.p = exact_p(all, n, MIN(na, nb), (uint32_t)(nb <= na ? sum : (double)n * (n + 1) - sum));
    else if (variance > 0)
        test.p = MIN(1, stats_normal_tails(MAX(0, fabs(off) - 0.5) / sqrt(variance)));
    return test;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct trend stats_trend(const double *x, uint32_t n)
{
    struct trend t = {0};
    double ties;
    if (n < 2)
        return t;
    g_autofree double *slopes = g_new(double, (gsize)n *(n - 1) / 2);
    size_t pairs = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++) {
            t.s += (x[k] > x[i]) - (x[k] < x[i]);
            slopes[pairs++] = (x[k] - x[i]) / (k - i);
        }
    qsort(slopes, pairs, sizeof *slopes, by_number);
    t.slope = (slopes[(pairs - 1) / 2] + slopes[pairs / 2]) / 2;
    struct ranked *all = rank_all(x, n, NULL, 0, &ties);
    /* Kendall, Rank Correlation Methods, for ties in one variable: t(t-1)(2t+5) over groups of t. */
    t.variance = (double)n * (n - 1) * (2.0 * n + 5);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && all[end].rank == all[i].rank;)
            end++;
        const double equal = end - i;
        t.variance -= equal * (equal - 1) * (2 * equal + 5);
    }
    t.variance /= 18;
    g_free(all);
    return t;
}
