/* kernels/cuda/table.h -- what the files of k_cuda_f32 define: functions of kernels.h. */
#ifndef KERNELS_CUDA_TABLE_H
#define KERNELS_CUDA_TABLE_H

#include "kernels/cuda.h"

int k_cuda_zero(void *stream, size_t n, void *dst);

#endif
