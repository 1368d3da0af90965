/* exec/host.h -- what this machine offers: CPUs to pin to, memory that is left. */
#ifndef EXEC_HOST_H
#define EXEC_HOST_H

#include "plan/plan.h"

/* Ids of the CPUs that this thread may run on: one of each core first, then the cores' further hardware
 * threads. Caller frees. */
int *host_cpus(uint32_t *n);

/* The CPU that each lane of the plan gets, -1: any.  With enough CPUs each compute lane has its own and, if
 * there are enough still, each comm lane too; otherwise comm shares the compute lane's of its rank, as copy
 * and host lanes always do.  With fewer CPUs than compute lanes nothing is pinned. */
void host_place(const struct plan *, const int *cpus, uint32_t n_cpus, int *cpu_of_lane);

/* Bytes that can be allocated now without swapping: what the kernel holds available, or less where a control
 * group limits us.  UINT64_MAX if nobody says. */
uint64_t host_memory_available(void);

/* What the limit on this process's address space (ulimit -v) leaves; UINT64_MAX without one. */
uint64_t host_address_space_left(void);

#endif
