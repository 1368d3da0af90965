/* profile/profiler-gangs.h -- which collectives of a job's ranks belong together. */
#ifndef PROFILE_PROFILER_GANGS_H
#define PROFILE_PROFILER_GANGS_H

#include "plan/op.h"
#include "profile/profiler-events.h"

/* An event of a device that was found to be of a step. */
struct profiler_work {
    const struct profiler_event *event;
    uint32_t rank, step, lane, op, coll, gang; /* step: as the profiler counts, then as the trace does */
    uint8_t kind;                              /* enum op_kind */
};

/* Sets coll, and gang where they belong together, of what communicates among `work` (struct profiler_work),
 * which is of steps from 0 and of n_ranks ranks: the k-th collective of a rank in a step is the k-th of every
 * rank if they are as many, of the same kinds, and end together.  False: of some step they are not known to.
 */
bool profiler_gangs(GArray *work, uint32_t n_ranks);

#endif
