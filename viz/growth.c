#include "viz/growth.h"

#include <math.h>

#include "profile/traffic.h"
#include "viz/layout.h"

#define LEAST_MOST 64.0 /* ranks */
#define LABELS     176.0
#define TICK_PART  1.9 /* ems of the distance that numbers on the axis keep */
#define DOT        5.0

/* From most to least at the right end; the first two are one curve. */
static const enum allreduce curves[] = {ALLREDUCE_REDUCE_BROADCAST, ALLREDUCE_ALL_TO_ALL, ALLREDUCE_TREE, ALLREDUCE_RING};

struct plot {
    const struct frame *frame;
    struct scale x, y;
    enum allreduce algo;
    uint32_t n_ranks;
    uint64_t bytes;
};

const char *growth_name(const struct language *l, enum allreduce algo)
{
    return word_or(l, "algo", allreduce_name(algo));
}

static double parts(enum allreduce algo, uint32_t ranks)
{
    const uint64_t unit = UINT64_C(1) << 32;

    return (double)traffic_busiest_bytes(algo, ranks, unit) / (double)unit;
}

static bool same_curve(enum allreduce a, enum allreduce b)
{
    return a == b || (a != ALLREDUCE_TREE && a != ALLREDUCE_RING && b != ALLREDUCE_TREE && b != ALLREDUCE_RING);
}

static void paint_axes(const struct plot *p, double x0, double y1)
{
    const struct pen *pen = &p->frame->pen;
    const double apart = TICK_PART * pen->text.size;
    double last = -apart;

    for (double n = p->x.low; n <= p->x.high; n *= 2) {
        const double at = scale_at(&p->x, n);
        pen_line(pen, at, p->y.at1, at, p->y.at0, pen_color(pen, ROLE_GRID), 1, false);
        if (at - last >= apart)
            frame_text(p->frame, last = at, y1 - pen->text.size, &pen->text, ALIGN_CENTER, ROLE_MUTED, count((uint64_t)n));
    }
    last = p->y.at0 + apart;
    for (double n = p->y.low; n <= p->y.high; n *= 2) {
        const double at = scale_at(&p->y, n);
        g_autofree char *text = g_strdup_printf("%s×", count((uint64_t)n));
        pen_line(pen, p->x.at0, at, p->x.at1, at, pen_color(pen, ROLE_GRID), 1, false);
        if (last - at >= apart)
            frame_text(p->frame, x0, last = at, &pen->text, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

static void paint_curve(const struct plot *p, enum allreduce algo, uint32_t number)
{
    const struct pen *pen = &p->frame->pen;
    const bool own = same_curve(algo, p->algo);
    const uint32_t color = palette_line(pen->palette, number);
    double x = 0, y = 0;

    for (double n = p->x.low; n <= p->x.high; n *= 2) {
        const double to_x = scale_at(&p->x, n), to_y = scale_at(&p->y, parts(algo, (uint32_t)n));
        if (n > p->x.low)
            pen_line(pen, x, y, to_x, to_y, color, own ? 5 : 2.5, palette_dashed(pen->palette, number));
        x = to_x;
        y = to_y;
    }
    if (own) {
        const double at = scale_at(&p->x, p->n_ranks), middle = scale_at(&p->y, parts(algo, p->n_ranks));
        pen_box(pen, at - DOT, middle - DOT, 2 * DOT, 2 * DOT, pen_shade(pen, ROLE_INK));
    }
}

/* Beside the end of its curve, but for the one above: the names that it has, and what it comes to. */
static double paint_label(const struct plot *p, unsigned i, double x1, double above)
{
    const struct pen *pen = &p->frame->pen;
    const double x = p->x.at1 + FRAME_AIR, room = x1 - x, line = pen->strong.size * 1.25;
    const double part = parts(curves[i], (uint32_t)p->x.high);
    const bool two = i == 0;
    const double height = line * (two ? 3 : 2);
    char bytes[32];
    double y = MAX(scale_at(&p->y, part) - height / 2, above);

    for (unsigned k = i; k < i + (two ? 2 : 1); k++, y += line) {
        const bool own = curves[k] == p->algo;
        const struct font font = {pen->strong.size, own ? WEIGHT_BOLD : WEIGHT_NORMAL};
        g_autofree char *name = pen_ellipsize(pen, &font, growth_name(pen->lang, curves[k]), room);
        frame_text(p->frame, x, y + line / 2, &font, ALIGN_LEFT, own ? ROLE_INK : ROLE_MUTED, name);
    }
    const uint64_t sum = traffic_busiest_bytes(curves[i], (uint32_t)p->x.high, p->bytes);
    g_autofree char *whole = pen_ellipsize(pen, &pen->text, format_bytes(sum, bytes), room);
    frame_text(p->frame, x, y + line / 2, &pen->text, ALIGN_LEFT, ROLE_MUTED, whole);
    return y + line;
}

void growth_paint(const struct frame *f, double x0, double x1, double y0, double y1, enum allreduce algo, uint32_t n_ranks,
                  uint64_t bytes)
{
    const struct pen *pen = &f->pen;
    const double line = pen->strong.size * 1.4, foot = pen->text.size * 3.2;
    char size[32];
    double most = LEAST_MOST;

    while (most < n_ranks)
        most *= 2;
    struct plot p = {.frame = f, .algo = algo, .n_ranks = n_ranks, .bytes = bytes};
    p.x = (struct scale){2, most, x0 + 3.2 * pen->text.size, x1 - LABELS - FRAME_AIR, true};
    p.y = (struct scale){1, most, y1 - foot, y0 + 2 * line + pen->strong.size * 2, true};
    g_autofree char *title = pen_ellipsize(pen, &pen->strong, word(pen->lang, "allreduce.growth"), x1 - x0);
    g_autofree char *whole = say(pen->lang, "allreduce.growth-unit", "size", format_bytes(bytes, size), NULL);
    g_autofree char *unit = pen_ellipsize(pen, &pen->text, whole, x1 - x0);
    frame_text(f, x0, y0 + line / 2, &pen->strong, ALIGN_LEFT, ROLE_INK, title);
    frame_text(f, x0, y0 + line * 1.4, &pen->text, ALIGN_LEFT, ROLE_MUTED, unit);
    paint_axes(&p, x0, y1 - foot / 3);
    frame_text(f, x1, y1 - foot / 3 - pen->text.size, &pen->text, ALIGN_RIGHT, ROLE_MUTED,
               word(pen->lang, "allreduce.ranks"));
    double above = y0 + 2 * line;
    for (unsigned i = 0; i < G_N_ELEMENTS(curves); i++) {
        if (i == 1)
            continue;
        paint_curve(&p, curves[i], i);
        above = paint_label(&p, i, x1, above);
    }
}
