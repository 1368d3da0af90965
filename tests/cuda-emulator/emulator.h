/* tests/cuda-emulator/emulator.h -- what the stand-ins for libcudart, libcublas, libnccl, libcupti, libcuda and
 * libnvidia-ml share: libemulator.so, the one machine that they all pretend.
 *
 * A process has N emulated GPUs.  Device memory is host memory of the emulator's own table, poisoned with NaN.  A stream is a
 * FIFO of tasks; one thread, the executor, runs them: it picks at random (seeded) among the streams whose head may run, so
 * that whatever is not ordered happens in every order over seeds.  Each task carries the vector clock of all streams, so
 * that a race is reported whatever order really happened.
 */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emu {

/* --- options, from the environment that with-emulator sets: EMULATOR_GPUS, EMULATOR_SEED, EMULATOR_FAULT, EMULATOR_* */
const char *option(const char *name); /* "DROP_WAIT" -> $EMULATOR_DROP_WAIT; NULL */

/* Something is wrong that no error code tells: a race, a leak, an unequal order of collectives.  Printed as
 * "emulator: ..." on stderr and to $EMULATOR_REPORT, counted; makes the process exit with 86 at its end. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- one call of an API function, made first thing in each: `Call call("cudaMalloc"); if (call.fault) return ...` */
struct Call {
    const char *name;
    int fault = 0;            /* what EMULATOR_FAULT=CALL:K:ERROR wants this call to return, else 0 */
    uint64_t correlation = 0; /* of this call, for CUPTI */
    int64_t start_ns;
    explicit Call(const char *name); /* inside another call on the same thread nothing is counted or recorded */
    ~Call();
    Call(const Call &) = delete;
};

/* --- memory */
struct Range {
    const void *p;
    size_t bytes;
    bool write;
};
/* NULL unless [p, p + bytes) lies inside one live allocation; device -1: pinned host memory. */
struct Allocation {
    char *base;
    size_t bytes;
    int device;
};
const Allocation *find(const void *p, size_t bytes);
bool reaches(int device, const void *p); /* device may touch it: its own, pinned, or a peer's with access enabled */

/* --- tasks */
enum class Kind { kernel, copy, set, record, wait, host, collective };

/* Collective: runs, once, when each of `members` streams has it at its head; ranges of all are checked as one. */
struct Meeting {
    unsigned members = 0, arrived = 0;
    bool abandoned = false; /* aborted: members vanish from their streams */
};

struct Task {
    Kind kind = Kind::kernel;
    std::string name;             /* of a kernel: mangled */
    std::vector<Range> ranges;    /* that it touches; kernels of ours find theirs while they run */
    std::function<void()> run;    /* on the executor's thread; of a collective: only the last member's is called */
    std::shared_ptr<Meeting> meeting;
    int copy_kind = 0;            /* cudaMemcpyKind; peer copies: source device */
    int source_device = -1;
    uint64_t bytes = 0, correlation = 0;
    dim3 grid{1, 1, 1}, block{1, 1, 1};
    /* filled when it ran */
    int64_t start_ns = 0, end_ns = 0;
    int device = 0;
    uint32_t stream_id = 0, context_id = 0;
};

/* Appends to a stream (NULL: the legacy default stream of the current device); blocks while the stream is full, as a real
 * launch does.  Error: sticky one of the device, wrong device, destroyed stream. */
cudaError_t enqueue(cudaStream_t stream, Task task);
cudaError_t drain(cudaStream_t stream); /* waits for it, or returns the sticky error */
int current_device();
int stream_device(cudaStream_t);
uint32_t stream_id(cudaStream_t);
unsigned gpus();
/* Makes the stream's tasks until the meeting vanish: ncclCommAbort. */
void abandon(const std::shared_ptr<Meeting> &);

/* --- for the stand-in of CUPTI: told of every call and every finished task, under no lock of the emulator */
struct Sink {
    virtual void api(bool driver, const Call &, int64_t end_ns, int result) = 0;
    virtual void activity(const Task &) = 0;
    virtual ~Sink() = default;
};
void attach(Sink *); /* NULL: detach */

int64_t now_ns(); /* CLOCK_MONOTONIC */

} // namespace emu

#endif
