#include "viz/compare-marks.h"

#include <math.h>
#include <stdlib.h>

#include "viz/lanes.h"

#define HEIGHT 5.0
#define EDGE   1.0  /* of a hollow bar */
#define LEAST  1.0  /* length of a bar that can be seen */
#define APART  14.0 /* words */

struct stretch {
    double x0, x1;
};

const char *compare_signed(int64_t ns, char text[static 40])
{
    char time[32];

    g_snprintf(text, 40, "%s%s", ns < 0 ? "−" : "+", format_duration(llabs(ns), time));
    return text;
}

/* Where it ends now and where it would, had it taken as long as before. */
static struct stretch stretch_of(const struct axis *a, const struct delta *d)
{
    const int64_t now_ns = d->cell.end_ns, before_ns = now_ns - d->ns;

    return (struct stretch){axis_x(a, MIN(now_ns, before_ns)), axis_x(a, MAX(now_ns, before_ns))};
}

static void paint_bar(const struct pen *p, const struct delta *d, struct stretch s, double y)
{
    const double edge = MIN(EDGE, (s.x1 - s.x0) / 3);

    pen_box(p, s.x0, y, s.x1 - s.x0, HEIGHT, pen_shade(p, ROLE_INK));
    if (d->ns < 0)
        pen_box(p, s.x0 + edge, y + EDGE, s.x1 - s.x0 - 2 * edge, HEIGHT - 2 * EDGE,
                pen_shade(p, ROLE_BACKGROUND));
}

static bool is_free(const GArray *taken, double x0, double x1)
{
    for (unsigned i = 0; i < taken->len; i++) {
        const struct stretch *t = &g_array_index(taken, struct stretch, i);
        if (x0 < t->x1 + APART && t->x0 < x1 + APART)
            return false;
    }
    return true;
}

/* The free place that is nearest to the middle, not further away than `most`; false: there is none. */
static bool find_place(const GArray *taken, double low, double high, double middle, double w, double most,
                       double *x)
{
    double best = INFINITY;

    for (unsigned i = 0; i <= 2 * taken->len; i++) {
        const struct stretch *t = i ? &g_array_index(taken, struct stretch, (i - 1) / 2) : NULL;
        const double wanted = !t      ? middle - w / 2
                              : i % 2 ? t->x1 + APART
                                      : t->x0 - APART - w,
                     at = CLAMP(wanted, low, MAX(low, high - w)), away = fabs(at + w / 2 - middle);
        if (away < best && away <= most && at + w <= high && is_free(taken, at, at + w)) {
            best = away;
            *x = at;
        }
    }
    return isfinite(best);
}

static void paint_words(const struct frame *f, const char *text, bool greatest, struct stretch s,
                        const struct marks_place *at, GArray *taken)
{
    const struct pen *p = &f->pen;
    const struct font *font = greatest ? &p->strong : &p->text;
    const double w = pen_width(p, font, text);
    double x = 0;

    if (!find_place(taken, at->axis->x0, f->x1, (s.x0 + s.x1) / 2, w, greatest ? INFINITY : w / 2, &x))
        return;
    frame_text(f, x, at->words_y, font, ALIGN_LEFT, greatest ? ROLE_INK : ROLE_MUTED, text);
    const struct stretch used = {x, x + w};
    g_array_append_val(taken, used);
}

void compare_marks_paint(const struct frame *f, const struct tables *t, const GArray *deltas,
                         const struct delta *greatest, uint32_t rank, const struct marks_place *at)
{
    const struct pen *p = &f->pen;
    g_autoptr(GArray) taken = g_array_new(FALSE, FALSE, sizeof(struct stretch));
    const struct pen english = pen_english(p);
    const struct stretch before = {at->taken0, at->taken1};

    if (at->taken1 > at->taken0)
        g_array_append_val(taken, before);
    for (unsigned i = 0; i < deltas->len; i++) {
        const struct delta *d = &g_array_index(deltas, struct delta, i);
        const struct stretch s = stretch_of(at->axis, d);
        const double y = d->comm ? at->comm_y : at->compute_y;
        char number[40];
        if (s.x1 - s.x0 < LEAST)
            continue;
        g_autofree char *name = lanes_name(p, t, &d->cell, d->comm),
                        *english_name = lanes_name(&english, t, &d->cell, d->comm);
        g_autofree char *brief = g_strdup_printf("%s %s", name, compare_signed(d->ns, number));
        g_autofree char *english_brief = g_strdup_printf("%s %s", english_name, number);
        g_autofree char *whole =
            d == greatest ? say(p->lang, "compare.greatest", "what", brief, NULL) : g_strdup(brief);
        pen_belong(p, KEY_TIME, MAX(d->cell.end_ns, d->cell.end_ns - d->ns));
        if (!p->ops->cells)
            paint_bar(p, d, s, y);
        pen_span(p, s.x0, y, s.x1 - s.x0, HEIGHT, brief, english_brief, rank, NULL);
        paint_words(f, whole, d == greatest, s, at, taken);
    }
}

unsigned compare_marks_legend(const struct pen *p, bool longer, bool shorter,
                              struct legend_entry entries[static 2])
{
    unsigned n = 0;

    if (longer)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "compare.cell-longer"),
                                             .shade = pen_shade(p, ROLE_INK)};
    if (shorter)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "compare.cell-shorter"), .hollow = true};
    return n;
}
