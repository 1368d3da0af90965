/* profile/report-pipeline.h -- a pipeline's part of summary and report; profile/pipeline.h defines its
 * numbers. */
#ifndef PROFILE_REPORT_PIPELINE_H
#define PROFILE_REPORT_PIPELINE_H

#include "profile/report.h"

/* A table of the ranks, then makespan, bubble by both conventions, period, exposed sends, slowest stage.  The
 * report's analysis has a pipeline. */
void report_pipeline(const struct report *, GString *out);
/* The report's member "pipeline", a comma before it. */
void pipeline_json(const struct trace *, const struct pipeline_times *, GString *out);

/* Of each step and rank, [step * ranks + rank], what the rank idles between the first start and the last end of actions:
 * idle_ns of struct pipeline_rank.  NULL where there is no pipeline.  g_free */
int64_t *pipeline_bubbles(const struct trace *);

#endif
