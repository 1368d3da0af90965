/* tests/plans.h -- plans for tests: random legal ones, and an oracle that judges any plan by brute force. */
#ifndef TESTS_PLANS_H
#define TESTS_PLANS_H

#include "plan/plan.h"

/* Fills an uninitialised plan with up to 3 ranks, their lanes, roots and views, lone ops and gangs; every
 * pair of accesses that must be ordered is.  Not sealed. */
void plans_random(struct plan *);

/* The invariants of plan.h that concern order (2, 4 and 5), each by its definition: reachability by
 * transitive closure, conflicts by pairs.  Ids, lanes and ranks must be right.  For plans of some hundred
 * ops. */
bool plans_ordered(const struct plan *);

/* Whether roots of a placed plan share bytes only as plan_place says, by transitive closure, and lie in their
 * arenas. */
bool plans_placed(const struct plan *);

void plans_drop_dep(struct plan *, uint32_t dep); /* removes deps[dep] */
uint32_t plans_dep_owner(const struct plan *, uint32_t dep);

#endif
