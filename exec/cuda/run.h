/* exec/cuda/run.h -- what the files of the CUDA backend share.
 *
 * Two kinds of threads.  The walker's opens, gives jobs, watches, gathers and closes; where that blocks,
 * guard.c's does it in its place.  A rank's own makes every call of CUDA for that rank in between, in sealed
 * order.  What both touch while steps are under way is atomic; all else is written before the ranks' threads
 * start, or belongs to one of them.
 */
#ifndef EXEC_CUDA_RUN_H
#define EXEC_CUDA_RUN_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>

#include "exec/cuda/comm.h"
#include "exec/cuda/module.h"
#include "exec/cuda/sm-split.h"

/* An event is used anew every EVENT_SLOTS steps: two are under way, and times count from the end of the one
 * before. */
enum { EVENT_SLOTS = 3, PINNED_SLOTS = 2 };

struct gpu_lane {
    cudaStream_t stream;
    struct k_cuda_stream *kernels;
    uint32_t *ops, n_ops; /* in order */
    /* The walker's thread: ops before ops[next] in `step`, and all steps before, are known to be over. */
    uint32_t step, next;
    /* timed: an event that is over, and when that was; base is the lane's own for it */
    cudaEvent_t base, anchor;
    int64_t anchor_ns;
};

struct gpu_op {
    cudaEvent_t end[EVENT_SLOTS], begin[EVENT_SLOTS]; /* begin: timed only */
    atomic_uint issued, recorded; /* steps in which all its calls were made; the event was */
    char *name;
    void *pinned[PINNED_SLOTS];    /* INPUT */
    double *losses;                /* LOSS: a slot for warm-up, then one a step */
    struct k_cuda_counts launched; /* in its last step */
};

struct gpu_rank {
    uint32_t device, share; /* share: which part of its device, where ranks share one */
    char *arena;
    char *mirror;        /* of the arena, in host memory, as far as cell was asked; NULL until then */
    atomic_uint op;      /* that its thread makes calls for, OP_NONE: none */
    atomic_ullong calls; /* jobs done */
};

struct gpu_device {
    uint32_t ranks;         /* that share it */
    struct sm_split *split; /* NULL: not split */
};

struct cuda {
    const struct run *run;
    const struct plan *plan;
    struct compute compute;
    struct workers *workers; /* a lane a rank */
    struct comm_p2p *p2p;
    struct comm_nccl *nccl; /* NULL: every gang is run by own copies */
    struct gpu_lane *lanes;
    struct gpu_op *ops;
    struct gpu_rank *ranks;
    struct gpu_device *devices;
    uint32_t n_devices;
    void **mem;                     /* by access: memory of its rank's device */
    char *pinned;                   /* inputs and losses */
    void *staging;                  /* a layer's weights */
    struct k_cuda_stream **streams; /* by lane, for comm */
    uint32_t *device_of_rank;
    bool collecting, timed; /* times by CUPTI, else by events */
    struct times *times;
    GError *failed_cell;
    atomic_int stop;
    bool aborted, rested, stuck;
    uint64_t progress;   /* when last looked */
    int64_t progress_ns; /* when it last changed */
    int64_t next_look_ns;
    _Atomic(const char *) stage; /* what a guarded call is at */
    atomic_uint stages;          /* entered so far */
};

/* False with the error set unless status is 0. */
bool cuda_ok(const struct cuda *, int status, const char *call, uint32_t rank, GError **);
bool cuda_use(const struct cuda *, uint32_t rank, GError **); /* makes its device current */
void cuda_stop(struct cuda *);                                /* the walker's thread: everything is dropped */
static inline unsigned cuda_slot(uint32_t step)
{
    return step % EVENT_SLOTS;
}

/* guard.c: makes a call that blocks on a thread of its own.  If it enters no new stage for timeout_s and a
 * little more, an error says at which it hangs, and `stuck` is set: c and user are then still in use, and the
 * process must end.  One at a time; while it lasts the walker's thread touches nothing. */
typedef bool cuda_guarded_call(struct cuda *, void *user, GError **);
bool cuda_guard(struct cuda *, const char *stage, cuda_guarded_call *, void *user, GError **);
void cuda_enter(struct cuda *, const char *stage); /* stage: of static storage, what follows "hangs in" */

/* lanes.c: streams, events, gangs. */
bool cuda_lanes_open(struct cuda *, GError **);
void cuda_lanes_close(struct cuda *);
/* Whether the op's event is recorded with it, whether or not anybody waits for it. */
bool cuda_records_itself(const struct cuda *, uint32_t op);

/* memory.c: arenas, pinned buffers, what is in them at first. */
bool cuda_memory_open(struct cuda *, GError **);
bool cuda_memory_place(struct cuda *, GError **);          /* weights and zeros; at rest */
bool cuda_memory_fill(struct cuda *, int byte, GError **); /* the arenas; at rest, before and after */
void *cuda_memory_cell(struct cuda *, uint32_t value);
void cuda_memory_close(struct cuda *);

/* issue.c: the ranks' threads. */
/* Runs each op that is in no gang, one after the other: to load a kernel cuBLAS, at its first product of a
 * shape, may wait for the device, where by then a collective of NCCL may wait for the rank that loads. Leaves
 * NaN everywhere. */
bool cuda_issue_rehearse(struct cuda *, GError **);
bool cuda_issue_open(struct cuda *, GError **);
void cuda_issue_launch(struct cuda *, uint32_t op, uint32_t step);
void cuda_issue_record(struct cuda *, uint32_t op, uint32_t step);
void cuda_issue_wait(struct cuda *, uint32_t lane, uint32_t op, uint32_t step);
double *cuda_issue_loss(const struct cuda *, uint32_t op, uint32_t step); /* where a LOSS op leaves its result */

/* watch.c: the walker's thread waits. */
bool cuda_watch_reach(struct cuda *, uint32_t op, uint32_t step, GError **);
bool cuda_watch_sync(struct cuda *, GError **);
bool cuda_watch_rest(struct cuda *); /* after an abort: false if something hangs */

/* times.c: when each op was. */
void cuda_times_open(struct cuda *); /* before there is any context */
/* When the streams exist: whether times come from CUPTI or from events. */
void cuda_times_lanes(struct cuda *);
bool cuda_times_restart(struct cuda *, GError **); /* at rest: what was before is forgotten */
bool cuda_times_read(struct cuda *, uint32_t lane, uint32_t step, GError **); /* the lane is over with it */
bool cuda_times_gather(struct cuda *, uint32_t step, const struct timing *, size_t first_row, struct trace *,
                       GError **);
void cuda_times_close(struct cuda *);

#endif
