/* The files that the real writers make: what was drawn is in them, at its place and in its colour; they are
 * well-formed, and the same bytes whatever was drawn before and whatever the locale. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include "tests/scene.h"
#include "tests/tap.h"
#include "viz/draw-svg.h"
#include "viz/figure.h"

static const char *program;

static GBytes *render_with(const struct draw_ops *ops, const char *model, GError **error)
{
    struct scene_spec s = scene_bert();
    struct trace trace, apart;
    struct analysis analysis, apart_analysis;
    struct figure_options o = {1280, 720, "a caption & <more>: 순전파"};

    if (!ops)
        return NULL;
    s.model = model;
    s.jitter = 0.2;
    scene_make(&s, &trace);
    g_assert_true(analyze(&trace, &analysis, NULL));
    s.overlap = false;
    scene_make(&s, &apart);
    g_assert_true(analyze(&apart, &apart_analysis, NULL));
    const struct variant others[] = {{"none", &apart, &apart_analysis, NULL},
                                     {model, &apart, &apart_analysis, NULL}};
    struct figure_input in = {.trace = &trace,
                              .analysis = &analysis,
                              .name = "backward",
                              .others = others,
                              .n_others = G_N_ELEMENTS(others)};
    GBytes *bytes = figure_render(&figure_timeline, &in, &o, ops, error);
    trace_release(&trace);
    analysis_release(&analysis);
    trace_release(&apart);
    analysis_release(&apart_analysis);
    return bytes;
}

static GBytes *render(const char *model, GError **error)
{
    return render_with(draw_open("svg", error), model, error);
}

static const char *text_of(GBytes *bytes, gsize *size)
{
    return g_bytes_get_data(bytes, size);
}

/* ---- SVG read back: texts and paths, with what they inherit */

enum { MAX_DEPTH = 16, MAX_POINTS = 64 };

struct read_style {
    double size, x, y;
    char fill[24], stroke[24], anchor[8];
    bool bold;
};

struct read_svg {
    struct read_style style[MAX_DEPTH];
    unsigned depth;
    bool in_text;
    GPtrArray *texts, *paths; /* lines that say all of one */
    char *title;
};

static void read_attributes(struct read_style *s, const char **names, const char **values)
{
    for (unsigned i = 0; names[i]; i++) {
        if (!strcmp(names[i], "x"))
            s->x = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "y"))
            s->y = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "font-size"))
            s->size = g_ascii_strtod(values[i], NULL);
        else if (!strcmp(names[i], "fill"))
            g_strlcpy(s->fill, values[i], sizeof s->fill);
        else if (!strcmp(names[i], "stroke"))
            g_strlcpy(s->stroke, values[i], sizeof s->stroke);
        else if (!strcmp(names[i], "text-anchor"))
            g_strlcpy(s->anchor, values[i], sizeof s->anchor);
        else if (!strcmp(names[i], "font-weight"))
            s->bold = !strcmp(values[i], "bold");
    }
}

static uint32_t read_color(const char *text)
{
    uint32_t c = (uint32_t)g_ascii_strtoull(text + 1, NULL, 16);

    g_assert_cmpint(*text, ==, '#');
    return strlen(text) == 7 ? c : (c >> 8 & 15) * 0x110000 + (c >> 4 & 15) * 0x1100 + (c & 15) * 0x11;
}

static char *text_line(double x, double y, double size, bool bold, unsigned align, uint32_t color,
                       const char *text)
{
    return g_strdup_printf("%.2f %.2f %.2f %s %u %06x %s", x, y, size, bold ? "bold" : "normal", align,
                           (unsigned)color, text);
}

static void put_points(GPtrArray *lines, uint32_t color, bool filled, unsigned n, const double *xy)
{
    GString *line = g_string_new(NULL);

    g_string_printf(line, "%s %06x", filled ? "fill" : "stroke", (unsigned)color);
    for (unsigned i = 0; i < 2 * n; i++)
        g_string_append_printf(line, " %.2f", xy[i] + 1e-9); /* no -0.00 */
    g_ptr_array_add(lines, g_string_free(line, FALSE));
}

/* The subset of SVG's path language that has letters M h v l z. */
static void read_path(struct read_svg *r, const struct read_style *s, const char *at)
{
    const bool filled = strcmp(s->fill, "none") != 0;
    double xy[2 * MAX_POINTS] = {0};
    unsigned n = 0;

    for (char *end; *at; at = end) {
        const char command = *at++;
        double a = 0, b = 0;
        end = (char *)at;
        if (command != 'z')
            a = g_ascii_strtod(at, &end);
        if (command == 'M' || command == 'l')
            b = g_ascii_strtod(end, &end);
        if (command == 'M') {
            if (n)
                put_points(r->paths, read_color(filled ? s->fill : s->stroke), filled, n, xy);
            n = 0;
        }
        if (command == 'z')
            continue;
        g_assert_true(strchr("Mhvl", command) && n < MAX_POINTS);
        xy[2 * n] = command == 'M' ? a : xy[2 * n - 2] + (command == 'v' ? 0 : a);
        xy[2 * n + 1] = command == 'M' ? b : xy[2 * n - 1] + (command == 'v' ? a : b);
        n++;
    }
    if (n)
        put_points(r->paths, read_color(filled ? s->fill : s->stroke), filled, n, xy);
}

static void read_start(GMarkupParseContext *context, const char *name, const char **names,
                       const char **values, gpointer user, GError **error)
{
    struct read_svg *r = user;

    (void)context, (void)error;
    g_assert_cmpuint(r->depth + 1, <, MAX_DEPTH);
    r->style[r->depth + 1] = r->style[r->depth];
    struct read_style *s = &r->style[++r->depth];
    read_attributes(s, names, values);
    r->in_text = !strcmp(name, "text");
    for (unsigned i = 0; names[i]; i++)
        if (!strcmp(name, "path") && !strcmp(names[i], "d"))
            read_path(r, s, values[i]);
}

static void read_end(GMarkupParseContext *context, const char *name, gpointer user, GError **error)
{
    struct read_svg *r = user;

    (void)context, (void)error, (void)name;
    r->depth--;
    r->in_text = false;
}

static void read_text(GMarkupParseContext *context, const char *text, gsize n, gpointer user, GError **error)
{
    struct read_svg *r = user;
    const struct read_style *s = &r->style[r->depth];

    (void)n, (void)error;
    if (!strcmp(g_markup_parse_context_get_element(context), "title"))
        r->title = g_strdup(text);
    if (r->in_text)
        g_ptr_array_add(r->texts, text_line(s->x, s->y, s->size, s->bold,
                                            !*s->anchor                    ? ALIGN_LEFT
                                            : !strcmp(s->anchor, "middle") ? ALIGN_CENTER
                                                                           : ALIGN_RIGHT,
                                            read_color(s->fill), text));
}

static void read_svg(struct read_svg *r, GBytes *svg)
{
    const GMarkupParser parser = {.start_element = read_start, .end_element = read_end, .text = read_text};
    GError *error = NULL;
    gsize size;
    const char *text = g_bytes_get_data(svg, &size);

    *r = (struct read_svg){.texts = g_ptr_array_new_with_free_func(g_free),
                           .paths = g_ptr_array_new_with_free_func(g_free)};
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, r, NULL);
    g_markup_parse_context_parse(context, text, (gssize)size, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
}

static void read_release(struct read_svg *r)
{
    g_ptr_array_unref(r->texts);
    g_ptr_array_unref(r->paths);
    g_free(r->title);
}

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

static const struct draw_ops *real;
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

static double to_hundredths(double x)
{
    return (double)(long long)(x * 100 + (x < 0 ? -0.5 : 0.5)) / 100;
}

static void note_text(struct draw *d, double x, double y, const struct font *font, enum align align,
                      uint32_t color, const char *text)
{
    g_ptr_array_add(d->texts, text_line(to_hundredths(x), to_hundredths(y), font->size,
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

static struct draw *begin(const char *format, const struct canvas *canvas)
{
    GError *error = NULL;

    real = draw_open(format, &error);
    g_assert_no_error(error);
    struct draw *d = real->begin(canvas, &error);
    g_assert_no_error(error);
    return d;
}

static GBytes *finish(struct draw *d)
{
    GError *error = NULL;
    GBytes *bytes = real->finish(d, &error);

    g_assert_no_error(error);
    return bytes;
}

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

/* ---- PDF and PNG */

static bool has(GBytes *file, const char *words)
{
    gsize size;
    const void *data = g_bytes_get_data(file, &size);

    return memmem(data, size, words, strlen(words));
}

static void test_pdf(void)
{
    GError *error = NULL;
    g_autofree char *path = NULL, *out = NULL, *program_path = g_find_program_in_path("pdftotext");
    gsize size;

    g_autoptr(GBytes) pdf = render_with(draw_open("pdf", &error), "bert-base", &error);
    g_assert_no_error(error);
    const char *text = g_bytes_get_data(pdf, &size);
    g_assert_cmpmem(text, 7, "%PDF-1.", 7);
    g_assert_false(has(pdf, "CreationDate"));
    g_assert_true(has(pdf, "timeline of ddp, bert-base"));
    g_assert_true(has(pdf, "/MediaBox [ 0 0 960 540 ]")); /* pt of 1280 x 720 px */
    if (!program_path) {
        g_test_skip("there is no pdftotext");
        return;
    }
    const int fd = g_file_open_tmp("parprof-XXXXXX.pdf", &path, NULL);
    g_assert_cmpint(fd, >=, 0);
    g_assert_true(g_close(fd, NULL) && g_file_set_contents(path, text, (gssize)size, NULL));
    char *const args[] = {program_path, (char *)"-layout", path, (char *)"-", NULL};
    g_assert_true(g_spawn_sync(NULL, (char **)args, NULL, 0, NULL, NULL, &out, NULL, NULL, NULL));
    static const char *const labels[] = {
        "DDP, bert-base, 4 ranks", "F forward", "rank 3", "B11", "time, ms", "순전파"};
    for (unsigned i = 0; i < G_N_ELEMENTS(labels); i++)
        g_assert_nonnull(strstr(out, labels[i]));
    g_remove(path);
}

static uint32_t big_endian(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;

    return (uint32_t)c[0] << 24 | c[1] << 16 | c[2] << 8 | c[3];
}

static void test_png(void)
{
    static const struct {
        double dpi;
        unsigned width, height;
    } cases[] = {{0, 101, 50}, {96, 101, 50}, {192, 202, 100}, {144, 152, 75}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct canvas canvas = {.width = 101, .height = 50, .dpi = cases[i].dpi};
        struct draw *d = begin("png", &canvas);
        g_autoptr(GBytes) blank = finish(d);
        d = begin("png", &canvas);
        real->text(d, 50, 30, &(struct font){13, WEIGHT_NORMAL}, ALIGN_CENTER, 0, "순전파 B11");
        g_autoptr(GBytes) drawn = finish(d);
        const char *png = g_bytes_get_data(drawn, NULL);
        g_assert_cmpmem(png, 8, "\x89PNG\r\n\x1a\n", 8);
        g_assert_cmpuint(big_endian(png + 16), ==, cases[i].width);
        g_assert_cmpuint(big_endian(png + 20), ==, cases[i].height);
        g_assert_cmpuint(g_bytes_get_size(drawn), >, g_bytes_get_size(blank) + 300);
    }
}

static void test_same_bytes(void)
{
    for (unsigned i = 0; draw_formats[i]; i++) {
        const struct draw_ops *ops = draw_open(draw_formats[i], NULL);
        g_autoptr(GBytes) a = render_with(ops, "bert-base", NULL);
        g_autoptr(GBytes) other = render_with(ops, "something else", NULL);
        g_autoptr(GBytes) b = render_with(ops, "bert-base", NULL);
        g_assert_true(g_bytes_equal(a, b));
        g_assert_false(g_bytes_equal(a, other));
    }
}

static void test_locale(void)
{
    static const char *const locales[] = {"C", "ko_KR.UTF-8", "de_DE.UTF-8", "C.UTF-8"};
    gsize size;
    g_autoptr(GBytes) mine = render("bert-base", NULL);
    const char *text = text_of(mine, &size);

    for (unsigned i = 0; i < G_N_ELEMENTS(locales); i++) {
        g_auto(GStrv) env = g_get_environ();
        char *const args[] = {(char *)program, (char *)"--emit", NULL};
        g_autofree char *out = NULL;
        int status;
        env = g_environ_setenv(env, "LC_ALL", locales[i], TRUE);
        env = g_environ_setenv(env, "LANG", locales[i], TRUE);
        g_assert_true(g_spawn_sync(NULL, (char **)args, env, 0, NULL, NULL, &out, NULL, &status, NULL));
        g_assert_cmpint(status, ==, 0);
        g_assert_cmpuint(strlen(out), ==, size);
        g_assert_cmpint(memcmp(out, text, size), ==, 0);
    }
}

/* Where the module is not, the error names the folders. */
static void test_missing(void)
{
    g_autofree char *folder = g_dir_make_tmp("parprof-XXXXXX", NULL),
                    *below = g_build_filename(folder, "bin", NULL);
    g_autofree char *copy = g_build_filename(below, "alone", NULL), *data = NULL, *out = NULL, *err = NULL;
    char *const args[] = {copy, (char *)"--emit", NULL};
    gsize size;
    int status;

    g_assert_cmpint(g_mkdir(below, 0700), ==, 0);
    g_assert_true(g_file_get_contents(program, &data, &size, NULL));
    g_assert_true(g_file_set_contents_full(copy, data, (gssize)size, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
    g_assert_true(g_spawn_sync(NULL, (char **)args, NULL, 0, NULL, NULL, &out, &err, &status, NULL));
    if (g_file_test(PKGLIBDIR "/parprof-cairo.so", G_FILE_TEST_EXISTS)) {
        g_test_skip("installed");
    } else {
        g_assert_cmpint(status, !=, 0);
        g_assert_nonnull(strstr(err, below));
        g_assert_nonnull(strstr(err, PKGLIBDIR));
    }
    g_remove(copy);
    g_rmdir(below);
    g_rmdir(folder);
}

static void test_canvas(void)
{
    static const struct {
        const char *format;
        struct canvas canvas;
        bool fits;
    } cases[] = {
        {"svg", {.width = 0, .height = 720}, false},
        {"svg", {.width = 100, .height = 1e6}, false},
        {"svg", {.width = 100, .height = 100}, true},
        {"pdf", {.width = 20000, .height = 100}, false},
        {"pdf", {.width = 19200, .height = 100}, true},
        {"png", {.width = 32768, .height = 1}, false},
        {"png", {.width = 32767, .height = 1}, true},
        {"png", {.width = 20000, .height = 1, .dpi = 192}, false},
        {"png", {.width = 30000, .height = 30000}, false},
        {"png", {.width = 100, .height = 100, .dpi = -96}, false},
        {"png", {.width = 100, .height = 100, .dpi = 0.1}, false},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        const struct draw_ops *ops = draw_open(cases[i].format, NULL);
        struct draw *d = ops->begin(&cases[i].canvas, &error);
        g_assert_true((d != NULL) == cases[i].fits && (error == NULL) == cases[i].fits);
        if (error)
            g_assert_true(g_str_has_prefix(error->message, cases[i].format));
        if (d)
            ops->cancel(d);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(draw_open("gif", &error));
    g_assert_true(g_error_matches(error, DRAW_ERROR, DRAW_ERROR_INPUT) && strstr(error->message, "svg, pdf"));
}

static int emit(void)
{
    g_autoptr(GError) error = NULL;
    gsize size;

    setlocale(LC_ALL, "");
    g_autoptr(GBytes) svg = render("bert-base", &error);
    if (!svg) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
    }
    const char *text = text_of(svg, &size);
    return fwrite(text, 1, size, stdout) != size;
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--emit") == 0)
        return emit();
    tap_init(&argc, &argv);
    g_test_add_func("/draw/texts", test_texts);
    g_test_add_func("/draw/shapes", test_shapes);
    g_test_add_func("/draw/hostile-texts", test_hostile_texts);
    g_test_add_func("/draw/alignment", test_alignment);
    g_test_add_func("/draw/bytes", test_bytes);
    g_test_add_func("/draw/stream", test_stream);
    g_test_add_func("/draw/pdf", test_pdf);
    g_test_add_func("/draw/png", test_png);
    g_test_add_func("/draw/same-bytes", test_same_bytes);
    g_test_add_func("/draw/locale", test_locale);
    g_test_add_func("/draw/missing", test_missing);
    g_test_add_func("/draw/canvas", test_canvas);
    return g_test_run();
}
