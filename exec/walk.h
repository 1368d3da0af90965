/* exec/walk.h -- the one interpreter of a plan, for every backend.
 * Issues the sealed order step after step: for each op, waits for the events of dependencies on other lanes,
 * the launch, and a record if another lane depends on it; records come before the waits on them.  Ranks are
 * joined at the end of a step by waiting, on every lane, for the last event of each other lane of the rank.
 * Issuing runs ahead one step. */
#ifndef EXEC_WALK_H
#define EXEC_WALK_H

#include "exec/backend.h"

/* Runs warm-up and measured steps; fills trace (initialised) with the measured ones.  See struct run, struct
 * engine.  On failure the steps that were over by then are in the trace: n_steps says how many.  *stuck (may
 * be NULL): as the backend says. */
bool walk_run(const struct run *, const struct backend_ops *, struct trace *, bool *stuck, GError **);

#endif
