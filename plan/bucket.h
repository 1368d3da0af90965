/* plan/bucket.h -- PyTorch's gradient buckets.
 * Source: compute_bucket_assignment_by_size of torch/csrc/distributed/c10d/reducer.cpp (PyTorch 2.7): tensors
 * are fed in the order in which their gradients become ready; each is added, then the bucket closes if its
 * size has reached the limit; the first bucket has its own limit.  A tensor is never split. */
#ifndef PLAN_BUCKET_H
#define PLAN_BUCKET_H

#include "plan/op.h"

#define BUCKET_BYTES_DEFAULT       ((uint64_t)25 << 20)
#define BUCKET_FIRST_BYTES_DEFAULT ((uint64_t)1 << 20)

/* bytes[i] is the size of the i-th tensor fed, ids[i] its parameter.  Writes at most n buckets, whose slices
 * index `members` (n ids, in feed order); returns how many.  A limit of 0 closes after every tensor. */
uint32_t bucket_assign(uint32_t n, const uint64_t *bytes, const uint32_t *ids, uint64_t first_limit,
                       uint64_t limit, struct bucket_row *buckets, uint32_t *members);

#endif
