/* tests/cuda-emulator/nccl-ranks.h -- inside the stand-in for libnccl: communicators of emulated GPUs in one process.
 *
 * Stricter than the real one: nothing is buffered, so a send ends only with its receive; operations whose kind, count,
 * type, operation or root differ between the members of a communicator are complained about and move nothing; and what a
 * communicator does for the first time, for which the real one connects ranks, must not be done while a collective
 * waits.  The sends and receives of one group become one task each, in an order that is the same for all ranks, so that
 * groups which match each other end as they do in one fused kernel.
 */
#ifndef EMULATOR_NCCL_RANKS_H
#define EMULATOR_NCCL_RANKS_H

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "emulator.h"

namespace nccl {

enum class Sort { all_reduce, reduce, broadcast, all_gather, transfer };
extern const char *const sorts[];

struct Member {
    const void *send = nullptr;
    void *receive = nullptr;
    bool here = false;
};

/* One collective of a communicator, or one transfer between two of its ranks: what its members said of it. */
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

struct Clique {
    int ranks, arrived = 0, left = 0;
    bool refused = false, aborted = false;
    std::vector<ncclComm *> comms;
    std::map<uint64_t, std::shared_ptr<Operation>> collectives; /* not yet issued by all */
    std::map<std::tuple<int, int, uint64_t>, std::shared_ptr<Operation>> transfers;
    std::vector<std::shared_ptr<emu::Meeting>> issued;
};

struct Issue { /* asked for, not yet on a stream */
    ncclComm *comm;
    cudaStream_t stream;
    Sort sort;
    const void *send;
    void *receive;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root; /* of a transfer: the peer */
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
extern thread_local Group group;
extern thread_local std::string last_error;
extern std::mutex lock; /* of all cliques */

/* nccl.cpp: sets the last error, and returns result. */
ncclResult_t refuse(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
ncclResult_t fault_of(const emu::Call &call); /* within a group the group fails */
#define BEGIN(name)                                                                                          \
    emu::Call call(name, emu::Layer::library);                                                               \
    if (call.fault)                                                                                          \
        return fault_of(call);

/* nccl-move.cpp: what an operation does, once all its members have come. */
size_t type_bytes(ncclDataType_t);
void perform(const Operation &);

/* nccl-issue.cpp */
ncclResult_t ask(const emu::Call &, const Issue &);  /* queues it, or adds it to the group */
ncclResult_t issue_all(std::vector<Issue> &&issues); /* those of a group */

/* nccl-join.cpp: waits until every rank of every communicator is there; a communicator is then given out, or none is. */
ncclResult_t join_all(std::vector<Joining> joining);
void leave(ncclComm *);

} // namespace nccl

struct ncclComm {
    std::shared_ptr<nccl::Clique> clique;
    int rank, ranks, device;
    unsigned ctas;                                 /* that a kernel takes */
    uint64_t sequence = 0;                         /* of its collectives */
    std::map<std::pair<int, int>, uint64_t> moved; /* transfers by (from, to) */
    std::set<std::tuple<nccl::Sort, bool, size_t>> known; /* that it has done: sends, and peer or bytes */
    ncclResult_t asynchronous = ncclSuccess;
};

#endif
