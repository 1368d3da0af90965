/* cli/job.h -- what the options ask for, looked up and checked: mode, model, engine, shape, prices. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "cli/options.h"
#include "plan/engine.h"
#include "plan/mode.h"
#include "sim/cluster.h"
#include "sim/cost-model.h"
#include "sim/sharing.h"

struct job {
    const struct mode *mode;
    const struct engine *engine; /* the one that `run` would take */
    struct model *model;
    struct shape shape; /* with the last of the overlaps, the main one */
    uint8_t overlaps[OVERLAPS], n_overlaps;
    struct cluster *cluster;        /* engine sim only */
    struct cost_model *costs;       /* engine sim only */
    struct sharing sharing;         /* engine sim only; of the cluster */
    double *rank_speed;             /* engine cpu: as measured (trace_costs_of_fastest); NULL: not yet */
    double link_gbps, link_us;      /* engine cpu only */
    double lr, momentum, clip_norm; /* as in struct run */
    char *why_not_first;            /* auto: why a better engine was passed over; NULL: it was not */
};

/* A shape that differs in its overlap. */
struct shape job_shape(const struct job *, unsigned overlap);

/* Fails on any option that is foreign, absurd, or names what does not exist.  Release also after a failure.
 */
bool job_open(struct job *, const struct options *, GError **);
void job_release(struct job *);

#endif
