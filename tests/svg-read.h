/* tests/svg-read.h -- our SVG read back: texts and paths, with what they inherit. */
#ifndef TESTS_SVG_READ_H
#define TESTS_SVG_READ_H

#include <string.h>

#include <glib.h>

#include "viz/draw.h"

enum { MAX_DEPTH = 16, MAX_POINTS = 64 };

struct read_style {
    double size, x, y, down; /* down: what groups are moved by */
    char fill[24], stroke[24], anchor[8];
    bool bold;
};

struct read_svg {
    struct read_style style[MAX_DEPTH];
    unsigned depth;
    bool in_text;
    GPtrArray *texts, *paths; /* lines that say all of one */
    char *title;
};

static inline void read_attributes(struct read_style *s, const char **names, const char **values)
{
    for (unsigned i = 0; names[i]; i++) {
        if (!strcmp(names[i], "x"))
            s->x = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "y"))
            s->y = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "transform")) {
            g_assert_true(g_str_has_prefix(values[i], "translate(0 "));
            s->down += g_ascii_strtod(values[i] + strlen("translate(0 "), NULL);
        }
        else if (!strcmp(names[i], "font-size"))
            s->size = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "fill"))
            g_strlcpy(s->fill, values[i], sizeof s->fill);
        else if (!strcmp(names[i], "stroke"))
            g_strlcpy(s->stroke, values[i], sizeof s->stroke);
        else if (!strcmp(names[i], "text-anchor"))
            g_strlcpy(s->anchor, values[i], sizeof s->anchor);
        else if (!strcmp(names[i], "font-weight"))
            s->bold = !strcmp(values[i], "bold");
    }
}

static inline uint32_t read_color(const char *text)
{
    uint32_t c = (uint32_t)g_ascii_strtoull(text + 1, NULL, 16);

    g_assert_cmpint(*text, ==, '#');
    return strlen(text) == 7 ? c : (c >> 8 & 15) * 0x110000 + (c >> 4 & 15) * 0x1100 + (c & 15) * 0x11;
}

static inline char *text_line(double x, double y, double size, bool bold, unsigned align, uint32_t color,
                       const char *text)
{
    return g_strdup_printf("%.2f %.2f %.2f %s %u %06x %s", x, y, size, bold ? "bold" : "normal", align,
                           (unsigned)color, text);
}

static inline void put_points(GPtrArray *lines, uint32_t color, bool filled, unsigned n, const double *xy)
{
    GString *line = g_string_new(NULL);

    g_string_printf(line, "%s %06x", filled ? "fill" : "stroke", (unsigned)color);
    for (unsigned i = 0; i < 2 * n; i++)
        g_string_append_printf(line, " %.2f", xy[i] + 1e-9); /* no -0.00 */
    g_ptr_array_add(lines, g_string_free(line, FALSE));
}

/* The subset of SVG's path language that has letters M m h v l z. */
static inline void read_path(struct read_svg *r, const struct read_style *s, const char *at)
{
    const bool filled = strcmp(s->fill, "none") != 0;
    double xy[2 * MAX_POINTS] = {0}, x = 0, y = 0;
    unsigned n = 0;

    for (char *end; *at; at = end) {
        const char command = *at++;
        const bool moves = command == 'M' || command == 'm';
        double a = 0, b = 0;
        end = (char *)at;
        g_assert_true(strchr("Mmhvlz", command) && n < MAX_POINTS);
        if (command != 'z')
            a = g_ascii_strtod(at, &end);
        if (moves || command == 'l')
            b = g_ascii_strtod(end, &end);
        if (moves && n) {
            put_points(r->paths, read_color(filled ? s->fill : s->stroke), filled, n, xy);
            n = 0;
        }
        x = command == 'z' ? xy[0] : command == 'M' ? a : command == 'v' ? x : x + a;
        y = command == 'z' ? xy[1] : command == 'M' ? b : command == 'v' ? y + a : y + b;
        if (command == 'z')
            continue;
        xy[2 * n] = x;
        xy[2 * n + 1] = y;
        n++;
    }
    if (n)
        put_points(r->paths, read_color(filled ? s->fill : s->stroke), filled, n, xy);
}

static inline void read_start(GMarkupParseContext *context, const char *name, const char **names,
                       const char **values, gpointer user, GError **error)
{
    struct read_svg *r = user;

    (void)context, (void)error;
    g_assert_cmpuint(r->depth + 1, <, MAX_DEPTH);
    r->style[r->depth + 1] = r->style[r->depth];
    struct read_style *s = &r->style[++r->depth];
    read_attributes(s, names, values);
    r->in_text = !strcmp(name, "text");
    for (unsigned i = 0; names[i]; i++)
        if (!strcmp(name, "path") && !strcmp(names[i], "d"))
            read_path(r, s, values[i]);
}

static inline void read_end(GMarkupParseContext *context, const char *name, gpointer user, GError **error)
{
    struct read_svg *r = user;

    (void)context, (void)error, (void)name;
    r->depth--;
    r->in_text = false;
}

static inline void read_text(GMarkupParseContext *context, const char *text, gsize n, gpointer user, GError **error)
{
    struct read_svg *r = user;
    const struct read_style *s = &r->style[r->depth];

    (void)n, (void)error;
    if (!strcmp(g_markup_parse_context_get_element(context), "title"))
        r->title = g_strdup(text);
    if (r->in_text)
        g_ptr_array_add(r->texts, text_line(s->x, s->y + s->down, s->size, s->bold,
                                            !*s->anchor                    ? ALIGN_LEFT
                                            : !strcmp(s->anchor, "middle") ? ALIGN_CENTER
                                                                           : ALIGN_RIGHT,
                                            read_color(s->fill), text));
}

static inline void read_svg(struct read_svg *r, GBytes *svg)
{
    const GMarkupParser parser = {.start_element = read_start, .end_element = read_end, .text = read_text};
    GError *error = NULL;
    gsize size;
    const char *text = g_bytes_get_data(svg, &size);

    *r = (struct read_svg){.texts = g_ptr_array_new_with_free_func(g_free),
                           .paths = g_ptr_array_new_with_free_func(g_free)};
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, r, NULL);
    g_markup_parse_context_parse(context, text, (gssize)size, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
}

static inline void read_release(struct read_svg *r)
{
    g_ptr_array_unref(r->texts);
    g_ptr_array_unref(r->paths);
    g_free(r->title);
}

#endif
