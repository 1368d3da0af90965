/* profile/measurement.h -- what one run measured, to be compared: out of a report, or a line of a history.
 *
 * A step's sample is that of the rank with the most: the step is over when its slowest rank is.  Of the bubble it is the
 * mean over the ranks, as bubbles are counted; overlap is hidden of all communication, of all ranks.  Peak memory is one
 * number, of the rank with the most: measured where it was, else planned.
 */
#ifndef PROFILE_MEASUREMENT_H
#define PROFILE_MEASUREMENT_H

#include "profile/fingerprint.h"
#include "profile/metric.h"

/* Of the slowest rank in the median step, in ns: the step, and of it what was busy by phase or communicated alone. */
enum measurement_part {
    MEASUREMENT_STEP,
    MEASUREMENT_FORWARD,
    MEASUREMENT_BACKWARD,
    MEASUREMENT_OPTIMIZER,
    MEASUREMENT_EXPOSED,
    MEASUREMENT_PARTS
};

struct measurement {
    char *name;    /* of the file, or "history.jsonl:12" */
    char *time;    /* of a history: when it was appended, ISO 8601 UTC; else NULL */
    char *verdict; /* likewise, what came of it then; NULL: it was not compared */
    char *why_not; /* it cannot be compared: "its clocks were held down (...)"; NULL: it can */
    bool simulated;
    bool shared;   /* ranks share a GPU: their exposed communication says nothing about GPUs of their own */
    struct fingerprint fingerprint;
    double *x[METRICS];   /* in the order of the steps */
    uint32_t n[METRICS];  /* 0: not measured */
    bool has_parts;
    int64_t part_ns[MEASUREMENT_PARTS];
    char *trace; /* of a report: the file of its trace, beside it; NULL: none */
};

void measurement_free(struct measurement *); /* may be NULL */

/* A report.  NULL with the error, which names file and line: it is cut, no report, contradictory.  One of a later schema
 * gives samples that cannot be compared. */
struct measurement *measurement_of_report(const char *text, size_t n, const char *name, GError **);

/* Samples that cannot be compared, as they are of a later schema, which is taken over. */
struct measurement *measurement_later(char *schema, const char *name);

/* Whether others may be compared with it: it can be, and was not called slower or incomparable itself. */
bool measurement_is_reference(const struct measurement *);

/* A line of a history (doc/formats.md parprof.history/1), with its end. */
void measurement_line(const struct measurement *, GString *out);
/* Appends the runs of a history to `runs` (struct measurement).  Lines that are cut or otherwise unreadable, as a writer that
 * was killed leaves them, are passed over and counted.  False with the error: no line was readable. */
bool measurement_of_history(const char *text, size_t n, const char *name, GPtrArray *runs, uint32_t *passed_over, GError **);

/* Whether the file is a history by its first line; else it should be a report. */
bool measurement_is_history(const char *text, size_t n);

#endif
