/* tests/cuda-emulator/emulator.cpp -- options, complaints, calls and their faults, the end of the process. */
#include "machine.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <time.h>
#include <unistd.h>

namespace emu {

const char *option(const char *name)
{
    const char *value = getenv((std::string("EMULATOR_") + name).c_str());
    return value && *value ? value : nullptr;
}

int64_t now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

namespace {

struct Fault {
    std::string call;
    long k;
    int error;
};

/* Never destroyed: other threads may still call when the process ends. */
struct State {
    std::mutex lock;
    std::set<std::string> complaints;
    std::map<std::string, long> calls;
    std::vector<Fault> faults;
    std::atomic<uint64_t> correlation{0};
    std::atomic<Sink *> sink{nullptr};
    State()
    {
        for (std::string all = option("FAULT") ? option("FAULT") : ""; !all.empty();) {
            const size_t comma = all.find(',');
            const std::string one = all.substr(0, comma);
            all = comma == std::string::npos ? "" : all.substr(comma + 1);
            const size_t a = one.find(':'), b = one.find(':', a + 1);
            if (a == std::string::npos || b == std::string::npos) {
                fprintf(stderr, "emulator: EMULATOR_FAULT: \"%s\" is not CALL:K:ERROR\n", one.c_str());
                _exit(86);
            }
            faults.push_back({one.substr(0, a), atol(one.c_str() + a + 1), atoi(one.c_str() + b + 1)});
        }
    }
};

void at_end(int status, void *);

State &state()
{
    static State &s = []() -> State & {
        on_exit(at_end, nullptr);
        return *new State;
    }();
    return s;
}

void append(const char *path, const std::string &text)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, text.data(), text.size()) != ssize_t(text.size()))
        fprintf(stderr, "emulator: %s: cannot be written\n", path);
    if (fd >= 0)
        close(fd);
}

thread_local Call *innermost;

/* What was opened and never closed. */
void leaks()
{
    std::map<int, unsigned> streams, events;
    {
        std::lock_guard hold(machine().lock);
        for (const CUstream_st *s : machine().streams)
            if (!s->destroyed && !s->legacy)
                streams[s->device]++;
        for (const CUevent_st *e : machine().events)
            if (!e->destroyed)
                events[e->device]++;
    }
    for (const auto &[device, n] : streams)
        complain("leak: %u streams of device %d", n, device);
    if (machine().green)
        complain("leak: %d green contexts", machine().green.load());
    for (const auto &[device, n] : events)
        complain("leak: %u events of device %d", n, device);
    memory_leaks();
}

void at_end(int, void *)
{
    {
        std::lock_guard hold(machine().lock);
        machine().quiet = true;
    }
    if (!option("NO_LEAKS"))
        leaks();
    std::string text;
    bool wrong;
    {
        std::lock_guard hold(state().lock);
        for (const auto &[name, n] : state().calls)
            text += name + " " + std::to_string(n) + "\n";
        wrong = !state().complaints.empty();
    }
    if (option("CALLS"))
        append(option("CALLS"), text);
    if (wrong) {
        fflush(nullptr);
        _exit(86);
    }
}

} // namespace

unsigned gpus()
{
    static const unsigned n = option("GPUS") ? std::min(MAX_GPUS, unsigned(strtoul(option("GPUS"), nullptr, 0))) : 4;
    return n;
}

namespace {
thread_local int device_of_thread;
}
int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

Machine &machine()
{
    static Machine &m = *new Machine;
    return m;
}

void complain(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::lock_guard hold(state().lock);
    if (!state().complaints.insert(text).second)
        return;
    const std::string line = std::string("emulator: ") + text + "\n";
    fputs(line.c_str(), stderr);
    if (option("REPORT"))
        append(option("REPORT"), line);
}

Call::Call(const char *name_, Layer layer_) : name(name_), layer(layer_), start_ns(now_ns()), outer(innermost)
{
    const bool counted = !outer, in_library = outer && outer->layer == Layer::library;
    innermost = this;
    recorded = layer != Layer::library && (counted || in_library);
    if (recorded)
        correlation = ++state().correlation;
    else
        correlation = outer ? outer->correlation : 0;
    if (!counted)
        return;
    std::lock_guard hold(state().lock);
    const long k = ++state().calls[name];
    for (const Fault &f : state().faults)
        if (f.call == name && f.k == k)
            fault = result = f.error;
}

Call::~Call()
{
    innermost = outer;
    Sink *sink = state().sink;
    if (recorded && sink)
        sink->api(*this, now_ns());
}

void attach(Sink *sink) { state().sink = sink; }

/* For streams.cpp: the correlation of the call that is being made, the sink, and faults of tasks. */
uint64_t call_correlation() { return innermost ? innermost->correlation : 0; }
Sink *attached() { return state().sink; }
int task_fault()
{
    std::lock_guard hold(state().lock);
    const long k = ++state().calls["task"];
    for (const Fault &f : state().faults)
        if (f.call == "task" && f.k == k)
            return f.error;
    return 0;
}

} // namespace emu
