/* viz/curves.h -- the points of a sweep as curves over one of its options. */
#ifndef VIZ_CURVES_H
#define VIZ_CURVES_H

#include "profile/series.h"
#include "viz/lang.h"
#include "viz/scale.h"

struct curve {
    char *name;    /* values of the other options, "backward, 8"; "" where there are none */
    GArray *points; /* uint32_t: indexes of the series' points that have numbers, by rising value */
};

struct curves {
    const struct series *series;
    uint32_t axis;    /* the option that has most different numbers; the first such */
    uint32_t n;
    struct curve *curves; /* in the order in which the series comes upon them */
    double *at;       /* of every point of the series: its value, a finite number */
    double low, high; /* of those of all curves */
    double least;     /* the smallest of them above 0 */
    bool log;         /* none below 0, and those above 0 span more than LOG_SPAN */
};

#define LOG_SPAN 20.0

/* False: no option has numbers alone, or no point has any; nothing is to be released then. */
bool curves_make(struct curves *, const struct series *, const struct language *);
void curves_release(struct curves *);
/* Where a value stands on the scale.  On one that is log, 0 lies a step before the smallest. */
double curves_at(const struct curves *, const struct scale *, double value);
struct scale curves_scale(const struct curves *, double at0, double at1);

#endif
