/* kernels/cuda/clock.h -- the device's clock, the one thing of ours that C++ cannot say. */
#ifndef KERNELS_CUDA_CLOCK_H
#define KERNELS_CUDA_CLOCK_H

#include <cuda_runtime.h>

#include <cstdint>

namespace k
{

/* ns since some moment, for all kernels of the device */
inline __device__ uint64_t device_time()
{
#ifdef __CUDACC__
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
#else
    return __globaltimer(); /* of the emulated device */
#endif
}

} // namespace k

#endif
