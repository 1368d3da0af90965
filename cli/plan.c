#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "cli/output.h"

static bool one_overlap(const struct job *job, GError **error)
{
    if (job->n_overlaps == 1)
        return true;
    g_set_error(error, OPTION_ERROR, 0, "--overlap takes one word here: a plan is of one overlap");
    return false;
}

static bool plan_command(const struct options *o, int *status, GError **error)
{
    (void)status;
    const char *format = option_text(o, OPTION_FORMAT, "table"), *path = option_text(o, OPTION_OUTPUT, "-");
    bool json = !strcmp(format, "json"), ok;
    struct job job = {0};
    struct plan plan = {0};
    g_autoptr(GString) out = g_string_new(NULL);
    if (!json && strcmp(format, "table")) {
        g_set_error(error, OPTION_ERROR, 0, "--format takes table or json, not '%s'", format);
        return false;
    }
    ok = job_open(&job, o, error) && one_overlap(&job, error) && output_check(path, error) &&
         plan_make(job.mode, &job.shape, &plan, error);
    if (ok) {
        (json ? plan_write_json : plan_write_table)(&plan, out);
        ok = output_write(path, out->str, out->len, error);
        plan_release(&plan);
    }
    job_release(&job);
    return ok;
}

const struct command command_plan = {"plan", "the plan without running it: buckets, operations",
                                     plan_command};
