// tests/cuda-emulator/nccl-issue.cpp -- from calls of NCCL to tasks on streams.
#include "nccl-ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nccl {

const char *const sorts[] = {"AllReduce", "Reduce", "Broadcast", "AllGather", "SendRecv"};
thread_local Group group;

namespace {

std::string kernel_name(const Issue &i)
{
    std::string name = "ncclDevKernel_";
    switch (i.sort) {
    case Sort::transfer:
        name += "SendRecv";
        break;
    case Sort::broadcast:
    case Sort::all_gather:
        name += std::string(sorts[int(i.sort)]) + "_RING_LL";
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

// What the rank touches: of an all-gather its own part of what is received is what it sends.
std::vector<emu::Range> ranges_of(const Issue &i, size_t bytes)
{
    std::vector<emu::Range> ranges;
    if (reads(i))
        ranges.push_back({i.send, bytes, false});
    if (writes(i))
        ranges.push_back({i.receive, i.sort == Sort::all_gather ? bytes * size_t(i.comm->ranks) : bytes, true});
    return ranges;
}

// Whether the communicator has not done it yet: NCCL then connects it to the peers, and its call waits for theirs.
bool is_first(const Issue &i)
{
    const bool transfer = i.sort == Sort::transfer;
    const size_t what = transfer ? size_t(i.root) : i.count * type_bytes(i.type);
    return i.comm->ranks > 1 && i.comm->known.insert({i.sort, transfer && i.send, what}).second;
}

void connect(const std::vector<Issue> &issues)
{
    const Issue *first = nullptr;
    for (const Issue &i : issues)
        if (is_first(i) && !first)
            first = &i;
    if (first)
        emu::implicit_sync((std::string("the first ") + sorts[int(first->sort)] + " of its size").c_str());
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
    task.ranges = ranges_of(i, bytes);
    task.bytes = bytes;
    task.grid = dim3(i.comm->ctas);
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

} // namespace

ncclResult_t issue_all(std::vector<Issue> &&issues)
{
    ncclResult_t result = ncclSuccess;
    marry_selves(issues);
    arrange(issues);
    connect(issues);
    for (const Issue &i : issues)
        if (result == ncclSuccess)
            result = issue(i);
    return result;
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
                         ((i.sort == Sort::all_reduce || i.sort == Sort::all_gather) && !i.receive)))
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
    connect({i});
    return issue(i);
}

} // namespace nccl
