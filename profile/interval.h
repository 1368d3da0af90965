/* profile/interval.h -- sets of half-open integer-ns intervals, and the measures of their unions and
 * intersections. */
#ifndef PROFILE_INTERVAL_H
#define PROFILE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    int64_t start_ns, end_ns;
};

/* Sorted; no interval is empty, overlaps or touches another: two sets of the same points are equal.  {0} is
 * empty. */
struct intervals {
    struct interval *v;
    size_t n, room;
};

void intervals_release(struct intervals *);
/* start_ns is at least that of the interval added last.  An empty interval adds nothing. */
void intervals_add(struct intervals *, int64_t start_ns, int64_t end_ns);
/* Of n intervals in any order, which it sorts; to be released.  O(n log n). */
struct intervals intervals_of(struct interval *, size_t n);
/* set := set and other together.  Linear. */
void intervals_unite(struct intervals *set, const struct intervals *other);
/* What of a is not in b; to be released.  Linear. */
struct intervals intervals_minus(const struct intervals *a, const struct intervals *b);
int64_t intervals_length(const struct intervals *);
int64_t intervals_common(const struct intervals *,
                         const struct intervals *); /* length of the intersection; linear */
int64_t intervals_within(const struct intervals *, int64_t start_ns,
                         int64_t end_ns); /* length of what lies in [start, end); finds it in O(log n) */
int64_t intervals_gap(const struct intervals *, int64_t start_ns,
                      int64_t end_ns); /* length of the rest of [start, end) */

#endif
