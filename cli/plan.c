#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "cli/output.h"
#include "plan/schedule.h"

static bool one_overlap(const struct job *job, GError **error)
{
    if (job->n_overlaps == 1)
        return true;
    g_set_error(error, OPTION_ERROR, 0, "--overlap takes one word here: a plan is of one overlap");
    return false;
}

struct format {
    const char *name;
    void (*write)(const struct job *, const struct plan *, GString *);
};

static void write_table(const struct job *job, const struct plan *plan, GString *out)
{
    (void)job;
    plan_write_table(plan, out);
}

static void write_json(const struct job *job, const struct plan *plan, GString *out)
{
    (void)job;
    plan_write_json(plan, out);
}

/* PyTorch's schedule CSV: the order of a pipeline, without what is sent. */
static void write_csv(const struct job *job, const struct plan *plan, GString *out)
{
    struct actions own = {0};
    (void)plan;
    if (!job->actions)
        pipeline_order(&job->shape, &own);
    actions_write_csv(job->actions ? job->actions : &own, out);
    actions_release(&own);
}

static const struct format formats[] = {{"table", write_table}, {"json", write_json}, {"csv", write_csv}};

static const struct format *find_format(const struct job *job, const struct options *o, GError **error)
{
    const char *name = option_text(o, OPTION_FORMAT, formats[0].name);
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (!strcmp(name, formats[i].name) && (formats[i].write != write_csv || job->mode == &mode_pipeline))
            return &formats[i];
    if (strcmp(name, "csv"))
        option_unknown(error, OPTION_FORMAT, name, "table, json or csv");
    else
        g_set_error(error, OPTION_ERROR, 0,
                    "--format csv is for the schedules of --mode pipeline, not for mode %s", job->mode->name);
    return NULL;
}

static bool plan_command(const struct options *o, int *status, GError **error)
{
    (void)status;
    const char *path = option_text(o, OPTION_OUTPUT, "-");
    const struct format *format;
    struct job job = {0};
    struct plan plan = {0};
    g_autoptr(GString) out = g_string_new(NULL);
    bool ok = job_open(&job, o, error) && (format = find_format(&job, o, error)) &&
              one_overlap(&job, error) && output_check(path, error) &&
              plan_make(job.mode, &job.shape, &plan, error);
    if (ok) {
        format->write(&job, &plan, out);
        ok = output_write(path, out->str, out->len, error);
        plan_release(&plan);
    }
    job_release(&job);
    return ok;
}

const struct command command_plan = {"plan", "the plan without running it: buckets, operations",
                                     plan_command};
