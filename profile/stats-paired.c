#include "profile/stats.h"

#include <math.h>
#include <stdlib.h>

#include <glib.h>

/* ways[s]: how many sets of the n ranks have the sum s, below `sums`. */
static double *count_sums(const uint32_t *ranks, uint32_t n, uint32_t sums)
{
    double *ways = g_new0(double, sums);
    ways[0] = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t s = sums; s-- > ranks[i];)
            ways[s] += ways[s - ranks[i]];
    return ways;
}

static int by_size(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Without zeros, by size, with twice their ranks, so that the mean rank of equals is whole.  Returns how
 * many. */
static uint32_t rank_sizes(const double *d, uint32_t n, double *sizes, uint32_t *ranks)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++)
        if (fabs(d[i]) > 0)
            sizes[m++] = d[i];
    qsort(sizes, m, sizeof *sizes, by_size);
    for (uint32_t i = 0, end; i < m; i = end) {
        for (end = i + 1; end < m && fabs(sizes[end]) <= fabs(sizes[i]);)
            end++;
        for (uint32_t k = i; k < end; k++)
            ranks[k] = i + 1 + end;
    }
    return m;
}

struct signed_rank stats_signed_rank(const double *d, uint32_t n)
{
    g_autofree double *sizes = g_new(double, n);
    g_autofree uint32_t *ranks = g_new(uint32_t, n);
    uint32_t all = 0, sum = 0;
    struct signed_rank test = {0, 0};
    g_assert(n <= STATS_PAIRS_MAX);
    n = rank_sizes(d, n, sizes, ranks);
    for (uint32_t i = 0; i < n; i++) {
        all += ranks[i];
        sum += sizes[i] > 0 ? ranks[i] : 0;
    }
    g_autofree double *ways = count_sums(ranks, n, all + 1);
    for (uint32_t s = 0; s <= all; s++) {
        test.more += s >= sum ? ways[s] : 0;
        test.less += s <= sum ? ways[s] : 0;
    }
    test.more = ldexp(test.more, -(int)n);
    test.less = ldexp(test.less, -(int)n);
    return test;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the n (n + 1) / 2 means lie outside on each side: the most with P(W < that) <= part. */
static uint32_t outside(uint32_t n, double part)
{
    const uint32_t all = n * (n + 1) / 2;
    g_autofree uint32_t *ranks = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = i + 1;
    g_autofree double *ways = count_sums(ranks, n, all + 1);
    double below = 0;
    uint32_t k = 0;
    while (k < all / 2 && ldexp(below += ways[k], -(int)n) <= part)
        k++;
    return k;
}

double stats_paired_shift(const double *d, uint32_t n, double part, double *ci)
{
    const uint32_t all = n * (n + 1) / 2;
    g_autofree double *means = g_new(double, all);
    uint32_t m = 0;
    g_assert(n >= 1 && n <= STATS_PAIRS_MAX);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i; k < n; k++)
            means[m++] = (d[i] + d[k]) / 2;
    qsort(means, all, sizeof *means, by_number);
    const uint32_t k = outside(n, part);
    ci[0] = k ? means[k - 1] : -INFINITY;
    ci[1] = k ? means[all - k] : INFINITY;
    return (means[(all - 1) / 2] + means[all / 2]) / 2;
}
