#include "exec/cuda/nvml.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>

bool nvml_open(struct nvml *n)
{
    *n = (struct nvml){.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!n->library)
        return false;
#define NVML(name, parameters)                                                                               \
    {                                                                                                        \
        void *symbol = dlsym(n->library, "nvml" #name);                                                      \
        memcpy(&n->name, &symbol, sizeof symbol);                                                            \
    }
    NVML_FUNCTIONS
#undef NVML
    if (n->Init_v2 && n->Shutdown && n->Init_v2() == NVML_SUCCESS)
        return true;
    dlclose(n->library);
    *n = (struct nvml){0};
    return false;
}

void nvml_close(struct nvml *n)
{
    if (!n->library)
        return;
    n->Shutdown();
    dlclose(n->library);
    *n = (struct nvml){0};
}

struct nvmlDevice_st *nvml_device(const struct nvml *n, uint32_t device)
{
    char bus[32];
    struct nvmlDevice_st *found = NULL;
    if (!n->DeviceGetHandleByPciBusId_v2 || cudaDeviceGetPCIBusId(bus, sizeof bus, (int)device) ||
        n->DeviceGetHandleByPciBusId_v2(bus, &found) != NVML_SUCCESS)
        return NULL;
    return found;
}
