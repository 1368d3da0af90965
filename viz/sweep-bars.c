#include "viz/sweep-bars.h"

#include "viz/layout.h"
#include "viz/words.h"

#define MAX_NAME 220.0

/* Of --build. */
enum { STEP_COMPUTE, STEP_EXPOSED };

struct row {
    const struct series_point *point;
    char *name, *english, *beside; /* english: its values, by which --note finds it */
};

struct scene {
    struct frame *frame;
    struct row *rows;
    uint32_t n;
    struct frame_rows place;
    struct unit unit;
    struct scale scale;
    double most;
};

static char *values_of(const struct language *l, const struct series *s, uint32_t point)
{
    GString *text = g_string_new(NULL);

    for (uint32_t i = 0; i < s->n_axes; i++)
        g_string_append_printf(text, "%s%s", i ? ", " : "", words_value(l, s->axes[i], s->points[point].values[i]));
    return g_string_free(text, FALSE);
}

static void collect(struct scene *s, const struct series *series)
{
    const struct pen *pen = &s->frame->pen;
    char number[32];

    s->rows = g_new0(struct row, series->n_points);
    for (uint32_t i = 0; i < series->n_points; i++) {
        const struct series_point *p = &series->points[i];
        struct row *r = &s->rows[s->n++];
        g_autofree char *values = values_of(pen->lang, series, i);
        g_autofree char *why = p->why_not ? pen_one_line(p->why_not) : NULL;
        r->point = p;
        r->name = pen_ellipsize(pen, &pen->strong, values, MAX_NAME);
        r->english = values_of(language_standard(), series, i);
        r->beside = why ? g_steal_pointer(&why)
                        : g_strconcat(format_duration(p->step_ns, number), p->measured ? ", " : "",
                                      p->measured ? word(pen->lang, "figure.measured") : "",
                                      i == series->best ? ", " : "",
                                      i == series->best ? word(pen->lang, "sweep.best-word") : "", NULL);
        if (!p->why_not)
            s->most = MAX(s->most, (double)p->step_ns);
    }
}

static double length_of(const struct row *r)
{
    return r->point->why_not ? 0 : (double)MAX(r->point->step_ns, 0);
}

static void place_columns(struct scene *s)
{
    const struct frame *f = s->frame;
    double gutter = 0;

    s->most = MAX(s->most, 1);
    s->unit = unit_of_time(s->most);
    for (uint32_t i = 0; i < s->place.shown; i++)
        gutter = MAX(gutter, pen_width(&f->pen, &f->pen.strong, s->rows[i].name));
    s->scale =
        (struct scale){0, s->most / s->unit.size, f->x0 + MAX(gutter, 30) + 2 * FRAME_AIR, f->x1, false};
    for (uint32_t i = 0; i < s->place.shown; i++)
        frame_leave_beside(f, &s->scale, length_of(&s->rows[i]) / s->most, s->rows[i].beside);
}

/* The exposed part is at the end of the bar. */
static void paint_row(const struct scene *s, const struct row *r, double y)
{
    const struct frame *f = s->frame;
    const struct font strong = pen_capped(&f->pen.strong, s->place.bar);
    const struct series_point *p = r->point;
    const double step = length_of(r), exposed = p->why_not ? 0 : CLAMP((double)p->exposed_ns, 0, step);
    const double hidden_x = scale_at(&s->scale, (step - exposed) / s->unit.size),
                 end = scale_at(&s->scale, step / s->unit.size);
    char number[32];
    const char *const texts[] = {format_duration((int64_t)exposed, number)};
    g_autofree char *beside = pen_ellipsize(&f->pen, &strong, r->beside, f->x1 - end - FRAME_AIR);

    frame_text(f, f->x0, y + s->place.bar / 2, &strong, ALIGN_LEFT, ROLE_INK, r->name);
    pen_belong(&f->pen, KEY_PHASE, STEP_COMPUTE);
    frame_bar(f, s->scale.at0, hidden_x, y, s->place.bar, pen_shade(&f->pen, ROLE_FORWARD), false, 0, NULL);
    pen_belong(&f->pen, KEY_PHASE, STEP_EXPOSED);
    frame_bar(f, hidden_x, end, y, s->place.bar, pen_shade(&f->pen, ROLE_COMM), true, exposed > 0, texts);
    frame_text(f, end + FRAME_AIR, y + s->place.bar / 2, &strong, ALIGN_LEFT,
               p->why_not ? ROLE_MUTED : ROLE_INK, beside);
    if (!p->why_not)
        pen_span(&f->pen, s->scale.at0, y, end - s->scale.at0, s->place.bar, r->name, r->english, OP_NONE, r->beside);
}

static void paint(const struct scene *s)
{
    const struct frame *f = s->frame;
    double y = s->place.top;

    frame_axis(f, &s->scale, s->unit.name, s->place.top, s->place.axis);
    for (uint32_t i = 0; i < s->place.shown; i++, y += s->place.bar + s->place.gap) {
        pen_belong(&f->pen, KEY_TIME, i);
        paint_row(s, &s->rows[i], y);
        pen_belong_rank_only(&f->pen);
    }
    if (s->place.shown < s->n) {
        g_autofree char *text =
            say(f->pen.lang, "sweep.hidden-points", "shown", count(s->place.shown), "n", count(s->n), NULL);
        frame_text(f, f->x0, y + FRAME_NOTE / 2 - 2, &f->pen.small, ALIGN_LEFT, ROLE_MUTED, text);
    }
}

bool sweep_bars(struct frame *f, const struct series *series, GError **error)
{
    const struct legend_entry entries[] = {
        {.text = word(f->pen.lang, "sweep.step"), .shade = pen_shade(&f->pen, ROLE_FORWARD)},
        {.text = word(f->pen.lang, "sweep.exposed"),
         .shade = pen_shade(&f->pen, ROLE_COMM),
         .exposed = true}};
    struct scene s = {.frame = f};

    frame_legend(f, G_N_ELEMENTS(entries), entries);
    collect(&s, series);
    s.place = (struct frame_rows){.n = s.n};
    const bool ok = frame_divide(f, &s.place);
    if (ok) {
        place_columns(&s);
        paint(&s);
    } else {
        frame_no_room(&f->pen, "sweep", "a bar", error);
    }
    for (uint32_t i = 0; i < s.n; i++) {
        g_free(s.rows[i].name);
        g_free(s.rows[i].english);
        g_free(s.rows[i].beside);
    }
    g_free(s.rows);
    return ok;
}
