/* What is too thin to be drawn: the areas of a timeline are the times of the trace, counted from its ops
 * alone. */
#include <math.h>

#include "tests/check-drawn.h"
#include "profile/interval.h"
#include "tests/draw-list.h"
#include "tests/pipe-trace.h"
#include "tests/tap.h"
#include "viz/figure.h"

enum { RANKS = 4, CLOSE = 3 /* per cent of the step */ };

/* What is painted on a track in that colour, or hatched, of as much as the track would hold. */
static double painted(const struct draw *d, const struct item *track, int64_t color)
{
    double area = 0;

    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        const bool is = color < 0 ? m->hatched : m->fill == color && !m->hatched;
        if (m->kind == ITEM_RECT && is && contains(track, m->x0, m->y0) && contains(track, m->x1, m->y1))
            area += (m->x1 - m->x0) * (m->y1 - m->y0);
    }
    return area / ((track->x1 - track->x0) * (track->y1 - track->y0));
}

/* Of a rank, in ns: ops of a kind; transfers, from when both ends are there, together. */
static int64_t count_ops(const struct trace *t, uint32_t rank, unsigned kind)
{
    int64_t ns = 0;

    for (size_t i = 0; i < t->n_ops; i++)
        if (t->t.lanes[t->ops[i].lane].rank == rank && t->ops[i].tag.kind == kind)
            ns += t->ops[i].end_ns - t->ops[i].start_ns;
    return ns;
}

static int by_start(gconstpointer a, gconstpointer b)
{
    const struct interval *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int64_t count_transfers(const struct trace *t, uint32_t rank)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct interval));
    g_autofree int64_t *together = g_new0(int64_t, t->n_ops);
    int64_t ns = 0, end = 0;

    for (size_t i = 0; i < t->n_ops; i++)
        if (t->ops[i].tag.gang != OP_NONE)
            together[t->ops[i].tag.gang] = MAX(together[t->ops[i].tag.gang], t->ops[i].start_ns);
    for (size_t i = 0; i < t->n_ops; i++) {
        const struct trace_op *op = &t->ops[i];
        if (t->t.lanes[op->lane].rank != rank || t->t.lanes[op->lane].cls != LANE_COMM)
            continue;
        const struct interval v = {together[op->tag.gang], op->end_ns};
        g_array_append_val(all, v);
    }
    g_array_sort(all, by_start);
    for (unsigned i = 0; i < all->len; i++) {
        const struct interval v = g_array_index(all, struct interval, i);
        ns += MAX(0, v.end_ns - MAX(v.start_ns, end));
        end = MAX(end, v.end_ns);
    }
    return ns;
}

static int64_t end_of(const struct trace *t, uint32_t rank)
{
    int64_t end = 0;

    for (size_t i = 0; i < t->n_ops; i++)
        end = t->t.lanes[t->ops[i].lane].rank == rank ? MAX(end, t->ops[i].end_ns) : end;
    return end;
}

static void expect(const char *what, uint32_t rank, double drawn, double ns, double of_ns)
{
    if (fabs(drawn - ns / of_ns) > CLOSE / 100.0)
        g_error("%s of rank %u: %.1f %% are drawn and %.1f %% are so", what, rank, 100 * drawn,
                100 * ns / of_ns);
}

static void check_lanes(const struct draw *d, const struct trace *t, const struct analysis *a)
{
    const struct palette *p = palettes[0];
    const struct item *tracks[2 * RANKS];
    unsigned n = 0;

    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->kind == ITEM_RECT && item_at(d, i)->fill == palette_color(p, ROLE_LANE) &&
            item_at(d, i)->x1 - item_at(d, i)->x0 > 100) {
            g_assert_cmpuint(n, <, 2 * RANKS);
            tracks[n++] = item_at(d, i);
        }
    g_assert_cmpuint(n, ==, 2 * RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        const double ns = (double)end_of(t, r);
        expect("forward", r, painted(d, tracks[2 * r], palette_color(p, ROLE_FORWARD)),
               (double)count_ops(t, r, OP_FWD), ns);
        expect("backward", r, painted(d, tracks[2 * r], palette_color(p, ROLE_BACKWARD)),
               (double)count_ops(t, r, OP_BWD), ns);
        expect("communication", r, painted(d, tracks[2 * r + 1], palette_color(p, ROLE_COMM)),
               (double)count_transfers(t, r), ns);
        expect("exposed", r, painted(d, tracks[2 * r + 1], -1), (double)a->partition[r].exposed_comm_ns, ns);
    }
}

static void test_areas(void)
{
    static const char *const costs[] = {"F=1,B=1,W=1,C=0.7", "F=0.02,B=0.02,W=0.02,C=1", "F=1,B=2,W=1,C=0.01",
                                        "F=1,B=1,W=1,C=9"};
    static const uint32_t chunks[] = {900, 1500};

    for (unsigned i = 0; i < tap_cases(G_N_ELEMENTS(costs) * G_N_ELEMENTS(chunks)); i++) {
        const struct pipe_case c = {i % 2 ? "1f1b" : "gpipe",
                                    costs[i % G_N_ELEMENTS(costs)],
                                    RANKS,
                                    1,
                                    chunks[i / G_N_ELEMENTS(costs)],
                                    1,
                                    0};
        const struct figure_options o = {1280, 720, NULL};
        struct trace trace;
        struct analysis a;
        pipe_simulate(&c, &trace);
        g_assert_true(analyze(&trace, &a, NULL));
        const struct figure_input in = {.trace = &trace, .analysis = &a};
        struct draw *d = draw_list.begin(&(struct canvas){.width = 1280, .height = 720, .title = "t"}, NULL);
        g_assert_true(figure_draw(&figure_timeline, &in, &o, &draw_list, d, NULL));
        check_figure(d);
        check_lanes(d, &trace, &a);
        g_assert_cmpuint(count_text(d, "height: share of the time"), ==, 1);
        draw_list.cancel(d);
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* A box of the compute lanes that is lower than its lane. */
static bool has_share(const struct draw *d)
{
    const struct item *track = NULL;

    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (m->kind != ITEM_RECT || m->fill < 0)
            continue;
        if (m->fill == palette_color(palettes[0], ROLE_LANE) && m->x1 - m->x0 > 100)
            track = m;
        else if (track && contains(track, m->x0, m->y0) && m->y1 - m->y0 < 0.9 * (track->y1 - track->y0) &&
                 m->fill == palette_color(palettes[0], ROLE_FORWARD))
            return true;
    }
    return false;
}

/* The legend explains heights where there are such, also where the width of a cell is about that from which
 * on it is drawn. */
static void test_legend(void)
{
    unsigned with = 0, n = 0;

    for (uint32_t chunks = 400; chunks < 520; chunks += 8, n++) {
        const struct figure_options o = {1280, 720, NULL};
        struct trace trace;
        struct analysis a;
        pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", RANKS, 1, chunks, 1, 0}, &trace);
        g_assert_true(analyze(&trace, &a, NULL));
        const struct figure_input in = {.trace = &trace, .analysis = &a};
        struct draw *d = draw_list.begin(&(struct canvas){.width = 1280, .height = 720, .title = "t"}, NULL);
        g_assert_true(figure_draw(&figure_timeline, &in, &o, &draw_list, d, NULL));
        const bool share = has_share(d);
        g_assert_cmpuint(count_text(d, "height: share of the time"), ==, share);
        with += share;
        draw_list.cancel(d);
        analysis_release(&a);
        trace_release(&trace);
    }
    g_assert_cmpuint(with, >, 0);
    g_assert_cmpuint(with, <, n);
}

/* Shares that look alike and touch overlap, as between two edges within a pixel the ground would show. */
static void test_seams(void)
{
    const struct figure_options o = {1280, 720, NULL};
    const int64_t color = palette_color(palettes[0], ROLE_FORWARD);
    unsigned overlaps = 0;
    struct trace trace;
    struct analysis a;

    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", RANKS, 1, 1500, 1, 0}, &trace);
    g_assert_true(analyze(&trace, &a, NULL));
    const struct figure_input in = {.trace = &trace, .analysis = &a};
    struct draw *d = draw_list.begin(&(struct canvas){.width = 1280, .height = 720, .title = "t"}, NULL);
    g_assert_true(figure_draw(&figure_timeline, &in, &o, &draw_list, d, NULL));
    for (unsigned i = 0; i < d->items->len; i++)
        for (unsigned k = 0; k < d->items->len; k++) {
            const struct item *m = item_at(d, i), *next = item_at(d, k);
            if (m->kind != ITEM_RECT || next->kind != ITEM_RECT || m->fill != color || next->fill != color ||
                fabs(m->y0 - next->y0) > 1 || fabs(m->y1 - next->y1) > 1 || m->x0 >= next->x0)
                continue;
            g_assert_false(fabs(m->x1 - next->x0) < 0.1);
            overlaps += m->x1 > next->x0;
        }
    g_assert_cmpuint(overlaps, >, 0);
    draw_list.cancel(d);
    analysis_release(&a);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/dense/areas", test_areas);
    g_test_add_func("/dense/legend", test_legend);
    g_test_add_func("/dense/seams", test_seams);
    return g_test_run();
}
