#include "viz/draw-cairo.h"

#include <math.h>

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include "viz/draw-svg.h"

#define HATCH_STEP   7.0
#define HATCH_LARGE  24.0 /* width and height from which on lines are twice as far apart */
#define HATCH_WIDTH  1.4
#define PX_PER_INCH  96.0
#define PT_PER_PX    (72 / PX_PER_INCH)
#define MAX_SVG_PX   100000.0
#define MAX_PDF_PX   (14400 / PT_PER_PX) /* what readers still open */
#define MAX_PNG_PX   32767.0             /* Cairo's */
#define MAX_PNG_AREA 0x1p28              /* 1 GiB */

/* How the path that is being collected will be painted.  Neighbours of one colour become one element. */
struct brush {
    enum { NOTHING, FILL, STROKE } kind;
    uint32_t color;
    double width; /* of a stroke */
    bool dashed;
};

struct draw {
    cairo_surface_t *surface;
    cairo_t *cr;
    struct brush brush;
    struct texts *texts;
    GArray *later; /* struct svg_text, where they are written as text; else NULL */
    bool outlines; /* instead of glyphs */
    GString *missing;
    char *font;
    GPtrArray *groups; /* names, "" between groups; NULL where the format has none */
    GArray *spans;     /* struct svg_span, likewise */
    GByteArray *stream;
    char *title;
};

/* --- shapes */

static bool same(struct brush a, struct brush b)
{
    return a.kind == b.kind && a.color == b.color && a.width == b.width && a.dashed == b.dashed;
}

static void set_color(cairo_t *cr, uint32_t color)
{
    cairo_set_source_rgb(cr, (color >> 16 & 255) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

/* Paints what is collected when the brush changes. */
static void take_brush(struct draw *d, struct brush next)
{
    const struct brush *b = &d->brush;
    const double dash[] = {4 * b->width, 3 * b->width};

    if (same(*b, next))
        return;
    set_color(d->cr, b->color);
    if (b->kind == FILL)
        cairo_fill(d->cr);
    if (b->kind == STROKE) {
        cairo_set_dash(d->cr, dash, b->dashed ? 2 : 0, 0);
        cairo_set_line_width(d->cr, b->width);
        cairo_stroke(d->cr);
    }
    d->brush = next;
}

static void put_brush_down(struct draw *d)
{
    take_brush(d, (struct brush){NOTHING});
}

/* Lines x + y = k * step cut to the rectangle here: a clip or a pattern would be an image to some
 * readers. */
static void hatch_diagonal(cairo_t *cr, double x, double y, double w, double h, double step)
{
    for (double k = ceil((x + y) / step); k * step < x + y + w + h; k++) {
        double sum = k * step;
        double left = fmax(x, sum - y - h), right = fmin(x + w, sum - y);
        cairo_move_to(cr, left, sum - left);
        cairo_line_to(cr, right, sum - right);
    }
}

/* Lines x - y = k * step. */
static void hatch_back(cairo_t *cr, double x, double y, double w, double h, double step)
{
    for (double k = ceil((x - y - h) / step); k * step < x + w - y; k++) {
        double difference = k * step;
        double left = fmax(x, difference + y), right = fmin(x + w, difference + y + h);
        cairo_move_to(cr, left, left - difference);
        cairo_line_to(cr, right, right - difference);
    }
}

static void hatch_horizontal(cairo_t *cr, double x, double y, double w, double h, double step)
{
    for (double k = ceil(y / step); k * step < y + h; k++) {
        cairo_move_to(cr, x, k * step);
        cairo_line_to(cr, x + w, k * step);
    }
}

static void hatch_vertical(cairo_t *cr, double x, double y, double w, double h, double step)
{
    for (double k = ceil(x / step); k * step < x + w; k++) {
        cairo_move_to(cr, k * step, y);
        cairo_line_to(cr, k * step, y + h);
    }
}

static void hatch_rect(cairo_t *cr, enum hatch hatch, double x, double y, double w, double h)
{
    const double step = MIN(w, h) > HATCH_LARGE ? 2 * HATCH_STEP : HATCH_STEP;

    if (hatch == HATCH_DIAGONAL || hatch == HATCH_CROSS)
        hatch_diagonal(cr, x, y, w, h, step);
    if (hatch == HATCH_BACK || hatch == HATCH_CROSS)
        hatch_back(cr, x, y, w, h, step);
    if (hatch == HATCH_HORIZONTAL)
        hatch_horizontal(cr, x, y, w, h, step);
    if (hatch == HATCH_VERTICAL)
        hatch_vertical(cr, x, y, w, h, step);
}

static void draw_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    if (fill->color >= 0) {
        take_brush(d, (struct brush){FILL, (uint32_t)fill->color});
        cairo_rectangle(d->cr, x, y, w, h);
    }
    if (fill->hatch != HATCH_NONE) {
        take_brush(d, (struct brush){STROKE, fill->ink, HATCH_WIDTH});
        hatch_rect(d->cr, fill->hatch, x, y, w, h);
    }
    if (fill->stroke >= 0) {
        take_brush(d, (struct brush){STROKE, (uint32_t)fill->stroke, fill->stroke_width});
        cairo_rectangle(d->cr, x, y, w, h);
    }
}

static void draw_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color,
                      double width, bool dashed)
{
    take_brush(d, (struct brush){STROKE, color, width, dashed});
    cairo_move_to(d->cr, x0, y0);
    cairo_line_to(d->cr, x1, y1);
}

/* On its own: with another shape of the other orientation it would have a hole. */
static void draw_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    put_brush_down(d);
    for (unsigned i = 0; i < n; i++)
        cairo_line_to(d->cr, xy[2 * i], xy[2 * i + 1]);
    cairo_close_path(d->cr);
    set_color(d->cr, color);
    cairo_fill(d->cr);
}

/* --- texts */

static double draw_text_width(struct draw *d, const struct font *font, const char *text)
{
    return texts_width(d->texts, font, text);
}

static void show(struct draw *d, double x, double y, const struct font *font, uint32_t color,
                 const char *text)
{
    put_brush_down(d);
    cairo_save(d->cr);
    cairo_translate(d->cr, x, y);
    set_color(d->cr, color);
    texts_show(d->texts, d->cr, font, text, d->outlines);
    cairo_restore(d->cr);
    cairo_new_path(d->cr); /* a text leaves a point behind */
}

static void draw_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    if (d->later) {
        struct svg_text t = {x, y, *font, align, d->groups->len, color, texts_clean(text)};
        g_array_append_val(d->later, t);
        if (d->missing)
            texts_width(d->texts, font, text); /* for the report */
        return;
    }
    if (align != ALIGN_LEFT)
        x -= texts_width(d->texts, font, text) * (align == ALIGN_CENTER ? 0.5 : 1.0);
    show(d, x, y, font, color, text);
}

/* --- groups, in SVG: between what is drawn lies a mark that svg_write finds */

static void draw_group(struct draw *d, const char *id)
{
    if (!d->groups)
        return;
    put_brush_down(d);
    cairo_set_source_rgb(d->cr, 0, 0, 0);
    cairo_set_line_width(d->cr, SVG_MARK_WIDTH);
    cairo_set_dash(d->cr, NULL, 0, 0);
    cairo_move_to(d->cr, 1, 1);
    cairo_line_to(d->cr, 2, 2);
    cairo_stroke(d->cr);
    g_ptr_array_add(d->groups, g_strdup(id ? id : ""));
}

static void draw_span(struct draw *d, double x, double y, double w, double h, const char *text)
{
    if (!d->groups)
        return;
    const struct svg_span span = {x, y, w, h, d->groups->len, texts_clean(text)};
    g_array_append_val(d->spans, span);
}

/* --- surfaces */

static cairo_status_t collect(void *stream, const unsigned char *data, unsigned length)
{
    g_byte_array_append(stream, data, length);
    return CAIRO_STATUS_SUCCESS;
}

static void draw_free(struct draw *d)
{
    cairo_destroy(d->cr);
    cairo_surface_destroy(d->surface);
    texts_free(d->texts);
    if (d->later)
        g_array_unref(d->later);
    if (d->groups) {
        g_ptr_array_unref(d->groups);
        g_array_unref(d->spans);
    }
    g_byte_array_unref(d->stream);
    g_free(d->title);
    g_free(d->font);
    g_free(d);
}

static bool canvas_fits(const struct canvas *c, const char *format, double scale, double most, GError **error)
{
    const double width = c->width * scale, height = c->height * scale;

    if (width >= 1 && width <= most && height >= 1 && height <= most)
        return true;
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT, "%s: %.0f x %.0f px cannot be drawn; use 1 to %.0f px",
                format, width, height, most);
    return false;
}

/* Takes the surface. */
static struct draw *draw_new(const struct canvas *c, GByteArray *stream, cairo_surface_t *surface)
{
    struct draw *d = g_new0(struct draw, 1);

    d->surface = surface;
    d->cr = cairo_create(surface);
    cairo_set_miter_limit(d->cr, 4); /* what SVG assumes */
    d->stream = stream;
    d->texts = texts_new(c->font, c->language);
    d->missing = c->missing;
    d->font = g_strdup(c->font);
    d->title = c->title ? texts_clean(c->title) : NULL;
    return d;
}

/* Completes the stream.  True: something went wrong since begin; the error says what, and all is freed. */
static bool draw_failed(struct draw *d, const char *format, GError **error)
{
    put_brush_down(d);
    if (d->missing)
        texts_report_missing(d->texts, d->missing);
    cairo_status_t status = cairo_status(d->cr);

    cairo_surface_finish(d->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(d->surface);
    if (status == CAIRO_STATUS_SUCCESS)
        return false;
    g_set_error(error, DRAW_ERROR, DRAW_ERROR_FAILED, "%s: Cairo could not draw the figure: %s", format,
                cairo_status_to_string(status));
    draw_free(d);
    return true;
}

static void draw_cancel(struct draw *d)
{
    cairo_surface_finish(d->surface);
    draw_free(d);
}

static GBytes *stream_taken(struct draw *d)
{
    GBytes *bytes = g_byte_array_free_to_bytes(g_byte_array_ref(d->stream));

    draw_free(d);
    return bytes;
}

/* --- the formats */

static void svg_text_clear(gpointer text)
{
    g_free(((struct svg_text *)text)->text);
}

static void svg_span_clear(gpointer span)
{
    g_free(((struct svg_span *)span)->text);
}

static struct draw *svg_begin(const struct canvas *c, GError **error)
{
    if (!canvas_fits(c, "svg", 1, MAX_SVG_PX, error))
        return NULL;
    GByteArray *stream = g_byte_array_sized_new(1 << 16);
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(collect, stream, c->width, c->height);
    cairo_svg_surface_set_document_unit(surface, CAIRO_SVG_UNIT_PX);
    struct draw *d = draw_new(c, stream, surface);
    d->groups = g_ptr_array_new_with_free_func(g_free);
    d->spans = g_array_new(FALSE, FALSE, sizeof(struct svg_span));
    g_array_set_clear_func(d->spans, svg_span_clear);
    if (!c->outlines) {
        d->later = g_array_new(FALSE, FALSE, sizeof(struct svg_text));
        g_array_set_clear_func(d->later, svg_text_clear);
    }
    return d;
}

static GBytes *svg_finish(struct draw *d, GError **error)
{
    if (draw_failed(d, "svg", error))
        return NULL;
    const struct svg_parts parts = {d->title, d->font, d->later, d->groups, d->spans};
    GBytes *bytes = svg_write((const char *)d->stream->data, d->stream->len, &parts);
    draw_free(d);
    return bytes;
}

static struct draw *pdf_begin(const struct canvas *c, GError **error)
{
    if (!canvas_fits(c, "pdf", 1, MAX_PDF_PX, error))
        return NULL;
    GByteArray *stream = g_byte_array_sized_new(1 << 16);
    cairo_surface_t *surface =
        cairo_pdf_surface_create_for_stream(collect, stream, c->width * PT_PER_PX, c->height * PT_PER_PX);
    cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
                                   NULL); /* same input, same bytes */
    struct draw *d = draw_new(c, stream, surface);
    if (d->title)
        cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, d->title);
    d->outlines = c->outlines;
    cairo_scale(d->cr, PT_PER_PX, PT_PER_PX);
    return d;
}

static GBytes *pdf_finish(struct draw *d, GError **error)
{
    return draw_failed(d, "pdf", error) ? NULL : stream_taken(d);
}

static struct draw *png_begin(const struct canvas *c, GError **error)
{
    const double scale = (c->dpi ? c->dpi : PX_PER_INCH) / PX_PER_INCH;

    if (!canvas_fits(c, "png", scale, MAX_PNG_PX, error))
        return NULL;
    const int width = (int)lround(c->width * scale), height = (int)lround(c->height * scale);
    if ((double)width * height > MAX_PNG_AREA) {
        g_set_error(error, DRAW_ERROR, DRAW_ERROR_INPUT,
                    "png: %d x %d px are more than %.0f million px; use a smaller canvas or fewer dpi", width,
                    height, MAX_PNG_AREA / 1e6);
        return NULL;
    }
    struct draw *d = draw_new(
        c, g_byte_array_new(),
        cairo_image_surface_create(c->transparent ? CAIRO_FORMAT_ARGB32 : CAIRO_FORMAT_RGB24, width, height));
    d->outlines = true; /* glyphs would be moved to whole pixels */
    if (!c->transparent) {
        cairo_set_source_rgb(d->cr, 1, 1, 1);
        cairo_paint(d->cr);
    }
    cairo_scale(d->cr, scale, scale);
    return d;
}

static GBytes *png_finish(struct draw *d, GError **error)
{
    put_brush_down(d);
    cairo_surface_write_to_png_stream(d->surface, collect, d->stream);
    return draw_failed(d, "png", error) ? NULL : stream_taken(d);
}

#define WRITER(name)                                                                                         \
    {                                                                                                        \
        .format = #name, .begin = name##_begin, .text_width = draw_text_width, .rect = draw_rect,            \
        .line = draw_line, .polygon = draw_polygon, .text = draw_text, .group = draw_group,                  \
        .span = draw_span, .finish = name##_finish, .cancel = draw_cancel,                                   \
    }

static const struct draw_ops writers[] = {WRITER(svg), WRITER(pdf), WRITER(png)};

/* What draw_open looks for. */
__attribute__((visibility("default"))) const struct draw_ops *parprof_draw(const char *format)
{
    fonts_prepare();
    for (unsigned i = 0; i < G_N_ELEMENTS(writers); i++)
        if (g_str_equal(writers[i].format, format))
            return &writers[i];
    return NULL;
}
