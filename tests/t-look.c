/* The look of figures: themes that can be read, every figure in every theme, language and size, notes, zoom,
 * the critical path, inputs at the edge of sense, and lists of what is drawn as they were. */
#include <math.h>
#include <string.h>

#include "tests/check-drawn.h"
#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/scene.h"
#include "tests/small-trace.h"
#include "tests/tap.h"
#include "tests/work-trace.h"
#include "viz/critical.h"
#include "viz/draw-text.h"
#include "viz/figure.h"

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

/* --- inputs */

struct subject {
    struct trace trace, other;
    struct analysis analysis, other_analysis;
    struct digest digest, own; /* by hand; of the trace */
    struct series series;
    struct variant variant;
    struct figure_input run, report, sweep, pair;
    struct trace reduced_trace, scattered_trace; /* DDP with hops, DataParallel */
    struct analysis reduced_analysis, scattered_analysis;
    struct figure_input reduced, scattered;
};

static int64_t pick(int64_t low, int64_t high) /* log-uniform */
{
    return (int64_t)((double)low * pow((double)high / (double)low, g_test_rand_double()));
}

static void random_ddp(struct subject *s)
{
    struct scene_spec spec = scene_bert();
    spec.ranks = (uint32_t)pick(1, 12);
    spec.layers = (uint32_t)g_test_rand_int_range(0, 30);
    spec.buckets = g_test_rand_int_range(0, 5) ? (uint32_t)pick(1, 60) : 0;
    spec.hops = (uint32_t)g_test_rand_int_range(1, 5);
    spec.steps = (uint32_t)g_test_rand_int_range(1, 4);
    spec.micro = (uint32_t)g_test_rand_int_range(0, 4);
    spec.by_bucket = spec.buckets && g_test_rand_bit();
    spec.broadcast = g_test_rand_bit();
    spec.layer_ns = pick(40, 100000000000);
    spec.bucket_ns = pick(MAX(1, spec.layer_ns / 100), spec.layer_ns * 30);
    spec.skew = g_test_rand_bit() * g_test_rand_double();
    spec.jitter = g_test_rand_bit() * g_test_rand_double();
    spec.seed = (uint32_t)g_test_rand_int();
    scene_make(&spec, &s->trace);
    spec.overlap = false;
    scene_make(&spec, &s->other);
}

static void random_pipeline(struct subject *s)
{
    static const char *const names[] = {"gpipe", "1f1b",      "interleaved", "zb1p",
                                        "zb2p",  "pipedream", "dualpipev"};
    struct pipe_case c = {.cost = "F=1,B=1.2,W=0.9,C=0.2,FB=2.5", .rounds = 1};
    c.schedule = names[g_test_rand_int_range(0, G_N_ELEMENTS(names))];
    c.ranks = (uint32_t)g_test_rand_int_range(1, 4) * 2;
    c.per_rank = !strcmp(c.schedule, "interleaved") || !strcmp(c.schedule, "dualpipev") ? 2 : 1;
    c.chunks = c.ranks * (uint32_t)g_test_rand_int_range(2, 5);
    pipe_simulate(&c, &s->trace);
    pipe_simulate(&c, &s->other);
}

static void random_work(struct subject *s)
{
    const struct work ddp = {.mode = &mode_ddp,
                             .ranks = (uint32_t)pick(2, 12),
                             .algo = (uint8_t)g_test_rand_int_range(ALLREDUCE_RING, ALLREDUCES),
                             .overlap = (uint8_t)g_test_rand_int_range(0, OVERLAPS)};
    work_simulate(&ddp, &s->reduced_trace);
    g_assert_true(analyze(&s->reduced_trace, &s->reduced_analysis, NULL));
    s->reduced = (struct figure_input){.trace = &s->reduced_trace, .analysis = &s->reduced_analysis, .digest = &s->digest};
    const struct work dp = {.mode = &mode_dp,
                            .ranks = (uint32_t)pick(1, 12),
                            .algo = ddp.ranks % 2 ? ALLREDUCE_TREE : ALLREDUCE_WHOLE,
                            .gather = (uint8_t)g_test_rand_int_range(0, GATHERS)};
    work_simulate(&dp, &s->scattered_trace);
    g_assert_true(analyze(&s->scattered_trace, &s->scattered_analysis, NULL));
    s->scattered = (struct figure_input){.trace = &s->scattered_trace, .analysis = &s->scattered_analysis};
}

static void subject_make(struct subject *s, bool pipeline)
{
    memset(s, 0, sizeof *s);
    if (pipeline)
        random_pipeline(s);
    else
        random_ddp(s);
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    g_assert_true(analyze(&s->other, &s->other_analysis, NULL));
    lecture_digest(&s->digest);
    digest_make(&s->own, &(struct report){.trace = &s->trace, .analysis = &s->analysis});
    if (g_test_rand_bit())
        buckets_series(&s->series);
    else
        ranks_series(&s->series);
    s->variant = (struct variant){"none", &s->other, &s->other_analysis, NULL};
    s->run = (struct figure_input){.trace = &s->trace,
                                   .analysis = &s->analysis,
                                   .digest = &s->own,
                                   .name = "backward",
                                   .others = &s->variant,
                                   .n_others = !pipeline && g_test_rand_bit()};
    s->pair = s->run;
    s->pair.n_others = 1;
    s->report = (struct figure_input){.digest = &s->digest};
    s->sweep = (struct figure_input){.series = &s->series};
    random_work(s);
}

static void subject_release(struct subject *s)
{
    analysis_release(&s->analysis);
    analysis_release(&s->other_analysis);
    analysis_release(&s->reduced_analysis);
    analysis_release(&s->scattered_analysis);
    trace_release(&s->trace);
    trace_release(&s->other);
    trace_release(&s->reduced_trace);
    trace_release(&s->scattered_trace);
    digest_release(&s->digest);
    digest_release(&s->own);
    series_release(&s->series);
}

/* Whether it has what the figure draws. */
static bool suits(const struct subject *s, const struct figure *f)
{
    const bool pipeline = s->trace.t.n_stages;
    return f == &figure_grid ? pipeline : f == &figure_overlap || f == &figure_buckets ? !pipeline && s->trace.t.n_buckets : true;
}

static const struct figure_input *input_of(const struct subject *s, const struct figure *f)
{
    if (f == &figure_allreduce || (f == &figure_ddp && g_strcmp0(s->trace.t.mode, "ddp")))
        return &s->reduced;
    if (f == &figure_dp)
        return &s->scattered;
    return f == &figure_sweep                              ? &s->sweep
           : f == &figure_compare                          ? &s->pair
           : f == &figure_memory || f == &figure_breakdown ? &s->report
                                                           : &s->run;
}

/* NULL: refused, with the reason. */
static struct draw *draw(const struct figure *f, const struct figure_input *in,
                         const struct figure_options *o, GError **error)
{
    struct draw *d =
        draw_list.begin(&(struct canvas){.width = o->width, .height = o->height, .title = "t"}, NULL);
    drawn_with = o->palette;
    if (figure_draw(f, in, o, &draw_list, d, error))
        return d;
    draw_list.cancel(d);
    return NULL;
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
        struct draw *d = draw(f, input_of(s, f), &o, &error);
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
                if (!suits(&s, figures[k]))
                    continue;
                drawn += check_looks(&s, figures[k], languages[l], n_sizes);
                of += n_sizes;
            }
        subject_release(&s);
    }
    g_test_message("%u of %u drawn, the others refused for lack of room", drawn, of);
    g_assert_cmpuint(drawn, >, of / 2);
}

/* --- inputs at the edge */

static void ddp_input(struct subject *s, const struct scene_spec *spec)
{
    memset(s, 0, sizeof *s);
    scene_make(spec, &s->trace);
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    digest_make(&s->own, &(struct report){.trace = &s->trace, .analysis = &s->analysis});
    s->run = (struct figure_input){.trace = &s->trace, .analysis = &s->analysis, .digest = &s->own};
}

static void ddp_release(struct subject *s)
{
    digest_release(&s->own);
    analysis_release(&s->analysis);
    trace_release(&s->trace);
}

static void test_many_ranks(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    struct figure_options o = {.width = 1280, .height = 720, .lang = language_find("ko", NULL)};
    spec.ranks = 256;
    spec.layers = 2;
    spec.buckets = 2;
    ddp_input(&s, &spec);
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    draw_list.cancel(d);
    ddp_release(&s);
}

static void test_small_canvas(void)
{
    struct subject s;
    subject_make(&s, true);
    for (unsigned k = 0; figures[k]; k++) {
        g_autoptr(GError) error = NULL;
        const struct figure_options o = {.width = 20, .height = 20};
        g_assert_null(figure_render(figures[k], input_of(&s, figures[k]), &o, &draw_list, &error));
        g_assert_nonnull(strstr(error->message, "too small to read"));
    }
    subject_release(&s);
}

/* Of three steps the last takes time, or none: what is said counts them as --step does. */
static void test_empty_step(void)
{
    for (uint32_t busy = 2; busy < 4; busy++) {
        const struct figure_options o = {.width = 1280, .height = 720, .step = 2};
        struct subject s = {0};
        g_autoptr(GError) error = NULL;
        small_init(&s.trace, 1, 1);
        s.trace.n_steps = 3;
        for (uint32_t step = 0; step < 3; step++) {
            const struct trace_op op =
                small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), step, 5, step == busy ? 6 : 5);
            trace_add_op(&s.trace, &op);
        }
        trace_finish(&s.trace);
        g_assert_true(analyze(&s.trace, &s.analysis, NULL));
        s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis, .file = "bare.json"};
        g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
        g_assert_nonnull(strstr(error->message, "bare.json"));
        g_assert_nonnull(strstr(error->message, busy == 2 ? "in step 2 of the 3" : "which has 3 steps"));
        g_assert_true(!strstr(error->message, "--step 3") == (busy > 2));
        ddp_release(&s);
    }
}

/* Ops that take no time beside one that does. */
static void test_zero_length(void)
{
    const struct figure_options o = {.width = 1280, .height = 720, .critical = true};
    struct subject s = {0};
    small_init(&s.trace, 1, 1);
    s.trace.n_steps = 1;
    for (unsigned i = 0; i < 5; i++) {
        const struct trace_op op = small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), 0, 5, i == 3 ? 6 : 5);
        trace_add_op(&s.trace, &op);
    }
    trace_finish(&s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    draw_list.cancel(d);
    ddp_release(&s);
}

/* --- zoom */

static void test_zoom(void)
{
    struct scene_spec spec = scene_bert();
    struct figure_options o = {.width = 1280, .height = 720, .from_ns = 80000000, .to_ns = 90000000};
    struct subject s;
    g_autoptr(GError) error = NULL;
    spec.steps = 3;
    ddp_input(&s, &spec);
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    check_figure(d);
    g_assert_cmpuint(count_text(d, "80"), ==, 1); /* the axis begins there */
    g_assert_cmpuint(count_text(d, "0"), ==, 0);
    g_assert_cmpuint(count_text(d, "F0"), ==, 0);
    draw_list.cancel(d);
    o.from_ns = INT64_C(1) << 60;
    o.to_ns = 0;
    g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
    g_assert_nonnull(strstr(error->message, "the step lasts"));
    g_clear_error(&error);
    o = (struct figure_options){.width = 1280, .height = 720, .step = 4};
    g_assert_null(draw(&figure_timeline, &s.run, &o, &error));
    g_assert_nonnull(strstr(error->message, "3 steps, not 4"));
    ddp_release(&s);
}

static void test_clip(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    struct step_rows rows;
    const uint32_t ranks[] = {0, 1, 2, 3};
    const int64_t from_ns = 83100000, to_ns = 130700000;
    ddp_input(&s, &spec);
    g_assert_true(rows_collect(&rows, &s.trace, 0, 4, ranks));
    const int64_t all_ns = intervals_within(&rows.rows[0].exposed, from_ns, to_ns);
    rows_clip(&rows, from_ns, to_ns);
    for (uint32_t r = 0; r < 4; r++) {
        const GArray *cells[] = {rows.rows[r].compute, rows.rows[r].comm};
        for (unsigned k = 0; k < 2; k++)
            for (unsigned i = 0; i < cells[k]->len; i++) {
                const struct cell *c = &g_array_index(cells[k], struct cell, i);
                g_assert_true(c->start_ns >= from_ns && c->start_ns < c->end_ns && c->end_ns <= to_ns);
                g_assert_cmpint(c->own_ns, <=, c->end_ns - c->start_ns);
            }
        g_assert_cmpuint(cells[0]->len, >, 0);
    }
    g_assert_cmpint(intervals_length(&rows.rows[0].exposed), ==, all_ns);
    rows_release(&rows);
    ddp_release(&s);
}

/* --- notes */

static const struct item *find_text(const struct draw *d, const char *text)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && !strcmp(item_at(d, i)->text, text))
            return item_at(d, i);
    g_error("no text '%s'", text);
}

/* The span of that tag which comes first. */
static const struct item *find_span(const struct draw *d, const char *tag, unsigned nth)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->kind == ITEM_SPAN && g_str_has_prefix(item_at(d, i)->name, tag) && !nth--)
            return item_at(d, i);
    g_error("no span '%s'", tag);
}

static void test_notes(void)
{
    struct figure_options o = {
        .width = 1280, .height = 720, .notes = "here it begins@F0; of rank 2 @ B3 rank 2;later@20ms"};
    struct subject s = {0};
    g_autoptr(GError) error = NULL;
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    struct draw *d = draw(&figure_grid, &s.run, &o, &error);
    g_assert_no_error(error);
    check_figure(d);
    find_text(d, "here it begins");
    const struct item *text = find_text(d, "of rank 2"), *target = find_span(d, "B3 ", 2);
    bool reaches = false;
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        reaches |= m->kind == ITEM_LINE && m->x0 >= target->x0 && m->x0 <= target->x1 && m->y0 >= text->y0 &&
                   fabs(m->y1 - target->y0) < 4;
    }
    g_assert_true(reaches);
    draw_list.cancel(d);
    /* Down through the texts of other ranks, none of which is crossed. */
    static const char *const deep[] = {"B0", "F5", "B3", "B7"};
    for (unsigned i = 0; i < G_N_ELEMENTS(deep); i++) {
        g_autofree char *note = g_strdup_printf(
            "a text that is long enough to lie over much@%s rank 3;b@%s rank 3", deep[i], deep[i]);
        struct figure_options look = {.width = 400, .height = 700, .notes = note};
        const struct figure *const both[] = {&figure_grid, &figure_timeline};
        for (unsigned k = 0; k < 2; k++) {
            d = draw(both[k], &s.run, &look, &error);
            g_assert_no_error(error);
            check_figure(d);
            draw_list.cancel(d);
        }
    }
    static const struct {
        const char *note, *why;
    } wrong[] = {{"x@F9", "'F0'"},
                 {"x@999s", "not on the time axis"},
                 {"x", "TEXT@SPAN"},
                 {"@F0", "TEXT@SPAN"},
                 {"a@F0;a@F0;a@F0;a@F0;a@F0;a@F0;a@F0", "at most 6"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        o.notes = wrong[i].note;
        g_assert_null(draw(&figure_grid, &s.run, &o, &error));
        g_assert_nonnull(strstr(error->message, wrong[i].why));
        g_clear_error(&error);
    }
    ddp_release(&s);
}

/* What the English figure calls wide spans is found in the Korean one, where it may be called otherwise. */
static unsigned check_english_names(const struct figure *f, const struct figure_input *in)
{
    const struct figure_options english = {.width = 1280, .height = 2000};
    struct draw *d = draw(f, in, &english, NULL);
    unsigned found = 0;
    for (unsigned i = 0; d && i < d->items->len && found < 20; i++) {
        const struct item *m = item_at(d, i);
        if (m->kind != ITEM_SPAN || m->x1 - m->x0 < 60)
            continue;
        g_auto(GStrv) parts = g_strsplit(m->name, " · ", 2);
        g_autofree char *note = g_strdup_printf("x@%s", parts[0]);
        g_autoptr(GError) error = NULL;
        const struct figure_options korean = {
            .width = 1280, .height = 2000, .lang = language_find("ko", NULL), .notes = note};
        struct draw *noted = draw(f, in, &korean, &error);
        if (!noted && !strstr(error->message, "no room"))
            g_error("%s: %s", f->name, error->message);
        found++;
        if (noted)
            draw_list.cancel(noted);
    }
    if (d)
        draw_list.cancel(d);
    return found;
}

static void test_note_languages(void)
{
    static const char *const both[] = {"x@bucket 0", "x@버킷 0"}, *const places[] = {"x@F0 rank 2", "x@F0 랭크 2"};
    struct subject s[2];
    unsigned found[16] = {0}, missing = 1;
    for (unsigned i = 0; i < 100 && missing; i++) {
        subject_make(&s[0], i % 2);
        missing = 0;
        for (unsigned k = 0; figures[k]; k++) {
            const bool alike = figures[k] == &figure_grid || figures[k] == &figure_sweep; /* F0 and 8 everywhere */
            if (suits(&s[0], figures[k]))
                found[k] += check_english_names(figures[k], input_of(&s[0], figures[k]));
            missing += !alike && found[k] < 5;
        }
        subject_release(&s[0]);
    }
    g_assert_cmpuint(missing, ==, 0);
    struct scene_spec spec = scene_bert();
    ddp_input(&s[0], &spec);
    memset(&s[1], 0, sizeof s[1]);
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &s[1].trace);
    g_assert_true(analyze(&s[1].trace, &s[1].analysis, NULL));
    s[1].run = (struct figure_input){.trace = &s[1].trace, .analysis = &s[1].analysis};
    for (unsigned i = 0; i < 2; i++) {
        struct figure_options o = {.width = 1280, .height = 720, .lang = language_find("ko", NULL), .notes = both[i]};
        struct draw *buckets = draw(&figure_buckets, &s[0].run, &o, NULL);
        o.notes = places[i];
        struct draw *grid = draw(&figure_grid, &s[1].run, &o, NULL);
        g_assert_true(buckets && grid);
        draw_list.cancel(buckets);
        draw_list.cancel(grid);
    }
    ddp_release(&s[0]);
    ddp_release(&s[1]);
}

/* --- critical path */

/* Two ranks: F of 10 and 30, a collective of both that ends at 50, and the first rank's step to 60. */
static void test_critical(void)
{
    struct trace trace;
    small_init(&trace, 2, 1);
    trace.n_steps = 1;
    struct trace_op ops[] = {small_op(OP_FWD, small_lane(0, LANE_COMPUTE, 0), 0, 0, 10),
                             small_op(OP_FWD, small_lane(1, LANE_COMPUTE, 0), 0, 0, 30),
                             small_op(OP_ALLREDUCE, small_lane(0, LANE_COMM, 0), 0, 10, 50),
                             small_op(OP_ALLREDUCE, small_lane(1, LANE_COMM, 0), 0, 30, 50),
                             small_op(OP_OPTIM, small_lane(0, LANE_COMPUTE, 0), 0, 50, 60),
                             small_op(OP_OPTIM, small_lane(1, LANE_COMPUTE, 0), 0, 50, 55)};
    static const bool expected[] = {false, true, true, true, true, false};
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
        ops[i].tag.gang = i == 2 || i == 3 ? 2 : OP_NONE;
        ops[i].ready_ns = ops[i].start_ns;
        trace_add_op(&trace, &ops[i]);
    }
    trace_finish(&trace);
    g_autofree bool *path = critical_path(&trace, 0);
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++)
        g_assert_true(path[i] == expected[i]);
    const uint32_t ranks[] = {0, 1};
    struct step_rows rows;
    g_assert_true(rows_collect(&rows, &trace, 0, 2, ranks));
    critical_mark(&rows, &trace, 0);
    g_assert_cmpint(intervals_length(&rows.rows[0].critical), ==, 10);
    g_assert_cmpint(intervals_length(&rows.rows[1].critical), ==, 30);
    g_assert_cmpint(intervals_length(&rows.rows[0].critical_comm), ==, 20); /* without the waiting */
    rows_release(&rows);
    trace_release(&trace);
}

/* The path of a pipeline that never waits for a message's other end is as long as its step. */
static void test_critical_length(void)
{
    struct subject s = {0};
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &s.trace);
    g_autofree bool *path = critical_path(&s.trace, 0);
    int64_t start_ns = INT64_MAX, end_ns = 0;
    for (size_t i = 0; i < s.trace.n_ops; i++)
        if (path[i]) {
            start_ns = MIN(start_ns, s.trace.ops[i].start_ns);
            end_ns = MAX(end_ns, s.trace.ops[i].end_ns);
        }
    g_assert_cmpint(start_ns, ==, 0);
    for (size_t i = 0; i < s.trace.n_ops; i++)
        g_assert_cmpint(s.trace.ops[i].end_ns, <=, end_ns);
    trace_release(&s.trace);
}

/* --- buckets over backward */

static bool has_text(const struct draw *d, const char *part)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && strstr(item_at(d, i)->text, part))
            return true;
    return false;
}

/* Buckets by hand, ms, behind some that cost nothing: the third costs most, since rank 1 was late. */
static void overlap_digest(struct digest *d, unsigned cheap)
{
    static const struct digest_bucket buckets[] = {
        {1 << 20, 0, 1 * MS, 1 * MS, 1 * MS, 5 * MS, 4 * MS, 0, {.late_rank = OP_NONE}},
        {2 << 20, 0, 4 * MS, 4 * MS, 5 * MS, 9 * MS, 3 * MS, 1 * MS, {{0, 0, 1 * MS}, OP_NONE, 0}},
        {3 << 20, 1, 6 * MS, 7 * MS, 9 * MS, 19 * MS, 1 * MS, 9 * MS, {{7 * MS, 0, 2 * MS}, 1, 0}},
        {.bytes = 1, .rank = OP_NONE}};
    digest_begin(d, "mini", 2);
    d->n_buckets = G_N_ELEMENTS(buckets) + (uint32_t)cheap;
    d->buckets = g_new(struct digest_bucket, d->n_buckets);
    for (uint32_t i = 0; i < d->n_buckets; i++)
        d->buckets[i] = buckets[i < cheap ? 0 : i - cheap];
    d->backward_ns = 10 * MS;
}

static void test_overlap(void)
{
    struct figure_options o = {.width = 1280, .height = 720, .count_from = 1};
    struct digest d;
    overlap_digest(&d, 0);
    struct draw *drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    check_figure(drawn);
    g_assert_true(has_text(drawn, "bucket 3 costs most, 9.0 ms exposed"));
    g_assert_cmpuint(count_text(drawn, "9.0 ms exposed: waits for rank 2"), ==, 1);
    g_assert_cmpuint(count_text(drawn, "1.0 ms exposed: queues behind an earlier bucket"), ==, 1);
    g_assert_cmpuint(count_text(drawn, "end of backward 10.0 ms"), ==, 1);
    g_assert_cmpuint(count_text(drawn, "bucket 4"), ==, 0); /* it was not reduced */
    /* From the start of the costliest to its end, waiting included, 13 of the axis' 19 ms; exposed are 9. */
    const struct item *span = find_span(drawn, "bucket 3", 0), *first = find_span(drawn, "bucket 1", 0);
    g_assert_cmpfloat(fabs((span->x1 - span->x0) / (first->x1 - first->x0) - 13.0 / 4), <, 0.01);
    bool exposed = false;
    for (unsigned i = 0; i < drawn->items->len; i++) {
        const struct item *m = item_at(drawn, i);
        exposed |= m->hatched && fabs(m->x1 - span->x1) < 0.1 && fabs(9 * (span->x1 - span->x0) - 13 * (m->x1 - m->x0)) < 1;
    }
    g_assert_true(exposed);
    draw_list.cancel(drawn);
    /* Where not all have room those that cost most are there. */
    digest_release(&d);
    overlap_digest(&d, 9);
    o.height = 190;
    o.width = 400;
    drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    check_figure(drawn);
    g_assert_true(has_text(drawn, "of 12 buckets shown"));
    g_assert_cmpuint(count_text(drawn, "bucket 11"), ==, 1);
    g_assert_cmpuint(count_text(drawn, "bucket 12"), ==, 1);
    g_assert_cmpuint(count_text(drawn, "bucket 10"), ==, 0);
    draw_list.cancel(drawn);
    digest_release(&d);
}

/* --- what falls into which bucket */

static void test_buckets(void)
{
    struct scene_spec spec = scene_bert();
    struct figure_options o = {.width = 1280, .height = 720};
    struct subject s;
    spec.layers = 3;
    spec.buckets = 3; /* classifier and layer2, layer1 and half of layer0, the rest */
    ddp_input(&s, &spec);
    struct draw *d = draw(&figure_buckets, &s.run, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "3 buckets of up to 2 layers, bucket 0 launched first"));
    const struct item *first = find_text(d, "bucket 0"), *second = find_text(d, "bucket 1"), *third = find_text(d, "bucket 2");
    g_assert_true(first->x1 < second->x0 && second->x1 < third->x0);
    g_assert_cmpuint(count_text(d, "25.0 MiB · 2 layers"), ==, 3);
    const struct item *head = find_text(d, "classifier"), *span = find_span(d, "bucket 0", 0);
    g_assert_true(head->x0 > span->x0 && head->x1 < span->x1);
    g_assert_cmpuint(count_text(d, "layer0"), ==, 1); /* one cell over two buckets */
    g_assert_true(find_text(d, "layer2")->x1 < find_text(d, "layer1")->x0);
    draw_list.cancel(d);
    o.from_first_layer = true;
    o.count_from = 1;
    d = draw(&figure_buckets, &s.run, &o, NULL);
    g_assert_true(has_text(d, "bucket 3 launched first"));
    g_assert_true(find_text(d, "bucket 3")->x1 < find_text(d, "bucket 1")->x0);
    draw_list.cancel(d);
    ddp_release(&s);
    spec.buckets = 400;
    ddp_input(&s, &spec);
    d = draw(&figure_buckets, &s.run, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "of 400 buckets shown"));
    draw_list.cancel(d);
    ddp_release(&s);
}

/* --- what is refused */

static void test_refused(void)
{
    struct subject pipeline, ddp;
    struct digest d;
    subject_make(&pipeline, true);
    subject_make(&ddp, false);
    lecture_digest(&d);
    const struct figure_input none = {.digest = &d};
    const struct {
        const struct figure *figure;
        const struct figure_input *in;
        const char *why;
    } cases[] = {{&figure_overlap, &pipeline.run, "needs gradient buckets"},
                 {&figure_overlap, &none, "needs gradient buckets"},
                 {&figure_buckets, &pipeline.run, "needs gradient buckets"},
                 {&figure_buckets, &none, "a report does not say how large"},
                 {&figure_buckets, &pipeline.sweep, "a sweep has no parameters"},
                 {&figure_overlap, &pipeline.sweep, "a sweep has only totals"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct figure_options o = {.width = 1280, .height = 720};
        g_autoptr(GError) error = NULL;
        g_assert_null(draw(cases[i].figure, cases[i].in, &o, &error));
        if (!strstr(error->message, cases[i].why))
            g_error("%s", error->message);
    }
    digest_release(&d);
    subject_release(&pipeline);
    subject_release(&ddp);
}

/* --- lists of what is drawn */

/* PARPROF_UPDATE_GOLDEN=1 writes them anew: look at the difference before it is kept. */
static void compare(const char *name, GBytes *bytes)
{
    g_autofree char *file = g_test_build_filename(G_TEST_DIST, "golden", "figures", name, NULL);
    g_autofree char *expected = NULL;
    gsize n, expected_n;
    const char *text = g_bytes_get_data(bytes, &n);
    if (g_getenv("PARPROF_UPDATE_GOLDEN"))
        g_assert_true(g_file_set_contents(file, text, (gssize)n, NULL));
    if (!g_file_get_contents(file, &expected, &expected_n, NULL))
        g_error("%s is not there", file);
    if (n == expected_n && !memcmp(text, expected, n))
        return;
    g_auto(GStrv) now = g_strsplit(text, "\n", -1), then = g_strsplit(expected, "\n", -1);
    unsigned line = 0;
    while (now[line] && then[line] && !strcmp(now[line], then[line]))
        line++;
    g_error("%s:%u is '%s', and is drawn as '%s'", file, line + 1, then[line] ? then[line] : "",
            now[line] ? now[line] : "");
}

static void check_golden(const struct figure *f, const struct figure_input *in, const char *name)
{
    static const char *const languages[] = {"en", "ko"};
    for (unsigned l = 0; l < G_N_ELEMENTS(languages); l++) {
        const struct figure_options o = {.width = 1280,
                                         .height = 720,
                                         .lang = language_find(languages[l], NULL)},
                                    cells = {.width = 800, .height = 576, .lang = o.lang};
        g_autoptr(GBytes) list = figure_render(f, in, &o, &draw_list, NULL);
        g_autofree char *list_name = g_strdup_printf("%s-%s.list", name, languages[l]);
        compare(list_name, list);
        g_autoptr(GBytes) text = figure_render(f, in, &cells, &draw_text, NULL);
        g_autofree char *text_name = g_strdup_printf("%s-%s.txt", name, languages[l]);
        compare(text_name, text);
    }
}

static void golden_scattered(uint8_t gather, const char *name)
{
    struct subject s = {0};
    work_simulate(&(struct work){.mode = &mode_dp, .ranks = 4, .algo = ALLREDUCE_TREE, .gather = gather}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_dp, &s.run, name);
    ddp_release(&s);
}

static void golden_looped(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    ddp_input(&s, &spec);
    spec.overlap = false;
    scene_make(&spec, &s.other);
    g_assert_true(analyze(&s.other, &s.other_analysis, NULL));
    s.variant = (struct variant){"none", &s.other, &s.other_analysis, NULL};
    s.run.others = &s.variant;
    s.run.n_others = 1;
    check_golden(&figure_ddp, &s.run, "ddp");
    analysis_release(&s.other_analysis);
    trace_release(&s.other);
    ddp_release(&s);
}

static void golden_reduced(void)
{
    struct subject s = {0};
    work_simulate(&(struct work){.mode = &mode_ddp, .ranks = 3, .algo = ALLREDUCE_RING}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_allreduce, &s.run, "allreduce");
    ddp_release(&s);
}

static void test_golden(void)
{
    struct scene_spec spec = scene_bert();
    struct subject s;
    spec.ranks = 2;
    spec.layers = 3;
    spec.buckets = 3;
    spec.bucket_ns = 30000000;
    memset(&s, 0, sizeof s);
    ddp_input(&s, &spec);
    check_golden(&figure_timeline, &s.run, "timeline");
    check_golden(&figure_overlap, &s.run, "overlap");
    check_golden(&figure_buckets, &s.run, "buckets");
    ddp_release(&s);
    memset(&s, 0, sizeof s);
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 2, 1, 4, 1, 0}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    check_golden(&figure_grid, &s.run, "grid");
    ddp_release(&s);
    lecture_digest(&s.digest);
    check_golden(&figure_breakdown, &(struct figure_input){.digest = &s.digest}, "breakdown");
    check_golden(&figure_memory, &(struct figure_input){.digest = &s.digest}, "memory");
    digest_release(&s.digest);
    buckets_series(&s.series);
    check_golden(&figure_sweep, &(struct figure_input){.series = &s.series}, "sweep");
    series_release(&s.series);
    golden_reduced();
    golden_scattered(GATHER_LOGITS, "dp");
    golden_scattered(GATHER_LOSS, "dp-loss");
    golden_looped();
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/look/contrast", test_contrast);
    g_test_add_func("/look/print", test_print);
    g_test_add_func("/look/every-look", test_every_look);
    g_test_add_func("/look/many-ranks", test_many_ranks);
    g_test_add_func("/look/small-canvas", test_small_canvas);
    g_test_add_func("/look/zero-length", test_zero_length);
    g_test_add_func("/look/zoom", test_zoom);
    g_test_add_func("/look/clip", test_clip);
    g_test_add_func("/look/empty-step", test_empty_step);
    g_test_add_func("/look/notes", test_notes);
    g_test_add_func("/look/note-languages", test_note_languages);
    g_test_add_func("/look/critical", test_critical);
    g_test_add_func("/look/critical-length", test_critical_length);
    g_test_add_func("/look/overlap", test_overlap);
    g_test_add_func("/look/buckets", test_buckets);
    g_test_add_func("/look/refused", test_refused);
    g_test_add_func("/look/golden", test_golden);
    return g_test_run();
}
