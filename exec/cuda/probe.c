/* The layers below a run: what is there, and where it is not, which one is missing and what to do. */
#include <cuda_runtime_api.h>

#include "exec/cuda/module.h"
#include "kernels/cuda.h"

/* --- why there is no GPU */

static char *version_text(int version)
{
    return g_strdup_printf("%d.%d", version / 1000, version % 1000 / 10);
}

static char *why_no_device(void)
{
    const char *visible = g_getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        return g_strdup_printf(
            "the driver shows no GPU: CUDA_VISIBLE_DEVICES is \"%s\"; unset it, or name GPUs that "
            "nvidia-smi lists",
            visible);
    return g_strdup(
        "the driver shows no GPU; look whether nvidia-smi lists one, and start a container with --gpus all");
}

static char *why_unusable(cudaError_t status, int driver)
{
    g_autofree char *supported = version_text(driver), *needed = version_text(CUDART_VERSION);
    switch (status) {
    case cudaErrorStubLibrary:
        return g_strdup(
            "libcuda.so.1 is the CUDA toolkit's stub instead of the driver's library; take the folder "
            "\"stubs\" out of LD_LIBRARY_PATH");
    case cudaErrorNoDevice:
        return why_no_device();
    case cudaErrorSystemNotReady:
        return g_strdup("the GPUs are not ready (error 802): start the fabric manager, systemctl start "
                        "nvidia-fabricmanager, of the driver's version");
    case cudaErrorSystemDriverMismatch:
        return g_strdup(
            "the driver's library and its kernel module are of different versions (error 803); reboot, or "
            "start the container again");
    case cudaErrorCompatNotSupportedOnDevice:
        return g_strdup(
            "libcuda.so.1 is a forward-compatibility library, which this GPU does not support (error 804); "
            "take the folder \"compat\" out of LD_LIBRARY_PATH");
    default:
        break;
    }
    if (driver == 0)
        return g_strdup(
            "no NVIDIA driver here; install r580 or newer, and start a container with --gpus all");
    if (driver / 1000 < CUDART_VERSION / 1000)
        return g_strdup_printf(
            "the NVIDIA driver is too old: it supports CUDA %s, this build needs %s; install driver "
            "r580 or newer",
            supported, needed);
    return g_strdup_printf("the driver does not start: %s (error %d); look whether nvidia-smi works",
                           cudaGetErrorString(status), (int)status);
}

/* NULL: all is well. */
static char *find_problem(int *devices)
{
    int driver = 0, runtime = 0;
    cudaError_t status = cudaDriverGetVersion(&driver);
    if (!status)
        status = cudaRuntimeGetVersion(&runtime);
    if (!status && runtime / 1000 != CUDART_VERSION / 1000) {
        g_autofree char *found = version_text(runtime), *needed = version_text(CUDART_VERSION);
        return g_strdup_printf("libcudart is of CUDA %s, this build needs %s; look at LD_LIBRARY_PATH", found,
                               needed);
    }
    if (!status)
        status = cudaGetDeviceCount(devices);
    if (!status && *devices <= 0)
        status = cudaErrorNoDevice;
    return status ? why_unusable(status, driver) : NULL;
}

bool cuda_probe(GError **error)
{
    int devices = 0;
    /* Read when the driver starts: a kernel that is first loaded while a collective waits may never start. */
    g_setenv("CUDA_MODULE_LOADING", "EAGER", FALSE);
    g_autofree char *problem = find_problem(&devices);
    if (problem)
        g_set_error_literal(error, engine_error_quark(), ENGINE_ERROR_UNAVAILABLE, problem);
    return !problem;
}

uint32_t cuda_devices(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess && n > 0 ? (uint32_t)n : 0;
}

uint32_t cuda_device_of(const struct plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank == rank)
            return plan->t.lanes[i].device % MAX(cuda_devices(), 1);
    return 0;
}

bool cuda_peers(uint32_t a, uint32_t b)
{
    int there = 0, back = 0;
    return a == b || (!cudaDeviceCanAccessPeer(&there, (int)a, (int)b) && there &&
                      !cudaDeviceCanAccessPeer(&back, (int)b, (int)a) && back);
}

/* --- why a call failed */

static const char *advice(int status)
{
    switch (status) {
    case cudaErrorMemoryAllocation:
        return "; give a smaller --batch or model, or fewer ranks a GPU";
    case cudaErrorNoKernelImageForDevice:
        return "; this build has no code for this GPU, build it with its NVCC_GENCODE";
    case cudaErrorDevicesUnavailable:
        return "; another process has the GPU for itself, nvidia-smi tells which";
    case cudaErrorECCUncorrectable:
        return "; the GPU's memory is damaged, nvidia-smi -q -d ECC tells more";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
        return "; compute-sanitizer finds the kernel, and NVIDIA's Xid messages in dmesg a broken GPU";
    default:
        return "";
    }
}

bool cuda_fail(GError **error, const char *call, int status, uint32_t rank, uint32_t device)
{
    g_autofree char *of_rank = rank == OP_NONE ? NULL : g_strdup_printf("rank %u", rank);
    g_autofree char *on_gpu = device == OP_NONE ? NULL : g_strdup_printf("GPU %u", device);
    g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED, "%s%s%s%s%s failed: %s (error %d)%s",
                of_rank ? of_rank : "", of_rank && on_gpu ? " on " : "", on_gpu ? on_gpu : "",
                of_rank || on_gpu ? ": " : "", call, k_cuda_text(status),
                status >= K_CUDA_BLAS ? status - K_CUDA_BLAS : status, advice(status));
    return false;
}
