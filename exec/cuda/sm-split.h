/* exec/cuda/sm-split.h -- the multiprocessors of one GPU, cut into equal shares: green contexts, where the
 * driver has them. */
#ifndef EXEC_CUDA_SM_SPLIT_H
#define EXEC_CUDA_SM_SPLIT_H

#include <cuda_runtime_api.h>
#include <stdint.h>

struct sm_split;

/* Cuts the device, which is current and has its context.  NULL where that is not possible. */
struct sm_split *sm_split_open(uint32_t device, uint32_t parts);
/* A stream that does not block, whose kernels run in that part alone; cudaStreamDestroy before close. */
int sm_split_stream(const struct sm_split *, uint32_t part, int priority, cudaStream_t *);
void sm_split_count(const struct sm_split *, uint32_t *a_part, uint32_t *of);
void sm_split_close(struct sm_split *); /* NULL is legal */

#endif
