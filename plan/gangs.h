/* plan/gangs.h -- who belongs to which gang, for the passes over a plan. */
#ifndef PLAN_GANGS_H
#define PLAN_GANGS_H

#include "plan/plan.h"

/* Members of every gang, in rank order: fills first and n of gangs (n_gangs rows) and gang_ops (n_ops at
 * most), and returns how many entries of gang_ops it used.  Lanes, ranks and gangs that the ops name must
 * exist. */
uint32_t gangs_gather(const struct plan *, struct gang *gangs, uint32_t *gang_ops);

#endif
