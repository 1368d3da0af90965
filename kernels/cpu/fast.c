#include "kernels/cpu/fast.h"
#include "kernels/cpu/total.h"

#include <math.h>
#include <string.h>

ON_EVERY_CPU static void add(size_t n, const float *src, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] += src[i];
}

static int fast_add(void *stream, size_t n, const void *src, void *dst)
{
    (void)stream;
    add(n, src, dst);
    return 0;
}

static int fast_bias(void *stream, size_t rows, size_t n, const void *bias, void *y, size_t ld)
{
    (void)stream;
    for (size_t r = 0; r < rows; r++)
        add(n, bias, (float *)y + r * ld);
    return 0;
}

ON_EVERY_CPU static void add_to_double(size_t rows, size_t n, const float *x, size_t ld, double *sum)
{
    for (size_t r = 0; r < rows; r++, x += ld) {
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            sum[j] += (double)x[j];
    }
}

int fast_bias_grad(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias,
                   int accumulate)
{
    (void)stream;
    for (size_t j0 = 0; j0 < n; j0 += SUM_COLUMNS) {
        const size_t width = least(n - j0, SUM_COLUMNS);
        double sum[SUM_COLUMNS] = {0};
        if (rows)
            add_to_double(rows, width, (const float *)dy + j0, ld, sum);
        give_sums(width, sum, accumulate, (float *)dbias + j0);
    }
    return 0;
}

/* Rows are few here: one a sample. */
static int fast_bias_tanh(void *stream, size_t rows, size_t n, const void *bias, void *y)
{
    fast_bias(stream, rows, n, bias, y, n);
    float *v = y;
    for (size_t i = 0; i < rows * n; i++)
        v[i] = tanhf(v[i]);
    return 0;
}

ON_EVERY_CPU static void tanh_grad(size_t n, const float *dy, const float *y, float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dx[i] = dy[i] * (1 - y[i] * y[i]);
}

static int fast_tanh_grad(void *stream, size_t n, const void *dy, const void *y, void *dx)
{
    (void)stream;
    tanh_grad(n, dy, y, dx);
    return 0;
}

ON_EVERY_CPU static void scale_copy(size_t n, float scale, const float *src, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = scale * src[i];
}

static int fast_scale_copy(void *stream, size_t n, double scale, const void *src, void *dst)
{
    (void)stream;
    if (n && scale == 1)
        memcpy(dst, src, n * sizeof(float));
    else
        scale_copy(n, (float)scale, src, dst);
    return 0;
}

static int fast_zero(void *stream, size_t n, void *dst)
{
    (void)stream;
    if (n)
        memset(dst, 0, n * sizeof(float));
    return 0;
}

/* A block stays in the first cache while the members are added to it one by one. */
static int fast_sum(void *stream, size_t members, size_t n, const void *const *src, void *dst)
{
    enum { BLOCK = 2048 };
    (void)stream;
    float block[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t width = least(n - i, BLOCK);
        memcpy(block, (const float *)src[0] + i, width * sizeof(float));
        for (size_t m = 1; m < members; m++)
            add(width, (const float *)src[m] + i, block);
        memcpy((float *)dst + i, block, width * sizeof(float));
    }
    return 0;
}

const struct k_table k_cpu_f32 = {
    .name = "cpu f32",
    .elem_bytes = sizeof(float),
    .gemm = fast_gemm,
    .bias = fast_bias,
    .bias_grad = fast_bias_grad,
    .add_norm = fast_add_norm,
    .add_norm_grad = fast_add_norm_grad,
    .attention = fast_attention,
    .dropout = fast_dropout,
    .residual = fast_residual,
    .sine = fast_sine,
    .bag = fast_bag,
    .bag_grad = fast_bag_grad,
    .attention_grad = fast_attention_grad,
    .bias_act = fast_bias_act,
    .bias_act_grad = fast_bias_act_grad,
    .bias_tanh = fast_bias_tanh,
    .tanh_grad = fast_tanh_grad,
    .embed = fast_embed,
    .embed_grad = fast_embed_grad,
    .cross_entropy = fast_cross_entropy,
    .scale_copy = fast_scale_copy,
    .add = fast_add,
    .zero = fast_zero,
    .sum = fast_sum,
    .sgd = fast_sgd,
    .adam = fast_adam,
    .sum_squares = fast_sum_squares,
    .total = cpu_total,
    .clip_factor = fast_clip_factor,
};
