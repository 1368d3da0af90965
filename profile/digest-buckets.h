/* profile/digest-buckets.h -- the buckets of a digest, from an analysis or from the "buckets" of a report. */
#ifndef PROFILE_DIGEST_BUCKETS_H
#define PROFILE_DIGEST_BUCKETS_H

#include "profile/digest.h"
#include "profile/read.h"

/* Sets buckets and backward_ns. */
void digest_make_buckets(struct digest *, const struct report *);
/* The member's value; replaces what stood before. */
void digest_read_buckets(struct json *, struct digest *);

#endif
