/* The files that the real writers make: PDF with its texts, PNG of its size, the same bytes whatever was drawn before and
 * whatever the locale; and what is refused. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include "tests/draw-scene.h"
#include "tests/tap.h"

static const char *program;

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
        "DDP, bert-base, 4 ranks", "F forward", "rank 3", "11", "time, ms", "순전파"};
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
    g_test_add_func("/draw-files/pdf", test_pdf);
    g_test_add_func("/draw-files/png", test_png);
    g_test_add_func("/draw-files/same-bytes", test_same_bytes);
    g_test_add_func("/draw-files/locale", test_locale);
    g_test_add_func("/draw-files/missing", test_missing);
    g_test_add_func("/draw-files/canvas", test_canvas);
    return g_test_run();
}
