/* kernels/cpu/dropout.h -- which elements dropout keeps, the same in every kernel, on CPU and GPU. */
#ifndef KERNELS_CPU_DROPOUT_H
#define KERNELS_CPU_DROPOUT_H

#include "kernels/kernels.h"

#ifdef __CUDACC__
#define DROPOUT_FUNCTION __host__ __device__ static inline
#else
#define DROPOUT_FUNCTION __attribute__((always_inline)) static inline
#endif

/* A sample's key in two words, and the bound below which a random number drops its element. */
struct dropout_sample {
    uint32_t add, flip, bound;
};

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014) over the sample's number. */
DROPOUT_FUNCTION struct dropout_sample dropout_sample(const struct k_dropout *drop, size_t sample)
{
    uint64_t x = drop->key + (drop->first + sample + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    const struct dropout_sample s = {(uint32_t)x, (uint32_t)(x >> 32), (uint32_t)(drop->p * 0x1p32)};
    return s;
}

/* Element i of a sample, counted modulo 2^32: a mixing of 32 bits by two products (after Wellons's
 * lowbias32), which the sample's second word tells apart from another's at the same value of the first. */
DROPOUT_FUNCTION int dropout_keeps(struct dropout_sample s, uint32_t i)
{
    uint32_t x = s.add + i * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x ^= s.flip;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
    return x >= s.bound;
}

#endif
