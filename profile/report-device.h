/* profile/report-device.h -- between report.c, report-json.c and digest.c: what is known of a run on devices.
 */
#ifndef PROFILE_REPORT_DEVICE_H
#define PROFILE_REPORT_DEVICE_H

#include "profile/report.h"

/* A fact that is a number; false where there is none. */
bool report_fact(const struct trace *, const char *key, uint64_t *);
bool report_nccl_estimate(const struct trace *, uint32_t bucket, uint64_t *ns);
/* The report's environment and then the trace's facts: key, value, ... NULL.  g_strfreev. */
char **report_environment(const struct report *);
bool report_on_devices(const struct trace *); /* whether it has kernels, or times of events */
/* Of the window of the slowest rank; launches are known. */
double report_launch_percent(const struct analysis *);

#define REPORT_RECORDS 5
extern const struct record_count {
    const char *fact, *key, *text; /* key: in JSON */
} report_records[REPORT_RECORDS];

/* Sentences, where there is something to say. */
void report_device(const struct report *, GString *out);

#endif
