/* sim/sim.h -- predicts a plan's timeline.
 * Each op starts when its dependencies, its lane and, in a gang, every member are ready; a gang ends together.
 * A sweep over the sealed order, or, where ops compete for more than that, an event loop; integer nanoseconds. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "plan/engine.h"
#include "plan/plan.h"
#include "sim/sharing.h"

extern const struct engine sim_engine; /* one step: replays of a step are joined, so all are alike */

/* The step's length alone, without a trace.  False with the error, as sim_engine.run. */
bool sim_step_ns(const struct run *, int64_t *step_ns, GError **);

/* The sweep alone, for what-if loops.  Prepared once from a sealed plan, timed as often as costs change. */
struct sweep;
struct sweep *sweep_new(const struct plan *);
void sweep_free(struct sweep *);
/* cost_ns[i] is the duration of plan cost i.  Fills start and end, indexed by op (either may be NULL), and returns the
 * makespan.  A member of a gang starts when it is ready itself: its span includes waiting for its peers; a gang takes as
 * long as its longest member.  Durations are 0 or more, and those of all ops together fit int64_t. */
int64_t sweep_time(struct sweep *, const int64_t *cost_ns, int64_t *start_ns, int64_t *end_ns);

/* The same for a plan that is timed once: nothing is prepared.  Fills end, and start unless it is NULL. */
int64_t sweep_once(const struct plan *, const int64_t *cost_ns, int64_t *start_ns, int64_t *end_ns);

/* The same where something is shared: an event loop in which rates change as ops begin and end.  cost[i] is plan cost i; a
 * gang has its members' longest times, alone and of work.  Where no resource is ever wanted by more than it can carry, every
 * time equals sweep_time's; else ends are rounded up to whole ns.  Times beyond INT64_MAX are INT64_MAX. */
int64_t flow_time(const struct plan *, const struct cost *, const struct sharing *, int64_t *start_ns, int64_t *end_ns);
/* Whether ops of this plan can ever compete, so that the sweep would be wrong. */
bool flow_needed(const struct plan *, const struct sharing *);

#endif
