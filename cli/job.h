/* cli/job.h -- what the options ask for, looked up and checked: mode, model, engine, shape, prices. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdio.h>

#include "cli/options.h"
#include "cli/prices.h"
#include "plan/engine.h"
#include "plan/mode.h"
#include "sim/sharing.h"

struct job {
    const struct mode *mode;
    const struct engine *engine; /* the one that `run` would take */
    struct model *model;         /* NULL: of a given plan that can only be simulated */
    struct actions *actions;     /* of a schedule from a file; NULL: none */
    struct shape shape;          /* with the last of the overlaps, the main one */
    /* Of a plan from a file: the plan, sealed; its file and the checksum of that.  NULL: the shape is to be
     * planned.  Then the shape says what the plan shows of it, not how it came about: neither buckets nor
     * overlap. */
    struct plan *given;
    char *file, *checksum;
    uint8_t overlaps[OVERLAPS], n_overlaps;
    struct cluster *cluster;        /* engine sim only */
    struct prices prices;           /* engine sim only */
    int64_t *layer_ns;              /* what the balanced split goes by (cli/balance.h); NULL: FLOPs */
    const struct cost_model *costs; /* theirs; NULL: a real engine */
    struct sharing sharing;         /* engine sim only; of the cluster */
    double *rank_speed;             /* real engines: as measured (trace_costs_of_fastest); NULL: not yet */
    double link_gbps, link_us;      /* real engines: pace of transfers in memory; 0 and 0: none */
    uint32_t shrink;                /* what the widths are divided by; 0 or 1: nothing */
    double lr, momentum, clip_norm; /* as in struct run */
    struct {                        /* cli/train.h; batches 0: all of the text, or some */
        uint32_t epochs, batches, log_every, eval_batch;
        double lr_step;
    } training;
    struct text *text; /* real engines: what is trained on; NULL: synthetic data */
    FILE *say;         /* where rows of training go; NULL: nowhere */
    bool interleaved;               /* ranks take turns on the devices, as measured */
    char *why_not_first;            /* auto: why a better engine was passed over; NULL: it was not */
};

/* A shape that differs in its overlap. */
struct shape job_shape(const struct job *, unsigned overlap);

/* Fails on any option that is foreign, absurd, or names what does not exist.  Release also after a failure.
 */
bool job_open(struct job *, const struct options *, GError **);
void job_release(struct job *);

/* Whether ranks have less than a GPU each. */
bool job_shares_devices(const struct job *);

/* Parts of job_open that do not ask for a shape. */
bool job_pick_engine(struct job *, const struct options *, GError **);
bool job_pick_prices(struct job *, const struct options *, GError **);
double job_lr(const struct options *, unsigned optimizer);
bool job_on_cores(const struct job *); /* real, and on nothing but CPU cores: what is run there is small */
uint32_t job_default_ranks(const struct job *);
/* job-pipeline.c: ranks, schedule, chunks and the like of a pipeline, before what depends on them. */
bool job_pick_pipeline(struct job *, const struct options *, GError **);
/* How many stages a rank has where nobody says: what the schedule needs, or enough to be what it is for. */
uint32_t job_default_stages(const struct schedule *);

/* Reads the text that is trained on, once; release closes it. */
bool job_open_text(struct job *, const struct options *, GError **);

/* The plan of one of its shapes: the given one, or one made in `own`, which job_plan_release frees.  NULL
 * with the error. */
struct plan *job_plan(const struct job *, const struct shape *, struct plan *own, GError **);
void job_plan_release(const struct job *, struct plan *own);

#endif
