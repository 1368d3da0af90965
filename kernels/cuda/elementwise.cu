/* Copies, sums and zeros. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k
{

__global__ void zero(size_t n, float *dst)
{
    spread_flat(n, dst, [=](size_t i, auto w) { store(dst + i, pack<w.value>{}); });
}

__global__ void copy(size_t n, const float *src, float *dst)
{
    spread_flat(n, dst, [=](size_t i, auto w) { store(dst + i, load<w.value>(src + i)); });
}

__global__ void scale_copy(size_t n, float scale, const float *src, float *dst)
{
    spread_flat(n, dst, [=](size_t i, auto w) {
        pack<w.value> v = load<w.value>(src + i);
        for (float &x : v.at)
            x *= scale;
        store(dst + i, v);
    });
}

__global__ void add(size_t n, const float *src, float *dst)
{
    spread_flat(n, dst, [=](size_t i, auto w) {
        const pack<w.value> v = load<w.value>(src + i);
        pack<w.value> to = load<w.value>(dst + i);
        for (int j = 0; j < w.value; j++)
            to.at[j] += v.at[j];
        store(dst + i, to);
    });
}

/* An argument of kernels may have 4 KiB. */
struct members {
    const float *at[K_CUDA_MEMBERS];
};
__global__ void sum(size_t n, unsigned members, struct members src, float *dst)
{
    spread_flat(n, dst, [&](size_t i, auto w) {
        pack<w.value> to = load<w.value>(src.at[0] + i);
        for (unsigned m = 1; m < members; m++) {
            const pack<w.value> v = load<w.value>(src.at[m] + i);
            for (int j = 0; j < w.value; j++)
                to.at[j] += v.at[j];
        }
        store(dst + i, to);
    });
}

} // namespace k

int k_cuda_zero(void *stream, size_t n, void *dst)
{
    return k::launch<k::zero>(stream, k::flat(n), 256, 0, n, k::floats(dst));
}

/* Multiplying by 1 would change the bits of what is not a number. */
int k_cuda_scale_copy(void *stream, size_t n, double scale, const void *src, void *dst)
{
    if (scale == 1)
        return k::launch<k::copy>(stream, k::flat(n), 256, 0, n, k::floats(src), k::floats(dst));
    return k::launch<k::scale_copy>(stream, k::flat(n), 256, 0, n, float(scale), k::floats(src),
                                    k::floats(dst));
}

int k_cuda_add(void *stream, size_t n, const void *src, void *dst)
{
    return k::launch<k::add>(stream, k::flat(n), 256, 0, n, k::floats(src), k::floats(dst));
}

int k_cuda_sum(void *stream, size_t members, size_t n, const void *const *src, void *dst)
{
    struct k::members all = {};
    if (members == 0 || members > K_CUDA_MEMBERS)
        return cudaErrorInvalidValue;
    for (size_t m = 0; m < members; m++)
        all.at[m] = k::floats(src[m]);
    return k::launch<k::sum>(stream, k::flat(n), 256, 0, n, unsigned(members), all, k::floats(dst));
}
