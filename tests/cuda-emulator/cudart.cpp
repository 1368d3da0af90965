/* tests/cuda-emulator/cudart.cpp -- libcudart.so.13: devices, errors, kernels and what nvcc's code calls at its start. */
#include "cudart.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace emu;
using namespace cudart;

namespace cudart {

thread_local cudaError_t last_error;

namespace {

int driver_version() { return option("DRIVER_VERSION") ? atoi(option("DRIVER_VERSION")) : CUDART_VERSION; }

cudaError_t usable()
{
    if (option("DEVICE_COUNT_ERROR"))
        return cudaError_t(atoi(option("DEVICE_COUNT_ERROR")));
    if (driver_version() < CUDART_VERSION)
        return cudaErrorInsufficientDriver;
    return gpus() == 0 ? cudaErrorNoDevice : cudaSuccess;
}

bool valid(int device) { return device >= 0 && unsigned(device) < gpus(); }

} // namespace

Api::Api(const char *api_name, bool needs_device) : Call(api_name), early(cudaError_t(fault))
{
    if (!early && needs_device)
        early = usable();
}

} // namespace cudart

/* --- errors */
API cudaGetLastError()
{
    Call call("cudaGetLastError");
    const cudaError_t e = last_error;
    last_error = sticky(current_device());
    return e;
}

API cudaPeekAtLastError()
{
    Call call("cudaPeekAtLastError");
    return last_error;
}

namespace {

struct Text {
    cudaError_t error;
    const char *name, *text;
};
#define TEXT(e, text) {e, #e, text}
const Text texts[] = {
    TEXT(cudaSuccess, "no error"),
    TEXT(cudaErrorInvalidValue, "invalid argument"),
    TEXT(cudaErrorMemoryAllocation, "out of memory"),
    TEXT(cudaErrorInitializationError, "initialization error"),
    TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    TEXT(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    TEXT(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    TEXT(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    TEXT(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    TEXT(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    TEXT(cudaErrorSymbolNotFound, "named symbol not found"),
    TEXT(cudaErrorNotReady, "device not ready"),
    TEXT(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    TEXT(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    TEXT(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    TEXT(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    TEXT(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    TEXT(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    TEXT(cudaErrorHardwareStackError, "hardware stack error"),
    TEXT(cudaErrorMisalignedAddress, "misaligned address"),
    TEXT(cudaErrorLaunchFailure, "unspecified launch failure"),
    TEXT(cudaErrorNotSupported, "operation not supported"),
    TEXT(cudaErrorSystemNotReady, "system not yet initialized"),
    TEXT(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    TEXT(cudaErrorUnknown, "unknown error"),
};

const Text *text_of(cudaError_t e)
{
    for (const Text &t : texts)
        if (t.error == e)
            return &t;
    return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const char *cudaGetErrorName(cudaError_t e)
{
    const Text *t = text_of(e);
    return t ? t->name : "unrecognized error code";
}

extern "C" __attribute__((visibility("default"))) const char *cudaGetErrorString(cudaError_t e)
{
    const Text *t = text_of(e);
    return t ? t->text : "unrecognized error code";
}

/* --- versions and devices */
API cudaDriverGetVersion(int *version)
{
    Api api("cudaDriverGetVersion", false);
    if (!api.early)
        *version = driver_version();
    return api.end(api.early);
}

API cudaRuntimeGetVersion(int *version)
{
    Api api("cudaRuntimeGetVersion", false);
    if (!api.early)
        *version = CUDART_VERSION;
    return api.end(api.early);
}

API cudaGetDeviceCount(int *n)
{
    BEGIN("cudaGetDeviceCount");
    *n = int(gpus());
    return api.end(cudaSuccess);
}

API cudaGetDevice(int *device)
{
    BEGIN("cudaGetDevice");
    *device = current_device();
    return api.end(cudaSuccess);
}

API cudaSetDevice(int device)
{
    BEGIN("cudaSetDevice");
    if (!valid(device))
        return api.end(cudaErrorInvalidDevice);
    set_current_device(device);
    return api.end(sticky(device));
}

API cudaInitDevice(int device, unsigned, unsigned)
{
    BEGIN("cudaInitDevice");
    return api.end(valid(device) ? sticky(device) : cudaErrorInvalidDevice);
}

API cudaSetDeviceFlags(unsigned)
{
    BEGIN("cudaSetDeviceFlags");
    return api.end(cudaSuccess);
}

API cudaDeviceReset()
{
    BEGIN("cudaDeviceReset");
    return api.end(device_rest(current_device()));
}

API cudaDeviceSynchronize()
{
    BEGIN("cudaDeviceSynchronize");
    return api.end(device_rest(current_device()));
}

API cudaDeviceGetPCIBusId(char *id, int n, int device)
{
    BEGIN("cudaDeviceGetPCIBusId");
    if (!valid(device) || n < 13)
        return api.end(valid(device) ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    snprintf(id, size_t(n), "0000:%02X:00.0", 0x10 + device);
    return api.end(cudaSuccess);
}

API cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    BEGIN("cudaDeviceGetByPCIBusId");
    unsigned domain, bus;
    if (sscanf(id, "%x:%x:", &domain, &bus) != 2 || !valid(int(bus) - 0x10))
        return api.end(cudaErrorInvalidDevice);
    *device = int(bus) - 0x10;
    return api.end(cudaSuccess);
}

API cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    BEGIN("cudaGetDeviceProperties");
    if (!valid(device))
        return api.end(cudaErrorInvalidDevice);
    *p = {};
    strcpy(p->name, "emulated GPU");
    memset(p->uuid.bytes, 0xe0 + device, sizeof p->uuid.bytes);
    p->totalGlobalMem = memory_bytes();
    p->sharedMemPerBlock = SHARED_STATIC_LIMIT;
    p->sharedMemPerBlockOptin = SHARED_LIMIT;
    p->sharedMemPerMultiprocessor = 228 << 10;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->totalConstMem = 65536;
    p->major = 9;
    p->multiProcessorCount = SM_COUNT;
    p->textureAlignment = 512;
    p->concurrentKernels = p->unifiedAddressing = p->canMapHostMemory = p->streamPrioritiesSupported = 1;
    p->asyncEngineCount = 3;
    p->pciBusID = 0x10 + device;
    p->memoryBusWidth = 5120;
    p->l2CacheSize = 50 << 20;
    return api.end(cudaSuccess);
}

API cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    BEGIN("cudaDeviceGetAttribute");
    if (!valid(device))
        return api.end(cudaErrorInvalidDevice);
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
        *value = 1024;
        break;
    case cudaDevAttrMaxBlockDimZ:
        *value = 64;
        break;
    case cudaDevAttrMaxGridDimX:
        *value = 0x7fffffff;
        break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
        *value = 65535;
        break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        *value = int(SHARED_STATIC_LIMIT);
        break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = int(SHARED_LIMIT);
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        *value = 228 << 10;
        break;
    case cudaDevAttrWarpSize:
        *value = 32;
        break;
    case cudaDevAttrMultiProcessorCount:
        *value = int(SM_COUNT);
        break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        *value = 2048;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
    case cudaDevAttrAsyncEngineCount:
        *value = 3;
        break;
    case cudaDevAttrPciBusId:
        *value = 0x10 + device;
        break;
    case cudaDevAttrClockRate:
        *value = 1980000;
        break;
    case cudaDevAttrMemoryClockRate:
        *value = 2619000;
        break;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrStreamPrioritiesSupported:
        *value = 1;
        break;
    default:
        *value = 0;
    }
    return api.end(cudaSuccess);
}

API cudaDeviceGetLimit(size_t *value, cudaLimit)
{
    BEGIN("cudaDeviceGetLimit");
    *value = 1024;
    return api.end(cudaSuccess);
}

API cudaDeviceSetLimit(cudaLimit, size_t)
{
    BEGIN("cudaDeviceSetLimit");
    return api.end(cudaSuccess);
}

/* --- peers */
API cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    BEGIN("cudaDeviceCanAccessPeer");
    if (!valid(device) || !valid(peer))
        return api.end(cudaErrorInvalidDevice);
    *can = device != peer && !option("NO_PEER");
    return api.end(cudaSuccess);
}

API cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attribute, int a, int b)
{
    BEGIN("cudaDeviceGetP2PAttribute");
    if (!valid(a) || !valid(b) || a == b)
        return api.end(cudaErrorInvalidDevice);
    *value = attribute != cudaDevP2PAttrPerformanceRank && !option("NO_PEER");
    return api.end(cudaSuccess);
}

API cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    BEGIN("cudaDeviceEnablePeerAccess");
    implicit_sync("cudaDeviceEnablePeerAccess");
    if (!valid(peer) || peer == current_device())
        return api.end(cudaErrorInvalidDevice);
    if (flags)
        return api.end(cudaErrorInvalidValue);
    if (option("NO_PEER"))
        return api.end(cudaErrorPeerAccessUnsupported);
    const bool had = machine().peer[unsigned(current_device())][unsigned(peer)].exchange(true);
    return api.end(had ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess);
}

API cudaDeviceDisablePeerAccess(int peer)
{
    BEGIN("cudaDeviceDisablePeerAccess");
    if (!valid(peer))
        return api.end(cudaErrorInvalidDevice);
    const bool had = machine().peer[unsigned(current_device())][unsigned(peer)].exchange(false);
    return api.end(had ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

/* --- kernels */
API cudaFuncGetAttributes(cudaFuncAttributes *a, const void *function)
{
    BEGIN("cudaFuncGetAttributes");
    implicit_sync("cudaFuncGetAttributes, which loads a kernel,");
    const Kernel *k = find_kernel(function);
    if (!k)
        return api.end(cudaErrorInvalidDeviceFunction);
    *a = {};
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 32;
    a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = k->max_dynamic;
    return api.end(sticky(current_device()));
}

API cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
    BEGIN("cudaFuncSetAttribute");
    Kernel *k = find_kernel(function);
    if (!k)
        return api.end(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || size_t(value) > SHARED_LIMIT)
            return api.end(cudaErrorInvalidValue);
        k->max_dynamic = value;
    }
    return api.end(cudaSuccess);
}

API cudaFuncSetCacheConfig(const void *function, cudaFuncCache)
{
    BEGIN("cudaFuncSetCacheConfig");
    return api.end(find_kernel(function) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

API cudaFuncGetName(const char **name, const void *function)
{
    BEGIN("cudaFuncGetName");
    const Kernel *k = find_kernel(function);
    if (!k)
        return api.end(cudaErrorInvalidDeviceFunction);
    *name = k->name.c_str();
    return api.end(cudaSuccess);
}

API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads, size_t)
{
    BEGIN("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!find_kernel(function))
        return api.end(cudaErrorInvalidDeviceFunction);
    *blocks = threads > 0 && threads <= 1024 ? 2048 / threads : 0;
    return api.end(cudaSuccess);
}

API cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
    BEGIN("cudaLaunchKernel");
    return api.end(launch(function, grid, block, arguments, shared, stream));
}

API cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *function, void **arguments)
{
    BEGIN("cudaLaunchKernelExC");
    return api.end(launch(function, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream));
}

/* --- what nvcc's code calls: a kernel's handle is the address of its stub */
namespace {

thread_local struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} configuration;

} // namespace

API __cudaGetKernel(cudaKernel_t *kernel, const void *stub)
{
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void *>(stub));
    return cudaSuccess;
}

API __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block, arguments, shared, stream);
}

extern "C" __attribute__((visibility("default"))) unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                                                        cudaStream_t stream)
{
    configuration = {grid, block, shared, stream};
    return 0;
}

API __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *static_cast<cudaStream_t *>(stream) = configuration.stream;
    return cudaSuccess;
}

extern "C" {
#pragma GCC visibility push(default)
void **__cudaRegisterFatBinary(void *)
{
    static void *binary;
    return &binary;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFunction(void **, const char *stub, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *)
{
    register_stub(stub, name);
}
void __cudaRegisterVar(void **, char *, char *, const char *name, int, size_t, int, int)
{
    complain("variable %s in device memory: the emulator has none", name);
}
#pragma GCC visibility pop
}

/* --- the driver */
API cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version, unsigned long long,
                                     cudaDriverEntryPointQueryResult *result)
{
    BEGIN("cudaGetDriverEntryPointByVersion");
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    *function = driver && version <= unsigned(driver_version()) ? dlsym(driver, symbol) : nullptr;
    if (result)
        *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return api.end(*function || result ? cudaSuccess : cudaErrorSymbolNotFound);
}

API cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, cudaDriverEntryPointQueryResult *result)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, result);
}
