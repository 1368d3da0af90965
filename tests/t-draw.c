/* The SVG that the real writer makes: what was drawn is in it, at its place and in its colour, and it is well-formed. */
#include <stdio.h>
#include <string.h>

#include "tests/draw-scene.h"
#include "tests/svg-read.h"
#include "tests/tap.h"
#include "viz/draw-svg.h"

static int by_line(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_same_lines(GPtrArray *a, GPtrArray *b)
{
    for (unsigned i = 0; i < MIN(a->len, b->len); i++)
        g_assert_cmpstr(a->pdata[i], ==, b->pdata[i]);
    g_assert_cmpuint(a->len, ==, b->len);
}

/* ---- a writer that passes all on to the real one, and notes the texts */

struct draw {
    struct draw *inner;
    GPtrArray *texts;
};

static GPtrArray *noted;

static struct draw *note_begin(const struct canvas *canvas, GError **error)
{
    struct draw *d = g_new0(struct draw, 1);

    d->inner = real->begin(canvas, error);
    d->texts = noted = g_ptr_array_new_with_free_func(g_free);
    return d;
}

static double note_text_width(struct draw *d, const struct font *font, const char *text)
{
    return real->text_width(d->inner, font, text);
}

static void note_rect(struct draw *d, double x, double y, double w, double h, const struct fill *fill)
{
    real->rect(d->inner, x, y, w, h, fill);
}

static void note_line(struct draw *d, double x0, double y0, double x1, double y1, uint32_t color,
                      double width, bool dashed)
{
    real->line(d->inner, x0, y0, x1, y1, color, width, dashed);
}

static void note_polygon(struct draw *d, unsigned n, const double *xy, uint32_t color)
{
    real->polygon(d->inner, n, xy, color);
}

/* Where texts stand across is written in halves of a px. */
static double to_halves(double x)
{
    return (double)(long long)(x * 2 + (x < 0 ? -0.5 : 0.5)) / 2;
}

static double to_hundredths(double x)
{
    return (double)(long long)(x * 100 + (x < 0 ? -0.5 : 0.5)) / 100;
}

static void note_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    g_ptr_array_add(d->texts, text_line(to_halves(x), to_hundredths(y), font->size,
                                        font->weight == WEIGHT_BOLD, align, color, text));
    real->text(d->inner, x, y, font, align, color, text);
}

static GBytes *note_finish(struct draw *d, GError **error)
{
    GBytes *bytes = real->finish(d->inner, error);

    g_free(d);
    return bytes;
}

static void note_cancel(struct draw *d)
{
    real->cancel(d->inner);
    g_free(d);
}

static const struct draw_ops noting = {.format = "svg",
                                       .begin = note_begin,
                                       .text_width = note_text_width,
                                       .rect = note_rect,
                                       .line = note_line,
                                       .polygon = note_polygon,
                                       .text = note_text,
                                       .finish = note_finish,
                                       .cancel = note_cancel};

/* Every text of a figure is there as text: place, font, colour, characters. */
static void test_texts(void)
{
    GError *error = NULL;
    struct read_svg r;

    real = draw_open("svg", &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) svg = render_with(&noting, "a \"model\" & <more>", &error);
    g_assert_no_error(error);
    read_svg(&r, svg);
    g_assert_cmpuint(noted->len, >, 100);
    g_ptr_array_sort(noted, by_line);
    g_ptr_array_sort(r.texts, by_line);
    assert_same_lines(noted, r.texts);
    g_assert_cmpstr(r.title, ==, "timeline of ddp, a \"model\" & <more>");
    g_assert_cmpuint(r.paths->len, >, 100);
    read_release(&r);
    g_ptr_array_unref(noted);
    gsize size;
    const char *text = g_bytes_get_data(svg, &size);
    g_assert_true(size > 7 && memcmp(text + size - 7, "</svg>\n", 7) == 0);
    g_assert_nonnull(g_strstr_len(text, (gssize)size, "width=\"1280px\" height=\"720px\""));
}

/* ---- drawings of one's own */

static const struct canvas plain = {.width = 1000, .height = 600};

/* Rectangles, lines and triangles in few colours, so that neighbours share one; each is read back whole. */
static void test_shapes(void)
{
    static const uint32_t colors[] = {0x0072b2, 0xffffff, 0x000000};
    g_autoptr(GPtrArray) drawn = g_ptr_array_new_with_free_func(g_free);
    struct draw *d = begin("svg", &plain);
    struct read_svg r;

    for (unsigned i = 0; i < 500; i++) {
        const uint32_t color = colors[g_test_rand_int_range(0, G_N_ELEMENTS(colors))];
        /* 1/4 px: exact for Cairo and in hundredths; never all outside, which Cairo leaves out */
        const double x = g_test_rand_int_range(-40, 4000) / 4.0, y = g_test_rand_int_range(-40, 2400) / 4.0;
        const double w = g_test_rand_int_range(50, 200) / 2.0, h = g_test_rand_int_range(50, 400) / 4.0;
        const double rect[] = {x, y, x + w, y, x + w, y + h, x, y + h}, line[] = {x, y, x + w, y + h},
                     mark[] = {x, y, x + w, y, x + w / 2, y + h};
        const int kind = g_test_rand_int_range(0, 3);
        if (kind == 0)
            real->rect(d, x, y, w, h, &(struct fill){.color = (int32_t)color, .stroke = -1});
        else if (kind == 1)
            real->line(d, x, y, x + w, y + h, color, 2, i % 2);
        else
            real->polygon(d, 3, mark, color);
        put_points(drawn, color, kind != 1,
                   kind == 0   ? 4
                   : kind == 1 ? 2
                               : 3,
                   kind == 0   ? rect
                   : kind == 1 ? line
                               : mark);
    }
    g_autoptr(GBytes) svg = finish(d);
    read_svg(&r, svg);
    assert_same_lines(drawn, r.paths);
    read_release(&r);
}

/* What XML cannot hold is replaced; all else arrives, blanks too. */
static void test_hostile_texts(void)
{
    static const struct {
        const char *drawn, *read;
    } texts[] = {
        {"<&>\"'", "<&>\"'"},
        {"]]>&amp;", "]]>&amp;"},
        {"a\x01\x1f\tb\nc", "a   b c"},
        {"\xff\xfe!", "\xef\xbf\xbd\xef\xbf\xbd!"},
        {"\xef\xbf\xbf", "\xef\xbf\xbd"},
        {"순전파 µs", "순전파 µs"},
        {"  two  blanks ", "  two  blanks "},
    };
    static const char *const formats[] = {"svg", "pdf", "png"};
    const struct font font = {13, WEIGHT_NORMAL};

    for (unsigned k = 0; k < G_N_ELEMENTS(formats); k++) {
        struct draw *d = begin(formats[k], &(struct canvas){.width = 400, .height = 400, .title = "<&>\x01"});
        for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
            g_assert_true(real->text_width(d, &font, texts[i].drawn) >= 0);
            real->text(d, 10, 20 + 20 * i, &font, ALIGN_CENTER, 0, texts[i].drawn);
        }
        g_autoptr(GBytes) file = finish(d);
        g_assert_cmpuint(g_bytes_get_size(file), >, 500);
        if (k > 0)
            continue;
        struct read_svg r;
        gsize size;
        const char *svg = g_bytes_get_data(file, &size);
        read_svg(&r, file);
        g_assert_cmpuint(r.texts->len, ==, G_N_ELEMENTS(texts));
        for (unsigned i = 0; i < r.texts->len; i++) {
            g_autofree char *want = text_line(10, 20 + 20 * i, 13, false, ALIGN_CENTER, 0, texts[i].read);
            g_assert_cmpstr(r.texts->pdata[i], ==, want);
        }
        g_assert_cmpstr(r.title, ==, "<&> ");
        g_assert_true(g_utf8_validate(svg, (gssize)size, NULL));
        g_assert_nonnull(g_strstr_len(svg, (gssize)size, "xml:space=\"preserve\">  two"));
        read_release(&r);
    }
}

/* Where the first glyph of an outlined text lies says where the text begins. */
static void glyph_at(GBytes *svg, double *x, double *y)
{
    gsize size;
    const char *use = g_strstr_len(g_bytes_get_data(svg, &size), -1, "<use ");

    g_assert_nonnull(use);
    *x = g_ascii_strtod(strstr(use, "x=\"") + 3, NULL);
    *y = g_ascii_strtod(strstr(use, "y=\"") + 3, NULL);
}

static void test_alignment(void)
{
    const struct font font = {21, WEIGHT_BOLD}, twice = {42, WEIGHT_BOLD};
    const char *text = "end of backward";

    for (unsigned align = ALIGN_LEFT; align <= ALIGN_RIGHT; align++) {
        struct draw *d = begin("svg", &(struct canvas){.width = 1000, .height = 600, .outlines = true});
        const double w = real->text_width(d, &font, text);
        double x, y;
        g_assert_cmpfloat(w, >, 100);
        g_assert_cmpfloat_with_epsilon(real->text_width(d, &twice, text), 2 * w, 0.01);
        real->text(d, 500, 300, &font, align, 0, text);
        g_autoptr(GBytes) svg = finish(d);
        glyph_at(svg, &x, &y);
        g_assert_cmpfloat_with_epsilon(x, 500 - w * align / 2, 0.05);
        g_assert_cmpfloat_with_epsilon(y, 300, 0.05);
        g_assert_null(g_strstr_len(g_bytes_get_data(svg, NULL), -1, "<text"));
    }
}

static GBytes *thousand_labels(const char *format, bool outlines)
{
    struct draw *d = begin(format, &(struct canvas){.width = 1000, .height = 600, .outlines = outlines});
    const struct font font = {13, WEIGHT_NORMAL};

    for (unsigned i = 0; i < 1000; i++) {
        char text[32];
        g_snprintf(text, sizeof text, "B%u·%u", i / 20, i % 20);
        real->text(d, 20 + i % 25 * 38.4, 14 + i / 25 * 14.3, &font, ALIGN_CENTER, 0, text);
    }
    return finish(d);
}

static void test_bytes(void)
{
    g_autoptr(GBytes) text = thousand_labels("svg", false), paths = thousand_labels("svg", true);

    g_assert_cmpuint(g_bytes_get_size(text), <, 60000);
    g_assert_cmpuint(g_bytes_get_size(text) * 3, <, g_bytes_get_size(paths));
}

/* Only Cairo's own words are rewritten, and a stream cut anywhere is no danger. */
static void test_stream(void)
{
    static const char known[] =
        "<svg a=\"b\"><g id=\"surface12\"><path style=\"fill-rule:evenodd;fill:rgb(100%,0%,20%);"
        "fill-opacity:1;stroke:none;\" d=\"M 1.006 2 L 3.25 2 C 4 5 -6 7 8.125 9 Z M 1 2 \"/>"
        "</g></svg>\n";
    static const char other[] =
        "<svg><path fill=\"url(#a)\" d=\"M 1 2 A 3 3 0 0 1 5 5\" id='x'/><rect/></svg>";
    const GArray none = {0};
    g_autoptr(GBytes) a = svg_write(known, strlen(known), &(struct svg_parts){.title = "t"});
    g_autoptr(GBytes) b = svg_write(other, strlen(other), &(struct svg_parts){0});
    const char rewritten[] = "<svg a=\"b\">\n<title>t</title><g><path fill-rule=\"evenodd\" fill=\"#f03\" "
                             "d=\"M1.01 2h2.24c.75 3-9.25 5 4.88 7z\"/></g></svg>\n";

    g_assert_cmpmem(g_bytes_get_data(a, NULL), g_bytes_get_size(a), rewritten, strlen(rewritten));
    g_assert_nonnull(
        g_strstr_len(g_bytes_get_data(b, NULL), -1, "fill=\"url(#a)\" d=\"M 1 2 A 3 3 0 0 1 5 5\""));
    for (size_t n = 0; n < strlen(known); n++) {
        g_autofree char *cut = g_strndup(known, n);
        g_autoptr(GBytes) c = svg_write(cut, n, &(struct svg_parts){.title = "t", .texts = &none});
        g_assert_nonnull(c);
    }
    for (unsigned i = 0; i < 2000; i++) {
        g_autofree char *flipped = g_strdup(known);
        for (unsigned k = 0; k < 4; k++)
            flipped[g_test_rand_int_range(0, (int)strlen(known))] = (char)g_test_rand_int_range(1, 256);
        g_autoptr(GBytes) c = svg_write(flipped, strlen(known), &(struct svg_parts){.title = "t", .texts = &none});
        g_assert_nonnull(c);
    }
}

/* Neighbours that say the same are one area in parts. */
static void test_spans(void)
{
    struct draw *d = begin("svg", &plain);
    static const char *const expected[] = {
        "<path d=\"M10 20h30v40h-30zm31 0h29v40h-29\"><title>F &amp; more</title></path>\n",
        "<path d=\"M10 80h30v40h-30\"><title>B</title></path>\n"};

    real->span(d, 10, 20, 30.2, 40, "F & more");
    real->span(d, 41.2, 20, 29, 40, "F & more");
    real->span(d, 10, 80, 30, 40, "B");
    g_autoptr(GBytes) svg = finish(d);
    for (unsigned i = 0; i < G_N_ELEMENTS(expected); i++)
        g_assert_nonnull(g_strstr_len(g_bytes_get_data(svg, NULL), -1, expected[i]));
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/draw/texts", test_texts);
    g_test_add_func("/draw/shapes", test_shapes);
    g_test_add_func("/draw/hostile-texts", test_hostile_texts);
    g_test_add_func("/draw/spans", test_spans);
    g_test_add_func("/draw/alignment", test_alignment);
    g_test_add_func("/draw/bytes", test_bytes);
    g_test_add_func("/draw/stream", test_stream);
    return g_test_run();
}
