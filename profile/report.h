/* profile/report.h -- an analysis for people (text) and programs (JSON, doc/formats.md parprof.report/1). */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "profile/analyze.h"

/* Everything a report shows.  Borrowed. */
struct report {
    const struct trace *trace;                /* the run, or the simulation where nothing is run */
    const struct analysis *analysis;
    const struct trace *predicted;            /* the simulator's step for the same plan; may be NULL */
    const struct analysis *predicted_analysis;
    const struct trace *unoverlapped;         /* the same step with overlap none; may be NULL */
    const struct analysis *unoverlapped_analysis;
    const char *backend;
    /* key, value, ... ends with NULL: the options that define the work, and the environment */
    const char *const *options, *const *environment;
};

/* The tables of the summary: buckets, then phases by overlap, then one sentence on what overlap saved and the loss. */
void report_print(const struct report *, GString *out);
void report_json(const struct report *, GString *out);

#endif
