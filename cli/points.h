/* cli/points.h -- what a sweep is over: every combination of the values that options were given. */
#ifndef CLI_POINTS_H
#define CLI_POINTS_H

#include "cli/options.h"

enum { POINTS_MAX = 100000 };

struct points {
    struct options base; /* options of one value, set */
    unsigned n_axes;
    enum option_id axis[N_OPTIONS]; /* options of several values, in the order of the table */
    char **values[N_OPTIONS];       /* of each axis, as texts that options_set takes; ends with NULL */
    unsigned n_values[N_OPTIONS];
    uint32_t n; /* combinations */
};

/* Takes apart lists (1,5,25), ranges (1..8, 10..100+10, 1..64*2) and options given again.  False with a message that
 * names the option; points_release all the same. */
bool points_init(struct points *, const struct options *, GError **);
void points_release(struct points *);
/* The values of point i, an axis each; the last axis varies fastest.  g_strfreev */
char **points_values(const struct points *, uint32_t i);
/* The options of point i, as if a run had been given them; where backends or modes are an axis, without those that
 * belong to others only.  options_release, also on failure. */
bool points_options(const struct points *, uint32_t i, struct options *, GError **);

#endif
