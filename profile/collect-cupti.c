/* The session with CUPTI: who is refused and why, the buffers that records come in. */
#include "profile/collect-cupti.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#define BUFFER_BYTES ((size_t)4 << 20)

/* CUPTI calls back from any thread, and without a user's pointer: there is one session a process. */
static struct {
    bool open, clocked; /* clocked: our clock is registered, which may happen only once */
    CUpti_SubscriberHandle subscriber;
    struct collect_key *lanes;
    uint32_t n_lanes;
    GStringChunk *names;
    uint64_t dropped;
    pthread_mutex_t lock; /* of the list; nobody calls CUPTI who holds it */
    struct collect_buffer *full;
    size_t n_full, room;
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool refuse(GError **error, const char *call, CUptiResult result)
{
    return collect_fail(error, COLLECT_ERROR_REFUSED, call, (int)result, "");
}

static bool fail(GError **error, const char *call, CUptiResult result)
{
    return collect_fail(error, COLLECT_ERROR_FAILED, call, (int)result, "");
}

/* --- buffers */

static void CUPTIAPI request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = calloc(1, BUFFER_BYTES); /* NULL: the records are dropped, and counted */
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void CUPTIAPI complete_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                     size_t valid)
{
    (void)context, (void)stream, (void)size;
    if (!valid) {
        free(buffer);
        return;
    }
    pthread_mutex_lock(&session.lock);
    if (session.n_full == session.room) {
        session.room = session.room ? 2 * session.room : 64;
        session.full = g_renew(struct collect_buffer, session.full, session.room);
    }
    session.full[session.n_full++] = (struct collect_buffer){buffer, valid};
    pthread_mutex_unlock(&session.lock);
}

/* The list becomes the caller's. */
static struct collect_buffer *take_buffers(size_t *n)
{
    pthread_mutex_lock(&session.lock);
    struct collect_buffer *full = g_steal_pointer(&session.full);
    *n = session.n_full;
    session.n_full = session.room = 0;
    pthread_mutex_unlock(&session.lock);
    return full;
}

/* All records of what is over; of devices that are at rest: all. */
static bool flush(struct collected *out, GError **error)
{
    CUptiResult result = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    size_t n, dropped = 0;
    struct collect_buffer *full = take_buffers(&n);
    bool ok = result == CUPTI_SUCCESS || fail(error, "cuptiActivityFlushAll", result);
    ok =
        collect_records(full, n, session.lanes, session.n_lanes, session.names, out, ok ? error : NULL) && ok;
    for (size_t i = 0; i < n; i++)
        free(full[i].bytes);
    g_free(full);
    result = cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
    if (ok && result != CUPTI_SUCCESS)
        ok = fail(error, "cuptiActivityGetNumDroppedRecords", result);
    out->counts.dropped = dropped;
    if (!ok)
        g_clear_pointer(&out->records, g_free);
    return ok;
}

/* --- opening */

static uint64_t CUPTIAPI monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

const char *collect_version(void)
{
    static char text[48];
    uint32_t version = 0;
    if (cuptiGetVersion(&version) != CUPTI_SUCCESS || !version)
        return "CUPTI of unknown version";
    g_snprintf(text, sizeof text, "CUPTI %u.%u (%u)", version / 10000, version / 100 % 100, version);
    return text;
}

/* Records are structures whose members a library of another release may have elsewhere. */
static bool check_version(GError **error)
{
    uint32_t version = 0;
    if (cuptiGetVersion(&version) == CUPTI_SUCCESS && version >= CUPTI_API_VERSION &&
        version / 10000 == CUPTI_API_VERSION / 10000)
        return true;
    g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_REFUSED,
                "CUPTI does not trace here: parprof is built for %d or newer of %d.x, and the libcupti that "
                "is loaded is %u: put "
                "the right one first on LD_LIBRARY_PATH, or build parprof with that toolkit",
                CUPTI_API_VERSION, CUPTI_API_VERSION / 10000, version);
    return false;
}

static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static bool subscribe(GError **error)
{
    char holder[128] = "";
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .subscriberName = "parprof",
                                     .oldSubscriberName = holder,
                                     .oldSubscriberSize = sizeof holder};
    CUptiResult result = cuptiSubscribe_v2(&session.subscriber, ignore, NULL, &params);
    holder[sizeof holder - 1] = 0;
    if (result != CUPTI_SUCCESS)
        return collect_fail(error, COLLECT_ERROR_REFUSED, "cuptiSubscribe_v2", (int)result, holder);
    session.open = true;
    return true;
}

/* Only make tracing lighter: what does not know them traces too. */
static void set_attributes(void)
{
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed, ahead = 8;
    (void)cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    size = sizeof ahead;
    (void)cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, &size, &ahead);
}

static bool set_clock(GError **error)
{
    if (session.clocked)
        return true;
    CUptiResult result = cuptiActivityRegisterTimestampCallback(monotonic_ns);
    session.clocked = result == CUPTI_SUCCESS;
    return session.clocked || refuse(error, "cuptiActivityRegisterTimestampCallback", result);
}

static const struct kind {
    CUpti_ActivityKind kind;
    const char *call;
    bool optional;
} kinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "cuptiActivityEnable(CONCURRENT_KERNEL)", false},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "cuptiActivityEnable(MEMCPY)", false},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, "cuptiActivityEnable(MEMCPY2)", false},
    {CUPTI_ACTIVITY_KIND_MEMSET, "cuptiActivityEnable(MEMSET)", false},
    {CUPTI_ACTIVITY_KIND_RUNTIME, "cuptiActivityEnable(RUNTIME)", false},
    {CUPTI_ACTIVITY_KIND_DRIVER, "cuptiActivityEnable(DRIVER)", false}, /* NCCL launches by it */
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, "cuptiActivityEnable(EXTERNAL_CORRELATION)", false},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, "cuptiActivityEnable(OVERHEAD)", true},
};

static bool enable_kinds(GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        CUptiResult result = cuptiActivityEnable(kinds[i].kind);
        if (result != CUPTI_SUCCESS && !(kinds[i].optional && result == CUPTI_ERROR_NOT_COMPATIBLE))
            return refuse(error, kinds[i].call, result);
    }
    return true;
}

/* Calls that are made often and launch nothing. */
static void drop_noise(void)
{
    static const CUpti_CallbackId runtime[] = {
        CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020,    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020,  CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
        CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020,  CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020,
    };
    static const CUpti_CallbackId driver[] = {
        CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent,        CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent,
        CUPTI_DRIVER_TRACE_CBID_cuCtxGetDevice,         CUPTI_DRIVER_TRACE_CBID_cuCtxPushCurrent_v2,
        CUPTI_DRIVER_TRACE_CBID_cuCtxPopCurrent_v2,     CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute,
        CUPTI_DRIVER_TRACE_CBID_cuFuncGetAttribute,     CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute,
        CUPTI_DRIVER_TRACE_CBID_cuPointerGetAttributes, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxGetState,
        CUPTI_DRIVER_TRACE_CBID_cuEventQuery,           CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,
        CUPTI_DRIVER_TRACE_CBID_cuEventRecord,          CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent,
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(runtime); i++)
        (void)cuptiActivityEnableRuntimeApi(runtime[i], 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(driver); i++)
        (void)cuptiActivityEnableDriverApi(driver[i], 0);
}

static bool start(GError **error)
{
    set_attributes();
    if (!set_clock(error))
        return false;
    CUptiResult result = cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
    if (result != CUPTI_SUCCESS)
        return refuse(error, "cuptiActivityRegisterCallbacks", result);
    if (!enable_kinds(error))
        return false;
    drop_noise();
    session.names = g_string_chunk_new(4096);
    return true;
}

bool collect_open(GError **error)
{
    bool ok = check_version(error) && subscribe(error);
    if (ok && !start(error)) {
        collect_close();
        ok = false;
    }
    collect_mark_open(ok);
    return ok;
}

void collect_close(void)
{
    size_t n = 0;
    collect_mark_close();
    if (session.open) {
        (void)cuptiActivityFlushAll(
            CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); /* or what CUPTI holds of our buffers is lost */
        for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
            (void)cuptiActivityDisable(kinds[i].kind);
        (void)cuptiUnsubscribe(session.subscriber);
    }
    struct collect_buffer *full = take_buffers(&n);
    struct collected rest;
    if (collect_records(full, n, NULL, 0, session.names, &rest, NULL)) /* frees what hangs on them */
        g_free(rest.records);
    for (size_t i = 0; i < n; i++)
        free(full[i].bytes);
    g_free(full);
    session.open = false;
    session.n_lanes = 0;
    g_clear_pointer(&session.lanes, g_free);
    if (session.names)
        g_string_chunk_free(g_steal_pointer(&session.names));
}

/* --- streams */

/* The number of the stream's context, from the driver, which the runtime has opened: libcuda is not linked.
 */
static uint32_t context_of(void *stream)
{
    CUresult (*get)(CUstream, CUcontext *);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    CUcontext context = NULL;
    uint32_t id = OP_NONE;
    if (!driver)
        return OP_NONE;
    *(void **)&get = dlsym(driver, "cuStreamGetCtx");
    if (!get || get(stream, &context) != CUDA_SUCCESS || cuptiGetContextId(context, &id) != CUPTI_SUCCESS)
        id = OP_NONE;
    dlclose(driver);
    return id;
}

bool collect_lanes(const struct collect_lane *lanes, uint32_t n, GError **error)
{
    g_free(session.lanes);
    session.lanes = g_new(struct collect_key, n);
    session.n_lanes = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t stream = 0;
        CUptiResult result = cuptiGetStreamIdEx(NULL, lanes[i].stream, 0, &stream);
        if (result != CUPTI_SUCCESS)
            return fail(error, "cuptiGetStreamIdEx", result);
        session.lanes[i] = (struct collect_key){lanes[i].device, context_of(lanes[i].stream), stream};
    }
    return true;
}

/* --- taking */

bool collect_discard(GError **error)
{
    struct collected old;
    uint64_t pushes;
    bool ok = flush(&old, error);
    if (ok)
        g_free(old.records);
    return collect_mark_take(&pushes, ok ? error : NULL) && ok;
}

static bool check_taken(const struct collect_counts *c, uint64_t pushes, GError **error)
{
    const char *wrong = NULL;
    if (pushes && !c->kernels && c->zero)
        wrong = "its records have no times, as when its buffers on the device run out: take fewer --steps";
    else if (pushes && !c->kernels)
        wrong = "kernels were launched, but it recorded none, as happens under WSL, on shared parts of a GPU "
                "(MIG) and where "
                "another profiler runs: see 'parprof doctor'";
    if (wrong)
        g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED, "CUPTI failed: %s", wrong);
    else if (c->lazy_ns)
        g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED,
                    "CUPTI failed: kernels were loaded for %" PRId64
                    " us inside the measured steps, so their times are not "
                    "those of training: set CUDA_MODULE_LOADING=EAGER, or take more --warmup steps",
                    c->lazy_ns / 1000);
    return !wrong && !c->lazy_ns;
}

bool collect_take(struct collected *out, GError **error)
{
    uint64_t pushes;
    bool ok = flush(out, error);
    ok = collect_mark_take(&pushes, ok ? error : NULL) && ok;
    ok = ok && check_taken(&out->counts, pushes, error);
    if (!ok) {
        g_free(out->records);
        *out = (struct collected){0};
    }
    return ok;
}

bool collect_sentinel(int (*launch)(void), GError **error)
{
    struct collected out;
    if (!collect_discard(error))
        return false;
    collect_push(0, 0, "sentinel");
    int status = launch();
    collect_pop();
    if (status) {
        g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED,
                    "the kernel to be recorded failed with error %d (%s)", status,
                    cudaGetErrorString((cudaError_t)status));
        return false;
    }
    if (!collect_take(&out, error))
        return false;
    bool attributed = false;
    for (size_t i = 0; i < out.n; i++)
        attributed = attributed || (out.records[i].kind == COLLECT_KERNEL && out.records[i].op == 0);
    g_free(out.records);
    if (!attributed)
        g_set_error(error, COLLECT_ERROR, COLLECT_ERROR_FAILED,
                    "CUPTI failed: it recorded the kernel, but not which call launched it");
    return attributed;
}
