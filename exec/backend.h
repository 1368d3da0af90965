/* exec/backend.h -- what a plan runs on: lanes with the semantics of CUDA streams.
 *
 * A lane is a FIFO: launch, record and wait return at once and take effect in the order of the calls.  Calls
 * come from one thread, the walker's; abort may come from any.  Call order: open, then launch, record and
 * wait as the walker pleases, reach or sync, and again; close at the end, also after a failed open.  Steps
 * count from 0, warm-up included; at most two are under way: none is launched before the one before the last
 * has been reached on every lane. An event is named by the op after which it is recorded.
 */
#ifndef EXEC_BACKEND_H
#define EXEC_BACKEND_H

#include "plan/engine.h"

struct trace;

/* What one step leaves behind, indexed by op. */
struct timing {
    int64_t *start_ns, *end_ns; /* monotonic */
    int64_t *work_ns;           /* as trace_op has it */
    double *loss;               /* LOSS ops only: their result, safe from the next step's; backends without `loss` */
};

struct backend_ops {
    const char *name;
    /* Allocates everything that stepping needs; places weights and optimizer state. */
    bool (*open)(const struct run *, void **backend, GError **);
    /* Puts weights and optimizer state back to where open left them; only between steps. */
    bool (*reset)(void *backend, GError **);
    /* The lane will run `op`, a member of a gang together with its peers.  Results go to `timing`, which must
     * stay. */
    bool (*launch)(void *backend, uint32_t op, uint32_t step, const struct timing *, GError **);
    /* An event is complete in a step once the lane has come past the record of that step. */
    bool (*record)(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **);
    bool (*wait)(void *backend, uint32_t lane, uint32_t event, uint32_t step, GError **);
    /* Blocks the caller until the event is complete in the step, or *cancel asks to stop (then it aborts and
     * returns true). */
    bool (*reach)(void *backend, uint32_t event, uint32_t step, GError **);
    /* What a LOSS op of a step that has been reached came to.  NULL: it is in the timing. */
    double (*loss)(void *backend, uint32_t op, uint32_t step);
    /* Forgets the times of the steps so far; in sync.  NULL: it keeps none. */
    bool (*forget)(void *backend, GError **);
    /* NULL: reach leaves a step's times in its timing.  Else they are known when all is over and in sync:
     * called for each measured step in order, fills `timing` with its times and adds its spans, whose ops are
     * the trace's from `first_row` on, in sealed order. */
    bool (*gather)(void *backend, uint32_t step, const struct timing *, size_t first_row, struct trace *,
                   GError **);
    /* Blocks until every lane has run all it was given, or *cancel asks to stop, as above. */
    bool (*sync)(void *backend, GError **);
    void *(*cell)(void *backend, uint32_t value); /* memory of a value; host-readable; only between steps */
    /* How many bytes of a range of a rank's arena lie in memory that was touched; only between steps.  NULL:
     * unknown. */
    uint64_t (*touched)(void *backend, uint32_t rank, uint64_t offset, uint64_t bytes);
    void (*abort)(void *backend); /* makes every lane drop what is left; only close may follow */
    void (*close)(void *backend);
    bool (*stuck)(void *backend); /* threads or devices that will not come to rest: the process must end at
                                     once; NULL: never */
};

#endif
