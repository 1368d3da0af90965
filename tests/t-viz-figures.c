/* The figures of reports and sweeps: bars as long as their numbers, everything said that should be, nothing
 * outside, over a text or unreadable, whatever the input. */
#include "tests/check-drawn.h"
#include "tests/hand-digest.h"
#include "tests/tap.h"
#include "viz/figure.h"

static struct draw *draw(const struct figure *f, const struct figure_input *in,
                         const struct figure_options *o)
{
    g_autoptr(GError) error = NULL;
    struct draw *d = draw_list.begin(&(struct canvas){.width = o->width, .height = o->height}, NULL);

    bool ok = figure_draw(f, in, o, &draw_list, d, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    return d;
}

static const double canvases[][2] = {{1280, 720}, {3840, 2160}, {1920, 1080}, {960, 540}, {640, 360},
                                     {320, 180},  {3000, 300},  {400, 1600},  {320, 400}, {1280, 2400}};

static void draw_everywhere(const struct figure *f, const struct figure_input *in, const char *caption)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(canvases); i++)
        for (unsigned normalise = 0; normalise < 2; normalise++) {
            struct figure_options o = {.width = canvases[i][0],
                                       .height = canvases[i][1],
                                       .caption = caption,
                                       .normalise = normalise};
            struct draw *d = draw(f, in, &o);
            check_figure(d);
            draw_list.cancel(d);
        }
}

static void expect(const struct draw *d, const char *text)
{
    if (!count_text(d, text))
        g_error("the figure lacks '%s'", text);
}

/* Widths of the rectangles of that colour and a height of min or more, in drawing order. */
static GArray *widths(const struct draw *d, uint32_t color, double min_height)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(double));

    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        const double w = m->x1 - m->x0;
        if (m->kind == ITEM_RECT && m->fill == color && m->y1 - m->y0 >= min_height)
            g_array_append_val(all, w);
    }
    return all;
}

/* Bars of 30 px or more: swatches and strips are lower. */
static double width_of(const struct draw *d, enum role role, unsigned nth)
{
    g_autoptr(GArray) all = widths(d, palette_color(palettes[0], role), 30);

    g_assert_cmpuint(nth, <, all->len);
    return g_array_index(all, double, nth);
}

static const struct item *find_bar(const struct draw *d, uint32_t color)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->kind == ITEM_RECT && item_at(d, i)->fill == color &&
            item_at(d, i)->x1 - item_at(d, i)->x0 > 30)
            return item_at(d, i);
    g_error("no bar");
}

static void test_breakdown(void)
{
    static const char *const said[] = {"no overlap", "backward", "optimizer", "measured",
                                       "predicted",  "31.2 ms",  "62.1 ms"};
    struct digest d;
    struct figure_options o = {.width = 1280, .height = 720};

    lecture_digest(&d);
    d.simulated = false;
    struct draw *list = draw(&figure_breakdown, &(struct figure_input){.digest = &d}, &o);
    check_figure(list);
    for (unsigned i = 0; i < G_N_ELEMENTS(said); i++)
        expect(list, said[i]);
    expect(list, "157.1 ms");
    expect(list, "107.2 ms, 31.8 % saved");
    const double px_per_ms = width_of(list, ROLE_FORWARD, 0) / 31.2;
    for (unsigned i = 0; i < d.n_rows; i++) {
        static const enum role roles[] = {ROLE_FORWARD, ROLE_BACKWARD, ROLE_COMM, ROLE_OPTIMIZER};
        const int64_t *phase_ns = d.rows[i].phase_ns;
        const double ms[] = {(double)phase_ns[0] / MS, (double)phase_ns[1] / MS,
                             (double)d.rows[i].partition.exposed_comm_ns / MS, (double)phase_ns[3] / MS};
        double sum = 0;
        for (unsigned k = 0; k < G_N_ELEMENTS(roles); k++) {
            /* what is exposed has a hatch over it, which is not filled */
            g_assert_cmpfloat_with_epsilon(width_of(list, roles[k], i), ms[k] * px_per_ms, 1);
            sum += width_of(list, roles[k], i);
        }
        g_assert_cmpfloat_with_epsilon(
            sum, ((double)d.rows[i].step_ns - (double)d.rows[i].partition.idle_ns) / MS * px_per_ms, 1);
    }
    for (unsigned i = 0; i < list->items->len; i++)
        if (item_at(list, i)->text)
            g_assert_cmpfloat(item_at(list, i)->size, >=, 14);
    draw_list.cancel(list);
    digest_release(&d);
}

/* Whatever a file says, the parts of a bar lie side by side and end where the step does. */
static void test_breakdown_sums(void)
{
    for (unsigned i = 0; i < 200; i++) {
        struct digest d;
        struct figure_options o = {.width = 1280, .height = 720};
        digest_begin(&d, "m", 2);
        add_row(&d, NULL, "none", false, 100, 0, 0, 0, 0, 0);
        add_row(&d, NULL, "backward", false, 1, 1, 1, 1, 1, 1);
        for (unsigned k = 0; k < PHASES; k++)
            d.rows[1].phase_ns[k] = g_test_rand_int_range(-2, 120) * (int64_t)MS;
        d.rows[1].partition.exposed_comm_ns = g_test_rand_int_range(-2, 120) * (int64_t)MS;
        d.rows[1].partition.hidden_comm_ns = g_test_rand_int_range(-2, 120) * (int64_t)MS;
        d.rows[1].step_ns = g_test_rand_int_range(1, 100) * (int64_t)MS;
        struct draw *list = draw(&figure_breakdown, &(struct figure_input){.digest = &d}, &o);
        const double whole = width_of(list, ROLE_FORWARD, 0);
        double sum = 0, end = 0;
        static const enum role roles[] = {ROLE_FORWARD, ROLE_BACKWARD, ROLE_COMM, ROLE_OPTIMIZER, ROLE_GRID};
        for (unsigned k = 0; k < G_N_ELEMENTS(roles); k++) {
            g_autoptr(GArray) all = widths(list, palette_color(palettes[0], roles[k]), 30);
            for (unsigned n = k == 0; n < all->len; n++)
                sum += g_array_index(all, double, n);
        }
        g_assert_cmpfloat_with_epsilon(sum, whole * (double)d.rows[1].step_ns / (100.0 * MS), 1);
        for (unsigned k = 0; k < list->items->len; k++)
            if (item_at(list, k)->kind == ITEM_RECT && item_at(list, k)->x1 < 1280 - 1)
                end = MAX(end, item_at(list, k)->x1);
        g_assert_cmpfloat(end, <=, 1280 - 24 + EPSILON);
        draw_list.cancel(list);
        digest_release(&d);
    }
}

/* Overlap that saves nothing is no headline. */
static void test_nothing_saved(void)
{
    struct digest d;
    struct figure_options o = {.width = 1280, .height = 720};

    digest_begin(&d, "m", 2);
    add_row(&d, NULL, "none", false, 10, 40, 0, 45, 5, 0);
    add_row(&d, NULL, "backward", false, 10, 40, 0, 45, 5, 0);
    struct draw *list = draw(&figure_breakdown, &(struct figure_input){.digest = &d}, &o);
    expect(list, "DDP, m, 2 ranks: where a step's time goes");
    draw_list.cancel(list);
    digest_release(&d);
}

/* The grounds of headings stand clear of what is above them, the legend first, and of the bar below. */
static void check_headings(const struct draw *list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < list->items->len; i++) {
        const struct item *ground = item_at(list, i);
        double above = -INFINITY, below = INFINITY;
        if (ground->kind != ITEM_RECT || ground->fill != palette_color(palettes[0], ROLE_LANE) ||
            ground->x1 - ground->x0 < list->width * 0.9)
            continue;
        for (unsigned k = 0; k < list->items->len; k++) {
            const struct item *m = item_at(list, k);
            const bool box = m->kind == ITEM_RECT && m->x1 - m->x0 < list->width / 2;
            if (box && m->y1 <= ground->y0 + EPSILON)
                above = MAX(above, m->y1);
            if (box && m->y0 >= ground->y1 - EPSILON)
                below = MIN(below, m->y0);
        }
        g_assert_cmpfloat(ground->y0 - above, >=, 10);
        g_assert_cmpfloat(below - ground->y1, >=, 9);
        n++;
    }
    g_assert_cmpuint(n, ==, 2);
}

static void test_groups(void)
{
    struct digest d;
    struct figure_options o = {.width = 1280, .height = 720, .normalise = true};

    digest_begin(&d, "two", 32);
    add_row(&d, "first", "none", true, 10, 40, 0, 45, 5, 0);
    add_row(&d, "first", "backward", false, 10, 40, 40, 5, 5, 0);
    add_row(&d, "second", "none", true, 100, 400, 0, 450, 50, 0);
    add_row(&d, "second", "backward", false, 100, 400, 200, 250, 50, 0);
    struct draw *list = draw(&figure_breakdown, &(struct figure_input){.digest = &d}, &o);
    check_figure(list);
    expect(list, "first");
    expect(list, "second");
    expect(list, "1.000");
    expect(list, "0.600, 40.0 % saved");
    expect(list, "0.800, 20.0 % saved");
    expect(list, "DDP, two, 32 ranks: overlap saves 20.0 to 40.0 %");
    g_assert_cmpfloat_with_epsilon(width_of(list, ROLE_FORWARD, 0), width_of(list, ROLE_FORWARD, 2), EPSILON);
    check_headings(list);
    draw_list.cancel(list);
    digest_release(&d);
}

/* What was measured is marked on the scale of the bars. */
static void check_marks(const struct draw *list, const struct digest *d, double px_per_mib)
{
    const uint32_t last = d->n_ranks - 1;
    const double expected_px =
        (double)(d->memory_measured[last] - d->memory_measured[0]) / 1048576 * px_per_mib;
    double middle[8];
    unsigned n = 0;
    for (unsigned i = 0; i < list->items->len && n < G_N_ELEMENTS(middle); i++)
        if (item_at(list, i)->kind == ITEM_POLYGON)
            middle[n++] = (item_at(list, i)->x0 + item_at(list, i)->x1) / 2;
    double left = list->width;
    for (unsigned i = 0; i < list->items->len; i++) {
        const struct item *item = item_at(list, i);
        if (item->kind == ITEM_RECT && item->fill == palette_color(palettes[0], ROLE_FORWARD) &&
            item->x1 - item->x0 > 50)
            left = MIN(left, item->x0);
    }
    g_assert_cmpfloat_with_epsilon(middle[n - 1] - middle[n - 2], expected_px, 1);
    g_assert_cmpfloat_with_epsilon(middle[n - 2] - left, (double)d->memory_measured[0] / 1048576 * px_per_mib,
                                   1);
}

static void test_memory(void)
{
    struct digest d;
    struct figure_options o = {.width = 1280, .height = 720};

    lecture_digest(&d);
    struct draw *list = draw(&figure_memory, &(struct figure_input){.digest = &d}, &o);
    check_figure(list);
    for (unsigned rank = 0; rank < 8; rank++) { /* a bar each */
        g_autofree char *name = g_strdup_printf("rank %u", rank);
        expect(list, name);
        g_assert_cmpfloat_with_epsilon(width_of(list, ROLE_OPTIMIZER, rank),
                                       width_of(list, ROLE_FORWARD, rank) * (rank < 4 ? 210 : 274) / 418, 1);
    }
    draw_list.cancel(list);
    o.height = 250; /* no room for eight */
    list = draw(&figure_memory, &(struct figure_input){.digest = &d}, &o);
    check_figure(list);
    expect(list, "ranks 0–3");
    expect(list, "ranks 4–7");
    expect(list, "weight 418.0 MiB");
    expect(list, "2591.0 MiB, measured 2625.0 MiB");
    const double weight = width_of(list, ROLE_FORWARD, 0);
    g_assert_cmpfloat_with_epsilon(width_of(list, ROLE_BACKWARD, 1), weight, 1);
    g_assert_cmpfloat_with_epsilon(width_of(list, ROLE_OPTIMIZER, 0), weight * 210 / 418, 1);
    g_assert_cmpfloat_with_epsilon(width_of(list, ROLE_OPTIMIZER, 1), weight * 274 / 418, 1);
    unsigned marks = 0;
    for (unsigned i = 0; i < list->items->len; i++)
        marks += item_at(list, i)->kind == ITEM_POLYGON;
    g_assert_cmpuint(marks, ==, 3); /* one in the legend */
    check_marks(list, &d, weight / 418);
    draw_list.cancel(list);
    const uint32_t n = d.n_memory;
    d.n_memory = 0;
    g_autoptr(GError) error = NULL;
    g_assert_null(
        figure_render(&figure_memory, &(struct figure_input){.digest = &d}, &o, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "says nothing of memory"));
    d.n_memory = n;
    digest_release(&d);
}

/* The line of what a device has is where its number is on the axis, and what is more is said. */
static void test_capacity(void)
{
    static const struct {
        const char *fact, *label, *said;
        double mib; /* -1: no line */
        bool over, legend;
    } cases[] = {{"3.0 GiB", NULL, "3072.0 MiB", 3072, false, true},
                 {"2.5 GiB", NULL, "2560.0 MiB", 2560, true, true},
                 {"40.0 GiB", NULL, "40960 MiB", -1, false, true},
                 {"2.5 GiB", "sharing", "2560.0 MiB", -1, false, false},
                 {"GiB", NULL, "", -1, false, false}};
    const struct figure_options o = {.width = 1280, .height = 1440};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct digest d;
        lecture_digest(&d);
        g_strfreev(d.environment);
        d.environment = g_strsplit("device memory|", "|", -1);
        g_free(d.environment[1]);
        d.environment[1] = g_strdup(cases[i].fact);
        if (cases[i].label) {
            g_strfreev(d.labels);
            d.labels = g_strsplit("sharing|2 ranks share each device", "|", -1);
        }
        struct draw *list = draw(&figure_memory, &(struct figure_input){.digest = &d}, &o);
        check_figure(list);
        g_autofree char *entry = g_strconcat("memory of a device, ", cases[i].said, NULL);
        g_assert_cmpuint(count_text(list, entry), ==, cases[i].legend);
        g_assert_cmpuint(count_text(list, "2591.0 MiB, measured 2625.0 MiB, over by 65.0 MiB"), ==,
                         cases[i].over ? 4 : 0);
        const double px_per_mib = width_of(list, ROLE_FORWARD, 0) / 418;
        const double x0 = find_bar(list, palette_color(palettes[0], ROLE_FORWARD))->x0;
        unsigned lines = 0;
        for (unsigned k = 0; k < list->items->len; k++) {
            const struct item *m = item_at(list, k);
            lines += m->kind == ITEM_LINE && cases[i].mib > 0 &&
                     fabs((m->x0 + m->x1) / 2 - x0 - cases[i].mib * px_per_mib) < 1 &&
                     m->fill == palette_color(palettes[0], ROLE_INK);
        }
        g_assert_cmpuint(lines, ==, cases[i].mib > 0 ? 8 : 0);
        draw_list.cancel(list);
        digest_release(&d);
    }
}

/* Title, legend, bars and axis speak in one unit, whatever is small or beyond the axis; not the small texts
 * below bars. */
static void test_unit(void)
{
    static const char *const units[] = {" KiB", " MiB", " GiB"};
    static const struct {
        unsigned times; /* as much */
        const char *unit, *capacity;
    } cases[] = {
        {1, " MiB", "40.0 GiB"}, {8, " GiB", "80.0 GiB"}, {8, " GiB", "24.0 GiB"}, {8, " GiB", "9000.0 MiB"}};
    const struct figure_options o = {.width = 1280, .height = 1440};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct digest d;
        unsigned said = 0;
        lecture_digest(&d);
        for (uint32_t k = 0; k < d.n_ranks * d.n_memory; k++)
            d.memory_bytes[k] *= k < d.n_memory ? 1 : cases[i].times; /* but for rank 0 */
        g_clear_pointer(&d.memory_measured, g_free);
        g_strfreev(d.environment);
        d.environment = g_strsplit("device memory|x", "|", -1);
        g_free(d.environment[1]);
        d.environment[1] = g_strdup(cases[i].capacity);
        struct draw *list = draw(&figure_memory, &(struct figure_input){.digest = &d}, &o);
        for (unsigned k = 0; k < list->items->len; k++) {
            const struct item *m = item_at(list, k);
            for (unsigned u = 0; m->text && m->size > 15 && u < G_N_ELEMENTS(units); u++) {
                if (!strstr(m->text, units[u]))
                    continue;
                if (strcmp(units[u], cases[i].unit))
                    g_error("'%s' is not in%s", m->text, cases[i].unit);
                said++;
            }
        }
        g_assert_cmpuint(said, >, 9);
        draw_list.cancel(list);
        digest_release(&d);
    }
}

/* Points lie as high as their times, and where their values are. */
static void test_sweep(void)
{
    struct series s;
    struct figure_options o = {.width = 1280, .height = 720};
    GArray *points = g_array_new(FALSE, FALSE, sizeof(struct item));

    buckets_series(&s);
    struct draw *list = draw(&figure_sweep, &(struct figure_input){.series = &s}, &o);
    check_figure(list);
    expect(list, "shortest: bucket-mb 25, 98.7 ms");
    expect(list, "bucket-mb (logarithmic, 0 set apart)");
    expect(list, "400");
    for (unsigned i = 0; i < list->items->len; i++) {
        const struct item *m = item_at(list, i);
        if (m->kind == ITEM_RECT && m->fill == palette_color(palettes[0], ROLE_FORWARD) && m->x1 - m->x0 < 10)
            g_array_append_val(points, *m);
    }
    g_assert_cmpuint(points->len, ==, 8);
    /* two points fix each axis, the others must lie on it */
    const struct item *p = (const struct item *)(void *)points->data;
    const double per_ms = (p[0].y0 - p[4].y0) / (131.2 - 98.7), per_log = (p[6].x0 - p[1].x0) / log(100);
    g_assert_cmpfloat(per_ms, <, 0);
    for (unsigned i = 0; i < points->len; i++) {
        g_assert_cmpfloat_with_epsilon(p[i].y0 - p[0].y0, per_ms * ((double)s.points[i].step_ns / MS - 131.2),
                                       1);
        if (i)
            g_assert_cmpfloat_with_epsilon(p[i].x0 - p[1].x0,
                                           per_log * log(g_ascii_strtod(s.points[i].values[0], NULL)), 1);
        else
            g_assert_cmpfloat(p[0].x0, <, p[1].x0 - 20);
    }
    g_array_unref(points);
    draw_list.cancel(list);
    series_release(&s);
}

/* A linear axis of the option says where it does not begin at 0; one that does, or is logarithmic, has no
 * need. */
static void test_sweep_from(void)
{
    static const struct {
        const char *values[3], *title;
    } cases[] = {{{"2", "4", "8"}, "ranks; axis does not begin at 0"},
                 {{"0", "4", "8"}, "ranks"},
                 {{"1", "8", "64"}, "ranks (logarithmic)"},
                 {{"8", "8", "8"}, "ranks"}};
    const struct figure_options o = {.width = 1280, .height = 720};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct series s;
        series_begin(&s, "bert-base, ddp, a100x4", "ranks");
        for (unsigned k = 0; k < 3; k++)
            add_point(&s, cases[i].values[k], false, (100 + (int64_t)k) * MS, MS);
        series_find_best(&s);
        struct draw *list = draw(&figure_sweep, &(struct figure_input){.series = &s}, &o);
        check_figure(list);
        expect(list, cases[i].title);
        draw_list.cancel(list);
        series_release(&s);
    }
}

/* Times that are close together are spread, on an axis that says that it does not begin at 0, without areas.
 */
static void test_sweep_close(void)
{
    for (unsigned close = 0; close < 2; close++) {
        struct series s;
        const struct figure_options o = {.width = 1280, .height = 720};
        double top = INFINITY, bottom = 0;
        unsigned areas = 0;
        buckets_series(&s);
        for (uint32_t i = 0; i < s.n_points && close; i++) {
            s.points[i].step_ns = (100 + (int64_t)i) * MS;
            s.points[i].predicted_ns = -1;
        }
        s.best = close ? 0 : s.best;
        struct draw *list = draw(&figure_sweep, &(struct figure_input){.series = &s}, &o);
        check_figure(list);
        g_assert_cmpuint(count_text(list, "time of a step, ms; axis does not begin at 0"), ==, close);
        g_assert_cmpuint(count_text(list, "0"), ==, 2 - close); /* a value of the option, and of the axis */
        for (unsigned i = 0; i < list->items->len; i++) {
            const struct item *m = item_at(list, i);
            const bool point = m->kind == ITEM_RECT && m->fill == palette_color(palettes[0], ROLE_FORWARD) &&
                               m->x1 - m->x0 < 10;
            top = point ? MIN(top, m->y0) : top;
            bottom = point ? MAX(bottom, m->y0) : bottom;
            areas += m->kind == ITEM_POLYGON && m->x1 - m->x0 > 100;
        }
        g_assert_cmpuint(areas, ==, 1 - close);
        g_assert_true(!close || bottom - top > 250);
        draw_list.cancel(list);
        series_release(&s);
    }
}

static void test_sweep_two(void)
{
    struct series s;
    struct figure_options o = {.width = 1280, .height = 720};

    ranks_series(&s);
    struct draw *list = draw(&figure_sweep, &(struct figure_input){.series = &s}, &o);
    check_figure(list);
    expect(list, "none");
    expect(list, "backward");
    expect(list, "optimizer");
    expect(list, "64");
    draw_list.cancel(list);
    draw_everywhere(&figure_sweep, &(struct figure_input){.series = &s}, NULL);
    series_release(&s);
}

static void test_sweep_words(void)
{
    struct series s;
    struct figure_options o = {.width = 1280, .height = 720};

    words_series(&s);
    struct draw *list = draw(&figure_sweep, &(struct figure_input){.series = &s}, &o);
    check_figure(list);
    expect(list, "ring, backward");
    expect(list, "107.0 ms, shortest");
    expect(list, "131.0 ms, measured");
    expect(list, "the cluster has no such links");
    const double ring = width_of(list, ROLE_FORWARD, 0), exposed = width_of(list, ROLE_COMM, 0);
    g_assert_cmpfloat_with_epsilon(exposed / ring, 60.0 / 101, 0.01);
    draw_list.cancel(list);
    draw_everywhere(&figure_sweep, &(struct figure_input){.series = &s}, NULL);
    series_release(&s);
}

/* ---- anything */

static int64_t pick(int64_t low, int64_t high) /* log-uniform, 0 now and then */
{
    return g_test_rand_int_range(0, 8)
               ? (int64_t)((double)low * pow((double)high / (double)low, g_test_rand_double()))
               : 0;
}

static const char *any_name(void)
{
    static char latin[501], hangul[1501];
    static const char *const names[] = {"backward", "none", "", "\xff\x01\n\xc3", "x", "a name of some words",
                                        latin,      hangul};

    if (!*latin) {
        memset(latin, 'x', 500);
        for (unsigned i = 0; i < 500; i++)
            strcat(hangul, "순");
    }
    return names[g_test_rand_int_range(0, G_N_ELEMENTS(names))];
}

static void any_digest(struct digest *d)
{
    digest_begin(d, any_name(), (uint32_t)g_test_rand_int_range(1, g_test_rand_bit() ? 4 : 80));
    d->simulated = g_test_rand_bit();
    const char *group = g_test_rand_bit() ? any_name() : NULL;
    for (unsigned n = (unsigned)g_test_rand_int_range(1, g_test_rand_bit() ? 5 : 40); n-- > 0;) {
        group = g_test_rand_int_range(0, 3) ? group : any_name();
        add_row(d, group, any_name(), g_test_rand_bit(), 1, 1, 1, 1, 1, 1);
        struct digest_row *r = &d->rows[d->n_rows - 1];
        const int64_t most = g_test_rand_bit() ? 1000 * (int64_t)MS : INT64_MAX / 2;
        for (unsigned k = 0; k < PHASES; k++)
            r->phase_ns[k] = pick(1, most) - 1;
        r->partition.hidden_comm_ns = pick(1, most);
        r->partition.exposed_comm_ns = pick(1, most);
        r->partition.window_ns = pick(1, most);
        r->step_ns = pick(1, most);
        r->predicted_step_ns = pick(1, most) - 1;
    }
    d->rows[0].step_ns = MAX(1, d->rows[0].step_ns);
    const char *const names[] = {any_name(), any_name(), any_name(), any_name(), any_name(),
                                 any_name(), any_name(), any_name(), any_name(), any_name()};
    add_memory(d, (uint32_t)g_test_rand_int_range(1, 11), names);
    for (size_t i = 0; i < (size_t)d->n_memory * d->n_ranks; i++)
        d->memory_bytes[i] = g_test_rand_int_range(0, 9) ? (uint64_t)pick(1, 1000000000) : UINT64_MAX;
    d->memory_bytes[0]++;
    if (g_test_rand_bit()) {
        d->memory_measured = g_new(uint64_t, d->n_ranks);
        for (uint32_t r = 0; r < d->n_ranks; r++)
            d->memory_measured[r] = g_test_rand_int_range(0, 9) ? (uint64_t)pick(1, 1000000000) : UINT64_MAX;
    }
    if (!d->memory_bytes[0])
        d->memory_bytes[0] = 1;
}

static void test_any_digest(void)
{
    for (unsigned i = 0; i < 40; i++) {
        struct digest d;
        any_digest(&d);
        const struct figure_input in = {.digest = &d};
        draw_everywhere(&figure_breakdown, &in, any_name());
        draw_everywhere(&figure_memory, &in, any_name());
        digest_release(&d);
    }
}

static const char *any_value(unsigned kind)
{
    static char text[40];
    double x = kind == 0   ? g_test_rand_int_range(0, 5)
               : kind == 1 ? pow(10, g_test_rand_double() * 200 - 100)
                           : -g_test_rand_double();

    return kind == 3 ? any_name() : g_ascii_formatd(text, sizeof text, "%.6g", x);
}

static void any_series(struct series *s, uint32_t n)
{
    static const char *const axes[] = {"bucket-mb", "overlap", "x"};
    unsigned kinds[3];

    *s = (struct series){.title = g_test_rand_bit() ? g_strdup(any_name()) : NULL, .axes = g_new0(char *, 4)};
    s->n_axes = (uint32_t)g_test_rand_int_range(1, 4);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        s->axes[i] = g_strdup(g_test_rand_int_range(0, 4) ? axes[i] : any_name());
        kinds[i] = (unsigned)g_test_rand_int_range(0, 4);
    }
    s->n_points = n;
    s->points = g_new0(struct series_point, n);
    const int64_t most = g_test_rand_bit() ? 100 * (int64_t)MS : INT64_MAX / 2;
    for (uint32_t i = 0; i < n; i++) {
        struct series_point *p = &s->points[i];
        *p = (struct series_point){
            .measured = g_test_rand_bit(), .step_ns = pick(1, most), .exposed_ns = pick(1, most)};
        p->predicted_ns = pick(1, most) - 1;
        p->values = g_new0(char *, s->n_axes + 1);
        for (uint32_t a = 0; a < s->n_axes; a++)
            p->values[a] = g_strdup(any_value(kinds[a]));
        p->why_not = i && !g_test_rand_int_range(0, 5) ? g_strdup(any_name()) : NULL;
    }
    series_find_best(s);
}

static void test_any_series(void)
{
    for (unsigned i = 0; i < 80; i++) {
        struct series s;
        any_series(&s, i == 7 ? 1000 : (uint32_t)g_test_rand_int_range(1, i % 3 ? 12 : 60));
        draw_everywhere(&figure_sweep, &(struct figure_input){.series = &s}, any_name());
        series_release(&s);
    }
}

/* What is not there is refused with a reason. */
static void test_lacking(void)
{
    struct figure_options o = {.width = 1280, .height = 720};
    struct digest d;
    struct series s;

    digest_begin(&d, "m", 1);
    series_begin(&s, NULL, "x");
    series_find_best(&s);
    const struct {
        const struct figure *figure;
        struct figure_input in;
        const char *why;
    } cases[] = {
        {&figure_timeline, {.digest = &d}, "figure timeline needs a trace; a report has no spans"},
        {&figure_timeline, {.series = &s}, "figure timeline needs a trace; a sweep has none"},
        {&figure_breakdown, {.series = &s}, "figure breakdown needs a run or a report"},
        {&figure_breakdown, {.digest = &d}, "no step of the report takes time"},
        {&figure_memory, {.series = &s}, "figure memory needs a run or a report"},
        {&figure_memory, {.digest = &d}, "says nothing of memory"},
        {&figure_sweep, {.digest = &d}, "figure sweep needs a sweep"},
        {&figure_sweep, {.series = &s}, "no point of the sweep has numbers"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(figure_render(cases[i].figure, &cases[i].in, &o, &draw_list, &error));
        if (!strstr(error->message, cases[i].why))
            g_error("'%s' does not say '%s'", error->message, cases[i].why);
    }
    series_release(&s);
    digest_release(&d);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/figures/breakdown", test_breakdown);
    g_test_add_func("/figures/breakdown/sums", test_breakdown_sums);
    g_test_add_func("/figures/breakdown/nothing-saved", test_nothing_saved);
    g_test_add_func("/figures/breakdown/groups", test_groups);
    g_test_add_func("/figures/memory", test_memory);
    g_test_add_func("/figures/memory/capacity", test_capacity);
    g_test_add_func("/figures/memory/unit", test_unit);
    g_test_add_func("/figures/sweep", test_sweep);
    g_test_add_func("/figures/sweep/close", test_sweep_close);
    g_test_add_func("/figures/sweep/from", test_sweep_from);
    g_test_add_func("/figures/sweep/two-options", test_sweep_two);
    g_test_add_func("/figures/sweep/words", test_sweep_words);
    g_test_add_func("/figures/lacking", test_lacking);
    g_test_add_func("/figures/any-report", test_any_digest);
    g_test_add_func("/figures/any-sweep", test_any_series);
    return g_test_run();
}
