#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k {
kernel_entry *kernel_entry::first;
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

const struct k_table k_cuda_f32 = {.name = "cuda f32", .elem_bytes = 4, .zero = k_cuda_zero};
