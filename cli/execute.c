#include "cli/execute.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "exec/text.h"

static volatile int cancelled;

static void on_interrupt(int signal)
{
    static const char message[] = "\nparprof: stopping after what is running; again: at once\n";
    (void)signal;
    __atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        return;
}

void execute_catch_interrupt(void)
{
    interrupt_catch(on_interrupt, SA_RESETHAND | SA_RESTART);
}

bool execute_cancelled(void)
{
    return __atomic_load_n(&cancelled, __ATOMIC_RELAXED);
}

static bool progress_shown;

void execute_clear_progress(void)
{
    if (progress_shown)
        fprintf(stderr, "\r\033[K");
}

static void show_progress(void *user, uint32_t done, uint32_t of)
{
    const struct execution *e = user;
    progress_shown = done < of;
    fprintf(stderr, done < of ? "\r%s: step %" PRIu32 " of %" PRIu32 " " : "\r\033[K", e->what, done, of);
}

static void begin(void *user)
{
    const struct execution *e = user;
    e->begun(e->user);
}

static void tell(void *user, double loss)
{
    const struct execution *e = user;
    e->learned(e->user, loss);
}

static struct run make_run(const struct job *job, const struct options *o, const struct execution *e,
                           const struct plan *plan)
{
    return (struct run){.plan = plan,
                        .model = e->shape->model,
                        .warmup = e->warmup,
                        .ahead = e->ahead,
                        .warmup_s = o->given[OPTION_WARMUP] || !e->warmup ? 0 : job->engine->warmup_s,
                        .steps = e->steps,
                        .seed = option_number(o, OPTION_SEED, 1),
                        .lr = e->lr > 0 ? e->lr : job->lr,
                        .momentum = job->momentum,
                        .clip_norm = job->clip_norm,
                        .part = e->part,
                        .begin = e->begin,
                        .end = e->end,
                        .link_gbps = job->link_gbps,
                        .link_us = job->link_us,
                        .delay = option_number(o, OPTION_INJECT_DELAY, 0) / 100,
                        .data_step = e->data_step,
                        .untraced = e->untraced || o->given[OPTION_NO_TRACE],
                        .timeout_s = option_number(o, OPTION_TIMEOUT, 60),
                        .cancel = &cancelled,
                        .progress = isatty(STDERR_FILENO) && !o->given[OPTION_QUIET] ? show_progress : NULL,
                        .begun = e->begun ? begin : NULL,
                        .learned = e->learned ? tell : NULL,
                        .user = (void *)e};
}

bool execute(const struct job *job, const struct options *o, const struct execution *e, struct outcome *out,
             GError **error)
{
    struct plan own;
    struct text_part data;
    *out = (struct outcome){0};
    struct plan *plan = job_plan(job, e->shape, &own, error);
    if (!plan)
        return false;
    struct run run = make_run(job, o, e, plan);
    if (job->text && !text_part(job->text, e->part, plan_batch(plan), &data, error)) {
        job_plan_release(job, &own);
        return false;
    }
    run.data = job->text ? &data : NULL;
    plan_place(plan);
    trace_init(&out->trace);
    GError *failure = NULL;
    bool ok = job->engine->run(&run, &out->trace, &failure);
    if (!ok && out->trace.n_steps > 0)
        trace_label(&out->trace, "partial", "%u of %u steps, then the run failed", out->trace.n_steps,
                    e->steps);
    out->there = out->trace.n_steps > 0 && analyze(&out->trace, &out->analysis, failure ? NULL : &failure);
    ok = ok && (out->there || out->trace.n_steps == 0);
    bool stuck = g_error_matches(failure, ENGINE_ERROR, ENGINE_ERROR_STUCK);
    if (failure)
        g_propagate_error(error, failure);
    if (out->there)
        label_trace(job, e->shape, &out->trace);
    else
        trace_release(&out->trace);
    if (!stuck) /* a thread that hangs still has it */
        job_plan_release(job, &own);
    return ok;
}
