/* profile/index.h -- where the spans of a rank in a step are, and when they keep it busy. */
#ifndef PROFILE_INDEX_H
#define PROFILE_INDEX_H

#include "profile/interval.h"
#include "profile/trace.h"

/* All spans of a step on a lane lie in [begin, end); in an engine's own trace nothing else does. */
struct slice {
    size_t begin, end;
};

struct index {
    const struct trace *trace;
    uint32_t *step; /* of each span; one of no op counts to the step of the span before it on its lane */
    struct slice *slices; /* [lane * n_steps + step] */
    int64_t *arrival_ns;  /* of pipelines, by op: gang_arrivals; else NULL */
};

/* Every op is of a step, lane and rank that the trace has. */
void index_init(struct index *, const struct trace *);
void index_release(struct index *);

/* The rank's spans of the step, lane after lane, each in order of start.  g_array_unref. */
GArray *index_spans(const struct index *, uint32_t step, uint32_t rank, unsigned span_class); /* size_t */
/* Where a span begins to be busy: of communication in a pipeline, when the last member of its gang was there, or its end. */
int64_t index_start(const struct index *, size_t span);
/* Union of a rank's spans of a class, or of a phase (but those of hosts), in a step.  intervals_release. */
struct intervals index_busy(const struct index *, uint32_t step, uint32_t rank, unsigned span_class);
struct intervals index_phase(const struct index *, uint32_t step, uint32_t rank, unsigned phase);
/* From the first start to the last end of what a device did; {INT64_MAX, INT64_MIN} where the rank did
 * nothing. */
struct interval index_window(const struct index *, uint32_t step, uint32_t rank);

#endif
