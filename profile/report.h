/* profile/report.h -- an analysis for people (text) and programs (JSON, doc/formats.md parprof.report/1). */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "profile/analyze.h"

/* Everything a report shows.  Borrowed. */
struct report {
    const struct trace *trace;       /* the run, or the simulation where nothing is run */
    const struct analysis *analysis; /* NULL: no step was completed */
    const struct trace *predicted;   /* the simulator's step for the same plan; may be NULL */
    const struct analysis *predicted_analysis;
    const struct trace
        *unoverlapped; /* the same step with overlap none; NULL, or ignored if that is the run */
    const struct analysis *unoverlapped_analysis;
    const char *backend;
    /* key, value, ... ends with NULL: the options that define the work ("overlap" names the run's row in the
     * summary), and the environment; may be NULL */
    const char *const *options, *const *environment;
};

const char *report_overlap(const struct report *); /* the option, NULL where there is none */
bool report_compares(
    const struct report *); /* whether there is an unoverlapped step, and it is not the run */
double report_error_percent(const struct report *); /* of the prediction, by what was measured */

/* The tables of the summary: buckets, then phases by overlap, then one sentence on what overlap saved and the
 * loss. UTF-8; names are made printable. */
void report_print(const struct report *, GString *out);
void report_json(const struct report *, GString *out);

#endif
