/* Figures that are built up: each frame is a part of the figure in its places, has what came before, and what
 * it should. */
#include <string.h>

#include "tests/draw-list.h"
#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/scene.h"
#include "tests/tap.h"
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
    g_test_add_func("/build/refused", test_refused);
    g_test_add_func("/build/text", test_text);
    return g_test_run();
}
