/* kernels/cpu/fast-math.h -- functions of one float that the compiler can vectorise: no branch, no call, no
 * conversion. */
#ifndef KERNELS_CPU_FAST_MATH_H
#define KERNELS_CPU_FAST_MATH_H

#include "kernels/cpu/fast.h"

#include <stdint.h>
#include <string.h>

/* e^x for x in [-87, 88], clamped to that; relative error 2e-7; not a number stays that.
 * x = n ln 2 + r, |r| <= ln 2 / 2: 2^n is made of its bits, e^r of a polynomial (relative error 1.9e-9). */
FAST_INLINE float fast_exp(float x)
{
    const float round = 12582912.0f; /* 1.5 2^23: adding it leaves the nearest integer in the low bits */
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + round, n = shifted - round;
    const float r =
        (x - n * 0.693359375f) + n * 2.12194440e-4f; /* ln 2 in two pieces, n times the first is exact */
    float p = 0.0013836737937799005f;
    p = p * r + 0.0083748983397759f;
    p = p * r + 0.041668231874625566f;
    p = p * r + 0.16666419190692627f;
    p = p * r + 0.4999999203199385f;
    p = p * r + 1.000000036539018f;
    p = p * r + 1.0000000005586143f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

struct normal {
    float cdf, density_x; /* Phi(x); x phi(x) */
};

/* The standard normal distribution.  Phi(-|x|) = e^(-x^2/2) P(1 / (1 + |x|/4)), P fitted to a relative error
 * of 1.4e-8. */
FAST_INLINE struct normal fast_normal(float x)
{
    const float size = x < 0 ? -x : x, e = fast_exp(-0.5f * x * x), t = 1 / (1 + 0.25f * size);
    float p = 0.03394679494056685f;
    p = p * t - 0.19617769032760143f;
    p = p * t + 0.39500223873611934f;
    p = p * t - 0.3334702476938809f;
    p = p * t + 0.30448764292350217f;
    p = p * t - 0.020384432781882424f;
    p = p * t + 0.1215680583745117f;
    p = p * t + 0.09482022789868429f;
    p = p * t + 0.10022900094765255f;
    p = p * t - 2.1600212336058106e-05f;
    const float tail = e * p;
    return (struct normal){x < 0 ? tail : 1 - tail, 0.39894228f * x * e};
}

#endif
