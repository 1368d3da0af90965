// tests/cuda-emulator/nccl.cpp -- libnccl: communicators of emulated GPUs in one process.
//
// Stricter than the real one: nothing is buffered, so a send ends only with its receive; collectives whose
// kind, count, type, operation or root differ between the ranks of a communicator are complained about and
// move nothing.  The sends and receives of one group become one task each, in an order that is the same for
// all ranks, so that groups which match each other end as they do in one fused kernel.
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "emulator.h"

namespace
{

enum class Sort { all_reduce, reduce, broadcast, transfer };
const char *const sorts[] = {"AllReduce", "Reduce", "Broadcast", "SendRecv"};

struct Member {
    const void *send = nullptr;
    void *receive = nullptr;
    bool here = false;
};

// One collective of a communicator, or one transfer between two of its ranks: what its members said of it.
struct Operation {
    Sort sort;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;
    std::vector<Member> members;
    bool broken = false;
    std::shared_ptr<emu::Meeting> meeting;
};

struct Clique;
std::mutex lock;
std::condition_variable changed;
std::map<std::string, std::shared_ptr<Clique>> cliques; // by unique id
std::atomic<int> live;
thread_local std::string last_error;

// At the end, before the emulator's own: registered after it.
void count_communicators()
{
    if (live != 0 && !emu::option("NO_LEAKS"))
        emu::complain("leak: %d communicators of NCCL were not destroyed", live.load());
}

} // namespace

struct ncclComm {
    std::shared_ptr<Clique> clique;
    int rank, ranks, device;
    uint64_t sequence = 0;                         // of its collectives
    std::map<std::pair<int, int>, uint64_t> moved; // transfers by (from, to)
    ncclResult_t asynchronous = ncclSuccess;
};

namespace
{

struct Clique {
    int ranks, arrived = 0, left = 0;
    bool refused = false, aborted = false;
    std::vector<ncclComm *> comms;
    std::map<uint64_t, std::shared_ptr<Operation>> collectives; // not yet issued by all
    std::map<std::tuple<int, int, uint64_t>, std::shared_ptr<Operation>> transfers;
    std::vector<std::shared_ptr<emu::Meeting>> issued;
};

struct Issue { // asked for, not yet on a stream
    ncclComm *comm;
    cudaStream_t stream;
    Sort sort;
    const void *send;
    void *receive;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root; // of a transfer: the peer
};

struct Joining {
    ncclComm_t *out;
    ncclComm *comm;
};

struct Group {
    int depth = 0;
    ncclResult_t failed = ncclSuccess;
    std::vector<Issue> issues;
    std::vector<Joining> joining;
};
thread_local Group group;

size_t type_bytes(ncclDataType_t type)
{
    static const size_t bytes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return bytes[type];
}

ncclResult_t refuse(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
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

// --- what moves

template <class T> T combine(ncclRedOp_t op, T a, T b)
{
    switch (op) {
    case ncclProd:
        return T(a * b);
    case ncclMax:
        return std::max(a, b);
    case ncclMin:
        return std::min(a, b);
    default:
        return T(a + b);
    }
}

template <class T> void reduce(const Operation &o)
{
    std::vector<T> sum(o.count);
    for (size_t r = 0; r < o.members.size(); r++) {
        const T *from = static_cast<const T *>(o.members[r].send);
        for (size_t i = 0; i < o.count; i++)
            sum[i] = r ? combine(o.op, sum[i], from[i]) : from[i];
    }
    if (o.op == ncclAvg)
        for (T &x : sum)
            x = T(x / T(o.members.size()));
    for (size_t r = 0; r < o.members.size(); r++)
        if (o.sort == Sort::all_reduce || int(r) == o.root)
            std::copy(sum.begin(), sum.end(), static_cast<T *>(o.members[r].receive));
}

void perform(const Operation &o)
{
    if (o.broken)
        return;
    if (o.sort == Sort::transfer) {
        memmove(o.members[1].receive, o.members[0].send, o.count * type_bytes(o.type));
    } else if (o.sort == Sort::broadcast) {
        for (const Member &m : o.members)
            if (m.receive != o.members[size_t(o.root)].send)
                memmove(m.receive, o.members[size_t(o.root)].send, o.count * type_bytes(o.type));
    } else {
        switch (o.type) {
        case ncclInt32:
            return reduce<int32_t>(o);
        case ncclUint32:
            return reduce<uint32_t>(o);
        case ncclInt64:
            return reduce<int64_t>(o);
        case ncclUint64:
            return reduce<uint64_t>(o);
        case ncclFloat32:
            return reduce<float>(o);
        case ncclFloat64:
            return reduce<double>(o);
        default:
            emu::complain("nccl: reductions of type %d are not emulated", int(o.type));
        }
    }
}

// --- issuing

std::string kernel_name(const Issue &i)
{
    std::string name = "ncclDevKernel_";
    switch (i.sort) {
    case Sort::transfer:
        name += "SendRecv";
        break;
    case Sort::broadcast:
        name += "Broadcast_RING_LL";
        break;
    default:
        name += std::string(sorts[int(i.sort)]) + "_Sum_" +
                (i.type == ncclFloat64   ? "f64"
                 : i.type == ncclFloat32 ? "f32"
                                         : "u32") +
                "_RING_LL";
    }
    return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
}

// The operation that this call is a part of.  Under the lock.
std::shared_ptr<Operation> join(const Issue &i)
{
    ncclComm *c = i.comm;
    bool transfer = i.sort == Sort::transfer, sends = i.send != nullptr;
    int from = sends ? c->rank : i.root, to = sends ? i.root : c->rank;
    // A transfer is counted by each side for itself.
    uint64_t sequence = transfer ? c->moved[{from, to}]++ : c->sequence++;
    auto &slot = transfer ? c->clique->transfers[{from, to, sequence}] : c->clique->collectives[sequence];
    if (!slot) {
        slot = std::make_shared<Operation>(
            Operation{i.sort, i.count, i.type, i.op, transfer ? 0 : i.root, {}, false, {}});
        slot->members.resize(transfer ? 2 : size_t(c->ranks));
        slot->meeting = std::make_shared<emu::Meeting>();
        slot->meeting->members = unsigned(slot->members.size());
        c->clique->issued.push_back(slot->meeting);
    }
    std::shared_ptr<Operation> o = slot;
    if (o->sort != i.sort || o->count != i.count || o->type != i.type || o->op != i.op ||
        (!transfer && o->root != i.root)) {
        if (!o->broken)
            emu::complain("nccl: rank %d issues %s of %zu (type %d, operation %d, root %d) where another "
                          "issued %s of %zu "
                          "(type %d, operation %d, root %d)",
                          c->rank, sorts[int(i.sort)], i.count, int(i.type), int(i.op), i.root,
                          sorts[int(o->sort)], o->count, int(o->type), int(o->op), o->root);
        o->broken = true;
    }
    Member &m = o->members[transfer ? (sends ? 0 : 1) : size_t(c->rank)];
    m = {i.send, i.receive, true};
    if (std::all_of(o->members.begin(), o->members.end(), [](const Member &x) { return x.here; })) {
        if (transfer)
            c->clique->transfers.erase({from, to, sequence});
        else
            c->clique->collectives.erase(sequence);
    }
    return o;
}

std::shared_ptr<Operation> with_itself(const Issue &i)
{
    auto o = std::make_shared<Operation>(Operation{i.sort, i.count, i.type, i.op, 0, {}, false, {}});
    o->members = {{i.send, nullptr, true}, {nullptr, i.receive, true}};
    o->meeting = std::make_shared<emu::Meeting>();
    o->meeting->members = 1;
    return o;
}

bool reads(const Issue &i)
{
    return i.send && (i.sort != Sort::broadcast || i.comm->rank == i.root);
}

bool writes(const Issue &i)
{
    return i.receive && (i.sort != Sort::reduce || i.comm->rank == i.root);
}

// What one rank alone would do: nothing in place, else a copy.
ncclResult_t issue_alone(const Issue &i)
{
    if (i.send == i.receive)
        return ncclSuccess;
    size_t bytes = i.count * type_bytes(i.type);
    emu::Task task;
    task.kind = emu::Kind::copy;
    task.ranges = {{i.send, bytes, false}, {i.receive, bytes, true}};
    task.copy_kind = cudaMemcpyDeviceToDevice;
    task.bytes = bytes;
    task.run = [i, bytes] { memmove(i.receive, i.send, bytes); };
    emu::Call copy("cudaMemcpyAsync");
    copy.result = emu::enqueue(i.stream, std::move(task));
    return copy.result == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t issue(const Issue &i)
{
    if (i.comm->ranks == 1 && i.sort != Sort::transfer)
        return issue_alone(i);
    size_t bytes = i.count * type_bytes(i.type);
    emu::Task task;
    task.kind = emu::Kind::collective;
    task.name = kernel_name(i);
    if (reads(i))
        task.ranges.push_back({i.send, bytes, false});
    if (writes(i))
        task.ranges.push_back({i.receive, bytes, true});
    task.bytes = bytes;
    task.block = dim3(544);
    std::shared_ptr<Operation> o;
    {
        std::lock_guard guard(lock);
        if (i.comm->clique->aborted)
            return ncclSuccess;
        o = i.sort == Sort::transfer && i.send && i.receive ? with_itself(i) : join(i);
    }
    task.meeting = o->meeting;
    task.run = [o] { perform(*o); };
    emu::Call launch("cuLaunchKernelEx", emu::Layer::driver);
    cudaError_t error = emu::enqueue(i.stream, std::move(task));
    launch.result = error;
    return error == cudaSuccess ? ncclSuccess
                                : refuse(ncclUnhandledCudaError, "Cuda failure %d '%s'", int(error),
                                         cudaGetErrorString(error));
}

// A group's send to its own rank and the receive of it are one kernel: what is received knows its sender.
void marry_selves(std::vector<Issue> &issues)
{
    auto own = [](const Issue &i) { return i.sort == Sort::transfer && i.root == i.comm->rank; };
    for (Issue &to : issues) {
        if (!own(to) || !to.receive || to.send)
            continue;
        auto from = std::find_if(issues.begin(), issues.end(), [&](const Issue &i) {
            return own(i) && !i.receive && i.comm == to.comm && i.stream == to.stream && i.count == to.count &&
                   i.type == to.type;
        });
        if (from != issues.end())
            to.send = std::exchange(from->send, nullptr);
    }
    std::erase_if(issues, [](const Issue &i) { return !i.send && !i.receive; });
}

// The order in which a group's transfers stand in their stream: the same on every rank.
void arrange(std::vector<Issue> &issues)
{
    auto key = [](const Issue &i) {
        int from = i.send ? i.comm->rank : i.root, to = i.send ? i.root : i.comm->rank;
        return std::pair(from, to);
    };
    std::stable_sort(issues.begin(), issues.end(), [&](const Issue &a, const Issue &b) {
        return a.sort == Sort::transfer && b.sort == Sort::transfer && a.comm->clique == b.comm->clique &&
               key(a) < key(b);
    });
}

ncclResult_t ask(const emu::Call &call, const Issue &i)
{
    ncclResult_t result = ncclSuccess;
    if (call.fault)
        result = refuse(ncclResult_t(call.fault), "%s: emulated fault", call.name);
    else if (!i.comm)
        result = refuse(ncclInvalidArgument, "%s : comm argument is NULL", call.name);
    else if (i.type < 0 || i.type >= ncclNumTypes || i.op < 0 || i.op >= ncclNumOps)
        result = refuse(ncclInvalidArgument, "%s : invalid type %d or operation %d", call.name, int(i.type),
                        int(i.op));
    else if (i.root < 0 || i.root >= i.comm->ranks)
        result = refuse(ncclInvalidArgument, "%s : invalid root %d (root should be in the 0..%d range)",
                        call.name, i.root, i.comm->ranks);
    else if (i.count && ((i.sort == Sort::transfer ? !i.send && !i.receive : !i.send) ||
                         (i.sort == Sort::all_reduce && !i.receive)))
        result = refuse(ncclInvalidArgument, "%s : a buffer is NULL", call.name);
    else if (emu::stream_device(i.stream) != i.comm->device)
        result = refuse(ncclInvalidArgument, "%s : the stream is of device %d, the communicator of %d",
                        call.name, emu::stream_device(i.stream), i.comm->device);
    if (result != ncclSuccess) {
        group.failed = group.depth && group.failed == ncclSuccess ? result : group.failed;
        return result;
    }
    if (i.count == 0)
        return ncclSuccess;
    if (group.depth) {
        group.issues.push_back(i);
        return ncclSuccess;
    }
    return issue(i);
}

// --- communicators

bool same_device(const Clique &q)
{
    for (size_t i = 0; i < q.comms.size(); i++)
        for (size_t j = 0; j < i; j++)
            if (q.comms[i] && q.comms[j] && q.comms[i]->device == q.comms[j]->device) {
                refuse(ncclInvalidUsage,
                       "Duplicate GPU detected : rank %zu and rank %zu both on CUDA device %x", j, i,
                       0x1000 * (unsigned(q.comms[i]->device) + 1));
                return true;
            }
    return false;
}

void leave(ncclComm *c)
{
    std::lock_guard guard(lock);
    Clique &q = *c->clique;
    q.comms[size_t(c->rank)] = nullptr;
    if (++q.left == q.ranks)
        std::erase_if(cliques, [&](const auto &entry) { return entry.second.get() == &q; });
    live--;
    delete c;
}

// Waits until every rank of every communicator is there; a communicator is then given out, or none is.
ncclResult_t join_all(std::vector<Joining> joining)
{
    ncclResult_t result = ncclSuccess;
    std::unique_lock guard(lock);
    for (Joining &j : joining) {
        j.comm->clique->arrived++;
        j.comm->clique->comms[size_t(j.comm->rank)] = j.comm;
    }
    changed.notify_all();
    for (Joining &j : joining) {
        Clique &q = *j.comm->clique;
        changed.wait(guard, [&] { return q.arrived >= q.ranks || q.aborted; });
        if (q.aborted || q.refused || same_device(q)) {
            q.refused = true;
            result = q.aborted ? ncclSystemError : refuse(ncclInvalidUsage, "Duplicate GPU detected");
        }
    }
    guard.unlock();
    for (Joining &j : joining) {
        if (j.comm->clique->refused || j.comm->clique->aborted)
            leave(j.comm);
        else
            *j.out = j.comm;
    }
    return result;
}

ncclResult_t init(const char *name, ncclComm_t *out, int ranks, const ncclUniqueId &id, int rank)
{
    if (!out)
        return refuse(ncclInvalidArgument, "%s : comm argument is NULL", name);
    *out = nullptr;
    if (ranks < 1 || rank < 0 || rank >= ranks)
        return refuse(ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, ranks);
    if (emu::gpus() == 0)
        return refuse(ncclUnhandledCudaError, "Cuda failure 'no CUDA-capable device is detected'");
    std::unique_lock guard(lock);
    std::shared_ptr<Clique> &q = cliques[std::string(id.internal, sizeof id.internal)];
    if (!q) {
        q = std::make_shared<Clique>();
        q->ranks = ranks;
        q->comms.resize(size_t(ranks));
    }
    if (q->ranks != ranks)
        return refuse(ncclInvalidUsage, "%s : %d ranks, another member said %d", name, ranks, q->ranks);
    emu::implicit_sync(name);
    ncclComm *c = new ncclComm{q, rank, ranks, emu::current_device(), 0, {}, ncclSuccess};
    [[maybe_unused]] static const int registered = atexit(count_communicators);
    live++;
    guard.unlock();
    if (group.depth) {
        group.joining.push_back({out, c});
        return ncclSuccess;
    }
    return join_all({{out, c}});
}

void fail_group()
{
    for (Joining &j : group.joining)
        leave(j.comm);
    group.joining.clear();
    group.issues.clear();
}

// Within a group the group fails.
ncclResult_t fault_of(const emu::Call &call)
{
    ncclResult_t result = refuse(ncclResult_t(call.fault), "%s: emulated fault", call.name);
    if (group.depth)
        group.failed = result;
    return result;
}

} // namespace

#pragma GCC visibility push(default)
extern "C" {

#define BEGIN(name)                                                                                          \
    emu::Call call(name, emu::Layer::library);                                                               \
    if (call.fault)                                                                                          \
        return fault_of(call);

ncclResult_t ncclGetVersion(int *version)
{
    BEGIN("ncclGetVersion")
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    BEGIN("ncclGetUniqueId")
    static std::atomic<uint64_t> next;
    uint64_t n = ++next;
    memset(id->internal, 0, sizeof id->internal);
    memcpy(id->internal, &n, sizeof n);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    BEGIN("ncclCommInitRankConfig")
    if (config && config->magic != 0xcafebeef)
        return refuse(ncclInvalidArgument,
                      "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
    if (config && config->blocking == 0)
        emu::complain("nccl: only blocking communicators are emulated");
    return init("ncclCommInitRankConfig", comm, ranks, id, rank);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    BEGIN("ncclCommInitRank")
    return init("ncclCommInitRank", comm, ranks, id, rank);
}

// A GPU twice: refused without a word, as 2.28.9 does.
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    BEGIN("ncclCommInitAll")
    if (!comms || n < 1)
        return ncclInvalidArgument;
    if (n > int(emu::gpus()))
        return refuse(ncclUnhandledCudaError, "Cuda failure 'invalid device ordinal'");
    for (int i = 0; devices && i < n; i++)
        for (int j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return ncclInvalidUsage;
    int before = emu::current_device();
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int i = 0; i < n; i++) {
        cudaSetDevice(devices ? devices[i] : i);
        ncclResult_t result = init("ncclCommInitAll", &comms[i], n, id, i);
        if (result != ncclSuccess)
            group.failed = result;
    }
    cudaSetDevice(before);
    return ncclGroupEnd();
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    BEGIN("ncclCommFinalize")
    return comm ? ncclSuccess : refuse(ncclInvalidArgument, "CommFinalize : comm argument is NULL");
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    emu::Call call("ncclCommDestroy", emu::Layer::library);
    if (!comm)
        return ncclSuccess;
    {
        std::lock_guard guard(lock);
        if (!comm->clique->aborted &&
            (!comm->clique->collectives.empty() || !comm->clique->transfers.empty()))
            emu::complain("nccl: rank %d is destroyed while an operation waits for its peers", comm->rank);
    }
    leave(comm);
    return ncclResult_t(call.fault);
}

// Ends what waits on every member's stream, and members that wait for others to join.
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    emu::Call call("ncclCommAbort", emu::Layer::library);
    if (!comm)
        return ncclSuccess;
    std::vector<std::shared_ptr<emu::Meeting>> issued;
    {
        std::lock_guard guard(lock);
        comm->clique->aborted = true;
        issued.swap(comm->clique->issued);
        changed.notify_all();
    }
    for (auto &meeting : issued)
        emu::abandon(meeting);
    leave(comm);
    return ncclResult_t(call.fault);
}

// EMULATOR_NCCL_ASYNC=K:ERROR: the K-th question and all after it are answered with that.
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    BEGIN("ncclCommGetAsyncError")
    if (!comm)
        return refuse(ncclInvalidArgument, "CommGetAsyncError : comm argument is NULL");
    static std::atomic<int> asked;
    const char *spec = emu::option("NCCL_ASYNC");
    int k, what;
    if (spec && sscanf(spec, "%d:%d", &k, &what) == 2 && ++asked >= k)
        comm->asynchronous = ncclResult_t(what);
    *error = comm->asynchronous;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    BEGIN("ncclCommCount")
    *count = comm->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    BEGIN("ncclCommCuDevice")
    *device = comm->device;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    BEGIN("ncclCommUserRank")
    *rank = comm->rank;
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
    marry_selves(issues);
    arrange(issues);
    for (const Issue &i : issues)
        if (result == ncclSuccess)
            result = issue(i);
    return result;
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
