/* kernels/cuda/launch.h -- how every kernel of ours is launched, counted and loaded.
 *
 * A kernel is a function `__global__ void name(...)` in namespace k, not static, so that its symbol can be
 * found; it is launched by launch<name>(...), which registers it with k_cuda_load.  No <<<>>>: the host code
 * is plain C++17.
 */
#ifndef KERNELS_CUDA_LAUNCH_H
#define KERNELS_CUDA_LAUNCH_H

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/cuda.h"

struct k_cuda_stream {
    cudaStream_t stream;
    cublasHandle_t blas;
    void *workspace, *scratch; /* scratch: SCRATCH_BYTES, for sums over blocks */
    struct k_cuda_counts counts;
};

namespace k
{

enum : size_t { SCRATCH_BYTES = size_t(4) << 20 };

/* Every kernel that anything launches, linked before main. */
struct kernel_entry {
    const void *function;
    kernel_entry *next;
    static kernel_entry *first;
    explicit kernel_entry(const void *f) : function(f), next(first)
    {
        first = this;
    }
};
template <auto kernel> struct registered {
    static kernel_entry entry;
};
template <auto kernel> kernel_entry registered<kernel>::entry{reinterpret_cast<const void *>(kernel)};

template <class... P, size_t... I>
int launch_with(const void *function, void (*)(P...), k_cuda_stream *s, dim3 grid, dim3 block, size_t shared,
                std::tuple<P...> arguments, std::index_sequence<I...>)
{
    void *pointers[sizeof...(P) + 1] = {&std::get<I>(arguments)...};
    s->counts.own++;
    return cudaLaunchKernel(function, grid, block, pointers, shared, s->stream);
}

/* A grid without blocks is legal and launches nothing. */
template <auto kernel, class... A>
int launch(void *stream, dim3 grid, dim3 block, size_t shared, A... arguments)
{
    auto f = +kernel;
    (void)&registered<kernel>::entry;
#ifdef EMULATED_KERNEL
    EMULATED_KERNEL(kernel)
#endif
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return 0;
    return [&]<class... P>(void (*)(P...)) {
        return launch_with(reinterpret_cast<const void *>(f), f, static_cast<k_cuda_stream *>(stream), grid,
                           block, shared, std::tuple<P...>(arguments...), std::index_sequence_for<P...>{});
    }(f);
}

inline const float *floats(const void *p)
{
    return static_cast<const float *>(p);
}
inline float *floats(void *p)
{
    return static_cast<float *>(p);
}

inline size_t ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Blocks of 256 threads for n elements, four and more a thread. */
inline dim3 flat(size_t n)
{
    return dim3(unsigned(std::min(ceil_div(n, 1024), size_t(1) << 16)));
}

/* A matrix worked on by rows: blockDim.x threads, four columns each, in blockDim.y rows a block. */
struct tiles {
    dim3 grid, block;
};
inline tiles by_rows(size_t rows, size_t n)
{
    unsigned x = 1;
    while (x < 256 && x * 4 < n)
        x *= 2;
    return {dim3(unsigned(ceil_div(rows, 256 / x)), unsigned(std::min(ceil_div(n, 4 * x), size_t(65535)))),
            dim3(x, 256 / x)};
}

/* Rows with a sum each: go(threads_a_row<T>) launches with T threads a row, T = 32: a warp, else a block.
 * Which T it is depends on the sizes alone, for the result does on it. */
template <int T> struct threads_a_row {
    static constexpr int value = T;
    static dim3 grid(size_t rows)
    {
        return dim3(unsigned(ceil_div(rows, T == 32 ? 8 : 1)));
    }
    static dim3 block()
    {
        return dim3(T == 32 ? 256 : T);
    }
};
template <class F> int by_groups(size_t rows, size_t n, F go)
{
    return n > 1024 || (n > 256 && rows < 1024) ? go(threads_a_row<256>{}) : go(threads_a_row<32>{});
}

} // namespace k

#endif
