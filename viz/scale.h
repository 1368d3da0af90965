/* viz/scale.h -- numbers on a straight line of the canvas, and the units in which axes are read. */
#ifndef VIZ_SCALE_H
#define VIZ_SCALE_H

#include <stdbool.h>
#include <stdint.h>

/* low < high lie at at0 and at1, which may run either way.  log: equal ratios are equal distances, and low > 0. */
struct scale {
    double low, high, at0, at1;
    bool log;
};

double scale_at(const struct scale *, double value); /* never outside at0 and at1 */
/* Distance of ticks on a scale that is not log: 1, 2 or 5 times a power of ten, not closer together than that. */
double scale_step(const struct scale *, double min_distance);
/* A number of ticks that far apart, with as many decimals as tell them apart; returns text. */
const char *scale_text(double value, double step, char text[static 32]);

/* What one unit holds: 1e6 ns in "ms". */
struct unit {
    const char *name;
    double size;
};

struct unit unit_of_time(double most_ns); /* in which an axis up to there is read; at least 2 of it, or ns */
struct unit unit_of_bytes(double most_bytes);

#endif
