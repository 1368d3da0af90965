/* What figures are laid out and coloured with: axes, numbers in words, cells that are joined, contrast. */
#include <math.h>

#include "tests/scene.h"
#include "tests/tap.h"
#include "viz/layout.h"
#include "viz/palette.h"

#define EPSILON 1e-6

static void test_palette(void)
{
    g_assert_cmpfloat_with_epsilon(palette_contrast(0xffffff, 0x000000), 21, 1e-9);
    g_assert_cmpfloat_with_epsilon(palette_contrast(0x0072b2, 0xffffff), 5.19, 0.005);
    g_assert_cmpfloat_with_epsilon(palette_contrast(0x777777, 0xffffff), 4.48, 0.005);
    for (enum role r = 0; r < ROLE_CELLS; r++)
        for (double strength = 0; strength <= 1; strength += 0.1) {
            uint32_t ground_color = palette_tint_color(palettes[0], palette_color(palettes[0], r), strength);
            g_assert_cmpfloat(palette_contrast(ground_color, palette_text_on(ground_color)), >=, 4.5);
        }
}

static void test_axis(void)
{
    for (unsigned i = 0; i < 500; i++) {
        struct axis a = {0, scene_pick(1, 1000000000000000), 100, 100 + 10 * g_test_rand_int_range(1, 300)};
        int64_t tick = axis_tick_ns(&a, 90), lead = tick;
        while (lead % 10 == 0)
            lead /= 10;
        g_assert_true(lead == 1 || lead == 2 || lead == 5);
        g_assert_cmpfloat((double)tick / axis_ns_per_unit(&a), >=, 90 - EPSILON);
        g_assert_true(tick == 1 || (double)tick / axis_ns_per_unit(&a) <= 90 * 2.5 + EPSILON);
    }
}

static void test_words(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } durations[] = {{0, "0 ms"},
                     {1, "1 ns"},
                     {1500, "1.5 µs"},
                     {59200000, "59.2 ms"},
                     {999949, "999.9 µs"},
                     {999950, "1.0 ms"},
                     {-999970, "-1.0 ms"},
                     {999949999, "999.9 ms"},
                     {999960000, "1.00 s"},
                     {1500000000, "1.50 s"},
                     {36000000000000, "36000.00 s"}};
    static const struct {
        const char *block, *text;
    } blocks[] = {{"layer3", "3"},    {"layer4.2", "4.2"}, {"embeddings", "emb"},
                  {"pooler", "pool"}, {"head", "head"},    {"cls", "cls"}};
    static const struct {
        const char *text;
        double ns; /* below 0: it is refused */
    } read[] = {{"12.5ms", 12.5e6}, {"12.5 ms", 12.5e6}, {"800us", 8e5}, {"800µs", 8e5}, {"800\u03bcs", 8e5},
                {"3s", 3e9},        {"1e3ns", 1e3},      {"3", -1},      {"0x3ms", -1},  {"infs", -1},
                {"nans", -1},       {"ms", -1},          {"", -1},       {"3 m", -1},    {"3ms ", -1},
                {"3  ms", -1},      {" 3ms", -1},        {"3,5ms", -1}};
    char text[32], name[20];

    for (unsigned i = 0; i < G_N_ELEMENTS(read); i++) {
        double ns = -1;
        g_assert_true(parse_duration(read[i].text, &ns) == (read[i].ns >= 0));
        g_assert_cmpfloat(ns, ==, read[i].ns);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(durations); i++)
        g_assert_cmpstr(format_duration(durations[i].ns, text), ==, durations[i].text);
    for (unsigned i = 0; i < G_N_ELEMENTS(blocks); i++) {
        block_short(blocks[i].block, name);
        g_assert_cmpstr(name, ==, blocks[i].text);
    }
    g_assert_cmpstr(format_bytes(26214400, text), ==, "25.0 MiB");
    axis_tick_text(3000000, 500000, 1500000, text);
    g_assert_cmpstr(text, ==, "1.5");
}

/* Merging keeps order and extent, and what is over half a pixel long and alone is still there. */
static void test_cells(void)
{
    for (unsigned i = 0; i < 300; i++) {
        GArray *cells = g_array_new(FALSE, FALSE, sizeof(struct cell));
        for (unsigned k = g_test_rand_int_range(1, 60); k-- > 0;) {
            struct cell c = {.start_ns = g_test_rand_int_range(0, 1000),
                             .first = g_test_rand_int_range(0, 3)};
            c.end_ns = c.start_ns + g_test_rand_int_range(0, 40);
            g_array_append_val(cells, c);
        }
        cells_order(cells);
        int64_t busy = 0, end = -1, merged = 0;
        for (unsigned k = 0; k < cells->len; k++) {
            const struct cell *c = &g_array_index(cells, struct cell, k);
            g_assert_cmpint(c->start_ns, >=, end);
            g_assert_cmpint(c->end_ns, >, c->start_ns);
            busy += c->own_ns;
            end = c->end_ns;
        }
        const int64_t last = end;
        cells_merge(cells, 5, 5);
        end = -1;
        for (unsigned k = 0; k < cells->len; k++) {
            const struct cell *c = &g_array_index(cells, struct cell, k);
            g_assert_cmpint(c->start_ns, >=, end);
            g_assert_cmpint(c->own_ns, <=, c->end_ns - c->start_ns);
            merged += c->end_ns - c->start_ns;
            end = c->end_ns;
        }
        g_assert_cmpint(merged, >=, busy);
        g_assert_true(!cells->len || end == last);
        g_array_unref(cells);
    }
}

/* Kernels that are long enough are told apart by name, others of one kind are joined; a name stands for a
 * cell if most of it is that kernel. */
static void test_kernels(void)
{
    static const struct {
        int64_t ns[3];
        const char *names[3];
        unsigned cells;
        const char *first; /* name of the first cell; NULL: none */
    } cases[] = {{{500, 500, 500}, {"a", "b", "a"}, 3, "a"},
                 {{500, 500, 500}, {"a", "a", "a"}, 1, "a"},
                 {{20, 20, 20}, {"a", "b", "c"}, 1, NULL},
                 {{20, 500, 20}, {"a", "b", "c"}, 1, "b"},
                 {{500, 500, 500}, {NULL, NULL, NULL}, 1, NULL}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(struct cell));
        int64_t at = 0;
        for (unsigned k = 0; k < 3; k++) {
            const struct cell c = {.start_ns = at, .end_ns = at + cases[i].ns[k], .name = cases[i].names[k]};
            at = c.end_ns;
            g_array_append_val(cells, c);
        }
        cells_order(cells);
        cells_merge(cells, 1, 1);
        g_assert_cmpuint(cells->len, ==, cases[i].cells);
        g_assert_cmpstr(cell_kernel(&g_array_index(cells, struct cell, 0)), ==, cases[i].first);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/layout/palette", test_palette);
    g_test_add_func("/layout/axis", test_axis);
    g_test_add_func("/layout/words", test_words);
    g_test_add_func("/layout/cells", test_cells);
    g_test_add_func("/layout/kernels", test_kernels);
    return g_test_run();
}
