#include "cli/attempts.h"

#include <string.h>

#include "cli/balance.h"
#include "cli/execute.h"
#include "exec/text.h"
#include "plan/split.h"

enum { CALIBRATION_STEPS = 5, CALIBRATION_WARMUP = 1 };
/* A look needs few; of steps that others are compared by, as noisy as on shared cores, 30 find a rise of twice the threshold. */
enum { STEPS = 10, STEPS_TO_COMPARE = 30 };

static uint32_t steps_of(const struct options *o)
{
    return option_number(o, OPTION_STEPS, o->given[OPTION_HISTORY] ? STEPS_TO_COMPARE : STEPS);
}

void attempts_release(struct attempts *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        outcome_release(&r->list[i].outcome);
        outcome_release(&r->list[i].predicted);
    }
    outcome_release(&r->apart);
    g_clear_pointer(&r->measured, cost_table_free);
    g_clear_pointer(&r->training.epochs, g_free);
}

const struct attempt *attempts_main(const struct attempts *r)
{
    return &r->list[r->n - 1];
}

/* Measures each op's cost in a pass without overlap, and with the even split where that is to be balanced by
 * these costs. */
static bool calibrate(struct job *job, const struct options *o, struct attempts *r, GError **error)
{
    struct shape apart = job_shape(job, OVERLAP_NONE);
    struct outcome calibration;
    if (balance_wanted(job))
        apart.split = split_rules[0];
    const struct execution execution = {.shape = &apart,
                                        .warmup = CALIBRATION_WARMUP,
                                        .steps = MIN(steps_of(o), CALIBRATION_STEPS),
                                        .part = job->training.epochs ? DATA_TRAIN : DATA_ALL,
                                        .what = "measuring costs"};
    bool ok = execute(job, o, &execution, &calibration, error);
    if (ok && calibration.there) {
        g_free(job->rank_speed);
        job->rank_speed = g_new(double, calibration.trace.t.n_ranks);
        r->measured = trace_costs_of_fastest(&calibration.trace, job->rank_speed);
        job->interleaved = calibration.trace.interleaved;
        ok = balance(job, cost_table_model(r->measured), error);
    }
    outcome_release(&calibration);
    return ok;
}

/* What there is to compare with where no attempt is without overlap; the first iteration never overlaps,
 * other modes have no choice. */
static bool predict_apart(const struct job *job, const struct cost_model *costs, struct attempts *r,
                          GError **error)
{
    struct shape apart = job_shape(job, OVERLAP_NONE);
    return job->shape.ranks == 1 || !job->mode->has_buckets || job->shape.first_iteration ||
           memchr(job->overlaps, OVERLAP_NONE, job->n_overlaps) ||
           predict(job, &apart, costs, &r->apart, error);
}

static bool run_steps(const struct job *job, const struct options *o, const struct shape *shape,
                      struct outcome *out, GError **error)
{
    g_autofree char *what = g_strdup_printf("running, overlap %s", overlap_name(shape->overlap));
    const struct execution execution = {.shape = shape,
                                        .warmup = option_number(o, OPTION_WARMUP, 2),
                                        .steps = steps_of(o),
                                        .what = job->n_overlaps > 1 ? what : "running"};
    return execute(job, o, &execution, out, error);
}

/* Runs each overlap, after the simulator has said what it expects.  An interrupt leaves what is there by
 * then. */
static bool run_real(struct job *job, const struct options *o, struct attempts *r, GError **error)
{
    if (!calibrate(job, o, r, error))
        return false;
    if (execute_cancelled())
        return true;
    const struct cost_model *costs = cost_table_model(r->measured);
    if (!predict_apart(job, costs, r, error))
        return false;
    for (unsigned i = 0; i < job->n_overlaps && !execute_cancelled(); i++) {
        struct attempt *attempt = &r->list[r->n];
        struct shape shape = job_shape(job, job->overlaps[i]);
        *attempt = (struct attempt){.overlap = shape.overlap};
        if (!predict(job, &shape, costs, &attempt->predicted, error))
            return false;
        const bool ok = job->training.epochs ? train(job, o, &shape, &r->training, &attempt->outcome, error)
                                             : run_steps(job, o, &shape, &attempt->outcome, error);
        r->n += attempt->outcome.there;
        if (!attempt->outcome.there)
            outcome_release(&attempt->predicted);
        if (!ok)
            return false;
    }
    return true;
}

static bool run_simulated(const struct job *job, struct attempts *r, GError **error)
{
    for (unsigned i = 0; i < job->n_overlaps; i++) {
        struct shape shape = job_shape(job, job->overlaps[i]);
        r->list[i] = (struct attempt){.overlap = shape.overlap};
        if (!predict(job, &shape, job->costs, &r->list[i].outcome, error))
            return false;
        r->n++;
    }
    return predict_apart(job, job->costs, r, error);
}

/* A plan from a file is one attempt: there is none of another overlap to measure its costs or compare it
 * with. */
static bool run_given(const struct job *job, const struct options *o, struct attempts *r, GError **error)
{
    struct attempt *attempt = &r->list[0];
    *attempt = (struct attempt){.overlap = job->shape.overlap};
    bool ok = job->engine->real ? run_steps(job, o, &job->shape, &attempt->outcome, error)
                                : predict(job, &job->shape, job->costs, &attempt->outcome, error);
    r->n = attempt->outcome.there;
    return ok;
}

bool attempts_make(struct attempts *r, struct job *job, const struct options *o, GError **error)
{
    *r = (struct attempts){0};
    if (job->engine->real && !job_open_text(job, o, error))
        return false;
    if (job->given)
        return run_given(job, o, r, error);
    return job->engine->real ? run_real(job, o, r, error) : run_simulated(job, r, error);
}
