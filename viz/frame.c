#include "viz/frame.h"

#include <string.h>

#include "viz/notes.h"
#include "viz/words.h"

#define SIDE          24.0
#define LEGEND_LINES  3
#define CAPTION_LINE  18.0
#define FOOT          12.0
#define TICK_GAP      90.0
#define TICKS         1000 /* more never stand TICK_GAP apart */
#define MAX_NAME      48   /* letters of a model */
#define MIN_PLOT      120.0
#define LEAST_TEXT    14.0 /* on a bar */
#define TEXT_HEIGHT   1.25 /* of a bar with a text, in its ems */
#define MIN_BAR       17.0 /* a text and some air */
#define MAX_BAR       110.0
#define MAX_BAR_CELLS 48.0 /* in characters */
#define MIN_GAP       4.0
#define BAR_PART      0.75 /* of what a row has for bar and gap */
#define GAP_PART      0.6  /* of a bar, at most */
#define SPARE_ABOVE   0.4  /* of the height that is left over */

static double title_height(const struct pen *p)
{
    return p->look->title && !*p->look->title ? SIDE / 2 : 2 * p->title.size;
}

static void paint_title(const struct frame *f, const char *title, const char *brief)
{
    const struct pen *p = &f->pen;
    const double width = f->x1 - f->x0;
    g_autofree char *line = pen_one_line(p->look->title ? p->look->title : title);
    const bool fits = p->look->title || pen_width(p, &p->title, line) <= width;
    g_autofree char *shown = pen_ellipsize(p, &p->title, fits ? line : brief, width);

    frame_text(f, f->x0, p->title.size + 3, &p->title, ALIGN_LEFT, ROLE_INK, shown);
}

struct frame frame_begin(const struct pen *pen, const char *title, const char *brief, const char *caption)
{
    struct frame f = {.pen = *pen};
    const struct pen *p = &f.pen;
    const double width = p->width - 2 * SIDE;
    g_auto(GStrv) lines =
        pen_wrap(p, &p->small, p->look->no_caption ? "" : caption, width, p->height < 500 ? 2 : 4);
    const unsigned n = g_strv_length(lines);

    f.x0 = SIDE;
    f.x1 = p->width - SIDE;
    f.y0 = title_height(p);
    f.y1 = p->height - FOOT - CAPTION_LINE * n;
    f.axis = p->text.size + 15;
    if (!p->look->transparent)
        pen_box(p, 0, 0, p->width, p->height, pen_shade(p, ROLE_BACKGROUND));
    paint_title(&f, title, brief);
    for (unsigned i = 0; i < n; i++)
        frame_text(&f, SIDE, f.y1 + CAPTION_LINE * (i + 0.5), &p->small, ALIGN_LEFT, ROLE_MUTED, lines[i]);
    return f;
}

static void swatch(const struct pen *p, const struct legend_entry *e, double x, double y, double size)
{
    if (e->mark) {
        (e->rise ? pen_rise : pen_mark)(p, x + size / 2, y + size * 0.2, size * 0.6, e->shade.color);
        return;
    }
    if (e->line) {
        pen_line(p, x + size / 2, y, x + size / 2, y + size, e->shade.color, 1.5, true);
        return;
    }
    if (e->off) {
        const double middle = y + size / 2, end = x + size;
        pen_line(p, x, middle, end, middle, e->shade.color, 2, false);
        pen_polygon(
            p, 3,
            (double[]){end, middle, end - size / 3, middle - size / 4, end - size / 3, middle + size / 4},
            e->shade.color);
        return;
    }
    if (e->part) {
        pen_box(p, x, y, size, size, pen_shade(p, ROLE_LANE));
        pen_box(p, x, y + size * 0.6, size, size * 0.4, e->shade);
        return;
    }
    pen_box(p, x, y, size, size, e->hollow ? pen_shade(p, ROLE_INK) : e->shade);
    if (e->core)
        pen_box(p, x + size / 4, y + size / 4, size / 2, size / 2, pen_shade(p, ROLE_BACKGROUND));
    if (e->hollow)
        pen_box(p, x + 1.5, y + 1.5, size - 3, size - 3, pen_shade(p, ROLE_BACKGROUND));
    if (e->exposed)
        pen_hatch(p, x, y, size, size, pen_shade(p, ROLE_EXPOSED));
}

static void paint_legend(struct frame *f, unsigned n, const struct legend_entry *entries)
{
    const struct pen *p = &f->pen;
    const double size = p->text.size, air = 6, apart = 20, width = f->x1 - f->x0, line = size + 9;
    unsigned lines = 1;
    double at = 0;

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *text = pen_ellipsize(p, &p->text, entries[i].text, width / 2);
        const double w = size + air + pen_width(p, &p->text, text);
        if (at > 0 && at + w > width) {
            if (lines == LEGEND_LINES)
                break;
            lines++;
            at = 0;
        }
        const double middle = f->y0 + (lines - 0.5) * line;
        swatch(p, &entries[i], f->x0 + at, middle - size / 2, size);
        frame_text(f, f->x0 + at + size + air, middle, &p->text, ALIGN_LEFT, ROLE_INK, text);
        at += w + apart;
    }
    f->y0 += lines * line;
}

void frame_legend(struct frame *f, unsigned n, const struct legend_entry *entries)
{
    if (n && !f->pen.look->no_legend)
        paint_legend(f, n, entries);
    if (f->pen.notes)
        notes_place(f->pen.notes, f->y0, f->x0, f->x1);
    f->y0 += notes_height(&f->pen);
}

void frame_axis(const struct frame *f, const struct scale *s, const char *title, double y0, double y1)
{
    const struct pen *p = &f->pen;
    const double middle = y1 + f->axis / 2 + 3;
    char most[32];
    const char *last = scale_text(s->high, scale_step(s, TICK_GAP), most);
    const double wide = pen_width(p, &p->text, last), step = scale_step(s, MAX(TICK_GAP, 1.5 * wide));

    for (unsigned i = 0; i < TICKS && s->low + i * step <= s->high * (1 + 1e-9); i++) {
        char text[32];
        const double value = s->low + i * step, x = scale_at(s, value);
        const double half = pen_width(p, &p->text, scale_text(value, step, text)) / 2;
        pen_line(p, x, y0, x, y1 + 5, pen_color(p, ROLE_GRID), 1, false);
        frame_text(f, MIN(x, p->width - half - 1), middle, &p->text, ALIGN_CENTER, ROLE_MUTED, text);
    }
    pen_line(p, s->at0, y1 + 2, s->at1, y1 + 2, pen_color(p, ROLE_MUTED), 1, false);
    g_autofree char *shown = pen_ellipsize(p, &p->text, title, s->at0 - f->x0 - 2 * FRAME_AIR);
    frame_text(f, f->x0, middle, &p->text, ALIGN_LEFT, ROLE_MUTED, shown);
}

void frame_text(const struct frame *f, double x, double y, const struct font *font, enum align align,
                enum role role, const char *text)
{
    pen_text(&f->pen, x, y, font, align, pen_color(&f->pen, role), text);
}

void frame_leave_beside(const struct frame *f, struct scale *s, double part, const char *text)
{
    const double room = f->x1 - s->at0 - FRAME_AIR - 1 - pen_width(&f->pen, &f->pen.strong, text);

    if (part > 0)
        s->at1 = MIN(s->at1, s->at0 + MAX(room, MIN_PLOT) / part);
}

bool frame_bar(const struct frame *f, double x0, double x1, double y, double height, struct shade shade,
               bool exposed, unsigned n, const char *const *texts)
{
    const struct pen *p = &f->pen;
    const struct font least = {MIN(p->small.size, LEAST_TEXT), WEIGHT_NORMAL}, *const fonts[] = {&p->text,
                                                                                                 &p->small,
                                                                                                 &least};

    if (x1 > x0) {
        pen_box(p, x0, y, x1 - x0, height, shade);
        if (exposed)
            pen_hatch(p, x0, y, x1 - x0, height, pen_shade(p, ROLE_EXPOSED));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fonts) * n; i++) { /* rather a larger text than a longer one */
        const struct font *font = fonts[i / n];
        const char *text = texts[i % n];
        if (pen_width(p, font, text) > x1 - x0 - FRAME_AIR * (exposed ? 2 : 1) ||
            height < font->size * TEXT_HEIGHT)
            continue;
        pen_label(p, (x0 + x1) / 2, y + height / 2, height, font, shade, exposed, text);
        return true;
    }
    return n == 0;
}

bool frame_no_room(const struct pen *p, const char *figure, const char *what, GError **error)
{
    g_autofree char *size = draw_size(p->ops, p->look->width, p->look->height);

    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                "figure %s: %s leave no room for %s; use a higher canvas%s", figure, size, what,
                p->look->font_scale > 1 ? " or a smaller --font-scale" : "");
    return false;
}

bool frame_fit(const struct frame *f, struct frame_rows *r)
{
    const double extra = r->extra + (r->shown < r->n ? FRAME_NOTE : 0), room = f->y1 - f->y0 - f->axis;
    const double each = (room - extra) / r->shown - r->around;

    if (!r->shown || each < MIN_BAR + MIN_GAP)
        return false;
    r->bar = CLAMP(each * BAR_PART, MIN_BAR, f->pen.ops->cells ? MAX_BAR_CELLS : MAX_BAR);
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

char *frame_headline(const struct pen *p, const struct digest *d, const char *message)
{
    g_autofree char *mode = words_mode(p->lang, d->mode);
    g_autofree char *model = words_model(p->lang, d->model);

    if (g_utf8_strlen(model, -1) > MAX_NAME) {
        g_autofree char *cut = g_utf8_substring(model, 0, MAX_NAME);
        g_free(model);
        model = g_strconcat(cut, "…", NULL);
    }
    return say(p->lang, "figure.headline", "mode", mode, "model", model, "n", count(d->n_ranks), "message",
               message, NULL);
}

char *frame_origin(const struct pen *p, const struct digest *d)
{
    GString *text = words_work(p->lang, d->simulated, d->mode, d->model, d->n_ranks);

    if (d->cancelled)
        words_append(text, word(p->lang, "caption.interrupted"));
    for (char **label = d->labels; label && label[0] && label[1]; label += 2)
        words_append_label(p->lang, text, label[0], label[1]);
    words_append(text, p->look->caption);
    return g_string_free(text, FALSE);
}
