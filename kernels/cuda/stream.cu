/* Streams, what is launched over them, and the table. */
#include <cstring>

#include "kernels/cuda/clock.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k
{

kernel_entry *kernel_entry::first;

__global__ void mark(uint64_t *mark)
{
    *mark = device_time();
}

__global__ void wait(const uint64_t *mark, uint64_t ns)
{
    const uint64_t since = *mark;
    while (device_time() - since < ns)
        ;
}

/* cuBLAS wants 32 MiB on Hopper and later, 4 MiB on others; what it does not get it may allocate. */
enum : size_t { WORKSPACE_BYTES = size_t(32) << 20 };

static int open_blas(k_cuda_stream *s, int tf32)
{
    cublasStatus_t status = cublasCreate(&s->blas);
    if (!status)
        status = cublasSetStream(s->blas, s->stream); /* forgets the workspace */
    if (!status)
        status = cublasSetWorkspace(s->blas, s->workspace, WORKSPACE_BYTES);
    if (!status)
        status = cublasSetMathMode(s->blas, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
    return status ? K_CUDA_BLAS + int(status) : 0;
}

} // namespace k

int k_cuda_open(void *stream, int tf32, struct k_cuda_stream **out)
{
    k_cuda_stream *s = new k_cuda_stream{};
    s->stream = static_cast<cudaStream_t>(stream);
    int status = cudaMalloc(&s->workspace, k::WORKSPACE_BYTES);
    if (!status)
        status = cudaMalloc(&s->scratch, k::SCRATCH_BYTES);
    if (!status)
        status = k::open_blas(s, tf32);
    if (status) {
        k_cuda_close(s);
        s = nullptr;
    }
    *out = s;
    return status;
}

void k_cuda_close(struct k_cuda_stream *s)
{
    if (!s)
        return;
    if (s->blas)
        cublasDestroy(s->blas);
    cudaFree(s->scratch);
    cudaFree(s->workspace);
    delete s;
}

void *k_cuda_raw(const struct k_cuda_stream *s)
{
    return s->stream;
}

int k_cuda_load(void)
{
    for (k::kernel_entry *e = k::kernel_entry::first; e; e = e->next) {
        cudaFuncAttributes attributes;
        const cudaError_t status = cudaFuncGetAttributes(&attributes, e->function);
        if (status)
            return status;
    }
    return 0;
}

struct k_cuda_counts k_cuda_counted(const struct k_cuda_stream *s)
{
    return s->counts;
}

/* Nested in namespace k, whose name has one letter: N, then 1k, then the length of the next name. */
int k_cuda_owns(const char *name)
{
    return std::strncmp(name, "_ZN1k", 5) == 0 && name[5] >= '1' && name[5] <= '9';
}

int k_cuda_mark(struct k_cuda_stream *s, uint64_t *mark)
{
    return k::launch<k::mark>(s, 1, 1, 0, mark);
}

int k_cuda_wait(struct k_cuda_stream *s, const uint64_t *mark, uint64_t ns)
{
    return k::launch<k::wait>(s, 1, 1, 0, mark, ns);
}

const char *k_cuda_text(int status)
{
    if (status >= K_CUDA_BLAS)
        return cublasGetStatusName(static_cast<cublasStatus_t>(status - K_CUDA_BLAS));
    return cudaGetErrorString(static_cast<cudaError_t>(status));
}

const struct k_table k_cuda_f32 = {
    .name = "cuda f32",
    .elem_bytes = 4,
    .gemm = k_cuda_gemm,
    .bias = k_cuda_bias,
    .bias_grad = k_cuda_bias_grad,
    .add_norm = k_cuda_add_norm,
    .add_norm_grad = k_cuda_add_norm_grad,
    .attention = k_cuda_attention,
    .attention_grad = k_cuda_attention_grad,
    .dropout = k_cuda_dropout,
    .residual = k_cuda_residual,
    .bias_act = k_cuda_bias_act,
    .bias_act_grad = k_cuda_bias_act_grad,
    .bias_tanh = k_cuda_bias_tanh,
    .tanh_grad = k_cuda_tanh_grad,
    .sine = k_cuda_sine,
    .embed = k_cuda_embed,
    .embed_grad = k_cuda_embed_grad,
    .bag = k_cuda_bag,
    .bag_grad = k_cuda_bag_grad,
    .cross_entropy = k_cuda_cross_entropy,
    .scale_copy = k_cuda_scale_copy,
    .add = k_cuda_add,
    .zero = k_cuda_zero,
    .sum = k_cuda_sum,
    .sgd = k_cuda_sgd,
    .adam = k_cuda_adam,
    .sum_squares = k_cuda_sum_squares,
    .total = k_cuda_total,
    .clip_factor = k_cuda_clip_factor,
};
