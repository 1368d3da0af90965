/* Every layer of the stack, one line each.  After one that is bad those go on that do not stand on it. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "exec/cuda/comm.h"
#include "exec/cuda/module.h"
#include "exec/cuda/nvml.h"
#include "profile/collect.h"

struct report {
    void (*say)(void *user, const char *layer, enum cuda_health, const char *text);
    void *user;
};

static void say(const struct report *r, const char *layer, enum cuda_health health, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static void say(const struct report *r, const char *layer, enum cuda_health health, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    r->say(r->user, layer, health, text);
}

/* Good, or bad for the error's reason. */
static bool verdict(const struct report *r, const char *layer, bool ok, const char *good, GError *error)
{
    r->say(r->user, layer, ok ? CUDA_GOOD : CUDA_BAD, ok ? good : error ? error->message : "failed");
    g_clear_error(&error);
    return ok;
}

/* --- libraries, which need no driver */

static void examine_runtime(const struct report *r)
{
    int version = 0;
    cudaError_t status = cudaRuntimeGetVersion(&version);
    if (status)
        say(r, "CUDA runtime", CUDA_BAD, "cudaRuntimeGetVersion failed: %s", cudaGetErrorString(status));
    else
        say(r, "CUDA runtime", version / 1000 == CUDART_VERSION / 1000 ? CUDA_GOOD : CUDA_BAD,
            "%d.%d, built against %d.%d", version / 1000, version % 1000 / 10, CUDART_VERSION / 1000,
            CUDART_VERSION % 1000 / 10);
}

static void examine_cublas(const struct report *r)
{
    int part[3] = {0};
    for (int i = 0; i < 3; i++)
        if (cublasGetProperty((libraryPropertyType)i, &part[i])) {
            say(r, "cuBLAS", CUDA_BAD, "cublasGetProperty failed: libcublas does not tell its version");
            return;
        }
    say(r, "cuBLAS", part[0] == CUBLAS_VER_MAJOR ? CUDA_GOOD : CUDA_BAD, "%d.%d.%d, built against %d.%d",
        part[0], part[1], part[2], CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR);
}

static void examine_libraries(const struct report *r)
{
    GError *error = NULL;
    examine_runtime(r);
    examine_cublas(r);
    g_autofree char *nccl = comm_nccl_version(&error);
    verdict(r, "NCCL", nccl, nccl, error);
    say(r, "CUPTI", CUDA_GOOD, "%s", collect_version());
}

/* --- devices */

static bool examine_driver(const struct report *r)
{
    GError *error = NULL;
    int version = 0;
    bool ok = cuda_probe(&error);
    cudaDriverGetVersion(&version);
    g_autofree char *release = cuda_driver_release();
    g_autofree char *good = g_strdup_printf("%s%ssupports CUDA %d.%d", release ? release : "",
                                            release ? ", " : "", version / 1000, version % 1000 / 10);
    return verdict(r, "driver", ok, good, error);
}

static void examine_device(const struct report *r, uint32_t device)
{
    struct cudaDeviceProp p;
    g_autofree char *layer = g_strdup_printf("GPU %u", device);
    char memory[G_ASCII_DTOSTR_BUF_SIZE];
    cudaError_t status = cudaGetDeviceProperties(&p, (int)device);
    if (status) {
        say(r, layer, CUDA_BAD, "cudaGetDeviceProperties failed: %s", cudaGetErrorString(status));
        return;
    }
    g_ascii_formatd(memory, sizeof memory, "%.1f", (double)p.totalGlobalMem / (1 << 30));
    say(r, layer, CUDA_GOOD, "%s, %d SMs, %s GiB, compute capability %d.%d", p.name, p.multiProcessorCount,
        memory, p.major, p.minor);
}

static void examine_peers(const struct report *r, uint32_t devices)
{
    g_autoptr(GString) text = g_string_new(NULL);
    uint32_t missing = 0;
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = a + 1; b < devices; b++)
            if (!cuda_peers(a, b))
                g_string_append_printf(text, "%s%u and %u", missing++ ? ", " : "", a, b);
    if (devices < 2)
        say(r, "peer access", CUDA_GOOD, "not needed by one GPU");
    else if (!missing)
        say(r, "peer access", CUDA_GOOD, "between all %u GPUs", devices);
    else
        say(r, "peer access", CUDA_GOOD, "not between GPUs %s, whose copies go through host memory",
            text->str);
}

/* --- kernels, tracing, collectives */

/* A kernel of ours on the current device. */
static int launch_on_stream(cudaStream_t stream)
{
    struct k_cuda_stream *k = NULL;
    uint64_t *mark = NULL;
    int status = k_cuda_open(stream, 0, &k);
    if (!status)
        status = cudaMalloc((void **)&mark, sizeof *mark);
    if (!status)
        status = k_cuda_mark(k, mark);
    if (!status)
        status = cudaStreamSynchronize(stream);
    if (mark)
        cudaFree(mark);
    k_cuda_close(k);
    return status;
}

static int launch(void)
{
    cudaStream_t stream = NULL;
    int status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (status)
        return status;
    status = launch_on_stream(stream);
    cudaStreamDestroy(stream);
    return status;
}

static bool examine_kernels(const struct report *r, uint32_t devices)
{
    for (uint32_t i = 0; i < devices; i++) {
        GError *error = NULL;
        int status = cudaSetDevice((int)i);
        if (!status)
            status = k_cuda_load();
        if (!status)
            status = launch();
        if (status) {
            cuda_fail(&error, "a first kernel", status, OP_NONE, i);
            return verdict(r, "kernels", false, NULL, error);
        }
    }
    return verdict(r, "kernels", true, "run on every GPU, and cuBLAS starts", NULL);
}

static void examine_sentinel(const struct report *r)
{
    GError *error = NULL;
    bool ok = cudaSetDevice(0) == cudaSuccess && collect_sentinel(launch, &error);
    verdict(r, "traced kernel", ok, "CUPTI records it", error);
}

static void examine_nccl(const struct report *r, uint32_t devices)
{
    GError *error = NULL;
    g_autofree char *good = g_strdup_printf("right over %u GPU%s", devices, devices == 1 ? "" : "s");
    bool ok = comm_nccl_try(devices, &error);
    verdict(r, "all-reduce", ok, good, error);
}

static void examine_work(const struct report *r, uint32_t devices, bool traced, const GError *refused)
{
    bool ran = examine_kernels(r, devices);
    r->say(r->user, "CUPTI tracing", traced ? CUDA_GOOD : CUDA_BAD, traced ? "granted" : refused->message);
    if (!ran || !traced)
        say(r, "traced kernel", CUDA_UNTRIED, "needs %s", ran ? "CUPTI tracing" : "kernels that run");
    else
        examine_sentinel(r);
    examine_nccl(r, devices);
}

static void leave_untried(const struct report *r)
{
    static const char *const layers[] = {"GPUs",          "peer access",   "kernels",
                                         "CUPTI tracing", "traced kernel", "all-reduce"};
    for (unsigned i = 0; i < G_N_ELEMENTS(layers); i++)
        say(r, layers[i], CUDA_UNTRIED, "needs the driver");
}

void cuda_examine(void (*to)(void *user, const char *layer, enum cuda_health, const char *text), void *user)
{
    const struct report r = {to, user};
    GError *refused = NULL;
    bool traced = collect_open(&refused); /* has to come before CUDA starts */
    examine_libraries(&r);
    uint32_t devices = examine_driver(&r) ? cuda_devices() : 0;
    for (uint32_t i = 0; i < devices; i++)
        examine_device(&r, i);
    if (devices) {
        examine_peers(&r, devices);
        examine_work(&r, devices, traced, refused);
    } else
        leave_untried(&r);
    collect_close();
    g_clear_error(&refused);
}
