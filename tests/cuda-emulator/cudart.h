/* tests/cuda-emulator/cudart.h -- what the files of the stand-in for libcudart share. */
#ifndef EMULATOR_CUDART_H
#define EMULATOR_CUDART_H

#include "machine.h"

#define API extern "C" __attribute__((visibility("default"))) cudaError_t

namespace cudart {

extern thread_local cudaError_t last_error;

/* A call of the runtime.  `early`: what it returns before it has done anything. */
struct Api : emu::Call {
    cudaError_t early;
    explicit Api(const char *api_name, bool needs_device = true);
    cudaError_t end(cudaError_t e)
    {
        result = e;
        if (e && e != cudaErrorNotReady)
            last_error = e;
        return e;
    }
};

} // namespace cudart

#define BEGIN(name)                                                                                                    \
    cudart::Api api(name);                                                                                             \
    if (api.early)                                                                                                     \
    return api.end(api.early)

#endif
