#include "profile/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <glib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *x, uint32_t n)
{
    double *copy = g_memdup2(x, n * sizeof *x);
    qsort(copy, n, sizeof *copy, compare);
    return copy;
}

static double middle(const double *ascending, uint32_t n)
{
    return (ascending[(n - 1) / 2] + ascending[n / 2]) / 2;
}

double stats_median(const double *x, uint32_t n)
{
    g_autofree double *copy = sorted(x, n);
    return middle(copy, n);
}

double stats_mad(const double *x, uint32_t n)
{
    const double median = stats_median(x, n);
    g_autofree double *away = g_new(double, n);
    for (uint32_t i = 0; i < n; i++)
        away[i] = fabs(x[i] - median);
    return stats_median(away, n);
}

uint64_t stats_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* The median of n draws; counts: room for n. */
static double draw_median(const double *ascending, uint32_t n, uint32_t *counts, uint64_t *state)
{
    const uint32_t low = (n - 1) / 2, high = n / 2;
    uint32_t at = 0, seen;
    memset(counts, 0, n * sizeof *counts);
    for (uint32_t i = 0; i < n; i++)
        counts[(uint32_t)(((stats_random(state) >> 32) * n) >> 32)]++;
    for (seen = counts[0]; seen <= low; seen += counts[at])
        at++;
    const double first = ascending[at];
    for (; seen <= high; seen += counts[at])
        at++;
    return (first + ascending[at]) / 2;
}

static double quantile(const double *ascending, uint32_t n, double part)
{
    const double place = part * (n - 1);
    const uint32_t at = (uint32_t)place;
    const double next = ascending[MIN(at + 1, n - 1)];
    return ascending[at] + (place - at) * (next - ascending[at]);
}

void stats_bootstrap(const double *a, uint32_t na, const double *b, uint32_t nb, double level, double *ci)
{
    g_autofree double *x = sorted(a, na), *y = sorted(b, nb), *drawn = g_new(double, STATS_RESAMPLES);
    g_autofree uint32_t *counts = g_new(uint32_t, MAX(na, nb));
    uint64_t state = 1;
    for (unsigned i = 0; i < STATS_RESAMPLES; i++) {
        const double from = draw_median(x, na, counts, &state);
        drawn[i] = draw_median(y, nb, counts, &state) - from;
    }
    qsort(drawn, STATS_RESAMPLES, sizeof *drawn, compare);
    ci[0] = quantile(drawn, STATS_RESAMPLES, (1 - level) / 2);
    ci[1] = quantile(drawn, STATS_RESAMPLES, (1 + level) / 2);
}

void stats_holm(const double *p, unsigned n, double *adjusted)
{
    double least = 0;
    g_autofree bool *done = g_new0(bool, n);
    for (unsigned left = n; left > 0; left--) {
        unsigned next = n;
        for (unsigned i = 0; i < n; i++)
            if (!done[i] && (next == n || p[i] < p[next]))
                next = i;
        least = MAX(least, MIN(1, p[next] * left));
        adjusted[next] = least;
        done[next] = true;
    }
}

void stats_autocorrelation(const double *x, uint32_t n, struct autocorrelation *sum)
{
    const double median = stats_median(x, n);
    for (uint32_t i = 0; i < n; i++) {
        sum->squares += (x[i] - median) * (x[i] - median);
        sum->products += i ? (x[i] - median) * (x[i - 1] - median) : 0;
    }
    sum->n += n;
}

double stats_normal_tails(double z)
{
    return erfc(fabs(z) / G_SQRT2);
}

double stats_normal_z(double p)
{
    double low = 0, high = 12;
    for (unsigned i = 0; i < 50; i++) {
        const double z = (low + high) / 2;
        if (stats_normal_tails(z) > p)
            low = z;
        else
            high = z;
    }
    return low;
}

double stats_student(double z, double freedom)
{
    const double z2 = z * z, first = (z2 + 1) * z / 4, second = ((5 * z2 + 16) * z2 + 3) * z / 96,
                 third = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
    return z + (first + (second + third / freedom) / freedom) / freedom;
}
