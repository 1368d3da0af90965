/* profile/traffic.h -- what the all-reduces of gradients put on the ranks' links in a step, and how that
 * grows with the ranks.  Counted are ops of a lowered all-reduce that name a bucket; an all-reduce in one
 * piece does not say. */
#ifndef PROFILE_TRAFFIC_H
#define PROFILE_TRAFFIC_H

#include "profile/trace.h"

struct traffic {
    enum allreduce algo;
    uint32_t n_ranks, busiest_rank;
    uint64_t gradient_bytes;   /* of a rank: all buckets */
    uint64_t busiest_bytes;    /* the direction with most, of the rank with most */
    uint64_t *sent, *received; /* a rank each */
};

/* Of the trace's first step.  False, and nothing to release, where there is no such op. */
bool traffic_count(const struct trace *, struct traffic *);
void traffic_release(struct traffic *);

/* Bytes in the busiest direction of the busiest link for an all-reduce of so many bytes: 2(n-1)/n of them for
 * the ring (rounded down; chunks are whole elements), ceil(log2 n) times for the tree, whose first member
 * hears from a member a round, n-1 times for reduce-broadcast and all-to-all.  At most UINT64_MAX. */
uint64_t traffic_busiest_bytes(enum allreduce, uint32_t ranks, uint64_t bytes);

/* "ring: the busiest link carries 104.2 MiB a step, 2(n−1)/n of the gradients; with 8 ranks 182.4 MiB, with
 * 64 205.1", or nothing. */
void traffic_print(const struct trace *, GString *out);
/* The object under "traffic" in a report. */
void traffic_json(const struct traffic *, GString *out);

#endif
