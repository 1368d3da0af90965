#include "viz/draw-svg.h"

#include <math.h>
#include <string.h>

#include "viz/svg-put.h"

/* A viewer without the first takes the next one that is no wider, so that labels stay in their boxes. */
#define FAMILIES                                                                                             \
    "Noto Sans,Arial,Helvetica,Liberation Sans,Noto Sans CJK KR,NanumGothic,Malgun Gothic,"                  \
    "Apple SD Gothic Neo,DejaVu Sans,sans-serif"

/* --- Cairo's paths */

struct walk {
    GString *out;
    int64_t x, y, start_x, start_y; /* here, and where the subpath began */
    int64_t drawn_x, drawn_y;       /* where what is written ends */
    bool begun;                     /* something is written */
    bool moved;                     /* and nothing drawn since */
};

/* From the last point on where that is shorter; hundredths add up without loss. */
static void walk_begin(struct walk *w)
{
    const gsize start = w->out->len;

    if (!w->moved)
        return;
    g_string_append_c(w->out, 'M');
    svg_put_next(w->out, w->x, true);
    svg_put_next(w->out, w->y, false);
    if (w->begun) {
        const gsize end = w->out->len;
        g_string_append_c(w->out, 'm');
        svg_put_next(w->out, w->x - w->drawn_x, true);
        svg_put_next(w->out, w->y - w->drawn_y, false);
        if (w->out->len - end < end - start)
            g_string_erase(w->out, (gssize)start, (gssize)(end - start));
        else
            g_string_truncate(w->out, end);
    }
    w->begun = true;
    w->moved = false;
}

static void walk_line(struct walk *w, int64_t x, int64_t y)
{
    const int64_t dx = x - w->x, dy = y - w->y;

    walk_begin(w);
    g_string_append_c(w->out, dy == 0 ? 'h' : dx == 0 ? 'v' : 'l');
    if (dx || !dy)
        svg_put_next(w->out, dx, true);
    if (dy)
        svg_put_next(w->out, dy, !dx);
    w->x = w->drawn_x = x;
    w->y = w->drawn_y = y;
}

static void walk_curve(struct walk *w, const int64_t *xy)
{
    walk_begin(w);
    g_string_append_c(w->out, 'c');
    for (unsigned i = 0; i < 6; i++)
        svg_put_next(w->out, xy[i] - (i % 2 ? w->y : w->x), i == 0);
    w->x = w->drawn_x = xy[4];
    w->y = w->drawn_y = xy[5];
}

static void walk_close(struct walk *w)
{
    walk_begin(w);
    g_string_append_c(w->out, 'z');
    w->x = w->drawn_x = w->start_x;
    w->y = w->drawn_y = w->start_y;
    w->moved = true; /* what follows a close may be a line from there */
}

static unsigned arguments_of(char command)
{
    return command == 'C' ? 6 : command == 'M' || command == 'L' ? 2 : 0;
}

/* False: has something that Cairo is not known to write. */
static bool put_path(GString *out, struct slice path)
{
    struct walk w = {.out = out, .moved = true};

    while (path.n) {
        const char command = *path.at;
        int64_t n[6];
        slice_advance(&path, 1);
        if (command == ' ')
            continue;
        if (!command || !strchr("MLCZ", command))
            return false;
        for (unsigned i = 0; i < arguments_of(command); i++)
            if (!slice_number(&path, &n[i]))
                return false;
        if (command == 'M') {
            w.x = w.start_x = n[0];
            w.y = w.start_y = n[1];
            w.moved = true;
        } else if (command == 'L')
            walk_line(&w, n[0], n[1]);
        else if (command == 'C')
            walk_curve(&w, n);
        else
            walk_close(&w);
    }
    return true;
}

/* --- Cairo's elements */

static bool assumed(struct slice name, struct slice value)
{
    static const char *const values[][2] = {
        {"fill-rule", "nonzero"},   {"fill-opacity", "1"},      {"stroke", "none"},
        {"stroke-opacity", "1"},    {"stroke-linecap", "butt"}, {"stroke-linejoin", "miter"},
        {"stroke-miterlimit", "4"}, {"stroke-width", "1"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(values); i++)
        if (slice_is(name, values[i][0]))
            return slice_is(value, values[i][1]);
    return false;
}

/* "rgb(20%,40%,60%)" */
static bool put_percents(GString *out, struct slice value)
{
    uint32_t color = 0;
    int64_t percent;

    if (!slice_begins(value, "rgb("))
        return false;
    slice_advance(&value, strlen("rgb("));
    for (unsigned i = 0; i < 3; i++) {
        if (!slice_number(&value, &percent) || percent < 0 || percent > 100 * SVG_UNIT ||
            !slice_begins(value, "%"))
            return false;
        color = color << 8 | (uint32_t)((percent * 255 + 50 * SVG_UNIT) / (100 * SVG_UNIT));
        slice_cut(&value, i < 2 ? ',' : ')');
    }
    svg_put_color(out, color);
    return true;
}

/* As attributes, which are shorter and which every editor understands. */
static void put_style(GString *out, struct slice style)
{
    while (style.n) {
        struct slice value = slice_cut(&style, ';'), name;
        while (value.n && *value.at == ' ')
            slice_cut(&value, ' ');
        name = slice_cut(&value, ':');
        if (!name.n || assumed(name, value))
            continue;
        g_string_append_c(out, ' ');
        svg_put(out, name);
        g_string_append(out, "=\"");
        if (!put_percents(out, value))
            svg_put(out, value);
        g_string_append_c(out, '"');
    }
}

/* `rest` begins after "<path " and goes on beyond the element. */
static void put_path_element(GString *out, struct slice *rest)
{
    struct slice element = slice_cut(rest, '>');

    g_string_append(out, "<path");
    while (element.n && *element.at != '/') {
        struct slice name = slice_cut(&element, '='), value;
        slice_cut(&element, '"');
        value = slice_cut(&element, '"');
        while (slice_begins(element, " "))
            slice_cut(&element, ' ');
        if (slice_is(name, "style")) {
            put_style(out, value);
            continue;
        }
        g_string_append_c(out, ' ');
        svg_put(out, name);
        g_string_append(out, "=\"");
        const size_t start = out->len;
        if (!slice_is(name, "d") || !put_path(out, value)) {
            g_string_truncate(out, start);
            svg_put(out, value);
        }
        g_string_append_c(out, '"');
    }
    svg_put(out, element);
    g_string_append_c(out, '>');
}

/* --- the whole */

static void put_title(GString *out, const char *title)
{
    if (!title)
        return;
    g_string_append(out, "\n<title>");
    svg_put_text(out, title);
    g_string_append(out, "</title>");
}

/* The element is a mark, and skipped. */
static bool take_mark(struct slice *rest)
{
    struct slice element = *rest, probe = *rest;
    int64_t width = 0;

    element.n = slice_cut(&probe, '>').n;
    const char *found = g_strstr_len(element.at, (gssize)element.n, "stroke-width:");
    if (!found)
        return false;
    struct slice number = {found + strlen("stroke-width:"), element.n - (size_t)(found - element.at)};
    number.n = MIN(number.n, 7); /* "0.04687" */
    if (!slice_number(&number, &width) || width != svg_hundredths(SVG_MARK_WIDTH) ||
        !g_strstr_len(element.at, (gssize)element.n, "M 1 1 L 2 2"))
        return false;
    *rest = probe;
    return true;
}

/* Ends group n with its texts and spans, and begins the next one. */
static void next_group(GString *out, const struct svg_parts *p, guint n)
{
    const bool inside = n > 0 && *(const char *)g_ptr_array_index(p->groups, n - 1);
    const char *id = p->groups && n < p->groups->len ? g_ptr_array_index(p->groups, n) : "";

    svg_put_texts(out, p->texts, n);
    svg_put_spans(out, p->spans, n);
    if (inside)
        g_string_append(out, "</g>\n");
    if (*id)
        g_string_append_printf(out, "<g id=\"%s\">\n", id);
}

static void put_families(GString *out, const struct svg_parts *p)
{
    g_autofree char *own = p->font && *p->font ? g_markup_escape_text(p->font, -1) : NULL;

    g_string_append_printf(out, "<g font-family=\"%s%s" FAMILIES "\">", own ? own : "", own ? "," : "");
}

GBytes *svg_write(const char *stream, size_t bytes, const struct svg_parts *p)
{
    struct slice rest = {stream, bytes};
    GString *out = g_string_sized_new(bytes / 2);
    guint group = 0;
    bool open = false;

    while (rest.n) {
        svg_put(out, slice_cut(&rest, '<'));
        if (slice_begins(rest, "path ") && p->groups && group < p->groups->len && take_mark(&rest)) {
            next_group(out, p, group++);
            while (slice_begins(rest, "\n"))
                slice_advance(&rest, 1);
        } else if (slice_begins(rest, "path ")) {
            slice_cut(&rest, ' ');
            put_path_element(out, &rest);
        } else if (slice_begins(rest, "svg ")) {
            g_string_append_c(out, '<');
            svg_put(out, slice_cut(&rest, '>'));
            g_string_append_c(out, '>');
            put_title(out, p->title);

        } else if (slice_begins(rest, "g id=\"surface")) {
            /* Cairo numbers its surfaces over the life of the process. */
            slice_cut(&rest, '>');
            if (p->texts)
                put_families(out, p);
            else
                g_string_append(out, "<g>");
            open = true;
        } else if (rest.n) {
            if (open && slice_begins(rest, "/g>")) {
                next_group(out, p, group);
                open = false;
            }
            g_string_append_c(out, '<');
        }
    }
    return g_string_free_to_bytes(out);
}
