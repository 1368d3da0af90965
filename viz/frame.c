#include "viz/frame.h"

#include <string.h>

#define SIDE         24.0
#define TITLE_HEIGHT 48.0
#define LEGEND_LINE  22.0
#define LEGEND_LINES 3
#define CAPTION_LINE 18.0
#define FOOT         12.0
#define TICK_GAP     90.0
#define TICKS        1000 /* more never stand TICK_GAP apart */
#define ABBREVIATION 4    /* letters; modes no longer than that are written in capitals */
#define MAX_NAME     48   /* letters of a model */
#define MIN_PLOT     120.0
#define MIN_BAR      18.0 /* a text and some air */
#define MAX_BAR      84.0
#define MIN_GAP      4.0
#define BAR_PART     0.75 /* of what a row has for bar and gap */
#define GAP_PART     0.6  /* of a bar, at most */
#define SPARE_ABOVE  0.4  /* of the height that is left over */

const struct font frame_title_font = {24, WEIGHT_BOLD}, frame_strong_font = {14, WEIGHT_BOLD},
                  frame_text_font = {13, WEIGHT_NORMAL};

struct frame frame_begin(const struct draw_ops *ops, struct draw *draw, const struct figure_options *o,
                         const char *title, const char *brief, const char *caption)
{
    struct frame f = {.pen = pen_make(ops, draw, o->width, o->height)};
    const struct pen *p = &f.pen;
    const double width = p->width - 2 * SIDE;
    g_autofree char *line = pen_one_line(title);
    g_autofree char *shown = pen_ellipsize(
        p, &frame_title_font, pen_width(p, &frame_title_font, line) <= width ? line : brief, width);
    g_auto(GStrv) lines = pen_wrap(p, &frame_text_font, caption, width, p->height < 500 ? 2 : 4);
    const unsigned n = g_strv_length(lines);

    f.x0 = SIDE;
    f.x1 = p->width - SIDE;
    f.y0 = TITLE_HEIGHT;
    f.y1 = p->height - FOOT - CAPTION_LINE * n;
    pen_box(p, 0, 0, p->width, p->height, palette_color(ROLE_BACKGROUND));
    frame_text(&f, SIDE, TITLE_HEIGHT / 2 + 3, &frame_title_font, ALIGN_LEFT, ROLE_INK, shown);
    for (unsigned i = 0; i < n; i++)
        frame_text(&f, SIDE, f.y1 + CAPTION_LINE * (i + 0.5), &frame_text_font, ALIGN_LEFT, ROLE_MUTED,
                   lines[i]);
    return f;
}

static void swatch(const struct pen *p, const struct legend_entry *e, double x, double y, double size)
{
    if (e->mark) {
        pen_mark(p, x + size / 2, y + size * 0.2, size * 0.6, e->color);
        return;
    }
    if (e->line) {
        pen_line(p, x + size / 2, y, x + size / 2, y + size, e->color, 1.5, true);
        return;
    }
    pen_box(p, x, y, size, size, e->color);
    if (e->hatched || e->faint)
        pen_hatch(p, x, y, size, size, palette_color(e->faint ? ROLE_GRID : ROLE_EXPOSED));
}

void frame_legend(struct frame *f, unsigned n, const struct legend_entry *entries)
{
    const double size = frame_text_font.size, air = 6, apart = 20, width = f->x1 - f->x0;
    unsigned lines = 1;
    double at = 0;

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *text = pen_ellipsize(&f->pen, &frame_text_font, entries[i].text, width / 2);
        const double w = size + air + pen_width(&f->pen, &frame_text_font, text);
        if (at > 0 && at + w > width) {
            if (lines == LEGEND_LINES)
                break;
            lines++;
            at = 0;
        }
        const double middle = f->y0 + (lines - 0.5) * LEGEND_LINE;
        swatch(&f->pen, &entries[i], f->x0 + at, middle - size / 2, size);
        frame_text(f, f->x0 + at + size + air, middle, &frame_text_font, ALIGN_LEFT, ROLE_INK, text);
        at += w + apart;
    }
    f->y0 += lines * LEGEND_LINE;
}

void frame_axis(const struct frame *f, const struct scale *s, const char *title, double y0, double y1)
{
    const double middle = y1 + FRAME_AXIS / 2 + 3;
    char most[32];
    const char *last = scale_text(s->high, scale_step(s, TICK_GAP), most);
    const double wide = pen_width(&f->pen, &frame_text_font, last),
                 step = scale_step(s, MAX(TICK_GAP, 1.5 * wide));

    for (unsigned i = 0; i < TICKS && s->low + i * step <= s->high * (1 + 1e-9); i++) {
        char text[32];
        const double value = s->low + i * step, x = scale_at(s, value);
        const double half = pen_width(&f->pen, &frame_text_font, scale_text(value, step, text)) / 2;
        pen_line(&f->pen, x, y0, x, y1 + 5, palette_color(ROLE_GRID), 1, false);
        frame_text(f, MIN(x, f->pen.width - half - 1), middle, &frame_text_font, ALIGN_CENTER, ROLE_MUTED,
                   text);
    }
    pen_line(&f->pen, s->at0, y1 + 2, s->at1, y1 + 2, palette_color(ROLE_MUTED), 1, false);
    g_autofree char *shown = pen_ellipsize(&f->pen, &frame_text_font, title, s->at0 - f->x0 - 2 * FRAME_AIR);
    frame_text(f, f->x0, middle, &frame_text_font, ALIGN_LEFT, ROLE_MUTED, shown);
}

void frame_text(const struct frame *f, double x, double y, const struct font *font, enum align align,
                enum role role, const char *text)
{
    if (*text)
        pen_text(&f->pen, x, y, font, align, palette_color(role), text);
}

void frame_leave_beside(const struct frame *f, struct scale *s, double part, const char *text)
{
    const double room = f->x1 - s->at0 - FRAME_AIR - 1 - pen_width(&f->pen, &frame_strong_font, text);

    if (part > 0)
        s->at1 = MIN(s->at1, s->at0 + MAX(room, MIN_PLOT) / part);
}

bool frame_bar(const struct frame *f, double x0, double x1, double y, double height, uint32_t color,
               bool hatched, unsigned n, const char *const *texts)
{
    const struct font *font = &frame_text_font;

    if (x1 > x0) {
        pen_box(&f->pen, x0, y, x1 - x0, height, color);
        if (hatched)
            pen_hatch(&f->pen, x0, y, x1 - x0, height, palette_color(ROLE_EXPOSED));
    }
    const char *text = pen_fit(&f->pen, font, n, texts, x1 - x0 - FRAME_AIR);
    if (!text || height < font->size + 2)
        return n == 0;
    const double w = pen_width(&f->pen, font, text), middle = (x0 + x1) / 2;
    if (hatched)
        pen_box(&f->pen, middle - w / 2 - 3, y + height / 2 - font->size / 2 - 2, w + 6, font->size + 4,
                color);
    pen_text(&f->pen, middle, y + height / 2, font, ALIGN_CENTER, palette_text_on(color), text);
    return true;
}

bool frame_fit(const struct frame *f, struct frame_rows *r)
{
    const double extra = r->extra + (r->shown < r->n ? FRAME_NOTE : 0), room = f->y1 - f->y0 - FRAME_AXIS;
    const double each = (room - extra) / r->shown - r->around;

    if (!r->shown || each < MIN_BAR + MIN_GAP)
        return false;
    r->bar = CLAMP(each * BAR_PART, MIN_BAR, MAX_BAR);
    r->gap = MIN(each - r->bar, r->bar * GAP_PART);
    const double used = r->shown * (r->bar + r->around + r->gap) + extra;
    r->top = f->y0 + (room - used) * SPARE_ABOVE;
    r->axis = r->top + used;
    return true;
}

bool frame_divide(const struct frame *f, struct frame_rows *r)
{
    for (r->shown = MIN(r->n, (uint32_t)MAX(0, (f->y1 - f->y0) / MIN_BAR)); r->shown; r->shown--)
        if (frame_fit(f, r))
            return true;
    return false;
}

char *frame_headline(const struct digest *d, const char *message)
{
    g_autofree char *mode = pen_one_line(d->mode ? d->mode : "step");
    g_autofree char *model = pen_one_line(d->model ? d->model : "unnamed model");

    for (char *c = mode; strlen(mode) <= ABBREVIATION && *c; c++)
        *c = g_ascii_toupper(*c);
    if (g_utf8_strlen(model, -1) > MAX_NAME) {
        g_autofree char *cut = g_utf8_substring(model, 0, MAX_NAME);
        g_free(model);
        model = g_strconcat(cut, "…", NULL);
    }
    return g_strdup_printf("%s, %s, %u rank%s: %s", mode, model, d->n_ranks, d->n_ranks == 1 ? "" : "s",
                           message);
}

char *frame_origin(const struct digest *d, const char *extra)
{
    GString *text = g_string_new(d->simulated ? "simulated: " : "");

    g_string_append_printf(text, "%s, %s, %u rank%s", d->mode ? d->mode : "unknown mode",
                           d->model ? d->model : "unnamed model", d->n_ranks, d->n_ranks == 1 ? "" : "s");
    if (d->cancelled)
        g_string_append(text, " · interrupted");
    for (char **label = d->labels; label && label[0] && label[1]; label += 2)
        g_string_append_printf(text, " · %s: %s", label[0], label[1]);
    if (extra && *extra)
        g_string_append_printf(text, " · %s", extra);
    return g_string_free(text, FALSE);
}
