/* tests/check-drawn.h -- what holds of every figure that draw_list recorded: nothing outside, nothing over a
 * text, every text readable. */
#ifndef TESTS_CHECK_DRAWN_H
#define TESTS_CHECK_DRAWN_H

#include <math.h>
#include <string.h>

#include "tests/draw-list.h"
#include "viz/palette.h"

#define EPSILON 0.01

/* What figures were drawn with: NULL is the standard one. */
static const struct palette *drawn_with;

static inline bool is_faint(uint32_t color)
{
    return color == palette_color(drawn_with ? drawn_with : palettes[0], ROLE_GRID);
}

/* Neither paints anything. */
static inline bool is_silent(const struct item *m)
{
    return m->kind == ITEM_GROUP || m->kind == ITEM_SPAN;
}

static inline const struct item *item_at(const struct draw *d, unsigned i)
{
    return &g_array_index(d->items, struct item, i);
}

static inline bool meet(const struct item *a, const struct item *b)
{
    return a->x0 < b->x1 - EPSILON && b->x0 < a->x1 - EPSILON && a->y0 < b->y1 - EPSILON &&
           b->y0 < a->y1 - EPSILON;
}

static inline bool contains(const struct item *a, double x, double y)
{
    return a->x0 <= x + EPSILON && x <= a->x1 + EPSILON && a->y0 <= y + EPSILON && y <= a->y1 + EPSILON;
}

static inline void check_inside(const struct draw *d)
{
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (!(isfinite(m->x0) && isfinite(m->y0) && isfinite(m->x1) && isfinite(m->y1)))
            g_error("item %u is not finite: %s", i, m->text ? m->text : "");
        if (m->x0 < -EPSILON || m->y0 < -EPSILON || m->x1 > d->width + EPSILON || m->y1 > d->height + EPSILON)
            g_error("item %u, %g %g %g %g, is outside %g x %g: %s", i, m->x0, m->y0, m->x1, m->y1, d->width,
                    d->height, m->text ? m->text : "");
    }
}

static inline void check_apart(const struct draw *d)
{
    for (unsigned i = 0; i < d->items->len; i++)
        for (unsigned k = 0; k < i && item_at(d, i)->text; k++)
            if (item_at(d, k)->text && meet(item_at(d, i), item_at(d, k)))
                g_error("on %g x %g '%s' and '%s' overlap", d->width, d->height, item_at(d, i)->text,
                        item_at(d, k)->text);
}

/* The colour of what lies topmost under a point when item n is drawn. */
static inline uint32_t ground(const struct draw *d, unsigned n, double x, double y)
{
    while (n-- > 0)
        if (item_at(d, n)->kind == ITEM_RECT && item_at(d, n)->fill >= 0 && contains(item_at(d, n), x, y))
            return (uint32_t)item_at(d, n)->fill;
    g_error("a text lies on nothing");
}

static inline void check_contrast(const struct draw *d)
{
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        int64_t last = -1; /* mostly all of a text lies on one colour */
        for (unsigned k = 0; k <= 8 && m->text; k++) {
            const uint32_t below = ground(d, i, m->x0 + (m->x1 - m->x0) * k / 8, (m->y0 + m->y1) / 2);
            if (below == last)
                continue;
            const double ratio = palette_contrast((uint32_t)m->fill, below);
            if (ratio < 4.5)
                g_error("'%s' has a contrast of %.2f on what is below it", m->text, ratio);
            last = below;
        }
    }
}

/* No hatch, mark or line but the faint grid crosses a text, unless a plain ground was laid over it first. */
static inline void check_clear(const struct draw *d)
{
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        for (unsigned k = 0; k < d->items->len && m->text; k++) {
            const struct item *over = item_at(d, k);
            bool covered = false;
            if (!meet(m, over) || is_silent(over) || over->text || (over->kind == ITEM_RECT && !over->hatched && k < i) ||
                is_faint((uint32_t)over->fill))
                continue;
            for (unsigned c = k + 1; c < i; c++)
                covered |= item_at(d, c)->kind == ITEM_RECT && item_at(d, c)->fill >= 0 &&
                           contains(item_at(d, c), m->x0, (m->y0 + m->y1) / 2) &&
                           contains(item_at(d, c), m->x1, (m->y0 + m->y1) / 2);
            if (!covered)
                g_error("on %g x %g '%s' is crossed by item %u: %g %g %g %g", d->width, d->height, m->text, k,
                        over->x0, over->y0, over->x1, over->y1);
        }
    }
}

static inline unsigned count_text(const struct draw *d, const char *text)
{
    unsigned n = 0;

    for (unsigned i = 0; i < d->items->len; i++)
        n += item_at(d, i)->text && strcmp(item_at(d, i)->text, text) == 0;
    return n;
}

static inline void check_figure(const struct draw *d)
{
    check_inside(d);
    check_apart(d);
    check_contrast(d);
    check_clear(d);
}

#endif
