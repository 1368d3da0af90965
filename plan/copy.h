/* plan/copy.h -- what a pass takes over from the plan that it rewrites. */
#ifndef PLAN_COPY_H
#define PLAN_COPY_H

#include "plan/plan.h"

/* Begins `to` (uninitialised) with all of `from` but its values, gangs and ops. */
void copy_tables(const struct plan *from, struct plan *to);
void copy_values(const struct plan *from, struct plan *to); /* under the ids that they had */
/* Adds op `id` with its accesses, in that gang of `to` (OP_NONE: in none) and without dependencies; returns its id. */
uint32_t copy_op(const struct plan *from, uint32_t id, uint32_t gang, struct plan *to);

#endif
