// tests/cuda-emulator/nccl.cpp -- libnccl's operations, groups and errors.  See nccl-ranks.h.
#include "nccl-ranks.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

namespace nccl {

thread_local std::string last_error;

ncclResult_t refuse(ncclResult_t result, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    last_error = text;
    return result;
}

ncclResult_t fault_of(const emu::Call &call)
{
    ncclResult_t result = refuse(ncclResult_t(call.fault), "%s: emulated fault", call.name);
    if (group.depth)
        group.failed = result;
    return result;
}

} // namespace nccl

using namespace nccl;

namespace {

void fail_group()
{
    for (Joining &j : group.joining)
        leave(j.comm);
    group.joining.clear();
    group.issues.clear();
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int *version)
{
    BEGIN("ncclGetVersion")
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    emu::Call call("ncclAllReduce", emu::Layer::library);
    return ask(call, {comm, stream, Sort::all_reduce, send, receive, count, type, op, 0});
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
    emu::Call call("ncclReduce", emu::Layer::library);
    return ask(call, {comm, stream, Sort::reduce, send, receive, count, type, op, root});
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
    emu::Call call("ncclBroadcast", emu::Layer::library);
    return ask(call, {comm, stream, Sort::broadcast, send, receive, count, type, ncclSum, root});
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    emu::Call call("ncclAllGather", emu::Layer::library);
    return ask(call, {comm, stream, Sort::all_gather, send, receive, count, type, ncclSum, 0});
}

ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    emu::Call call("ncclSend", emu::Layer::library);
    return ask(call, {comm, stream, Sort::transfer, buffer, nullptr, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    emu::Call call("ncclRecv", emu::Layer::library);
    return ask(call, {comm, stream, Sort::transfer, nullptr, buffer, count, type, ncclSum, peer});
}

ncclResult_t ncclGroupStart(void)
{
    BEGIN("ncclGroupStart")
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    emu::Call call("ncclGroupEnd", emu::Layer::library);
    if (group.depth == 0)
        return refuse(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
    if (--group.depth)
        return ncclResult_t(call.fault);
    ncclResult_t result = group.failed;
    group.failed = ncclSuccess;
    if (call.fault)
        result = refuse(ncclResult_t(call.fault), "ncclGroupEnd: emulated fault");
    if (result != ncclSuccess) {
        fail_group();
        return result;
    }
    std::vector<Joining> joining;
    joining.swap(group.joining);
    if (!joining.empty())
        result = join_all(std::move(joining));
    std::vector<Issue> issues;
    issues.swap(group.issues);
    return result == ncclSuccess ? issue_all(std::move(issues)) : result;
}

// A latency and a rate that are nobody's.
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    emu::Call call("ncclGroupSimulateEnd", emu::Layer::library);
    if (group.depth == 0)
        return refuse(ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call.");
    group.depth--;
    size_t bytes = 0;
    for (const Issue &i : group.issues)
        bytes += i.count * type_bytes(i.type);
    fail_group();
    group.failed = ncclSuccess;
    if (call.fault)
        return refuse(ncclResult_t(call.fault), "ncclGroupSimulateEnd: emulated fault");
    if (!info || info->magic != 0x74685283)
        return refuse(ncclInvalidArgument,
                      "ncclSimInfo_t argument not initialized via NCCL_SIM_INFO_INITIALIZER");
    info->estimatedTime = 10.0f + float(bytes) / 100e3f;
    return ncclSuccess;
}

const char *ncclGetLastError(ncclComm_t)
{
    return last_error.c_str();
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
        return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
        return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
        return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
        return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    default:
        return "unknown result code";
    }
}

} // extern "C"
