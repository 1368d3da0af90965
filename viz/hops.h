/* viz/hops.h -- an all-reduce of a trace, hop by hop: who sends which chunk to whom, and what is summed up in it. */
#ifndef VIZ_HOPS_H
#define VIZ_HOPS_H

#include "profile/trace.h"

/* What a member sends in a hop. */
struct hop_move {
    uint32_t hop, from, to; /* members, numbered in rank order */
    uint32_t chunk;         /* OP_NONE: the whole buffer */
    uint64_t bytes;
    bool adds;          /* to what the receiver has; else it replaces that */
    uint32_t n_summed;  /* members whose parts are in what is sent */
    uint64_t summed;    /* which, as bits; 0 where there are more than HOPS_NAMED members */
};
#define HOPS_NAMED 64

struct hop_times {
    int64_t ns;     /* the longest of its transfers, from the arrival of the last of its members */
    uint64_t bytes; /* the most that a member sends */
    bool adds;
};

struct hops {
    enum allreduce algo;
    uint32_t n;       /* members */
    uint32_t *ranks;  /* theirs, rising */
    uint32_t n_hops;
    struct hop_times *hops;
    GArray *moves; /* struct hop_move, by hop, then sender */
    uint64_t bytes; /* of the buffer */
    uint32_t bucket; /* OP_NONE: none */
    int64_t sum_ns; /* of all-to-all: the addition behind the hops; -1: none */
};

/* The first all-reduce of that step which is in hops.  False, and nothing to release: there is none. */
bool hops_collect(struct hops *, const struct trace *, uint32_t step);
void hops_release(struct hops *);

#endif
