/* exec/comm.h -- gangs between ranks that are threads of this process.
 * A gang starts when its last member arrives and ends together; each member pulls what it receives from its
 * peer's memory: hops of exchanges, and a receiver from its sender.  Transfers are paced: a hop of b bytes
 * lasts at least alpha + b/beta from its start, by sleeping. */
#ifndef EXEC_COMM_H
#define EXEC_COMM_H

#include <stdatomic.h>

#include "kernels/kernels.h"
#include "plan/engine.h"

struct comm;
/* gbps and us both 0: raw memory.  `stop` becomes nonzero when the run is aborted.  NULL with the error set
 * if the plan holds a gang that cannot be run here. */
struct comm *comm_open(const struct plan *, const struct k_table *, double gbps, double us, atomic_int *stop,
                       GError **);
/* Runs one member of a gang.  mem as the op's accesses; ready_ns: when the member became ready (monotonic),
 * so that a chain of paced hops does not drift by the sleeps' lateness.  Returns the gang's end: that of the
 * pace, or of the last copy where that is later.  -1 if the run was stopped. */
int64_t comm_gang(struct comm *, uint32_t op, void *const *mem, int64_t ready_ns);
uint64_t comm_bytes(const struct plan *); /* what comm_open allocates */
void comm_abort(struct comm *);           /* sets `stop` and wakes every member; they return -1 */
void comm_close(struct comm *);           /* NULL is legal */

#endif
