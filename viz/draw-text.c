#include "viz/draw-text.h"

#include <math.h>
#include <string.h>

#include "viz/palette.h"

#define MAX_CELLS 1e6
#define MIDDLE    0.36 /* of an em, from the baseline up to the middle of a text */
#define AIR       1.0  /* px */
#define MIN_PART  0.4  /* of a character, what is drawn at all */

/* What an area of a role looks like. */
static const struct look {
    uint8_t role;
    const char *block, *ascii;
} looks[] = {
    {ROLE_FORWARD, "░", ">"},
    {ROLE_BACKWARD, "▓", "<"},
    {ROLE_LOSS, "█", "L"},
    {ROLE_PACK, "█", "p"},
    {ROLE_COMM, "▒", "~"},
    {ROLE_WAIT, "·", "."},
    {ROLE_OPTIMIZER, "█", "o"},
    {ROLE_INPUT, "▒", "i"},
    {ROLE_INPUT_GRADIENT, "▓", "<"},
    {ROLE_WEIGHT_GRADIENT, "▒", "w"},
    {ROLE_RECOMPUTE, "▒", "r"},
    {ROLE_UPDATE, "█", "|"},
    {ROLE_BUBBLE, "·", "."},
    {ROLE_REST, "·", "."},
    {ROLE_INK, "█", "#"},
    {ROLE_MUTED, "▒", "%"},
};

enum layer { EMPTY, FAINT, AREA, TEXT };

struct place {
    gunichar c; /* 0: the right half of a wide one */
    uint8_t layer;
};

struct draw {
    int columns, lines;
    bool ascii;
    struct place *at;
};

static struct place *place_at(struct draw *d, int column, int line)
{
    const bool inside = column >= 0 && column < d->columns && line >= 0 && line < d->lines;

    return inside ? &d->at[line * d->columns + column] : NULL;
}

/* Unless something of that layer or a higher one is there. */
static void put(struct draw *d, int column, int line, gunichar c, enum layer layer, enum layer below)
{
    struct place *p = place_at(d, column, line);

    if (p && p->layer <= below)
        *p = (struct place){c, layer};
}

/* --- shapes */

static bool has_color(uint32_t color, enum role role)
{
    for (unsigned i = 0; palettes[i]; i++)
        if (palette_color(palettes[i], role) == color)
            return true;
    return false;
}

static unsigned distance(uint32_t a, uint32_t b)
{
    unsigned sum = 0;

    for (unsigned shift = 0; shift < 24; shift += 8) {
        const int by = (int)(a >> shift & 255) - (int)(b >> shift & 255);
        sum += (unsigned)(by * by);
    }
    return sum;
}

/* Of the role that has the colour, else of the one that has nearly that. */
static gunichar area_character(const struct draw *d, uint32_t color)
{
    const struct look *best = NULL;
    unsigned least = UINT32_MAX;

    if (has_color(color, ROLE_BACKGROUND) || has_color(color, ROLE_LANE))
        return ' ';
    for (unsigned i = 0; i < G_N_ELEMENTS(looks); i++)
        for (unsigned k = 0; palettes[k]; k++) {
            const unsigned far = distance(color, palette_color(palettes[k], looks[i].role));
            if (far < least) {
                least = far;
                best = &looks[i];
            }
        }
    return g_utf8_get_char(d->ascii ? best->ascii : best->block);
}

/* What a length covers of whole characters; one where it is nearly one.  The air between neighbours is none
 * here. */
static void cover(double from, double to, double unit, int *first, int *end)
{
    *first = (int)floor(from / unit + 0.5);
    *end = (int)floor((to + AIR) / unit + 0.5);
    if (*first == *end && to - from >= MIN_PART * unit) {
        *first = (int)floor((from + to) / 2 / unit);
        *end = *first + 1;
    }
}

static void text_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    int column, columns_end, line, lines_end;
    const bool empty = fill->color < 0;
    const gunichar c = !empty     ? area_character(d, (uint32_t)fill->color)
                       : d->ascii ? '/'
                                  : g_utf8_get_char("╱");

    cover(x, x + w, DRAW_COLUMN, &column, &columns_end);
    cover(y, y + h, DRAW_LINE, &line, &lines_end);
    for (int l = MAX(line, 0); l < MIN(lines_end, d->lines); l++)
        for (int k = MAX(column, 0); k < MIN(columns_end, d->columns); k++)
            put(d, k, l, c,
                c == ' '                                        ? EMPTY
                : has_color((uint32_t)fill->color, ROLE_BUBBLE) ? FAINT
                                                                : AREA,
                AREA);
}

static void text_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color,
                      double width, bool dashed)
{
    const double dx = (x1 - x0) / DRAW_COLUMN, dy = (y1 - y0) / DRAW_LINE,
                 n = MAX(ceil(fmax(fabs(dx), fabs(dy))), 1);
    const char *c = fabs(dx) < 0.5   ? (d->ascii ? (dashed ? ":" : "|")
                                        : dashed ? "┆"
                                                 : "│")
                    : fabs(dy) < 0.5 ? (d->ascii ? "-" : "─")
                                     : (d->ascii ? "*" : "•");

    (void)width;
    if (has_color(color, ROLE_GRID) || hypot(dx, dy) < 1)
        return;
    for (double i = 0; i <= n && i < MAX_CELLS; i++)
        put(d, (int)floor((x0 + (x1 - x0) * i / n) / DRAW_COLUMN),
            (int)floor((y0 + (y1 - y0) * i / n) / DRAW_LINE), g_utf8_get_char(c), FAINT, FAINT);
}

/* A mark; what is larger than one is left out. */
static void text_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    double left = xy[0], right = xy[0], top = xy[1], bottom = xy[1];

    (void)color;
    for (unsigned i = 0; i < n; i++) {
        left = fmin(left, xy[2 * i]);
        right = fmax(right, xy[2 * i]);
        top = fmin(top, xy[2 * i + 1]);
        bottom = fmax(bottom, xy[2 * i + 1]);
    }
    const bool rises = n == 3 && xy[1] == xy[3] && xy[5] < xy[1]; /* pen_rise */
    const gunichar mark = d->ascii ? (rises ? '^' : 'v') : g_utf8_get_char(rises ? "▴" : "▾");
    if (right - left < 2 * DRAW_COLUMN)
        put(d, (int)floor((left + right) / 2 / DRAW_COLUMN), (int)floor((top + bottom) / 2 / DRAW_LINE), mark, FAINT,
            FAINT);
}

/* --- texts */

static int columns_of(gunichar c)
{
    return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

static int text_columns(const char *text)
{
    int n = 0;

    for (const char *at = text; *at; at = g_utf8_next_char(at))
        n += columns_of(g_utf8_get_char(at));
    return n;
}

static double text_text_width(struct draw *d, const struct font *font, const char *text)
{
    (void)d, (void)font;
    return text_columns(text) * DRAW_COLUMN;
}

static bool is_free(struct draw *d, int column, int line, int n)
{
    for (int i = 0; i < n; i++) {
        const struct place *p = place_at(d, column + i, line);
        if (!p || p->layer == TEXT)
            return false;
    }
    return true;
}

/* One that has no room beside another text is left out. */
static void text_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    const int n = text_columns(text), line = (int)floor((y - MIDDLE * font->size) / DRAW_LINE);
    const double left = x - n * DRAW_COLUMN * (align == ALIGN_LEFT ? 0 : align == ALIGN_CENTER ? 0.5 : 1);
    int column = (int)floor(left / DRAW_COLUMN + 0.5);

    (void)color;
    column = CLAMP(column, 0, MAX(0, d->columns - n));
    if (!is_free(d, column, line, n))
        return;
    for (const char *at = text; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        const int wide = columns_of(c);
        for (int i = 0; i < wide; i++)
            put(d, column + i, line, i ? 0 : g_unichar_isprint(c) ? c : ' ', TEXT, TEXT);
        column += wide;
    }
}

/* --- the whole */

static struct draw *text_begin(const struct canvas *canvas, GError **error)
{
    const double columns = floor(canvas->width / DRAW_COLUMN), lines = floor(canvas->height / DRAW_LINE);

    if (!(columns >= 1 && lines >= 1 && columns * lines <= MAX_CELLS)) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "txt: %.0f columns and %.0f lines cannot be drawn; use 1 to %.0f characters", columns,
                    lines, MAX_CELLS);
        return NULL;
    }
    struct draw *d = g_new0(struct draw, 1);
    d->columns = (int)columns;
    d->lines = (int)lines;
    d->ascii = canvas->ascii;
    d->at = g_new(struct place, (gsize)(columns * lines));
    for (int i = 0; i < d->columns * d->lines; i++)
        d->at[i] = (struct place){' ', EMPTY};
    return d;
}

static void text_cancel(struct draw *d)
{
    g_free(d->at);
    g_free(d);
}

/* Without blanks at the end of lines, and of several empty lines one. */
static GBytes *text_finish(struct draw *d, GError **error)
{
    GString *out = g_string_new(NULL);
    bool before_empty = true;

    (void)error;
    for (int line = 0; line < d->lines; line++) {
        const gsize start = out->len;
        for (int k = 0; k < d->columns; k++) {
            const gunichar c = place_at(d, k, line)->c;
            if (c)
                g_string_append_unichar(out, c);
        }
        while (out->len > start && out->str[out->len - 1] == ' ')
            g_string_truncate(out, out->len - 1);
        const bool empty = out->len == start;
        if (!(empty && before_empty))
            g_string_append_c(out, '\n');
        before_empty = empty;
    }
    text_cancel(d);
    return g_string_free_to_bytes(out);
}

const struct draw_ops draw_text = {
    .format = "txt",
    .cells = true,
    .begin = text_begin,
    .text_width = text_text_width,
    .rect = text_rect,
    .line = text_line,
    .polygon = text_polygon,
    .text = text_text,
    .finish = text_finish,
    .cancel = text_cancel,
};
