/* Steps as stacked bars, one below the other: what they spend their time on, and what overlap saves. */
#include "viz/figure.h"

#include <math.h>
#include <string.h>

#include "viz/frame.h"
#include "viz/words.h"

#define STRIP    20.0 /* hidden communication under a bar, and what found no room on the bar */
#define HEADING  34.0 /* and air around it */
#define GROUND   20.0 /* of it, under its text */
#define ABOVE    8.0  /* the ground */
#define MARK     7.0
#define NO_MARK  4.0 /* above bars of which none is predicted */
#define MAX_NAME 180.0

/* Of a bar from left to right; they sum to the step. */
enum part { PART_FORWARD, PART_BACKWARD, PART_EXPOSED, PART_OPTIMIZER, PART_REST, PARTS };

static const struct {
    const char *key;
    uint8_t role;
} part_looks[PARTS] = {
    [PART_FORWARD] = {"phase.forward", ROLE_FORWARD}, [PART_BACKWARD] = {"phase.backward", ROLE_BACKWARD},
    [PART_EXPOSED] = {"legend.exposed", ROLE_COMM},   [PART_OPTIMIZER] = {"phase.optimizer", ROLE_OPTIMIZER},
    [PART_REST] = {"breakdown.rest", ROLE_REST},
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
    return say(s->frame.pen.lang, saved > 0 ? "breakdown.saved" : "breakdown.longer", "time", number,
               "percent", words_percent(fabs(saved), percent), NULL);
}

static const char *made(const struct scene *s, const struct digest *d, const struct row *r)
{
    const struct language *l = s->frame.pen.lang;

    if (d->published)
        return word(l, r->of->measured ? "breakdown.published" : "breakdown.computed");
    return words_made(l, !r->of->measured, !d->simulated);
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

static double above_bar(const struct scene *s)
{
    return s->predicts ? MARK : NO_MARK;
}

static bool divide_height(struct scene *s)
{
    const double most = (s->frame.y1 - s->frame.y0) / STRIP;

    s->place = (struct frame_rows){.n = s->n, .around = above_bar(s) + STRIP};
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
    const char *of_first = word(pen->lang, "breakdown.of-first");
    double gutter = pen_width(pen, &pen->text, of_first) + 2 * FRAME_AIR, most = 0;

    for (uint32_t i = 0; i < s->n; i++)
        most = MAX(most, (double)MAX(s->rows[i].of->step_ns, predicted_ns(&s->rows[i])) /
                             (double)(s->normalise ? s->rows[i].first_ns : 1));
    s->unit = s->normalise ? (struct unit){of_first, 1} : unit_of_time(most);
    for (uint32_t i = 0; i < s->n; i++) {
        struct row *r = &s->rows[i];
        g_autofree char *name = words_overlap(pen->lang, r->of->name);
        r->name = pen_ellipsize(pen, &pen->strong, name, MAX_NAME);
        r->beside = beside_text(s, r);
        gutter = MAX(gutter, pen_width(pen, &pen->strong, r->name));
        gutter = MAX(gutter, pen_width(pen, &pen->small, made(s, d, r)));
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
    g_autofree char *hidden =
        say(f->pen.lang, "breakdown.hidden", "time", value_text(s, r, r->hidden_ns, number), NULL);
    const char *const texts[] = {hidden, number};
    g_autoptr(GString) beside = g_string_new(NULL);

    if (r->hidden_ns > 0 && !frame_bar(f, x0, x1, y, STRIP, pen_shade(&f->pen, ROLE_COMM), false, 2, texts))
        g_string_append(beside, hidden);
    for (unsigned i = 0; i < PARTS; i++)
        if (missing & 1u << i)
            g_string_append_printf(beside, "%s%s %s", beside->len ? ", " : "",
                                   word(f->pen.lang, part_looks[i].key), value_text(s, r, r->ns[i], number));
    const double at = (r->hidden_ns > 0 ? x1 : s->scale.at0) + FRAME_AIR, room = f->x1 - at;
    const double wide = pen_width(&f->pen, &f->pen.small, beside->str);
    if (wide <= room)
        frame_text(f, at, y + STRIP / 2 + 1, &f->pen.small, ALIGN_LEFT, ROLE_MUTED, beside->str);
    else if (wide <= x0 - FRAME_AIR - s->scale.at0)
        frame_text(f, x0 - FRAME_AIR, y + STRIP / 2 + 1, &f->pen.small, ALIGN_RIGHT, ROLE_MUTED, beside->str);
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
        pen_belong(&s->frame.pen, KEY_PHASE, i);
        const double x0 = scale_at(&s->scale, value_of(s, r, at_ns)),
                     x1 = scale_at(&s->scale, value_of(s, r, at_ns + r->ns[i]));
        if (!frame_bar(&s->frame, x0, x1, y, s->place.bar, pen_shade(&s->frame.pen, part_looks[i].role),
                       i == PART_EXPOSED, r->ns[i] > 0 ? 2 : 0, texts))
            missing |= 1u << i;
        if (r->ns[i] > 0)
            pen_span(&s->frame.pen, x0, y, x1 - x0, s->place.bar, word(s->frame.pen.lang, part_looks[i].key),
                     word(language_standard(), part_looks[i].key), OP_NONE, whole);
        at_ns += r->ns[i];
    }
    pen_belong(&s->frame.pen, KEY_PHASE, DRAW_NONE);
    return missing;
}

static void paint_row(const struct scene *s, const struct digest *d, const struct row *r, uint32_t i, double y)
{
    const struct frame *f = &s->frame;
    const struct font strong = pen_capped(&f->pen.strong, s->place.bar);
    const double end = scale_at(&s->scale, value_of(s, r, r->of->step_ns));
    g_autofree char *beside = pen_ellipsize(&f->pen, &strong, r->beside, f->x1 - end - FRAME_AIR);

    pen_belong(&f->pen, KEY_TIME, i);
    frame_text(f, f->x0, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, r->name);
    frame_text(f, f->x0, y + s->place.bar + STRIP / 2 + 1, &f->pen.small, ALIGN_LEFT, ROLE_MUTED,
               made(s, d, r));
    const uint32_t missing = paint_bar(s, r, y);
    pen_belong_rest(&f->pen);
    frame_text(f, end + FRAME_AIR, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, beside);
    paint_strip(s, r, y + s->place.bar, missing);
    if (predicted_ns(r) > 0) {
        const double value = MIN(value_of(s, r, predicted_ns(r)), s->scale.high);
        pen_mark(&f->pen, scale_at(&s->scale, value), y - MARK, MARK, pen_color(&f->pen, ROLE_INK));
    }
    pen_belong_rank_only(&f->pen);
}

static void paint_heading(const struct frame *f, const char *group, double y)
{
    g_autofree char *known = say_known(f->pen.lang, "known", group);
    g_autofree char *text = pen_ellipsize(&f->pen, &f->pen.strong, known, f->x1 - f->x0 - FRAME_AIR);

    pen_box(&f->pen, f->x0, y + ABOVE, f->x1 - f->x0, GROUND, pen_shade(&f->pen, ROLE_LANE));
    frame_text(f, f->x0 + FRAME_AIR / 2, y + ABOVE + GROUND / 2, &f->pen.strong, ALIGN_LEFT, ROLE_INK, text);
}

static void paint_rows(const struct scene *s, const struct digest *d)
{
    const struct frame *f = &s->frame;
    const struct frame_rows *place = &s->place;
    double y = place->top;

    for (uint32_t i = 0; i < place->shown; i++) {
        const char *group = heading(s, i);
        if (group) {
            pen_belong(&f->pen, KEY_TIME, i);
            paint_heading(f, group, y);
            y += HEADING;
        }
        paint_row(s, d, shown_row(s, i), i, y + above_bar(s));
        y += above_bar(s) + place->bar + STRIP + place->gap;
    }
    if (place->shown < s->n) {
        g_autofree char *text =
            say(f->pen.lang, "breakdown.hidden-steps", "shown", count(place->shown), "n", count(s->n), NULL);
        frame_text(f, f->x0, y + FRAME_NOTE / 2 - 2, &f->pen.small, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

static void paint_legend(struct scene *s)
{
    const struct pen *p = &s->frame.pen;
    struct legend_entry entries[PARTS + 2];
    unsigned n = 0;

    for (unsigned i = 0; i < PARTS; i++)
        if (s->parts & 1u << i)
            entries[n++] = (struct legend_entry){.text = word(p->lang, part_looks[i].key),
                                                 .shade = pen_shade(p, part_looks[i].role),
                                                 .exposed = i == PART_EXPOSED};
    if (s->hides)
        entries[n++] = (struct legend_entry){.text = word(p->lang, "breakdown.hidden-legend"),
                                             .shade = pen_shade(p, ROLE_COMM)};
    if (s->predicts)
        entries[n++] = (struct legend_entry){
            .text = word(p->lang, "breakdown.predicted"), .shade = pen_shade(p, ROLE_INK), .mark = true};
    frame_legend(&s->frame, n, entries);
}

/* What the groups save from their first to their last row. */
static char *message(const struct scene *s, const struct language *l)
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
    words_percent(least, low);
    words_percent(most, high);
    if (!(least > 0 && most >= least))
        return g_strdup(word(l, "breakdown.where"));
    if (!strcmp(low, high))
        return say(l, "breakdown.saves", "percent", low, NULL);
    return say(l, "breakdown.saves-between", "least", low, "most", high, NULL);
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

static bool draw_breakdown(const struct figure_input *in, const struct pen *pen, GError **error)
{
    struct scene s = {.normalise = pen->look->normalise};

    if (!drawable(in, error))
        return false;
    collect(&s, in->digest);
    g_autofree char *what = message(&s, pen->lang), *title = frame_headline(pen, in->digest, what),
                    *origin = frame_origin(pen, in->digest);
    s.frame = frame_begin(pen, title, what, origin);
    paint_legend(&s);
    const bool ok = divide_height(&s);
    if (ok) {
        place_columns(&s, in->digest);
        frame_axis(&s.frame, &s.scale, s.unit.name, s.place.top, s.place.axis);
        paint_rows(&s, in->digest);
    } else {
        frame_no_room(pen, "breakdown", "a bar", error);
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
