#include "tests/draw-list.h"

#define ASCENT  0.80 /* of an em */
#define DESCENT 0.25

static void item_clear(gpointer item)
{
    g_free(((struct item *)item)->text);
    g_free(((struct item *)item)->name);
}

static struct draw *list_begin(const struct canvas *canvas, GError **error)
{
    struct draw *d = g_new0(struct draw, 1);

    (void)error;
    d->width = canvas->width;
    d->height = canvas->height;
    d->items = g_array_new(FALSE, FALSE, sizeof(struct item));
    g_array_set_clear_func(d->items, item_clear);
    return d;
}

static double list_text_width(struct draw *d, const struct font *font, const char *text)
{
    double em = 0;

    (void)d;
    g_assert_true(g_utf8_validate(text, -1, NULL));
    for (const char *c = text; *c; c = g_utf8_next_char(c))
        em += g_unichar_iswide(g_utf8_get_char(c)) ? 1.0 : 0.55;
    return em * font->size;
}

static void list_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    struct item item = {.kind = ITEM_RECT,
                        .x0 = x,
                        .y0 = y,
                        .x1 = x + w,
                        .y1 = y + h,
                        .fill = fill->color,
                        .hatched = fill->hatch != HATCH_NONE};

    g_assert_true(w >= 0 && h >= 0);
    g_array_append_val(d->items, item);
}

static void list_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color,
                      double width, bool dashed)
{
    struct item item = {.kind = ITEM_LINE,
                        .x0 = MIN(x0, x1),
                        .y0 = MIN(y0, y1),
                        .x1 = MAX(x0, x1),
                        .y1 = MAX(y0, y1),
                        .fill = color};

    (void)dashed;
    g_assert_true(width > 0);
    g_array_append_val(d->items, item);
}

static void list_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    struct item item = {
        .kind = ITEM_POLYGON, .x0 = xy[0], .y0 = xy[1], .x1 = xy[0], .y1 = xy[1], .fill = color};

    for (unsigned i = 0; i < n; i++) {
        item.x0 = MIN(item.x0, xy[2 * i]);
        item.x1 = MAX(item.x1, xy[2 * i]);
        item.y0 = MIN(item.y0, xy[2 * i + 1]);
        item.y1 = MAX(item.y1, xy[2 * i + 1]);
    }
    g_array_append_val(d->items, item);
}

static void list_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    const double w = list_text_width(d, font, text);
    const double left = align == ALIGN_LEFT ? x : align == ALIGN_CENTER ? x - w / 2 : x - w;
    struct item item = {.kind = ITEM_TEXT,
                        .x0 = left,
                        .y0 = y - ASCENT * font->size,
                        .x1 = left + w,
                        .y1 = y + DESCENT * font->size,
                        .fill = color,
                        .size = font->size,
                        .text = g_strdup(text)};

    g_array_append_val(d->items, item);
}

static void list_group(struct draw *d, const char *id)
{
    struct item item = {.kind = ITEM_GROUP, .text = NULL, .name = g_strdup(id ? id : "")};

    g_array_append_val(d->items, item);
}

static void list_span(struct draw *d, double x, double y, double w, double h, const char *text)
{
    struct item item = {
        .kind = ITEM_SPAN, .x0 = x, .y0 = y, .x1 = x + w, .y1 = y + h, .fill = -1, .name = g_strdup(text)};

    g_assert_true(w >= 0 && h >= 0 && g_utf8_validate(text, -1, NULL));
    g_array_append_val(d->items, item);
}

static void list_cancel(struct draw *d)
{
    g_array_unref(d->items);
    g_free(d);
}

static GBytes *list_finish(struct draw *d, GError **error)
{
    static const char *const kinds[] = {"rect", "line", "polygon", "text", "group", "span"};
    GString *out = g_string_new(NULL);

    (void)error;
    g_string_append_printf(out, "canvas %.3f %.3f\n", d->width, d->height);
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *item = &g_array_index(d->items, struct item, i);
        if (item->kind == ITEM_GROUP) {
            g_string_append_printf(out, "group %s\n", item->name);
            continue;
        }
        g_string_append_printf(out, "%s %.3f %.3f %.3f %.3f", kinds[item->kind], item->x0, item->y0, item->x1,
                               item->y1);
        if (item->kind != ITEM_SPAN)
            g_string_append_printf(out, " %06x", (unsigned)item->fill);
        g_string_append_printf(out, "%s%s%s\n", item->hatched ? " hatched" : "",
                               item->text || item->name ? " " : "",
                               item->text   ? item->text
                               : item->name ? item->name
                                            : "");
    }
    list_cancel(d);
    return g_string_free_to_bytes(out);
}

const struct draw_ops draw_list = {
    .format = "list",
    .begin = list_begin,
    .text_width = list_text_width,
    .rect = list_rect,
    .line = list_line,
    .polygon = list_polygon,
    .text = list_text,
    .group = list_group,
    .span = list_span,
    .finish = list_finish,
    .cancel = list_cancel,
};
