/* profile/stats.h -- statistics of small samples that make no assumption about their distribution.
 *
 * Samples are finite doubles; functions leave them as they are.  The same samples give the same numbers everywhere: what
 * draws at random has a seed and a generator of its own (splitmix64).
 */
#ifndef PROFILE_STATS_H
#define PROFILE_STATS_H

#include <stdbool.h>
#include <stdint.h>

/* n >= 1.  Of an even number the mean of the middle two. */
double stats_median(const double *x, uint32_t n);
/* Median of the absolute deviations from the median; times 1.4826 it is the standard deviation of Gaussian samples. */
double stats_mad(const double *x, uint32_t n);
#define STATS_MAD_SIGMA 1.4826022185056018

/* Uniform in [0, 2^64); the state may begin as anything. */
uint64_t stats_random(uint64_t *state);

/* Percentile bootstrap of median(b) - median(a), each drawn from anew with replacement (Efron and Tibshirani, An
 * Introduction to the Bootstrap, 13.3): the middle `level` (0.95) of the differences, quantiles interpolated linearly. */
#define STATS_RESAMPLES 4999
void stats_bootstrap(const double *a, uint32_t na, const double *b, uint32_t nb, double level, double *ci);

/* Mann-Whitney U of b against a: pairs in which b is more, equals count half.  p: two-sided, twice the smaller tail. */
struct rank_test {
    double u, p;
    double z;   /* of the normal approximation with ties, without continuity correction; 0 where all are equal */
    bool exact; /* by the distribution of rank sums over all ways to divide these samples, ties included; else normal
                   with continuity correction */
};
#define STATS_EXACT_MAX 40 /* na + nb */
struct rank_test stats_mann_whitney(const double *a, uint32_t na, const double *b, uint32_t nb);

/* Holm's step-down adjustment of n p-values to one family, in place of none: adjusted[i] belongs to p[i]. */
void stats_holm(const double *p, unsigned n, double *adjusted);

/* Kendall's trend over the places 0 to n - 1: concordant less discordant pairs, and their variance where there is no
 * trend, ties allowed for.  s / sqrt(variance) is nearly normal; of independent runs both add up. */
struct trend {
    double s, variance;
    double slope; /* Theil and Sen: the median of all pairs' slopes, a place */
};
struct trend stats_trend(const double *x, uint32_t n);

/* Sums of products for the autocorrelation of neighbours, of deviations from the median: runs add up.  rho = products /
 * squares. */
struct autocorrelation {
    double products, squares;
    uint32_t n;
};
void stats_autocorrelation(const double *x, uint32_t n, struct autocorrelation *sum);

/* Wilcoxon's signed ranks of differences of pairs, n <= STATS_PAIRS_MAX (Individual Comparisons by Ranking Methods, 1945):
 * of the sum of the ranks of those above 0 the exact chance to be as large (more) or as small (less) as it is, if every
 * difference were as likely with the other sign.  Zeros are left out, equals share their mean rank. */
#define STATS_PAIRS_MAX 128
struct signed_rank {
    double more, less;
};
struct signed_rank stats_signed_rank(const double *d, uint32_t n);
/* What the differences are symmetric around: the median of the means of all pairs of them, each with itself too, and an
 * interval of order statistics of these means, which lies to one side of it with a chance of `part` at most, each
 * (Hodges and Lehmann, Estimates of Location Based on Rank Tests, 1963); infinite where n is too small for any. */
double stats_paired_shift(const double *d, uint32_t n, double part, double *ci);

double stats_normal_tails(double z); /* P(|Z| >= z) */
double stats_normal_z(double p);     /* the z with stats_normal_tails(z) = p, to nine digits */
/* The quantile of Student's t of so many degrees of freedom that z is of a normal distribution, to 0.1 % from 10 degrees on and
 * z of 3 (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5, three terms). */
double stats_student(double z, double freedom);

#endif
