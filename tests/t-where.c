/* Where a difference is: pieces against a count of every ns, items that add up, and plans of which one thing was made
 * slower, timed by the simulator's sweep, of which exactly that must be said. */
#include <math.h>
#include <string.h>

#include "plan/schedule.h"
#include "profile/compare-out.h"
#include "sim/sim.h"
#include "tests/small-trace.h"
#include "tests/strict-json.h"
#include "tests/tap.h"
#include "tests/work-trace.h"

/* --- pieces */

/* Nanosecond by nanosecond, straight from the definition: the kind, and the lane that it is of. */
static struct where_key naive(const struct trace *trace, uint32_t step, uint32_t rank, int64_t ns)
{
    struct where_key best = {WHERE_IDLE, OP_NONE, OP_NONE, OP_NONE, OP_NONE, OP_NONE};
    int64_t best_end = INT64_MAX;
    for (size_t i = 0; i < trace->n_spans; i++) { /* lane after lane */
        const struct trace_span *s = &trace->spans[i];
        const struct op_tag *tag = &trace->ops[s->op].tag;
        if (trace->t.lanes[s->lane].rank != rank || tag->step != step || s->cls == SPAN_HOST)
            continue;
        int64_t there = s->start_ns;
        uint32_t last = rank;
        for (size_t k = 0; tag->gang != OP_NONE && k < trace->n_ops; k++) {
            const struct trace_op *other = &trace->ops[k];
            if (other->tag.gang != tag->gang || other->tag.step != step)
                continue;
            const uint32_t of = trace->t.lanes[other->lane].rank;
            if (other->start_ns > there || (other->start_ns == there && of < last)) {
                there = other->start_ns;
                last = of;
            }
        }
        const bool waits = s->cls == SPAN_COMM && ns < there;
        const int64_t end = waits ? MIN(there, s->end_ns) : s->end_ns;
        const uint32_t kind = s->cls == SPAN_COMPUTE ? WHERE_COMPUTE
                              : s->cls == SPAN_COPY  ? WHERE_COPY
                              : waits                ? WHERE_WAIT
                                                     : WHERE_TRANSFER;
        if (ns < s->start_ns || ns >= end || kind > best.kind || (kind == best.kind && end >= best_end))
            continue;
        best_end = end;
        best = (struct where_key){kind, waits ? OP_NONE : tag->kind, OP_NONE, OP_NONE, OP_NONE, OP_NONE};
        if (s->cls == SPAN_COMM && tag->bucket != OP_NONE) {
            best.bucket = tag->bucket;
            best.op = waits ? OP_NONE : OP_ALLREDUCE;
        }
        best.peer = waits ? last : OP_NONE;
    }
    return best;
}

/* Some communications of a step become members of one gang, of any ranks. */
static void make_gangs(struct trace *trace, GRand *rand)
{
    for (size_t i = 0; i < trace->n_ops; i++)
        if (trace->t.lanes[trace->ops[i].lane].cls == LANE_COMM)
            trace->ops[i].tag.gang = g_rand_boolean(rand) ? OP_NONE : (uint32_t)g_rand_int_range(rand, 0, 4);
}

static void test_pieces(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (unsigned repeat = 0; repeat < 150; repeat++) {
        struct trace trace;
        struct walk walk;
        small_random(&trace, rand);
        make_gangs(&trace, rand);
        struct analysis a;
        g_assert_true(analyze(&trace, &a, NULL));
        walk_init(&walk, &trace);
        for (uint32_t step = 0; step < trace.n_steps; step++)
            for (uint32_t rank = 0; rank < trace.t.n_ranks; rank++) {
                g_autoptr(GArray) pieces = walk_pieces(&walk, step, rank);
                int64_t at = 0;
                for (guint i = 0; i < pieces->len; i++) {
                    const struct where_piece *p = &g_array_index(pieces, struct where_piece, i);
                    g_assert_cmpint(p->start_ns, ==, at);
                    for (; at < p->end_ns; at++) {
                        const struct where_key key = naive(&trace, step, rank, walk.steps[step].start_ns + at);
                        g_assert_cmpmem(&key, sizeof key, &p->key, sizeof key);
                    }
                }
                g_assert_cmpint(at, ==, a.step_ns[step]);
            }
        walk_release(&walk);
        analysis_release(&a);
        trace_release(&trace);
    }
}

/* --- sums */

static struct trace *random_like(GRand *rand, uint32_t ranks)
{
    for (;;) {
        struct trace *trace = g_new(struct trace, 1);
        small_random(trace, rand);
        make_gangs(trace, rand);
        if (trace->t.n_ranks == ranks)
            return trace;
        trace_release(trace);
        g_free(trace);
    }
}

/* The steps' lower median, from first starts and last ends. */
static int64_t median_step(struct trace *const *traces, unsigned n)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (unsigned t = 0; t < n; t++)
        for (uint32_t step = 0; step < traces[t]->n_steps; step++) {
            int64_t start = INT64_MAX, end = INT64_MIN;
            for (size_t i = 0; i < traces[t]->n_spans; i++) {
                const struct trace_span *s = &traces[t]->spans[i];
                if (traces[t]->ops[s->op].tag.step != step)
                    continue;
                start = MIN(start, s->start_ns);
                end = MAX(end, s->end_ns);
            }
            const int64_t ns = end - start;
            guint at = 0;
            while (at < all->len && g_array_index(all, int64_t, at) < ns)
                at++;
            g_array_insert_val(all, at, ns);
        }
    return g_array_index(all, int64_t, (all->len - 1) / 2);
}

static void check_sums(const struct where *w, int64_t difference_ns, bool one_step)
{
    int64_t items_ns = 0, parts_ns = 0, rest_ns = 0;
    for (unsigned i = 0; i < w->n_items; i++) {
        items_ns += w->items[i].ns;
        rest_ns += w->items[i].what == WHERE_REST ? w->items[i].ns : 0;
    }
    for (uint32_t k = 0; k < w->n_parts; k++)
        parts_ns += w->parts[k].ns[1] - w->parts[k].ns[0];
    g_assert_cmpint(w->step_ns[1] - w->step_ns[0], ==, difference_ns);
    g_assert_cmpint(items_ns, ==, difference_ns);
    if (one_step)
        g_assert_cmpint(rest_ns, ==, 0);
    g_assert_cmpint(parts_ns + rest_ns, ==, difference_ns);
}

static void test_sums(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    for (unsigned repeat = 0; repeat < 300; repeat++) {
        struct trace *traces[2][3];
        struct analysis analyses[2][3];
        struct where_run runs[2][3];
        const uint32_t ranks = (uint32_t)g_rand_int_range(rand, 1, 4);
        unsigned n[2];
        bool one = true;
        for (unsigned side = 0; side < 2; side++) {
            n[side] = (unsigned)g_rand_int_range(rand, 1, 4);
            for (unsigned i = 0; i < n[side]; i++) {
                traces[side][i] = random_like(rand, ranks);
                g_assert_true(analyze(traces[side][i], &analyses[side][i], NULL));
                runs[side][i] = (struct where_run){traces[side][i], &analyses[side][i]};
            }
            one = one && n[side] == 1 && traces[side][0]->n_steps == 1;
        }
        struct where w;
        g_assert_true(where_of_traces(&w, runs[0], n[0], runs[1], n[1], NULL));
        check_sums(&w, median_step(traces[1], n[1]) - median_step(traces[0], n[0]), one);
        g_autofree char *sentence = where_sentence(&w, "BASE", "NEW");
        g_assert_true(g_utf8_validate(sentence, -1, NULL));
        where_release(&w);
        for (unsigned side = 0; side < 2; side++)
            for (unsigned i = 0; i < n[side]; i++) {
                analysis_release(&analyses[side][i]);
                trace_release(traces[side][i]);
                g_free(traces[side][i]);
            }
    }
}

/* --- one thing made slower */

/* What is slower in NEW: ops for which it holds take that many times as long. */
struct change {
    bool (*is)(const struct tables *, const struct op_tag *, const struct lane *);
    double times, jitter; /* of each op's time, in both */
};

enum { MS = 1000000, STEPS = 9 };

static int64_t takes(const struct op_tag *tag)
{
    switch (op_lane_class(tag->kind)) {
    case LANE_COMPUTE:
        return tag->kind == OP_BWD ? 2 * MS : tag->kind == OP_FWD || tag->kind == OP_LOSS ? MS : MS / 10;
    case LANE_COMM:
        return MS / 5 + (int64_t)tag->bytes * 100;
    default:
        return MS / 20;
    }
}

static bool nothing(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t, (void)tag, (void)lane;
    return false;
}

static void add_step(const struct plan *plan, const struct change *c, GRand *rand, uint32_t step, int64_t *base_ns,
                     struct trace *trace)
{
    g_autofree int64_t *cost = g_new(int64_t, plan->n_ops), *start = g_new(int64_t, plan->n_ops),
                       *end = g_new(int64_t, plan->n_ops);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        const double times = c->is(&plan->t, &op->tag, &plan->t.lanes[op->lane]) ? c->times : 1;
        cost[i] = (int64_t)((double)takes(&op->tag) * times * (1 + c->jitter * (g_rand_double(rand) - 0.5)));
    }
    const int64_t makespan = sweep_once(plan, cost, start, end);
    for (uint32_t k = 0; k < plan->n_ops; k++) {
        const uint32_t i = plan->order[k];
        struct trace_op op = {.tag = plan->ops[i].tag,
                              .lane = plan->ops[i].lane,
                              .cost = OP_NONE,
                              .ready_ns = *base_ns + start[i],
                              .start_ns = *base_ns + start[i],
                              .end_ns = *base_ns + end[i],
                              .work_ns = -1};
        op.tag.step = step;
        trace_add_op(trace, &op);
    }
    *base_ns += makespan;
}

static void make_trace(struct plan *plan, const struct change *c, uint32_t seed, struct trace *trace)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    int64_t base_ns = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        plan->ops[i].cost = i; /* a time each */
    trace_init(trace);
    trace_adopt(trace, &plan->t, 0, NULL);
    trace->n_steps = STEPS;
    for (uint32_t step = 0; step < STEPS; step++)
        add_step(plan, c, rand, step, &base_ns, trace);
    trace_finish(trace);
}

static void make_plan(const struct mode *mode, uint8_t algo, struct model **model, struct plan *plan)
{
    const struct model_override small = {.layers = 3, .d = 16, .heads = 2, .ff = 32, .vocab = 50, .seq = 6};
    GError *error = NULL;
    *model = model_load("mini", &small, &error);
    g_assert_no_error(error);
    struct shape shape = {.model = *model,
                          .ranks = 4,
                          .batch = 16,
                          .algo = algo,
                          .overlap = OVERLAP_BACKWARD,
                          .bucket_bytes = 8192,
                          .first_bucket_bytes = 8192};
    if (mode == &mode_pipeline) {
        shape.schedule = schedule_find("1f1b");
        shape.chunks = 8;
        shape.stages_per_rank = 1;
    }
    plan_make(mode, &shape, plan, &error);
    g_assert_no_error(error);
}

static void find(const struct mode *mode, uint8_t algo, const struct change *c, bool slower, struct where *w)
{
    struct change before = *c;
    struct trace traces[2];
    struct analysis analyses[2];
    struct model *model;
    struct plan plan;
    before.is = nothing;
    make_plan(mode, algo, &model, &plan);
    make_trace(&plan, slower ? &before : c, 1, &traces[0]);
    make_trace(&plan, slower ? c : &before, 2, &traces[1]);
    for (unsigned i = 0; i < 2; i++)
        g_assert_true(analyze(&traces[i], &analyses[i], NULL));
    const struct where_run a = {&traces[0], &analyses[0]}, b = {&traces[1], &analyses[1]};
    g_assert_true(where_of_traces(w, &a, 1, &b, 1, NULL));
    check_sums(w, analyses[1].median_ns - analyses[0].median_ns, false);
    for (unsigned i = 0; i < 2; i++) {
        analysis_release(&analyses[i]);
        trace_release(&traces[i]);
    }
    plan_release(&plan);
    model_free(model);
}

/* The first item is that, and most of the difference; says holds the words. */
static void must_be(const struct where *w, unsigned what, const char *says)
{
    g_autofree char *sentence = where_sentence(w, "BASE", "NEW");
    g_test_message("%s", sentence);
    g_assert_cmpuint(w->n_items, >, 0);
    if (w->items[0].what != what || !strstr(sentence, says))
        g_error("item %s, should be %s and '%s': %s", where_what_name(w->items[0].what), where_what_name(what), says,
                sentence);
    g_assert_cmpfloat((double)w->items[0].ns / (double)(w->step_ns[1] - w->step_ns[0]), >, 0.75);
}

static bool layer_of(const struct tables *t, const struct op_tag *tag, const char *name)
{
    return tag->layer0 < t->n_layers && op_lane_class(tag->kind) == LANE_COMPUTE && !strcmp(t->layers[tag->layer0].name, name);
}

static bool attention(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)lane;
    return layer_of(t, tag, "layer1.attention");
}

static bool attention_backward(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    return attention(t, tag, lane) && tag->kind == OP_BWD;
}

static bool block(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)lane;
    return tag->layer0 < t->n_layers && op_lane_class(tag->kind) == LANE_COMPUTE &&
           !strcmp(t->layers[tag->layer0].block, "layer1");
}

static bool all_backward(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t, (void)lane;
    return tag->kind == OP_BWD;
}

static bool rank_two(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t;
    return lane->rank == 2 && op_lane_class(tag->kind) == LANE_COMPUTE;
}

static bool everywhere(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t, (void)lane;
    return op_lane_class(tag->kind) == LANE_COMPUTE;
}

static bool links(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t, (void)lane;
    return op_lane_class(tag->kind) == LANE_COMM;
}

static bool last_bucket(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)lane;
    return op_lane_class(tag->kind) == LANE_COMM && tag->bucket + 1 == t->n_buckets;
}

static bool link_of_two(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t, (void)tag;
    return lane->cls == LANE_COMM && ((lane->rank == 1 && lane->peer == 2) || (lane->rank == 2 && lane->peer == 1));
}

static bool stage_two(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    return rank_two(t, tag, lane);
}

/* A rank begins late: nothing of its own takes longer but the copy before. */
static bool late_input(const struct tables *t, const struct op_tag *tag, const struct lane *lane)
{
    (void)t;
    return tag->kind == OP_INPUT && lane->rank == 1;
}

static const struct {
    const char *name;
    const struct mode *mode;
    uint8_t algo;
    struct change change;
    unsigned what;
    const char *says;
} cases[] = {
    {"layer", &mode_ddp, ALLREDUCE_WHOLE, {attention, 1.5, 0}, WHERE_LAYERS, "more in layer1.attention on every rank (1.5"},
    {"layer-noisy", &mode_ddp, ALLREDUCE_RING, {attention, 2, 0.04}, WHERE_LAYERS, "in layer1.attention on every rank"},
    {"layer-backward", &mode_ddp, ALLREDUCE_RING, {attention_backward, 1.5, 0}, WHERE_LAYERS, "in backward of layer1.attention on every rank"},
    {"block", &mode_ddp, ALLREDUCE_WHOLE, {block, 1.5, 0.02}, WHERE_LAYERS, "in layer1 on every rank"},
    {"backward", &mode_ddp, ALLREDUCE_RING, {all_backward, 1.3, 0}, WHERE_PHASE + PHASE_BACKWARD, "in backward on every rank (1.2"},
    {"rank", &mode_ddp, ALLREDUCE_RING, {rank_two, 1.25, 0}, WHERE_THROUGHOUT, "in all computation on rank 2 (throughout 1.25 times"},
    {"rank-noisy", &mode_ddp, ALLREDUCE_WHOLE, {rank_two, 1.25, 0.04}, WHERE_THROUGHOUT, "in all computation on rank 2 (throughout 1.2"},
    {"all", &mode_ddp, ALLREDUCE_RING, {everywhere, 1.25, 0}, WHERE_THROUGHOUT, "in all computation on every rank"},
    {"links", &mode_ddp, ALLREDUCE_RING, {links, 3, 0}, WHERE_BUCKETS, "all-reduces of several buckets (3.00 times"},
    {"bucket", &mode_ddp, ALLREDUCE_WHOLE, {last_bucket, 3, 0}, WHERE_BUCKET, "in the exposed all-reduce of bucket "},
    {"late", &mode_ddp, ALLREDUCE_WHOLE, {late_input, 400, 0}, WHERE_COPIES, "in copies"},
    {"link", &mode_pipeline, ALLREDUCE_WHOLE, {link_of_two, 8, 0}, WHERE_MESSAGE, "in messages between rank "},
    {"stage", &mode_pipeline, ALLREDUCE_WHOLE, {stage_two, 1.5, 0}, WHERE_THROUGHOUT, "in all computation on rank 2"},
};

static void test_case(gconstpointer data)
{
    const unsigned i = GPOINTER_TO_UINT(data);
    for (unsigned slower = 0; slower < 2; slower++) {
        struct where w;
        find(cases[i].mode, cases[i].algo, &cases[i].change, slower, &w);
        if (slower)
            must_be(&w, cases[i].what, cases[i].says);
        else
            g_assert_cmpuint(w.items[0].what, ==, cases[i].what);
        g_assert_cmpint(w.items[0].ns > 0, ==, slower);
        if (strstr(cases[i].says, "every rank") && cases[i].change.jitter == 0)
            g_assert_cmpuint(w.rank, ==, 0); /* the lowest among equals */
        where_release(&w);
    }
}

/* --- from measurements */

static void test_measurements(void)
{
    static const int64_t before[MEASUREMENT_PARTS] = {100, 30, 50, 5, 10}, after[MEASUREMENT_PARTS] = {131, 31, 49, 5, 36};
    struct measurement a = {.has_parts = true}, b = {.has_parts = true}, none = {0};
    struct measurement *runs[] = {&a, &b, &none};
    struct where w;
    for (unsigned i = 0; i < MEASUREMENT_PARTS; i++) {
        a.part_ns[i] = before[i] * MS;
        b.part_ns[i] = after[i] * MS;
    }
    const struct side base = {"BASE", &runs[0], 1}, new = {"NEW", &runs[1], 1}, unknown = {"NEW", &runs[1], 2};
    g_assert_true(where_of_measurements(&w, &base, &new));
    g_assert_false(w.traced);
    g_assert_cmpuint(w.items[0].what, ==, WHERE_EXPOSED);
    g_assert_cmpint(w.items[0].ns, ==, 26 * MS);
    int64_t sum_ns = 0;
    for (unsigned i = 0; i < w.n_items; i++)
        sum_ns += w.items[i].ns;
    g_assert_cmpint(sum_ns, ==, 31 * MS);
    g_autofree char *sentence = where_sentence(&w, "BASE", "NEW");
    g_assert_cmpstr(sentence, ==,
                    "NEW is 31.0 ms (31.0 %) slower than BASE: 26.0 ms more in exposed communication, 5.00 ms more idle or in "
                    "what the reports do not tell apart");
    where_release(&w);
    g_assert_false(where_of_measurements(&w, &base, &unknown));
}

/* --- clocks */

static void test_clock(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    struct trace *traces[2];
    struct analysis analyses[2];
    struct where w;
    for (unsigned i = 0; i < 2; i++) {
        traces[i] = random_like(rand, 2);
        g_assert_true(analyze(traces[i], &analyses[i], NULL));
        trace_fact_text(traces[i], "gpu 0 clocks before", "SM 100 of 1980 MHz");
        trace_fact_text(traces[i], "gpu 0 clocks after", i ? "SM 1800 of 1980 MHz, memory 5 MHz" : "SM 2000 MHz");
    }
    const struct where_run a = {traces[0], &analyses[0]}, b = {traces[1], &analyses[1]};
    g_assert_true(where_of_traces(&w, &a, 1, &b, 1, NULL));
    g_autofree char *sentence = where_sentence(&w, "BASE", "NEW");
    g_assert_true(g_str_has_suffix(sentence, "; GPU clock 10 % lower"));
    where_release(&w);
    for (unsigned i = 0; i < 2; i++) {
        analysis_release(&analyses[i]);
        trace_release(traces[i]);
        g_free(traces[i]);
    }
}

/* --- outputs */

#define HOSTILE "a|b<script>&\"'`*_[x](y)\n\x01\xff%0A::error::\\|"

/* Names of layers are markup everywhere. */
static void test_hostile(void)
{
    struct where w;
    struct measurement run = {.name = (char *)"r.json"};
    struct measurement *runs[] = {&run};
    struct comparison c = {.verdict = VERDICT_SLOWER, .armed = 1};
    c.of[METRIC_STEP] = (struct compared){.there = true, .verdict = VERDICT_SLOWER, .n = {9, 9}, .median = {1e8, 2e8}, .difference = 1e8};
    find(&mode_ddp, ALLREDUCE_WHOLE, &cases[0].change, true, &w);
    for (uint32_t i = 0; i < w.t.n_layers; i++)
        w.t.layers[i].name = w.t.layers[i].block = HOSTILE;
    const struct compared_sides sides = {{"BASE", runs, 1}, {"NEW", runs, 1}, false, "compare", &w};
    g_autoptr(GString) xml = g_string_new(NULL), md = g_string_new(NULL), json = g_string_new(NULL), notes = g_string_new(NULL),
                       text = g_string_new(NULL);
    comparison_junit(&c, &sides, xml);
    comparison_markdown(&c, &sides, MARKDOWN_ROOM, md);
    comparison_json(&c, &sides, json);
    comparison_annotations(&c, &sides, notes);
    comparison_print(&c, &sides, text);
    static const GMarkupParser nothing = {0};
    g_autoptr(GError) error = NULL;
    GMarkupParseContext *context = g_markup_parse_context_new(&nothing, 0, NULL, NULL);
    g_markup_parse_context_parse(context, xml->str, (gssize)xml->len, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
    g_assert_nonnull(strstr(xml->str, "&lt;script&gt;"));
    g_assert_null(strstr(md->str, "<script"));
    g_assert_null(strstr(md->str, "a|b"));
    g_assert_cmpstr(strchr(notes->str, '\n'), ==, "\n");
    g_assert_null(strstr(notes->str, "%0A"));
    g_assert_null(strpbrk(text->str, "\x01\xff"));
    struct strict_json *j = strict_json_parse(json->str);
    g_assert_nonnull(j);
    g_assert_nonnull(strict_json_get(strict_json_get(j, "where"), "items"));
    strict_json_free(j);
    where_release(&w);
}

static void test_other_work(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    g_autoptr(GError) error = NULL;
    struct trace *one = random_like(rand, 1), *two = random_like(rand, 2);
    struct analysis a, b;
    struct where w;
    g_assert_true(analyze(one, &a, NULL) && analyze(two, &b, NULL));
    const struct where_run x = {one, &a}, y = {two, &b};
    g_assert_false(where_of_traces(&w, &x, 1, &y, 1, &error));
    g_assert_nonnull(strstr(error->message, "same work"));
    analysis_release(&a);
    analysis_release(&b);
    trace_release(one);
    trace_release(two);
    g_free(one);
    g_free(two);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/where/pieces", test_pieces);
    g_test_add_func("/where/sums", test_sums);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *name = g_strdup_printf("/where/slower/%s", cases[i].name);
        g_test_add_data_func(name, GUINT_TO_POINTER(i), test_case);
    }
    g_test_add_func("/where/measurements", test_measurements);
    g_test_add_func("/where/clock", test_clock);
    g_test_add_func("/where/hostile", test_hostile);
    g_test_add_func("/where/other-work", test_other_work);
    return g_test_run();
}
