// tests/cuda-emulator/nccl-join.cpp -- NCCL's communicators: how ranks join, leave and are thrown out.
#include "nccl-ranks.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nccl {

std::mutex lock;

namespace {

constexpr unsigned CTAS = 32; // of a kernel where nobody says; those of a real one depend on what it moves
constexpr int CTAS_MAX = 64;

std::condition_variable changed;
std::map<std::string, std::shared_ptr<Clique>> cliques; // by unique id
std::atomic<int> live;

// At the end, before the emulator's own: registered after it.
void count_communicators()
{
    if (live != 0 && !emu::option("NO_LEAKS"))
        emu::complain("leak: %d communicators of NCCL were not destroyed", live.load());
}

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

} // namespace

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

namespace {

ncclResult_t init(const char *name, ncclComm_t *out, int ranks, const ncclUniqueId &id, int rank,
                  unsigned ctas = CTAS)
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
    ncclComm *c = new ncclComm{q, rank, ranks, emu::current_device(), ctas, 0, {}, {}, ncclSuccess};
    [[maybe_unused]] static const int registered = atexit(count_communicators);
    live++;
    guard.unlock();
    if (group.depth) {
        group.joining.push_back({out, c});
        return ncclSuccess;
    }
    return join_all({{out, c}});
}

} // namespace
} // namespace nccl

using namespace nccl;

#pragma GCC visibility push(default)
extern "C" {

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
    const int ctas = config && config->maxCTAs != INT_MIN ? config->maxCTAs : int(CTAS);
    if (ctas < 1 || ctas > CTAS_MAX)
        return refuse(ncclInvalidArgument, "Invalid config maxCTAs attribute value %d", ctas);
    return init("ncclCommInitRankConfig", comm, ranks, id, rank, unsigned(ctas));
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

} // extern "C"
