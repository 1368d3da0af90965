/* profile/wander.h -- how far apart two sides of runs come by a machine that wanders, though they are equal.
 *
 * A machine that is slow for a while makes neighbouring runs alike, and runs of one side are fewer numbers than they seem.
 * Of the medians of runs, in the order in which they ran:
 * r        the lag-1 autocorrelation, products and squares of deviations from each side's mean, both sides in one;
 * rho      r + (1 + 4 r) / n, as r of n numbers is low by as much (Kendall, Note on Bias in the Estimation of
 *          Autocorrelation; Marriott and Pope, Bias in the Estimation of Autocorrelations; both Biometrika 41, 1954), n the
 *          mean of both sides; 0 at least, WANDER_MOST at most;
 * s        the standard deviation within sides, of n1 + n2 - 2 degrees of freedom;
 * reach    t s sqrt(1 / n1 + 1 / n2) sqrt(WANDER_HIDDEN (1 + rho) / (1 - rho)), t the 99 % quantile of Student's t.
 * The last root is the inflation of a mean's error by an AR(1) process (Bayley and Hammersley, see profile/verdict.h).  6 to
 * 12 numbers do not tell rho = 0 from 0.9, which is what WANDER_HIDDEN is for: by it, found by simulation, of equal sides
 * whose runs follow each other in one AR(1) series, BASE before NEW, fewer than 1 % are further apart than the reach, for rho
 * of 0 to 0.95 and 6 runs a side or more (tests/t-verdict.c counts).  It is as if rho were 0.69 where none is seen.
 * Sides that were measured at unrelated times can be apart by all of a slow wander, of which neither side shows anything:
 * nothing but taking turns (profile/gate.h) helps.
 */
#ifndef PROFILE_WANDER_H
#define PROFILE_WANDER_H

#include <stdint.h>

#define WANDER_HIDDEN 5.4
#define WANDER_MOST   0.9 /* with more, runs that creep up by 0.1 % would hide a rise of 10 % */

struct wander {
    double rho;
    double reach; /* in the unit of the numbers */
};

/* n1, n2 >= 2. */
struct wander wander_of(const double *base, uint32_t n1, const double *new, uint32_t n2);

#endif
