/* tests/cuda-emulator/headers -- stand-ins for NVIDIA's headers, for builds on a machine without CUDA: what parprof, its
 * kernels and the emulator use of CUDA 13, NCCL 2.28, CUPTI 13 and NVTX 3, and no more.  Where the real headers are,
 * tests/cuda-emulator/agree proves every name in them equal, by rules that want it written so: each enumerator with its
 * value, each field and each function in a declaration of its own, functions from the line's beginning, what is only
 * there to fill a record named gap. */
#ifndef STAND_IN_VECTOR_TYPES_H
#define STAND_IN_VECTOR_TYPES_H

struct uint3 {
    unsigned int x;
    unsigned int y;
    unsigned int z;
};
typedef struct uint3 uint3;

struct __attribute__((aligned(8))) float2 {
    float x;
    float y;
};
typedef struct float2 float2;

struct __attribute__((aligned(16))) float4 {
    float x;
    float y;
    float z;
    float w;
};
typedef struct float4 float4;

struct dim3 {
    unsigned int x;
    unsigned int y;
    unsigned int z;
#ifdef __cplusplus
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
#endif
};
typedef struct dim3 dim3;

#endif
