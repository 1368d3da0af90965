/* kernels/cuda/device.h -- what kernels are made of: accesses of 16 bytes where addresses allow it, sums of a
 * row. */
#ifndef KERNELS_CUDA_DEVICE_H
#define KERNELS_CUDA_DEVICE_H

#include <cuda_runtime.h>

#include <cfloat>

#include "kernels/cpu/dropout.h"

namespace k
{

/* W neighbours. */
template <int W> struct pack {
    float at[W];
};
template <int W> struct width {
    static constexpr int value = W;
};

inline __device__ bool wide(const void *p)
{
    return reinterpret_cast<size_t>(p) % 16 == 0;
}

template <int W> __device__ pack<W> load(const float *p)
{
    pack<W> v;
    if constexpr (W == 4)
        if (wide(p)) {
            const float4 f = *reinterpret_cast<const float4 *>(p);
            return {f.x, f.y, f.z, f.w};
        }
    for (int j = 0; j < W; j++)
        v.at[j] = p[j];
    return v;
}

template <int W> __device__ void store(float *p, pack<W> v)
{
    if constexpr (W == 4)
        if (wide(p)) {
            *reinterpret_cast<float4 *>(p) = make_float4(v.at[0], v.at[1], v.at[2], v.at[3]);
            return;
        }
    for (int j = 0; j < W; j++)
        p[j] = v.at[j];
}

/* NULL: zeros */
template <int W> __device__ pack<W> load_if(const float *p, size_t i)
{
    return p ? load<W>(p + i) : pack<W>{};
}

/* Calls f(i, width<4>) and f(i, width<1>) so that [0, n) is covered once by all threads together.  Fours
 * begin where leader + i is aligned: what is accessed most, as other operands may be aligned otherwise. */
template <class F> __device__ void spread(size_t n, const float *leader, size_t thread, size_t threads, F f)
{
    const size_t off = (16 - reinterpret_cast<size_t>(leader) % 16) / 4 % 4, head = off < n ? off : n;
    const size_t fours = (n - head) / 4;
    for (size_t i = thread; i < fours; i += threads)
        f(head + 4 * i, width<4>{});
    for (size_t i = thread; i < n - 4 * fours; i += threads)
        f(i < head ? i : i + 4 * fours, width<1>{});
}

/* ... by a one-dimensional grid */
template <class F> __device__ void spread_flat(size_t n, const float *leader, F f)
{
    spread(n, leader, blockIdx.x * size_t(blockDim.x) + threadIdx.x, size_t(gridDim.x) * blockDim.x, f);
}

/* ... over this thread's row by a grid of by_rows: f(row, i, width). */
template <class F> __device__ void spread_row(size_t rows, size_t n, const float *leader, size_t ld, F f)
{
    const size_t r = blockIdx.x * size_t(blockDim.y) + threadIdx.y;
    if (r < rows)
        spread(n, leader + r * ld, blockIdx.y * size_t(blockDim.x) + threadIdx.x,
               size_t(gridDim.y) * blockDim.x, [=](size_t i, auto w) { f(r, i, w); });
}

/* This thread's row of a launch by_groups, and its place there. */
template <int T> __device__ size_t group_row()
{
    return T == 32 ? blockIdx.x * size_t(8) + threadIdx.x / 32 : blockIdx.x;
}
template <int T> __device__ unsigned group_thread()
{
    return threadIdx.x % T;
}

struct plus {
    template <class X> __device__ X operator()(X a, X b) const
    {
        return a + b;
    }
};
struct greater {
    __device__ float operator()(float a, float b) const
    {
        return fmaxf(a, b);
    }
};

/* x of all T threads of a group, which all call it, joined in an order of its own: every thread's result is
 * the same. */
template <int T, class X, class Join> __device__ X joined(X x, Join join)
{
    for (int step = 16; step; step /= 2)
        x = join(x, __shfl_xor_sync(0xffffffffu, x, step));
    if constexpr (T > 32) {
        __shared__ X part[T / 32];
        __syncthreads(); /* the last call's are read */
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32] = x;
        __syncthreads();
        x = part[0];
        for (int w = 1; w < T / 32; w++)
            x = join(x, part[w]);
    }
    return x;
}
template <int T, class X> __device__ X total(X x)
{
    return joined<T>(x, plus{});
}

/* The largest x, and the sum of e^(x - largest), of what was added; not a number stays in the sum. */
struct exponentials {
    float max = -FLT_MAX, sum = 0;

    template <int W> __device__ void add(pack<W> x)
    {
        float larger = max;
        for (int j = 0; j < W; j++)
            larger = fmaxf(larger, x.at[j]);
        sum *= expf(max - larger);
        for (int j = 0; j < W; j++)
            sum += expf(x.at[j] - larger);
        max = larger;
    }
    /* those of all threads of the group */
    template <int T> __device__ void join()
    {
        const float largest = joined<T>(max, greater{});
        sum = total<T>(sum * expf(max - largest));
        max = largest;
    }
};

/* Dropout as an argument of kernels; without one nothing is dropped. */
struct dropping {
    struct k_dropout drop;
    float scale;
    int on;

    /* of element i of a sample whose words are s */
    __device__ float operator()(struct dropout_sample s, size_t i, float x) const
    {
        return !on ? x : dropout_keeps(s, uint32_t(i)) ? x * scale : 0;
    }
    __device__ struct dropout_sample sample(size_t number) const
    {
        struct dropout_sample s = {};
        if (on)
            s = dropout_sample(&drop, number);
        return s;
    }
};
inline dropping dropping_of(const struct k_dropout *drop)
{
    return drop ? dropping{*drop, float(1 / (1 - drop->p)), 1} : dropping{};
}

} // namespace k

#endif
