/* A history's steps, run after run: medians with their spread, the band that compare's threshold leaves
 * around what a run is compared with, what was called slower or faster, and where the work changed. */
#include "viz/figure.h"

#include <math.h>

#include "viz/frame.h"
#include "viz/layout.h"
#include "viz/trend-runs.h"
#include "viz/words.h"

#define TITLE_LINE 28.0 /* what the axis upwards counts */
#define NAME_LINE  28.0 /* where a series says what it is of */
#define TICK_LINE  36.0
#define AXIS_LINE  28.0
#define TICK_GAP   50.0
#define TICK_APART 14.0
#define MAX_TICK   90.0
#define POINT      7.0
#define MARK       13.0
#define DENSE      4.0  /* runs that are nearer together are drawn a column each unit */
#define LEAST      60.0 /* height and width of a plot */

struct scene {
    struct frame frame;
    struct trend_place *places;
    uint32_t n;
    struct unit unit;
    struct scale y;
    double x0, x1;
    const char *names; /* key of what runs are called on the axis */
};

static double relative(void)
{
    return metrics[METRIC_STEP].relative;
}

/* What is drawn next comes with that run: frames of --build; its phases are the series. */
static void belong(const struct scene *s, uint32_t i)
{
    pen_belong(&s->frame.pen, KEY_TIME, i);
    pen_belong(&s->frame.pen, KEY_PHASE, s->places[i].series);
}

static bool was(const struct trend_place *place, const char *verdict)
{
    return !g_strcmp0(place->run->verdict, verdict);
}

static bool hollow(const struct trend_place *place)
{
    return place->run->why_not || was(place, "incomparable");
}

/* --- where */

static double x_of(const struct scene *s, double i)
{
    return s->x0 + (i + 0.5) / s->n * (s->x1 - s->x0);
}

static double y_of(const struct scene *s, double ns)
{
    return scale_at(&s->y, ns / s->unit.size);
}

static bool dense(const struct scene *s)
{
    return (s->x1 - s->x0) / s->n < DENSE;
}

static void scale_times(struct scene *s)
{
    double low = INFINITY, high = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct trend_place *p = &s->places[i];
        low = MIN(low, MIN(p->low, p->base * (1 - relative())));
        high = MAX(high, MAX(p->high, p->base * (1 + relative())));
    }
    const double air = MAX((high - low) / 12, 1e-3 * high + 1);
    low = MAX(0, low - air);
    high += air;
    s->unit = unit_of_time(high);
    s->y = (struct scale){low / s->unit.size, high / s->unit.size, s->frame.y1 - TICK_LINE - AXIS_LINE,
                          s->frame.y0 + TITLE_LINE + NAME_LINE, false};
}

static void place_columns(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    const double step = scale_step(&s->y, TICK_GAP);
    char text[32];

    s->x0 = s->frame.x0 + MAX(40, pen_width(p, &p->text, scale_text(s->y.high, step, text)) + 2 * FRAME_AIR);
    s->x1 = s->frame.x1 - FRAME_AIR;
}

/* --- paint */

static void paint_y_axis(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const double step = scale_step(&s->y, TICK_GAP);
    g_autofree char *axis = say(f->pen.lang, "trend.axis", "unit", s->unit.name, NULL);
    g_autofree char *shown = pen_ellipsize(&f->pen, &f->pen.text, axis, f->x1 - f->x0);

    for (double tick = ceil(s->y.low / step - 1e-9); tick * step <= s->y.high; tick++) {
        char text[32];
        const double y = scale_at(&s->y, tick * step);
        pen_line(&f->pen, s->x0, y, s->x1, y, pen_color(&f->pen, ROLE_GRID), 1, false);
        frame_text(f, s->x0 - FRAME_AIR, y, &f->pen.text, ALIGN_RIGHT, ROLE_MUTED,
                   scale_text(tick * step, step, text));
    }
    frame_text(f, f->x0, f->y0 + TITLE_LINE / 2, &f->pen.text, ALIGN_LEFT, ROLE_MUTED, shown);
}

static void paint_x_axis(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    double clear_from = f->x0;

    pen_line(p, s->x0, s->y.at0, s->x1, s->y.at0, pen_color(p, ROLE_MUTED), 1, false);
    for (uint32_t i = 0; i < s->n; i++) {
        const double x = x_of(s, i);
        if (x < clear_from)
            continue;
        g_autofree char *whole = trend_name(&s->places[i], i, s->names),
                        *text = pen_ellipsize(p, &p->text, whole, MAX_TICK);
        const double half = pen_width(p, &p->text, text) / 2;
        if (x - half < clear_from || x + half > p->width - 2)
            continue;
        belong(s, i);
        pen_line(p, x, s->y.at0, x, s->y.at0 + 5, pen_color(p, ROLE_MUTED), 1, false);
        frame_text(f, x, s->y.at0 + TICK_LINE / 2 + 3, &p->text, ALIGN_CENTER, ROLE_MUTED, text);
        clear_from = x + half + TICK_APART;
    }
    pen_belong_rank_only(p);
    frame_text(f, (s->x0 + s->x1) / 2, s->y.at0 + TICK_LINE + AXIS_LINE / 2, &p->text, ALIGN_CENTER,
               ROLE_MUTED, word(p->lang, s->names));
}

/* Around what each run is compared with; equal neighbours are one box. */
static void paint_band(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;

    for (uint32_t i = 0, end; i < s->n; i = end) {
        for (end = i + 1;
             end < s->n && ((s->places[end].base == s->places[i].base && !trend_is_new(s->places, end)) ||
                            (dense(s) && x_of(s, end) < x_of(s, i) + 1));)
            end++;
        const double x = x_of(s, i - 0.5), top = y_of(s, s->places[i].base * (1 + relative())),
                     bottom = y_of(s, s->places[i].base * (1 - relative()));
        belong(s, i);
        pen_box(p, x, top, x_of(s, end - 0.5) - x, bottom - top, pen_shade(p, ROLE_LANE));
    }
}

/* Where another series begins, and if there is room what it is of. */
static void paint_series(const struct scene *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    double clear_from = s->x0;

    for (uint32_t i = 0; i < s->n; i++) {
        const double x = x_of(s, i - 0.5);
        if (!trend_is_new(s->places, i) || x < clear_from)
            continue;
        uint32_t next = i + 1;
        while (next < s->n && !trend_is_new(s->places, next))
            next++;
        const double room = x_of(s, next - 0.5) - x - FRAME_AIR;
        g_autofree char *name = trend_series_name(s->places, i, p->lang),
                        *text = pen_ellipsize(p, &p->text, name, room);
        belong(s, i);
        pen_line(p, x, s->y.at1 - NAME_LINE, x, s->y.at0, pen_color(p, ROLE_INK), 1.5, true);
        clear_from = x + 2;
        if (room >= MAX_TICK / 2)
            frame_text(f, x + 4, s->y.at1 - NAME_LINE / 2, &p->text, ALIGN_LEFT, ROLE_INK, text);
    }
}

static struct shade spread_shade(const struct pen *p)
{
    return palette_tint(p->palette, pen_shade(p, ROLE_MUTED), 0.5);
}

static void paint_spread(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;

    for (uint32_t i = 0; i < s->n && !dense(s); i++) {
        const struct trend_place *place = &s->places[i];
        const double width = CLAMP((s->x1 - s->x0) / s->n / 4, 2, POINT);
        belong(s, i);
        pen_line(p, x_of(s, i), y_of(s, place->low), x_of(s, i), y_of(s, place->high), spread_shade(p).color,
                 width, false);
    }
}

/* Of runs that share a column the lowest and the highest. */
static void paint_columns(const struct scene *s)
{
    const uint32_t color = palette_line(s->frame.pen.palette, 0);

    for (uint32_t i = 0, end; i < s->n; i = end) {
        double low = INFINITY, high = 0;
        const double x = x_of(s, i);
        for (end = i; end < s->n && (end == i || x_of(s, end) < x + 1); end++) {
            low = MIN(low, s->places[end].median);
            high = MAX(high, s->places[end].median);
        }
        belong(s, end - 1);
        pen_line(&s->frame.pen, x, y_of(s, low) + 0.5, x, y_of(s, high) - 0.5, color, 1, false);
    }
}

static void paint_points(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    const uint32_t color = palette_line(p->palette, 0);
    const double size = CLAMP((s->x1 - s->x0) / s->n / 2, 3, POINT);

    for (uint32_t i = 1; i < s->n; i++) {
        belong(s, i);
        if (!trend_is_new(s->places, i))
            pen_line(p, x_of(s, i - 1), y_of(s, s->places[i - 1].median), x_of(s, i),
                     y_of(s, s->places[i].median), color, 2.5, false);
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const struct trend_place *place = &s->places[i];
        const double x = x_of(s, i), y = y_of(s, place->median);
        char time[32];
        g_autofree char *name = trend_name(&s->places[i], i, s->names);
        belong(s, i);
        pen_box(p, x - size / 2, y - size / 2, size, size, (struct shade){color, HATCH_NONE, 0});
        if (hollow(place))
            pen_box(p, x - size / 4, y - size / 4, size / 2, size / 2, pen_shade(p, ROLE_BACKGROUND));
        pen_span(p, x - size / 2, y - size / 2, size, size, name, NULL, OP_NONE,
                 format_duration((int64_t)MIN(place->median, 9e18), time));
    }
}

/* What was called slower or faster, as far as marks stand apart. */
static void paint_marks(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    double clear[2] = {s->x0, s->x0};

    for (uint32_t i = 0; i < s->n; i++) {
        const bool slower = was(&s->places[i], "slower");
        const double x = x_of(s, i);
        if ((!slower && !was(&s->places[i], "faster")) || x - MARK / 2 < clear[slower])
            continue;
        clear[slower] = x + MARK / 2;
        belong(s, i);
        if (slower)
            pen_rise(p, x, MAX(s->y.at1, y_of(s, s->places[i].high) - MARK - 4), MARK,
                     pen_color(p, ROLE_INK));
        else
            pen_mark(p, x, MIN(s->y.at0 - MARK, y_of(s, s->places[i].low) + 4), MARK, pen_color(p, ROLE_INK));
    }
}

static void paint_legend(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    const struct shade ink = pen_shade(p, ROLE_INK);
    bool slower = false, faster = false, apart = false, series = false;
    char percent[32];
    g_autofree char *band =
        say(p->lang, "trend.band", "percent", words_percent(100 * relative(), percent), NULL);
    struct legend_entry entries[7];
    unsigned n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        slower |= was(&s->places[i], "slower");
        faster |= was(&s->places[i], "faster");
        apart |= hollow(&s->places[i]);
        series |= trend_is_new(s->places, i);
    }
    entries[n++] = (struct legend_entry){.text = word(p->lang, "trend.median"),
                                         .shade = {palette_line(p->palette, 0), HATCH_NONE, 0}};
    entries[n++] = (struct legend_entry){.text = word(p->lang, "trend.spread"), .shade = spread_shade(p)};
    entries[n++] = (struct legend_entry){.text = band, .shade = pen_shade(p, ROLE_LANE)};
    if (apart)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, "trend.hollow"), .shade = entries[0].shade, .core = true};
    if (slower)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, "trend.slower"), .shade = ink, .mark = true, .rise = true};
    if (faster)
        entries[n++] =
            (struct legend_entry){.text = word(p->lang, "trend.faster"), .shade = ink, .mark = true};
    if (series)
        entries[n++] =
            (struct legend_entry){.text = word(p->lang, "trend.series"), .shade = ink, .line = true};
    frame_legend(&s->frame, n, entries);
}

/* --- the whole */

static char *message(const struct scene *s, const struct language *l)
{
    const struct trend_place *last = &s->places[s->n - 1];
    const double change = last->base > 0 ? last->median / last->base - 1 : 0;
    char time[32], percent[32];

    words_percent(100 * fabs(change), percent);
    return say(l,
               !last->before  ? "trend.first"
               : hollow(last) ? "trend.incomparable"
               : change >= 0  ? "trend.above"
                              : "trend.below",
               "time", format_duration((int64_t)MIN(last->median, 9e18), time), "percent", percent, "n",
               count(last->before), NULL);
}

static char *headline(const struct scene *s, const struct language *l, const char *what)
{
    char *const *must = s->places[s->n - 1].run->fingerprint.must;
    const char *mode = digest_label(must, "mode"), *model = digest_label(must, "model"),
               *ranks = digest_label(must, "ranks");
    g_autofree char *shown = mode && *mode ? words_mode(l, mode) : NULL;

    if (!shown || !model || !*model || !ranks)
        return g_strdup(what);
    return say(l, "figure.headline", "mode", shown, "model", model, "n", ranks, "message", what, NULL);
}

static char *caption(const struct scene *s, const struct figure_input *in, const struct pen *pen)
{
    g_autofree char *runs = say(pen->lang, "trend.runs", "n", count(s->n), NULL);
    GString *out = g_string_new(runs);

    words_append(out, in->file);
    words_append(out, pen->look->caption);
    return g_string_free(out, FALSE);
}

static void paint(const struct scene *s)
{
    const struct pen *p = &s->frame.pen;

    paint_band(s);
    pen_belong_rank_only(p);
    paint_y_axis(s);
    paint_x_axis(s);
    paint_series(s);
    paint_spread(s);
    if (dense(s))
        paint_columns(s);
    else
        paint_points(s);
    paint_marks(s);
    pen_belong_rank_only(p);
}

static bool draw_trend(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {0};

    if (in->runs)
        s.places = trend_places(in, &s.n);
    if (!s.n) {
        g_free(s.places);
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure trend %s",
                    in->runs ? "has nothing to draw: no run of the history has steps"
                             : "needs a history, as in: parprof history FILE --figure trend");
        return false;
    }
    s.names = trend_names(s.places, s.n);
    g_autofree char *brief = message(&s, pen->lang), *title = headline(&s, pen->lang, brief),
                    *origin = caption(&s, in, pen);
    s.frame = frame_begin(pen, title, brief, origin);
    paint_legend(&s);
    scale_times(&s);
    place_columns(&s);
    const bool ok = (s.y.at0 - s.y.at1 >= LEAST && s.x1 - s.x0 >= LEAST) ||
                    frame_no_room(pen, "trend", "its runs", error);
    if (ok)
        paint(&s);
    g_free(s.places);
    return ok;
}

const struct figure figure_trend = {
    .name = "trend",
    .summary = "steps of a history's runs over time: medians, threshold, what was slower",
    .draw = draw_trend,
};
