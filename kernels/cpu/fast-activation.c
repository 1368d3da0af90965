#include "kernels/cpu/fast.h"
#include "kernels/cpu/fast-math.h"

#include <math.h>

ON_EVERY_CPU static void bias_gelu(size_t rows, size_t n, const float *bias, float *x, float *y)
{
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            const float v = x[j] + bias[j];
            x[j] = v;
            y[j] = v * fast_normal(v).cdf;
        }
    }
}

ON_EVERY_CPU static void bias_relu(size_t rows, size_t n, const float *bias, float *x, float *y)
{
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            const float v = x[j] + bias[j];
            x[j] = v;
            y[j] = v < 0 ? 0 : v;
        }
    }
}

/* x (1 + tanh(z)) / 2 is x s(2z), s the logistic function. */
static const float tanh_gelu_linear = 1.5957691216f,
                   tanh_gelu_cubic = 0.0713548162f; /* 2 sqrt(2/pi), and 0.044715 of it */

FAST_INLINE float logistic(float x)
{
    return 1 / (1 + fast_exp(-x));
}

ON_EVERY_CPU static void bias_gelu_tanh(size_t rows, size_t n, const float *bias, float *x, float *y)
{
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            const float v = x[j] + bias[j];
            x[j] = v;
            y[j] = v * logistic(v * (tanh_gelu_linear + tanh_gelu_cubic * v * v));
        }
    }
}

int fast_bias_act(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x, void *y)
{
    (void)stream;
    static void (*const run[])(size_t, size_t, const float *, float *, float *) = {
        [K_GELU] = bias_gelu, [K_RELU] = bias_relu, [K_GELU_TANH] = bias_gelu_tanh};
    run[activation](rows, n, bias, x, y);
    return 0;
}

ON_EVERY_CPU static void gelu_grad(size_t rows, size_t n, size_t width, const float *dy, const float *x,
                                   float *dx, double *sum)
{
    for (size_t r = 0; r < rows; r++, dy += n, x += n, dx += n) {
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            const struct normal at = fast_normal(x[j]);
            const float v = dy[j] * (at.cdf + at.density_x);
            dx[j] = v;
            sum[j] += (double)v;
        }
    }
}

ON_EVERY_CPU static void relu_grad(size_t rows, size_t n, size_t width, const float *dy, const float *x,
                                   float *dx, double *sum)
{
    for (size_t r = 0; r < rows; r++, dy += n, x += n, dx += n) {
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            const float v = x[j] > 0 ? dy[j] : 0;
            dx[j] = v;
            sum[j] += (double)v;
        }
    }
}

ON_EVERY_CPU static void gelu_tanh_grad(size_t rows, size_t n, size_t width, const float *dy, const float *x,
                                        float *dx, double *sum)
{
    for (size_t r = 0; r < rows; r++, dy += n, x += n, dx += n) {
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            const float square = x[j] * x[j];
            const float s = logistic(x[j] * (tanh_gelu_linear + tanh_gelu_cubic * square));
            const float slope = x[j] * (tanh_gelu_linear + 3 * tanh_gelu_cubic * square);
            const float v = dy[j] * (s + s * (1 - s) * slope);
            dx[j] = v;
            sum[j] += (double)v;
        }
    }
}

int fast_bias_act_grad(void *stream, int activation, size_t rows, size_t n, const void *dy, const void *x,
                       void *dx, void *dbias, int accumulate)
{
    static void (*const run[])(size_t, size_t, size_t, const float *, const float *, float *, double *) = {
        [K_GELU] = gelu_grad, [K_RELU] = relu_grad, [K_GELU_TANH] = gelu_tanh_grad};
    (void)stream;
    for (size_t j0 = 0; j0 < n; j0 += SUM_COLUMNS) {
        const size_t width = least(n - j0, SUM_COLUMNS);
        double sum[SUM_COLUMNS] = {0};
        run[activation](rows, n, width, (const float *)dy + j0, (const float *)x + j0, (float *)dx + j0, sum);
        if (dbias)
            give_sums(width, sum, accumulate, (float *)dbias + j0);
    }
    return 0;
}
