/* profile/analyze.h -- what a trace says, by definitions that sum exactly.
 *
 * Half-open integer-ns intervals.  U(c) is the union of compute spans of a rank in a step, U(m) of
 * communication, U(x) of copies.  The window of a rank in a step runs from its first start to its last end.
 *   compute = |U(c)|; exposed_comm = |U(m) - U(c)|; exposed_copy = |U(x) - U(c) - U(m)|; idle = the rest of
 * the window (the partition of TraceLens, AMD).  compute + exposed_comm + exposed_copy + idle = window,
 * asserted.
 *
 * A pipeline posts its receives long before their senders send: there U(m) holds, of a member of a gang, only what follows
 * the start of the last member (its transfer), whatever it is a part of; the waiting before is idle, unless the rank
 * computes or copies meanwhile.  Elsewhere waiting for peers is communication, with a cause.
 *
 * Causes: each ns of U(m) - U(c) has one, and belongs to the span that began first of those that cover it.
 * Before the last rank of its gang arrived it is for a late peer.  What is left of a bucket's (or of another
 * collective's) is, at most, launch - ready for a late launch; then, at most, what of launch to start the
 * rank spends on communication for queueing behind an earlier collective; and the rest for the end of
 * backward, if the bucket was not ready before it, else for bandwidth.  They sum to exposed_comm, asserted.
 *
 * Spans of hosts (launches) keep no device busy: they are in no union and no window.
 *
 * Launch-bound: a span of computation that begins after a gap on its lane, in its step, could have begun when
 * the gap began and what its op depends on had ended (ready_ns); it waited for its launch from then to the
 * end of the call that launched it, or to its start if that is earlier.  launch_wait is the length of the
 * union of these over the lanes of a rank, without U(c).  The k-th of an op's spans, by start, is launched by
 * the k-th of its launches; of an op with unequally many of both nothing is known, and nothing counted.
 */
#ifndef PROFILE_ANALYZE_H
#define PROFILE_ANALYZE_H

#include "profile/pipeline.h"
#include "profile/trace.h"

struct partition {
    int64_t compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns, window_ns;
    int64_t comm_ns, hidden_comm_ns; /* |U(m)|, |U(m) and U(c)|: comm = hidden + exposed */
};

/* A bucket's all-reduce in the median step on its slowest rank or, where that takes no part in it, on the rank where it
 * ends last; from the start of that rank's backward. */
struct bucket_times {
    int64_t ready_ns;  /* its last gradient is packed */
    int64_t launch_ns; /* ... and every bucket before it is launched (PyTorch launches in order) */
    int64_t start_ns, end_ns;
    int64_t hidden_ns;  /* of [start, end), beside compute */
    int64_t exposed_ns; /* as bucket_causes: buckets and what is of none sum to the rank's exposed_comm */
    int64_t copied_ns;             /* of hidden_ns: beside PACK and UNPACK alone */
    int64_t transfer_ns;           /* the shortest [start, end) of any rank: without the waiting for others */
    uint32_t members;              /* ranks that take part */
    uint32_t rank; /* that, the lowest among equals; OP_NONE: not reduced, no times */
};

enum cause {
    CAUSE_LATE_PEER,       /* waits for the last rank */
    CAUSE_LATE_LAUNCH,     /* ready, but an earlier bucket was not */
    CAUSE_QUEUE,           /* launched, but behind an earlier collective */
    CAUSE_END_OF_BACKWARD, /* ready only when nothing was left to overlap with */
    CAUSE_BANDWIDTH,       /* in time, and yet longer than the computation beside it */
    CAUSES
};
const char *cause_name(unsigned cause); /* "late_peer" */

/* Exposed time by cause. */
struct causes {
    int64_t ns[CAUSES];
    uint32_t late_rank;   /* the peer waited for longest, the lowest among equals; OP_NONE: none */
    int64_t late_rank_ns; /* of ns[CAUSE_LATE_PEER], what was for that one */
};

struct analysis {
    uint32_t n_steps, n_ranks, n_buckets;
    struct partition *partition; /* [step * n_ranks + rank] */
    int64_t *step_ns;            /* per step: from the first start to the last end of all ranks */
    uint32_t median_step;        /* whose step_ns is median_ns, the first such */
    uint32_t slowest_rank;       /* of the median step: the longest window; the lowest rank among equals */
    int64_t median_ns, min_ns, max_ns; /* of step_ns; median: the lower of the middle two, a step that was */
    int64_t ci95_ns[2]; /* of the median, by order statistics (binomial); min and max when n < CI95_SAMPLES */
    int64_t phase_ns[PHASES]; /* busy time by phase of the slowest rank in the median step */
    /* Of that rank's members of gangs in the median step, in sum: transfer, what the fastest member of the
     * gang took, and wait, what its own took longer. */
    int64_t transfer_ns, wait_ns;
    int64_t launch_wait_ns; /* of that rank in the median step; -1: its launches are not known */
    double
        slowdown_percent; /* of computation by communication beside it (profile/slowdown.h); NAN: unknown */
    int64_t backward_start_ns,
        backward_end_ns; /* of that rank: first BWD start, last BWD or PACK end; absolute */
    struct bucket_times *buckets;
    struct causes *causes; /* of each rank in the median step */
    /* ... and of its communication by bucket, [rank * (n_buckets + 1) + bucket]; row n_buckets: of none */
    struct causes *bucket_causes;
    struct pipeline_times *pipeline; /* of the median step; NULL: no pipeline */
};

/* Whether that rank waits for launches for at least LAUNCH_BOUND_PERCENT of its window. */
#define LAUNCH_BOUND_PERCENT 10
bool analysis_launch_bound(const struct analysis *);

/* What nccl-tests call the bandwidths of an all-reduce, in bytes a second: algorithm's, bytes / transfer, and
 * bus's, that times 2 (n - 1) / n for n members, which is what a link must carry whatever n is.  False: fewer
 * than two members, or no time. */
bool bucket_bandwidth(const struct bucket_times *, uint64_t bytes, double *algorithm, double *bus);

/* A step done otherwise, to compare with: another overlap.  Borrowed. */
struct variant {
    const char *name; /* "none" */
    const struct trace *trace;
    const struct analysis *analysis;
    const struct analysis *predicted; /* by the simulator, where the step was run; may be NULL */
};

/* False with an error, and nothing to release, when the trace has no complete step.  A span of no op counts
 * to the step of the span before it on its lane. */
bool analyze(const struct trace *, struct analysis *, GError **);
void analysis_release(struct analysis *);

/* Of n >= 1 ascending samples: the innermost symmetric pair of order statistics that holds the median with at
 * least 95 %; the extremes where n < CI95_SAMPLES,
 * of which no pair does. */
#define CI95_SAMPLES 6
void samples_ci95(const int64_t *sorted, uint32_t n, int64_t *ci95);

#define ANALYZE_ERROR (analyze_error_quark())
GQuark analyze_error_quark(void);
enum { ANALYZE_ERROR_EMPTY, ANALYZE_ERROR_INVALID };

#endif
