/* tests/trial.h -- rules of verdicts tried on noise: how often they say what. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include "profile/verdict.h"
#include "tests/noise.h"

#define TRIAL_STEP_NS 1e8

struct trial {
    struct noise_of noise;
    uint32_t runs, steps; /* a side and a run; of the gate the most pairs */
    double rise;          /* of new, as a part of base */
    uint64_t seed;
    bool goes_on; /* compare: what is correlated goes on from base's last run to new's first; else new begins anywhere */
};

struct rates {
    unsigned repeats, of[VERDICTS];
    double detects; /* mean, where something was judged */
    double pairs;   /* mean; of the gate */
};

/* compare: base's runs, then new's.  A drift goes on from one to the other. */
struct rates trial_compare(const struct trial *, unsigned repeats);
/* The gate's sequence, all runs one after another in its order; a drift's gap is that of base and new over trial.runs pairs. */
struct rates trial_gate(const struct trial *, unsigned repeats);

/* Of no name and of 4 ranks; its samples are set.  measurement_free */
struct measurement *trial_measurement(const char *name);
void trial_set(struct measurement *, unsigned metric, const double *x, uint32_t n, double scale);

/* Exact interval of a rate with 95 % (Clopper and Pearson, The Use of Confidence or Fiducial Limits, 1934). */
void trial_interval(unsigned k, unsigned n, double *low, double *high);

#endif
