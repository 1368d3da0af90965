/* viz/trend-runs.h -- the runs of a history as figure trend draws them: what each is compared with, and what
 * it is called. */
#ifndef VIZ_TREND_RUNS_H
#define VIZ_TREND_RUNS_H

#include "viz/figure.h"
#include "viz/lang.h"

struct trend_place {
    const struct measurement *run;
    double median, low, high; /* of its steps, ns; low, high: their middle half */
    double base;     /* median of the runs before that it is compared with; its own: there are none */
    unsigned before; /* how many these are */
    guint work;      /* equal numbers: equal work */
    uint32_t series; /* how often the work was another before */
};

/* n runs that have steps and say of what work, in order; g_free. */
struct trend_place *trend_places(const struct figure_input *, uint32_t *n);
/* Its work is another than that of the run before. */
bool trend_is_new(const struct trend_place *places, uint32_t i);
/* Key of what n > 0 runs are called on the axis, and what the run of number i is: "a1b2c3d", "01-31", or
 * "12"; g_free. */
const char *trend_names(const struct trend_place *places, uint32_t n);
char *trend_name(const struct trend_place *, uint32_t i, const char *names);
/* What the work of the series that begins there is, as against the one before: "ranks 4"; i > 0.  g_free. */
char *trend_series_name(const struct trend_place *places, uint32_t i, const struct language *);

#endif
