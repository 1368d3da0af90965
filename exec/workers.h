/* exec/workers.h -- threads that are FIFO lanes with the semantics of CUDA streams.
 *
 * One thread gives jobs, records and waits; each lane's thread takes them in that order.  An event belongs to
 * a rank and is waited for by lanes of that rank only.  All memory is allocated by open.
 */
#ifndef EXEC_WORKERS_H
#define EXEC_WORKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

struct timing;

/* Something to run: `what` and the rest mean what the runner makes of them. */
struct job {
    uint32_t what, id, step;
    const struct timing *timing;
    uint32_t lane; /* where one thread serves several */
};

struct worker_spec {
    uint32_t rank;
    int cpu;           /* pinned to; -1: not pinned */
    uint32_t capacity; /* entries that may be under way at once */
};

struct workers_spec {
    uint32_t n_lanes, n_ranks, n_events;
    const struct worker_spec *lanes;
    const uint32_t *event_lane; /* the lane that records it */
    size_t stack_bytes;         /* of each thread; 0: 1 MiB */
    atomic_int *stop;           /* becomes nonzero when everything is to be dropped */
    /* Runs a job on its lane's thread.  ready_ns: when the lane was free and what it waited for was complete,
     * by the times that jobs report; *end_ns: when this one ended, set also on failure.  False: failed with
     * the error set, or stopped without. */
    bool (*run)(void *user, uint32_t lane, const struct job *, int64_t ready_ns, int64_t *end_ns, GError **);
    void *user;
};

struct workers;
/* The arrays of the spec are copied.  NULL with the error set if a thread cannot be made. */
struct workers *workers_open(const struct workers_spec *, GError **);
uint64_t
workers_bytes(const struct workers_spec *); /* what open allocates, stacks as far as they are used included */
void workers_give(struct workers *, uint32_t lane, const struct job *);
void workers_record(struct workers *, uint32_t lane, uint32_t event, uint32_t step);
void workers_wait(struct workers *, uint32_t lane, uint32_t event, uint32_t step);

/* Blocks the caller until the event is complete in the step (drain: until no lane has anything left), until
 * *cancel (may be NULL) is nonzero, or until something failed. */
enum workers_outcome { WORKERS_DONE, WORKERS_CANCELLED, WORKERS_FAILED };
enum workers_outcome workers_reach(struct workers *, uint32_t event, uint32_t step,
                                   const volatile int *cancel, GError **);
enum workers_outcome workers_drain(struct workers *, const volatile int *cancel, GError **);

/* At a glance: no thread runs a job, and unless all was aborted none has one left. */
bool workers_idle(struct workers *);
bool workers_failed(struct workers *, GError **); /* a job did; with its error, the first one */

void workers_abort(struct workers *); /* sets *stop and wakes everyone; from any thread */
void workers_close(struct workers *); /* aborts what is left, joins the threads; NULL is legal */

#endif
