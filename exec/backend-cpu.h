/* exec/backend-cpu.h -- lanes as threads of this process, a rank's values in one arena. */
#ifndef EXEC_BACKEND_CPU_H
#define EXEC_BACKEND_CPU_H

#include "exec/backend.h"

extern const struct backend_ops backend_cpu;

/* Bytes that running allocates beside the arenas: queues, stacks, pointers, the BLAS's buffers. */
uint64_t cpu_extra_bytes(const struct plan *, const struct model *);

/* PARPROF_JITTER=SEED: before each op on each lane a random delay, some of them none, so that what is not
 * ordered shows as a wrong number.  *on is false if it is not set; a value that is no seed is an error. */
bool cpu_jitter(bool *on, uint64_t *seed, GError **);

#endif
