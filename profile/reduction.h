/* profile/reduction.h -- when each rank ran backward, and its part in the all-reduce of each bucket. */
#ifndef PROFILE_REDUCTION_H
#define PROFILE_REDUCTION_H

#include "profile/interval.h"
#include "profile/trace.h"

struct reduction {
    int64_t ready_ns;  /* of its first op */
    int64_t launch_ns; /* when it and every bucket before it were ready */
    int64_t start_ns, end_ns;
    bool exists;
};

struct rank_times {
    struct interval backward; /* first BWD start, last BWD or PACK end; {INT64_MAX, INT64_MIN}: none */
    struct reduction *reductions;
};

/* Of each rank in a step; absolute times. */
struct rank_times *rank_times_new(const struct trace *, uint32_t step, uint32_t n_buckets);
void rank_times_free(struct rank_times *, uint32_t n_ranks);

#endif
