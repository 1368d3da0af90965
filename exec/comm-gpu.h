/* exec/comm-gpu.h -- gangs between ranks on GPUs: NCCL where each has its own, our own copies otherwise.
 *
 * Every rank issues from its own thread, in the plan's sealed order.  A call queues the member's work on the stream of its
 * lane and returns; it may wait on the host for the peers' calls, never for a device.
 */
#ifndef EXEC_COMM_GPU_H
#define EXEC_COMM_GPU_H

#include <stdatomic.h>

#include "kernels/cuda.h"
#include "plan/engine.h"

/* What a gang's member runs on.  Streams are by lane. */
struct comm_gpu_spec {
    const struct plan *plan;
    struct k_cuda_stream *const *streams;
    const uint32_t *device;    /* by rank */
    double gbps, us;           /* pace of own copies; 0 and 0: none */
    atomic_int *stop;          /* becomes nonzero when everything is to be dropped */
};

/* comm-p2p.c: EXCHANGE, EXCHANGE_ADD, SEND, RECV, RECV_ADD, BROADCAST by copies, adds and events. */
struct comm_p2p;
struct comm_p2p *comm_p2p_open(const struct comm_gpu_spec *, GError **);
/* mem as the op's accesses.  False with the error set, or, when stopped, without. */
bool comm_p2p_gang(struct comm_p2p *, uint32_t op, uint32_t step, void *const *mem, GError **);
bool comm_p2p_check(struct comm_p2p *, GError **); /* before the first step: every pair of devices copies right */
void comm_p2p_abort(struct comm_p2p *);            /* wakes whoever waits for a peer; after *stop is set */
void comm_p2p_close(struct comm_p2p *);            /* NULL is legal */

/* comm-nccl.c: ALLREDUCE and BROADCAST, one communicator a comm lane. */
struct comm_nccl;
bool comm_nccl_probe(char **version, GError **); /* "NCCL 2.28.9"; g_free */
struct comm_nccl *comm_nccl_open(const struct comm_gpu_spec *, GError **); /* refuses two ranks on one GPU */
bool comm_nccl_gang(struct comm_nccl *, uint32_t op, void *const *mem, GError **);
bool comm_nccl_check(struct comm_nccl *, GError **); /* one all-reduce of known numbers */
bool comm_nccl_poll(struct comm_nccl *, GError **);  /* false: a communicator has failed; from the walker's thread */
int64_t comm_nccl_estimate_ns(struct comm_nccl *, uint64_t bytes); /* NCCL's own of an all-reduce; -1: it does not say */
void comm_nccl_abort(struct comm_nccl *);
void comm_nccl_close(struct comm_nccl *);

#endif
