/* exec/cuda/comm.h -- gangs between ranks on GPUs: NCCL where each has its own, our own copies otherwise.
 *
 * Every rank issues from its own thread, in the plan's sealed order, with its device current.  A call queues
 * the member's work on the stream of its lane and returns; it may wait on the host for the peers' calls,
 * never for a device.  Open, check and close come from one thread while no rank issues, and leave the current
 * device as it was.  Nothing is allocated between check and close.
 */
#ifndef EXEC_CUDA_COMM_H
#define EXEC_CUDA_COMM_H

#include <stdatomic.h>

#include "kernels/cuda.h"
#include "plan/engine.h"

/* What a gang's member runs on. */
struct comm_gpu_spec {
    const struct plan *plan;
    struct k_cuda_stream *const *streams; /* by lane; of lanes without gangs unused */
    const uint32_t *device;               /* by rank: number of its GPU */
    double gbps, us;                      /* pace of own copies, as comm.h; 0 and 0: none */
    double timeout_s;                     /* of each first gang; 0: none */
    atomic_int *stop;                     /* becomes nonzero when everything is to be dropped */
    atomic_uint *stages;                  /* counts what is done while opening and checking; may be NULL */
};

/* p2p.c: EXCHANGE, EXCHANGE_ADD, SEND, RECV, RECV_ADD, BROADCAST by copies, adds and events, whatever
 * devices the ranks are on.  A gang starts when its last member has come to it and ends together. */
struct comm_p2p;
/* Gangs that are NCCL's are left alone.  Refuses what it cannot run.  The spec is copied,
 * not what it points to. */
struct comm_p2p *comm_p2p_open(const struct comm_gpu_spec *, GError **);
/* mem as the op's accesses.  False with the error set (then the caller stops everybody), or, when stopped,
 * without. */
bool comm_p2p_gang(struct comm_p2p *, uint32_t op, void *const *mem, GError **);
/* Before the first step: from each device to each, itself too, known numbers are copied and added, and
 * compared.  This also makes every pair's first copy happen before a step needs it. */
bool comm_p2p_check(struct comm_p2p *, GError **);
/* After *stop is set: wakes whoever waits for a peer.  From any thread. */
void comm_p2p_abort(struct comm_p2p *);
void comm_p2p_close(struct comm_p2p *); /* NULL is legal; the streams have come to rest */

/* nccl*.c: REDUCE, SCATTER, GATHER, ALLGATHER and ALLREDUCE, which own copies know as hops only; and, where
 * each rank has a GPU of its own, BROADCAST and SEND with RECV that are no hop of anything.  Ranks whose
 * lanes meet in a gang have a communicator for these lanes: a channel of a pipeline one of its own, on which
 * both ends' operations come in one order, the plan's.  A group of calls a member, so that it is one kernel,
 * of one operation. */
struct comm_nccl;
char *comm_nccl_version(GError **); /* "2.28.9", of the library that is there; g_free; needs no driver */
/* By gang: whether it is NCCL's, with ranks on these devices; g_free. */
bool *comm_nccl_gangs(const struct plan *, const uint32_t *device);
bool comm_nccl_wanted(const struct plan *, const uint32_t *device); /* whether any is */
/* Whether NCCL can join ranks on these devices: one each, and no launch that waits for its kernel.
 * ENGINE_ERROR_UNAVAILABLE; calls nothing of NCCL. */
bool comm_nccl_allows(const uint32_t *device, uint32_t n_ranks, GError **);
struct comm_nccl *comm_nccl_open(const struct comm_gpu_spec *, GError **);
bool comm_nccl_has(const struct comm_nccl *, uint32_t gang);
/* As comm_p2p_gang. */
bool comm_nccl_gang(struct comm_nccl *, uint32_t op, void *const *mem, GError **);
/* Before the first step: one gang of every size that each communicator will see, then, of each kind, the
 * largest with known numbers, compared.  What NCCL connects and loads for these it does here.  mem: of the
 * plan's accesses, what they hold is lost. */
bool comm_nccl_check(struct comm_nccl *, void *const *mem, GError **);
/* False: a communicator has failed.  From the walker's thread. */
bool comm_nccl_poll(struct comm_nccl *, GError **);
/* After check: NCCL's own estimate of each bucket's all-reduce becomes a fact of the trace, where it gives
 * one. */
struct trace;
void comm_nccl_facts(const struct comm_nccl *, struct trace *);
/* After *stop is set: makes the devices drop what waits in collectives.  False: a rank's thread does not come
 * back from a call of NCCL, and the process must end at once. */
bool comm_nccl_abort(struct comm_nccl *);
/* NULL is legal; the streams have come to rest, or it was aborted. */
void comm_nccl_close(struct comm_nccl *);
/* For doctor: an all-reduce of known numbers over devices 0 .. n-1. */
bool comm_nccl_try(uint32_t n_devices, GError **);

#endif
