/* tests/cuda-emulator/agree.cpp -- prints what the headers of the include path say of every name that the stand-in headers
 * declare (the list, agree-names.h, is made of them by agree.awk).  Built with the stand-ins and with the real headers, both
 * must print the same.  Types are told by their mangled names, so that a function's say everything of its parameters. */
#define __CUDA_RUNTIME_H__ /* not the runtime's C++ half: its functions have the same names */
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <vector_functions.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <typeinfo>

#define TEXT(x) #x
#define EXPANDED(x) TEXT(x)
#define CONSTANT(n) printf("constant %s %lld\n", #n, static_cast<long long>(n));
#define FUNCTION(n) printf("function %s = %s %s\n", #n, EXPANDED(n), typeid(decltype(&n)).name());
#define TYPE(n) printf("type %s %s %zu aligned %zu\n", #n, typeid(n).name(), sizeof(n), alignof(n));
#define FIELD(t, n) printf("field %s.%s at %zu %s\n", #t, #n, offsetof(t, n), typeid(decltype(t::n)).name());

namespace {

template <class T> void initializer(const char *name, const T &value)
{
    unsigned char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    printf("initializer %s", name);
    for (unsigned char byte : bytes)
        printf(" %02x", byte);
    printf("\n");
}

/* Static, for padding of zeros. */
const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
const ncclSimInfo_t sim_info = NCCL_SIM_INFO_INITIALIZER;

/* cuBLAS has more functions of these names in C++; with both headers one must be this, or it does not compile. */
using gemm_ex = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,
                               const void *, cudaDataType, int, const void *, cudaDataType, int, const void *, void *,
                               cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
using batched_ex = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,
                                  const void *, cudaDataType, int, long long, const void *, cudaDataType, int, long long,
                                  const void *, void *, cudaDataType, int, long long, int, cublasComputeType_t,
                                  cublasGemmAlgo_t);
static_assert(sizeof(static_cast<gemm_ex *>(cublasGemmEx)) && sizeof(static_cast<batched_ex *>(cublasGemmStridedBatchedEx)));

} // namespace

int main()
{
#include "agree-names.h"
    initializer("NCCL_CONFIG_INITIALIZER", config);
    initializer("NCCL_SIM_INFO_INITIALIZER", sim_info);
}
