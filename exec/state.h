/* exec/state.h -- what training has learned, between runs: weights, and what the optimizer remembers, of
 * every layer once. */
#ifndef EXEC_STATE_H
#define EXEC_STATE_H

#include "plan/engine.h"

struct state;

/* Counted references. */
struct state *state_new(const struct model *);
struct state *state_ref(struct state *);
void state_unref(struct state *); /* NULL is legal */

/* Keeps the values of a plan that outlive a run of `updates` optimizer steps begun with `before` (NULL: with
 * none): of equal ones of several ranks the largest, the first of these; a tied head's copy is the words of
 * the embedding. */
void state_keep(struct state *, const struct plan *, const struct state *before, uint64_t updates,
                void *(*cell)(void *engine, uint32_t value), void *engine);

/* Fills the memory of a value that is live in.  False if there is nothing of its class and layer; state may
 * be NULL. */
bool state_put(const struct state *, const struct value *, void *out);
uint64_t state_updates(const struct state *); /* optimizer steps so far; of NULL 0 */

#endif
