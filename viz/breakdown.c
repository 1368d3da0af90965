/* Steps as stacked bars, one below the other: what they spend their time on, and what overlap saves. */
#include "viz/figure.h"

#include <math.h>
#include <string.h>

#include "viz/frame.h"
#include "viz/words.h"

#define STRIP    17.0 /* hidden communication under a bar, and what found no room on the bar */
#define HEADING  26.0
#define MARK     7.0
#define MAX_NAME 150.0

/* Of a bar from left to right; they sum to the step. */
enum part { PART_FORWARD, PART_BACKWARD, PART_EXPOSED, PART_OPTIMIZER, PART_REST, PARTS };

static const struct {
    const char *name;
    uint8_t role;
} part_looks[PARTS] = {
    [PART_FORWARD] = {"forward", ROLE_FORWARD},
    [PART_BACKWARD] = {"backward", ROLE_BACKWARD},
    [PART_EXPOSED] = {"exposed communication", ROLE_COMM},
    [PART_OPTIMIZER] = {"optimizer", ROLE_OPTIMIZER},
    [PART_REST] = {"rest", ROLE_GRID},
};

struct row {
    const struct digest_row *of;
    int64_t ns[PARTS], hidden_ns;
    int64_t first_ns; /* step of the group's first row; of itself in that */
    char *name, *beside;
};

struct scene {
    struct frame frame;
    struct scale scale;
    bool normalise;
    struct unit unit;
    struct row *rows;
    uint32_t n;
    struct frame_rows place;
    uint32_t parts;       /* set of enum part that some row has */
    bool hides, predicts; /* some row has communication that is hidden; a prediction */
};

/* What is known of the step, cut so that it sums: a file may say anything. */
static void split(struct row *r)
{
    const struct partition *p = &r->of->partition;
    const int64_t *phase_ns = r->of->phase_ns;
    const int64_t wanted[PARTS] = {
        [PART_FORWARD] = phase_ns[PHASE_FORWARD],
        [PART_BACKWARD] = phase_ns[PHASE_BACKWARD],
        [PART_EXPOSED] = p->window_ns > 0 ? p->exposed_comm_ns : 0,
        [PART_OPTIMIZER] = phase_ns[PHASE_OPTIMIZER],
    };
    int64_t left_ns = r->of->step_ns;

    for (unsigned i = 0; i < PART_REST; i++) {
        r->ns[i] = CLAMP(wanted[i], 0, left_ns);
        left_ns -= r->ns[i];
    }
    r->ns[PART_REST] = left_ns;
    r->hidden_ns = p->window_ns > 0 ? CLAMP(p->hidden_comm_ns, 0, r->of->step_ns) : 0;
}

/* Of a step that was run; 0: unknown. */
static int64_t predicted_ns(const struct row *r)
{
    return r->of->measured ? MAX(0, r->of->predicted_step_ns) : 0;
}

static void collect(struct scene *s, const struct digest *d)
{
    const char *group = NULL;
    int64_t first_ns = 0;

    s->rows = g_new0(struct row, d->n_rows + 1);
    for (uint32_t i = 0; i < d->n_rows; i++) {
        const struct digest_row *of = &d->rows[i];
        struct row *r = &s->rows[s->n];
        if (of->step_ns <= 0)
            continue;
        r->of = of;
        if (!s->n || g_strcmp0(group, of->group)) {
            group = of->group;
            first_ns = of->step_ns;
        }
        r->first_ns = first_ns;
        split(r);
        s->n++;
        for (unsigned k = 0; k < PARTS; k++)
            s->parts |= (uint32_t)(r->ns[k] > 0) << k;
        s->hides |= r->hidden_ns > 0;
        s->predicts |= predicted_ns(r) > 0;
    }
}

static double value_of(const struct scene *s, const struct row *r, int64_t ns)
{
    return (double)ns / (s->normalise ? (double)r->first_ns : s->unit.size);
}

/* In the unit of the axis, all over the figure. */
static const char *value_text(const struct scene *s, const struct row *r, int64_t ns, char text[static 32])
{
    const double value = value_of(s, r, ns);

    if (s->normalise)
        return g_ascii_formatd(text, 32, "%.3f", value);
    g_ascii_formatd(text, 32 - 3, value < 1 ? "%.2f" : "%.1f", value);
    g_strlcat(text, " ", 32);
    g_strlcat(text, s->unit.name, 32);
    return text;
}

/* "102.3 ms, 16.6 % saved" */
static char *beside_text(const struct scene *s, const struct row *r)
{
    char number[32], percent[32];
    const double saved = 100 * (1 - (double)r->of->step_ns / (double)r->first_ns);

    value_text(s, r, r->of->step_ns, number);
    if (r->first_ns == r->of->step_ns)
        return g_strdup(number);
    g_ascii_formatd(percent, sizeof percent, "%.1f", fabs(saved));
    return g_strdup_printf("%s, %s %% %s", number, percent, saved > 0 ? "saved" : "longer");
}

static const char *made(const struct digest *d, const struct row *r)
{
    if (d->published)
        return r->of->measured ? "published" : "computed";
    return r->of->measured ? "measured" : d->simulated ? "simulated" : "predicted";
}

/* --- what stands where */

/* The first ones; of a single group the last too, which the report is of. */
static const struct row *shown_row(const struct scene *s, uint32_t i)
{
    const bool one_group = !g_strcmp0(s->rows[0].of->group, s->rows[s->n - 1].of->group);

    return &s->rows[one_group && i + 1 == s->place.shown ? s->n - 1 : i];
}

/* Of the group that begins with the row; NULL: none does. */
static const char *heading(const struct scene *s, uint32_t i)
{
    const char *group = shown_row(s, i)->of->group;

    return i && !g_strcmp0(group, shown_row(s, i - 1)->of->group) ? NULL : group;
}

static bool divide_height(struct scene *s)
{
    const double most = (s->frame.y1 - s->frame.y0) / STRIP;

    s->place = (struct frame_rows){.n = s->n, .around = MARK + STRIP};
    for (s->place.shown = MIN(s->n, (uint32_t)MAX(0, most)); s->place.shown; s->place.shown--) {
        s->place.extra = 0;
        for (uint32_t i = 0; i < s->place.shown; i++)
            s->place.extra += heading(s, i) ? HEADING : 0;
        if (frame_fit(&s->frame, &s->place))
            return true;
    }
    return false;
}

static void place_columns(struct scene *s, const struct digest *d)
{
    const struct pen *pen = &s->frame.pen;
    double gutter = pen_width(pen, &frame_text_font, "of the first") + 2 * FRAME_AIR, most = 0;

    for (uint32_t i = 0; i < s->n; i++)
        most = MAX(most, (double)MAX(s->rows[i].of->step_ns, predicted_ns(&s->rows[i])) /
                             (double)(s->normalise ? s->rows[i].first_ns : 1));
    s->unit = s->normalise ? (struct unit){"of the first", 1} : unit_of_time(most);
    for (uint32_t i = 0; i < s->n; i++) {
        struct row *r = &s->rows[i];
        g_autofree char *name = words_overlap(r->of->name);
        r->name = pen_ellipsize(pen, &frame_strong_font, name, MAX_NAME);
        r->beside = beside_text(s, r);
        gutter = MAX(gutter, pen_width(pen, &frame_strong_font, r->name));
        gutter = MAX(gutter, pen_width(pen, &frame_text_font, made(d, r)));
    }
    s->scale =
        (struct scale){0, most / s->unit.size, s->frame.x0 + gutter + 2 * FRAME_AIR, s->frame.x1, false};
    for (uint32_t i = 0; i < s->n; i++) {
        const struct row *r = &s->rows[i];
        frame_leave_beside(&s->frame, &s->scale, value_of(s, r, r->of->step_ns) / s->scale.high, r->beside);
    }
}

/* --- paint */

/* From the end of backward to the left, where it was hidden; with the values that found no room on the bar.
 */
static void paint_strip(const struct scene *s, const struct row *r, double y, uint32_t missing)
{
    const struct frame *f = &s->frame;
    const int64_t back_ns = r->ns[PART_FORWARD] + r->ns[PART_BACKWARD],
                  from_ns = MAX(0, back_ns - r->hidden_ns);
    const double x0 = scale_at(&s->scale, value_of(s, r, from_ns)),
                 x1 = scale_at(&s->scale, value_of(s, r, from_ns + r->hidden_ns));
    char number[32];
    g_autofree char *hidden = g_strdup_printf("%s hidden", value_text(s, r, r->hidden_ns, number));
    const char *const texts[] = {hidden, number};
    g_autoptr(GString) beside = g_string_new(NULL);

    if (r->hidden_ns > 0 && !frame_bar(f, x0, x1, y, STRIP, palette_color(ROLE_COMM), false, 2, texts))
        g_string_append(beside, hidden);
    for (unsigned i = 0; i < PARTS; i++)
        if (missing & 1u << i)
            g_string_append_printf(beside, "%s%s %s", beside->len ? ", " : "", part_looks[i].name,
                                   value_text(s, r, r->ns[i], number));
    const double at = (r->hidden_ns > 0 ? x1 : s->scale.at0) + FRAME_AIR, room = f->x1 - at;
    const double wide = pen_width(&f->pen, &frame_text_font, beside->str);
    if (wide <= room)
        frame_text(f, at, y + STRIP / 2 + 1, &frame_text_font, ALIGN_LEFT, ROLE_MUTED, beside->str);
    else if (wide <= x0 - FRAME_AIR - s->scale.at0)
        frame_text(f, x0 - FRAME_AIR, y + STRIP / 2 + 1, &frame_text_font, ALIGN_RIGHT, ROLE_MUTED,
                   beside->str);
}

static uint32_t paint_bar(const struct scene *s, const struct row *r, double y)
{
    uint32_t missing = 0;
    int64_t at_ns = 0;

    for (unsigned i = 0; i < PARTS; i++) {
        char whole[32], number[32];
        value_text(s, r, r->ns[i], whole);
        g_strlcpy(number, whole, sizeof number);
        number[strcspn(number, " ")] = '\0';
        const char *const texts[] = {whole, number};
        const double x0 = scale_at(&s->scale, value_of(s, r, at_ns)),
                     x1 = scale_at(&s->scale, value_of(s, r, at_ns + r->ns[i]));
        if (!frame_bar(&s->frame, x0, x1, y, s->place.bar, palette_color(part_looks[i].role),
                       i == PART_EXPOSED, r->ns[i] > 0 ? 2 : 0, texts))
            missing |= 1u << i;
        at_ns += r->ns[i];
    }
    return missing;
}

static void paint_row(const struct scene *s, const struct digest *d, const struct row *r, double y)
{
    const struct frame *f = &s->frame;
    const double end = scale_at(&s->scale, value_of(s, r, r->of->step_ns));
    g_autofree char *beside = pen_ellipsize(&f->pen, &frame_strong_font, r->beside, f->x1 - end - FRAME_AIR);

    frame_text(f, f->x0, y + s->place.bar / 2, &frame_strong_font, ALIGN_LEFT, ROLE_INK, r->name);
    frame_text(f, f->x0, y + s->place.bar + STRIP / 2 + 1, &frame_text_font, ALIGN_LEFT, ROLE_MUTED,
               made(d, r));
    const uint32_t missing = paint_bar(s, r, y);
    frame_text(f, end + FRAME_AIR, y + s->place.bar / 2, &frame_strong_font, ALIGN_LEFT, ROLE_INK, beside);
    paint_strip(s, r, y + s->place.bar, missing);
    if (predicted_ns(r) > 0) {
        const double value = MIN(value_of(s, r, predicted_ns(r)), s->scale.high);
        pen_mark(&f->pen, scale_at(&s->scale, value), y - MARK, MARK, palette_color(ROLE_INK));
    }
}

static void paint_heading(const struct frame *f, const char *group, double y)
{
    g_autofree char *text = pen_ellipsize(&f->pen, &frame_strong_font, group, f->x1 - f->x0 - FRAME_AIR);

    pen_box(&f->pen, f->x0, y + 2, f->x1 - f->x0, HEADING - 6, palette_color(ROLE_LANE));
    frame_text(f, f->x0 + FRAME_AIR / 2, y + HEADING / 2 - 1, &frame_strong_font, ALIGN_LEFT, ROLE_INK, text);
}

static void paint_rows(const struct scene *s, const struct digest *d)
{
    const struct frame *f = &s->frame;
    const struct frame_rows *place = &s->place;
    double y = place->top;

    for (uint32_t i = 0; i < place->shown; i++) {
        const char *group = heading(s, i);
        if (group) {
            paint_heading(f, group, y);
            y += HEADING;
        }
        paint_row(s, d, shown_row(s, i), y + MARK);
        y += MARK + place->bar + STRIP + place->gap;
    }
    if (place->shown < s->n) {
        g_autofree char *text =
            g_strdup_printf("%u of %u steps shown; use a higher canvas", place->shown, s->n);
        frame_text(f, f->x0, y + FRAME_NOTE / 2 - 2, &frame_text_font, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

static void paint_legend(struct scene *s)
{
    struct legend_entry entries[PARTS + 2];
    unsigned n = 0;

    for (unsigned i = 0; i < PARTS; i++)
        if (s->parts & 1u << i)
            entries[n++] = (struct legend_entry){part_looks[i].name, palette_color(part_looks[i].role),
                                                 i == PART_EXPOSED};
    if (s->hides)
        entries[n++] =
            (struct legend_entry){"communication hidden beside computation", palette_color(ROLE_COMM), false};
    if (s->predicts)
        entries[n++] = (struct legend_entry){"step as predicted", palette_color(ROLE_INK), .mark = true};
    frame_legend(&s->frame, n, entries);
}

/* What the groups save from their first to their last row. */
static void message(const struct scene *s, char text[static 96])
{
    double least = INFINITY, most = -INFINITY;
    char low[32], high[32];

    for (uint32_t i = 0; i < s->n; i++) {
        const struct row *r = &s->rows[i];
        const bool last = i + 1 == s->n || g_strcmp0(s->rows[i + 1].of->group, r->of->group);
        const bool overlaps = strcmp(r->of->name, "none") && r->of->step_ns != r->first_ns;
        if (!last || !overlaps)
            continue;
        const double saved = 100 * (1 - (double)r->of->step_ns / (double)r->first_ns);
        least = MIN(least, saved);
        most = MAX(most, saved);
    }
    g_ascii_formatd(low, sizeof low, "%.1f", least);
    g_ascii_formatd(high, sizeof high, "%.1f", most);
    if (!(least > 0 && most >= least))
        g_strlcpy(text, "where a step's time goes", 96);
    else if (!strcmp(low, high))
        g_snprintf(text, 96, "overlap saves %s %%", low);
    else
        g_snprintf(text, 96, "overlap saves %s to %s %%", low, high);
}

static bool drawable(const struct figure_input *in, GError **error)
{
    const struct digest *d = in->digest;

    for (uint32_t i = 0; d && i < d->n_rows; i++)
        if (d->rows[i].step_ns > 0)
            return true;
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "figure breakdown %s",
                !d ? "needs a run or a report; a sweep has no phases"
                   : "has nothing to draw: no step of the report takes time");
    return false;
}

static bool draw_breakdown(const struct figure_input *in, const struct figure_options *o,
                           const struct draw_ops *ops, struct draw *draw, GError **error)
{
    struct scene s = {.normalise = o->normalise};
    char what[96];

    if (!drawable(in, error))
        return false;
    collect(&s, in->digest);
    message(&s, what);
    g_autofree char *title = frame_headline(in->digest, what), *origin = frame_origin(in->digest, o->caption);
    s.frame = frame_begin(ops, draw, o, title, what, origin);
    paint_legend(&s);
    const bool ok = divide_height(&s);
    if (ok) {
        place_columns(&s, in->digest);
        frame_axis(&s.frame, &s.scale, s.unit.name, s.place.top, s.place.axis);
        paint_rows(&s, in->digest);
    } else {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "figure breakdown: %.0f x %.0f px leave no room for a bar; use a higher canvas", o->width,
                    o->height);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        g_free(s.rows[i].name);
        g_free(s.rows[i].beside);
    }
    g_free(s.rows);
    return ok;
}

const struct figure figure_breakdown = {
    .name = "breakdown",
    .summary = "steps as stacked bars: forward, backward, communication, optimizer, and what overlap saved",
    .draw = draw_breakdown,
};
