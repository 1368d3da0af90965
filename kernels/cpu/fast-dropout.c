#include "kernels/cpu/dropout.h"
#include "kernels/cpu/fast.h"

ON_EVERY_CPU static void drop_elements(struct dropout_sample s, uint32_t at, size_t n, float scale,
                                       const float *x, float *y)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        y[j] = dropout_keeps(s, at + (uint32_t)j) ? x[j] * scale : 0;
}

void fast_drop(const struct k_dropout *drop, size_t sample, size_t at, size_t n, const float *x, float *y)
{
    drop_elements(dropout_sample(drop, sample), (uint32_t)at, n, (float)(1 / (1 - drop->p)), x, y);
}

/* Whole samples at a time: their rows are one run of elements. */
int fast_dropout(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x, void *y)
{
    (void)stream;
    for (size_t r = 0; r < rows; r += drop->sample_rows)
        fast_drop(drop, r / drop->sample_rows, 0, least(drop->sample_rows, rows - r) * n,
                  (const float *)x + r * n, (float *)y + r * n);
    return 0;
}

/* with_* are constants where it is called. */
FAST_INLINE void residual_row(size_t n, int with_bias, const float *bias, int with_x, const float *x,
                              int with_drop, struct dropout_sample s, uint32_t at, float scale, float *y)
{
#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        const float v = y[j] + (with_bias ? bias[j] : 0);
        const float kept = with_drop ? (dropout_keeps(s, at + (uint32_t)j) ? v * scale : 0) : v;
        y[j] = kept + (with_x ? x[j] : 0);
    }
}

ON_EVERY_CPU static void residual(size_t n, const float *bias, const float *x, int with_drop,
                                  struct dropout_sample s, uint32_t at, float scale, float *y)
{
    if (with_drop && bias && x)
        residual_row(n, 1, bias, 1, x, 1, s, at, scale, y);
    else if (with_drop && bias)
        residual_row(n, 1, bias, 0, NULL, 1, s, at, scale, y);
    else if (with_drop && x)
        residual_row(n, 0, NULL, 1, x, 1, s, at, scale, y);
    else if (with_drop)
        residual_row(n, 0, NULL, 0, NULL, 1, s, at, scale, y);
    else if (bias && x)
        residual_row(n, 1, bias, 1, x, 0, s, at, scale, y);
    else if (bias)
        residual_row(n, 1, bias, 0, NULL, 0, s, at, scale, y);
    else if (x)
        residual_row(n, 0, NULL, 1, x, 0, s, at, scale, y);
}

int fast_residual(void *stream, size_t rows, size_t n, const void *bias, const void *x,
                  const struct k_dropout *drop, void *y)
{
    (void)stream;
    const float scale = drop ? (float)(1 / (1 - drop->p)) : 1;
    struct dropout_sample s = {0};
    for (size_t r = 0; r < rows; r++) {
        const size_t in_sample = drop ? r % drop->sample_rows : 0;
        if (drop && in_sample == 0)
            s = dropout_sample(drop, r / drop->sample_rows);
        residual(n, bias, x ? (const float *)x + r * n : NULL, drop != NULL, s, (uint32_t)(in_sample * n),
                 scale, (float *)y + r * n);
    }
    return 0;
}
