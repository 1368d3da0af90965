#include "kernels/cpu/fast.h"

#include <math.h>

static const float norm_epsilon = 1e-5f;

/* sum = x + y + bias; returns the total of the row.  with_x and with_bias are constants where it is called.
 */
FAST_INLINE double add_row(size_t d, int with_x, const float *x, const float *y, int with_bias,
                           const float *bias, float *sum)
{
    double total = 0;
    for (size_t j0 = 0; j0 < d; j0 += SUM_BLOCK) {
        const size_t end = least(d, j0 + SUM_BLOCK);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t j = j0; j < end; j++) {
            const float v = y[j] + (with_x ? x[j] : 0) + (with_bias ? bias[j] : 0);
            sum[j] = v;
            part += v;
        }
        total += part;
    }
    return total;
}

FAST_INLINE double add_row_if(size_t d, const float *x, const float *y, const float *bias, float *sum)
{
    if (x)
        return bias ? add_row(d, 1, x, y, 1, bias, sum) : add_row(d, 1, x, y, 0, NULL, sum);
    return bias ? add_row(d, 0, NULL, y, 1, bias, sum) : add_row(d, 0, NULL, y, 0, NULL, sum);
}

FAST_INLINE double sum_row(size_t d, const float *x)
{
    double total = 0;
    for (size_t j0 = 0; j0 < d; j0 += SUM_BLOCK) {
        const size_t end = least(d, j0 + SUM_BLOCK);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t j = j0; j < end; j++)
            part += x[j];
        total += part;
    }
    return total;
}

FAST_INLINE double spread_row(size_t d, const float *sum, float mean)
{
    double squares = 0;
    for (size_t j0 = 0; j0 < d; j0 += SUM_BLOCK) {
        const size_t end = least(d, j0 + SUM_BLOCK);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t j = j0; j < end; j++)
            part += (sum[j] - mean) * (sum[j] - mean);
        squares += part;
    }
    return squares;
}

ON_EVERY_CPU static void add_norm(size_t rows, size_t d, const float *x, const float *y, const float *bias,
                                  const float *gamma, const float *beta, float *sum, float *out, float *mean,
                                  float *rstd)
{
    for (size_t r = 0; r < rows; r++) {
        float *o = out + r * d;
        const float *s = sum ? sum + r * d : y + r * d;
        const double total =
            sum ? add_row_if(d, x ? x + r * d : NULL, y + r * d, bias, sum + r * d) : sum_row(d, s);
        const float m = (float)(total / (double)d);
        const float inverse = 1 / sqrtf((float)(spread_row(d, s, m) / (double)d) + norm_epsilon);
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            o[j] = (s[j] - m) * inverse * gamma[j] + beta[j];
        mean[r] = m;
        rstd[r] = inverse;
    }
}

int fast_add_norm(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias,
                  const void *gamma, const void *beta, void *sum, void *out, void *mean, void *rstd)
{
    (void)stream;
    add_norm(rows, d, x, y, bias, gamma, beta, sum, out, mean, rstd);
    return 0;
}

/* With n = (sum - mean) rstd and g = dout gamma: dsum = rstd (g - mean(g) - n mean(g n)). */
FAST_INLINE void norm_grad_row(size_t d, const float *dout, const float *sum, const float *gamma, float mean,
                               float rstd, const float *plus, float *dsum)
{
    double total_g = 0, total_gn = 0;
    for (size_t j0 = 0; j0 < d; j0 += SUM_BLOCK) {
        const size_t end = least(d, j0 + SUM_BLOCK);
        float g = 0, gn = 0;
#pragma omp simd reduction(+ : g, gn)
        for (size_t j = j0; j < end; j++) {
            const float v = dout[j] * gamma[j];
            g += v;
            gn += v * (sum[j] - mean);
        }
        total_g += g;
        total_gn += gn;
    }
    const float mean_g = (float)(total_g / (double)d), slope = (float)(total_gn / (double)d) * rstd * rstd;
    if (plus) {
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            dsum[j] = plus[j] + rstd * (dout[j] * gamma[j] - mean_g - (sum[j] - mean) * slope);
    } else {
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            dsum[j] = rstd * (dout[j] * gamma[j] - mean_g - (sum[j] - mean) * slope);
    }
}

ON_EVERY_CPU static void norm_grad(size_t rows, size_t d, const float *dout, const float *sum,
                                   const float *gamma, const float *mean, const float *rstd,
                                   const float *plus, float *dsum)
{
    for (size_t r = 0; r < rows; r++)
        norm_grad_row(d, dout + r * d, sum + r * d, gamma, mean[r], rstd[r], plus ? plus + r * d : NULL,
                      dsum + r * d);
}

ON_EVERY_CPU static void norm_parameters_grad(size_t rows, size_t d, const float *dout, const float *sum,
                                              const float *mean, const float *rstd, float *dgamma,
                                              float *dbeta, int accumulate)
{
    for (size_t j0 = 0; j0 < d; j0 += SUM_COLUMNS) {
        const size_t width = least(d - j0, SUM_COLUMNS);
        double by_gamma[SUM_COLUMNS] = {0}, by_beta[SUM_COLUMNS] = {0};
        for (size_t r = 0; r < rows; r++) {
            const float *g = dout + r * d + j0, *s = sum + r * d + j0, m = mean[r], inverse = rstd[r];
#pragma omp simd
            for (size_t j = 0; j < width; j++) {
                by_gamma[j] += (double)(g[j] * ((s[j] - m) * inverse));
                by_beta[j] += (double)g[j];
            }
        }
        give_sums(width, by_gamma, accumulate, dgamma + j0);
        give_sums(width, by_beta, accumulate, dbeta + j0);
    }
}

int fast_add_norm_grad(void *stream, size_t rows, size_t d, const void *dout, const void *sum,
                       const void *gamma, const void *mean, const void *rstd, const void *plus, void *dsum,
                       void *dgamma, void *dbeta, int accumulate)
{
    (void)stream;
    if (dsum)
        norm_grad(rows, d, dout, sum, gamma, mean, rstd, plus, dsum);
    if (dgamma)
        norm_parameters_grad(rows, d, dout, sum, mean, rstd, dgamma, dbeta, accumulate);
    return 0;
}
