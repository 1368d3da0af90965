/* The program's services under their own names, for the files of the module. */
#include "exec/cuda/module.h"

static const struct cuda_host *host;

#define HOST(type, name, parameters, arguments)                                                              \
    type name parameters                                                                                     \
    {                                                                                                        \
        return host->name arguments;                                                                         \
    }
#include "exec/cuda/host.def"
#undef HOST

bool cuda_host_take(const struct cuda_host *given)
{
    host = given;
    return given->abi == CUDA_MODULE_ABI;
}
