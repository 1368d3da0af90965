/* tests/cuda-emulator/streams.cpp -- streams, events' markers, and the executor that runs what is queued. */
#include "machine.h"

#include <cstdio>
#include <utility>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

namespace emu {

uint64_t call_correlation(); /* emulator.cpp */
Sink *attached();
int task_fault();

namespace {

std::mt19937_64 &dice()
{
    static std::mt19937_64 d(option("SEED") ? strtoull(option("SEED"), nullptr, 0) : 1);
    return d;
}

size_t depth()
{
    static const size_t d = option("DEPTH") ? strtoul(option("DEPTH"), nullptr, 0) : 1000;
    return d;
}

/* EMULATOR_HANG; the lock is held. */
bool hangs(const std::string &name)
{
    static const std::string all = option("HANG") ? option("HANG") : "";
    if (all.empty())
        return false;
    const size_t colon = all.rfind(':');
    const long k = colon == std::string::npos ? 1 : atol(all.c_str() + colon + 1);
    static long seen;
    return name.find(all.substr(0, colon)) != std::string::npos && ++seen == k;
}

bool dropped(const CUstream_st *s) { return machine().sticky[unsigned(s->device)] != 0; }

/* A collective that waits keeps its multiprocessors: were there more to wait, one that another rank needs might never
 * find room.  The lock is held. */
void check_room(int device)
{
    unsigned blocks = 0;
    for (const CUstream_st *s : machine().streams)
        if (s->device == device && !s->queue.empty() && s->queue.front().met)
            blocks += s->queue.front().task.grid.x;
    if (blocks > SM_COUNT)
        complain("collectives that wait on device %d take %u multiprocessors, of %u", device, blocks, SM_COUNT);
}

/* Whether the head of a stream may run; a collective's arrives at its meeting. */
bool runnable(CUstream_st *s)
{
    Item &head = s->queue.front();
    if (dropped(s) || (head.task.meeting && head.task.meeting->abandoned))
        return true;
    if (head.hung || !std::ranges::all_of(head.after, [](const auto &m) { return m->done; }))
        return false;
    if (head.task.kind != Kind::collective || !head.task.meeting)
        return true;
    Meeting &m = *head.task.meeting;
    if (!head.met) {
        head.met = true;
        head.task.start_ns = now_ns();
        m.arrived++;
        check_room(s->device);
    }
    return m.arrived >= m.members;
}

struct Part {
    CUstream_st *stream;
    Item item;
    Clock clock;
};

/* Of a wait that was left out, at the first work behind it: whether another path orders the same, so that no race can come
 * of it. */
void say_left_out(const Marker &m, const Clock &known)
{
    bool ordered = m.done;
    for (size_t i = 0; ordered && i < m.clock.size(); i++)
        ordered = m.clock[i] <= (i < known.size() ? known[i] : 0);
    if (const char *path = option("DROPPED"))
        if (FILE *f = fopen(path, "w")) {
            fputs(ordered ? "redundant\n" : "needed\n", f);
            fclose(f);
        }
}

/* Takes heads off their streams: of a collective, those of all members. */
std::vector<Part> take(CUstream_st *s)
{
    std::vector<Part> parts;
    const std::shared_ptr<Meeting> meeting = s->queue.front().task.meeting;
    const bool together = !dropped(s) && meeting && !meeting->abandoned;
    for (CUstream_st *t : together ? machine().streams : std::vector<CUstream_st *>{s}) {
        if (t->queue.empty() || (together && t->queue.front().task.meeting != meeting))
            continue;
        Part p{t, std::move(t->queue.front()), t->clock};
        join(p.clock, p.item.host);
        for (const auto &m : p.item.after)
            join(p.clock, m->clock);
        if (p.item.left_out)
            t->left_out = p.item.left_out;
        else if (t->left_out && p.item.task.kind != Kind::wait && p.item.task.kind != Kind::record)
            say_left_out(*std::exchange(t->left_out, nullptr), p.clock);
        if (p.clock.size() <= t->index)
            p.clock.resize(t->index + 1);
        p.clock[t->index] = ++t->sequence;
        parts.push_back(std::move(p));
    }
    return parts;
}

/* No lock is held. */
void execute(std::vector<Part> &parts)
{
    bool good = true;
    const auto last = std::ranges::max_element(parts, {}, [](const Part &p) { return p.item.task.start_ns; });
    for (Part &p : parts) {
        Task &task = p.item.task;
        if (task.kind != Kind::collective || !task.start_ns)
            task.start_ns = now_ns();
        /* Copies find their way between any two devices; what a collective does to reach others is its own affair. */
        const bool anywhere = task.kind == Kind::copy || task.kind == Kind::collective;
        check_begin({p.stream->index, p.stream->sequence, anywhere ? -1 : task.device, &p.clock, &task});
        for (const Range &r : task.ranges)
            good = check_access(r.p, r.bytes, r.write) && good;
    }
    const int fault = last->item.task.kind == Kind::record || last->item.task.kind == Kind::wait ? 0 : task_fault();
    if (fault)
        fail_device(last->item.task.device, cudaError_t(fault));
    else if (!good)
        fail_device(last->item.task.device, cudaErrorIllegalAddress);
    else if (last->item.task.run)
        last->item.task.run();
    for (Part &p : parts)
        p.item.task.end_ns = now_ns();
    if (Sink *sink = attached())
        for (Part &p : parts)
            if (p.item.task.kind != Kind::record && p.item.task.kind != Kind::wait && p.item.task.kind != Kind::host)
                sink->activity(p.item.task);
}

[[noreturn]] void executor()
{
    Machine &m = machine();
    std::unique_lock hold(m.lock);
    std::vector<CUstream_st *> able;
    for (;;) {
        able.clear();
        if (!m.quiet)
            for (CUstream_st *s : m.streams)
                if (!s->queue.empty() && runnable(s))
                    able.push_back(s);
        if (able.empty()) {
            m.changed.wait(hold);
            continue;
        }
        /* An arrival may have completed a meeting whose others were looked at before. */
        CUstream_st *s = able[dice()() % able.size()];
        const bool skip = dropped(s) || (s->queue.front().task.meeting && s->queue.front().task.meeting->abandoned);
        std::vector<Part> parts = take(s);
        hold.unlock();
        if (!skip)
            execute(parts);
        hold.lock();
        Clock all;
        for (const Part &p : parts)
            join(all, p.clock);
        for (Part &p : parts) {
            p.stream->queue.pop_front();
            p.stream->clock = all;
            p.item.end->clock = all;
            p.item.end->time_ns = now_ns();
            p.item.end->done = true;
        }
        m.changed.notify_all();
        parts.clear();
    }
}

void start_executor()
{
    static const bool started = [] {
        sigset_t all, old;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are the program's */
        std::thread(executor).detach();
        pthread_sigmask(SIG_SETMASK, &old, nullptr);
        return true;
    }();
    (void)started;
}

CUstream_st *make_stream(int device, unsigned flags, int priority, bool legacy)
{
    Machine &m = machine();
    CUstream_st *s = new CUstream_st;
    s->index = uint32_t(m.streams.size()) + 1;
    s->device = device;
    s->flags = flags;
    s->blocking = !(flags & cudaStreamNonBlocking);
    s->priority = priority;
    s->legacy = legacy;
    m.streams.push_back(s);
    return s;
}

} // namespace

CUstream_st *stream_new(int device, unsigned flags, int priority)
{
    std::lock_guard hold(machine().lock);
    return make_stream(device, flags, priority, false);
}

CUstream_st *legacy_stream(int device)
{
    std::lock_guard hold(machine().lock);
    CUstream_st *&s = machine().legacy[unsigned(device)];
    if (!s)
        s = make_stream(device, 0, 0, true);
    return s;
}

CUstream_st *resolve(cudaStream_t stream)
{
    if (uintptr_t(stream) <= 2)
        return legacy_stream(current_device());
    std::lock_guard hold(machine().lock);
    if (std::ranges::find(machine().streams, stream) == machine().streams.end() || stream->destroyed)
        return nullptr;
    return stream;
}

bool event_live(cudaEvent_t event)
{
    std::lock_guard hold(machine().lock);
    return std::ranges::find(machine().events, event) != machine().events.end() && !event->destroyed;
}

cudaError_t enqueue_item(CUstream_st *s, Item item)
{
    start_executor();
    Machine &m = machine();
    item.task.device = s->device;
    item.task.stream_id = s->index;
    item.task.context_id = context_id(s->device);
    if (!item.task.correlation)
        item.task.correlation = call_correlation();
    std::unique_lock hold(m.lock);
    m.changed.wait(hold, [&] { return s->queue.size() < depth() || dropped(s); });
    if (dropped(s))
        return cudaError_t(m.sticky[unsigned(s->device)].load());
    if (s->legacy) {
        for (const CUstream_st *t : m.streams)
            if (t->device == s->device && t->blocking && t != s && t->last)
                item.after.push_back(t->last);
    } else if (const CUstream_st *l = m.legacy[unsigned(s->device)]; s->blocking && l && l->last) {
        item.after.push_back(l->last);
    }
    item.host = m.host;
    item.hung = hangs(item.task.name);
    s->last = item.end;
    s->queue.push_back(std::move(item));
    m.changed.notify_all();
    return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t stream, Task task)
{
    CUstream_st *s = resolve(stream);
    if (!s) {
        complain("%s on a stream that is not, or no longer, one", pretty(task.name).c_str());
        return cudaErrorInvalidResourceHandle;
    }
    if (task.kind == Kind::kernel && s->device != current_device()) {
        complain("%s is launched on a stream of device %d while device %d is current", pretty(task.name).c_str(), s->device,
                 current_device());
        return cudaErrorInvalidResourceHandle;
    }
    Item item;
    item.task = std::move(task);
    return enqueue_item(s, std::move(item));
}

cudaError_t wait_for(const std::shared_ptr<Marker> &marker, int device)
{
    Machine &m = machine();
    std::unique_lock hold(m.lock);
    m.changed.wait(hold, [&] { return !marker || marker->done || m.sticky[unsigned(device)]; });
    if (marker && marker->done)
        join(m.host, marker->clock);
    return cudaError_t(m.sticky[unsigned(device)].load());
}

bool is_done(const std::shared_ptr<Marker> &marker)
{
    std::lock_guard hold(machine().lock);
    if (marker && !marker->done)
        return false;
    if (marker)
        join(machine().host, marker->clock);
    return true;
}

cudaError_t drain(cudaStream_t stream)
{
    CUstream_st *s = resolve(stream);
    if (!s)
        return cudaErrorInvalidResourceHandle;
    std::vector<std::shared_ptr<Marker>> markers;
    {
        std::lock_guard hold(machine().lock);
        markers.push_back(s->last);
        if (s->legacy) /* it also waits for those that it is ordered with */
            for (const CUstream_st *t : machine().streams)
                if (t->device == s->device && t->blocking)
                    markers.push_back(t->last);
    }
    cudaError_t status = cudaSuccess;
    for (const auto &m : markers)
        if (!status)
            status = wait_for(m, s->device);
    return status;
}

cudaError_t device_rest(int device)
{
    std::vector<std::shared_ptr<Marker>> markers;
    {
        std::lock_guard hold(machine().lock);
        for (const CUstream_st *s : machine().streams)
            if (s->device == device)
                markers.push_back(s->last);
    }
    cudaError_t status = sticky(device);
    for (const auto &m : markers)
        if (!status)
            status = wait_for(m, device);
    return status;
}

void fail_device(int device, cudaError_t error)
{
    std::lock_guard hold(machine().lock);
    int none = 0;
    machine().sticky[unsigned(device)].compare_exchange_strong(none, error);
    machine().changed.notify_all();
}

cudaError_t sticky(int device) { return cudaError_t(machine().sticky[unsigned(device)].load()); }

int stream_device(cudaStream_t stream)
{
    const CUstream_st *s = resolve(stream);
    return s ? s->device : -1;
}

uint32_t stream_id(cudaStream_t stream)
{
    const CUstream_st *s = resolve(stream);
    return s ? s->index : 0;
}

uint32_t context_id(int device) { return uint32_t(device) + 1; }

void abandon(const std::shared_ptr<Meeting> &meeting)
{
    std::lock_guard hold(machine().lock);
    meeting->abandoned = true;
    machine().changed.notify_all();
}

void implicit_sync(const char *call)
{
    std::string pending;
    {
        std::lock_guard hold(machine().lock);
        for (const CUstream_st *s : machine().streams)
            for (const Item &i : s->queue)
                if (i.task.kind == Kind::collective && !(i.task.meeting && i.task.meeting->abandoned))
                    pending = i.task.name;
    }
    if (!pending.empty())
        complain("%s while %s is pending: it may wait for the device, and the collective for whoever calls", call,
                 pretty(pending).c_str());
}

} // namespace emu
