#include "exec/cuda-module.h"

#include <cuda_runtime_api.h>

bool cuda_probe(GError **error)
{
    int n = 0;
    cudaError_t status = cudaGetDeviceCount(&n);
    if (status == cudaSuccess && n > 0)
        return true;
    g_set_error(error, engine_error_quark(), ENGINE_ERROR_UNAVAILABLE, "no GPU: %s",
                cudaGetErrorString(status));
    return false;
}

uint32_t cuda_devices(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? (uint32_t)n : 0;
}

void cuda_examine(void (*say)(void *user, const char *layer, enum cuda_health, const char *text), void *user)
{
    say(user, "driver", CUDA_UNTRIED, "");
}

bool cuda_peers(uint32_t a, uint32_t b)
{
    return a == b;
}

bool cuda_fail(GError **error, const char *call, int status, uint32_t rank, uint32_t device)
{
    g_set_error(error, engine_error_quark(), ENGINE_ERROR_FAILED, "rank %u on GPU %u: %s failed with %d",
                rank, device, call, status);
    return false;
}

uint32_t cuda_device_of(const struct plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank == rank)
            return plan->t.lanes[i].device % MAX(cuda_devices(), 1);
    return 0;
}
