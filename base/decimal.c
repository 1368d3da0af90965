#include "base/decimal.h"

#include <math.h>

#include <glib.h>

static const char *read_exponent(const char *at, const char *end, int64_t *out)
{
    if (at == end || (*at != 'e' && *at != 'E'))
        return at;
    at++;
    bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    const char *digits = at;
    int64_t x = 0;
    for (; at < end && g_ascii_isdigit(*at); at++)
        x = MIN(x * 10 + (*at - '0'), INT64_MAX / 100);
    *out = negative ? -x : x;
    return at > digits ? at : NULL;
}

bool decimal_read(const char *at, const char *end, struct decimal *d)
{
    *d = (struct decimal){.negative = *at == '-'};
    at += *at == '-' || *at == '+';
    int64_t place = 0, exponent = 0; /* place: digits before this one since the first that is not 0 */
    bool point = false, digits = false;
    for (; at < end && (g_ascii_isdigit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        digits = true;
        if (*at != '0') {
            d->first = d->first ? d->first : at;
            d->last = at;
            d->n = place + 1;
        }
        place += d->first != NULL;
        d->point += d->first ? !point : -point;
    }
    if (!digits || read_exponent(at, end, &exponent) != end)
        return false;
    d->point = d->first ? d->point + exponent : 0;
    return true;
}

bool decimal_whole(const struct decimal *d, int64_t shift, uint64_t *out)
{
    int64_t keep = d->n ? d->point + shift : -1;
    uint64_t x = 0;
    *out = 0;
    if (keep < 0)
        return true;
    if (keep > 20)
        return false;
    const char *c = d->first;
    for (int64_t i = 0; i <= MIN(keep, d->n - 1); i++, c++) {
        c += *c == '.';
        if (i == keep) {
            if (*c >= '5' && __builtin_add_overflow(x, 1, &x))
                return false;
        } else if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, (uint64_t)(*c - '0'), &x)) {
            return false;
        }
    }
    for (int64_t i = d->n; i < keep; i++)
        if (__builtin_mul_overflow(x, 10, &x))
            return false;
    *out = x;
    return true;
}

bool decimal_double(const char *at, const char *end, double *out)
{
    struct decimal d;
    if (at == end || !decimal_read(at, end, &d))
        return false;
    g_autofree char *text = g_strndup(at, (gsize)(end - at));
    *out = g_ascii_strtod(text, NULL);
    return isfinite(*out);
}

bool decimal_begin(const char *text, const char **end, double *out)
{
    char *stop;
    g_ascii_strtod(text, &stop);
    *end = stop;
    return decimal_double(text, stop, out);
}

bool decimal_uint(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    if (!*text)
        return false;
    for (; *text; text++)
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
            return false;
    *out = n;
    return n >= min && n <= max;
}
