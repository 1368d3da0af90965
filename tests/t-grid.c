/* Figure grid, and timelines of pipelines: squares as long as their times, each action once with its number,
 * nothing outside, over a text or unreadable. */
#include <math.h>
#include <string.h>

#include "tests/check-drawn.h"
#include "tests/pipe-trace.h"
#include "tests/tap.h"
#include "viz/blocks.h"
#include "viz/figure.h"

#define FREE "F=1,B=1,W=1,C=0,FB=3"

static const double canvases[][2] = {{1280, 720}, {1920, 1080}, {640, 360},
                                     {320, 240},  {3000, 300},  {400, 1600}};

static const struct pipe_case cases[] = {
    {"gpipe", FREE, 4, 1, 8, 1, CHECKPOINT_EXCEPT_LAST},
    {"1f1b", FREE, 4, 1, 8, 2, 0},
    {"1f1b", "F=1,B=1.2,W=0.9,C=0.3", 8, 1, 16, 1, 0},
    {"interleaved", FREE, 4, 2, 8, 1, 0},
    {"zb2p", FREE, 4, 1, 8, 2, 0},
    {"dualpipev", FREE, 4, 2, 8, 1, 0},
    {"pipedream", FREE, 4, 1, 8, 1, 0},
    {"1f1b", FREE, 2, 1, 300, 1, 0},
    {"1f1b", FREE, 1, 1, 1, 1, 0},
};

struct fixture {
    struct trace trace;
    struct analysis analysis;
    struct figure_input in;
};

static void fixture_make(struct fixture *f, const struct pipe_case *c)
{
    pipe_simulate(c, &f->trace);
    g_assert_true(analyze(&f->trace, &f->analysis, NULL));
    f->in = (struct figure_input){.trace = &f->trace, .analysis = &f->analysis};
}

static void fixture_release(struct fixture *f)
{
    analysis_release(&f->analysis);
    trace_release(&f->trace);
}

static struct draw *draw(const struct figure *figure, const struct figure_input *in,
                         const struct figure_options *o)
{
    g_autoptr(GError) error = NULL;
    struct draw *d =
        draw_list.begin(&(struct canvas){.width = o->width, .height = o->height, .title = "t"}, NULL);
    figure_draw(figure, in, o, &draw_list, d, &error);
    g_assert_no_error(error);
    return d;
}

static void test_every_canvas(void)
{
    const struct figure *const both[] = {&figure_grid, &figure_timeline};
    for (unsigned c = 0; c < G_N_ELEMENTS(cases); c++) {
        struct fixture f;
        fixture_make(&f, &cases[c]);
        for (unsigned i = 0; i < 2 * 3 * G_N_ELEMENTS(canvases); i++) {
            const double *size = canvases[i / 6];
            if (i % 2 && size[1] < 720 * cases[c].ranks / 4.0)
                continue; /* of a timeline, only with room for all its rows */
            const struct figure_options o = {.width = size[0],
                                             .height = size[1],
                                             .ranks_up = i % 3 == 1,
                                             .late = i % 3 == 1,
                                             .count_from = i % 3 == 1,
                                             .color_by = (uint8_t)(i / 2 % 3)};
            struct draw *d = draw(both[i % 2], &f.in, &o);
            check_figure(d);
            draw_list.cancel(d);
        }
        fixture_release(&f);
    }
}

/* Boxes of that colour as high as a cell. */
static unsigned count_boxes(const struct draw *d, uint32_t color, double *least, double *most)
{
    unsigned n = 0;
    *least = INFINITY;
    *most = 0;
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (m->kind != ITEM_RECT || m->fill != color || m->y1 - m->y0 < 24) /* not the legend's */
            continue;
        *least = MIN(*least, m->x1 - m->x0);
        *most = MAX(*most, m->x1 - m->x0);
        n++;
    }
    return n;
}

static void test_squares(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct fixture f;
    double f0, f1, b0, b1;
    fixture_make(&f, &(struct pipe_case){"1f1b", FREE, 4, 1, 8, 1, 0});
    struct draw *d = draw(&figure_grid, &f.in, &o);
    g_assert_cmpuint(count_boxes(d, palette_color(palettes[0], ROLE_FORWARD), &f0, &f1), ==, 32);
    g_assert_cmpuint(count_boxes(d, palette_color(palettes[0], ROLE_BACKWARD), &b0, &b1), ==, 32);
    g_assert_cmpfloat(f1 - f0, <, 0.11); /* edges lie on tenths */
    g_assert_cmpfloat(b1 - b0, <, 0.11);
    g_assert_cmpfloat(fabs(b0 + 1 - 2 * (f0 + 1)), <, 0.21); /* a unit of air between cells */
    for (unsigned micro = 0; micro < 8; micro++) {
        char text[8];
        g_snprintf(text, sizeof text, "F%u", micro);
        g_assert_cmpuint(count_text(d, text), ==, 4);
        *text = 'B';
        g_assert_cmpuint(count_text(d, text), ==, 4);
    }
    draw_list.cancel(d);
    fixture_release(&f);
}

static double text_y(const struct draw *d, const char *text)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && !strcmp(item_at(d, i)->text, text))
            return item_at(d, i)->y0;
    g_error("no text '%s'", text);
}

static void test_options(void)
{
    struct figure_options o = {.width = 1280, .height = 720, .ranks_up = true, .count_from = 1};
    struct fixture f;
    fixture_make(&f, &cases[6]);
    struct draw *d = draw(&figure_grid, &f.in, &o);
    g_assert_cmpuint(count_text(d, "F0"), ==, 0);
    g_assert_cmpuint(count_text(d, "F8"), ==, 4);
    g_assert_cmpfloat(text_y(d, "rank 1"), >, text_y(d, "rank 4"));
    g_assert_cmpuint(count_text(d, "v0"), ==, 4 + 3 + 2 + 1); /* weight versions of warm-up forwards */
    g_assert_cmpuint(count_text(d, "flush"), ==, 0);
    draw_list.cancel(d);
    fixture_release(&f);
}

/* Halves of a pair lie over each other and are as long as the two. */
static void test_pairs(void)
{
    struct fixture f;
    struct blocks b;
    unsigned pairs = 0;
    fixture_make(&f, &cases[5]);
    blocks_make(&b, &f.trace.t, f.analysis.pipeline, palettes[0], COLOR_BY_KIND, false);
    for (size_t i = 0; i < b.n; i++) {
        if (b.v[i].half != HALF_UPPER)
            continue;
        const struct pipeline_action *partner = pipeline_partner(f.analysis.pipeline, i);
        const struct block *lower = &b.v[partner - f.analysis.pipeline->actions];
        g_assert_cmpint(b.v[i].action->kind, ==, OP_FWD);
        g_assert_cmpint(lower->half, ==, HALF_LOWER);
        g_assert_cmpint(lower->start_ns, ==, b.v[i].start_ns);
        g_assert_cmpint(lower->end_ns, ==, b.v[i].end_ns);
        g_assert_cmpint(ABS(lower->end_ns - lower->start_ns - 1500000), <, 100);
        pairs++;
    }
    /* all but one of 2(m - 2P + r + 1) main pairs, and P - r - 1 more, of each rank: facts of DualPipeV */
    g_assert_cmpuint(pairs, ==, 2 * (1 + 2 + 3 + 4) - 1 + 3 + 2 + 1);
    blocks_release(&b);
    fixture_release(&f);
}

/* Late: each forward of the warm-up ends when what waits for it, or its rank's next action, begins. */
static void test_late(void)
{
    struct fixture f;
    struct blocks early, late;
    fixture_make(&f, &(struct pipe_case){"1f1b", FREE, 4, 1, 8, 1, 0});
    blocks_make(&early, &f.trace.t, f.analysis.pipeline, palettes[0], COLOR_BY_KIND, false);
    blocks_make(&late, &f.trace.t, f.analysis.pipeline, palettes[0], COLOR_BY_KIND, true);
    /* Rank 3 runs F1 at 6, rank 2 F2 at 8, rank 1 F3 at 10; what those wait for ends then, and so on up. */
    static const double wanted[4][4] = {{0, 3, 6, 9}, {1, 4, 7}, {2, 5}, {3}};
    for (uint32_t r = 0; r < 4; r++) {
        unsigned n = 0;
        for (size_t i = f.analysis.pipeline->first[r]; i < f.analysis.pipeline->first[r + 1]; i++) {
            g_assert_cmpint(late.v[i].start_ns, >=, early.v[i].start_ns);
            if (late.v[i].action->kind == OP_FWD && n < 4 - r) {
                g_test_message("rank %u, F%u at %g", r, n, (double)late.v[i].start_ns / 1e6);
                g_assert_cmpfloat(fabs((double)late.v[i].start_ns / 1e6 - wanted[r][n]), <, 1e-3);
                n++;
            } else {
                g_assert_cmpint(late.v[i].start_ns, ==, early.v[i].start_ns);
            }
        }
    }
    blocks_release(&early);
    blocks_release(&late);
    fixture_release(&f);
}

static unsigned count_spans(const struct draw *d, const char *prefix)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->items->len; i++)
        n += item_at(d, i)->kind == ITEM_SPAN && g_str_has_prefix(item_at(d, i)->name, prefix);
    return n;
}

/* One cell an action, whatever its layers, and none for the waiting of channels. */
static void test_timeline(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct fixture f;
    fixture_make(&f, &(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=1", 4, 1, 8, 1, 0});
    struct draw *d = draw(&figure_timeline, &f.in, &o);
    g_assert_cmpuint(count_spans(d, "F3 · "), ==, 4); /* its label is its letter over the number */
    g_assert_cmpuint(count_text(d, "B"), ==, 32);
    g_assert_cmpuint(count_text(d, "waits for peers"), ==, 0);
    g_assert_cmpuint(count_text(d, "bubble 25.0 ms"), ==, 4);
    draw_list.cancel(d);
    for (size_t i = 0; i < f.trace.n_ops; i++) /* with gaps between layers, as on devices */
        if (f.trace.ops[i].tag.kind == OP_FWD)
            f.trace.ops[i].end_ns -= (f.trace.ops[i].end_ns - f.trace.ops[i].start_ns) / 2;
    d = draw(&figure_timeline, &f.in, &o);
    double least, most;
    g_assert_cmpuint(count_boxes(d, palette_color(palettes[0], ROLE_FORWARD), &least, &most), ==, 32);
    draw_list.cancel(d);
    fixture_release(&f);
}

/* Where units are narrow every cell still has its letter, over its number. */
static void test_narrow(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct fixture f;
    fixture_make(&f, &(struct pipe_case){"naive", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0});
    struct draw *d = draw(&figure_grid, &f.in, &o);
    g_assert_cmpuint(count_text(d, "F"), ==, 32);
    g_assert_cmpuint(count_text(d, "B"), ==, 32);
    draw_list.cancel(d);
    fixture_release(&f);
}

static void test_refused(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct fixture f;
    GError *error = NULL;
    fixture_make(&f, &cases[0]);
    pipeline_times_free(f.analysis.pipeline);
    f.analysis.pipeline = NULL;
    g_assert_null(figure_render(&figure_grid, &f.in, &o, &draw_list, &error));
    g_assert_error(error, DRAW_ERROR, DRAW_ERROR_INPUT);
    g_assert_nonnull(strstr(error->message, "no stages"));
    g_clear_error(&error);
    fixture_release(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/grid/every-canvas", test_every_canvas);
    g_test_add_func("/grid/squares", test_squares);
    g_test_add_func("/grid/options", test_options);
    g_test_add_func("/grid/pairs", test_pairs);
    g_test_add_func("/grid/late", test_late);
    g_test_add_func("/grid/timeline", test_timeline);
    g_test_add_func("/grid/narrow", test_narrow);
    g_test_add_func("/grid/refused", test_refused);
    return g_test_run();
}
