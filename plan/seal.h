/* plan/seal.h -- what the stages of plan_seal share.
 *
 * A large plan costs what its passes over memory cost, so there are three: over the values; over the ops, which are checked
 * one by one, linked along their lanes, counted into their gangs and followed to what they access; and the search for an
 * order, which checks a gang when all of it has come.
 */
#ifndef PLAN_SEAL_H
#define PLAN_SEAL_H

#include "base/huge.h"
#include "plan/plan.h"

/* Sets the error to "OP: ..." and returns false. */
bool seal_refuse(const struct plan *, uint32_t op, GError **, const char *format, ...) G_GNUC_PRINTF(4, 5);

static inline uint32_t seal_rank(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

/* What the search for an order reads of an op: it goes through all ranks at once, and lives on what a line of the cache holds.
 * There is one more than ops, for the end of the last one's dependencies. */
struct seal_node {
    uint32_t next; /* the op after it on its lane, or OP_NONE */
    uint32_t lane, first_dep, gang;
};

/* What is known of a gang: a kind, of its only member, whose bytes and rank these are; or one of those below.  The search's own
 * from then on. */
struct seal_meet {
    uint64_t bytes;
    uint32_t rank, state;
};
#define MEET_CHECKED (OP_NONE - 1)
#define MEET_OTHERS  (OP_NONE - 2) /* to be checked when all have come */

/* Made while ops are checked. */
struct seal_links {
    struct seal_node *nodes;
    struct seal_meet *meets; /* per gang */
    uint32_t *first;         /* per lane: its first op, or OP_NONE */
};

/* gang-check.c.  Invariant 3, of one gang whose members are listed in rank order; of all gangs, which lists them first:
 * false, with the error, at the first that is wrong or empty. */
bool seal_gang(const struct plan *, const struct gang *, GError **);
bool seal_gangs(struct plan *, GError **);
/* Of the first or second op of a gang that comes by: notes what it is, or whether the two are a pair without fault, a sender and
 * a receiver of one piece of the same bytes.  Such gangs need no other check. */
void seal_meet(const struct plan *, uint32_t op, bool first, struct seal_meet *);

/* order.c.  Invariant 2, and 3 on the way: fills order, gang_ops and the gangs, for which there is room, and of which n is
 * known. */
bool seal_order(struct plan *, struct seal_links *, GError **);

/* hazards.c.  Invariants 4 and 5, and 6 of ops: new when values are known to be right, and whether one is a view; then each op,
 * in order, once it has its node and is known to be right but for what it accesses, which must exist and be of its rank; then
 * the judgement, of the first that is not ordered. */
struct hazards;
size_t hazards_bytes(const struct plan *); /* of the arena, where there are no views; else it takes more */
struct hazards *hazards_new(const struct plan *, const struct seal_node *, bool views, struct huge_arena *);
bool hazards_op(struct hazards *, uint32_t op, uint32_t rank, GError **);
bool hazards_judge(struct hazards *, struct plan *, GError **);
void hazards_free(struct hazards *);

/* clocks.c.  Fills the clocks, unless they are there; ops are known to be right.  Whether a comes before b, of one rank. */
void seal_clocks(struct plan *);
bool seal_before(const struct plan *, uint32_t a, uint32_t b);

#endif
