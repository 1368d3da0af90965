// tests/cuda-emulator/cublas.cpp -- libcublas: column-major products as tasks of the emulated machine.
//
// Stricter than the real one: a product without a workspace of the caller's is complained about, for there
// cuBLAS may allocate, which a waiting collective does not survive; and so is the first product of a shape on
// a device while one waits, for there cuBLAS may load a kernel.  The workspace is written by every
// product, so that two streams which share one are a race.
#include <cublas_v2.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "emulator.h"

struct cublasContext {
    int device;
    cudaStream_t stream;
    void *workspace;
    size_t workspace_bytes;
    cublasMath_t math;
};

namespace
{

std::atomic<int> handles;

// At the end, before the emulator's own: registered after it.
void count_handles()
{
    if (handles != 0 && !emu::option("NO_LEAKS"))
        emu::complain("leak: %d handles of cuBLAS were not destroyed", handles.load());
}

struct Matrix {
    char *p;
    int64_t ld, stride; /* elements */
    bool transposed;
};

struct Product {
    int64_t m, n, k, batches;
    float alpha, beta;
    Matrix a, b, c;
    bool tf32;
};

// To 10 bits of mantissa, to nearest, ties to even.
float round_tf32(float x)
{
    uint32_t bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7f800000) == 0x7f800000)
        return x;
    bits += 0xfff + ((bits >> 13) & 1);
    return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
}

float element(const Product &p, const Matrix &x, const float *base, int64_t row, int64_t column)
{
    float v = x.transposed ? base[column + row * x.ld] : base[row + column * x.ld];
    return p.tf32 ? round_tf32(v) : v;
}

void multiply(const Product &p, const float *a, const float *b, float *c)
{
    std::vector<float> sum(size_t(p.m)), left(size_t(p.m * p.k));
    for (int64_t l = 0; l < p.k; l++)
        for (int64_t i = 0; i < p.m; i++)
            left[size_t(l * p.m + i)] = element(p, p.a, a, i, l);
    for (int64_t j = 0; j < p.n; j++) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (int64_t l = 0; l < p.k; l++) {
            const float *column = &left[size_t(l * p.m)], right = element(p, p.b, b, l, j);
            for (int64_t i = 0; i < p.m; i++)
                sum[size_t(i)] += column[i] * right;
        }
        for (int64_t i = 0; i < p.m; i++) {
            float &to = c[i + j * p.c.ld];
            to = p.alpha * sum[size_t(i)] + (p.beta == 0 ? 0 : p.beta * to);
        }
    }
}

void run(const Product &p)
{
    auto at = [](const Matrix &x, int64_t batch) {
        return reinterpret_cast<float *>(x.p) + batch * x.stride;
    };
    for (int64_t batch = 0; batch < p.batches; batch++)
        multiply(p, at(p.a, batch), at(p.b, batch), at(p.c, batch));
}

// From the first element of the first batch to the last of the last.
emu::Range range(const Matrix &x, int64_t rows, int64_t columns, int64_t batches, bool write)
{
    if (x.transposed)
        std::swap(rows, columns);
    int64_t last = (batches - 1) * x.stride + (columns - 1) * x.ld + rows;
    return {x.p, size_t(last) * sizeof(float), write};
}

bool valid(const Product &p)
{
    int64_t rows_a = p.a.transposed ? p.k : p.m, rows_b = p.b.transposed ? p.n : p.k;
    return p.m >= 0 && p.n >= 0 && p.k >= 0 && p.batches >= 0 && p.a.ld >= std::max<int64_t>(1, rows_a) &&
           p.b.ld >= std::max<int64_t>(1, rows_b) && p.c.ld >= std::max<int64_t>(1, p.m);
}

// As cuBLAS names them: the layout by which each factor is read, the tile, the precision.
std::string kernel_name(const Product &p)
{
    std::string layout = {p.a.transposed ? 't' : 'n', p.b.transposed ? 't' : 'n'};
    if (p.tf32)
        return "sm90_xmma_gemm_f32f32_tf32f32_f32_" + layout +
               "_n_tilesize64x64x32_warpgroupsize1x1x1_execute_kernel__5x_cublas";
    std::string name = "cutlass_80_simt_sgemm_64x64_8x5_" + layout + "_align1";
    return "_ZN7cutlass7Kernel2I" + std::to_string(name.size()) + name + "EEvNT_6ParamsE";
}

void load_kernel(const char *name, int device, const Product &p)
{
    static std::mutex lock;
    static std::set<std::tuple<int, int64_t, int64_t, int64_t, int64_t, bool, bool>> loaded;
    const std::lock_guard hold(lock);
    if (loaded.emplace(device, p.m, p.n, p.k, p.batches, p.a.transposed, p.b.transposed).second)
        emu::implicit_sync((std::string("the first ") + name + " of a shape").c_str());
}

cublasStatus_t start(cublasContext *h, const char *name, const Product &p)
{
    if (!valid(p) || (p.batches > 1 && p.c.stride < p.c.ld * (p.n - 1) + p.m && p.n > 0 && p.c.stride < p.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p.m == 0 || p.n == 0 || p.batches == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!p.a.p || !p.b.p || !p.c.p)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (emu::current_device() != h->device)
        emu::complain("%s: the current device is %d, the handle's is %d", name, emu::current_device(),
                      h->device);
    if (!h->workspace)
        emu::complain("%s: no workspace was set after the stream: cuBLAS may allocate here", name);
    load_kernel(name, h->device, p);
    emu::Task task;
    task.kind = emu::Kind::kernel;
    task.name = kernel_name(p);
    if (p.k > 0 && p.alpha != 0) {
        task.ranges.push_back(range(p.a, p.m, p.k, p.batches, false));
        task.ranges.push_back(range(p.b, p.k, p.n, p.batches, false));
    }
    if (p.beta != 0)
        task.ranges.push_back(range(p.c, p.m, p.n, p.batches, false));
    task.ranges.push_back(range(p.c, p.m, p.n, p.batches, true));
    if (h->workspace)
        task.ranges.push_back({h->workspace, 4, true});
    Product own = p;
    if (p.alpha == 0)
        own.k = 0;
    task.run = [own] { run(own); };
    task.grid = dim3(unsigned((p.m + 63) / 64), unsigned((p.n + 63) / 64), unsigned(p.batches));
    task.block = dim3(128);
    emu::Call launch("cudaLaunchKernel");
    launch.result = emu::enqueue(h->stream, std::move(task));
    return launch.result == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

bool operation(cublasOperation_t t)
{
    return t == CUBLAS_OP_N || t == CUBLAS_OP_T || t == CUBLAS_OP_C;
}

Matrix matrix(const void *p, int64_t ld, int64_t stride, cublasOperation_t t)
{
    return {static_cast<char *>(const_cast<void *>(p)), ld, stride, t != CUBLAS_OP_N};
}

// alpha and beta lie in host memory, which is read at the call.
cublasStatus_t product(cublasContext *h, const emu::Call &call, cublasOperation_t ta, cublasOperation_t tb,
                       int64_t m, int64_t n, int64_t k, int64_t batches, const void *alpha, const void *beta,
                       Matrix a, Matrix b, Matrix c, bool tf32)
{
    if (call.fault)
        return cublasStatus_t(call.fault);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!operation(ta) || !operation(tb) || !alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    return start(h, call.name,
                 {m, n, k, batches, *static_cast<const float *>(alpha), *static_cast<const float *>(beta), a,
                  b, c, tf32});
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

#define BEGIN(name)                                                                                          \
    emu::Call call(name, emu::Layer::library);                                                               \
    if (call.fault)                                                                                          \
        return cublasStatus_t(call.fault);

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    BEGIN("cublasCreate_v2")
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (emu::gpus() == 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    emu::implicit_sync("cublasCreate_v2");
    [[maybe_unused]] static const int registered = atexit(count_handles);
    handles++;
    *handle = new cublasContext{emu::current_device(), nullptr, nullptr, 0, CUBLAS_DEFAULT_MATH};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    emu::Call call("cublasDestroy_v2", emu::Layer::library);
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    emu::implicit_sync("cublasDestroy_v2");
    handles--;
    delete handle;
    return cublasStatus_t(call.fault);
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *version)
{
    BEGIN("cublasGetVersion_v2")
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
    BEGIN("cublasGetProperty")
    *value = type == MAJOR_VERSION   ? CUBLAS_VER_MAJOR
             : type == MINOR_VERSION ? CUBLAS_VER_MINOR
                                     : CUBLAS_VER_PATCH;
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
    return CUDART_VERSION;
}

// Puts the workspace back to cuBLAS' own, as the manual says.
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    BEGIN("cublasSetStream_v2")
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->stream = stream;
    handle->workspace = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    BEGIN("cublasSetWorkspace_v2")
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (bytes == 0 || uintptr_t(workspace) % 256 != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    BEGIN("cublasSetMathMode")
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    BEGIN("cublasSetPointerMode_v2")
    return !handle                            ? CUBLAS_STATUS_NOT_INITIALIZED
           : mode == CUBLAS_POINTER_MODE_HOST ? CUBLAS_STATUS_SUCCESS
                                              : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t)
{
    BEGIN("cublasSetAtomicsMode")
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                              int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
                              const float *beta, float *c, int ldc)
{
    emu::Call call("cublasSgemm_v2", emu::Layer::library);
    return product(h, call, ta, tb, m, n, k, 1, alpha, beta, matrix(a, lda, 0, ta), matrix(b, ldb, 0, tb),
                   matrix(c, ldc, 0, CUBLAS_OP_N), h && h->math == CUBLAS_TF32_TENSOR_OP_MATH);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                                         int n, int k, const float *alpha, const float *a, int lda,
                                         long long stride_a, const float *b, int ldb, long long stride_b,
                                         const float *beta, float *c, int ldc, long long stride_c,
                                         int batches)
{
    emu::Call call("cublasSgemmStridedBatched", emu::Layer::library);
    return product(h, call, ta, tb, m, n, k, batches, alpha, beta, matrix(a, lda, stride_a, ta),
                   matrix(b, ldb, stride_b, tb), matrix(c, ldc, stride_c, CUBLAS_OP_N),
                   h && h->math == CUBLAS_TF32_TENSOR_OP_MATH);
}

static bool computable(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
    return a == CUDA_R_32F && b == CUDA_R_32F && c == CUDA_R_32F &&
           (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
            compute == CUBLAS_COMPUTE_32F_FAST_TF32);
}

static bool rounds(const cublasContext *h, cublasComputeType_t compute)
{
    return compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
           (compute == CUBLAS_COMPUTE_32F && h && h->math == CUBLAS_TF32_TENSOR_OP_MATH);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                                          int n, int k, const void *alpha, const void *a, cudaDataType type_a,
                                          int lda, long long stride_a, const void *b, cudaDataType type_b,
                                          int ldb, long long stride_b, const void *beta, void *c,
                                          cudaDataType type_c, int ldc, long long stride_c, int batches,
                                          cublasComputeType_t compute, cublasGemmAlgo_t)
{
    emu::Call call("cublasGemmStridedBatchedEx", emu::Layer::library);
    if (!computable(type_a, type_b, type_c, compute))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return product(h, call, ta, tb, m, n, k, batches, alpha, beta, matrix(a, lda, stride_a, ta),
                   matrix(b, ldb, stride_b, tb), matrix(c, ldc, stride_c, CUBLAS_OP_N), rounds(h, compute));
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void *alpha, const void *a, cudaDataType type_a, int lda, const void *b,
                            cudaDataType type_b, int ldb, const void *beta, void *c, cudaDataType type_c,
                            int ldc, cublasComputeType_t compute, cublasGemmAlgo_t)
{
    emu::Call call("cublasGemmEx", emu::Layer::library);
    if (!computable(type_a, type_b, type_c, compute))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return product(h, call, ta, tb, m, n, k, 1, alpha, beta, matrix(a, lda, 0, ta), matrix(b, ldb, 0, tb),
                   matrix(c, ldc, 0, CUBLAS_OP_N), rounds(h, compute));
}

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} texts[] = {
#define TEXT(s, text) {s, #s, text},
    TEXT(CUBLAS_STATUS_SUCCESS, "success") TEXT(CUBLAS_STATUS_NOT_INITIALIZED,
                                                "the library was not initialized")
        TEXT(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed")
            TEXT(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function")
                TEXT(CUBLAS_STATUS_ARCH_MISMATCH,
                     "the function requires an architectural feature absent from the device architecture")
                    TEXT(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed")
                        TEXT(CUBLAS_STATUS_EXECUTION_FAILED, "the GPU program failed to execute")
                            TEXT(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed") TEXT(
                                CUBLAS_STATUS_NOT_SUPPORTED, "the functionality requested is not supported")
#undef TEXT
};

const char *cublasGetStatusName(cublasStatus_t status)
{
    for (const auto &t : texts)
        if (t.status == status)
            return t.name;
    return "unknown cuBLAS status";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    for (const auto &t : texts)
        if (t.status == status)
            return t.text;
    return "unknown cuBLAS status";
}

} // extern "C"
