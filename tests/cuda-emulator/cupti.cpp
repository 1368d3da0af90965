// tests/cuda-emulator/cupti.cpp -- libcupti: activity records of what the emulated machine did.
//
// Buffers are per thread; they are handed out on the thread that records and completed on one of our own, as
// CUPTI 13 does.  EMULATOR_CUPTI is a list, with commas, of
//   refuse:E    cuptiSubscribe_v2 (39, 999) or cuptiActivityEnable of kernels (others) returns E
//   drop:K zero:K invert:K early:K    of every K kernels, copies and sets one is dropped and counted, has no
//   times, ends
//               before it starts, or starts 1 ms before it was launched
//   withhold    kernels, copies and sets are never recorded, and nothing says so
//   lazy:K      at every K-th kernel its code was loaded just then
// Wrong use that the real one answers with lost or corrupt records is complained about.
#include <cupti.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "emulator.h"

namespace
{

struct Buffer {
    uint8_t *p = nullptr;
    size_t bytes = 0, used = 0;
};

struct State {
    std::mutex lock;
    std::condition_variable changed;
    bool subscribed = false, stamped = false;
    std::set<int> kinds;
    std::set<std::pair<bool, unsigned>> silenced; // (driver, cbid)
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    int64_t clock_offset = 0;
    std::map<std::thread::id, Buffer> open; // by thread
    std::deque<Buffer> full;
    unsigned completing = 0;
    std::set<std::string> names;
    std::map<int, uint64_t> attributes;
    size_t dropped = 0;
    uint64_t activities = 0, kernels = 0;
    std::thread deliverer;
};
State &state = *new State; // outlives whoever still records at the end of the process

std::atomic<long> pushed;
thread_local bool in_callback;
thread_local std::map<int, std::vector<uint64_t>> external;

// After a push or a pop that was made to fail, no balance can be expected.
std::atomic<bool> balance_is_off;
CUptiResult upset(int fault)
{
    balance_is_off = true;
    return CUptiResult(fault);
}

// At the end, before the emulator's own: registered after it.
void check_balance()
{
    if (pushed != 0 && !balance_is_off)
        emu::complain("cupti: %ld external correlation ids were pushed and not popped", pushed.load());
}

void check_at_end()
{
    [[maybe_unused]] static const int registered = atexit(check_balance);
}

// Word `key` of EMULATOR_CUPTI; -1: not given.
long wish(const char *key)
{
    const char *at = emu::option("CUPTI");
    size_t n = strlen(key);
    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : nullptr)
        if (strncmp(at, key, n) == 0 && (at[n] == ':' || at[n] == ',' || at[n] == 0))
            return at[n] == ':' ? atol(at + n + 1) : 1;
    return -1;
}

bool every(const char *key, uint64_t count)
{
    long k = wish(key);
    return k > 0 && count % uint64_t(k) == 0;
}

struct Name {
    const char *name, *versioned;
    unsigned cbid;
};
const Name runtime_names[] = {
#define N(name, version, number) {#name, #name "_" #version, number},
    N(cudaDriverGetVersion, v3020, 1) N(cudaRuntimeGetVersion, v3020, 2) N(cudaGetDeviceCount, v3020, 3) N(
        cudaGetDeviceProperties, v3020, 4) N(cudaGetLastError, v3020, 10) N(cudaPeekAtLastError, v3020, 11)
        N(cudaFuncGetAttributes, v3020, 15) N(cudaSetDevice, v3020, 16) N(cudaGetDevice, v3020, 17) N(
            cudaMalloc, v3020, 20) N(cudaFree, v3020, 22) N(cudaMallocHost, v3020, 25)
            N(cudaFreeHost, v3020, 26) N(cudaHostAlloc, v3020, 27) N(cudaMemGetInfo, v3020, 30) N(
                cudaMemcpy, v3020, 31) N(cudaMemcpyAsync, v3020, 41) N(cudaMemset, v3020, 49)
                N(cudaMemsetAsync, v3020, 51) N(cudaStreamCreate, v3020, 129) N(cudaStreamDestroy, v3020, 130)
                    N(cudaStreamSynchronize, v3020, 131) N(cudaStreamQuery, v3020, 132)
                        N(cudaEventCreate, v3020, 133) N(cudaEventCreateWithFlags, v3020, 134)
                            N(cudaEventRecord, v3020, 135) N(cudaEventDestroy, v3020, 136)
                                N(cudaEventSynchronize, v3020, 137) N(cudaEventQuery, v3020,
                                                                      138) N(cudaEventElapsedTime, v3020, 139)
                                    N(cudaStreamWaitEvent, v3020, 147) N(cudaPointerGetAttributes, v4000, 151)
                                        N(cudaDeviceCanAccessPeer, v4000,
                                          154) N(cudaDeviceEnablePeerAccess, v4000,
                                                 155) N(cudaDeviceDisablePeerAccess, v4000, 156)
                                            N(cudaMemcpyPeer, v4000, 160) N(cudaMemcpyPeerAsync, v4000, 161)
                                                N(cudaDeviceReset, v3020,
                                                  164) N(cudaDeviceSynchronize, v3020,
                                                         165) N(cudaDeviceGetPCIBusId, v4010,
                                                                174) N(cudaStreamCreateWithFlags, v5000, 198)
                                                    N(cudaDeviceGetAttribute, v5000,
                                                      200) N(cudaStreamCreateWithPriority, v5050, 202)
                                                        N(cudaDeviceGetStreamPriorityRange, v5050, 205)
                                                            N(cudaLaunchKernel, v7000, 211)
                                                                N(cudaFuncSetAttribute, v9000, 273)
                                                                    N(cudaLaunchHostFunc, v10000, 284)
                                                                        N(cudaLaunchKernelExC, v11060, 430)};
const Name driver_names[] = {
    {"cuLaunchKernel", "cuLaunchKernel", 307},
    {"cuLaunchKernelEx", "cuLaunchKernelEx", 652},
#undef N
};

unsigned cbid_of(bool driver, const char *name)
{
    if (driver) {
        for (const Name &n : driver_names)
            if (strcmp(n.name, name) == 0)
                return n.cbid;
    } else {
        for (const Name &n : runtime_names)
            if (strcmp(n.name, name) == 0)
                return n.cbid;
    }
    return 0;
}

// --- buffers; all under the lock

// A buffer is completed on our thread, where the callbacks may call CUPTI but not CUDA.
void deliver()
{
    std::unique_lock guard(state.lock);
    for (;;) {
        state.changed.wait(guard, [] { return !state.full.empty(); });
        Buffer b = state.full.front();
        state.full.pop_front();
        state.completing++;
        guard.unlock();
        in_callback = true;
        state.complete(nullptr, 0, b.p, b.bytes, b.used);
        in_callback = false;
        guard.lock();
        state.completing--;
        state.changed.notify_all();
    }
}

void finish(Buffer &b)
{
    if (!b.p)
        return;
    state.full.push_back(b);
    b = {};
    if (!state.deliverer.joinable())
        state.deliverer = std::thread(deliver);
    state.changed.notify_all();
}

template <class Record> void put(const Record &record)
{
    if (!state.request || !state.kinds.contains(record.kind))
        return;
    Buffer &b = state.open[std::this_thread::get_id()];
    if (b.p && b.used + sizeof record > b.bytes)
        finish(b);
    if (!b.p) {
        size_t records = 0;
        in_callback = true;
        state.request(&b.p, &b.bytes, &records);
        in_callback = false;
        b.used = 0;
        if (b.p && (uintptr_t(b.p) % ACTIVITY_RECORD_ALIGNMENT || b.bytes < 1024))
            emu::complain("cupti: a buffer of %zu bytes at %p", b.bytes, static_cast<void *>(b.p));
        if (b.p && state.attributes[CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] == 0)
            memset(b.p, 0, b.bytes);
    }
    if (!b.p) {
        state.dropped++;
        return;
    }
    memcpy(b.p + b.used, &record, sizeof record);
    b.used += sizeof record;
}

// --- records

uint64_t stamp(int64_t ns)
{
    return uint64_t(ns + state.clock_offset);
}

template <class Record> void put_times(Record &r, const emu::Task &t)
{
    uint64_t n = ++state.activities;
    r.start = stamp(t.start_ns);
    r.end = stamp(t.end_ns);
    r.deviceId = uint32_t(t.device);
    r.contextId = t.context_id;
    r.streamId = t.stream_id;
    r.correlationId = uint32_t(t.correlation);
    if (every("drop", n)) {
        state.dropped++;
        return;
    }
    if (every("zero", n))
        r.start = r.end = 0;
    if (every("invert", n))
        r.end = r.start - 1;
    if (every("early", n))
        r.start -= 1000000;
    put(r);
}

void put_kernel(const emu::Task &t)
{
    CUpti_ActivityKernel10 r{};
    r.kind = state.kinds.contains(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL
                                                              : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    r.gridX = int32_t(t.grid.x), r.gridY = int32_t(t.grid.y), r.gridZ = int32_t(t.grid.z);
    r.blockX = int32_t(t.block.x), r.blockY = int32_t(t.block.y), r.blockZ = int32_t(t.block.z);
    r.staticSharedMemory = int32_t(t.static_shared);
    r.dynamicSharedMemory = int32_t(t.dynamic_shared);
    r.name = state.names.insert(t.name).first->c_str();
    put_times(r, t);
    if (every("lazy", ++state.kernels)) {
        CUpti_ActivityOverhead3 o{};
        o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
        o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
        o.start = stamp(t.start_ns - 1000);
        o.end = stamp(t.start_ns);
        put(o);
    }
}

void put_copy(const emu::Task &t)
{
    if (t.source_device >= 0 && t.target_device >= 0 && t.source_device != t.target_device) {
        CUpti_ActivityMemcpyPtoP4 r{};
        r.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
        r.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
        r.srcKind = r.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
        r.bytes = t.bytes;
        r.srcDeviceId = uint32_t(t.source_device);
        r.dstDeviceId = uint32_t(t.target_device);
        return put_times(r, t);
    }
    CUpti_ActivityMemcpy6 r{};
    static const uint8_t kinds[] = {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                    CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD};
    r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    r.copyKind = t.copy_kind >= 0 && t.copy_kind < 4 ? kinds[t.copy_kind]
                                                     : uint8_t(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN);
    r.bytes = t.bytes;
    r.copyCount = 1;
    put_times(r, t);
}

void put_set(const emu::Task &t)
{
    CUpti_ActivityMemset4 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    r.value = uint32_t(t.value);
    r.bytes = t.bytes;
    r.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    put_times(r, t);
}

struct Recorder : emu::Sink {
    void api(const emu::Call &call, int64_t end_ns) override
    {
        bool driver = call.layer == emu::Layer::driver;
        if (in_callback)
            emu::complain("cupti: %s was called in a callback for buffers", call.name);
        std::lock_guard guard(state.lock);
        CUpti_ActivityKind kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
        unsigned cbid = cbid_of(driver, call.name);
        if (!state.kinds.contains(kind) || state.silenced.contains({driver, cbid}))
            return;
        for (const auto &[external_kind, ids] : external) {
            if (ids.empty())
                continue;
            CUpti_ActivityExternalCorrelation e{};
            e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
            e.externalKind = CUpti_ExternalCorrelationKind(external_kind);
            e.externalId = ids.back();
            e.correlationId = uint32_t(call.correlation);
            put(e);
        }
        CUpti_ActivityAPI r{};
        r.kind = kind;
        r.cbid = cbid;
        r.start = stamp(call.start_ns);
        r.end = stamp(end_ns);
        r.processId = uint32_t(getpid());
        r.threadId = uint32_t(syscall(SYS_gettid));
        r.correlationId = uint32_t(call.correlation);
        r.returnValue = uint32_t(call.result);
        put(r);
    }

    void activity(const emu::Task &t) override
    {
        std::lock_guard guard(state.lock);
        if (wish("withhold") > 0)
            return;
        switch (t.kind) {
        case emu::Kind::kernel:
        case emu::Kind::collective:
            return put_kernel(t);
        case emu::Kind::copy:
            return put_copy(t);
        case emu::Kind::set:
            return put_set(t);
        default:
            return;
        }
    }
} recorder;

size_t record_bytes(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    default:
        return 0;
    }
}

} // namespace

#define BEGIN(name)                                                                                          \
    emu::Call call(name, emu::Layer::library);                                                               \
    if (call.fault)                                                                                          \
        return CUptiResult(call.fault);

#pragma GCC visibility push(default)
extern "C" {

CUptiResult cuptiGetVersion(uint32_t *version)
{
    BEGIN("cuptiGetVersion")
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    BEGIN("cuptiGetTimestamp")
    *timestamp = stamp(emu::now_ns());
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc, void *,
                              CUpti_SubscriberParams *params)
{
    BEGIN("cuptiSubscribe_v2")
    long refusal = wish("refuse");
    if (!subscriber || (params && params->structSize != CUpti_SubscriberParams_STRUCT_SIZE))
        return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard guard(state.lock);
    if (refusal == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || state.subscribed) {
        if (params && params->oldSubscriberName && params->oldSubscriberSize)
            snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s",
                     state.subscribed ? "CUPTI for parprof" : "Nsight Systems");
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    if (refusal == CUPTI_ERROR_UNKNOWN || refusal == CUPTI_ERROR_NOT_INITIALIZED)
        return CUptiResult(refusal);
    state.subscribed = true;
    timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    if (!state.stamped)
        state.clock_offset = int64_t(wall.tv_sec) * 1000000000 + wall.tv_nsec - emu::now_ns();
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state);
    emu::attach(&recorder);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    emu::Call call("cuptiUnsubscribe", emu::Layer::library);
    if (reinterpret_cast<State *>(subscriber) != &state || !state.subscribed)
        return CUPTI_ERROR_INVALID_PARAMETER;
    emu::attach(nullptr);
    std::lock_guard guard(state.lock);
    state.subscribed = false;
    state.kinds.clear();
    return CUptiResult(call.fault);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now)
{
    BEGIN("cuptiActivityRegisterTimestampCallback")
    std::lock_guard guard(state.lock);
    if (!now)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (state.stamped)
        emu::complain("cupti: the timestamp callback is registered again, which corrupts records");
    if (!state.kinds.empty())
        emu::complain("cupti: the timestamp callback is registered after a kind was enabled");
    state.stamped = true;
    state.clock_offset = int64_t(now()) - emu::now_ns();
    if (state.clock_offset > -1000000000 && state.clock_offset < 1000000000) // the same clock
        state.clock_offset = 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete)
{
    BEGIN("cuptiActivityRegisterCallbacks")
    std::lock_guard guard(state.lock);
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    state.request = request;
    state.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    BEGIN("cuptiActivityEnable")
    long refusal = wish("refuse");
    if (refusal > 0 && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        return CUptiResult(refusal);
    std::lock_guard guard(state.lock);
    if (!state.request)
        emu::complain("cupti: a kind is enabled before the callbacks are registered");
    state.kinds.insert(kind);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    BEGIN("cuptiActivityDisable")
    std::lock_guard guard(state.lock);
    state.kinds.erase(kind);
    return CUPTI_SUCCESS;
}

static CUptiResult silence(bool driver, CUpti_CallbackId cbid, uint8_t enable)
{
    std::lock_guard guard(state.lock);
    if (enable)
        state.silenced.erase({driver, cbid});
    else
        state.silenced.insert({driver, cbid});
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    BEGIN("cuptiActivityEnableRuntimeApi")
    return silence(false, cbid, enable);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    BEGIN("cuptiActivityEnableDriverApi")
    return silence(true, cbid, enable);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
    BEGIN("cuptiActivitySetAttribute")
    if (!bytes || !value || *bytes > sizeof(uint64_t))
        return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard guard(state.lock);
    uint64_t number = 0;
    memcpy(&number, value, *bytes);
    state.attributes[attribute] = number;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes, void *value)
{
    BEGIN("cuptiActivityGetAttribute")
    if (!bytes || !value || *bytes > sizeof(uint64_t))
        return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard guard(state.lock);
    memcpy(value, &state.attributes[attribute], *bytes);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    emu::Call call("cuptiActivityPushExternalCorrelationId", emu::Layer::library);
    if (call.fault)
        return upset(call.fault);
    check_at_end();
    external[kind].push_back(id);
    pushed++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    emu::Call call("cuptiActivityPopExternalCorrelationId", emu::Layer::library);
    if (call.fault)
        return upset(call.fault);
    std::vector<uint64_t> &ids = external[kind];
    if (ids.empty()) {
        if (!balance_is_off)
            emu::complain("cupti: an external correlation id is popped where none was pushed");
        return CUPTI_ERROR_QUEUE_EMPTY;
    }
    if (last)
        *last = ids.back();
    ids.pop_back();
    pushed--;
    return CUPTI_SUCCESS;
}

// Returns when every buffer that was out has been completed.
CUptiResult cuptiActivityFlushAll(uint32_t)
{
    BEGIN("cuptiActivityFlushAll")
    std::unique_lock guard(state.lock);
    if (!state.complete)
        return CUPTI_ERROR_INVALID_OPERATION;
    CUpti_ActivityOverhead3 o{};
    o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
    o.start = stamp(call.start_ns);
    o.end = stamp(emu::now_ns());
    put(o);
    for (auto &[thread, buffer] : state.open)
        finish(buffer);
    state.changed.wait(guard, [] { return state.full.empty() && state.completing == 0; });
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t)
{
    BEGIN("cuptiActivityFlushPeriod")
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped)
{
    BEGIN("cuptiActivityGetNumDroppedRecords")
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    std::lock_guard guard(state.lock);
    *dropped = state.dropped;
    state.dropped = 0;
    return CUPTI_SUCCESS;
}

// Records stand one behind the other, each with the size of its kind.
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    BEGIN("cuptiActivityGetNextRecord")
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *next = *record ? reinterpret_cast<uint8_t *>(*record) + record_bytes((*record)->kind) : buffer;
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity *>(next);
    return record_bytes((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, uint8_t, uint32_t *id)
{
    BEGIN("cuptiGetStreamIdEx")
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = emu::stream_id(reinterpret_cast<cudaStream_t>(stream));
    return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_STREAM;
}

CUptiResult cuptiGetContextId(CUcontext, uint32_t *id)
{
    BEGIN("cuptiGetContextId")
    *id = emu::context_id(emu::current_device());
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    BEGIN("cuptiGetCallbackName")
    auto look = [&](const auto &names) {
        for (const Name &n : names)
            if (n.cbid == cbid) {
                *name = n.versioned;
                return CUPTI_SUCCESS;
            }
        return CUPTI_ERROR_INVALID_PARAMETER;
    };
    return domain == CUPTI_CB_DOMAIN_DRIVER_API ? look(driver_names) : look(runtime_names);
}

CUptiResult cuptiFinalize(void)
{
    BEGIN("cuptiFinalize")
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    switch (int(result)) {
#define R(name)                                                                                              \
    case name:                                                                                               \
        *text = #name;                                                                                       \
        break;
        R(CUPTI_SUCCESS)
        R(CUPTI_ERROR_INVALID_PARAMETER)
        R(CUPTI_ERROR_INVALID_OPERATION)
        R(CUPTI_ERROR_OUT_OF_MEMORY) R(CUPTI_ERROR_MAX_LIMIT_REACHED) R(CUPTI_ERROR_NOT_COMPATIBLE)
            R(CUPTI_ERROR_NOT_INITIALIZED) R(CUPTI_ERROR_QUEUE_EMPTY) R(CUPTI_ERROR_INVALID_STREAM)
                R(CUPTI_ERROR_INVALID_KIND) R(CUPTI_ERROR_NOT_SUPPORTED)
                    R(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) R(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
                        R(CUPTI_ERROR_UNKNOWN)
#undef R
                            default : *text = "<unknown>";
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    return cuptiGetResultString(result, text);
}

} // extern "C"
