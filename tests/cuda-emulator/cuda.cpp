/* tests/cuda-emulator/cuda.cpp -- libcuda.so.1: what is asked of the driver itself, most of it for green contexts. */
#include "machine.h"

#include <cuda.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>

using namespace emu;

#define DRIVER extern "C" __attribute__((visibility("default"))) CUresult

namespace {

struct Api : Call {
    explicit Api(const char *api_name) : Call(api_name, Layer::driver) {}
    CUresult end(CUresult r)
    {
        result = r;
        return r;
    }
};

/* What the opaque types of the driver are here. */
struct Green {
    int device;
    unsigned sms;
    bool destroyed = false;
};
struct Description {
    unsigned sms;
};

/* On devices of compute capability 9. */
enum : unsigned { PARTITION = 8 };

Green *green(CUgreenCtx context) { return reinterpret_cast<Green *>(context); }

void fill(CUdevResource *r, unsigned sms)
{
    *r = {};
    r->type = CU_DEV_RESOURCE_TYPE_SM;
    r->sm.smCount = sms;
    r->sm.minSmPartitionSize = r->sm.smCoscheduledAlignment = PARTITION;
}

} // namespace

#define BEGIN_DRIVER(name)                                                                                             \
    Api api(name);                                                                                                     \
    if (api.fault)                                                                                                     \
    return api.end(CUresult(api.fault))

DRIVER cuInit(unsigned)
{
    BEGIN_DRIVER("cuInit");
    return api.end(gpus() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

DRIVER cuDriverGetVersion(int *version)
{
    BEGIN_DRIVER("cuDriverGetVersion");
    *version = option("DRIVER_VERSION") ? atoi(option("DRIVER_VERSION")) : CUDA_VERSION;
    return api.end(CUDA_SUCCESS);
}

DRIVER cuDeviceGet(CUdevice *device, int i)
{
    BEGIN_DRIVER("cuDeviceGet");
    if (i < 0 || unsigned(i) >= gpus())
        return api.end(CUDA_ERROR_INVALID_DEVICE);
    *device = i;
    return api.end(CUDA_SUCCESS);
}

DRIVER cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    BEGIN_DRIVER("cuDeviceGetDevResource");
    if (option("NO_GREEN"))
        return api.end(CUDA_ERROR_NOT_SUPPORTED);
    if (unsigned(device) >= gpus() || type != CU_DEV_RESOURCE_TYPE_SM)
        return api.end(CUDA_ERROR_INVALID_VALUE);
    fill(resource, SM_COUNT);
    return api.end(CUDA_SUCCESS);
}

DRIVER cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups, const CUdevResource *input, CUdevResource *remaining,
                                   unsigned, unsigned minimum)
{
    BEGIN_DRIVER("cuDevSmResourceSplitByCount");
    if (input->type != CU_DEV_RESOURCE_TYPE_SM)
        return api.end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    if (minimum > input->sm.smCount)
        return api.end(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    const unsigned each = std::max(1u, (minimum + PARTITION - 1) / PARTITION) * PARTITION, fit = input->sm.smCount / each;
    *groups = result ? std::min(*groups, fit) : fit;
    for (unsigned i = 0; result && i < *groups; i++)
        fill(&result[i], each);
    if (remaining) {
        fill(remaining, input->sm.smCount - each * *groups);
        if (remaining->sm.smCount == 0)
            remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
    return api.end(CUDA_SUCCESS);
}

DRIVER cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *resources, unsigned n)
{
    BEGIN_DRIVER("cuDevResourceGenerateDesc");
    /* The driver keeps descriptions for itself, and there is nothing to free one. */
    static Description all[4 * SM_COUNT + 1];
    unsigned sms = 0;
    for (unsigned i = 0; i < n; i++) {
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
            return api.end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
        sms += resources[i].sm.smCount;
    }
    if (sms == 0 || sms > SM_COUNT)
        return api.end(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    all[sms].sms = sms;
    *out = reinterpret_cast<CUdevResourceDesc>(&all[sms]);
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc description, CUdevice device, unsigned flags)
{
    BEGIN_DRIVER("cuGreenCtxCreate");
    implicit_sync("cuGreenCtxCreate");
    if (option("NO_GREEN"))
        return api.end(CUDA_ERROR_NOT_SUPPORTED);
    if (!description || unsigned(device) >= gpus() || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return api.end(CUDA_ERROR_INVALID_VALUE);
    /* Kept for good: what is destroyed must be known if it is used again. */
    static auto &every = *new std::deque<Green>;
    std::lock_guard hold(machine().lock);
    every.push_back({device, reinterpret_cast<Description *>(description)->sms});
    *out = reinterpret_cast<CUgreenCtx>(&every.back());
    machine().green++;
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGreenCtxDestroy(CUgreenCtx context)
{
    BEGIN_DRIVER("cuGreenCtxDestroy");
    if (green(context)->destroyed) {
        complain("cuGreenCtxDestroy of a green context that was destroyed");
        return api.end(CUDA_ERROR_INVALID_HANDLE);
    }
    std::lock_guard hold(machine().lock);
    for (const CUstream_st *s : machine().streams)
        if (s->green == context && !s->destroyed)
            return api.end(CUDA_ERROR_INVALID_HANDLE);
    green(context)->destroyed = true;
    machine().green--;
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGreenCtxGetDevResource(CUgreenCtx context, CUdevResource *resource, CUdevResourceType type)
{
    BEGIN_DRIVER("cuGreenCtxGetDevResource");
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return api.end(CUDA_ERROR_INVALID_RESOURCE_TYPE);
    fill(resource, green(context)->sms);
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx context, unsigned flags, int priority)
{
    BEGIN_DRIVER("cuGreenCtxStreamCreate");
    if (green(context)->destroyed || flags != CU_STREAM_NON_BLOCKING)
        return api.end(CUDA_ERROR_INVALID_VALUE);
    *out = stream_new(green(context)->device, flags, priority);
    (*out)->green = context;
    return api.end(CUDA_SUCCESS);
}

DRIVER cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *context)
{
    BEGIN_DRIVER("cuStreamGetGreenCtx");
    const CUstream_st *s = resolve(stream);
    if (!s)
        return api.end(CUDA_ERROR_INVALID_HANDLE);
    *context = static_cast<CUgreenCtx>(s->green);
    return api.end(CUDA_SUCCESS);
}

DRIVER cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx context)
{
    BEGIN_DRIVER("cuCtxFromGreenCtx");
    *out = reinterpret_cast<CUcontext>(context);
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGetErrorString(CUresult error, const char **text)
{
    BEGIN_DRIVER("cuGetErrorString");
    *text = error == CUDA_SUCCESS ? "no error" : error == CUDA_ERROR_NOT_SUPPORTED ? "operation not supported" : "error";
    return api.end(CUDA_SUCCESS);
}

DRIVER cuGetErrorName(CUresult error, const char **text)
{
    BEGIN_DRIVER("cuGetErrorName");
    *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS"
        : error == CUDA_ERROR_NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "CUDA_ERROR_UNKNOWN";
    return api.end(CUDA_SUCCESS);
}
