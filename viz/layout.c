#include "viz/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

#define NAMED 24 /* times what a pixel can hold, from which on a kernel is a cell of its own */

static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"µs", 1000}, {"ns", 1}};

/* The largest of which there are at least `least`. */
static const struct unit *unit_for(int64_t ns, int64_t least)
{
    const struct unit *unit = units;

    while (unit->ns > 1 && ns / unit->ns < least)
        unit++;
    return unit;
}

static void write_number(double value, unsigned decimals, char text[static 32])
{
    char format[] = "%.0f";

    format[2] = (char)('0' + decimals);
    g_ascii_formatd(text, 32, format, value);
}

double axis_x(const struct axis *a, int64_t ns)
{
    double part = (double)(ns - a->from_ns) / (double)a->span_ns;

    return a->x0 + (a->x1 - a->x0) * CLAMP(part, 0, 1);
}

double axis_ns_per_unit(const struct axis *a)
{
    return (double)a->span_ns / (a->x1 - a->x0);
}

int64_t axis_tick_ns(const struct axis *a, double min_distance)
{
    const double least = axis_ns_per_unit(a) * min_distance;
    int64_t tick = 1;

    for (unsigned i = 0; (double)tick < least && tick < INT64_MAX / 10; i++)
        tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
    return tick;
}

const char *axis_unit(int64_t span_ns)
{
    return unit_for(span_ns, 2)->name;
}

void axis_tick_text(int64_t span_ns, int64_t tick_ns, int64_t at_ns, char text[static 32])
{
    const int64_t unit_ns = unit_for(span_ns, 2)->ns;
    unsigned decimals = 0;

    for (int64_t part = unit_ns; decimals < 9 && tick_ns % part; part /= 10)
        decimals++;
    write_number((double)at_ns / (double)unit_ns, decimals, text);
}

const char *format_duration(int64_t ns, char text[static 32])
{
    const struct unit *unit = ns ? unit_for(ns < 0 ? -ns : ns, 1) : &units[1];

    if (unit > units && unit->ns > 1 &&
        llabs(ns) >= unit[-1].ns - unit->ns / 20) /* 999.95 rounds to a whole one */
        unit--;

    write_number((double)ns / (double)unit->ns, !ns || unit->ns == 1 ? 0 : unit == units ? 2 : 1, text);
    g_strlcat(text, " ", 32);
    g_strlcat(text, unit->name, 32);
    return text;
}

bool parse_duration(const char *text, double *ns)
{
    static const char *const micro[] = {"us", "\u03bcs"}; /* beside the micro sign */
    const char *unit = text + strspn(text, "0123456789.eE+-");
    double value;

    if (!decimal_double(text, unit, &value))
        return false;
    unit += *unit == ' ';
    for (unsigned i = 0; i < G_N_ELEMENTS(micro); i++)
        if (!strcmp(unit, micro[i]))
            unit = units[2].name;
    for (unsigned i = 0; i < G_N_ELEMENTS(units); i++)
        if (!strcmp(unit, units[i].name)) {
            *ns = value * (double)units[i].ns;
            return true;
        }
    return false;
}

const char *format_bytes(uint64_t bytes, char text[static 32])
{
    static const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    double value = (double)bytes;
    unsigned i = 0;

    for (; i + 1 < G_N_ELEMENTS(names) && value >= (i < 2 ? 102.4 : 10240); i++)
        value /= 1024;
    write_number(value, i ? 1 : 0, text);
    g_strlcat(text, names[i], 32);
    return text;
}

static int64_t cell_ns(const struct cell *c)
{
    return c->end_ns - c->start_ns;
}

static int by_start(gconstpointer a, gconstpointer b)
{
    const struct cell *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

void cells_order(GArray *cells)
{
    unsigned n = 0;

    g_array_sort(cells, by_start);
    for (unsigned i = 0; i < cells->len; i++) {
        struct cell c = g_array_index(cells, struct cell, i);
        if (n)
            c.start_ns = MAX(c.start_ns, g_array_index(cells, struct cell, n - 1).end_ns);
        c.own_ns = c.name_ns = cell_ns(&c);
        if (c.start_ns < c.end_ns)
            g_array_index(cells, struct cell, n++) = c;
    }
    g_array_set_size(cells, n);
}

static bool same_subject(const struct cell *a, const struct cell *b)
{
    return a->role == b->role && a->kind == b->kind && a->first == b->first && a->last == b->last &&
           a->micro == b->micro;
}

const char *cell_kernel(const struct cell *c)
{
    return c->name_ns >= cell_ns(c) / 4 * 3 ? c->name : NULL;
}

/* Two kernels with room for a name each. */
static bool told_apart(const struct cell *a, const struct cell *b, double min_ns)
{
    return a->name && b->name && !g_str_equal(a->name, b->name) &&
           (double)MIN(cell_ns(a), cell_ns(b)) >= NAMED * min_ns;
}

bool cell_is_itself(const struct cell *c)
{
    return !c->share && c->own_ns >= cell_ns(c) / 4 * 3;
}

static void absorb(struct cell *into, const struct cell *next)
{
    struct cell both = into->own_ns >= next->own_ns ? *into : *next;

    if (same_subject(into, next))
        both.own_ns = into->own_ns + next->own_ns;
    both.start_ns = into->start_ns;
    both.end_ns = next->end_ns;
    both.name = into->name_ns >= next->name_ns ? into->name : next->name;
    both.name_ns =
        g_strcmp0(into->name, next->name) ? MAX(into->name_ns, next->name_ns) : into->name_ns + next->name_ns;
    *into = both;
}

void cells_merge(GArray *cells, double gap_ns, double min_ns)
{
    unsigned n = 0;

    for (unsigned i = 0; i < cells->len; i++) {
        struct cell c = g_array_index(cells, struct cell, i);
        struct cell *before = n ? &g_array_index(cells, struct cell, n - 1) : NULL;
        bool near = before && !before->share && !c.share && (double)(c.start_ns - before->end_ns) <= gap_ns;
        bool tiny = before && (double)MIN(cell_ns(before), cell_ns(&c)) < min_ns;
        if (near && (tiny || (same_subject(before, &c) && !told_apart(before, &c, min_ns))))
            absorb(before, &c);
        else
            g_array_index(cells, struct cell, n++) = c;
    }
    g_array_set_size(cells, n);
}

static const char *trailing_digits(const char *name)
{
    const char *at = name + strlen(name);

    while (at > name && (g_ascii_isdigit(at[-1]) || (at[-1] == '.' && g_ascii_isdigit(at[0]))))
        at--;
    return *at == '.' ? at + 1 : at;
}

bool block_numbered(const char *block)
{
    return *trailing_digits(block) != '\0';
}

#define SHORT_CHARS 4

void block_short(const char *block, char text[static 20])
{
    const char *digits = trailing_digits(block);

    if (*digits) {
        g_strlcpy(text, digits, 20);
        return;
    }
    g_autofree char *valid = g_utf8_make_valid(block, -1);
    for (char *c = valid; *c; c++)
        *c = g_ascii_iscntrl(*c) ? ' ' : *c;
    bool whole = g_utf8_strlen(valid, -1) <= SHORT_CHARS;
    g_utf8_strncpy(text, valid, SHORT_CHARS);
    for (size_t n = strlen(text); !whole && n > 2 && strchr("aeiou", text[n - 1]); n--)
        text[n - 1] = '\0';
}
