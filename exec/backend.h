/* exec/backend.h -- what a plan runs on: lanes with the semantics of CUDA streams.
 *
 * A lane is a FIFO: launch, record and wait return at once and take effect in the order of the calls.  Calls come from
 * one thread, the walker's; abort may come from any.  Call order: open, then launch, record and wait as the walker
 * pleases, sync, and again; close at the end, also after a failed open.
 */
#ifndef EXEC_BACKEND_H
#define EXEC_BACKEND_H

#include "plan/engine.h"

/* Start and end of every op in one step, indexed by op; monotonic ns. */
struct timing {
    int64_t *start_ns, *end_ns;
};

struct backend_ops {
    const char *name;
    /* Allocates everything that stepping needs; places weights and optimizer state. */
    bool (*open)(const struct run *, void **backend, GError **);
    /* The lane will run `op`, a member of a gang together with its peers.  Times go to `timing`. */
    bool (*launch)(void *backend, uint32_t op, uint32_t step, const struct timing *, GError **);
    /* An event is complete in a step once the lane has come past the record of that step. */
    bool (*record)(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **);
    bool (*wait)(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **);
    /* Blocks until every lane has run all it was given, or *cancel asks to stop (then it aborts and returns true). */
    bool (*sync)(void *backend, GError **);
    void *(*cell)(void *backend, uint32_t value); /* memory of a value; host-readable; only between steps */
    void (*abort)(void *backend);                 /* makes every lane drop what is left */
    void (*close)(void *backend);
};

extern const struct backend_ops backend_cpu;

#endif
