/* kernels/cpu/total.h -- the sum of a few doubles, the same in every table of the CPU. */
#ifndef KERNELS_CPU_TOTAL_H
#define KERNELS_CPU_TOTAL_H

#include <stddef.h>

static int cpu_total(void *stream, size_t n, const double *x, double *sum)
{
    (void)stream;
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += x[i];
    *sum = total;
    return 0;
}

#endif
