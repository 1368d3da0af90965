/* viz/growth.h -- what an all-reduce puts on the busiest link, by algorithm and number of ranks (profile/traffic.h). */
#ifndef VIZ_GROWTH_H
#define VIZ_GROWTH_H

#include "viz/frame.h"

#define GROWTH_WIDTH 410.0 /* that it needs at least */

/* Curves of all algorithms for a buffer of so many bytes, from 2 ranks to 64 or beyond n_ranks, where the algorithm that is
 * looked at is marked.  Both scales double. */
void growth_paint(const struct frame *, double x0, double x1, double y0, double y1, enum allreduce, uint32_t n_ranks,
                  uint64_t bytes);
/* "ring", in the language. */
const char *growth_name(const struct language *, enum allreduce);

#endif
