#include <stdio.h>
#include <string.h>

#include "cli/advice.h"
#include "cli/attempts.h"
#include "cli/cli.h"
#include "cli/execute.h"
#include "cli/files.h"
#include "cli/history-file.h"
#include "cli/job.h"
#include "cli/notes.h"
#include "cli/patience.h"
#include "cli/plan-file.h"
#include "cli/preset.h"
#include "cli/processes.h"
#include "cli/summary.h"
#include "profile/report.h"

static struct variant as_variant(const char *name, const struct outcome *o, const struct outcome *predicted)
{
    return (struct variant){name, &o->trace, &o->analysis, predicted->there ? &predicted->analysis : NULL};
}

/* All but the main one, what is without overlap first; at most OVERLAPS.  Returns how many. */
static uint32_t list_others(const struct attempts *r, struct variant *others)
{
    const struct outcome none = {0};
    uint32_t n = 0;
    if (r->apart.there)
        others[n++] = as_variant(overlap_name(OVERLAP_NONE), &r->apart, &none);
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i + 1 < r->n; i++) {
            const struct attempt *a = &r->list[i];
            if ((a->overlap == OVERLAP_NONE) == (pass == 0))
                others[n++] = as_variant(overlap_name(a->overlap), &a->outcome, &a->predicted);
        }
    return n;
}

/* Of modes without buckets. */
static bool print_advice(const struct job *job, const struct options *o, const struct outcome *base,
                         const struct cost_model *costs, GString *out)
{
    struct advice advice;
    if (job->mode->has_buckets || job->given)
        return false;
    advice_find(&advice, job, o, base, costs);
    const bool printed = advice_print(&advice, out);
    advice_release(&advice);
    return printed;
}

/* A next command worth trying. */
static void suggest(const struct job *job, const struct options *o, const struct attempts *r, GString *out)
{
    const struct attempt *main = attempts_main(r);
    const struct cost_model *costs = r->measured ? cost_table_model(r->measured) : job->costs;
    const struct outcome *base = main->predicted.there ? &main->predicted : &main->outcome;
    const int64_t predicted_ns = base->analysis.median_ns;
    int64_t best_ns;
    double best = job->mode->has_buckets && job->shape.ranks > 1 && !job->given
                      ? predict_best_bucket(job, costs, predicted_ns, &best_ns)
                      : 0;
    if (print_advice(job, o, base, costs, out))
        return;
    if (best > 0)
        g_string_append_printf(out, "try --bucket-mb %g (predicted %.1f ms instead of %.1f)\n", best,
                               best_ns / 1e6, predicted_ns / 1e6);
    else if (job->given && job->engine->real)
        g_string_append_printf(out, "try parprof run %s --backend sim\n", o->operands[0]);
    else if (job->given)
        g_string_append_printf(out, "try parprof run %s --backend sim --cost unit\n", o->operands[0]);
    else if (job->engine->real)
        g_string_append(out, "try --backend sim --model bert-base\n");
    else
        g_string_append_printf(out, "try parprof plan --model %s\n",
                               option_text(o, OPTION_MODEL, job->model->name));
}

/* As its report says it, which is what others are compared by. */
static bool keep(const struct report *report, const char *history, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    report_json(report, text);
    struct measurement *m = measurement_of_report(text->str, text->len, "run", error);
    const bool ok = m && history_append(history, m, NULL, error);
    measurement_free(m);
    return ok;
}

static bool conclude(const struct job *job, const struct options *o, struct files *f,
                     const struct attempts *r, struct patience *patience, GError **error)
{
    struct summary summary;
    struct variant others[OVERLAPS];
    const struct attempt *main = attempts_main(r);
    g_autoptr(GString) out = g_string_new(NULL), next = g_string_new(NULL);
    const bool quiet = o->given[OPTION_QUIET];
    summary_init(&summary, job, o);
    struct report report = {.trace = &main->outcome.trace,
                            .analysis = &main->outcome.analysis,
                            .others = others,
                            .n_others = list_others(r, others),
                            .tokens = job->model && job->model->task == TASK_TOKENS && !job->shape.loss_sum,
                            .backend = job->engine->name,
                            .options = summary.options,
                            .environment = summary.environment};
    if (main->predicted.there)
        report.predicted_analysis = &main->predicted.analysis;
    report.costs = r->measured;
    report.training = r->training.trained ? &r->training : NULL;
    patience_stage(patience, "trying what would be faster");
    if (!quiet) /* while fonts are being loaded */
        suggest(job, o, r, next);
    patience_stage(patience, files_take_stdout(f) ? NULL : "writing and drawing");
    bool ok = files_write(f, &report, error);
    if (o->given[OPTION_HISTORY])
        ok &= keep(&report, option_text(o, OPTION_HISTORY, NULL), ok ? error : NULL);
    patience_stage(patience, NULL);
    if (!quiet) {
        summary_head(job, o, report.trace, out);
        report_print(&report, out);
        notes_print(job, report.trace, out);
        if (ok)
            files_name(f, &report, out);
        else
            g_string_append(out, "not all was written; ");
        g_string_append(out, next->str);
        /* Text for people gives way to a file that goes to standard output. */
        fputs(out->str, files_take_stdout(f) ? stderr : stdout);
    }
    summary_release(&summary);
    return ok;
}

static bool run_job(const struct options *o, int *status, GError **error)
{
    struct job job;
    struct files files = {0};
    struct attempts attempts = {0};
    struct patience *patience = NULL;
    if (strcmp(option_text(o, OPTION_FIGURE, ""), "none"))
        draw_prepare();
    const char *plan = o->operands[0];
    bool ok = plan ? plan_file_open(&job, plan, o, error) : job_open(&job, o, error);
    /* A simulation has nothing to report before its end: it may be ended at once. */
    if (ok && job.engine->real)
        execute_catch_interrupt();
    ok = ok && files_check(&files, job.mode->name, o, error) &&
         (!job.engine->real || drawing_ready(&files.drawing, error));
    job.say = o->given[OPTION_QUIET] ? NULL : files_take_stdout(&files) ? stderr : stdout;
    if (ok && !o->given[OPTION_QUIET])
        patience = patience_begin(job.engine->real ? NULL : "planning and simulating", 0);
    ok = ok && attempts_make(&attempts, &job, o, error);
    if (ok && execute_cancelled())
        *status = EXIT_INTERRUPTED;
    if (attempts.n) {
        job.shape.overlap = attempts_main(&attempts)->overlap; /* the last may have been kept from running */
        ok = conclude(&job, o, &files, &attempts, patience, ok ? error : NULL) && ok;
    } else if (ok) {
        fputs("parprof: interrupted before the first measured step: nothing to report\n", stderr);
    }
    patience_end(patience);
    attempts_release(&attempts);
    /* What hangs may still look at the model; the process ends at once. */
    if (!error || !g_error_matches(*error, ENGINE_ERROR, ENGINE_ERROR_STUCK))
        job_release(&job);
    return ok;
}

static bool run_command(const struct options *given, int *status, GError **error)
{
    if (given->given[OPTION_PROCESSES])
        return processes_run(given, status, error);
    if (!given->given[OPTION_PRESET])
        return run_job(given, status, error);
    struct preset *preset = preset_load(option_text(given, OPTION_PRESET, NULL), error);
    struct options o;
    options_copy(&o, given);
    bool ok = preset && preset_apply(preset, &o, error) &&
              (preset->n_steps ? published_show(preset, &o, error) : run_job(&o, status, error));
    options_release(&o);
    preset_free(preset);
    return ok;
}

const struct command command_run = {
    "run",       "run a training mode, or a plan from a file, on what is here, or simulate it",
    run_command, "[PLAN.json]",
    0,           1};
