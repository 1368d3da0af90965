#include "kernels/cpu/fast.h"

#include <math.h>

ON_EVERY_CPU static void descend(size_t n, float step, const float *grad, float *weight)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        weight[i] -= step * grad[i];
}

ON_EVERY_CPU static void descend_with_momentum(size_t n, float lr, float momentum, float factor,
                                               const float *grad, float *moment, float *weight)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float m = momentum * moment[i] + factor * grad[i];
        moment[i] = m;
        weight[i] -= lr * m;
    }
}

int fast_sgd(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad,
             void *moment, void *weight)
{
    (void)stream;
    const double scale = factor ? factor[0] : 1;
    if (moment)
        descend_with_momentum(n, (float)lr, (float)momentum, (float)scale, grad, moment, weight);
    else
        descend(n, (float)(lr * scale), grad, weight);
    return 0;
}

struct adam {
    float factor, beta1, rest1, beta2, rest2, step, root,
        epsilon; /* root: what makes of v its unbiased root */
};

ON_EVERY_CPU static void adam(size_t n, const struct adam *by, const float *grad, float *moment,
                              float *variance, float *weight)
{
    const struct adam a = *by;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float g = a.factor * grad[i];
        const float m = a.beta1 * moment[i] + a.rest1 * g, v = a.beta2 * variance[i] + a.rest2 * g * g;
        moment[i] = m;
        variance[i] = v;
        weight[i] -= a.step * m / (sqrtf(v) * a.root + a.epsilon);
    }
}

int fast_adam(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
              const double *factor, const void *grad, void *moment, void *variance, void *weight)
{
    (void)stream;
    const struct adam by = {.factor = (float)(factor ? factor[0] : 1),
                            .beta1 = (float)beta1,
                            .rest1 = (float)(1 - beta1),
                            .beta2 = (float)beta2,
                            .rest2 = (float)(1 - beta2),
                            .step = (float)(lr / (1 - pow(beta1, t))),
                            .root = (float)(1 / sqrt(1 - pow(beta2, t))),
                            .epsilon = (float)epsilon};
    adam(n, &by, grad, moment, variance, weight);
    return 0;
}

ON_EVERY_CPU static double sum_squares(size_t n, const float *x)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

int fast_sum_squares(void *stream, size_t n, const void *x, double *sum)
{
    (void)stream;
    *sum += sum_squares(n, x);
    return 0;
}

int fast_clip_factor(void *stream, double max_norm, double *norm)
{
    (void)stream;
    const double factor = max_norm / (sqrt(norm[0]) + 1e-6);
    norm[1] = factor > 1 ? 1 : factor; /* not a number stays that */
    return 0;
}
