/* What is drawn into figures: notes, the critical path, buckets over backward and what falls into them. */
#include <math.h>
#include <string.h>

#include "tests/hand-digest.h"
#include "tests/pipe-trace.h"
#include "tests/small-trace.h"
#include "tests/subject.h"
#include "tests/tap.h"
#include "viz/critical.h"

/* --- notes */

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
    const struct item *text = find_text(d, "of rank 2"), *target = find_span(d, "B · ", 2 * 8 + 3);
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
    subject_of_ddp_release(&s);
}

/* What the English figure calls wide spans is found in the Korean one, where it may be called otherwise. */
static unsigned check_english_names(const struct figure *f, const struct figure_input *in)
{
    const struct figure_options english = {.width = 1280, .height = 6000};
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
            .width = 1280, .height = 6000, .lang = language_find("ko", NULL), .notes = note};
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
    static const char *const both[] = {"x@bucket 0", "x@버킷 0"}, *const places[] = {"x@F0 rank 2",
                                                                                     "x@F0 랭크 2"};
    struct subject s[2];
    unsigned found[16] = {0}, missing = 1;
    for (unsigned i = 0; i < 100 && missing; i++) {
        subject_make(&s[0], i % 2);
        missing = 0;
        for (unsigned k = 0; figures[k]; k++) {
            const bool alike = figures[k] == &figure_grid || figures[k] == &figure_trend ||
                               figures[k] == &figure_sweep; /* F0, commits, 8 */
            if (!alike && subject_suits(&s[0], figures[k]))
                found[k] += check_english_names(figures[k], subject_input(&s[0], figures[k]));
            missing += !alike && found[k] < 5;
        }
        subject_release(&s[0]);
    }
    g_assert_cmpuint(missing, ==, 0);
    struct scene_spec spec = scene_bert();
    subject_of_ddp(&s[0], &spec);
    memset(&s[1], 0, sizeof s[1]);
    pipe_simulate(&(struct pipe_case){"1f1b", "F=1,B=1,W=1,C=0", 4, 1, 8, 1, 0}, &s[1].trace);
    g_assert_true(analyze(&s[1].trace, &s[1].analysis, NULL));
    s[1].run = (struct figure_input){.trace = &s[1].trace, .analysis = &s[1].analysis};
    for (unsigned i = 0; i < 2; i++) {
        struct figure_options o = {
            .width = 1280, .height = 720, .lang = language_find("ko", NULL), .notes = both[i]};
        struct draw *buckets = draw(&figure_buckets, &s[0].run, &o, NULL);
        o.notes = places[i];
        struct draw *grid = draw(&figure_grid, &s[1].run, &o, NULL);
        g_assert_true(buckets && grid);
        draw_list.cancel(buckets);
        draw_list.cancel(grid);
    }
    subject_of_ddp_release(&s[0]);
    subject_of_ddp_release(&s[1]);
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

/* Not of the topmost rank, which may end it long before the others. */
static void test_end_of_backward(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct subject s = {0};
    int64_t first_ns = INT64_MAX, last_ns = 0;
    char time[32];

    pipe_simulate(&(struct pipe_case){"zbv", "F=1,B=1,W=1,C=0", 4, 2, 8, 1, 0}, &s.trace);
    g_assert_true(analyze(&s.trace, &s.analysis, NULL));
    for (uint32_t rank = 0; rank < 4; rank++) {
        int64_t end_ns = 0;
        for (size_t i = 0; i < s.trace.n_ops; i++)
            if (s.trace.t.lanes[s.trace.ops[i].lane].rank == rank && s.trace.ops[i].tag.kind == OP_BWD_WEIGHT)
                end_ns = MAX(end_ns, s.trace.ops[i].end_ns);
        first_ns = MIN(first_ns, end_ns);
        last_ns = MAX(last_ns, end_ns);
    }
    g_assert_cmpint(first_ns, <, last_ns);
    s.run = (struct figure_input){.trace = &s.trace, .analysis = &s.analysis};
    struct draw *d = draw(&figure_timeline, &s.run, &o, NULL);
    g_autofree char *text = g_strdup_printf("end of backward %s", format_duration(last_ns, time));
    check_figure(d);
    g_assert_cmpuint(count_text(d, text), ==, 1);
    g_assert_cmpuint(count_text(d, "comm"), ==, 0); /* messages take no time: no lanes for them */
    g_assert_true(has_text(d, "bubble "));
    draw_list.cancel(d);
    subject_of_ddp_release(&s);
}

/* --- buckets */

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

/* What only copies hide is not said to be hidden by computation. */
static void test_copies(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct digest d;

    overlap_digest(&d, 0);
    d.n_buckets = 2;
    d.buckets[0].copied_ns = 4 * MS;
    d.buckets[1].copied_ns = 1 * MS;
    struct draw *drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    check_figure(drawn);
    double width[2] = {0,
                       0}; /* beside computation, copies: 2 of 6 ms, and no more than the legend's swatch */
    for (unsigned i = 0; i < drawn->items->len; i++) {
        const struct item *m = item_at(drawn, i);
        const bool bar = m->kind == ITEM_RECT && m->x1 - m->x0 > 30 && !m->hatched;
        width[0] += bar && m->fill == palette_color(palettes[0], ROLE_COMM) ? m->x1 - m->x0 : 0;
        width[1] += bar && m->fill == palette_color(palettes[0], ROLE_PACK) ? m->x1 - m->x0 : 0;
    }
    g_assert_cmpfloat(fabs(width[1] / (width[0] + width[1]) - 5.0 / 7), <, 0.15);
    g_assert_cmpuint(count_text(drawn, "hidden by copies"), ==, 1);
    draw_list.cancel(drawn);
    d.buckets[1].exposed_ns = 0;
    drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    g_assert_true(has_text(drawn, "computation and copies hide all buckets"));
    draw_list.cancel(drawn);
    digest_release(&d);
}

/* All of one rank, as the summary has them: its name is said once, and what an earlier bucket has is neither
 * hidden nor exposed. */
static void test_one_rank(void)
{
    const struct figure_options o = {.width = 1280, .height = 720};
    struct digest d;

    overlap_digest(&d, 0);
    for (uint32_t i = 0; i < 3; i++)
        d.buckets[i].rank = 1;
    d.buckets[2].exposed_ns = 5 * MS;
    struct draw *drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    check_figure(drawn);
    g_assert_true(has_text(drawn, "bucket 2 costs most, 5.0 ms exposed"));
    g_assert_false(has_text(drawn, "exposed on rank"));
    g_assert_true(has_text(drawn, "times of rank 1 from the start of its backward"));
    g_assert_true(has_text(drawn, "waits to begin, or beside an earlier bucket"));
    draw_list.cancel(drawn);
    digest_release(&d);
}

static void test_overlap(void)
{
    struct figure_options o = {.width = 1280, .height = 720, .count_from = 1};
    struct digest d;
    overlap_digest(&d, 0);
    struct draw *drawn = draw(&figure_overlap, &(struct figure_input){.digest = &d}, &o, NULL);
    check_figure(drawn);
    g_assert_true(has_text(drawn, "bucket 3 costs most, 9.0 ms exposed on rank 2"));
    g_assert_true(has_text(drawn, "of each bucket on the rank where it ends last"));
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
        exposed |= m->hatched && fabs(m->x1 - span->x1) < 0.1 &&
                   fabs(9 * (span->x1 - span->x0) - 13 * (m->x1 - m->x0)) < 1;
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
    subject_of_ddp(&s, &spec);
    struct draw *d = draw(&figure_buckets, &s.run, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "3 buckets of up to 2 layers, bucket 0 launched first"));
    const struct item *first = find_text(d, "bucket 0"), *second = find_text(d, "bucket 1"),
                      *third = find_text(d, "bucket 2");
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
    subject_of_ddp_release(&s);
    spec.buckets = 400;
    subject_of_ddp(&s, &spec);
    d = draw(&figure_buckets, &s.run, &o, NULL);
    check_figure(d);
    g_assert_true(has_text(d, "of 400 buckets shown"));
    draw_list.cancel(d);
    subject_of_ddp_release(&s);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/marks/notes", test_notes);
    g_test_add_func("/marks/note-languages", test_note_languages);
    g_test_add_func("/marks/critical", test_critical);
    g_test_add_func("/marks/critical-length", test_critical_length);
    g_test_add_func("/marks/end-of-backward", test_end_of_backward);
    g_test_add_func("/marks/overlap", test_overlap);
    g_test_add_func("/marks/overlap-one-rank", test_one_rank);
    g_test_add_func("/marks/overlap-copies", test_copies);
    g_test_add_func("/marks/buckets", test_buckets);
    return g_test_run();
}
