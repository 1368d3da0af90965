/* plan/engine.h -- one interface for what turns a plan into a trace: the simulator and the real executors.
 * Nothing after the trace asks which engine made it. */
#ifndef PLAN_ENGINE_H
#define PLAN_ENGINE_H

#include "plan/model.h"
#include "plan/plan.h"

struct trace;
struct sharing;   /* sim/sharing.h */
struct text_part; /* exec/text.h */
struct state;     /* exec/state.h */

/* What of the data is dealt: all of it, or a part to train, to validate, to test. */
enum data_part { DATA_ALL, DATA_TRAIN, DATA_VALID, DATA_TEST, DATA_PARTS };

/* What execution needs beside the plan. */
struct run {
    const struct plan *plan; /* sealed */
    const struct model *model;
    const struct cost_model *costs; /* sim only */
    const struct sharing *sharing;  /* sim only; NULL: nothing is shared */
    /* Steps: the warm-up, of which nothing is left; those ahead, which train and leave no times; the measured ones. */
    uint32_t warmup, ahead, steps;
    double warmup_s; /* warm-up steps go on for at least so long; 0: no more than `warmup` */
    uint64_t seed;
    double lr, momentum;       /* Adam: betas 0.9 and 0.999, epsilon 1e-8, as PyTorch */
    double clip_norm;          /* 0: not clipped */
    const struct text_part *data; /* dealt in the plan's batches; NULL: synthetic data */
    uint8_t part;                 /* enum data_part: of synthetic data */
    const struct state *begin; /* weights and moments before the first step; NULL: new ones, and zeros */
    struct state *end;         /* takes those after the last, unless cancelled; NULL: they are forgotten */
    double link_gbps, link_us; /* cpu: pace transfers to a link; 0 and 0: raw memory */
    double delay;              /* cpu: each computation takes longer by that part of its own time */
    uint32_t data_step;        /* position in the data at which to begin */
    bool untraced;             /* cuda: no CUPTI; times are those of events on the lanes */
    double timeout_s; /* cuda: how long nothing may advance before the run is given up; 0: for ever */
    const volatile int *cancel; /* polled; nonzero asks to stop soon, with what is measured so far */
    void (*progress)(void *, uint32_t done, uint32_t of); /* may be NULL; called from the caller's thread */
    /* May be NULL.  Called likewise before the first step after the warm-up, and when one is over, with its loss. */
    void (*begun)(void *);
    void (*learned)(void *, double loss);
    /* May be NULL.  Called on the caller's thread after each step, warm-up too, while the ranks are at rest;
     * cell gives the memory of a value.  For tests. */
    void (*observe)(void *, uint32_t step, bool measured, void *(*cell)(void *engine, uint32_t value),
                    void *engine);
    void *user;
};

/* The first of the measured steps, the warm-up's and those ahead counted. */
static inline uint32_t run_first_measured(const struct run *run)
{
    return run->warmup + run->ahead;
}

/* A step's position in the data.  Warm-up leaves it as it was. */
static inline uint32_t run_data_step(const struct run *run, uint32_t step)
{
    return run->data_step + (step < run->warmup ? step : step - run->warmup);
}

struct engine {
    const char *name, *summary;
    bool real;                 /* executes instead of simulating */
    bool (*probe)(GError **);  /* available here?  The error is the reason why not */
    uint32_t (*devices)(void); /* that ranks can be put on; NULL: they need none */
    uint32_t algos;  /* bit set of enum allreduce that it runs; whole needs a device for each rank */
    double warmup_s; /* how long it takes to come up to speed: for struct run */
    /* Bytes that running will allocate, beside the arenas of plan_place. */
    uint64_t (*extra_bytes)(const struct plan *, const struct model *);
    /* Fills an initialised trace.  Cancelled: true, with the whole steps so far (maybe none) and
     * trace->cancelled.  Failed: false, with the whole steps so far; ENGINE_ERROR_STUCK: what may be still
     * running can only be ended with the process. */
    bool (*run)(const struct run *, struct trace *, GError **);
};

#define ENGINE_ERROR (engine_error_quark())
GQuark engine_error_quark(void);
enum { ENGINE_ERROR_UNAVAILABLE, ENGINE_ERROR_FAILED, ENGINE_ERROR_TOO_BIG, ENGINE_ERROR_STUCK };

#endif
