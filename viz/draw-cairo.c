#include "viz/draw.h"

#include <math.h>
#include <string.h>

#include <cairo-svg.h>
#include <pango/pangocairo.h>

#define FAMILIES      "Noto Sans, Noto Sans CJK KR, NanumGothic, DejaVu Sans, sans-serif"
#define HATCH_STEP    7.0
#define HATCH_WIDTH   1.4
#define MAX_CANVAS_PX 100000.0

struct draw {
    cairo_surface_t *surface;
    cairo_t *cr;
    PangoContext *context;
    PangoFontDescription *font[2]; /* by enum weight; the size is set on use */
    GHashTable *layouts;           /* text with its font -> PangoLayout: ranks repeat their labels */
    GString *key;                  /* scratch of the look-up */
    GByteArray *svg;
    char *title;
};

static cairo_status_t collect(void *svg, const unsigned char *data, unsigned length)
{
    g_byte_array_append(svg, data, length);
    return CAIRO_STATUS_SUCCESS;
}

/* Unhinted and unrounded, so that a text is as wide at every position and scale. */
static PangoContext *text_context(cairo_t *cr)
{
    PangoFontMap *fonts = pango_cairo_font_map_new();
    PangoContext *context = pango_font_map_create_context(fonts);
    cairo_font_options_t *options = cairo_font_options_create();

    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(context, options);
    cairo_font_options_destroy(options);
    g_object_unref(fonts);
    pango_cairo_update_context(cr, context);
    pango_context_set_round_glyph_positions(context, FALSE);
    /* otherwise the locale chooses among fonts */
    pango_context_set_language(context, pango_language_from_string("en"));
    pango_context_set_base_dir(context, PANGO_DIRECTION_LTR);
    return context;
}

static void svg_free(struct draw *d)
{
    g_hash_table_destroy(d->layouts);
    g_string_free(d->key, TRUE);
    g_object_unref(d->context);
    for (unsigned i = 0; i < G_N_ELEMENTS(d->font); i++)
        pango_font_description_free(d->font[i]);
    cairo_destroy(d->cr);
    cairo_surface_destroy(d->surface);
    if (d->svg)
        g_byte_array_unref(d->svg);
    g_free(d->title);
    g_free(d);
}

static struct draw *svg_begin(const struct canvas *canvas, GError **error)
{
    double width = canvas->width, height = canvas->height;
    if (!(width >= 1 && width <= MAX_CANVAS_PX && height >= 1 && height <= MAX_CANVAS_PX)) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "svg: a canvas of %.0f x %.0f px cannot be drawn on; use 1 to %.0f px", width, height,
                    MAX_CANVAS_PX);
        return NULL;
    }
    struct draw *d = g_new0(struct draw, 1);
    d->svg = g_byte_array_sized_new(1 << 16);
    d->surface = cairo_svg_surface_create_for_stream(collect, d->svg, width, height);
    cairo_svg_surface_set_document_unit(d->surface, CAIRO_SVG_UNIT_PX);
    d->cr = cairo_create(d->surface);
    d->context = text_context(d->cr);
    for (unsigned i = 0; i < G_N_ELEMENTS(d->font); i++) {
        d->font[i] = pango_font_description_from_string(FAMILIES);
        pango_font_description_set_weight(d->font[i],
                                          i == WEIGHT_BOLD ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    }
    d->layouts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
    d->key = g_string_new(NULL);
    d->title = g_strdup(canvas->title);
    return d;
}

static PangoLayout *layout_of(struct draw *d, const struct font *font, const char *text)
{
    int size = (int)lround(font->size * PANGO_SCALE);

    g_string_printf(d->key, "%d %u %s", size, font->weight, text);
    PangoLayout *layout = g_hash_table_lookup(d->layouts, d->key->str);
    if (!layout) {
        PangoFontDescription *description = d->font[font->weight == WEIGHT_BOLD];
        pango_font_description_set_absolute_size(description, size);
        layout = pango_layout_new(d->context);
        pango_layout_set_font_description(layout, description);
        pango_layout_set_single_paragraph_mode(layout, TRUE);
        pango_layout_set_text(layout, text, -1);
        g_hash_table_insert(d->layouts, g_strdup(d->key->str), layout);
    }
    return layout;
}

static double layout_width(PangoLayout *layout)
{
    int width;

    pango_layout_get_size(layout, &width, NULL);
    return (double)width / PANGO_SCALE;
}

static double svg_text_width(struct draw *d, const struct font *font, const char *text)
{
    return layout_width(layout_of(d, font, text));
}

static void set_color(cairo_t *cr, uint32_t color)
{
    cairo_set_source_rgb(cr, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

/* Lines x + y = k * HATCH_STEP cut to the rectangle here: a clip or a pattern would be an image to some
 * readers. */
static void hatch_rect(cairo_t *cr, double x, double y, double w, double h, uint32_t ink)
{
    for (double k = ceil((x + y) / HATCH_STEP); k * HATCH_STEP < x + y + w + h; k++) {
        double sum = k * HATCH_STEP;
        double left = fmax(x, sum - y - h), right = fmin(x + w, sum - y);
        cairo_move_to(cr, left, sum - left);
        cairo_line_to(cr, right, sum - right);
    }
    set_color(cr, ink);
    cairo_set_line_width(cr, HATCH_WIDTH);
    cairo_stroke(cr);
}

static void svg_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    if (fill->color >= 0) {
        cairo_rectangle(d->cr, x, y, w, h);
        set_color(d->cr, (uint32_t)fill->color);
        cairo_fill(d->cr);
    }
    if (fill->hatch == HATCH_DIAGONAL)
        hatch_rect(d->cr, x, y, w, h, fill->ink);
    if (fill->stroke >= 0) {
        cairo_rectangle(d->cr, x, y, w, h);
        set_color(d->cr, (uint32_t)fill->stroke);
        cairo_set_line_width(d->cr, fill->stroke_width);
        cairo_stroke(d->cr);
    }
}

static void svg_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color, double width,
                     bool dashed)
{
    const double dash[] = {4 * width, 3 * width};

    cairo_set_dash(d->cr, dash, dashed ? 2 : 0, 0);
    cairo_move_to(d->cr, x0, y0);
    cairo_line_to(d->cr, x1, y1);
    set_color(d->cr, color);
    cairo_set_line_width(d->cr, width);
    cairo_stroke(d->cr);
    cairo_set_dash(d->cr, NULL, 0, 0);
}

static void svg_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    cairo_new_path(d->cr); /* a text leaves a point behind */
    for (unsigned i = 0; i < n; i++)
        cairo_line_to(d->cr, xy[2 * i], xy[2 * i + 1]);
    cairo_close_path(d->cr);
    set_color(d->cr, color);
    cairo_fill(d->cr);
}

static void svg_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                     uint32_t color, const char *text)
{
    PangoLayout *layout = layout_of(d, font, text);

    if (align != ALIGN_LEFT)
        x -= layout_width(layout) * (align == ALIGN_CENTER ? 0.5 : 1.0);
    cairo_move_to(d->cr, x, y - (double)pango_layout_get_baseline(layout) / PANGO_SCALE);
    set_color(d->cr, color);
    pango_cairo_show_layout(d->cr, layout);
}

/* Cairo numbers its surfaces over the life of the process: the one place where its SVG depends on what was
 * drawn before. The title goes where viewers and screen readers look for it. */
static GBytes *polish(const GByteArray *raw, const char *title)
{
    const char *at = (const char *)raw->data, *end = at + raw->len;
    g_autofree char *escaped = g_markup_escape_text(title ? title : "", -1);
    GString *out = g_string_sized_new(raw->len + strlen(escaped) + 64);
    const char *svg = g_strstr_len(at, end - at, "<svg ");
    const char *body = svg ? memchr(svg, '>', (size_t)(end - svg)) : NULL;

    if (body) {
        g_string_append_len(out, at, body + 1 - at);
        g_string_append_printf(out, "\n<title>%s</title>", escaped);
        at = body + 1;
    }
    const char name[] = "id=\"surface";
    for (const char *id; (id = g_strstr_len(at, end - at, name)); at = id) {
        g_string_append_len(out, at, id - at);
        g_string_append(out, name);
        for (id += sizeof name - 1; id < end && g_ascii_isdigit(*id); id++)
            ;
    }
    g_string_append_len(out, at, end - at);
    return g_string_free_to_bytes(out);
}

static GBytes *svg_finish(struct draw *d, GError **error)
{
    GBytes *bytes = NULL;
    cairo_status_t status = cairo_status(d->cr);

    cairo_surface_finish(d->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(d->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        bytes = polish(d->svg, d->title);
    else
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_FAILED, "svg: Cairo could not draw the figure: %s",
                    cairo_status_to_string(status));
    svg_free(d);
    return bytes;
}

static void svg_cancel(struct draw *d)
{
    cairo_surface_finish(d->surface);
    svg_free(d);
}

__attribute__((visibility("default"))) const struct draw_ops parprof_draw_svg = {
    .format = "svg",
    .begin = svg_begin,
    .text_width = svg_text_width,
    .rect = svg_rect,
    .line = svg_line,
    .polygon = svg_polygon,
    .text = svg_text,
    .finish = svg_finish,
    .cancel = svg_cancel,
};
