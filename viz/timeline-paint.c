#include "viz/timeline.h"

#include <math.h>

#include "viz/layout.h"
#include "viz/notes.h"
#include "viz/words.h"

#define FLAG_TEXT 14.0 /* middle of the flags' text, from the top of the notes */

static void paint_axis(const struct timeline *s)
{
    const struct axis *a = &s->axis;
    const struct pen *p = &s->frame.pen;
    const int64_t tick = axis_tick_ns(a, TIMELINE_TICK_GAP), last = a->from_ns + a->span_ns;
    const double y = s->axis_y + s->frame.axis / 2 + 3;

    for (int64_t at = (a->from_ns + tick - 1) / tick * tick; at <= last; at += tick) {
        char text[32];
        const double x = axis_x(a, at);
        axis_tick_text(last, tick, at, text);
        pen_line(p, x, s->ranks_y - 4, x, s->axis_y + 5, pen_color(p, ROLE_GRID), 1, false);
        const double half = pen_width(p, &p->text, text) / 2;
        frame_text(&s->frame, MIN(x, p->width - half - 1), y, &p->text, ALIGN_CENTER, ROLE_MUTED, text);
        if (at > last - tick)
            break;
    }
    pen_line(p, a->x0, s->axis_y + 2, a->x1, s->axis_y + 2, pen_color(p, ROLE_MUTED), 1, false);
    g_autofree char *title = say(p->lang, "timeline.axis", "unit", axis_unit(last), NULL);
    g_autofree char *shown = pen_ellipsize(p, &p->text, title, a->x0 - s->frame.x0 - TIMELINE_AIR);
    frame_text(&s->frame, s->frame.x0, y, &p->text, ALIGN_LEFT, ROLE_MUTED, shown);
    if (p->notes)
        notes_set_axis(p->notes, (double)a->from_ns, a->x0, (double)last, a->x1, s->ranks_y - 4);
}

/* To the right of a lane, on a plain ground. */
static void paint_beside(const struct timeline *s, int64_t at_ns, double middle, double lane, enum role role,
                         const char *text)
{
    const struct pen *p = &s->frame.pen;
    const struct font font = pen_capped(&p->strong, lane);
    const double x = axis_x(&s->axis, at_ns) + TIMELINE_AIR, h = font.size + 4;

    if (!p->look->transparent)
        pen_box(p, x - 3, middle - h / 2, pen_width(p, &font, text) + 6, h, pen_shade(p, ROLE_BACKGROUND));
    frame_text(&s->frame, x, middle, &font, ALIGN_LEFT, role, text);
}

static void paint_exposed(const struct timeline *s, const struct step_rows *rows, uint32_t i,
                          const struct analysis *a, const struct lane_style *style, double y, enum role role)
{
    const struct row *row = &rows->rows[i];
    int64_t at_ns;
    g_autofree char *text = timeline_beside(s, rows, row, a, &at_ns);

    if (text)
        pen_belong_rest(&s->frame.pen);
    if (text)
        paint_beside(s, at_ns, (style->comm ? lanes_comm_y(style, y) : y) + style->lane / 2, style->lane,
                     role, text);
}

static void paint_rank(const struct timeline *s, uint32_t i)
{
    const struct lane_style style = timeline_style(s);
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct row *row = &s->ranks.rows[i];
    const double y = s->ranks_y + i * (lanes_height(&style) + s->lane * TIMELINE_GAP_PART),
                 right = s->axis.x0 - TIMELINE_GUTTER_GAP;
    g_autofree char *rank = pen_rank(p, row->rank);

    pen_group_rank(p, row->rank);
    frame_text(f, f->x0, y + s->lane / 2, &p->strong, ALIGN_LEFT, ROLE_INK, rank);
    frame_text(f, right, y + s->lane / 2, &p->text, ALIGN_RIGHT, ROLE_MUTED, word(p->lang, "lane.compute"));
    if (s->comm)
        frame_text(f, right, lanes_comm_y(&style, y) + s->lane / 2, &p->text, ALIGN_RIGHT, ROLE_MUTED,
                   word(p->lang, "lane.comm"));
    lanes_paint(p, &s->axis, &s->in->trace->t, row, &style, y);
    paint_exposed(s, &s->ranks, i, s->in->analysis, &style, y, ROLE_INK);
    pen_group_end(p);
}

static void paint_hidden(const struct timeline *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const uint32_t n = s->in->trace->t.n_ranks;

    if (s->shown == n)
        return;
    g_autofree char *slowest = pen_rank(p, s->in->analysis->slowest_rank);
    g_autofree char *whole =
        say(p->lang, s->shown > 2 ? "timeline.hidden-ranks-spread" : "timeline.hidden-ranks", "shown",
            count(s->shown), "n", count(n), "slowest", slowest, NULL);
    g_autofree char *text = pen_ellipsize(p, &p->small, whole, f->x1 - f->x0 - 4);
    pen_box(p, f->x0, s->hidden_y + 4, pen_width(p, &p->small, text) + 3, TIMELINE_HIDDEN - 4,
            pen_shade(p, ROLE_BACKGROUND));
    frame_text(f, f->x0, s->hidden_y + TIMELINE_HIDDEN / 2 + 2, &p->small, ALIGN_LEFT, ROLE_MUTED, text);
}

/* The line on which a flag hangs ends above the lanes; from there lanes_paint goes on. */
static void paint_pole(const struct timeline *s, double x, double bottom, bool dashed)
{
    pen_line(&s->frame.pen, x, s->notes_y + 4, x, bottom, pen_color(&s->frame.pen, ROLE_INK), 1.5, dashed);
}

/* Of the rank that is the last to end it. */
static void paint_backward_flag(const struct timeline *s, double y)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const int64_t back_ns = s->ranks.backward_end_ns;
    char time[32];

    if (back_ns <= s->from_ns || back_ns > s->to_ns)
        return;
    pen_belong(p, KEY_PHASE, PHASE_BACKWARD);
    pen_belong(p, KEY_TIME, back_ns);
    const double x = axis_x(&s->axis, back_ns);
    g_autofree char *whole =
        say(p->lang, "timeline.end-of-backward", "time", format_duration(back_ns, time), NULL);
    const char *const texts[] = {whole, word(p->lang, "timeline.end-of-backward-brief"),
                                 word(p->lang, "phase.backward")};
    const char *text = pen_fit(p, &p->strong, G_N_ELEMENTS(texts), texts, x - TIMELINE_AIR - f->x0);
    if (text)
        frame_text(f, x - TIMELINE_AIR, y, &p->strong, ALIGN_RIGHT, ROLE_INK, text);
    paint_pole(s, x, s->ranks_y, true);
}

/* Flags: the end of backward to the left of its pole, the end of the step to the right. */
static void paint_flags(const struct timeline *s)
{
    const double y = s->notes_y + FLAG_TEXT, step_x = axis_x(&s->axis, s->ranks.span_ns);
    g_autofree char *step = timeline_step_text(s, &s->ranks);

    if (s->to_ns >= s->ranks.span_ns) {
        pen_belong(&s->frame.pen, KEY_TIME, s->ranks.span_ns);
        frame_text(&s->frame, step_x + TIMELINE_AIR, y, &s->frame.pen.strong, ALIGN_LEFT, ROLE_INK, step);
        paint_pole(s, step_x, s->n_others ? s->others[0].y : s->hidden_y, false);
    }
    paint_backward_flag(s, y);
    pen_belong_rank_only(&s->frame.pen);
}

/* A bracket from the end of the step to where the first other one ends, and what that means. */
static void paint_saved(const struct timeline *s)
{
    const struct frame *f = &s->frame;
    const struct pen *p = &f->pen;
    const struct timeline_other *other = &s->others[0];
    const int64_t with = s->ranks.span_ns, without = other->rows.span_ns;
    const double x0 = axis_x(&s->axis, MIN(with, without)), x1 = axis_x(&s->axis, MAX(with, without));
    const double y = s->saved_y + TIMELINE_SAVED - 14;
    const uint32_t color = pen_color(p, ROLE_INK);
    g_autofree char *whole = NULL, *brief = NULL;

    words_saved(p->lang, other->variant->name, other->variant->trace->simulated && !s->in->trace->simulated,
                with, without, &whole, &brief);
    const char *const texts[] = {whole, brief};
    /* over the bracket, or before it: nowhere else is it clear of the line at the end of the step */
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        const double w = pen_width(p, &p->strong, texts[i]);
        const bool over = w <= x1 - x0 - 2 * TIMELINE_AIR;
        if (!over && w > x0 - TIMELINE_AIR - f->x0)
            continue;
        frame_text(f, over ? (x0 + x1) / 2 : x0 - TIMELINE_AIR, y - 19, &p->strong,
                   over ? ALIGN_CENTER : ALIGN_RIGHT, ROLE_INK, texts[i]);
        break;
    }
    pen_line(p, x0, y, x1, y, color, 2, false);
    pen_line(p, x0, y - 5, x0, y + 5, color, 2, false);
    pen_line(p, x1, y - 5, x1, y + 5, color, 2, false);
}

static void paint_other(const struct timeline *s, const struct timeline_other *other)
{
    const struct lane_style style = timeline_other_style(s);
    const struct frame *f = &s->frame;
    const struct trace *t = other->variant->trace;
    struct pen all = f->pen;
    g_autofree char *step = timeline_step_text(s, &other->rows);

    const struct font strong = pen_capped(&f->pen.strong, style.lane),
                      text = pen_capped(&f->pen.text, style.lane);
    frame_text(f, f->x0, other->y + style.lane / 2, &strong, ALIGN_LEFT, ROLE_INK, other->name);
    frame_text(f, f->x0, lanes_comm_y(&style, other->y) + style.lane / 2, &text, ALIGN_LEFT, ROLE_MUTED,
               words_made(f->pen.lang, t->simulated, !s->in->trace->simulated));
    all.belongs = NULL; /* it comes in one piece */
    lanes_paint(&all, &s->axis, &t->t, &other->rows.rows[0], &style, other->y);
    paint_beside(s, other->rows.span_ns, other->y + style.lane / 2, style.lane, ROLE_MUTED, step);
    paint_exposed(s, &other->rows, 0, other->variant->analysis, &style, other->y, ROLE_MUTED);
}

void timeline_paint(const struct timeline *s)
{
    paint_axis(s);
    paint_flags(s);
    for (uint32_t i = 0; i < s->shown; i++)
        paint_rank(s, i);
    paint_hidden(s);
    pen_belong_rest(&s->frame.pen);
    for (uint32_t i = 0; i < s->n_others; i++)
        paint_other(s, &s->others[i]);
    if (s->n_others)
        paint_saved(s);
    pen_belong_rank_only(&s->frame.pen);
}
