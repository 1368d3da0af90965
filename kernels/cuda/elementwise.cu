/* Copies, sums and zeros. */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k {

__global__ void zero(size_t n, float *dst)
{
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (i < n)
        dst[i] = 0;
}

} // namespace k

int k_cuda_zero(void *stream, size_t n, void *dst)
{
    return k::launch<k::zero>(stream, unsigned((n + 255) / 256), 256, 0, n, static_cast<float *>(dst));
}
