/* tests/report-run.h -- a run of two ranks by hand, and what it would be without overlap, for reports. */
#ifndef TESTS_REPORT_RUN_H
#define TESTS_REPORT_RUN_H

#include "profile/report.h"

#define US INT64_C(1000)

struct fixture {
    struct trace run, predicted, unoverlapped;
    struct analysis run_analysis, predicted_analysis, unoverlapped_analysis;
    struct variant none;
    struct report report;
};

/* Options of the run with overlap, and without. */
extern const char *const overlapping[5], *const apart[3];

/* Two ranks: forward 84.1 ms, backward 171.6, buckets of 21.0 (hidden) and 28.2 ms (exposed), optimizer 14.0. */
void fixture_init(struct fixture *);
void fixture_analyze(struct fixture *); /* anew, what fixture_init leaves analysed */
void fixture_release(struct fixture *);

/* To every step of 400 ms, from its start. */
void run_add(struct trace *, unsigned kind, uint32_t rank, uint32_t bucket, int64_t start_us, int64_t end_us);
/* One rank beside others, all of its phases in a row. */
void make_row(struct trace *, uint32_t ranks, int64_t comm_us, int64_t other_us);
/* The run as GPUs have it: ops of two kernels with a gap of 20 ms before the second that the host is late for in forward,
 * and facts. */
void make_device_run(struct fixture *);

#endif
