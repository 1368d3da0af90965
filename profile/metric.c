#include "profile/metric.h"

#include <string.h>

const struct metric metrics[METRICS] = {
#define METRIC(id, key, title, unit, relative, floor, step, worse, kind)                                     \
    {key, title, METRIC_##unit, relative, floor, step, METRIC_##worse, METRIC_##kind},
#include "profile/metric.def"
#undef METRIC
};

unsigned metric_find(const char *key)
{
    unsigned i = 0;
    while (i < METRICS && strcmp(metrics[i].key, key))
        i++;
    return i;
}
