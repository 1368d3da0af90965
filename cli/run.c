#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/job.h"
#include "cli/predict.h"
#include "cli/summary.h"
#include "profile/report.h"

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

/* The first SIGINT asks for a partial report; a second one ends the program the hard way. */
static void catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
}

static void show_progress(void *user, uint32_t done, uint32_t of)
{
    const char *what = user;
    fprintf(stderr, done < of ? "\r%s: step %" PRIu32 " of %" PRIu32 " " : "\r\033[K", what, done, of);
}

/* One overlap: run, or simulated where nothing is run; and in the first case, what the simulator expected. */
struct attempt {
    uint8_t overlap;
    struct outcome outcome, predicted;
};

/* What one command found.  The last attempt is the main one. */
struct results {
    struct attempt attempts[OVERLAPS];
    unsigned n;
    struct outcome apart;        /* without overlap, predicted: where no attempt is */
    struct cost_table *measured; /* of a real run, made without overlap */
};

static void results_release(struct results *r)
{
    for (unsigned i = 0; i < r->n; i++) {
        outcome_release(&r->attempts[i].outcome);
        outcome_release(&r->attempts[i].predicted);
    }
    outcome_release(&r->apart);
    g_clear_pointer(&r->measured, cost_table_free);
}

static const struct attempt *results_main(const struct results *r)
{
    return &r->attempts[r->n - 1];
}

static bool execute(const struct job *job, const struct options *o, const struct shape *shape,
                    uint32_t warmup, uint32_t steps, const char *what, struct outcome *out, GError **error)
{
    struct plan plan;
    *out = (struct outcome){0};
    if (!plan_make(job->mode, shape, &plan, error))
        return false;
    plan_place(&plan);
    struct run run = {.plan = &plan,
                      .model = job->model,
                      .warmup = warmup,
                      .steps = steps,
                      .seed = option_number(o, OPTION_SEED, 1),
                      .lr = job->lr,
                      .momentum = job->momentum,
                      .clip_norm = job->clip_norm,
                      .data = option_text(o, OPTION_DATA, NULL),
                      .link_gbps = job->link_gbps,
                      .link_us = job->link_us,
                      .cancel = &cancelled,
                      .progress = isatty(STDERR_FILENO) && !o->given[OPTION_QUIET] ? show_progress : NULL,
                      .user = (void *)what};
    trace_init(&out->trace);
    bool ok = job->engine->run(&run, &out->trace, error);
    out->there = ok && out->trace.n_steps > 0 && analyze(&out->trace, &out->analysis, error);
    ok = ok && (out->there || out->trace.n_steps == 0);
    if (out->there)
        label_trace(job, shape, &out->trace);
    else
        trace_release(&out->trace);
    plan_release(&plan);
    return ok;
}

/* Measures each op's cost in a pass without overlap. */
static bool calibrate(struct job *job, const struct options *o, struct results *r, GError **error)
{
    struct shape apart = job_shape(job, OVERLAP_NONE);
    struct outcome calibration;
    uint32_t steps = MIN(option_number(o, OPTION_STEPS, 10), CALIBRATION_STEPS);
    if (!execute(job, o, &apart, CALIBRATION_WARMUP, steps, "measuring costs", &calibration, error))
        return false;
    if (calibration.there) {
        job->rank_speed = g_new(double, calibration.trace.t.n_ranks);
        r->measured = trace_costs_of_fastest(&calibration.trace, job->rank_speed);
    }
    outcome_release(&calibration);
    return true;
}

/* What there is to compare with where no attempt is without overlap; the first iteration never overlaps. */
static bool predict_apart(const struct job *job, const struct cost_model *costs, struct results *r,
                          GError **error)
{
    struct shape apart = job_shape(job, OVERLAP_NONE);
    return job->shape.ranks == 1 || job->shape.first_iteration ||
           memchr(job->overlaps, OVERLAP_NONE, job->n_overlaps) ||
           predict(job, &apart, costs, &r->apart, error);
}

/* Runs each overlap, after the simulator has said what it expects.  An interrupt leaves what is there by
 * then. */
static bool run_real(struct job *job, const struct options *o, struct results *r, GError **error)
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
        struct attempt *attempt = &r->attempts[r->n];
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

static bool run_simulated(const struct job *job, struct results *r, GError **error)
{
    for (unsigned i = 0; i < job->n_overlaps; i++) {
        struct shape shape = job_shape(job, job->overlaps[i]);
        r->attempts[i] = (struct attempt){.overlap = shape.overlap};
        if (!predict(job, &shape, job->costs, &r->attempts[i].outcome, error))
            return false;
        r->n++;
    }
    return predict_apart(job, job->costs, r, error);
}

static struct variant as_variant(const char *name, const struct outcome *o, const struct outcome *predicted)
{
    return (struct variant){name, &o->trace, &o->analysis, predicted->there ? &predicted->analysis : NULL};
}

/* All but the main one, what is without overlap first; at most OVERLAPS.  Returns how many. */
static uint32_t list_others(const struct results *r, struct variant *others)
{
    const struct outcome none = {0};
    uint32_t n = 0;
    if (r->apart.there)
        others[n++] = as_variant(overlap_name(OVERLAP_NONE), &r->apart, &none);
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i + 1 < r->n; i++) {
            const struct attempt *a = &r->attempts[i];
            if ((a->overlap == OVERLAP_NONE) == (pass == 0))
                others[n++] = as_variant(overlap_name(a->overlap), &a->outcome, &a->predicted);
        }
    return n;
}

/* The summary's last line: what was written, and a next command worth trying. */
static void closing_line(const struct job *job, const struct options *o, const struct files *f,
                         const struct report *report, const struct results *r, bool wrote, GString *out)
{
    const struct attempt *main = results_main(r);
    const struct cost_model *costs = r->measured ? cost_table_model(r->measured) : job->costs;
    int64_t predicted_ns = (main->predicted.there ? &main->predicted : &main->outcome)->analysis.median_ns,
            best_ns;
    double best = job->shape.ranks > 1 ? predict_best_bucket(job, costs, predicted_ns, &best_ns) : 0;
    if (wrote)
        files_name(f, report, out);
    else
        g_string_append(out, "not all was written; ");
    if (best > 0)
        g_string_append_printf(out, "try --bucket-mb %g (predicted %.1f ms instead of %.1f)\n", best,
                               best_ns / 1e6, predicted_ns / 1e6);
    else if (job->engine->real)
        g_string_append(out, "try --backend sim --model bert-base\n");
    else
        g_string_append_printf(out, "try parprof plan --model %s\n",
                               option_text(o, OPTION_MODEL, job->model->name));
}

static bool conclude(const struct job *job, const struct options *o, const struct files *f,
                     const struct results *r, GError **error)
{
    struct summary summary;
    struct variant others[OVERLAPS];
    const struct attempt *main = results_main(r);
    g_autoptr(GString) out = g_string_new(NULL);
    summary_init(&summary, job, o);
    struct report report = {.trace = &main->outcome.trace,
                            .analysis = &main->outcome.analysis,
                            .others = others,
                            .n_others = list_others(r, others),
                            .tokens = job->model->task == TASK_TOKENS,
                            .backend = job->engine->name,
                            .options = summary.options,
                            .environment = summary.environment};
    if (main->predicted.there)
        report.predicted_analysis = &main->predicted.analysis;
    bool ok = files_write(f, &report, error);
    if (!o->given[OPTION_QUIET]) {
        summary_head(job, o, report.trace, out);
        report_print(&report, out);
        closing_line(job, o, f, &report, r, ok, out);
        /* Text for people gives way to a file that goes to standard output. */
        fputs(out->str, files_take_stdout(f) ? stderr : stdout);
    }
    summary_release(&summary);
    return ok;
}

static bool run_command(const struct options *o, int *status, GError **error)
{
    struct job job;
    struct files files = {0};
    struct results results = {0};
    catch_interrupt();
    bool ok = job_open(&job, o, error) && files_check(&files, job.mode->name, o, error) &&
              (job.engine->real ? run_real(&job, o, &results, error) : run_simulated(&job, &results, error));
    if (ok && cancelled)
        *status = EXIT_INTERRUPTED;
    if (ok && results.n) {
        job.shape.overlap =
            results_main(&results)->overlap; /* an interrupt may have kept the last from running */
        ok = conclude(&job, o, &files, &results, error);
    } else if (ok) {
        fputs("parprof: interrupted before the first measured step: nothing to report\n", stderr);
    }
    results_release(&results);
    job_release(&job);
    return ok;
}

const struct command command_run = {"run", "run a training mode on what is here, or simulate it",
                                    run_command};
