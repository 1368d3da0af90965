/* cli/plan-file.h -- a job whose plan comes from a file, as `parprof plan --format json` writes it. */
#ifndef CLI_PLAN_FILE_H
#define CLI_PLAN_FILE_H

#include "cli/job.h"

/* As job_open, for a plan that is there: reads it ("-": standard input), proves it, and for an engine that executes proves
 * too that its kernels may be given it.  Options that would define a plan are refused, for the plan says it; of those that
 * say how it is run, --momentum and --clip-grad-norm are demanded where the plan has what they belong to and it is
 * executed.  Release also after a failure. */
bool plan_file_open(struct job *, const char *path, const struct options *, GError **);

#endif
