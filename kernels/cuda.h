/* kernels/cuda.h -- the arithmetic on NVIDIA GPUs.  C ABI; valid C17 and C++17; nothing of ours but
 * kernels.h.
 *
 * k_cuda_f32 is the table of kernels.h: its `stream` is a struct k_cuda_stream, its pointers are memory of
 * that stream's device, except that `src` of sum is an array of the caller.  Calls return at once; a result
 * is there when the stream has come past them.  Own kernels and cuBLAS; nothing is allocated and nothing
 * loaded after k_cuda_open and k_cuda_load. Sums over rows are deterministic: the same inputs give the same
 * bits.  sum takes at most K_CUDA_MEMBERS members.
 */
#ifndef KERNELS_CUDA_H
#define KERNELS_CUDA_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { K_CUDA_MEMBERS = 256 };

/* A CUDA stream with what kernels need beside it: a cuBLAS handle with its own workspace, scratch for sums.
 */
struct k_cuda_stream;

/* stream: a cudaStream_t of the current device, which stays the caller's.  tf32: products may round their
 * inputs to TF32. Status 0, a cudaError_t, or K_CUDA_BLAS plus a cublasStatus_t; then *out is NULL. */
enum { K_CUDA_BLAS = 10000 };
int k_cuda_open(void *stream, int tf32, struct k_cuda_stream **out);
void k_cuda_close(struct k_cuda_stream *);      /* NULL is legal; the stream has come to rest */
void *k_cuda_raw(const struct k_cuda_stream *); /* its cudaStream_t */

/* Loads every kernel of ours on the current device: a kernel that is loaded while a collective waits may
 * never start. */
int k_cuda_load(void);

/* Launches of own kernels, and calls of cuBLAS that launch, over this stream so far. */
struct k_cuda_counts {
    uint64_t own, products;
};
struct k_cuda_counts k_cuda_counted(const struct k_cuda_stream *);

/* Whether a kernel's name, mangled as the device's symbol, is one of ours. */
int k_cuda_owns(const char *name);

/* mark: stores the device's time in ns; wait: ends, one block, no earlier than ns after that. */
int k_cuda_mark(struct k_cuda_stream *, uint64_t *mark);
int k_cuda_wait(struct k_cuda_stream *, const uint64_t *mark, uint64_t ns);

const char *
k_cuda_text(int status); /* "CUBLAS_STATUS_ALLOC_FAILED", "an illegal memory access was encountered" */

extern const struct k_table k_cuda_f32;

#ifdef __cplusplus
}
#endif

#endif
