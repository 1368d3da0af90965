/* tests/scene.h -- makes traces of DDP steps by hand, so that figures are tested without planner and engines.
 */
#ifndef TESTS_SCENE_H
#define TESTS_SCENE_H

#include "profile/trace.h"

struct scene_spec {
    const char *mode, *model, *block;             /* block: what layers are called, "layer" */
    uint32_t ranks, layers, buckets, hops, steps; /* buckets 0: nothing is communicated */
    uint32_t micro;                               /* micro-batches; 0 counts as 1 */
    bool by_bucket;                               /* an optimizer step a bucket, as it arrives */
    bool broadcast;                               /* the weights, before anything else */
    bool overlap, simulated;
    int64_t layer_ns, bucket_ns; /* a forward of half a layer; all of a bucket's hops */
    double skew;                 /* how much slower the last rank computes: 0.1 is a tenth */
    double jitter;               /* of every duration, up to that part of it */
    uint32_t seed;
};

/* A step of bert-base on four ranks, 13 buckets of 25 MiB. */
struct scene_spec scene_bert(void);
/* At random, from GLib's seed; the second: log-uniform. */
struct scene_spec scene_random(void);
int64_t scene_pick(int64_t low, int64_t high);
void scene_make(const struct scene_spec *, struct trace *);

#endif
