/* What differs between two steps, cell by cell, of traces by hand, and the bars that say so. */
#include <string.h>

#include "tests/check-drawn.h"
#include "tests/scene.h"
#include "tests/small-trace.h"
#include "tests/tap.h"
#include "viz/deltas.h"
#include "viz/figure.h"

#define MS 1000000

/* A rank: forward in two parts, backward, two buckets and the optimizer; ends, in ms. */
struct times {
    double forward[2], backward, bucket[2], optimizer;
};

static void add(struct trace *t, unsigned kind, unsigned cls, uint32_t bucket, double from_ms, double to_ms)
{
    struct trace_op op =
        small_op(kind, small_lane(0, cls, 0), 0, (int64_t)(from_ms * MS), (int64_t)(to_ms * MS));
    op.tag.bucket = bucket;
    op.tag.coll = cls == LANE_COMM ? 7 + bucket + (uint32_t)to_ms : OP_NONE; /* numbers of plans differ */
    trace_add_op(t, &op);
}

static void make(struct trace *t, const struct times *at)
{
    small_init(t, 1, 2);
    t->n_steps = 1;
    add(t, OP_FWD, LANE_COMPUTE, OP_NONE, 0, at->forward[0]);
    add(t, OP_LOSS, LANE_COMPUTE, OP_NONE, at->forward[0], at->forward[0] + 5);
    add(t, OP_FWD, LANE_COMPUTE, OP_NONE, at->forward[0] + 5, at->forward[1]);
    add(t, OP_BWD, LANE_COMPUTE, OP_NONE, at->forward[1], at->backward);
    add(t, OP_ALLREDUCE, LANE_COMM, 0, at->backward, at->bucket[0]);
    add(t, OP_ALLREDUCE, LANE_COMM, 1, at->bucket[0], at->bucket[1]);
    if (at->optimizer > at->bucket[1])
        add(t, OP_OPTIM, LANE_COMPUTE, OP_NONE, at->bucket[1], at->optimizer);
    trace_finish(t);
}

/* Forward and the second bucket are as they were; backward is 30 ms longer, the first bucket 20 ms shorter;
 * half a millisecond of 460 is none. */
static const struct times before = {{50, 100}, 300, {400, 450}, 460},
                          after = {{50, 100}, 330, {410, 460}, 470.5};

static GArray *find(const struct times *a, const struct times *b)
{
    const uint32_t rank = 0;
    struct trace first, second;
    struct step_rows x, y;
    make(&first, a);
    make(&second, b);
    g_assert_true(rows_collect(&x, &first, 0, 1, &rank));
    g_assert_true(rows_collect(&y, &second, 0, 1, &rank));
    GArray *found = deltas_find(&x.rows[0], &y.rows[0], x.span_ns);
    rows_release(&x);
    rows_release(&y);
    trace_release(&first);
    trace_release(&second);
    return found;
}

static void check(const GArray *found, unsigned i, unsigned kind, bool comm, double ms, double end_ms)
{
    const struct delta *d = &g_array_index(found, struct delta, i);
    g_assert_cmpuint(d->cell.kind, ==, kind);
    g_assert_true(d->comm == comm);
    g_assert_cmpint(d->ns, ==, (int64_t)(ms * MS));
    g_assert_cmpint(d->cell.end_ns, ==, (int64_t)(end_ms * MS));
}

static void test_cells(void)
{
    g_autoptr(GArray) found = find(&before, &after);
    g_assert_cmpuint(found->len, ==, 2);
    check(found, 0, OP_BWD, false, 30, 330);
    check(found, 1, OP_ALLREDUCE, true, -20, 410);
    g_assert_cmpuint(g_array_index(found, struct delta, 1).cell.first, ==, 0);
    g_autoptr(GArray) same = find(&before, &before);
    g_assert_cmpuint(same->len, ==, 0);
}

/* The first of two equal cells got longer by what the second one got shorter: both differ. */
static void test_pairs(void)
{
    struct times other = before;
    other.forward[0] = 62;
    g_autoptr(GArray) found = find(&before, &other);
    g_assert_cmpuint(found->len, ==, 2);
    check(found, 0, OP_FWD, false, 12, 62);
    check(found, 1, OP_FWD, false, -12, 100);
}

/* What only one of them has is no difference of a cell. */
static void test_missing(void)
{
    struct times other = before;
    other.optimizer = 0;
    g_autoptr(GArray) found = find(&before, &other), found_back = find(&other, &before);
    g_assert_cmpuint(found->len + found_back->len, ==, 0);
}

/* --- as drawn */

static const struct item *text_of(const struct draw *d, const char *text)
{
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->text && !strcmp(item_at(d, i)->text, text))
            return item_at(d, i);
    g_error("no '%s'", text);
}

static const struct item *span_of(const struct draw *d, const char *start)
{
    const struct item *last = NULL;
    for (unsigned i = 0; i < d->items->len; i++)
        if (item_at(d, i)->kind == ITEM_SPAN && g_str_has_prefix(item_at(d, i)->name, start))
            last = item_at(d, i);
    if (!last)
        g_error("nothing says '%s'", start);
    return last;
}

static unsigned count_rects(const struct draw *d, const struct item *where)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->items->len; i++) {
        const struct item *m = item_at(d, i);
        n += m->kind == ITEM_RECT && m->x0 >= where->x0 - EPSILON && m->x1 <= where->x1 + EPSILON &&
             m->y0 >= where->y0 - EPSILON && m->y1 <= where->y1 + EPSILON;
    }
    return n;
}

static void test_bars(void)
{
    struct trace first, second;
    struct analysis a, b;
    struct digest digest;
    make(&first, &before);
    make(&second, &after);
    g_assert_true(analyze(&first, &a, NULL) && analyze(&second, &b, NULL));
    digest_make(&digest, &(struct report){.trace = &second, .analysis = &b});
    const struct variant other = {"then", &first, &a, NULL};
    const struct figure_input in = {
        .trace = &second, .analysis = &b, .digest = &digest, .file = "now", .others = &other, .n_others = 1};
    const struct figure_options o = {.width = 1280, .height = 720};
    struct draw *d =
        draw_list.begin(&(struct canvas){.width = o.width, .height = o.height, .title = "t"}, NULL);
    g_assert_true(figure_draw(&figure_compare, &in, &o, &draw_list, d, NULL));
    check_inside(d);
    check_apart(d);
    g_assert_true(text_of(d, "most: B +30.0 ms")->size >= text_of(d, "bucket 0 −20.0 ms")->size);
    const struct item *longer = span_of(d, "B +30"), *cell = span_of(d, "B · 230"),
                      *shorter = span_of(d, "bucket 0 −20"),
                      *bucket = span_of(d, "bucket 0 · 1.0 MiB · 80.0 ms");
    const double ms = (bucket->x0 - cell->x0) / 230;
    g_assert_cmpfloat(fabs(longer->x1 - longer->x0 - 30 * ms), <, 0.1);
    g_assert_cmpfloat(fabs(longer->x1 - bucket->x0), <, 0.1); /* the end of backward */
    g_assert_cmpfloat(longer->y1, <=, cell->y0);
    g_assert_cmpfloat(fabs(shorter->x1 - shorter->x0 - 20 * ms), <, 0.1);
    g_assert_cmpfloat(fabs(shorter->x0 - bucket->x0 - 80 * ms), <, 0.1);
    g_assert_cmpfloat(shorter->y0, >=, bucket->y1);
    g_assert_cmpuint(count_rects(d, longer), ==, 1);
    g_assert_cmpuint(count_rects(d, shorter), ==, 2); /* hollow */
    draw_list.cancel(d);
    digest_release(&digest);
    analysis_release(&a);
    analysis_release(&b);
    trace_release(&first);
    trace_release(&second);
}

/* Ranks without room are named; shown are the first, the slowest and the one that differs most. */
static void test_ranks(void)
{
    struct scene_spec spec = scene_bert();
    struct trace first, second;
    struct analysis a, b;
    struct digest digest;
    spec.ranks = 16;
    spec.buckets = 0;
    scene_make(&spec, &first);
    spec.skew = 0.1;
    scene_make(&spec, &second); /* the last rank is slower */
    for (size_t i = 0; i < second.n_spans; i++) {
        struct trace_span *span = &second.spans[i];
        struct trace_op *op = &second.ops[span->op];
        if (second.t.lanes[op->lane].rank == 6 && op->tag.kind == OP_BWD)
            span->end_ns = op->end_ns = op->start_ns + (op->end_ns - op->start_ns) / 4;
    }
    g_assert_true(analyze(&first, &a, NULL) && analyze(&second, &b, NULL));
    digest_make(&digest, &(struct report){.trace = &second, .analysis = &b});
    const struct variant other = {"then", &first, &a, NULL};
    const struct figure_input in = {
        .trace = &second, .analysis = &b, .digest = &digest, .file = "now", .others = &other, .n_others = 1};
    for (unsigned from = 0; from < 2; from++) {
        const struct figure_options o = {.width = 1280, .height = 720, .count_from = from};
        struct draw *d =
            draw_list.begin(&(struct canvas){.width = o.width, .height = o.height, .title = "t"}, NULL);
        g_assert_true(figure_draw(&figure_compare, &in, &o, &draw_list, d, NULL));
        check_inside(d);
        check_apart(d);
        static const unsigned shown[] = {0, 1, 2, 6, 15};
        double y = 0;
        for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++) {
            g_autofree char *name = g_strdup_printf("rank %u", shown[i] + from);
            const struct item *at = text_of(d, name);
            g_assert_cmpfloat(at->y0, >, y);
            y = at->y0;
        }
        text_of(d, from ? "not shown: 11 of 16 ranks (4–6, 8–15); shown: the first, the slowest, and where "
                          "most differs"
                        : "not shown: 11 of 16 ranks (3–5, 7–14); shown: the first, the slowest, and where "
                          "most differs");
        draw_list.cancel(d);
    }
    digest_release(&digest);
    analysis_release(&a);
    analysis_release(&b);
    trace_release(&first);
    trace_release(&second);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/deltas/cells", test_cells);
    g_test_add_func("/deltas/pairs", test_pairs);
    g_test_add_func("/deltas/missing", test_missing);
    g_test_add_func("/deltas/bars", test_bars);
    g_test_add_func("/deltas/ranks", test_ranks);
    return g_test_run();
}
