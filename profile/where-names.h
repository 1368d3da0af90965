/* profile/where-names.h -- by what the parts of a difference are called: the item of struct where that each is in. */
#ifndef PROFILE_WHERE_NAMES_H
#define PROFILE_WHERE_NAMES_H

#include "profile/where.h"

static inline int64_t where_change(const struct where_part *p)
{
    return p->ns[1] - p->ns[0];
}

/* How much of all a part is; 0 where all is 0. */
double where_share(int64_t part_ns, int64_t all_ns);

/* Fills the items but for their ns, times and ranks.  parts: struct where_part, the largest change first. */
void where_names(const struct tables *, GArray *parts, struct where_item names[static WHERE_WHATS]);

/* Of a rank's parts, each in its item: the change, and how many times as long as in BASE (0: unknown). */
void where_add_up(GArray *parts, const struct where_item *names, int64_t ns[static WHERE_WHATS],
                  double times[static WHERE_WHATS]);

#endif
