/* tests/cuda-emulator/bugs.cu -- kernels with one bug each, and their clean siblings, for bugs.cpp. */
#include <cuda_runtime.h>

extern "C" {

__global__ void put(float *p, int n, float value)
{
    const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        p[i] = value;
}

__global__ void scale(const float *from, float *to, int n, float factor)
{
    const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        to[i] = from[i] * factor;
}

/* Sums a block's threads; without the barrier it reads what others have yet to write. */
__global__ void sum(const float *from, float *to, int barrier)
{
    __shared__ float part[8];
    float x = from[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    if (barrier)
        __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            x += part[w];
        to[blockIdx.x] = x;
    }
}

/* Reverses through memory that the launch gives; `beyond` floats too many are written. */
__global__ void reverse(float *p, int beyond)
{
    extern __shared__ float room[];
    room[threadIdx.x + (threadIdx.x == 0 ? beyond * blockDim.x : 0)] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = room[beyond ? threadIdx.x : blockDim.x - 1 - threadIdx.x];
}

__global__ void same_place(float *p) { p[0] = float(threadIdx.x); }

__global__ void blocks_meet(float *p)
{
    if (threadIdx.x == 0)
        p[blockIdx.x == 0 ? 0 : 1] = p[0];
}

__global__ void half_barrier(float *p)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncwarp();
    if (threadIdx.x >= 32)
        __syncthreads();
    p[threadIdx.x] = 1;
}

__global__ void half_shuffle(float *p)
{
    if (threadIdx.x % 2)
        return;
    p[threadIdx.x] = __shfl_xor_sync(~0u, 1.f, 2);
}

__global__ void two_places(float *p)
{
    if (threadIdx.x < 16)
        p[threadIdx.x] = __shfl_sync(~0u, 1.f, 0);
    else
        p[threadIdx.x] = __shfl_sync(~0u, 2.f, 0);
}

__global__ void vectors(float *p) { reinterpret_cast<float4 *>(p)[threadIdx.x] = make_float4(1, 2, 3, 4); }

/* All shuffles and votes at once; every thread stores what it got. */
__global__ void lanes(int *p)
{
    const int t = int(threadIdx.x), lane = t % 32;
    int *to = p + t * 7;
    to[0] = __shfl_xor_sync(~0u, t, 5);
    to[1] = __shfl_up_sync(~0u, t, 3);
    to[2] = __shfl_down_sync(~0u, t, 3, 8);
    to[3] = __shfl_sync(~0u, t, 9, 16);
    to[4] = int(__ballot_sync(~0u, lane % 3 == 0));
    to[5] = __any_sync(~0u, lane == 31);
    to[6] = __all_sync(~0u, lane < 31);
}

} // extern "C"

#define KNOWN(kernel) &emulated::known<kernel>::entry
__attribute__((used)) static const void *const all[] = {
    KNOWN(put),         KNOWN(scale),        KNOWN(sum),          KNOWN(reverse),    KNOWN(same_place), KNOWN(blocks_meet),
    KNOWN(half_barrier), KNOWN(half_shuffle), KNOWN(two_places), KNOWN(vectors), KNOWN(lanes)};
