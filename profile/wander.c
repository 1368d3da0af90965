#include "profile/wander.h"

#include <math.h>

#include <glib.h>

#include "profile/stats.h"

#define Z_REACH 2.3263478740408408 /* 99 % of a normal distribution lie below */

struct sums {
    double products, squares;
};

static void add_side(struct sums *sums, const double *x, uint32_t n)
{
    double mean = 0;
    for (uint32_t i = 0; i < n; i++)
        mean += x[i] / n;
    for (uint32_t i = 0; i < n; i++) {
        sums->squares += (x[i] - mean) * (x[i] - mean);
        sums->products += i ? (x[i] - mean) * (x[i - 1] - mean) : 0;
    }
}

struct wander wander_of(const double *base, uint32_t n1, const double *new, uint32_t n2)
{
    struct sums sums = {0};
    add_side(&sums, base, n1);
    add_side(&sums, new, n2);
    const double freedom = (double)n1 + n2 - 2, n = ((double)n1 + n2) / 2,
                 r = sums.squares > 0 ? sums.products / sums.squares : 0,
                 rho = CLAMP(r + (1 + 4 * r) / n, 0, WANDER_MOST), s = sqrt(sums.squares / freedom),
                 root = sqrt(WANDER_HIDDEN * (1 + rho) / (1 - rho));
    return (struct wander){rho, stats_student(Z_REACH, freedom) * s * sqrt(1.0 / n1 + 1.0 / n2) * root};
}
