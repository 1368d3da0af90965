/* Figures that are built up: each frame is a part of the figure in its places, has what came before, and what
 * it should. */
#include <string.h>

#include "tests/draw-list.h"
#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/runs.h"
#include "tests/scene.h"
#include "tests/tap.h"
#include "tests/work-trace.h"
#include "viz/build.h"
#include "viz/draw-text.h"

struct subject {
    struct trace trace;
    struct analysis analysis;
    struct figure_input in;
};

static void subject_analyze(struct subject *s)
{
    g_assert_true(analyze(&s->trace, &s->analysis, NULL));
    s->in = (struct figure_input){.trace = &s->trace, .analysis = &s->analysis};
}

static void pipeline(struct subject *s)
{
    memset(s, 0, sizeof *s);
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &s->trace);
    subject_analyze(s);
}

/* Without overlap: buckets are all communicated after backward. */
static void ddp(struct subject *s, bool overlap)
{
    struct scene_spec spec = scene_bert();
    memset(s, 0, sizeof *s);
    spec.ranks = 2;
    spec.layers = 3;
    spec.buckets = 3;
    spec.bucket_ns = 30000000;
    spec.overlap = overlap;
    scene_make(&spec, &s->trace);
    subject_analyze(s);
}

static void subject_release(struct subject *s)
{
    analysis_release(&s->analysis);
    trace_release(&s->trace);
}

/* The lines of each frame. */
struct film {
    guint n;
    char **frames[BUILD_MAX_FRAMES];
};

static char **lines_of(GBytes *bytes)
{
    gsize n;
    const char *text = g_bytes_get_data(bytes, &n);
    g_autofree char *copy = g_strndup(text, n);
    return g_strsplit(copy, "\n", -1);
}

static void film_make(struct film *film, struct build build, const struct figure *f,
                      const struct figure_input *in, const struct figure_options *o)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) frames = build_render(&build, f, in, o, &draw_list, &error);
    g_assert_no_error(error);
    film->n = frames->len;
    for (guint i = 0; i < film->n; i++)
        film->frames[i] = lines_of(frames->pdata[i]);
}

static void film_free(struct film *film)
{
    for (guint i = 0; i < film->n; i++)
        g_strfreev(film->frames[i]);
}

/* In the same order, with others between. */
static bool part_of(char **part, char **whole)
{
    for (; *part && *whole; whole++)
        if (!strcmp(*part, *whole))
            part++;
    return !*part;
}

static unsigned count_ending(char **lines, const char *end)
{
    unsigned n = 0;
    for (; *lines; lines++)
        n += g_str_has_prefix(*lines, "text") && g_str_has_suffix(*lines, end);
    return n;
}

static unsigned count_beginning(char **lines, const char *start)
{
    unsigned n = 0;
    for (; *lines; lines++)
        n += g_str_has_prefix(*lines, start);
    return n;
}

/* Something that can be seen is in the one and not in the other. */
static bool shows_more(char **more, char **less)
{
    for (; *more; more++) {
        if (*less && !strcmp(*more, *less))
            less++;
        else if (!g_str_has_prefix(*more, "span"))
            return true;
    }
    return false;
}

static const struct figure_options usual = {.width = 1280, .height = 720};

static void check_film(struct build build, const struct figure *f, const struct figure_input *in,
                       const struct figure_options *o)
{
    struct film film;
    g_autoptr(GBytes) plain = figure_render(f, in, o, &draw_list, NULL);
    g_auto(GStrv) whole = lines_of(plain);
    film_make(&film, build, f, in, o);
    g_assert_cmpuint(film.n, >=, 2);
    g_assert_true(g_strv_equal((const char *const *)film.frames[film.n - 1], (const char *const *)whole));
    g_assert_false(g_strv_equal((const char *const *)film.frames[0], (const char *const *)whole));
    for (guint i = 0; i + 1 < film.n; i++) {
        g_assert_true(part_of(film.frames[i], film.frames[i + 1]));
        if (!build.frames && !shows_more(film.frames[i + 1], film.frames[i]))
            g_error("%s by %d: frame %u shows nothing that is new", f->name, (int)build.by, i + 1);
        g_assert_cmpuint(count_beginning(film.frames[i], "group"), ==, count_beginning(whole, "group"));
    }
    film_free(&film);
}

static void test_parts(void)
{
    const struct build ways[] = {{KEY_RANK, 0},  {KEY_MICRO, 0}, {KEY_BUCKET, 0},
                                 {KEY_PHASE, 0}, {KEY_TIME, 2},  {KEY_TIME, 37}};
    const struct figure_options looks[] = {
        usual,
        {.width = 400, .height = 400, .ranks_up = true, .count_from = 1, .no_legend = true, .late = true},
        {.width = 1280,
         .height = 720,
         .critical = true,
         .notes = "first@F0;last@B2",
         .palette = palettes[2]}};
    struct subject of_pipeline, of_ddp;
    pipeline(&of_pipeline);
    ddp(&of_ddp, true);
    for (unsigned w = 0; w < G_N_ELEMENTS(ways); w++)
        for (unsigned l = 0; l < G_N_ELEMENTS(looks); l++) {
            if (ways[w].by != KEY_BUCKET) {
                check_film(ways[w], &figure_grid, &of_pipeline.in, &looks[l]);
                check_film(ways[w], &figure_timeline, &of_pipeline.in, &looks[l]);
            }
            if (ways[w].by != KEY_MICRO)
                check_film(ways[w], &figure_timeline, &of_ddp.in, &looks[l]);
        }
    subject_release(&of_pipeline);
    subject_release(&of_ddp);
    struct digest digest;
    lecture_digest(&digest);
    const struct figure_input report = {.digest = &digest};
    check_film((struct build){KEY_PHASE, 0}, &figure_breakdown, &report, &usual);
    check_film((struct build){KEY_RANK, 0}, &figure_memory, &report, &usual);
    digest_release(&digest);
}

/* A micro-batch a frame: its forwards and backwards of all ranks; the bubble with the last one. */
static void test_micro(void)
{
    struct subject s;
    struct film film;
    pipeline(&s);
    film_make(&film, (struct build){KEY_MICRO, 0}, &figure_grid, &s.in, &usual);
    g_assert_cmpuint(film.n, ==, 8);
    for (guint i = 0; i < film.n; i++)
        for (guint micro = 0; micro < 8; micro++) {
            g_autofree char *forward = g_strdup_printf(" F%u", micro),
                            *backward = g_strdup_printf(" B%u", micro);
            g_assert_cmpuint(count_ending(film.frames[i], forward), ==, micro <= i ? 4 : 0);
            g_assert_cmpuint(count_ending(film.frames[i], backward), ==, micro <= i ? 4 : 0);
        }
    /* names of ranks are there from the beginning */
    g_assert_cmpuint(count_ending(film.frames[0], "rank 3"), ==, 1);
    /* 8 cells a frame; the last rank updates, at 27, before B6 of the first one begins; bubbles come last,
     * beside the other updates and 8 cells */
    for (guint i = 1; i < 7; i++)
        g_assert_cmpuint(count_beginning(film.frames[i], "rect") -
                             count_beginning(film.frames[i - 1], "rect"),
                         ==, 8 + (i == 6));
    g_assert_cmpuint(count_beginning(film.frames[7], "rect") - count_beginning(film.frames[6], "rect"), >,
                     8 + 3 + 8);
    film_free(&film);
    subject_release(&s);
}

static void test_rank(void)
{
    struct subject s;
    struct film film;
    pipeline(&s);
    film_make(&film, (struct build){KEY_RANK, 0}, &figure_grid, &s.in, &usual);
    g_assert_cmpuint(film.n, ==, 4);
    for (guint i = 0; i < film.n; i++) {
        g_assert_cmpuint(count_ending(film.frames[i], " F7"), ==, i + 1);
        g_assert_cmpuint(count_ending(film.frames[i], "rank 2"), ==, i >= 2);
    }
    film_free(&film);
    subject_release(&s);
}

/* Its communication, and what was computed until then: of backward the layers before the bucket was ready. */
static void test_bucket(void)
{
    struct subject s;
    struct film film;
    for (int overlap = 0; overlap < 2; overlap++) {
        ddp(&s, overlap);
        film_make(&film, (struct build){KEY_BUCKET, 0}, &figure_timeline, &s.in, &usual);
        g_assert_cmpuint(film.n, ==, 3);
        for (guint i = 0; i < film.n; i++) {
            unsigned buckets = 0;
            for (char **l = film.frames[i]; *l; l++)
                buckets += g_str_has_prefix(*l, "span") && strstr(*l, " bucket ") != NULL;
            g_assert_cmpuint(buckets, ==, 2 * (i + 1));
            g_assert_cmpuint(count_ending(film.frames[i], " F0"), ==, 2);
        }
        /* the last backwards, of two halves of a block on two ranks, come with the first bucket where nothing
         * overlaps */
        g_assert_cmpuint(count_ending(film.frames[0], " B0"), ==, overlap ? 0 : 4);
        g_assert_cmpuint(count_ending(film.frames[2], " B0"), ==, 4);
        film_free(&film);
        subject_release(&s);
    }
}

static void test_phase(void)
{
    struct subject s;
    struct film film;
    ddp(&s, true);
    film_make(&film, (struct build){KEY_PHASE, 0}, &figure_timeline, &s.in, &usual);
    g_assert_cmpuint(film.n, ==, 4);
    g_assert_cmpuint(count_ending(film.frames[0], " F2"), ==, 2);
    g_assert_cmpuint(count_ending(film.frames[0], " B2"), ==, 0);
    g_assert_cmpuint(count_ending(film.frames[1], " B2"), ==, 2);
    film_free(&film);
    subject_release(&s);
}

/* 33 units of time in 10 frames: what starts in the first 3.3 is in the first. */
static void test_time(void)
{
    struct subject s;
    struct film film;
    pipeline(&s);
    film_make(&film, (struct build){KEY_TIME, 10}, &figure_grid, &s.in, &usual);
    g_assert_cmpuint(film.n, ==, 10);
    g_assert_cmpuint(count_ending(film.frames[0], " F0"), ==, 4);
    g_assert_cmpuint(count_ending(film.frames[0], " B0"), ==, 0);
    g_assert_cmpuint(count_ending(film.frames[0], " F1"), ==, 3);
    g_assert_cmpuint(count_ending(film.frames[1], " B0"), ==, 2);
    film_free(&film);
    subject_release(&s);
}

/* A note comes with what it points at. */
static void test_note(void)
{
    struct figure_options o = usual;
    struct subject s;
    struct film film;
    pipeline(&s);
    o.notes = "there@B5;at 20@20ms";
    film_make(&film, (struct build){KEY_MICRO, 0}, &figure_grid, &s.in, &o);
    for (guint i = 0; i < film.n; i++) {
        g_assert_cmpuint(count_ending(film.frames[i], " there"), ==, i >= 5);
        g_assert_cmpuint(count_ending(film.frames[i], " at 20"), ==,
                         i >= 4); /* B3 starts at 19 at the latest, B4 at 22 */
    }
    film_free(&film);
    subject_release(&s);
}

/* --- all kinds, all builds */

/* An input of each: two DDP steps of which one overlaps, one whose all-reduces are in hops, one of DataParallel, a pipeline, a
 * report, three sweeps, a history. */
struct inputs {
    struct subject pipeline, ddp, other, reduced, scattered;
    struct digest digest, report;
    struct series curve, curves, words;
    struct variant variant;
    struct figure_input pair, of_report, of_curve, of_curves, of_words, of_runs;
    GPtrArray *runs;
};

static void worked(struct subject *s, const struct work *work)
{
    memset(s, 0, sizeof *s);
    work_simulate(work, &s->trace);
    subject_analyze(s);
}

static void inputs_make(struct inputs *i)
{
    pipeline(&i->pipeline);
    ddp(&i->ddp, true);
    ddp(&i->other, false);
    digest_make(&i->digest, &(struct report){.trace = &i->ddp.trace, .analysis = &i->ddp.analysis});
    i->ddp.in.digest = &i->digest;
    i->variant = (struct variant){"none", &i->other.trace, &i->other.analysis, NULL};
    i->pair = i->ddp.in;
    i->pair.others = &i->variant;
    i->pair.n_others = 1;
    worked(&i->reduced, &(struct work){.mode = &mode_ddp, .ranks = 3, .algo = ALLREDUCE_RING});
    worked(&i->scattered, &(struct work){.mode = &mode_dp, .ranks = 3, .algo = ALLREDUCE_TREE});
    lecture_digest(&i->report);
    i->of_report = (struct figure_input){.digest = &i->report};
    buckets_series(&i->curve);
    ranks_series(&i->curves);
    words_series(&i->words);
    i->of_curves = (struct figure_input){.series = &i->curves};
    i->of_curve = (struct figure_input){.series = &i->curve};
    i->of_words = (struct figure_input){.series = &i->words};
    i->runs = small_history();
    i->of_runs = history_of(i->runs);
}

static void inputs_release(struct inputs *i)
{
    struct subject *const all[] = {&i->pipeline, &i->ddp, &i->other, &i->reduced, &i->scattered};
    for (unsigned k = 0; k < G_N_ELEMENTS(all); k++)
        subject_release(all[k]);
    digest_release(&i->digest);
    digest_release(&i->report);
    series_release(&i->curves);
    series_release(&i->curve);
    series_release(&i->words);
    g_ptr_array_unref(i->runs);
}

enum { ALL_FRAMES = DRAW_KEYS, BUILDS };

/* Frames of each build of every kind of figure; 0: it has none such, and says what it has. */
static void test_kinds(void)
{
    struct inputs i;
    inputs_make(&i);
    const struct {
        const struct figure *figure;
        const struct figure_input *in;
        guint n[BUILDS]; /* rank, micro, bucket, phase, frames:4, frames */
        const char *can;
    } cases[] = {
        {&figure_timeline, &i.pipeline.in, {4, 8, 0, 2, 4, 37}, "rank, micro, phase, frames:N"},
        {&figure_timeline, &i.ddp.in, {2, 0, 3, 4, 4, 24}, "rank, bucket, phase, frames:N"},
        {&figure_grid, &i.pipeline.in, {4, 8, 0, 3, 4, 40}, "rank, micro, phase, frames:N"},
        {&figure_breakdown, &i.of_report, {0, 0, 0, 5, 4, 3}, "phase, frames:N"},
        {&figure_memory, &i.of_report, {8, 0, 0, 8, 0, 0}, "rank, phase"},
        {&figure_sweep, &i.of_curve, {0, 0, 0, 3, 4, 9}, "phase, frames:N"},
        {&figure_sweep, &i.of_curves, {0, 0, 0, 3, 4, 7}, "phase, frames:N"},
        {&figure_sweep, &i.of_words, {0, 0, 0, 2, 4, 5}, "phase, frames:N"},
        {&figure_overlap, &i.ddp.in, {0, 0, 3, 4, 4, 6}, "bucket, phase, frames:N"},
        {&figure_buckets, &i.ddp.in, {0, 0, 3, 3, 4, 5}, "bucket, phase, frames:N"},
        {&figure_compare, &i.pair, {2, 0, 3, 3, 4, 30}, "rank, bucket, phase, frames:N"},
        {&figure_allreduce, &i.reduced.in, {3, 0, 0, 5, 4, 5}, "rank, phase, frames:N"},
        {&figure_dp, &i.scattered.in, {3, 0, 0, 11, 4, 11}, "rank, phase, frames:N"},
        {&figure_trend, &i.of_runs, {0, 0, 0, 2, 4, 12}, "phase, frames:N"},
        {&figure_ddp, &i.reduced.in, {3, 0, 0, 9, 4, 9}, "rank, phase, frames:N"},
    };
    for (unsigned c = 0; c < G_N_ELEMENTS(cases); c++)
        for (unsigned by = 0; by < BUILDS; by++) {
            const struct build build = {MIN(by, KEY_TIME), by == KEY_TIME ? 4 : 0};
            const struct figure *f = cases[c].figure;
            g_autoptr(GError) error = NULL;
            g_autoptr(GPtrArray) frames = build_render(&build, f, cases[c].in, &usual, &draw_list, &error);
            g_assert_cmpint(frames != NULL, ==, error == NULL);
            if ((frames ? frames->len : 0) != cases[c].n[by])
                g_error("%s %u: %u frames, not %u: %s", f->name, by, frames ? frames->len : 0, cases[c].n[by], error ? error->message : "");
            if (frames)
                check_film(build, f, cases[c].in, &usual);
            else if (!g_str_has_suffix(error->message, cases[c].can) || !strstr(error->message, f->name))
                g_error("%s %u: %s", f->name, by, error->message);
        }
    for (unsigned f = 0; figures[f]; f++) {
        bool has = false;
        for (unsigned c = 0; c < G_N_ELEMENTS(cases); c++)
            has |= cases[c].figure == figures[f];
        g_assert_true(has);
    }
    inputs_release(&i);
}

static void test_refused(void)
{
    struct subject s;
    g_autoptr(GError) error = NULL;
    pipeline(&s);
    g_assert_null(
        build_render(&(struct build){KEY_BUCKET, 0}, &figure_grid, &s.in, &usual, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "it can be built by rank, micro, phase, frames:N"));
    g_clear_error(&error);
    const struct figure_input nothing = {0};
    g_assert_null(
        build_render(&(struct build){KEY_RANK, 0}, &figure_grid, &nothing, &usual, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "needs the trace"));
    g_clear_error(&error);
    const struct figure_options small = {.width = 20, .height = 20};
    g_assert_null(
        build_render(&(struct build){KEY_RANK, 0}, &figure_grid, &s.in, &small, &draw_list, &error));
    g_assert_nonnull(strstr(error->message, "too small"));
    subject_release(&s);
}

/* A writer without groups and spans. */
static void test_text(void)
{
    const struct figure_options cells = {.width = 800, .height = 576};
    struct subject s;
    pipeline(&s);
    g_autoptr(GBytes) plain = figure_render(&figure_grid, &s.in, &cells, &draw_text, NULL);
    g_autoptr(GPtrArray) frames =
        build_render(&(struct build){KEY_RANK, 0}, &figure_grid, &s.in, &cells, &draw_text, NULL);
    g_assert_cmpuint(frames->len, ==, 4);
    g_assert_true(g_bytes_equal(frames->pdata[3], plain));
    g_assert_false(g_bytes_equal(frames->pdata[2], plain));
    subject_release(&s);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/build/parts", test_parts);
    g_test_add_func("/build/micro", test_micro);
    g_test_add_func("/build/rank", test_rank);
    g_test_add_func("/build/bucket", test_bucket);
    g_test_add_func("/build/phase", test_phase);
    g_test_add_func("/build/time", test_time);
    g_test_add_func("/build/note", test_note);
    g_test_add_func("/build/kinds", test_kinds);
    g_test_add_func("/build/refused", test_refused);
    g_test_add_func("/build/text", test_text);
    return g_test_run();
}
