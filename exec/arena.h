/* exec/arena.h -- the memory of every rank's values, as plan_place laid them. */
#ifndef EXEC_ARENA_H
#define EXEC_ARENA_H

#include "plan/plan.h"

struct arenas {
    const struct plan *plan;
    char **base; /* by rank; NULL: it has none */
};

/* Reserves address space full of zeros; what is not touched takes no memory.  Close also after a failure,
 * ENGINE_ERROR. */
bool arenas_open(struct arenas *, const struct plan *, GError **);
void arenas_close(struct arenas *);

void *arenas_cell(const struct arenas *, uint32_t value);
/* How many bytes of a range are on pages that were touched. */
uint64_t arenas_touched(const struct arenas *, uint32_t rank, uint64_t offset, uint64_t bytes);
/* Fills with bytes of which no number is one: all of every arena, or each root that is not live in. */
void arenas_poison_all(const struct arenas *);
void arenas_poison_roots(const struct arenas *);

/* PARPROF_POISON=1: poison all of the arenas at first, and before every step what is not live in, so that
 * what is read without having been written shows.  A value other than 0 and 1 is an error. */
bool arenas_poisoned(bool *on, GError **);

#endif
