/* cli/predict.h -- the simulator asked about a job: with measured costs a run predicts itself. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/job.h"
#include "profile/analyze.h"
#include "profile/trace.h"

/* A plan's timeline and what it says, or nothing. */
struct outcome {
    struct trace trace;
    struct analysis analysis;
    bool there;
};

void outcome_release(struct outcome *);

/* What captions and files must say of a job's trace beside what its engine said. */
void label_trace(const struct job *, const struct shape *, struct trace *);

/* Plans `shape`, simulates it at these prices and analyses it.  out is uninitialised. */
bool predict(const struct job *, const struct shape *, const struct cost_model *, struct outcome *out,
             GError **);

/* The step alone; false where it cannot be planned or priced. */
bool predict_step_ns(const struct job *, const struct shape *, const struct cost_model *, int64_t *step_ns);

/* The bucket size whose predicted step is shortest, out of a few usual ones, if it beats `step_ns` by more
 * than 1 %: its MiB and predicted step; else 0.  For the summary's last line. */
double predict_best_bucket(const struct job *, const struct cost_model *, int64_t step_ns, int64_t *best_ns);

#endif
