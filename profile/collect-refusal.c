/* What CUPTI's errors mean: who is in the way, and what to do. */
#include "profile/collect-cupti.h"

#include <string.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

G_DEFINE_QUARK(parprof_collect, collect_error)

static bool profiling_is_restricted(void)
{
    g_autofree char *text = NULL;
    return g_file_get_contents("/proc/driver/nvidia/params", &text, NULL, NULL) &&
           strstr(text, "RmProfilingAdminOnly: 1");
}

static char *unknown_advice(void)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return g_strdup("there is no NVIDIA driver on this machine (libcuda.so.1): install one of CUDA 13, "
                        "R580 or newer");
    return g_strdup_printf(
        "the driver (of CUDA %d.%d) is there, but CUPTI does not come up on it; try one of CUDA 13, R580 or "
        "newer, and 'parprof doctor'",
        driver / 1000, driver % 1000 / 10);
}

/* What the code means, and what to do. */
static char *advice(int result, const char *holder)
{
    switch (result) {
    case CUPTI_ERROR_NOT_INITIALIZED:
        return g_strdup("the driver is older than this CUPTI, or a folder of stubs is on LD_LIBRARY_PATH: "
                        "take the folder off, or "
                        "install a driver of CUDA 13, R580 or newer");
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return g_strdup_printf(
            "%s holds CUPTI in this process, and there is room for one: run without nsys, ncu, cuda-gdb, "
            "compute-sanitizer or another profiler around it",
            holder[0] ? holder : "another tool");
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return g_strdup_printf(
            "this user may not trace%s: run as root, in a container with --cap-add SYS_ADMIN too, or load "
            "the "
            "nvidia kernel module with NVreg_RestrictProfilingToAdminUsers=0",
            profiling_is_restricted() ? " (/proc/driver/nvidia/params has RmProfilingAdminOnly: 1)" : "");
    case CUPTI_ERROR_HARDWARE_BUSY:
        return g_strdup("something else holds the counters, as DCGM does: 'dcgmi profile --pause' before, "
                        "'--resume' after");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
        return g_strdup("this is a virtual GPU, which cannot be traced unless its host allows it");
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return g_strdup("this GPU is in confidential computing mode, which forbids tracing");
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
        return g_strdup("this GPU is of the CMP series, which cannot be traced");
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
        return g_strdup(
            "this is a part of a GPU (MIG) that shares its compute instance; take one of its own");
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
        return g_strdup("GPUs in SLI cannot be traced; turn SLI off");
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
        return g_strdup("under WSL this GPU cannot be traced; take Linux itself");
    case CUPTI_ERROR_NOT_COMPATIBLE:
        return g_strdup("the driver, the GPU or this CUPTI does not know this kind of record: install a "
                        "driver of CUDA 13, R580 "
                        "or newer");
    case CUPTI_ERROR_OUT_OF_MEMORY:
        return g_strdup("there is no memory left for records: take fewer --steps");
    case CUPTI_ERROR_UNKNOWN:
        return unknown_advice();
    default:
        return g_strdup("see 'parprof doctor'");
    }
}

bool collect_fail(GError **error, int code, const char *call, int result, const char *holder)
{
    const char *name = NULL;
    g_autofree char *what = advice(result, holder);
    if (cuptiGetResultString((CUptiResult)result, &name) != CUPTI_SUCCESS || !name)
        name = "unknown code";
    g_set_error(error, COLLECT_ERROR, code, "CUPTI %s: %s gave error %d (%s): %s",
                code == COLLECT_ERROR_REFUSED ? "does not trace here" : "failed", call, result, name, what);
    return false;
}
