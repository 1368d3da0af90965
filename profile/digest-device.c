/* How much memory a rank's device has, as the facts of a run say it. */
#include <string.h>

#include "base/decimal.h"
#include "profile/digest.h"
#include "profile/facts.h"

#define GIB      " GiB"
#define MOST_GIB 1e9

/* "NVIDIA A100, 108 SMs, 39.6 GiB, ..." or "39.6 GiB"; 0: it says no such thing. */
static double read_bytes(const char *text)
{
    const char *end = strstr(text, GIB), *begin = end;
    double gib;

    while (begin && begin > text && (g_ascii_isdigit(begin[-1]) || begin[-1] == '.'))
        begin--;
    const bool ok = begin && decimal_double(begin, end, &gib) && gib > 0 && gib < MOST_GIB;
    return ok ? gib * 0x1p30 : 0;
}

uint64_t digest_device_bytes(const struct digest *d)
{
    double least = 0;

    if (digest_label(d->labels, LABEL_RANKS) || digest_label(d->labels, LABEL_SHARING))
        return 0;
    for (char **e = d->environment; *e; e += 2) {
        const bool device =
            !strcmp(e[0], FACT_DEVICE_MEMORY) || (g_str_has_prefix(e[0], "gpu ") && !strchr(e[0] + 4, ' '));
        const double bytes = device ? read_bytes(e[1]) : 0;
        least = bytes > 0 && (least == 0 || bytes < least) ? bytes : least;
    }
    return (uint64_t)least;
}
