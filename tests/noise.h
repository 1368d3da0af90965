/* tests/noise.h -- step times out of nothing: kinds of noise that real machines make, around 1. */
#ifndef TESTS_NOISE_H
#define TESTS_NOISE_H

#include <math.h>

#include "profile/stats.h"

enum noise { NOISE_GAUSSIAN, NOISE_BIMODAL, NOISE_HEAVY, NOISE_DRIFT, NOISE_CORRELATED, NOISES };

static inline const char *noise_name(unsigned kind)
{
    static const char *const names[NOISES] = {"gaussian", "bimodal", "heavy-tailed", "drifting",
                                              "autocorrelated"};
    return names[kind];
}

static inline double noise_uniform(uint64_t *state)
{
    return ((double)(stats_random(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double noise_normal(uint64_t *state)
{
    const double r = sqrt(-2 * log(noise_uniform(state)));
    return r * cos(6.283185307179586 * noise_uniform(state));
}

/* Student's t of 2 degrees of freedom: its variance is infinite. */
static inline double noise_heavy(uint64_t *state)
{
    const double u = 2 * noise_uniform(state) - 1;
    return u * sqrt(2 / (1 - u * u));
}

struct noise_of {
    unsigned kind;
    double sd;    /* of the noise; of heavy tails its scale */
    double gap;   /* bimodal: between the humps, of equal weight; drifting: over the run; correlated: of
                     neighbours */
    double level; /* AR(1): its state, from run to run; drifting: where the run begins */
};

static inline void noise_fill(struct noise_of *of, double *x, unsigned n, uint64_t *state)
{
    for (unsigned i = 0; i < n; i++) {
        const double g = noise_normal(state);
        switch (of->kind) {
        case NOISE_BIMODAL:
            x[i] = 1 + of->sd * g + (stats_random(state) >> 63 ? of->gap : 0);
            break;
        case NOISE_HEAVY:
            x[i] = fmax(0.1, 1 + of->sd * noise_heavy(state));
            break;
        case NOISE_DRIFT:
            of->level += of->gap / n;
            x[i] = 1 + of->level + of->sd * g;
            break;
        case NOISE_CORRELATED:
            of->level = of->gap * of->level + sqrt(1 - of->gap * of->gap) * of->sd * g;
            x[i] = 1 + of->level;
            break;
        default:
            x[i] = 1 + of->sd * g;
        }
    }
}

#endif
