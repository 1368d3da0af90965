/* tests/cuda-emulator/device/cuda_runtime.h -- CUDA's device language for g++, in place of the toolkit's header of this name.
 *
 * A kernel is a function of the host that is called once a thread.  Its accesses are seen because it is compiled with
 * -fsanitize=thread, whose callbacks are the emulator's (device/support.cpp).  Shared memory is thread-local memory of the
 * one thread that runs kernels. */
#ifndef EMULATOR_DEVICE_CUDA_RUNTIME_H
#define EMULATOR_DEVICE_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/cuda-emulator/device/fiber.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#undef __noinline__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ constinit thread_local
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))

#define threadIdx (emulated::thread_index())
#define blockIdx (emulated::block_index())
#define blockDim (emulated::block_size())
#define gridDim (emulated::grid_size())
constexpr int warpSize = 32;

/* --- meetings */
inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    emulated::barrier(file, line);
}
inline void __syncwarp(unsigned mask = ~0u, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    emulated::warp(emulated::Warp::sync, mask, nullptr, 0, 0, 32, file, line);
}
#define EMULATED_SHUFFLE(name, kind, type)                                                                             \
    template <class T>                                                                                                 \
    inline T name(unsigned mask, T value, type argument, int width = 32, const char *file = __builtin_FILE(),          \
                  int line = __builtin_LINE())                                                                         \
    {                                                                                                                  \
        emulated::warp(emulated::Warp::kind, mask, &value, sizeof value, int(argument), width, file, line);            \
        return value;                                                                                                  \
    }
EMULATED_SHUFFLE(__shfl_xor_sync, xor_, int)
EMULATED_SHUFFLE(__shfl_up_sync, up, unsigned)
EMULATED_SHUFFLE(__shfl_down_sync, down, unsigned)
EMULATED_SHUFFLE(__shfl_sync, index, int)
#undef EMULATED_SHUFFLE
inline unsigned __ballot_sync(unsigned mask, int vote, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    unsigned value = vote != 0;
    emulated::warp(emulated::Warp::ballot, mask, &value, sizeof value, 0, 32, file, line);
    return value;
}
inline int __any_sync(unsigned mask, int vote, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return __ballot_sync(mask, vote, file, line) != 0;
}
inline int __all_sync(unsigned mask, int vote, const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return __ballot_sync(mask, !vote, file, line) == 0;
}
/* One block runs at a time, on one thread: a word of the host will do for all. */
__attribute__((no_sanitize_thread)) inline int __syncthreads_or(int vote, const char *file = __builtin_FILE(),
                                                                int line = __builtin_LINE())
{
    static int any;
    any = 0;
    __syncthreads(file, line);
    any |= vote != 0;
    __syncthreads(file, line);
    const int result = any;
    __syncthreads(file, line);
    return result;
}

/* --- memory */
inline void __threadfence() { emulated::fence(); }
inline void __threadfence_system() { emulated::fence(); }
inline void __threadfence_block() {}
template <class T> inline T __ldg(const T *p) { return *p; }
#define EMULATED_ATOMIC(name, expression)                                                                              \
    template <class T> __attribute__((no_sanitize_thread)) inline T name(T *p, std::type_identity_t<T> value)         \
    {                                                                                                                  \
        emulated::access_atomic(p, sizeof *p);                                                                         \
        const T old = *p;                                                                                              \
        *p = expression;                                                                                               \
        return old;                                                                                                    \
    }
EMULATED_ATOMIC(atomicAdd, old + value)
EMULATED_ATOMIC(atomicSub, old - value)
EMULATED_ATOMIC(atomicMax, std::max(old, value))
EMULATED_ATOMIC(atomicMin, std::min(old, value))
EMULATED_ATOMIC(atomicOr, old | value)
EMULATED_ATOMIC(atomicAnd, old &value)
EMULATED_ATOMIC(atomicExch, value)
EMULATED_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
#undef EMULATED_ATOMIC
template <class T>
__attribute__((no_sanitize_thread)) inline T atomicCAS(T *p, std::type_identity_t<T> compare, std::type_identity_t<T> value)
{
    emulated::access_atomic(p, sizeof *p);
    const T old = *p;
    if (old == compare)
        *p = value;
    return old;
}

/* --- arithmetic, in the host's precision */
using std::max;
using std::min;
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frsqrt_rn(float x) { return float(1 / sqrt(double(x))); }
inline float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
template <class To, class From> inline To emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
inline int __float_as_int(float x) { return emulated_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return emulated_bits<unsigned>(x); }
inline float __int_as_float(int x) { return emulated_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return emulated_bits<float>(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned(uint64_t(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline unsigned __brev(unsigned x)
{
    unsigned y = 0;
    for (int i = 0; i < 32; i++)
        y = y << 1 | (x >> i & 1);
    return y;
}
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }

/* --- time: the device's clock is the host's CLOCK_MONOTONIC, for %globaltimer */
inline unsigned long long __globaltimer() { return emulated::time_ns(); }
inline unsigned long long emulated_device_time() { return emulated::time_ns(); }
inline void __nanosleep(unsigned) {}
inline long long clock64() { return (long long)emulated::time_ns(); }

/* --- every kernel that launch.h instantiates makes itself known to the emulator */
namespace emulated {

extern const Kernel *first_kernel;

template <auto kernel> struct known {
    template <class... P, size_t... I>
    __attribute__((no_sanitize_thread)) static void apply(void (*f)(P...), void **arguments, std::index_sequence<I...>)
    {
        f(*static_cast<std::remove_reference_t<P> *>(arguments[I])...);
    }
    template <class... P> static void unpack(void (*f)(P...), void **arguments)
    {
        apply(f, arguments, std::index_sequence_for<P...>{});
    }
    static void call(void **arguments) { unpack(function, arguments); }
    template <class... P> static Kernel describe(void (*f)(P...))
    {
        static constexpr size_t sizes[] = {sizeof(P)..., 0};
        return {reinterpret_cast<const void *>(f), call, sizeof...(P), sizes, first_kernel};
    }
    static Kernel make()
    {
        const Kernel k = describe(+kernel);
        first_kernel = &entry;
        return k;
    }
    /* Volatile: the kernel is not inlined into code that nobody watches. */
    static decltype(+kernel) volatile function;
    static Kernel entry;
};
template <auto kernel> decltype(+kernel) volatile known<kernel>::function = kernel;
template <auto kernel> Kernel known<kernel>::entry = make();

} // namespace emulated

#define EMULATED_KERNEL(kernel) (void)&emulated::known<kernel>::entry;

#endif
