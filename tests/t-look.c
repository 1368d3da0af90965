/* The look of figures: themes that can be read, and every figure in every theme, language and size. */
#include <math.h>
#include <string.h>

#include "tests/subject.h"
#include "tests/tap.h"

/* --- themes */

static void test_contrast(void)
{
    static const enum role texts[] = {ROLE_INK, ROLE_MUTED}, grounds[] = {ROLE_BACKGROUND, ROLE_LANE};
    for (unsigned i = 0; palettes[i]; i++) {
        const struct palette *p = palettes[i];
        const double fb = palette_contrast(palette_color(p, ROLE_FORWARD), palette_color(p, ROLE_BACKWARD));
        g_test_message("%s: forward against backward %.2f", palette_name(p), fb);
        g_assert_cmpfloat(fb, >=, 1.5);
        for (enum role r = 0; r < ROLE_CELLS; r++)
            for (double strength = 1; strength > 0.1; strength -= 0.1) {
                const uint32_t color = palette_tint(p, palette_shade(p, r), strength).color;
                g_assert_cmpfloat(palette_contrast(color, palette_text_on(color)), >=, 4.5);
            }
        for (unsigned t = 0; t < G_N_ELEMENTS(texts); t++)
            for (unsigned g = 0; g < G_N_ELEMENTS(grounds); g++)
                g_assert_cmpfloat(palette_contrast(palette_color(p, texts[t]), palette_color(p, grounds[g])),
                                  >=, 4.5);
        for (unsigned h = 0; h < HUES; h++) {
            const uint32_t color = palette_hue(p, h).color;
            g_assert_cmpfloat(palette_contrast(color, palette_text_on(color)), >=, 4.5);
            g_assert_cmpfloat(palette_contrast(palette_line(p, h), palette_color(p, ROLE_BACKGROUND)), >=, 3);
        }
        g_assert_true(palette_find(palette_name(p)) == p);
    }
    g_assert_null(palette_find("sepia"));
}

/* In print two kinds of cells differ in grey or in hatch. */
static void test_print(void)
{
    const struct palette *p = palette_find("print");
    for (enum role a = 0; a < ROLE_REST; a++)
        for (enum role b = 0; b < a; b++) {
            const struct shade x = palette_shade(p, a), y = palette_shade(p, b);
            const bool grey = palette_contrast(x.color, y.color) >= 1.1, hatch = x.hatch != y.hatch,
                       ink = x.hatch != HATCH_NONE && palette_contrast(x.ink, y.ink) >= 1.5;
            if (!(grey || hatch || ink))
                g_error("roles %u and %u are alike in print", a, b);
        }
}

/* --- every figure in every look */

static const double sizes[][2] = {{1280, 720}, {960, 720},  {640, 360},  {320, 180}, {1920, 1080},
                                  {605, 340},  {3000, 400}, {400, 1600}, {320, 400}, {1280, 2400}};

static void random_look(struct figure_options *o)
{
    static const char *const names[] = {NULL, "GPU", "a name of a device that is long"};
    o->palette = palettes[g_test_rand_int_range(0, 3)];
    o->font_scale = g_test_rand_bit() ? 1 : 0.7 + g_test_rand_double();
    o->title = g_test_rand_int_range(0, 4) ? NULL : g_test_rand_bit() ? "" : "a title of one's own";
    o->no_legend = !g_test_rand_int_range(0, 4);
    o->no_caption = !g_test_rand_int_range(0, 4);
    o->rank_name = names[g_test_rand_int_range(0, G_N_ELEMENTS(names))];
    o->ranks_up = g_test_rand_bit();
    o->count_from = g_test_rand_bit();
    o->color_by = (uint8_t)g_test_rand_int_range(0, 4);
    o->late = g_test_rand_bit();
    o->critical = g_test_rand_bit();
    o->from_first_layer = g_test_rand_bit();
}

static unsigned check_looks(const struct subject *s, const struct figure *f, const char *language,
                            unsigned n_sizes)
{
    unsigned drawn = 0;
    for (unsigned i = 0; i < n_sizes; i++) {
        struct figure_options o = {.width = sizes[i][0],
                                   .height = sizes[i][1],
                                   .caption = g_test_rand_bit() ? "made for a test" : NULL,
                                   .lang = language_find(language, NULL)};
        g_autoptr(GError) error = NULL;
        random_look(&o);
        struct draw *d = draw(f, subject_input(s, f), &o, &error);
        if (d) {
            check_figure(d);
            draw_list.cancel(d);
            drawn++;
        } else if (!strstr(error->message, "no room")) {
            g_error("%s", error->message);
        }
    }
    return drawn;
}

static void test_every_look(void)
{
    static const char *const languages[] = {"en", "ko"};
    const unsigned plans = g_test_slow() ? 50 : 6, n_sizes = g_test_slow() ? G_N_ELEMENTS(sizes) : 4;
    unsigned drawn = 0, of = 0;
    for (unsigned i = 0; i < plans; i++) {
        struct subject s;
        subject_make(&s, i % 2);
        for (unsigned k = 0; figures[k]; k++)
            for (unsigned l = 0; l < G_N_ELEMENTS(languages); l++) {
                if (!subject_suits(&s, figures[k]))
                    continue;
                drawn += check_looks(&s, figures[k], languages[l], n_sizes);
                of += n_sizes;
            }
        subject_release(&s);
    }
    g_test_message("%u of %u drawn, the others refused for lack of room", drawn, of);
    g_assert_cmpuint(drawn, >, of / 2);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/look/contrast", test_contrast);
    g_test_add_func("/look/print", test_print);
    g_test_add_func("/look/every-look", test_every_look);
    return g_test_run();
}
