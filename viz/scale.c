#include "viz/scale.h"

#include <math.h>

#include <glib.h>

double scale_at(const struct scale *s, double value)
{
    const double part =
        s->log ? log(value / s->low) / log(s->high / s->low) : (value - s->low) / (s->high - s->low);

    return s->at0 + (s->at1 - s->at0) * CLAMP(part, 0, 1);
}

double scale_step(const struct scale *s, double min_distance)
{
    const double least = (s->high - s->low) * min_distance / fabs(s->at1 - s->at0);
    const double ten = pow(10, floor(log10(least)));

    for (unsigned i = 0; i < 3; i++) {
        static const double lead[] = {1, 2, 5};
        if (lead[i] * ten >= least * (1 - 1e-9))
            return lead[i] * ten;
    }
    return 10 * ten;
}

const char *scale_text(double value, double step, char text[static 32])
{
    const double digits = -floor(log10(step) + 1e-9);
    char format[] = "%.0f";

    format[2] = (char)('0' + (int)CLAMP(digits, 0, 9));
    return g_ascii_formatd(text, 32, format, value);
}

static struct unit unit_for(double most, const struct unit *units)
{
    while (units->size > 1 && most < 2 * units->size)
        units++;
    return *units;
}

struct unit unit_of_time(double most_ns)
{
    static const struct unit units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};

    return unit_for(most_ns, units);
}

struct unit unit_of_bytes(double most_bytes)
{
    static const struct unit units[] = {
        {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};

    return unit_for(most_bytes, units);
}
