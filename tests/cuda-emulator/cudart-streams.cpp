/* tests/cuda-emulator/cudart-streams.cpp -- libcudart.so.13: streams and events. */
#include "cudart.h"

#include <cstdlib>

using namespace emu;
using namespace cudart;

namespace {

cudaError_t make(cudaStream_t *out, unsigned flags, int priority)
{
    if (!out || (flags & ~unsigned(cudaStreamNonBlocking)))
        return cudaErrorInvalidValue;
    if (const cudaError_t dead = sticky(current_device()))
        return dead;
    *out = stream_new(current_device(), flags, priority);
    return cudaSuccess;
}

cudaError_t bad_stream(const char *call)
{
    complain("%s of a stream that is not, or no longer, one", call);
    return cudaErrorInvalidResourceHandle;
}

cudaError_t bad_event(const char *call)
{
    complain("%s of an event that is not, or no longer, one", call);
    return cudaErrorInvalidResourceHandle;
}

cudaError_t make_event(cudaEvent_t *out, unsigned flags)
{
    if (!out)
        return cudaErrorInvalidValue;
    if (const cudaError_t dead = sticky(current_device()))
        return dead;
    std::lock_guard hold(machine().lock);
    CUevent_st *e = new CUevent_st;
    e->device = current_device();
    e->flags = flags;
    machine().events.push_back(e);
    *out = e;
    return cudaSuccess;
}

std::shared_ptr<Marker> marker_of(cudaEvent_t event)
{
    std::lock_guard hold(machine().lock);
    return event->marker;
}

cudaError_t record(const char *call, cudaEvent_t event, cudaStream_t stream)
{
    CUstream_st *s = resolve(stream);
    if (!s)
        return bad_stream(call);
    if (!event_live(event))
        return bad_event(call);
    if (event->device != s->device) {
        complain("%s: an event of device %d on a stream of device %d", call, event->device, s->device);
        return cudaErrorInvalidResourceHandle;
    }
    Item item;
    item.task.kind = Kind::record;
    item.task.name = "record";
    const std::shared_ptr<Marker> end = item.end;
    const cudaError_t status = enqueue_item(s, std::move(item));
    if (!status) {
        std::lock_guard hold(machine().lock);
        event->marker = end;
    }
    return status;
}

/* Whether this call is the one that EMULATOR_DROP_WAIT takes away. */
bool drop_wait()
{
    static const uint64_t which = option("DROP_WAIT") ? strtoull(option("DROP_WAIT"), nullptr, 0) : 0;
    std::lock_guard hold(machine().lock);
    return ++machine().waits == which;
}

} // namespace

API cudaStreamCreate(cudaStream_t *out)
{
    BEGIN("cudaStreamCreate");
    return api.end(make(out, cudaStreamDefault, 0));
}

API cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    BEGIN("cudaStreamCreateWithFlags");
    return api.end(make(out, flags, 0));
}

API cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    BEGIN("cudaStreamCreateWithPriority");
    return api.end(make(out, flags, priority));
}

API cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    BEGIN("cudaDeviceGetStreamPriorityRange");
    *least = 0;
    *greatest = -5;
    return api.end(cudaSuccess);
}

API cudaStreamDestroy(cudaStream_t stream)
{
    BEGIN("cudaStreamDestroy");
    CUstream_st *s = uintptr_t(stream) <= 2 ? nullptr : resolve(stream);
    if (!s)
        return api.end(bad_stream("cudaStreamDestroy"));
    std::lock_guard hold(machine().lock);
    s->destroyed = true; /* what it holds still runs */
    return api.end(sticky(s->device));
}

API cudaStreamSynchronize(cudaStream_t stream)
{
    BEGIN("cudaStreamSynchronize");
    if (!resolve(stream))
        return api.end(bad_stream("cudaStreamSynchronize"));
    return api.end(drain(stream));
}

API cudaStreamQuery(cudaStream_t stream)
{
    BEGIN("cudaStreamQuery");
    const CUstream_st *s = resolve(stream);
    if (!s)
        return api.end(bad_stream("cudaStreamQuery"));
    if (const cudaError_t dead = sticky(s->device))
        return api.end(dead);
    std::shared_ptr<Marker> last;
    {
        std::lock_guard hold(machine().lock);
        last = s->last;
    }
    return api.end(is_done(last) ? cudaSuccess : cudaErrorNotReady);
}

API cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    BEGIN("cudaStreamWaitEvent");
    CUstream_st *s = resolve(stream);
    if (!s)
        return api.end(bad_stream("cudaStreamWaitEvent"));
    if (!event_live(event))
        return api.end(bad_event("cudaStreamWaitEvent"));
    const std::shared_ptr<Marker> marker = marker_of(event);
    const bool left_out = drop_wait();
    if (!marker) {
        complain("cudaStreamWaitEvent for an event that was never recorded, which orders nothing");
        return api.end(cudaSuccess);
    }
    Item item;
    item.task.kind = Kind::wait;
    item.task.name = "wait";
    if (left_out)
        item.left_out = marker;
    else
        item.after = {marker};
    return api.end(enqueue_item(s, std::move(item)));
}

API cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    BEGIN("cudaLaunchHostFunc");
    Task task;
    task.kind = Kind::host;
    task.name = "host function";
    task.run = [=] { function(user); };
    return api.end(enqueue(stream, std::move(task)));
}

API cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    BEGIN("cudaStreamGetDevice");
    *device = stream_device(stream);
    return api.end(*device < 0 ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

API cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    BEGIN("cudaStreamGetId");
    *id = stream_id(stream);
    return api.end(*id ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    BEGIN("cudaStreamGetPriority");
    const CUstream_st *s = resolve(stream);
    if (!s)
        return api.end(bad_stream("cudaStreamGetPriority"));
    *priority = s->priority;
    return api.end(cudaSuccess);
}

API cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    BEGIN("cudaStreamGetFlags");
    const CUstream_st *s = resolve(stream);
    if (!s)
        return api.end(bad_stream("cudaStreamGetFlags"));
    *flags = s->flags;
    return api.end(cudaSuccess);
}

API cudaEventCreate(cudaEvent_t *out)
{
    BEGIN("cudaEventCreate");
    return api.end(make_event(out, 0));
}

API cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    BEGIN("cudaEventCreateWithFlags");
    return api.end(make_event(out, flags));
}

API cudaEventDestroy(cudaEvent_t event)
{
    BEGIN("cudaEventDestroy");
    if (!event_live(event))
        return api.end(bad_event("cudaEventDestroy"));
    std::lock_guard hold(machine().lock);
    event->destroyed = true;
    event->marker.reset();
    return api.end(sticky(event->device));
}

API cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    BEGIN("cudaEventRecord");
    return api.end(record("cudaEventRecord", event, stream));
}

API cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned)
{
    BEGIN("cudaEventRecordWithFlags");
    return api.end(record("cudaEventRecordWithFlags", event, stream));
}

API cudaEventSynchronize(cudaEvent_t event)
{
    BEGIN("cudaEventSynchronize");
    if (!event_live(event))
        return api.end(bad_event("cudaEventSynchronize"));
    return api.end(wait_for(marker_of(event), event->device));
}

API cudaEventQuery(cudaEvent_t event)
{
    BEGIN("cudaEventQuery");
    if (!event_live(event))
        return api.end(bad_event("cudaEventQuery"));
    if (const cudaError_t dead = sticky(event->device))
        return api.end(dead);
    return api.end(is_done(marker_of(event)) ? cudaSuccess : cudaErrorNotReady);
}

API cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    BEGIN("cudaEventElapsedTime");
    if (!event_live(start) || !event_live(end))
        return api.end(bad_event("cudaEventElapsedTime"));
    const std::shared_ptr<Marker> a = marker_of(start), b = marker_of(end);
    if (!a || !b || ((start->flags | end->flags) & cudaEventDisableTiming) || start->device != end->device)
        return api.end(cudaErrorInvalidResourceHandle);
    if (!is_done(a) || !is_done(b))
        return api.end(cudaErrorNotReady);
    *ms = float(double(b->time_ns - a->time_ns) / 1e6);
    return api.end(sticky(start->device));
}
