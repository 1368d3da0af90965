#include "viz/pen.h"

#define MIN_PX   0.5
#define ELLIPSIS "…"
#define MIDDLE   0.36 /* of an em, from the baseline up to the middle of capitals */

struct pen pen_make(const struct draw_ops *ops, struct draw *draw, double width_px, double height_px)
{
    double px = MAX(MIN_PX, MIN(width_px / 1280, height_px / 720));

    return (struct pen){ops, draw, px, width_px / px, height_px / px};
}

void pen_box(const struct pen *p, double x, double y, double w, double h, uint32_t color)
{
    struct fill fill = {.color = (int32_t)color, .stroke = -1};

    p->ops->rect(p->draw, x * p->px, y * p->px, w * p->px, h * p->px, &fill);
}

void pen_hatch(const struct pen *p, double x, double y, double w, double h, uint32_t ink)
{
    struct fill fill = {.color = -1, .stroke = -1, .hatch = HATCH_DIAGONAL, .ink = ink};

    p->ops->rect(p->draw, x * p->px, y * p->px, w * p->px, h * p->px, &fill);
}

void pen_line(const struct pen *p, double x0, double y0, double x1, double y1, uint32_t color, double width,
              bool dashed)
{
    p->ops->line(p->draw, x0 * p->px, y0 * p->px, x1 * p->px, y1 * p->px, color, width * p->px, dashed);
}

void pen_mark(const struct pen *p, double x, double y, double size, uint32_t color)
{
    const double half = size * 0.6;
    const double xy[] = {x - half, y, x + half, y, x, y + size};

    pen_polygon(p, 3, xy, color);
}

void pen_polygon(const struct pen *p, unsigned n, const double *xy, uint32_t color)
{
    g_autofree double *px = g_new(double, 2 * (gsize)n);

    for (unsigned i = 0; i < 2 * n; i++)
        px[i] = xy[i] * p->px;
    p->ops->polygon(p->draw, n, px, color);
}

static struct font scaled(const struct pen *p, const struct font *font)
{
    return (struct font){font->size * p->px, font->weight};
}

double pen_width(const struct pen *p, const struct font *font, const char *text)
{
    struct font f = scaled(p, font);

    return p->ops->text_width(p->draw, &f, text) / p->px;
}

void pen_text(const struct pen *p, double x, double y, const struct font *font, enum align align,
              uint32_t color, const char *text)
{
    struct font f = scaled(p, font);

    p->ops->text(p->draw, x * p->px, (y + MIDDLE * font->size) * p->px, &f, align, color, text);
}

const char *pen_fit(const struct pen *p, const struct font *font, unsigned n, const char *const *texts,
                    double width)
{
    for (unsigned i = 0; i < n; i++)
        if (pen_width(p, font, texts[i]) <= width)
            return texts[i];
    return NULL;
}

char *pen_one_line(const char *text)
{
    char *line = g_utf8_make_valid(text, -1);

    for (char *c = line; *c; c++)
        if (g_ascii_iscntrl(*c))
            *c = ' ';
    return line;
}

char *pen_ellipsize(const struct pen *p, const struct font *font, const char *text, double width)
{
    g_autofree char *line = pen_one_line(text);
    char *best = NULL;
    long low = 0, high = g_utf8_strlen(line, -1);

    if (pen_width(p, font, line) <= width)
        return g_steal_pointer(&line);
    while (low < high) { /* the most characters that fit before an ellipsis: at least low, fewer than high */
        long n = low + (high - low) / 2;
        g_autofree char *head = g_utf8_substring(line, 0, n);
        g_autofree char *cut = g_strconcat(head, ELLIPSIS, NULL);
        if (pen_width(p, font, cut) <= width) {
            g_free(best);
            best = g_steal_pointer(&cut);
            low = n + 1;
        } else {
            high = n;
        }
    }
    return best ? best : g_strdup("");
}

char **pen_wrap(const struct pen *p, const struct font *font, const char *text, double width,
                unsigned max_lines)
{
    g_autofree char *clean = pen_one_line(text);
    g_auto(GStrv) words = g_strsplit(clean, " ", -1);
    GPtrArray *lines = g_ptr_array_new();
    g_autoptr(GString) line = g_string_new(NULL);
    const double space = pen_width(p, font, "n n") - pen_width(p, font, "nn");
    double used = 0;

    for (char **w = words; *w; w++) {
        double wide = pen_width(p, font, *w);
        bool last = lines->len + 1 == max_lines; /* takes all that is left, and is shortened below */
        if (line->len && used + space + wide > width && !last) {
            g_ptr_array_add(lines, pen_ellipsize(p, font, line->str, width));
            g_string_truncate(line, 0);
        }
        used = line->len ? used + space + wide : wide;
        g_string_append_printf(line, "%s%s", line->len ? " " : "", *w);
    }
    if (line->len)
        g_ptr_array_add(lines, pen_ellipsize(p, font, line->str, width));
    g_ptr_array_add(lines, NULL);
    return (char **)g_ptr_array_free(lines, FALSE);
}
