/* tests/pairs.h -- covering arrays: combinations of a test's factors, few of which have every pair of levels.
 */
#ifndef TESTS_PAIRS_H
#define TESTS_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

enum { PAIRS_FACTORS = 16, PAIRS_LEVELS = 16 }; /* at most */

struct pairs {
    uint32_t n;            /* factors */
    const uint8_t *levels; /* of each, how many */
    bool had[PAIRS_FACTORS][PAIRS_FACTORS][PAIRS_LEVELS][PAIRS_LEVELS];
};

static inline uint32_t pairs_combinations(const struct pairs *p)
{
    uint32_t n = 1;
    for (uint32_t f = 0; f < p->n; f++)
        n *= p->levels[f];
    return n;
}

/* Combination `id`, mixed radix. */
static inline void pairs_combination(const struct pairs *p, uint32_t id, uint8_t *level)
{
    for (uint32_t f = 0; f < p->n; f++) {
        level[f] = (uint8_t)(id % p->levels[f]);
        id /= p->levels[f];
    }
}

/* Pairs of levels of two factors that no combination so far has; `take` marks them as had. */
static inline unsigned pairs_new(struct pairs *p, const uint8_t *level, bool take)
{
    unsigned n = 0;
    for (uint32_t f = 0; f < p->n; f++)
        for (uint32_t g = 0; g < f; g++) {
            bool *cell = &p->had[f][g][level[f]][level[g]];
            n += !*cell;
            *cell = *cell || take;
        }
    return n;
}

/* That no combination has yet. */
static inline unsigned pairs_left(const struct pairs *p)
{
    unsigned n = 0;
    for (uint32_t f = 0; f < p->n; f++)
        for (uint32_t g = 0; g < f; g++)
            for (uint32_t i = 0; i < p->levels[f]; i++)
                for (uint32_t k = 0; k < p->levels[g]; k++)
                    n += !p->had[f][g][i][k];
    return n;
}

#endif
