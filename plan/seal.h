/* plan/seal.h -- what the stages of plan_seal share. */
#ifndef PLAN_SEAL_H
#define PLAN_SEAL_H

#include "plan/plan.h"

/* Lanes as chains of ops. */
struct chains {
    uint32_t slots;      /* most lanes of one rank */
    uint32_t *lane_slot; /* per lane: its number among the lanes of its rank */
    uint32_t *previous;  /* per op: the one before it on its lane, or OP_NONE */
    uint32_t *place;     /* per op: its place on its lane, from 1 */
};

/* Fills lane_slot; returns the most lanes of one rank. */
uint32_t seal_lane_slots(const struct plan *, uint32_t *lane_slot);

/* Sets the error to "OP: ..." and returns false. */
bool seal_refuse(const struct plan *, uint32_t op, GError **, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Invariants 4 and 5; fills the clocks.  Ids, ranks and views are known to be right, and dependencies to point
 * backwards. */
bool seal_hazards(struct plan *, const struct chains *, GError **);

#endif
