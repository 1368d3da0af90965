/* tests/cuda-emulator/emulator.h -- what the stand-ins for libcudart, libcublas, libnccl, libcupti, libcuda and
 * libnvidia-ml share: libemulator.so, the one machine that they all pretend.
 *
 * A process has N emulated GPUs.  Device memory is host memory of the emulator's own, poisoned with NaN.  A stream is a
 * FIFO of tasks; one thread, the executor, runs them: it picks at random (seeded) among the streams whose head may run.
 * Each task carries a vector clock over streams, so that a race is reported whatever order really happened.  Kernels of ours
 * run as host code (libemulated-kernels.so), one block at a time, each access checked.
 *
 * Options, all in the environment: EMULATOR_GPUS, EMULATOR_SEED, and
 *   EMULATOR_FAULT=CALL:K:ERROR[,...]  the K-th call of that class (struct Call's name) returns ERROR; CALL "task": the K-th
 *                                task that runs makes its device fail for good with ERROR, as an illegal access does
 *   EMULATOR_DROP_WAIT=K         the K-th cudaStreamWaitEvent of the process orders nothing
 *   EMULATOR_DROPPED=FILE        "redundant" if what follows that wait is ordered by other paths, else "needed"
 *   EMULATOR_HANG=TEXT[:K]       the K-th (first) task whose name contains TEXT does not run; a collective ends if it is aborted
 *   EMULATOR_MEMORY=BYTES        of a device
 *   EMULATOR_NO_PEER, EMULATOR_NO_GREEN  no peer access; green contexts "not supported"
 *   EMULATOR_DRIVER_VERSION=N, EMULATOR_DEVICE_COUNT_ERROR=E
 *   EMULATOR_KERNELS=FILE[:...]  more libraries of kernels beside libemulated-kernels.so
 *   EMULATOR_REPORT=FILE         complaints are appended to it
 *   EMULATOR_CALLS=FILE          at the end "NAME COUNT" of every class of calls is appended to it
 *   EMULATOR_NO_LEAKS            leaks are not complained about
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace emu {

const char *option(const char *name); /* "DROP_WAIT" -> $EMULATOR_DROP_WAIT; NULL; "" counts as NULL */

/* Something is wrong that no error code tells: a race, a leak, an unequal order of collectives.  Printed as
 * "emulator: ..." on stderr and to $EMULATOR_REPORT, counted; makes the process exit with 86 at its end.  The same text is
 * said once. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One call of an API function, made first thing in each: `Call call("cudaMalloc"); if (call.fault) return call.fault;`.
 * Calls of a layer `library` (cuBLAS, NCCL, CUPTI, NVML) are counted for faults and not recorded; a runtime or driver call
 * inside one is recorded and not counted; inside a runtime or driver call nothing is either. */
enum class Layer { runtime, driver, library };
struct Call {
    const char *name;
    Layer layer;
    int fault = 0;            /* what EMULATOR_FAULT wants this call to return, else 0 */
    int result = 0;           /* set before the end: what CUPTI is told */
    uint64_t correlation = 0; /* of this call; tasks enqueued inside get it */
    int64_t start_ns;
    explicit Call(const char *name, Layer layer = Layer::runtime);
    ~Call();
    Call(const Call &) = delete;
    Call *outer;
    bool recorded;
};

/* --- memory */
struct Range {
    const void *p;
    size_t bytes;
    bool write;
};
/* Of a device, or pinned host memory: device -1.  find: false unless [p, p + bytes) lies inside one live allocation. */
struct Allocation {
    char *base = nullptr;
    size_t bytes = 0;
    int device = 0;
};
bool find(const void *p, size_t bytes, Allocation *out = nullptr);
bool reaches(int device, const void *p); /* device may touch it: its own, pinned, or a peer's with access enabled */

/* --- tasks */
enum class Kind { kernel, copy, set, record, wait, host, collective };

/* Of a collective: it runs, once, when each of `members` streams has it at its head. */
struct Meeting {
    unsigned members = 0, arrived = 0;
    bool abandoned = false; /* see abandon */
};

struct Task {
    Kind kind = Kind::kernel;
    std::string name;          /* of a kernel: mangled */
    std::vector<Range> ranges; /* that it touches; kernels of ours find theirs while they run */
    std::function<void()> run; /* on the executor's thread; of a collective: only that of the last member to arrive */
    std::shared_ptr<Meeting> meeting;
    int copy_kind = 0; /* cudaMemcpyKind, resolved from cudaMemcpyDefault */
    int source_device = -1, target_device = -1; /* of peer copies: from which to which, else -1 */
    uint64_t bytes = 0, correlation = 0;
    int value = 0; /* of a set */
    dim3 grid{1, 1, 1}, block{1, 1, 1};
    size_t static_shared = 0, dynamic_shared = 0;
    /* filled by enqueue, and when it ran */
    int device = 0;
    uint32_t stream_id = 0, context_id = 0;
    int64_t start_ns = 0, end_ns = 0;
};

/* Appends to a stream (NULL: the legacy default stream of the current device); blocks while the stream is full, as a real
 * launch does.  Ranges are checked against the stream's device and, when it runs, for races.  Error: the device's sticky
 * one, a destroyed stream, or one of another device than the current (but for records, waits and collectives). */
cudaError_t enqueue(cudaStream_t stream, Task task);
cudaError_t drain(cudaStream_t stream); /* waits for what it holds now, or returns the sticky error */
cudaError_t sticky(int device);         /* 0, or what an illegal access left */
int current_device();
int stream_device(cudaStream_t);  /* -1: no live stream */
uint32_t stream_id(cudaStream_t); /* unique in the process; 0: no live stream */
uint32_t context_id(int device);
unsigned gpus();
bool is_own(const Task &);        /* a kernel from the .cu files */
/* Makes the meeting's tasks end at once, unrun, now and later: ncclCommAbort. */
void abandon(const std::shared_ptr<Meeting> &);
/* For calls after which a device comes to rest (allocation, freeing, creating a cuBLAS handle), or that wait for other ranks
 * (what NCCL does for the first time): complains when a collective is pending on any stream. */
void implicit_sync(const char *call);

/* --- for the stand-in of CUPTI: told of every recorded call at its end, on its thread, and of every finished task but
 * records, waits and host functions, on the executor's; under no lock of the emulator. */
struct Sink {
    virtual void api(const Call &, int64_t end_ns) = 0;
    virtual void activity(const Task &) = 0;
    virtual ~Sink() = default;
};
void attach(Sink *); /* NULL: detach */

int64_t now_ns(); /* CLOCK_MONOTONIC */

} // namespace emu

#pragma GCC visibility pop

#endif
