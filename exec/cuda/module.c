#include "exec/cuda/module.h"

#include <stdlib.h>

#include "config.h"
#include "profile/collect.h"

static const struct cuda_module module = {
    .abi = CUDA_MODULE_ABI,
    .version = PACKAGE_VERSION,
    .built = "code for " CUDA_TARGETS,
    .probe = cuda_probe,
    .devices = cuda_devices,
    .check = cuda_check,
    .examine = cuda_examine,
    .describe = cuda_describe,
    .conclude = cuda_conclude,
    .backend = &backend_cuda,
    .release = collect_close,
};

__attribute__((visibility("default"))) const struct cuda_module *parprof_cuda(const struct cuda_host *host)
{
    /* Read when the driver starts.  A kernel that is first loaded while a collective waits may never start.
     */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    return cuda_host_take(host) ? &module : NULL;
}
