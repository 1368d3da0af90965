/* exec/cuda/nccl-gang.h -- what a gang is in calls of NCCL.  For nccl*.c only. */
#ifndef EXEC_CUDA_NCCL_GANG_H
#define EXEC_CUDA_NCCL_GANG_H

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "exec/cuda/comm.h"

/* A member's part of a gang: its op's accesses, in the order of plan.h. */
struct gang_part {
    uint8_t kind;
    bool row; /* of an ALLGATHER: at every member the pieces are equal and lie one behind the other */
    uint32_t member, n; /* which of how many, in rank order, as the communicator counts them */
    uint32_t n_pieces;
    void *const *mem;
    const uint64_t *bytes; /* by piece */
};

/* mem and bytes: of the op's accesses. */
struct gang_part gang_part_of(const struct plan *, uint32_t op, void *const *mem, const uint64_t *bytes);
/* One group of calls, one kernel therefore; which call has failed, or "ncclGroupEnd". */
ncclResult_t gang_part_issue(const struct gang_part *, ncclComm_t, cudaStream_t, const char **call);
/* The calls without their group. */
ncclResult_t gang_part_calls(const struct gang_part *, ncclComm_t, cudaStream_t, const char **call);

/* Piece `piece` of the part receives piece *from_piece of member *from; or, where *from is OP_NONE, the sum
 * of all members' piece of that number.  False: it receives nothing. */
bool gang_part_receives(const struct gang_part *, uint32_t piece, uint32_t *from, uint32_t *from_piece);

/* Whether two gangs are the same calls of the same sizes. */
bool gangs_alike(const struct plan *, uint32_t a, uint32_t b);

#endif
