/* tests/cuda-emulator/machine.h -- inside libemulator.so and the stand-ins for the runtime and the driver. */
#ifndef EMULATOR_MACHINE_H
#define EMULATOR_MACHINE_H

#include "device/fiber.h"
#include "emulator.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#pragma GCC visibility push(default)

namespace emu {

constexpr unsigned MAX_GPUS = 16, SM_COUNT = 132, WARP = 32;
constexpr size_t SHARED_STATIC_LIMIT = 48 << 10, SHARED_LIMIT = 227 << 10;

/* --- vector clocks: by stream index, the last of its tasks that has happened before.  Index 0 is not a stream. */
using Clock = std::vector<uint64_t>;
void join(Clock &into, const Clock &from);

/* The end of a task: what records, waits and the host know of it.  Guarded by the machine's lock. */
struct Marker {
    bool done = false;
    int64_t time_ns = 0;
    Clock clock;
};

struct Item {
    Task task;
    std::shared_ptr<Marker> end = std::make_shared<Marker>();
    std::vector<std::shared_ptr<Marker>> after; /* markers that must be done first, and order it */
    std::shared_ptr<Marker> left_out;           /* of a wait that EMULATOR_DROP_WAIT took away */
    Clock host;                                 /* what the host knew when it was enqueued */
    bool met = false, hung = false;
};

} // namespace emu

/* What cudaStream_t and cudaEvent_t point to.  They outlive their destruction, so that a use of one is seen. */
struct CUstream_st {
    uint32_t index = 0; /* of its clock, from 1; also its id */
    int device = 0;
    bool legacy = false, blocking = true, destroyed = false;
    unsigned flags = 0;
    int priority = 0;
    void *green = nullptr;
    std::deque<emu::Item> queue;
    std::shared_ptr<emu::Marker> last; /* of what was enqueued last; NULL: nothing yet */
    emu::Clock clock;
    uint64_t sequence = 0;
    std::shared_ptr<emu::Marker> left_out; /* of the wait that was left out, until work follows */
};
struct CUevent_st {
    int device = 0;
    unsigned flags = 0;
    bool destroyed = false;
    std::shared_ptr<emu::Marker> marker; /* of the latest record; NULL: never recorded */
};

namespace emu {

/* The lock of everything in streams, events, devices and allocations.  Never held while a task or a sink runs. */
struct Machine {
    std::mutex lock;
    std::condition_variable changed;       /* something was enqueued, ran or was abandoned */
    std::vector<CUstream_st *> streams;    /* all ever made, destroyed ones too; never freed */
    std::vector<CUevent_st *> events;
    std::array<CUstream_st *, MAX_GPUS> legacy{};
    std::array<std::atomic<int>, MAX_GPUS> sticky{};
    std::array<std::array<std::atomic<bool>, MAX_GPUS>, MAX_GPUS> peer{}; /* [a][b]: a may touch b's */
    Clock host;                            /* what any thread of the host has waited for */
    uint64_t waits = 0;                    /* calls of cudaStreamWaitEvent */
    std::atomic<int> green{0};             /* green contexts alive */
    bool quiet = false;                    /* the process ends: nothing more is run */
};
Machine &machine();
void set_current_device(int);

/* streams.cpp; the caller holds no lock. */
CUstream_st *stream_new(int device, unsigned flags, int priority);
CUstream_st *legacy_stream(int device);
CUstream_st *resolve(cudaStream_t); /* NULL and the legacy handles; nullptr: not a live stream */
bool event_live(cudaEvent_t);
cudaError_t wait_for(const std::shared_ptr<Marker> &, int device); /* blocks; joins the host's clock; sticky error */
bool is_done(const std::shared_ptr<Marker> &);                     /* and then joins it */
cudaError_t enqueue_item(CUstream_st *, Item);
cudaError_t device_rest(int device); /* waits for all its streams */
void fail_device(int device, cudaError_t); /* from now on, for good */

/* memory.cpp.  Blocks begin at multiples of GRANULE and have one between them. */
constexpr size_t GRANULE = 512;
extern struct Layout {
    char *base;
    size_t region, bytes; /* of a device's addresses, of all */
} layout;                 /* base NULL: nothing was allocated yet */
cudaError_t allocate(int device, size_t bytes, void **out); /* device -1: pinned */
cudaError_t release(int device_or_pinned, void *p);         /* cudaErrorInvalidValue: nothing begins there */
size_t memory_used(int device), memory_bytes();
bool in_region(const void *p, int *device); /* whether the address could be memory of the emulator at all */
std::string describe(const void *p);        /* "device 1's 0x… + 12 of 400 bytes" */
void memory_leaks();

/* check.cpp: on the executor's thread only, but for arm and disarm, of memory that no task touches. */
struct Running {
    uint32_t stream = 0;
    uint64_t sequence = 0;
    int device = 0;
    const Clock *clock = nullptr;
    const Task *task = nullptr;
};
void check_begin(const Running &);
/* False after a complaint that the memory is not live or not reachable; then the access must not happen. */
bool check_access(const void *p, size_t bytes, bool write);
void arm(void *p, size_t bytes), disarm(void *p, size_t bytes); /* of whole blocks */
void check_map(char *base, char *pinned, size_t bytes);         /* the regions, once */

/* launch.cpp: kernels of ours, by the function or the stub that registered itself under a name. */
struct Kernel {
    std::string name; /* mangled */
    const emulated::Kernel *code;
    emulated::Library library;
    std::atomic<int> max_dynamic{int(SHARED_STATIC_LIMIT)};
};
Kernel *find_kernel(const void *function_or_stub);
void register_stub(const void *stub, const char *name);
cudaError_t launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t);
std::string pretty(const std::string &mangled); /* demangled, without its parameters */

/* fiber.cpp: runs every block of a grid on the calling thread; false: something was wrong, and said. */
bool run_grid(const Kernel &, const Task &, void **arguments);

} // namespace emu

#pragma GCC visibility pop

#endif
