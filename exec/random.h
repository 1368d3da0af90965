/* exec/random.h -- numbers that depend on a key and a place alone, the same on every machine. */
#ifndef EXEC_RANDOM_H
#define EXEC_RANDOM_H

#include <stdint.h>

/* Steele, Lea, Flood 2014: the finalizer of SplitMix64 */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

#define RANDOM_STRIDE 0x9e3779b97f4a7c15u

/* The i-th number of the sequence that begins at key. */
static inline uint64_t random_numbered(uint64_t key, uint64_t i)
{
    return random_mix(key + (i + 1) * RANDOM_STRIDE);
}

/* The next one of the sequence whose place is *state. */
static inline uint64_t random_next(uint64_t *state)
{
    return random_mix(*state += RANDOM_STRIDE);
}

#endif
