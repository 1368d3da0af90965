#include "kernels/cpu/fast.h"
#include "kernels/cpu/fast-math.h"

#include <math.h>

/* e[j] = exp(x[j] - max); returns their sum. */
FAST_INLINE double exponentials(size_t n, const float *x, float max, float *e)
{
    double sum = 0;
    for (size_t j0 = 0; j0 < n; j0 += SUM_BLOCK) {
        const size_t end = least(n, j0 + SUM_BLOCK);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t j = j0; j < end; j++)
            part += e[j] = fast_exp(x[j] - max);
        sum += part;
    }
    return sum;
}

/* The row's loss; dx becomes its gradient times share. */
ON_EVERY_CPU static double cross_entropy_row(size_t n, const float *x, size_t target, double share, float *dx)
{
    float max = x[0];
#pragma omp simd reduction(max : max)
    for (size_t j = 0; j < n; j++)
        max = max < x[j] ? x[j] : max;
    const double sum = exponentials(n, x, max, dx);
    const float factor = (float)(share / sum);
#pragma omp simd
    for (size_t j = 0; j < n; j++)
        dx[j] *= factor;
    dx[target] -= (float)share;
    return log(sum) + (double)max - (double)x[target];
}

int fast_cross_entropy(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                       const int32_t *target, void *dlogits, double *loss)
{
    (void)stream;
    double total = 0;
    for (size_t r = 0; r < rows; r++)
        total += cross_entropy_row(classes, (const float *)logits + r * classes, (size_t)target[r],
                                   weight / (double)rows, (float *)dlogits + r * classes);
    *loss = rows ? weight * total / (double)rows : 0;
    return 0;
}
