/* profile/report.h -- an analysis for people (text) and programs (JSON, doc/formats.md parprof.report/1). */
#ifndef PROFILE_REPORT_H
#define PROFILE_REPORT_H

#include "profile/analyze.h"
#include "profile/training.h"

/* Everything a report shows.  Borrowed. */
struct report {
    const struct trace *trace;                 /* the run, or the simulation where nothing is run */
    const struct analysis *analysis;           /* NULL: no step was completed */
    const struct analysis *predicted_analysis; /* the simulator's step for the same plan; may be NULL */
    /* Other overlaps of the same work, in the order of their rows; the run's own row comes last. */
    const struct variant *others;
    uint32_t n_others;
    bool tokens;              /* the loss is of a token each, so that it has a perplexity */
    const struct training *training; /* over epochs, of which the trace shows the last steps; NULL: none */
    struct cost_table *costs; /* what the run measured and predictions are from; NULL: nothing was run */
    const char *backend;
    const char *trace_file;   /* name of the file in the report's folder that the trace is written to; NULL: none */
    /* key, value, ... ends with NULL: the options that define the work ("overlap" names the run's row in the
     * summary), and the environment; may be NULL */
    const char *const *options, *const *environment;
};

const char *report_overlap(const struct report *); /* the option, NULL where there is none */
struct variant report_run(const struct report *);  /* the run itself, with its overlap's name */
/* The other that is without overlap, to say what overlap saves; NULL: there is none, or the run is. */
const struct variant *report_baseline(const struct report *);
double report_error_percent(const struct analysis *predicted, const struct analysis *measured);

/* The tables of the summary: buckets, then phases by overlap, then what overlap saved, why communication is
 * exposed, and the loss. UTF-8; names are made printable. */
void report_print(const struct report *, GString *out);
void report_json(const struct report *, GString *out);

#endif
