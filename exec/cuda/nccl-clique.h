/* exec/cuda/nccl-clique.h -- ranks that NCCL joins, and whether they sum right.  For nccl.c and nccl-clique.c
 * only. */
#ifndef EXEC_CUDA_NCCL_CLIQUE_H
#define EXEC_CUDA_NCCL_CLIQUE_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "exec/cuda/module.h"

/* One communicator a rank; all arrays are by rank and the caller's. */
struct clique {
    uint32_t n;
    const uint32_t *device;
    ncclComm_t *comms; /* NULL before joining, and after an abort */
    cudaStream_t *streams;
    float **buffers;  /* of a check */
    double timeout_s; /* how long a check waits for the streams; 0: for ever */
};

/* Names call, rank (OP_NONE: all) and device, and what NCCL said last.  False. */
bool nccl_fail(GError **, const char *call, ncclResult_t, uint32_t rank, uint32_t device);
/* Before the first call of NCCL: it would log to stdout. */
void nccl_quiet(void);

/* All of these change the current device.  After a failure some ranks may have joined. */
bool clique_join(const struct clique *, GError **);
void clique_abort(ncclComm_t *, uint32_t n);
void clique_destroy(ncclComm_t *, uint32_t n); /* the streams have come to rest */

/* One rank's call in place; kind is ALLREDUCE, of floats, or BROADCAST. */
ncclResult_t clique_call(unsigned kind, void *buffer, uint64_t bytes, uint32_t root, ncclComm_t,
                         cudaStream_t);
const char *clique_call_name(unsigned kind);
/* All ranks' calls, on their buffers, from one thread.  estimate: nothing runs, NCCL says how long it would
 * take, in us. */
bool clique_together(const struct clique *, unsigned kind, uint64_t bytes, ncclSimInfo_t *estimate,
                     GError **);
/* False: the communicator has failed. */
bool clique_poll(ncclComm_t, uint32_t rank, uint32_t device, GError **);
bool clique_wait(const struct clique *, GError **); /* for all streams */

bool clique_allocate(const struct clique *, uint64_t bytes, GError **); /* zeroed buffers */
/* After a failure: of streams that do not come to rest the buffers stay, for to free them would hang. */
bool clique_release(const struct clique *, GError **);
/* An all-reduce of known numbers, compared.  The buffers hold so many. */
bool clique_sum(const struct clique *, uint64_t elems, GError **);

#endif
