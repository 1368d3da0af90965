/* exec/cuda/nccl-clique.h -- ranks that NCCL joins, what they do from one thread, and whether it comes out
 * right.  For nccl*.c only. */
#ifndef EXEC_CUDA_NCCL_CLIQUE_H
#define EXEC_CUDA_NCCL_CLIQUE_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "exec/cuda/module.h"
#include "exec/cuda/nccl-gang.h"

/* One communicator a member; all arrays are by member, in rank order, and the caller's. */
struct clique {
    uint32_t n;
    uint32_t *rank, *device;
    ncclComm_t *comms; /* NULL before joining, and after an abort */
    cudaStream_t *streams;
    int max_ctas; /* of the GPU's multiprocessors, that one of its kernels may take; 0: as NCCL thinks */
};

/* Names call, rank (OP_NONE: all) and device, and what NCCL said last.  False. */
bool nccl_fail(GError **, const char *call, ncclResult_t, uint32_t rank, uint32_t device);
/* Before the first call of NCCL: it would log to stdout. */
void nccl_quiet(void);

/* All of these change the current device.  After a failure some members may have joined. */
bool clique_join(const struct clique *, GError **);
void clique_abort(const struct clique *);
void clique_destroy(const struct clique *); /* the streams have come to rest */
/* False: a communicator has failed. */
bool clique_poll(const struct clique *, GError **);

/* All members' parts of a gang in one group, and waits for them, at most timeout_s, unless that is 0. */
bool clique_run(const struct clique *, const struct gang_part *parts, double timeout_s, GError **);
/* How long NCCL itself thinks that it takes, in ns; -1: it does not say. */
int64_t clique_estimate(const struct clique *, const struct gang_part *parts);
/* nccl-check.c: the same with known numbers, compared. */
bool clique_prove(const struct clique *, const struct gang_part *parts, double timeout_s, GError **);

#endif
