/* What a sweep found: the step's time over an option, a curve for every choice of the others; or bars. */
#include "viz/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "viz/curves.h"
#include "viz/frame.h"
#include "viz/layout.h"
#include "viz/sweep-bars.h"
#include "viz/words.h"

#define TITLE_LINE 26.0 /* what the axis upwards counts */
#define BEST_LINE  36.0
#define TICK_LINE  40.0
#define NAME_LINE  28.0 /* the option below its values */
#define NAME_APART 24.0 /* of names at the ends of curves */
#define MAX_NAME   180.0
#define TICK_GAP   60.0
#define TICK_APART 14.0 /* between values of the option */
#define POINT      7.0
#define MARKED     80 /* more points than that on a curve are too dense for marks */
#define HEADROOM   1.08
/* Where all times are within the first part of the greatest the axis begins near the least, but never spreads
 * less than the second over its height, so that noise stays small.  What is under and above the times: parts
 * of that. */
#define CLOSE  0.2
#define SPREAD 0.04
#define UNDER  0.25
#define ABOVE  0.15
/* Of the mark on an axis that does not begin at 0: half its width, and its height with air for a number
 * above. */
#define BREAK        5.0
#define BREAK_HEIGHT 42.0

/* The name of a curve, beside its last point. */
struct label {
    uint32_t curve;
    double y, wanted;
    char *text;
};

struct scene {
    struct frame frame;
    const struct series *series;
    struct curves curves;
    struct unit unit;
    struct scale x, y;
    double title_y, best_y;
    struct label *labels;
    uint32_t n_labels;
    bool alone; /* one curve: what is exposed is shown too */
    uint32_t *place; /* of every point of the series: how many smaller values of the option there are */
};

/* Of --build, of one curve; of several, these are its phases. */
enum { STEP_TIME, STEP_EXPOSED, STEP_PREDICTED };

/* Further curves than there are hues are dashed. */
static uint32_t curve_color(const struct scene *s, uint32_t i)
{
    return palette_line(s->frame.pen.palette, i);
}

static const struct series_point *point_of(const struct scene *s, uint32_t curve, guint i)
{
    return &s->series->points[g_array_index(s->curves.curves[curve].points, uint32_t, i)];
}

static double x_of(const struct scene *s, uint32_t curve, guint i)
{
    return curves_at(&s->curves, &s->x,
                     s->curves.at[g_array_index(s->curves.curves[curve].points, uint32_t, i)]);
}

static double y_of(const struct scene *s, int64_t ns)
{
    return scale_at(&s->y, (double)MAX(ns, 0) / s->unit.size);
}

static guint length(const struct scene *s, uint32_t curve)
{
    return s->curves.curves[curve].points->len;
}

/* --- what stands where */

static bool is_broken(const struct scene *s)
{
    return s->y.low > 0;
}

static void scale_times(struct scene *s)
{
    double most = 1, least = INFINITY;

    for (uint32_t i = 0; i < s->series->n_points; i++) {
        const struct series_point *p = &s->series->points[i];
        if (p->why_not)
            continue;
        const bool predicted = s->alone && p->predicted_ns >= 0;
        most = MAX(most, (double)(predicted ? MAX(p->step_ns, p->predicted_ns) : p->step_ns));
        least = MIN(least, (double)(predicted ? MIN(p->step_ns, p->predicted_ns) : p->step_ns));
    }
    s->unit = unit_of_time(most);
    s->y = (struct scale){.high = most / s->unit.size * HEADROOM};
    if (s->series->n_points > 1 && most - least < CLOSE * most) {
        const double spread = MAX(most - least, SPREAD * most);
        s->y.low = (least - UNDER * spread) / s->unit.size;
        s->y.high = (most + ABOVE * spread) / s->unit.size;
    }
}

static void place_times(struct scene *s)
{
    s->y.at0 = s->frame.y1 - TICK_LINE - NAME_LINE;
    s->y.at1 = s->frame.y0 + TITLE_LINE + BEST_LINE;
    s->title_y = s->frame.y0 + TITLE_LINE / 2;
    s->best_y = s->frame.y0 + TITLE_LINE + BEST_LINE / 2 - 3;
}

static double gutter_width(const struct scene *s)
{
    const double step = scale_step(&s->y, TICK_GAP);
    char text[32];

    return MAX(40, pen_width(&s->frame.pen, &s->frame.pen.text, scale_text(s->y.high, step, text)) +
                       2 * FRAME_AIR);
}

static int by_wanted(const void *a, const void *b)
{
    const struct label *x = a, *y = b;

    if (x->wanted != y->wanted)
        return x->wanted < y->wanted ? -1 : 1;
    return (x->curve > y->curve) - (x->curve < y->curve);
}

/* Names that stand apart, each as near to its curve as the others let it: down where it must, then up from
 * the end. */
static void spread_labels(struct scene *s)
{
    const double top = s->y.at1 + NAME_APART / 2, bottom = s->y.at0 - NAME_APART / 2;
    const uint32_t fit = (uint32_t)((bottom - top) / NAME_APART) + 1;

    qsort(s->labels, s->n_labels, sizeof *s->labels, by_wanted);
    while (s->n_labels > fit)
        g_free(s->labels[--s->n_labels].text);
    double least = top;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        s->labels[i].y = MAX(s->labels[i].wanted, least);
        least = s->labels[i].y + NAME_APART;
    }
    double most = bottom;
    for (uint32_t i = s->n_labels; i-- > 0; most = s->labels[i].y - NAME_APART)
        s->labels[i].y = MIN(s->labels[i].y, most);
}

static double make_labels(struct scene *s)
{
    double wide = 0;

    s->labels = g_new0(struct label, s->curves.n);
    for (uint32_t k = 0; k < s->curves.n && !s->alone; k++) {
        struct label *l = &s->labels[s->n_labels++];
        l->curve = k;
        l->text = pen_ellipsize(&s->frame.pen, &s->frame.pen.text, s->curves.curves[k].name, MAX_NAME);
        l->wanted = y_of(s, point_of(s, k, length(s, k) - 1)->step_ns);
        wide = MAX(wide, pen_width(&s->frame.pen, &s->frame.pen.text, l->text));
    }
    spread_labels(s);
    return wide;
}

/* --- paint */

static void paint_y_axis(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const double step = scale_step(&s->y, TICK_GAP);
    g_autofree char *named =
        s->alone || s->n_labels == s->curves.n
            ? g_strdup("")
            : say(f->pen.lang, "sweep.named", "shown", count(s->n_labels), "n", count(s->curves.n), NULL);
    g_autofree char *axis = say(f->pen.lang, "sweep.axis", "unit", s->unit.name, NULL);
    g_autofree char *title =
        g_strconcat(axis, is_broken(s) ? "; " : "", is_broken(s) ? word(f->pen.lang, "sweep.broken") : "",
                    *named ? "; " : "", named, NULL);

    for (double i = ceil(s->y.low / step); i * step <= s->y.high; i++) {
        char text[32];
        const double y = scale_at(&s->y, i * step);
        if (is_broken(s) && y > s->y.at0 - BREAK_HEIGHT)
            continue;
        pen_line(&f->pen, s->x.at0, y, s->x.at1, y, pen_color(&f->pen, ROLE_GRID), 1, false);
        frame_text(f, s->x.at0 - FRAME_AIR, y, &f->pen.text, ALIGN_RIGHT, ROLE_MUTED,
                   scale_text(i * step, step, text));
    }
    g_autofree char *shown = pen_ellipsize(&f->pen, &f->pen.text, title, f->x1 - f->x0);
    frame_text(f, f->x0, s->title_y, &f->pen.text, ALIGN_LEFT, ROLE_MUTED, shown);
}

/* The zigzag by which an axis says that something is cut out of it, at its lower end. */
static void paint_break(const struct scene *s)
{
    static const double steps[][2] = {{0, 0}, {-1, 1}, {1, 3}, {-1, 5}, {0, 6}};

    for (unsigned i = 0; i + 1 < G_N_ELEMENTS(steps); i++)
        pen_line(&s->frame.pen, s->x.at0 + BREAK * steps[i][0], s->y.at0 - BREAK * steps[i][1],
                 s->x.at0 + BREAK * steps[i + 1][0], s->y.at0 - BREAK * steps[i + 1][1],
                 pen_color(&s->frame.pen, ROLE_INK), 2, false);
}

/* A value of the option at its place, if no value before it stands there. */
static void paint_tick(const struct scene *s, const char *value, double x, double *clear_from)
{
    const struct frame *f = &s->frame;
    g_autofree char *text = pen_ellipsize(&f->pen, &f->pen.text, value, MAX_NAME);
    const double half = pen_width(&f->pen, &f->pen.text, text) / 2, middle = MIN(x, f->pen.width - half - 2);

    if (middle - half < *clear_from)
        return;
    pen_line(&f->pen, x, s->y.at0, x, s->y.at0 + 5, pen_color(&f->pen, ROLE_MUTED), 1, false);
    frame_text(f, middle, s->y.at0 + TICK_LINE / 2 + 6, &f->pen.text, ALIGN_CENTER, ROLE_MUTED, text);
    *clear_from = middle + half + TICK_APART;
}

static gint by_at(gconstpointer a, gconstpointer b, gpointer data)
{
    const double *at = data, x = at[*(const uint32_t *)a], y = at[*(const uint32_t *)b];

    return (x > y) - (x < y);
}

/* The points in the order of their values; g_array_unref. */
static GArray *sort_points(const struct scene *s)
{
    GArray *order = g_array_new(FALSE, FALSE, sizeof(uint32_t));

    for (uint32_t i = 0; i < s->series->n_points; i++)
        g_array_append_val(order, i);
    g_array_sort_with_data(order, by_at, s->curves.at);
    return order;
}

static uint32_t *number_values(const struct scene *s)
{
    uint32_t *place = g_new0(uint32_t, s->series->n_points), n = 0;
    g_autoptr(GArray) order = sort_points(s);

    for (guint i = 0; i < order->len; i++) {
        const uint32_t k = g_array_index(order, uint32_t, i);
        n += i && by_at(&g_array_index(order, uint32_t, i - 1), &k, s->curves.at);
        place[k] = n;
    }
    return place;
}

/* The option, and what to know of its axis. */
static char *x_title(const struct scene *s)
{
    const struct curves *c = &s->curves;
    const struct language *l = s->frame.pen.lang;
    const char *axis = words_option(l, s->series->axes[c->axis]);

    if (c->log)
        return say(l, c->low > 0 ? "sweep.logarithmic" : "sweep.logarithmic-0", "option", axis, NULL);
    return s->x.low > 0 ? g_strconcat(axis, "; ", word(l, "sweep.broken"), NULL) : g_strdup(axis);
}

/* The swept values themselves, and a mark at those without numbers. */
static void paint_x_axis(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct curves *c = &s->curves;
    g_autoptr(GArray) order = sort_points(s);
    double clear_from = 0, before = -INFINITY;

    pen_line(&f->pen, s->x.at0, s->y.at0, s->x.at1, s->y.at0, pen_color(&f->pen, ROLE_MUTED), 1, false);
    for (guint i = 0; i < order->len; i++) {
        const uint32_t k = g_array_index(order, uint32_t, i);
        const double x = curves_at(c, &s->x, c->at[k]);
        pen_belong(&f->pen, KEY_TIME, s->place[k]);
        if (s->series->points[k].why_not)
            pen_mark(&f->pen, x, s->y.at0 - POINT, POINT, pen_color(&f->pen, ROLE_MUTED));
        pen_belong(&f->pen, KEY_TIME, DRAW_NONE);
        if (x > before)
            paint_tick(s, s->series->points[k].values[c->axis], x, &clear_from);
        before = x;
    }
    g_autofree char *title = x_title(s);
    g_autofree char *shown = pen_ellipsize(&f->pen, &f->pen.text, title, f->x1 - f->x0);
    frame_text(f, (f->x0 + f->x1) / 2, s->y.at0 + TICK_LINE + NAME_LINE / 2, &f->pen.text, ALIGN_CENTER,
               ROLE_INK, shown);
}

/* A polygon has no hatch: in print it is grey. */
static struct shade exposed_shade(const struct scene *s)
{
    const struct shade comm = pen_shade(&s->frame.pen, ROLE_COMM);

    return (struct shade){comm.hatch == HATCH_NONE ? comm.color : pen_color(&s->frame.pen, ROLE_GRID),
                          HATCH_NONE, 0};
}

/* What is drawn next is the point's, which comes with its value of the option: --build frames. */
static void belong(const struct scene *s, uint32_t curve, guint i)
{
    const struct curves *c = &s->curves;

    pen_belong(&s->frame.pen, KEY_PHASE, curve);
    pen_belong(&s->frame.pen, KEY_TIME, s->place[g_array_index(c->curves[curve].points, uint32_t, i)]);
}

/* Under the only curve: what of the step is exposed communication. */
static void paint_exposed(const struct scene *s)
{
    const guint n = length(s, 0);
    g_autofree double *xy = g_new(double, 2 * ((gsize)n + 2));

    for (guint i = 0; i < n; i++) {
        xy[2 * i] = x_of(s, 0, i);
        xy[2 * i + 1] = y_of(s, point_of(s, 0, i)->exposed_ns);
    }
    xy[2 * n] = xy[2 * (n - 1)];
    xy[2 * n + 2] = xy[0];
    xy[2 * n + 1] = xy[2 * n + 3] = s->y.at0;
    belong(s, 0, n - 1);
    pen_belong(&s->frame.pen, KEY_PHASE, STEP_EXPOSED);
    if (n > 1)
        pen_polygon(&s->frame.pen, n + 2, xy, exposed_shade(s).color);
    pen_belong_rank_only(&s->frame.pen);
}

/* Full where it was run, hollow where it was simulated. */
static void paint_point(const struct scene *s, double x, double y, uint32_t color, bool measured)
{
    const double half = POINT / 2, hole = half - 2;

    pen_box(&s->frame.pen, x - half, y - half, POINT, POINT, (struct shade){color, HATCH_NONE, 0});
    if (!measured)
        pen_box(&s->frame.pen, x - hole, y - hole, 2 * hole, 2 * hole,
                pen_shade(&s->frame.pen, ROLE_BACKGROUND));
}

static void paint_curve(const struct scene *s, uint32_t k)
{
    const struct pen *p = &s->frame.pen;
    const uint32_t color = curve_color(s, k);

    for (guint i = 0; i + 1 < length(s, k); i++) {
        belong(s, k, i + 1);
        pen_line(p, x_of(s, k, i), y_of(s, point_of(s, k, i)->step_ns), x_of(s, k, i + 1),
                 y_of(s, point_of(s, k, i + 1)->step_ns), color, 2.5, palette_dashed(p->palette, k));
    }
    for (guint i = 0; i < length(s, k) && length(s, k) <= MARKED; i++) {
        belong(s, k, i);
        paint_point(s, x_of(s, k, i), y_of(s, point_of(s, k, i)->step_ns), color,
                    point_of(s, k, i)->measured);
    }
    for (guint i = 0; i < length(s, k) && length(s, k) <= MARKED; i++) {
        const struct series_point *at = point_of(s, k, i);
        belong(s, k, i);
        char time[32];
        g_autofree char *place = words_place(p->lang, s->series, (uint32_t)(at - s->series->points)),
                        *english = words_place(language_standard(), s->series, (uint32_t)(at - s->series->points));
        pen_span(p, x_of(s, k, i) - POINT, y_of(s, at->step_ns) - POINT, 2 * POINT, 2 * POINT, place, english, OP_NONE,
                 format_duration(at->step_ns, time));
    }
    pen_belong_rank_only(p);
}

/* What the simulator expected of the points that were run. */
static void paint_predicted(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    const uint32_t color = pen_color(p, ROLE_MUTED);

    for (guint i = 0; i < length(s, 0) && length(s, 0) <= MARKED; i++) {
        const double x = x_of(s, 0, i), y = y_of(s, point_of(s, 0, i)->predicted_ns);
        belong(s, 0, i);
        pen_belong(p, KEY_PHASE, STEP_PREDICTED);
        if (point_of(s, 0, i)->predicted_ns >= 0)
            pen_line(p, x - POINT, y, x + POINT, y, color, 1.5, false);
    }
    for (guint i = 0; i + 1 < length(s, 0); i++) {
        const int64_t from_ns = point_of(s, 0, i)->predicted_ns, to_ns = point_of(s, 0, i + 1)->predicted_ns;
        belong(s, 0, i + 1);
        pen_belong(p, KEY_PHASE, STEP_PREDICTED);
        if (from_ns >= 0 && to_ns >= 0)
            pen_line(p, x_of(s, 0, i), y_of(s, from_ns), x_of(s, 0, i + 1), y_of(s, to_ns), color, 1.5, true);
    }
    pen_belong_rank_only(p);
}

static void paint_labels(const struct scene *s)
{
    const double x = s->x.at1 + POINT + FRAME_AIR;

    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct label *l = &s->labels[i];
        const uint32_t color = curve_color(s, l->curve);
        belong(s, l->curve, length(s, l->curve) - 1);
        pen_line(&s->frame.pen, s->x.at1 + POINT / 2, l->wanted, x, l->y, color, 1,
                 palette_dashed(s->frame.pen.palette, l->curve));
        pen_box(&s->frame.pen, x, l->y - POINT / 2, POINT, POINT, (struct shade){color, HATCH_NONE, 0});
        frame_text(&s->frame, x + POINT + 4, l->y, &s->frame.pen.text, ALIGN_LEFT, ROLE_INK, l->text);
    }
    pen_belong_rank_only(&s->frame.pen);
}

/* A pole down to the best point, and above it what it is. */
static void paint_best(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct series_point *best = &s->series->points[s->series->best];
    const double x = curves_at(&s->curves, &s->x, s->curves.at[s->series->best]), y = y_of(s, best->step_ns);
    char number[32];
    g_autofree char *values = words_place(f->pen.lang, s->series, s->series->best);
    g_autofree char *whole =
        say(f->pen.lang, "sweep.best", "place", values, "time", format_duration(best->step_ns, number), NULL);
    g_autofree char *text = pen_ellipsize(&f->pen, &f->pen.strong, whole, f->x1 - f->x0);
    const double half = pen_width(&f->pen, &f->pen.strong, text) / 2;

    pen_belong_rest(&f->pen);
    pen_line(&f->pen, x, s->best_y + 0.7 * f->pen.strong.size, x, y - POINT,
             pen_color(&s->frame.pen, ROLE_INK), 1.5, true);
    pen_mark(&f->pen, x, y - POINT / 2 - 1.5 * POINT, 1.5 * POINT, pen_color(&f->pen, ROLE_INK));
    frame_text(f, CLAMP(x, f->x0 + half, f->x1 - half), s->best_y, &f->pen.strong, ALIGN_CENTER, ROLE_INK,
               text);
    pen_belong_rank_only(&f->pen);
}

static void paint_legend(struct scene *s)
{
    const struct language *l = s->frame.pen.lang;
    const struct shade muted = pen_shade(&s->frame.pen, ROLE_MUTED);
    struct legend_entry entries[5];
    bool measured = false, simulated = false, predicted = false, failed = false;
    unsigned n = 0;

    for (uint32_t i = 0; i < s->series->n_points; i++) {
        const struct series_point *p = &s->series->points[i];
        measured |= !p->why_not && p->measured;
        simulated |= !p->why_not && !p->measured;
        predicted |= !p->why_not && p->predicted_ns >= 0;
        failed |= p->why_not != NULL;
    }
    if (s->alone) {
        entries[n++] =
            (struct legend_entry){.text = word(l, "sweep.step"), .shade = {curve_color(s, 0), HATCH_NONE, 0}};
        if (!is_broken(s))
            entries[n++] = (struct legend_entry){.text = word(l, "sweep.exposed"), .shade = exposed_shade(s)};
        if (predicted)
            entries[n++] = (struct legend_entry){.text = word(l, "sweep.predicted"), .shade = muted};
    }
    if (measured && simulated)
        entries[n++] =
            (struct legend_entry){.text = word(l, "sweep.full"), .shade = pen_shade(&s->frame.pen, ROLE_INK)};
    if (failed)
        entries[n++] =
            (struct legend_entry){.text = word(l, "sweep.no-numbers"), .shade = muted, .mark = true};
    frame_legend(&s->frame, n, entries);
}

static void paint(struct scene *s)
{
    scale_times(s);
    paint_legend(s);
    place_times(s);
    const double gutter = gutter_width(s), wide = make_labels(s);
    s->x = curves_scale(&s->curves, s->frame.x0 + gutter,
                        s->frame.x1 - (s->n_labels ? wide + 2 * POINT + FRAME_AIR + 4 : 2 * FRAME_AIR));
    paint_y_axis(s);
    if (s->alone && !is_broken(s)) /* an area over an axis that does not begin at 0 would lie */
        paint_exposed(s);
    paint_x_axis(s);
    if (is_broken(s))
        paint_break(s);
    for (uint32_t k = 0; k < s->curves.n; k++)
        paint_curve(s, k);
    if (s->alone)
        paint_predicted(s);
    paint_labels(s);
    paint_best(s);
}

static bool drawable(const struct series *s, GError **error)
{
    if (s && s->best < s->n_points)
        return true;
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure sweep %s",
                !s ? "needs a sweep; a run or a report has one point"
                   : "has nothing to draw: no point of the sweep has numbers");
    return false;
}

static bool draw_sweep(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.series = in->series};

    if (!drawable(in->series, error))
        return false;
    g_autofree char *brief = NULL, *title = words_sweep_headline(pen->lang, in->series, &brief),
                    *origin = words_sweep_caption(pen->lang, in->series, pen->look->caption);
    s.frame = frame_begin(pen, title, brief, origin);
    if (!curves_make(&s.curves, in->series, pen->lang))
        return sweep_bars(&s.frame, in->series, error);
    s.alone = s.curves.n == 1;
    s.place = number_values(&s);
    paint(&s);
    for (uint32_t i = 0; i < s.n_labels; i++)
        g_free(s.labels[i].text);
    g_free(s.labels);
    g_free(s.place);
    curves_release(&s.curves);
    return true;
}

const struct figure figure_sweep = {
    .name = "sweep",
    .summary = "the time of a step over an option, the best point marked",
    .draw = draw_sweep,
};
