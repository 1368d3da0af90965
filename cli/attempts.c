#include "cli/attempts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/balance.h"
#include "plan/split.h"

enum { CALIBRATION_STEPS = 5, CALIBRATION_WARMUP = 1 };

static volatile int cancelled;

static void on_interrupt(int signal)
{
    static const char message[] = "\nparprof: stopping after what is running; again: at once\n";
    (void)signal;
    cancelled = 1;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        return;
}

void attempts_catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
}

static void show_progress(void *user, uint32_t done, uint32_t of)
{
    const char *what = user;
    fprintf(stderr, done < of ? "\r%s: step %" PRIu32 " of %" PRIu32 " " : "\r\033[K", what, done, of);
}

void attempts_release(struct attempts *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        outcome_release(&r->list[i].outcome);
        outcome_release(&r->list[i].predicted);
    }
    outcome_release(&r->apart);
    g_clear_pointer(&r->measured, cost_table_free);
}

const struct attempt *attempts_main(const struct attempts *r)
{
    return &r->list[r->n - 1];
}

static bool execute(const struct job *job, const struct options *o, const struct shape *shape,
                    uint32_t warmup, uint32_t steps, const char *what, struct outcome *out, GError **error)
{
    struct plan own;
    *out = (struct outcome){0};
    struct plan *plan = job_plan(job, shape, &own, error);
    if (!plan)
        return false;
    plan_place(plan);
    struct run run = {.plan = plan,
                      .model = job->model,
                      .warmup = warmup,
                      .warmup_s = o->given[OPTION_WARMUP] ? 0 : job->engine->warmup_s,
                      .steps = steps,
                      .seed = option_number(o, OPTION_SEED, 1),
                      .lr = job->lr,
                      .momentum = job->momentum,
                      .clip_norm = job->clip_norm,
                      .data = option_text(o, OPTION_DATA, NULL),
                      .link_gbps = job->link_gbps,
                      .link_us = job->link_us,
                      .untraced = o->given[OPTION_NO_TRACE],
                      .timeout_s = option_number(o, OPTION_TIMEOUT, 60),
                      .cancel = &cancelled,
                      .progress = isatty(STDERR_FILENO) && !o->given[OPTION_QUIET] ? show_progress : NULL,
                      .user = (void *)what};
    trace_init(&out->trace);
    GError *failure = NULL;
    bool ok = job->engine->run(&run, &out->trace, &failure);
    if (!ok && out->trace.n_steps > 0)
        trace_label(&out->trace, "partial", "%u of %u steps, then the run failed", out->trace.n_steps, steps);
    out->there = out->trace.n_steps > 0 && analyze(&out->trace, &out->analysis, failure ? NULL : &failure);
    ok = ok && (out->there || out->trace.n_steps == 0);
    bool stuck = g_error_matches(failure, ENGINE_ERROR, ENGINE_ERROR_STUCK);
    if (failure)
        g_propagate_error(error, failure);
    if (out->there)
        label_trace(job, shape, &out->trace);
    else
        trace_release(&out->trace);
    if (!stuck) /* a thread that hangs still has it */
        job_plan_release(job, &own);
    return ok;
}

/* Measures each op's cost in a pass without overlap, and with the even split where that is to be balanced by
 * these costs. */
static bool calibrate(struct job *job, const struct options *o, struct attempts *r, GError **error)
{
    struct shape apart = job_shape(job, OVERLAP_NONE);
    struct outcome calibration;
    if (balance_wanted(job))
        apart.split = split_rules[0];
    uint32_t steps = MIN(option_number(o, OPTION_STEPS, 10), CALIBRATION_STEPS);
    bool ok = execute(job, o, &apart, CALIBRATION_WARMUP, steps, "measuring costs", &calibration, error);
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

/* Runs each overlap, after the simulator has said what it expects.  An interrupt leaves what is there by
 * then. */
static bool run_real(struct job *job, const struct options *o, struct attempts *r, GError **error)
{
    uint32_t steps = option_number(o, OPTION_STEPS, 10), warmup = option_number(o, OPTION_WARMUP, 2);
    if (!calibrate(job, o, r, error))
        return false;
    if (cancelled)
        return true;
    const struct cost_model *costs = cost_table_model(r->measured);
    if (!predict_apart(job, costs, r, error))
        return false;
    for (unsigned i = 0; i < job->n_overlaps && !cancelled; i++) {
        struct attempt *attempt = &r->list[r->n];
        struct shape shape = job_shape(job, job->overlaps[i]);
        *attempt = (struct attempt){.overlap = shape.overlap};
        if (!predict(job, &shape, costs, &attempt->predicted, error))
            return false;
        g_autofree char *what = g_strdup_printf("running, overlap %s", overlap_name(shape.overlap));
        bool ok = execute(job, o, &shape, warmup, steps, job->n_overlaps > 1 ? what : "running",
                          &attempt->outcome, error);
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
    bool ok = job->engine->real
                  ? execute(job, o, &job->shape, option_number(o, OPTION_WARMUP, 2),
                            option_number(o, OPTION_STEPS, 10), "running", &attempt->outcome, error)
                  : predict(job, &job->shape, job->costs, &attempt->outcome, error);
    r->n = attempt->outcome.there;
    return ok;
}

bool attempts_cancelled(void)
{
    return cancelled;
}

bool attempts_make(struct attempts *r, struct job *job, const struct options *o, GError **error)
{
    *r = (struct attempts){0};
    if (job->given)
        return run_given(job, o, r, error);
    return job->engine->real ? run_real(job, o, r, error) : run_simulated(job, r, error);
}
