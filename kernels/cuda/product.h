/* kernels/cuda/product.h -- products by cuBLAS, row-major. */
#ifndef KERNELS_CUDA_PRODUCT_H
#define KERNELS_CUDA_PRODUCT_H

#include <cstddef>

namespace k
{

/* Matrices `stride` apart, rows ld apart; what is written is memory of the caller that may be. */
struct strided {
    const float *first;
    size_t ld, stride;
};

/* c = alpha op(a) op(b) + beta c, as gemm of kernels.h, of `count` matrices. */
int product(void *stream, size_t count, int ta, int tb, size_t m, size_t n, size_t inner, double alpha,
            strided a, strided b, double beta, strided c);

} // namespace k

#endif
