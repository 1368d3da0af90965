/* Figures as lists of what is drawn: nothing outside, nothing over a text, every text readable, numbers of
 * the analysis. */
#include <math.h>
#include <string.h>

#include "tests/check-drawn.h"
#include "tests/draw-list.h"
#include "tests/pipe-trace.h"
#include "tests/scene.h"
#include "tests/small-trace.h"
#include "tests/tap.h"
#include "viz/figure.h"
#include "viz/palette.h"
#include "viz/rows.h"

enum { OTHERS = 3 };

/* A trace and the same with other overlaps; the first of them without. */
struct fixture {
    struct trace trace, apart[OTHERS];
    struct analysis analysis, apart_analysis[OTHERS];
    struct variant others[OTHERS];
    struct figure_input in;
};

static void fixture_make(struct fixture *f, const struct scene_spec *spec, uint32_t n_others)
{
    static const char *const names[OTHERS] = {"none", "backward", "optimizer"};
    struct scene_spec apart = *spec;

    scene_make(spec, &f->trace);
    g_assert_true(analyze(&f->trace, &f->analysis, NULL));
    for (uint32_t i = 0; i < OTHERS; i++) {
        apart.overlap = i > 0;
        apart.simulated = i == 0;
        apart.bucket_ns = spec->bucket_ns / (i + 1) + 1;
        scene_make(&apart, &f->apart[i]);
        g_assert_true(analyze(&f->apart[i], &f->apart_analysis[i], NULL));
        f->others[i] = (struct variant){names[i], &f->apart[i], &f->apart_analysis[i], NULL};
    }
    f->in = (struct figure_input){.trace = &f->trace,
                                  .analysis = &f->analysis,
                                  .name = "backward",
                                  .others = f->others,
                                  .n_others = n_others};
}

static void fixture_release(struct fixture *f)
{
    trace_release(&f->trace);
    analysis_release(&f->analysis);
    for (uint32_t i = 0; i < OTHERS; i++) {
        trace_release(&f->apart[i]);
        analysis_release(&f->apart_analysis[i]);
    }
}

static struct draw *draw(const struct fixture *f, const struct figure_options *o)
{
    g_autoptr(GError) error = NULL;
    struct draw *d =
        draw_list.begin(&(struct canvas){.width = o->width, .height = o->height, .title = "t"}, NULL);

    bool ok = figure_draw(&figure_timeline, &f->in, o, &draw_list, d, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    return d;
}

static const double canvases[][2] = {{1280, 720}, {1920, 1080}, {960, 540}, {640, 360},  {320, 180},
                                     {3000, 300}, {400, 1600},  {320, 400}, {1280, 2400}};

static void draw_everywhere(const struct fixture *f, const char *caption)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(canvases); i++) {
        struct figure_options o = {canvases[i][0], canvases[i][1], caption};
        struct draw *d = draw(f, &o);
        check_figure(d);
        draw_list.cancel(d);
    }
}

static void test_random(void)
{
    for (unsigned i = 0; i < 30; i++) {
        const struct scene_spec s = scene_random();
        struct fixture f;
        fixture_make(&f, &s, (uint32_t)g_test_rand_int_range(0, OTHERS + 1));
        draw_everywhere(&f, g_test_rand_bit() ? "made for a test" : NULL);
        fixture_release(&f);
    }
}

/* Names of 500 letters in two scripts, many ranks, many buckets. */
static void test_extremes(void)
{
    g_autofree char *latin = g_strnfill(500, 'x');
    g_autoptr(GString) hangul = g_string_new(NULL);
    struct fixture f;

    for (unsigned i = 0; i < 500; i++)
        g_string_append(hangul, i % 7 ? "순" : " 전파");
    struct scene_spec s = scene_bert();
    s.mode = s.model = s.block = latin;
    fixture_make(&f, &s, OTHERS);
    draw_everywhere(&f, latin);
    fixture_release(&f);
    s.mode = s.model = s.block = hangul->str;
    s.layers = 1;
    fixture_make(&f, &s, OTHERS);
    draw_everywhere(&f, hangul->str);
    fixture_release(&f);
    s = scene_bert();
    s.mode = s.model = "\xff\x01\n\xc3";
    s.ranks = 64;
    s.buckets = 200;
    s.hops = 2;
    s.bucket_ns = 900000;
    s.skew = 0.2;
    fixture_make(&f, &s, OTHERS);
    f.trace.t.layers[3].block = "\xff\x01\n\xc3";
    draw_everywhere(&f, "\xff\x01\n\xc3");
    fixture_release(&f);
}

/* Tags that name nothing: layers, buckets and gangs out of range. */
static void test_strange_tags(void)
{
    struct scene_spec s = scene_bert();
    struct fixture f;

    fixture_make(&f, &s, OTHERS);
    for (size_t i = 0; i < f.trace.n_ops; i++) {
        struct op_tag *tag = &f.trace.ops[i].tag;
        tag->layer0 = (uint16_t)g_test_rand_int();
        tag->layer1 = (uint16_t)g_test_rand_int();
        tag->bucket = tag->gang = tag->coll = (uint32_t)g_test_rand_int();
        f.trace.ops[i].ready_ns = g_test_rand_int();
    }
    draw_everywhere(&f, NULL);
    fixture_release(&f);
}

static void test_one_op(void)
{
    static const int64_t spans[] = {1, 2, 999, 36000000000000};

    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++) {
        struct fixture f = {0};
        struct lane lane = {"compute", 0, 0, OP_NONE, LANE_COMPUTE};
        struct tables t = {.n_ranks = 1, .n_lanes = 1, .lanes = &lane};
        struct trace_op op = {.tag = {.kind = OP_FWD, .layer0 = LAYER_NONE, .layer1 = LAYER_NONE},
                              .end_ns = spans[i]};
        trace_init(&f.trace);
        trace_adopt(&f.trace, &t, 0, NULL);
        f.trace.n_steps = 1;
        trace_add_op(&f.trace, &op);
        trace_finish(&f.trace);
        g_assert_true(analyze(&f.trace, &f.analysis, NULL));
        f.in = (struct figure_input){.trace = &f.trace, .analysis = &f.analysis};
        draw_everywhere(&f, NULL);
        trace_release(&f.trace);
        analysis_release(&f.analysis);
    }
}

static void test_refusals(void)
{
    static const double wrong[][2] = {{100, 720}, {1280, 100}, {1e6, 720}, {NAN, 720}};
    struct scene_spec s = scene_bert();
    struct fixture f;
    GError *error = NULL;

    fixture_make(&f, &s, OTHERS);
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        struct figure_options o = {wrong[i][0], wrong[i][1], NULL};
        g_assert_null(figure_render(&figure_timeline, &f.in, &o, &draw_list, &error));
        g_assert_nonnull(strstr(error->message, "320 x 180"));
        g_clear_error(&error);
    }
    struct figure_options o = {1280, 720, NULL};
    f.analysis.n_steps = 0;
    g_assert_null(figure_render(&figure_timeline, &f.in, &o, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "no complete step"));
    g_clear_error(&error);
    f.analysis.n_steps = 1;
    for (size_t i = 0; i < f.trace.n_ops; i++)
        f.trace.ops[i].start_ns = f.trace.ops[i].end_ns;
    for (size_t i = 0; i < f.trace.n_ops; i++)
        f.trace.ops[i].start_ns = f.trace.ops[i].end_ns = 0;
    g_assert_null(figure_render(&figure_timeline, &f.in, &o, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "nothing takes time"));
    g_clear_error(&error);
    fixture_release(&f);
    g_assert_true(figure_find("timeline") == &figure_timeline);
    g_assert_null(figure_find("time"));
}

/* The numbers written are the analysis's, and the hatched area is as long as they say. */
static void test_exposed(void)
{
    for (unsigned i = 0; i < 10; i++) {
        struct scene_spec s = scene_bert();
        struct fixture f;
        struct figure_options o = {1280, 720, NULL};
        double hatched = 0, expected = 0, legend = 13, x0 = INFINITY, x1 = 0;
        s.ranks = 3;
        s.skew = g_test_rand_double() / 4;
        s.jitter = g_test_rand_double();
        s.bucket_ns = scene_pick(2000000, 60000000);
        s.seed = i;
        fixture_make(&f, &s, 0);
        struct draw *d = draw(&f, &o);
        for (uint32_t r = 0; r < s.ranks; r++) {
            char number[32];
            const struct partition *p = &f.analysis.partition[f.analysis.median_step * s.ranks + r];
            g_autofree char *text =
                g_strdup_printf("%s exposed", format_duration(p->exposed_comm_ns, number));
            g_assert_cmpuint(count_text(d, text), >=, 1);
            expected += (double)p->exposed_comm_ns;
        }
        for (unsigned k = 0; k < d->items->len; k++) {
            const struct item *m = item_at(d, k);
            hatched += m->hatched ? m->x1 - m->x0 : 0;
            if (m->kind == ITEM_RECT && m->fill == palette_color(palettes[0], ROLE_LANE)) {
                x0 = MIN(x0, m->x0);
                x1 = MAX(x1, m->x1);
            }
        }
        expected *= (x1 - x0) / (double)f.analysis.step_ns[f.analysis.median_step];
        g_assert_cmpfloat(fabs(hatched - legend - expected), <, 3.0 * s.ranks);
        draw_list.cancel(d);
        fixture_release(&f);
    }
}

/* What is hatched before pixels round it is the analysis's exposed time, rank by rank. */
static void test_rows(void)
{
    for (unsigned i = 0; i < 20; i++) {
        struct scene_spec s = scene_bert();
        struct fixture f;
        const uint32_t ranks[] = {0, 1, 2, 3};
        struct step_rows rows;
        s.steps = 3;
        s.skew = g_test_rand_double();
        s.jitter = g_test_rand_double();
        s.bucket_ns = scene_pick(1000000, 90000000);
        s.seed = i;
        fixture_make(&f, &s, 0);
        const uint32_t step = f.analysis.median_step;
        g_assert_true(rows_collect(&rows, &f.trace, step, 4, ranks));
        for (uint32_t r = 0; r < 4; r++) {
            const struct row *row = &rows.rows[r];
            const struct partition *p = &f.analysis.partition[step * 4 + r];
            g_assert_cmpint(intervals_length(&row->exposed), ==, p->exposed_comm_ns);
            g_assert_cmpuint(row->comm->len, ==, s.buckets);
            int64_t all = 0;
            for (unsigned k = 0; k < row->comm->len; k++) {
                const struct cell *c = &g_array_index(row->comm, struct cell, k);
                const struct ready_mark *m = &g_array_index(row->marks, struct ready_mark, k);
                g_assert_cmpuint(c->first, ==, k);
                g_assert_cmpint(m->start_ns, ==, c->start_ns);
                g_assert_cmpint(m->ready_ns, <=, m->start_ns);
                all += c->end_ns - c->start_ns;
            }
            g_assert_cmpint(all - intervals_length(&row->gaps), ==, p->comm_ns);
        }
        rows_release(&rows);
        fixture_release(&f);
    }
}

/* Likewise of pipelines, whose waiting for messages is neither. */
static void test_pipeline_rows(void)
{
    static const char *const names[] = {"1f1b", "gpipe", "interleaved", "zbv"};
    const uint32_t ranks[] = {0, 1, 2, 3};
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        struct trace trace;
        struct analysis a;
        struct step_rows rows;
        const uint32_t per_rank = i < 2 ? 1 : 2;
        pipe_simulate(&(struct pipe_case){names[i], "F=1,B=1.2,W=0.9,C=0.3", 4, per_rank, 8, 1, 0}, &trace);
        g_assert_true(analyze(&trace, &a, NULL));
        g_assert_true(rows_collect(&rows, &trace, 0, 4, ranks));
        for (uint32_t r = 0; r < 4; r++)
            g_assert_cmpint(intervals_length(&rows.rows[r].exposed), ==, a.partition[r].exposed_comm_ns);
        rows_release(&rows);
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* Between the hops of one collective nothing is on the lane. */
static void test_gaps(void)
{
    struct trace trace;
    struct step_rows rows;
    const uint32_t rank = 0, lane = small_lane(0, LANE_COMM, 0);
    const int64_t starts_ns[] = {10, 50}, ends_ns[] = {40, 60};
    small_init(&trace, 1, 1);
    trace.n_steps = 1;
    for (unsigned i = 0; i < 2; i++) {
        struct trace_op op = small_op(OP_EXCHANGE, lane, 0, starts_ns[i], ends_ns[i]);
        op.tag.bucket = op.tag.coll = 0;
        trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    g_assert_true(rows_collect(&rows, &trace, 0, 1, &rank));
    g_assert_cmpuint(rows.rows[0].comm->len, ==, 1);
    g_assert_cmpuint(rows.rows[0].gaps.n, ==, 1);
    g_assert_cmpint(intervals_length(&rows.rows[0].gaps), ==, 10);
    rows_release(&rows);
    trace_release(&trace);
}

static void test_same_bytes(void)
{
    struct scene_spec s = scene_bert();
    struct figure_options o = {1280, 720, "twice"};
    struct fixture f, g;

    s.jitter = 0.3;
    fixture_make(&f, &s, OTHERS);
    fixture_make(&g, &s, OTHERS);
    g_autoptr(GBytes) a = figure_render(&figure_timeline, &f.in, &o, &draw_list, NULL);
    g_autoptr(GBytes) b = figure_render(&figure_timeline, &g.in, &o, &draw_list, NULL);
    g_assert_true(g_bytes_equal(a, b));
    fixture_release(&f);
    fixture_release(&g);
}

/* Ops in kernels, each launched by the rank's host. */
static void as_kernels(struct trace *trace)
{
    struct trace_span *old = trace->spans;
    const size_t n = trace->n_spans;
    struct lane host = {"launches", 0, 0, OP_NONE, LANE_HOST, 0};
    uint32_t *hosts = g_new(uint32_t, trace->t.n_ranks);

    for (host.rank = 0; host.rank < trace->t.n_ranks; host.rank++)
        hosts[host.rank] = trace_add_lane(trace, &host);
    trace->spans = NULL;
    trace->n_spans = trace->room_spans = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 3; k++) {
            const int64_t part = (old[i].end_ns - old[i].start_ns) / 3;
            struct trace_span s = old[i];
            s.name = "_Z6kernelv";
            s.start_ns += k * part;
            s.end_ns = k == 2 ? s.end_ns : s.start_ns + part;
            trace_add_span(trace, &s);
            s.lane = hosts[trace->t.lanes[s.lane].rank];
            s.start_ns -= MIN(s.start_ns, 50000);
            s.cls = SPAN_HOST;
            trace_add_span(trace, &s);
        }
    g_free(old);
    g_free(hosts);
    trace_finish(trace);
}

/* A lane of kernels is drawn as its ops, and what the host does is not drawn. */
static void test_kernels(void)
{
    struct scene_spec s = scene_bert();
    struct figure_options o = {1280, 720, "kernels"};
    struct fixture f, g;

    s.jitter = 0.3;
    fixture_make(&f, &s, OTHERS);
    fixture_make(&g, &s, OTHERS);
    as_kernels(&g.trace);
    analysis_release(&g.analysis);
    g_assert_true(analyze(&g.trace, &g.analysis, NULL));
    g_autoptr(GBytes) a = figure_render(&figure_timeline, &f.in, &o, &draw_list, NULL);
    g_autoptr(GBytes) b = figure_render(&figure_timeline, &g.in, &o, &draw_list, NULL);
    g_assert_nonnull(a);
    g_assert_true(g_bytes_equal(a, b));
    fixture_release(&f);
    fixture_release(&g);
}

static void test_lecture(void)
{
    struct scene_spec s = scene_bert();
    struct figure_options o = {1280, 720, NULL};
    struct fixture f;

    fixture_make(&f, &s, OTHERS);
    struct draw *d = draw(&f, &o);
    static const char *const expected[] = {"rank 0", "rank 3", "no overlap", "B11", "0", "12", "step"};
    for (unsigned i = 0; i < G_N_ELEMENTS(expected); i++)
        if (!count_text(d, expected[i]))
            g_error("the figure lacks '%s'", expected[i]);
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text)
            g_assert_cmpfloat(item_at(d, i)->size, >=, 14);
    const double fb =
        palette_contrast(palette_color(palettes[0], ROLE_FORWARD), palette_color(palettes[0], ROLE_BACKWARD));
    g_assert_cmpfloat(fb, >=, 1.5);
    draw_list.cancel(d);
    fixture_release(&f);
}

static void expect_texts(const struct draw *d, unsigned n, const char *const *texts)
{
    for (unsigned i = 0; i < n; i++)
        if (!count_text(d, texts[i]))
            g_error("the figure lacks '%s'", texts[i]);
}

/* Every other overlap has its lanes, as long as its step; what does not fit goes from the last on. */
static void test_others(void)
{
    static const char *const all[] = {"no overlap", "predicted", "backward", "optimizer", "measured"};
    struct scene_spec s = scene_bert();
    struct figure_options o = {1280, 720, NULL};
    struct fixture f;

    s.ranks = 2;
    s.buckets = 4;
    s.simulated = false;
    s.layer_ns = 4000000;
    s.bucket_ns = 60000000;
    fixture_make(&f, &s, OTHERS);
    struct draw *d = draw(&f, &o);
    check_figure(d);
    expect_texts(d, G_N_ELEMENTS(all), all);
    for (unsigned i = 0; i < OTHERS; i++) {
        char number[32];
        g_autofree char *step =
            g_strdup_printf("step %s", format_duration(f.apart_analysis[i].median_ns, number));
        g_assert_cmpuint(count_text(d, step), >=, 1);
    }
    draw_list.cancel(d);
    o.height = 190;
    d = draw(&f, &o);
    g_assert_cmpuint(count_text(d, "no overlap"), ==, 1);
    g_assert_cmpuint(count_text(d, "optimizer"), ==, 0);
    draw_list.cancel(d);
    fixture_release(&f);
}

/* Micro-batches are told apart, and a broadcast is called so, if shortly: rather large letters than many. */
static void test_names(void)
{
    static const char *const all[] = {"F0·0", "F0·1", "B0·0", "B0·1", "bcast"};
    struct scene_spec s = scene_bert();
    struct figure_options o = {1920, 1080, NULL};
    struct fixture f;

    s.ranks = 1;
    s.layers = 1;
    s.buckets = 2;
    s.micro = 2;
    s.by_bucket = s.broadcast = true;
    s.layer_ns = 10000000;
    s.bucket_ns = 30000000;
    fixture_make(&f, &s, 0);
    struct draw *d = draw(&f, &o);
    check_figure(d);
    expect_texts(d, G_N_ELEMENTS(all), all);
    draw_list.cancel(d);
    fixture_release(&f);
}

static unsigned count_of_size(const struct draw *d, const char *text, double *size)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        if (!m->text || strcmp(m->text, text))
            continue;
        g_assert_true(*size == 0 || *size == m->size);
        *size = m->size;
        n++;
    }
    return n;
}

/* Cells of a pipeline are named alike, none is blank, and where letter and number have no room they are
 * stacked. */
static void test_alike(void)
{
    static const struct {
        const char *schedule, *texts[3];
        uint32_t per_rank, chunks, count[3];
    } cases[] = {{"1f1b", {"F3", "B3", "B7"}, 1, 8, {4, 4, 4}},
                 {"zbv", {"F", "I", "W"}, 2, 8, {64, 64, 64}},
                 {"1f1b", {"F", "B", "11"}, 1, 12, {48, 48, 8}},
                 {"1f1b", {"F0", "15", "B15"}, 1, 16, {0, 0, 4}}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct trace trace;
        struct fixture f = {0};
        struct figure_options o = {1280, 720, NULL};
        double size = 0;
        pipe_simulate(&(struct pipe_case){cases[i].schedule, "F=1,B=1,W=1,C=0", 4, cases[i].per_rank,
                                          cases[i].chunks, 1, 0},
                      &trace);
        g_assert_true(analyze(&trace, &f.analysis, NULL));
        f.in = (struct figure_input){.trace = &trace, .analysis = &f.analysis};
        struct draw *d = draw(&f, &o);
        check_figure(d);
        for (unsigned k = 0; k < 3; k++)
            g_assert_cmpuint(count_of_size(d, cases[i].texts[k], &size), ==, cases[i].count[k]);
        g_assert_cmpfloat(size, >=, 14);
        draw_list.cancel(d);
        analysis_release(&f.analysis);
        trace_release(&trace);
    }
}

/* A rank that computes faster than the others: its actions, which began every so many ns. */
static void hasten(struct trace *trace, uint32_t rank, int64_t every_ns, double part)
{
    for (size_t i = 0; i < trace->n_spans; i++) {
        struct trace_span *span = &trace->spans[i];
        struct trace_op *op = &trace->ops[span->op];
        const struct lane *lane = &trace->t.lanes[op->lane];
        const int64_t base_ns = (op->start_ns + every_ns / 100) / every_ns * every_ns;
        if (lane->rank != rank || lane->cls != LANE_COMPUTE)
            continue;
        span->start_ns = op->start_ns = base_ns + (int64_t)(part * (double)(op->start_ns - base_ns));
        span->end_ns = op->end_ns = base_ns + (int64_t)(part * (double)(op->end_ns - base_ns));
    }
}

/* No cell of the whole figure is "B5" where another is "5", however long each rank's cells are. */
static void test_alike_over_ranks(void)
{
    for (double part = 1; part > 0.2; part -= 0.1) {
        struct trace trace;
        struct fixture f = {0};
        struct figure_options o = {1280, 720, NULL};
        unsigned letters = 0, numbers = 0;
        double size = 0;
        pipe_simulate(&(struct pipe_case){"1f1b", "F=2,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &trace);
        hasten(&trace, 1, 2000000, part);
        g_assert_true(analyze(&trace, &f.analysis, NULL));
        f.in = (struct figure_input){.trace = &trace, .analysis = &f.analysis};
        struct draw *d = draw(&f, &o);
        check_figure(d);
        for (unsigned i = 0; i < 8; i++) {
            g_autofree char *forward = g_strdup_printf("F%u", i), *backward = g_strdup_printf("B%u", i);
            letters += count_of_size(d, forward, &size) + count_of_size(d, backward, &size);
            numbers += i % 5 ? count_of_size(d, &forward[1], &size) : 0; /* 0 and 5 are ticks too */
        }
        g_test_message("%.1f: %u with a letter, %u without", part, letters, numbers);
        g_assert_true(!letters || !numbers);
        g_assert_cmpuint(letters + numbers, >=, 48); /* those of the other ranks */
        draw_list.cancel(d);
        analysis_release(&f.analysis);
        trace_release(&trace);
    }
}

/* More ranks than fit: the first, the last and some between, and the slowest wherever it is. */
static void test_hidden_ranks(void)
{
    struct scene_spec s = scene_bert();
    struct figure_options o = {1280, 720, NULL};
    struct fixture f;
    unsigned shown = 0;

    s.ranks = 64;
    fixture_make(&f, &s, OTHERS);
    f.analysis.slowest_rank = 37;
    struct draw *d = draw(&f, &o);
    for (unsigned i = 0, before = 0; i < s.ranks; i++) {
        g_autofree char *rank = g_strdup_printf("rank %u", i);
        if (!count_text(d, rank))
            continue;
        g_assert_cmpuint(i - before, <, 40); /* none of many stands for all */
        before = i;
        shown++;
    }
    g_autofree char *said =
        g_strdup_printf("%u of 64 ranks shown, from the first to the last; rank 37 is the slowest", shown);
    g_assert_cmpuint(shown, >, 1);
    g_assert_cmpuint(shown, <, 64);
    g_assert_cmpuint(count_text(d, said), ==, 1);
    g_assert_cmpuint(count_text(d, "rank 0"), ==, 1);
    g_assert_cmpuint(count_text(d, "rank 37"), ==, 1);
    g_assert_cmpuint(count_text(d, "rank 63"), ==, 1);
    draw_list.cancel(d);
    fixture_release(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/viz/rows", test_rows);
    g_test_add_func("/viz/rows/pipeline", test_pipeline_rows);
    g_test_add_func("/viz/gaps", test_gaps);
    g_test_add_func("/viz/timeline/lecture", test_lecture);
    g_test_add_func("/viz/timeline/exposed", test_exposed);
    g_test_add_func("/viz/timeline/others", test_others);
    g_test_add_func("/viz/timeline/names", test_names);
    g_test_add_func("/viz/timeline/alike", test_alike);
    g_test_add_func("/viz/timeline/alike-over-ranks", test_alike_over_ranks);
    g_test_add_func("/viz/timeline/hidden-ranks", test_hidden_ranks);
    g_test_add_func("/viz/timeline/random", test_random);
    g_test_add_func("/viz/timeline/extremes", test_extremes);
    g_test_add_func("/viz/timeline/strange-tags", test_strange_tags);
    g_test_add_func("/viz/timeline/one-op", test_one_op);
    g_test_add_func("/viz/timeline/refusals", test_refusals);
    g_test_add_func("/viz/timeline/same-bytes", test_same_bytes);
    g_test_add_func("/viz/timeline/kernels", test_kernels);
    return g_test_run();
}
