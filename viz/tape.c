#include "viz/tape.h"

enum mark_kind { MARK_RECT, MARK_LINE, MARK_POLYGON, MARK_TEXT, MARK_GROUP, MARK_SPAN };

struct mark {
    enum mark_kind kind;
    struct belongs belongs;
    double x, y, w, h; /* of a line its other end */
    struct fill fill;
    struct font font;
    enum align align;
    uint32_t color;
    double width;
    bool dashed;
    char *text; /* of a text, a span, a group */
    unsigned corners;
    double *xy;
};

/* What every call gets as its canvas. */
struct draw {
    const struct draw_ops *behind;
    struct draw *canvas;
    struct belongs now;
    GArray *marks; /* struct mark */
};

struct tape {
    struct draw_ops ops;
    struct draw draw;
};

static void mark_clear(gpointer data)
{
    struct mark *m = data;

    g_free(m->text);
    g_free(m->xy);
}

static void add(struct draw *d, struct mark m)
{
    m.belongs = m.kind == MARK_GROUP ? BELONGS_NOWHERE : d->now;
    g_array_append_val(d->marks, m);
}

static double tape_text_width(struct draw *d, const struct font *font, const char *text)
{
    return d->behind->text_width(d->canvas, font, text);
}

static void tape_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    add(d, (struct mark){.kind = MARK_RECT, .x = x, .y = y, .w = w, .h = h, .fill = *fill});
}

static void tape_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color,
                      double width, bool dashed)
{
    add(d, (struct mark){.kind = MARK_LINE,
                         .x = x0,
                         .y = y0,
                         .w = x1,
                         .h = y1,
                         .color = color,
                         .width = width,
                         .dashed = dashed});
}

static void tape_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    add(d, (struct mark){
               .kind = MARK_POLYGON, .corners = n, .xy = g_memdup2(xy, 2 * n * sizeof *xy), .color = color});
}

static void tape_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    add(d, (struct mark){.kind = MARK_TEXT,
                         .x = x,
                         .y = y,
                         .font = *font,
                         .align = align,
                         .color = color,
                         .text = g_strdup(text)});
}

static void tape_group(struct draw *d, const char *id)
{
    add(d, (struct mark){.kind = MARK_GROUP, .text = g_strdup(id)});
}

static void tape_span(struct draw *d, double x, double y, double w, double h, const char *text)
{
    add(d, (struct mark){.kind = MARK_SPAN, .x = x, .y = y, .w = w, .h = h, .text = g_strdup(text)});
}

static void tape_belong(struct draw *d, const struct belongs *belongs)
{
    d->now = *belongs;
}

struct tape *tape_new(const struct draw_ops *behind, struct draw *canvas)
{
    struct tape *t = g_new0(struct tape, 1);

    t->ops = (struct draw_ops){.format = behind->format,
                               .cells = behind->cells,
                               .text_width = tape_text_width,
                               .rect = tape_rect,
                               .line = tape_line,
                               .polygon = tape_polygon,
                               .text = tape_text,
                               .group = behind->group ? tape_group : NULL,
                               .span = behind->span ? tape_span : NULL,
                               .belong = tape_belong};
    t->draw = (struct draw){behind, canvas, BELONGS_NOWHERE, g_array_new(FALSE, FALSE, sizeof(struct mark))};
    g_array_set_clear_func(t->draw.marks, mark_clear);
    return t;
}

void tape_free(struct tape *t)
{
    g_array_unref(t->draw.marks);
    g_free(t);
}

const struct draw_ops *tape_ops(const struct tape *t)
{
    return &t->ops;
}

struct draw *tape_draw(struct tape *t)
{
    return &t->draw;
}

guint tape_length(const struct tape *t)
{
    return t->draw.marks->len;
}

const struct belongs *tape_belongs(const struct tape *t, guint mark)
{
    return &g_array_index(t->draw.marks, struct mark, mark).belongs;
}

bool tape_paints(const struct tape *t, guint mark)
{
    const enum mark_kind kind = g_array_index(t->draw.marks, struct mark, mark).kind;

    return kind != MARK_GROUP && kind != MARK_SPAN;
}

static void replay(const struct draw_ops *to, const struct mark *m, struct draw *draw)
{
    switch (m->kind) {
    case MARK_RECT:
        to->rect(draw, m->x, m->y, m->w, m->h, &m->fill);
        break;
    case MARK_LINE:
        to->line(draw, m->x, m->y, m->w, m->h, m->color, m->width, m->dashed);
        break;
    case MARK_POLYGON:
        to->polygon(draw, m->corners, m->xy, m->color);
        break;
    case MARK_TEXT:
        to->text(draw, m->x, m->y, &m->font, m->align, m->color, m->text);
        break;
    case MARK_GROUP:
        to->group(draw, m->text);
        break;
    case MARK_SPAN:
        to->span(draw, m->x, m->y, m->w, m->h, m->text);
        break;
    }
}

void tape_replay(const struct tape *t, const bool *shown, struct draw *draw)
{
    for (guint i = 0; i < t->draw.marks->len; i++) {
        const struct mark *m = &g_array_index(t->draw.marks, struct mark, i);
        if (shown[i] || m->kind == MARK_GROUP)
            replay(t->draw.behind, m, draw);
    }
}
