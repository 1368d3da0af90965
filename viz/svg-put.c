#include "viz/svg-put.h"

#include <math.h>
#include <string.h>

/* --- parts of a text */

bool slice_is(struct slice s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.at, text, s.n) == 0;
}

bool slice_begins(struct slice s, const char *text)
{
    const size_t n = strlen(text);

    return s.n >= n && memcmp(s.at, text, n) == 0;
}

void svg_put(GString *out, struct slice s)
{
    g_string_append_len(out, s.at, (gssize)s.n);
}

void slice_advance(struct slice *s, size_t n)
{
    s->at += n;
    s->n -= n;
}

struct slice slice_cut(struct slice *from, char stop)
{
    const char *found = memchr(from->at, stop, from->n);
    const struct slice head = {from->at, found ? (size_t)(found - from->at) : from->n};

    slice_advance(from, head.n + (found != NULL));
    return head;
}

/* --- numbers and colours */

#define DECIMALS   2
#define MAX_DIGITS 10 /* before the point; more are no coordinate */

int64_t svg_hundredths(double x)
{
    return llround(x * SVG_UNIT);
}

bool slice_number(struct slice *from, int64_t *out)
{
    int64_t n = 0;
    unsigned whole = 0, part = 0; /* digits */

    while (slice_begins(*from, " "))
        slice_advance(from, 1);
    const bool negative = slice_begins(*from, "-");
    slice_advance(from, negative);
    for (; from->n && g_ascii_isdigit(*from->at) && whole < MAX_DIGITS; whole++, slice_advance(from, 1))
        n = n * 10 + *from->at - '0';
    slice_advance(from, slice_begins(*from, "."));
    for (; from->n && g_ascii_isdigit(*from->at); part++, slice_advance(from, 1))
        if (part <= DECIMALS) /* one more than stays */
            n = n * 10 + *from->at - '0';
    for (; part <= DECIMALS; part++)
        n *= 10;
    n = (n + 5) / 10;
    *out = negative ? -n : n;
    return whole > 0 && whole < MAX_DIGITS;
}

void svg_put_number(GString *out, int64_t n)
{
    const uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
    const unsigned part = size % SVG_UNIT;
    char text[32], *at = text + sizeof text;

    if (part % 10)
        *--at = (char)('0' + part % 10);
    if (part) {
        *--at = (char)('0' + part / 10);
        *--at = '.';
    }
    for (uint64_t whole = size / SVG_UNIT; whole || (!part && at == text + sizeof text); whole /= 10)
        *--at = (char)('0' + whole % 10);
    if (n < 0)
        *--at = '-';
    g_string_append_len(out, at, text + sizeof text - at);
}

void svg_put_next(GString *out, int64_t n, bool first)
{
    if (!first && n >= 0)
        g_string_append_c(out, ' ');
    svg_put_number(out, n);
}

void svg_put_color(GString *out, uint32_t color)
{
    const unsigned r = color >> 16 & 255, g = color >> 8 & 255, b = color & 255;

    if (r % 17 || g % 17 || b % 17)
        g_string_append_printf(out, "#%02x%02x%02x", r, g, b);
    else
        g_string_append_printf(out, "#%x%x%x", r / 17, g / 17, b / 17);
}
