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

#endif
