/* Products.  A row-major matrix is the column-major transpose: c' = op(b)' op(a)'. */
#include "kernels/cuda/product.h"

#include <climits>

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k
{

/* What a product without terms leaves: c = beta c, and c is not read if beta is 0. */
__global__ void scale_rows(size_t rows, size_t n, float beta, float *c, size_t ld)
{
    spread_row(rows, n, c, ld, [=](size_t r, size_t i, auto w) {
        pack<w.value> v = {};
        if (beta != 0) {
            v = load<w.value>(c + r * ld + i);
            for (float &x : v.at)
                x *= beta;
        }
        store(c + r * ld + i, v);
    });
}

static int without_terms(void *stream, size_t count, size_t m, size_t n, double beta, float *c, strided at)
{
    const tiles t = by_rows(m, n);
    int status = 0;
    for (size_t i = 0; i < count && !status; i++)
        status = launch<scale_rows>(stream, t.grid, t.block, 0, m, n, float(beta), c + i * at.stride, at.ld);
    return status;
}

int product(void *stream, size_t count, int ta, int tb, size_t m, size_t n, size_t inner, double alpha,
            strided a, strided b, double beta, strided c)
{
    k_cuda_stream *s = static_cast<k_cuda_stream *>(stream);
    float *to = const_cast<float *>(c.first);
    const float by = float(alpha), keep = float(beta);
    const cublasOperation_t opa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, opb = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (count == 0 || m == 0 || n == 0)
        return 0;
    if (inner == 0)
        return without_terms(stream, count, m, n, beta, to, c);
    if (std::max({count, m, n, inner, a.ld, b.ld, c.ld}) > INT_MAX)
        return cudaErrorInvalidValue;
    s->counts.products++;
    const cublasStatus_t status =
        count == 1 ? cublasSgemm(s->blas, opb, opa, int(n), int(m), int(inner), &by, b.first, int(b.ld),
                                 a.first, int(a.ld), &keep, to, int(c.ld))
                   : cublasSgemmStridedBatched(s->blas, opb, opa, int(n), int(m), int(inner), &by, b.first,
                                               int(b.ld), (long long)b.stride, a.first, int(a.ld),
                                               (long long)a.stride, &keep, to, int(c.ld), (long long)c.stride,
                                               int(count));
    return status ? K_CUDA_BLAS + int(status) : 0;
}

} // namespace k

int k_cuda_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k_, double alpha, const void *a,
                size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    return k::product(stream, 1, ta, tb, m, n, k_, alpha, {k::floats(a), lda, 0}, {k::floats(b), ldb, 0},
                      beta, {k::floats(c), ldc, 0});
}
