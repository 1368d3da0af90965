/* base/decimal.h -- decimal numbers as text, C format whatever the locale: to the last digit, or as a double. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* 0.d1d2...dn x 10^point, no digit 0 at either end; n 0: zero.  From first to last may be a decimal point. */
struct decimal {
    bool negative;
    const char *first, *last; /* in the text */
    int64_t n, point;         /* a whole number: point >= n */
};

/* All of [at, end): "-12.5e3"; a sign, and digits on one side of the point only, are legal.  False: no number. */
bool decimal_read(const char *at, const char *end, struct decimal *);
/* The magnitude times 10^shift, to the nearest whole number, half away from zero.  False: beyond uint64. */
bool decimal_whole(const struct decimal *, int64_t shift, uint64_t *);

/* All of a text that is digits alone, "42", and from min to max.  GLib's g_ascii_string_to_unsigned takes an errno for a
 * wrong number that is left behind where two threads are the first to ask for its locale. */
bool decimal_uint(const char *text, uint64_t min, uint64_t max, uint64_t *);

/* The nearest double to all of [at, end), of the same form: neither "nan" nor "0x10" nor " 1".  False: no number, or one
 * that no double holds. */
bool decimal_double(const char *at, const char *end, double *);
/* The same of the number that a text begins with; *end is what is behind it. */
bool decimal_begin(const char *text, const char **end, double *);

#endif
