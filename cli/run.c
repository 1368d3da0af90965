#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "cli/output.h"
#include "cli/predict.h"
#include "cli/summary.h"
#include "profile/export.h"
#include "profile/report.h"
#include "viz/figure.h"

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

/* Where the results of one command go, and what they are. */
struct results {
    struct outcome main, predicted, unoverlapped;
    struct cost_table *measured; /* of a real run, made without overlap */
};

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
                      .lr = option_number(o, OPTION_LR, 0.1),
                      .link_gbps = job->link_gbps,
                      .link_us = job->link_us,
                      .cancel = &cancelled,
                      .progress = isatty(STDERR_FILENO) && !o->given[OPTION_QUIET] ? show_progress : NULL,
                      .user = (void *)what};
    trace_init(&out->trace);
    bool ok = job->engine->run(&run, &out->trace, error);
    out->there = ok && out->trace.n_steps > 0 && analyze(&out->trace, &out->analysis, error);
    ok = ok && (out->there || out->trace.n_steps == 0);
    if (!out->there)
        trace_release(&out->trace);
    plan_release(&plan);
    return ok;
}

/* A real run: measures each op's cost in a pass without overlap, has the simulator predict the step from
 * them, then runs it.  An interrupt leaves what is there by then. */
static bool run_real(const struct job *job, const struct options *o, struct results *r, GError **error)
{
    struct shape apart = job->shape;
    struct outcome calibration;
    uint32_t steps = option_number(o, OPTION_STEPS, 10), warmup = option_number(o, OPTION_WARMUP, 2);
    apart.overlap = OVERLAP_NONE;
    if (!execute(job, o, &apart, CALIBRATION_WARMUP, MIN(steps, CALIBRATION_STEPS), "measuring costs",
                 &calibration, error))
        return false;
    if (calibration.there)
        r->measured = trace_costs(&calibration.trace);
    outcome_release(&calibration);
    if (cancelled)
        return true;
    const struct cost_model *costs = cost_table_model(r->measured);
    if (!predict(job, &job->shape, costs, &r->predicted, error) ||
        (job->shape.ranks > 1 && !predict(job, &apart, costs, &r->unoverlapped, error)))
        return false;
    return execute(job, o, &job->shape, warmup, steps, "running", &r->main, error);
}

static bool run_simulated(const struct job *job, struct results *r, GError **error)
{
    struct shape apart = job->shape;
    apart.overlap = OVERLAP_NONE;
    return predict(job, &job->shape, job->costs, &r->main, error) &&
           (job->shape.ranks == 1 || predict(job, &apart, job->costs, &r->unoverlapped, error));
}

/* The files that were asked for, checked before anything runs. */
struct files {
    const struct figure *kind; /* NULL: no figure */
    const struct draw_ops *draw;
    const char *figure, *trace, *report;
};

static bool write_figure(const struct files *f, const struct results *r, GError **error)
{
    struct figure_input input = {&r->main.trace, &r->main.analysis,
                                 r->unoverlapped.there ? &r->unoverlapped.trace : NULL,
                                 r->unoverlapped.there ? &r->unoverlapped.analysis : NULL};
    struct figure_options options = {.width = 1280, .height = 720};
    GBytes *bytes = figure_render(f->kind, &input, &options, f->draw, error);
    if (!bytes)
        return false;
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);
    bool ok = output_write(f->figure, data, n, error);
    g_bytes_unref(bytes);
    return ok;
}

static bool files_check(struct files *f, const struct job *job, const struct options *o, GError **error)
{
    const char *kind = option_text(o, OPTION_FIGURE, figures[0]->name);
    g_autofree char *standard = g_strdup_printf("parprof-%s.svg", job->mode->name);
    f->kind = figure_find(kind);
    if (!f->kind && strcmp(kind, "none")) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--figure takes a name that 'parprof list' shows, or none, not '%s'", kind);
        return false;
    }
    f->figure = f->kind ? option_text(o, OPTION_OUTPUT, g_intern_string(standard)) : NULL;
    f->trace = option_text(o, OPTION_TRACE, NULL);
    f->report = option_text(o, OPTION_REPORT, NULL);
    if (f->figure && strcmp(f->figure, "-") && !g_str_has_suffix(f->figure, ".svg")) {
        g_set_error(error, OPTION_ERROR, 0, "--output takes a name that ends in .svg, not '%s'", f->figure);
        return false;
    }
    if (!f->kind && o->given[OPTION_OUTPUT]) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--output is the figure's file, and --figure none asks for no figure");
        return false;
    }
    if (output_same(f->figure, f->trace) || output_same(f->figure, f->report) ||
        output_same(f->trace, f->report)) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--output, --trace and --report would overwrite each other: name a file each");
        return false;
    }
    return (!f->figure || output_check(f->figure, error)) && (!f->trace || output_check(f->trace, error)) &&
           (!f->report || output_check(f->report, error)) && (!f->kind || (f->draw = draw_open(error)));
}

/* Writes all that can be written; the error is the first. */
static bool files_write(const struct files *f, const struct results *r, const struct report *report,
                        GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool ok = true;
    if (f->report) {
        report_json(report, text);
        ok = output_write(f->report, text->str, text->len, error);
    }
    if (f->trace) {
        g_string_truncate(text, 0);
        export_chrome(&r->main.trace, text);
        ok &= output_write(f->trace, text->str, text->len, ok ? error : NULL);
    }
    if (f->figure)
        ok &= write_figure(f, r, ok ? error : NULL);
    return ok;
}

/* "wrote FIGURE (step 3 of 10, the median), TRACE; ", or nothing. */
static void written(const struct files *f, const struct results *r, GString *out)
{
    const struct trace *trace = &r->main.trace;
    const char *before = "wrote ";
    if (f->figure) {
        g_string_append_printf(out, "%s%s", before, f->figure);
        before = ", ";
        if (trace->n_steps > 1)
            g_string_append_printf(out, " (step %u of %u, the median)", r->main.analysis.median_step + 1,
                                   trace->n_steps);
    }
    if (f->trace) {
        g_string_append_printf(out, "%s%s", before, f->trace);
        before = ", ";
    }
    if (f->report)
        g_string_append_printf(out, "%s%s", before, f->report);
    if (f->figure || f->trace || f->report)
        g_string_append(out, "; ");
}

/* The summary's last line: what was written, and a next command worth trying. */
static void closing_line(const struct job *job, const struct options *o, const struct files *f,
                         const struct results *r, bool wrote, GString *out)
{
    const struct cost_model *costs = r->measured ? cost_table_model(r->measured) : job->costs;
    int64_t predicted_ns = (r->predicted.there ? &r->predicted : &r->main)->analysis.median_ns, best_ns;
    double best = job->shape.ranks > 1 ? predict_best_bucket(job, costs, predicted_ns, &best_ns) : 0;
    if (wrote)
        written(f, r, out);
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
    g_autoptr(GString) out = g_string_new(NULL);
    summary_init(&summary, job, o);
    struct report report = {.trace = &r->main.trace,
                            .analysis = &r->main.analysis,
                            .backend = job->engine->name,
                            .options = summary.options,
                            .environment = summary.environment};
    if (r->predicted.there) {
        report.predicted = &r->predicted.trace;
        report.predicted_analysis = &r->predicted.analysis;
    }
    if (r->unoverlapped.there) {
        report.unoverlapped = &r->unoverlapped.trace;
        report.unoverlapped_analysis = &r->unoverlapped.analysis;
    }
    bool ok = files_write(f, r, &report, error);
    if (!o->given[OPTION_QUIET]) {
        summary_head(job, o, &r->main.trace, out);
        report_print(&report, out);
        closing_line(job, o, f, r, ok, out);
        /* Text for people gives way to a file that goes to standard output. */
        bool taken = (f->figure && !strcmp(f->figure, "-")) || (f->trace && !strcmp(f->trace, "-")) ||
                     (f->report && !strcmp(f->report, "-"));
        fputs(out->str, taken ? stderr : stdout);
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
    bool ok = job_open(&job, o, error) && files_check(&files, &job, o, error) &&
              (job.engine->real ? run_real(&job, o, &results, error) : run_simulated(&job, &results, error));
    if (ok && cancelled)
        *status = EXIT_INTERRUPTED;
    if (ok && results.main.there)
        ok = conclude(&job, o, &files, &results, error);
    else if (ok)
        fputs("parprof: interrupted before the first measured step: nothing to report\n", stderr);
    outcome_release(&results.main);
    outcome_release(&results.predicted);
    outcome_release(&results.unoverlapped);
    g_clear_pointer(&results.measured, cost_table_free);
    job_release(&job);
    return ok;
}

const struct command command_run = {"run", "run a training mode on what is here, or simulate it",
                                    run_command};
