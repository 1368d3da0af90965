/* profile/metric.h -- what of runs is compared, from one table (metric.def). */
#ifndef PROFILE_METRIC_H
#define PROFILE_METRIC_H

enum metric_id {
#define METRIC(id, ...) METRIC_##id,
#include "profile/metric.def"
#undef METRIC
    METRICS
};

enum metric_unit { METRIC_NS, METRIC_BYTES, METRIC_PERCENT };
enum metric_worse { METRIC_RISE = 1, METRIC_FALL = -1 };
enum metric_kind { METRIC_NOISY, METRIC_EXACT, METRIC_SHOWN };

struct metric {
    const char *key, *title;
    int unit;               /* enum metric_unit */
    double relative;        /* of the base's median */
    double floor;           /* in the unit */
    double floor_of_step;   /* of the base's median step */
    int worse;              /* enum metric_worse */
    int kind;               /* enum metric_kind */
};
extern const struct metric metrics[METRICS];

/* METRICS: there is none of that key. */
unsigned metric_find(const char *key);

#endif
