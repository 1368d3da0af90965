/* The SVG that the real writer makes: well-formed, and the same bytes whatever was drawn before and whatever
 * the locale. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include "tests/scene.h"
#include "tests/tap.h"
#include "viz/figure.h"

static const char *program;

static GBytes *render(const char *model, GError **error)
{
    const struct draw_ops *ops = draw_open("svg", error);
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

static const char *text_of(GBytes *bytes, gsize *size)
{
    return g_bytes_get_data(bytes, size);
}

static void count_element(GMarkupParseContext *context, const char *name, const char **names,
                          const char **values, gpointer elements, GError **error)
{
    (void)context, (void)name, (void)names, (void)values, (void)error;
    ++*(unsigned *)elements;
}

static void test_well_formed(void)
{
    const GMarkupParser parser = {.start_element = count_element};
    GError *error = NULL;
    unsigned elements = 0;
    gsize size;

    g_autoptr(GBytes) svg = render("a \"model\" & <more>", &error);
    g_assert_no_error(error);
    const char *text = text_of(svg, &size);
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &elements, NULL);
    g_markup_parse_context_parse(context, text, (gssize)size, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
    g_assert_cmpuint(elements, >, 500);
    g_assert_true(size > 7 && memcmp(text + size - 7, "</svg>\n", 7) == 0);
    g_assert_nonnull(g_strstr_len(text, (gssize)size, "width=\"1280px\" height=\"720px\""));
    g_assert_nonnull(
        g_strstr_len(text, (gssize)size, "<title>timeline of ddp, a &quot;model&quot; &amp; &lt;more&gt;"));
}

static void test_same_bytes(void)
{
    g_autoptr(GBytes) a = render("bert-base", NULL);
    g_autoptr(GBytes) other = render("something else", NULL);
    g_autoptr(GBytes) b = render("bert-base", NULL);

    g_assert_true(g_bytes_equal(a, b));
    g_assert_false(g_bytes_equal(a, other));
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
    GError *error = NULL;
    const struct draw_ops *ops = draw_open("svg", &error);

    g_assert_no_error(error);
    g_assert_null(ops->begin(&(struct canvas){.width = 0, .height = 720, .title = "none"}, &error));
    g_assert_nonnull(error);
    g_clear_error(&error);
    struct draw *d = ops->begin(&(struct canvas){.width = 100, .height = 100}, &error);
    ops->cancel(d);
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
    g_test_add_func("/svg/well-formed", test_well_formed);
    g_test_add_func("/svg/same-bytes", test_same_bytes);
    g_test_add_func("/svg/locale", test_locale);
    g_test_add_func("/svg/missing-module", test_missing);
    g_test_add_func("/svg/canvas", test_canvas);
    return g_test_run();
}
