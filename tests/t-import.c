/* Traces and costs from files: what was exported comes back to the byte; whatever a file says, the result can
 * be analysed and drawn, or the error is clear. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/export.h"
#include "profile/import.h"
#include "profile/report.h"
#include "sim/sim.h"
#include "tests/draw-list.h"
#include "tests/hand-plan.h"
#include "tests/scene.h"
#include "tests/small-trace.h"
#include "tests/tap.h"
#include "viz/figure.h"

static GString *exported(const struct trace *trace)
{
    GString *out = g_string_new(NULL);
    export_chrome(trace, out);
    return out;
}

/* From a copy of just these bytes, so that a sanitizer sees a read beyond them. */
static bool import_copy(const char *text, size_t n, struct trace *trace, GError **error)
{
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    bool ok = import_trace(copy, n, "t.json", trace, error);
    free(copy);
    return ok;
}

static void check_round_trip(const struct trace *trace)
{
    GError *error = NULL;
    struct trace back;
    GString *first = exported(trace);
    import_copy(first->str, first->len, &back, &error);
    g_assert_no_error(error);
    GString *second = exported(&back);
    g_assert_cmpstr(first->str, ==, second->str);
    g_assert_cmpuint(back.n_ops, ==, trace->n_ops);
    g_assert_true(back.cancelled == trace->cancelled && back.n_steps == trace->n_steps);
    for (size_t i = 0; i < trace->n_ops; i++)
        g_assert_cmpint(back.ops[i].work_ns, ==, trace->ops[i].work_ns);
    g_assert_cmpuint(back.n_spans, ==, trace->n_spans);
    for (size_t i = 0; i < trace->n_spans; i++) {
        g_assert_cmpstr(back.spans[i].name, ==, trace->spans[i].name);
        g_assert_cmpuint(back.spans[i].cls, ==, trace->spans[i].cls);
        g_assert_cmpuint(back.spans[i].lane, ==, trace->spans[i].lane);
        g_assert_cmpuint(back.spans[i].op, ==, trace->spans[i].op);
    }
    g_assert_cmpuint(back.n_facts, ==, trace->n_facts);
    for (uint32_t i = 0; i < trace->n_facts; i++)
        g_assert_cmpstr(trace_fact_value(&back, trace->facts[i].key), ==, trace->facts[i].value);
    for (uint32_t i = 0; i < trace->t.n_lanes; i++)
        g_assert_cmpuint(back.t.lanes[i].node, ==, trace->t.lanes[i].node);
    for (uint32_t i = 0; i < trace->n_costs; i++) {
        g_assert_cmpuint(MAX(back.costs[i].nodes, 1), ==, MAX(trace->costs[i].nodes, 1));
        g_assert_cmpmem(back.costs[i].gemms, sizeof back.costs[i].gemms, trace->costs[i].gemms,
                        sizeof trace->costs[i].gemms);
    }
    g_string_free(first, TRUE);
    g_string_free(second, TRUE);
    trace_release(&back);
}

/* What uses a trace takes it, or says why not. */
static void use(const struct trace *trace)
{
    struct analysis a;
    GError *error = NULL;
    cost_table_free(trace_costs(trace));
    g_string_free(exported(trace), TRUE);
    if (!analyze(trace, &a, &error)) {
        g_assert_nonnull(error);
        g_error_free(error);
        return;
    }
    struct report report = {.trace = trace, .analysis = &a, .backend = "cpu"};
    GString *out = g_string_new(NULL);
    report_json(&report, out);
    report_print(&report, out);
    g_string_free(out, TRUE);
    struct digest digest;
    digest_make(&digest, &report);
    struct figure_input in = {.trace = trace, .analysis = &a, .digest = &digest};
    struct figure_options options = {.width = 1280, .height = 720};
    for (unsigned i = 0; figures[i]; i++) {
        GBytes *bytes = figure_render(figures[i], &in, &options, &draw_list, &error);
        g_assert_true(!bytes == !!error);
        g_clear_pointer(&bytes, g_bytes_unref);
        g_clear_error(&error);
    }
    digest_release(&digest);
    analysis_release(&a);
}

/* Takes the text; whether it is a trace that can be used. */
static bool try_import(const char *text, size_t n)
{
    struct trace trace;
    GError *error = NULL;
    if (!import_copy(text, n, &trace, &error)) {
        g_assert_true(error && g_str_has_prefix(error->message, "t.json:"));
        g_error_free(error);
        return false;
    }
    g_assert_no_error(error);
    use(&trace);
    trace_release(&trace);
    return true;
}

static void decorate(struct trace *trace, GRand *rand)
{
    uint32_t ranks = trace->t.n_ranks;
    static const char *const names[] = {"\"\\\n\x01", "\u00e4\u65e5\U0001f600", "", "a b"};
    static const uint64_t big[] = {0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 53 | 1};
    trace->t.mode = g_rand_boolean(rand) ? NULL : names[g_rand_int_range(rand, 0, 4)];
    for (uint32_t i = 0; i < trace->t.n_lanes; i++) {
        trace->t.lanes[i].name = names[g_rand_int_range(rand, 0, 4)];
        trace->t.lanes[i].peer =
            g_rand_boolean(rand) ? OP_NONE : (uint32_t)g_rand_int_range(rand, 0, (gint32)ranks);
        trace->t.lanes[i].node = g_rand_int(rand) >> g_rand_int_range(rand, 1, 32);
    }
    trace->n_costs = 5;
    trace->costs = g_new0(struct cost_key, trace->n_costs);
    for (uint32_t i = 0; i < trace->n_costs; i++)
        trace->costs[i] = (struct cost_key){.shape = names[i % 4],
                                            .bytes = big[i],
                                            .flops = big[4 - i],
                                            .share = g_rand_double(rand),
                                            .rows = UINT32_MAX,
                                            .members = 7,
                                            .nodes = (uint16_t)i,
                                            .kind = (uint8_t)(OP_KINDS - 1 - i),
                                            .algo = (uint8_t)(i % ALLREDUCES),
                                            .gemms = {{i + 1, 2, 3, 4}, {5, UINT32_MAX, 0, i}}};
    for (size_t i = 0; i < trace->n_ops; i++) {
        struct trace_op *op = &trace->ops[i];
        op->cost = (uint32_t)g_rand_int_range(rand, 0, 5);
        op->work_ns = g_rand_boolean(rand) ? -1 : op->end_ns - op->start_ns;
        op->tag.bytes = big[g_rand_int_range(rand, 0, 5)];
        op->tag.algo = (uint8_t)g_rand_int_range(rand, 0, ALLREDUCES);
        op->tag.micro = g_rand_int(rand) | 1;
        op->tag.gang = g_rand_boolean(rand) ? OP_NONE : (uint32_t)g_rand_int_range(rand, 0, 9);
        op->tag.chunk = op->tag.hop = (uint16_t)g_rand_int_range(rand, 0, UINT16_MAX + 1);
    }
    trace->loss = g_new(double, trace->n_steps);
    for (uint32_t i = 0; i < trace->n_steps; i++)
        trace->loss[i] = i ? g_rand_double(rand) : NAN;
    trace->weight_hash = g_new(uint64_t, ranks);
    trace->memory_measured = g_new(uint64_t, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        trace->weight_hash[i] = trace->memory_measured[i] = big[i % 5];
    uint64_t *bytes = g_new(uint64_t, ranks * 3);
    for (uint32_t i = 0; i < ranks * 3; i++)
        bytes[i] = big[g_rand_int_range(rand, 0, 5)];
    trace_memory(trace, 3, op_label, bytes);
    trace->memory_touched = g_rand_boolean(rand) ? NULL : g_memdup2(bytes, ranks * 3 * sizeof *bytes);
    trace_label(trace, "engine", "%s", names[0]);
    trace_label(trace, names[0], "%s", names[1]);
    trace->simulated = g_rand_boolean(rand);
    trace->cancelled = g_rand_boolean(rand);
}

static void test_random(void)
{
    GRand *rand = g_rand_new_with_seed(3);
    for (int round = 0; round < 200; round++) {
        struct trace trace;
        small_random(&trace, rand);
        if (round % 2)
            decorate(&trace, rand);
        if (round % 4 > 1) {
            small_kernels(&trace, rand, true);
            trace_fact_text(&trace, "gpu", "H200 \"\n\u00e4");
            trace_fact_text(&trace, "records dropped", "3");
        }
        check_round_trip(&trace);
        use(&trace);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

static void test_scenes(void)
{
    struct scene_spec specs[] = {scene_bert(), scene_bert(), scene_bert()};
    specs[1].steps = 3, specs[1].micro = 2, specs[1].jitter = 0.1, specs[1].broadcast = true;
    specs[2].ranks = 1, specs[2].buckets = 0, specs[2].overlap = false;
    for (unsigned i = 0; i < G_N_ELEMENTS(specs); i++) {
        struct trace trace;
        scene_make(&specs[i], &trace);
        check_round_trip(&trace);
        GString *text = exported(&trace);
        g_assert_true(try_import(text->str, text->len));
        g_string_free(text, TRUE);
        trace_release(&trace);
    }
}

static bool flat_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                       GError **error)
{
    (void)model, (void)error;
    out->alone_ns = (int64_t)(key->bytes / 16 + key->flops / 64) + 1;
    out->work_ns = out->alone_ns;
    return true;
}

static void run_engine(const struct engine *engine, struct run *run, const struct shape *shape,
                       struct trace *trace)
{
    static const struct cost_model costs = {"flat", flat_price};
    GError *error = NULL;
    struct plan plan;
    plan_make(shape->ranks > 1 ? &mode_ddp : &mode_single, shape, &plan, &error);
    g_assert_no_error(error);
    plan_place(&plan);
    run->plan = &plan;
    run->model = shape->model;
    run->costs = &costs;
    trace_init(trace);
    engine->run(run, trace, &error);
    g_assert_no_error(error);
    plan_release(&plan);
}

/* Every overlap with every algorithm, on both engines; one rank; accumulation, clipping, the first iteration.
 */
static void test_engines(void)
{
    struct model *model = tiny_model(DTYPE_F32);
    for (unsigned i = 0; i < 2 * OVERLAPS * ALLREDUCES + 1; i++) {
        unsigned overlap = i / 2 % OVERLAPS, algo = i / 2 / OVERLAPS % ALLREDUCES;
        const struct engine *engine = i % 2 ? &sim_engine : &cpu_engine;
        struct shape shape = {.model = model,
                              .ranks = i ? 3 : 1,
                              .batch = 5,
                              .overlap = (uint8_t)overlap,
                              .algo = (uint8_t)(engine->real && algo == 0 ? ALLREDUCE_RING : algo),
                              .bucket_bytes = 600,
                              .first_bucket_bytes = 100,
                              .accumulate = i % 3,
                              .clip = overlap != OVERLAP_OPTIMIZER && i % 4 == 0,
                              .first_iteration = i % 5 == 0};
        struct run run = {.steps = 3, .lr = 0.1, .clip_norm = shape.clip, .link_gbps = 10, .link_us = 1};
        struct trace trace;
        run_engine(engine, &run, &shape, &trace);
        check_round_trip(&trace);
        use(&trace);
        trace_release(&trace);
    }
    volatile int cancel = 1;
    struct run run = {.steps = 3, .cancel = &cancel};
    struct shape shape = {.model = model, .ranks = 1, .batch = 2};
    struct trace trace;
    run_engine(&cpu_engine, &run, &shape, &trace);
    g_assert_true(trace.cancelled && trace.n_steps == 0);
    check_round_trip(&trace);
    trace_release(&trace);
    model_free(model);
}

/* Three steps on two ranks, as small as a trace with all in it can be. */
static GString *sample(void)
{
    static const uint64_t memory[2] = {70, 60};
    struct trace trace;
    small_init(&trace, 2, 1);
    struct layer_row layers[] = {{"layer0", "layer0", 0, 2}};
    struct param_row params[] = {{"weight", 12, 0, 0}, {"bias", 34, 0, 0}};
    static const uint32_t members[] = {1, 0};
    struct cost_key cost = {.shape = "attention d8", .bytes = 9, .share = 0.1, .members = 1, .kind = OP_FWD};
    trace.t.n_layers = 1;
    trace.t.layers = g_memdup2(layers, sizeof layers);
    trace.t.n_params = 2;
    trace.t.params = g_memdup2(params, sizeof params);
    trace.t.bucket_params = g_memdup2(members, sizeof members);
    trace.t.buckets[0] = (struct bucket_row){46, 0, 2, 1};
    trace.n_costs = 1;
    trace.costs = g_memdup2(&cost, sizeof cost);
    trace_memory(&trace, 1, op_label, g_memdup2(memory, sizeof memory));
    trace.n_steps = 3;
    for (uint32_t step = 0; step < 3; step++)
        for (uint32_t rank = 0; rank < 2; rank++) {
            int64_t base = 100 * step;
            struct trace_op ops[] = {
                small_op(OP_FWD, small_lane(rank, 0, 0), step, base, base + 20),
                small_op(OP_BWD, small_lane(rank, 0, 0), step, base + 20, base + 50),
                small_op(OP_ALLREDUCE, small_lane(rank, 1, 0), step, base + 40 + rank, base + 70),
                small_op(OP_OPTIM, small_lane(rank, 0, 0), step, base + 70, base + 80)};
            ops[0].cost = 0;
            ops[0].work_ns = 15;
            ops[0].tag.layer0 = ops[1].tag.layer0 = 0;
            ops[0].tag.layer1 = ops[1].tag.layer1 = 1;
            ops[2].tag.bucket = ops[2].tag.gang = ops[2].tag.coll = 0;
            for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++)
                trace_add_op(&trace, &ops[i]);
        }
    trace_finish(&trace);
    GString *text = exported(&trace);
    trace_release(&trace);
    return text;
}

/* Cut at every byte: the whole steps, which grow, or an error. */
static void test_cut(void)
{
    GString *text = sample();
    uint32_t steps = 0;
    for (size_t n = 0; n <= text->len; n++) {
        struct trace trace;
        GError *error = NULL;
        if (!import_copy(text->str, n, &trace, &error)) {
            g_assert_true(steps == 0 && g_str_has_prefix(error->message, "t.json:"));
            g_error_free(error);
            continue;
        }
        g_assert_cmpuint(trace.n_steps, >=, MAX(steps, 1));
        g_assert_cmpuint(trace.n_ops, ==, 8 * trace.n_steps);
        g_assert_cmpuint(trace.n_spans, ==, 8 * trace.n_steps);
        g_assert_true(!trace_label_value(&trace, "cut") == (trace.n_steps == 3));
        steps = trace.n_steps;
        use(&trace);
        trace_release(&trace);
    }
    g_assert_cmpuint(steps, ==, 3);
    g_string_free(text, TRUE);
}

static void test_flips(void)
{
    GRand *rand = g_rand_new_with_seed(4);
    GString *text = sample();
    for (int round = 0; round < 6000; round++) {
        g_autofree char *copy = g_memdup2(text->str, text->len);
        for (int i = round % 3 == 0 ? 100 : 1; i > 0; i--)
            copy[g_rand_int_range(rand, 0, (gint32)text->len)] ^= (char)(1 << g_rand_int_range(rand, 0, 8));
        try_import(copy, text->len);
    }
    g_string_free(text, TRUE);
    g_rand_free(rand);
}

/* A number of the file replaced by another: what flips of bits seldom find. */
static void test_numbers(void)
{
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "7",
                                          "4294967294",
                                          "4294967295",
                                          "1e9",
                                          "9223372036854775807",
                                          "18446744073709551615",
                                          "-1",
                                          "0.5",
                                          "1e400",
                                          "null"};
    GRand *rand = g_rand_new_with_seed(5);
    GString *text = sample();
    GArray *places = g_array_new(FALSE, FALSE, sizeof(size_t));
    for (size_t i = 1; i < text->len; i++)
        if (strchr(":[,", text->str[i - 1]) && g_ascii_isdigit(text->str[i]))
            g_array_append_val(places, i);
    unsigned good = 0;
    for (int round = 0; round < 6000; round++) {
        size_t at = g_array_index(places, size_t, g_rand_int_range(rand, 0, (gint32)places->len));
        size_t n = strspn(text->str + at, "0123456789.");
        g_autofree char *changed =
            g_strdup_printf("%.*s%s%s", (int)at, text->str,
                            numbers[g_rand_int_range(rand, 0, G_N_ELEMENTS(numbers))], text->str + at + n);
        good += try_import(changed, strlen(changed));
    }
    g_assert_cmpuint(good, >, 0);
    g_array_unref(places);
    g_string_free(text, TRUE);
    g_rand_free(rand);
}

/* One place of the sample changed, and what the error says; NULL: none. */
static void test_contradictions(void)
{
    static const struct {
        const char *from, *to, *error;
    } cases[] = {
        {"parprof.trace/1", "parprof.trace/2", "should be \"parprof.trace/1\""},
        {"\"ranks\":2", "\"ranks\":3", "no lane"},
        {"\"ranks\":2", "\"ranks\":1", "rank and peer"},
        {"\"ranks\":2", "\"ranks\":4000000000", "from 0 to 4096"},
        {"\"steps\":3", "\"steps\":4", "step"},
        {"\"steps\":3", "\"steps\":4000000000", "too many"},
        {"\"steps\":3", "\"steps\":2", "from 0 to 1"},
        {"\"ops\":24", "\"ops\":25", "op 24 of 25 is missing"},
        {"\"ops\":24", "\"ops\":4000000000", "missing"},
        {"\"ops\":24", "\"ops\":23", "more ops"},
        {"\"spans\":24", "\"spans\":25", "found 24 spans"},
        {"\"op\":5,", "\"op\":4,", "twice"},
        {"\"lane\":0,\"op\":0,", "\"lane\":14,\"op\":0,", "from 0 to 13"},
        {"\"lane\":0,\"op\":0,", "\"op\":0,", "no lane"},
        {"\"bucket\":0,\"gang\"", "\"bucket\":1,\"gang\"", "from 0 to 0"},
        {"\"cost\":0,", "\"cost\":1,", "from 0 to 0"},
        {"\"layer0\":0,\"layer1\":1", "\"layer0\":1,\"layer1\":0", "[layer0, layer1)"},
        {"\"layer0\":0,\"layer1\":1", "\"layer0\":0,\"layer1\":2", "from 0 to 1"},
        {"\"layer0\":0,\"layer1\":1", "\"layer0\":0", "[layer0, layer1)"},
        {"\"ready_ns\":20", "\"ready_ns\":21", "ready before"},
        {"\"dur\":0.020", "\"dur\":0.021", "begins before"},
        {"\"ts\":0.020", "\"ts\":-0.020", "a time"},
        {"\"ts\":0.020", "\"ts\":9e15", "a time"},
        {"\"kind\":\"BWD\"", "\"kind\":\"NEW\"", "nothing that this version knows"},
        {"\"class\":\"compute\"", "\"class\":\"strange\"", "nothing that this version knows"},
        {"\"params\":[1,0]", "\"params\":[1,1]", "one bucket each"},
        {"\"params\":[1,0]", "\"params\":[1,2]", "one bucket each"},
        {"\"closed_by\":1", "\"closed_by\":2", "closed by"},
        {"\"n_params\":2", "\"n_params\":3", "beyond"},
        {"\"bytes\":[70,60]", "\"bytes\":[70]", "a rank in each row"},
        {"\"parprof\":{", "\"other\":{", "no trace of parprof"},
        {"\"ops\":24", "\"ops\":24,\"new\":[{\"x\":[1]}]", NULL},
        {"\"ph\":\"X\"", "\"new\":{},\"ph\":\"X\"", NULL},
        {"\"traceEvents\":[", "\"traceEvents\":[{\"ph\":\"C\",\"name\":\"n\",\"args\":{\"x\":1}},", NULL},
        {",\"work_ns\":15", "", NULL},
        {",\"node\":0", "", NULL}};
    GString *text = sample();
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct trace trace;
        GError *error = NULL;
        const char *at = strstr(text->str, cases[i].from);
        g_assert_nonnull(at);
        g_autofree char *changed = g_strdup_printf("%.*s%s%s", (int)(at - text->str), text->str, cases[i].to,
                                                   at + strlen(cases[i].from));
        bool ok = import_copy(changed, strlen(changed), &trace, &error);
        if (!cases[i].error) {
            g_assert_no_error(error);
            use(&trace);
            trace_release(&trace);
            continue;
        }
        g_assert_false(ok);
        if (!strstr(error->message, cases[i].error))
            g_error("%s: %s", cases[i].to, error->message);
        g_error_free(error);
    }
    g_string_free(text, TRUE);
}

/* A step without a rank. */
static void test_lone_rank(void)
{
    struct trace trace, back;
    GError *error = NULL;
    small_init(&trace, 2, 0);
    trace.n_steps = 2;
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_op op = small_op(OP_FWD, small_lane(i == 1, 0, 0), i / 2, 10 * i, 10 * i + 5);
        trace_add_op(&trace, &op);
    }
    trace_finish(&trace);
    GString *text = exported(&trace);
    g_assert_false(import_copy(text->str, text->len, &back, &error));
    g_assert_nonnull(strstr(error->message, "of 1 of 2 ranks"));
    g_error_free(error);
    g_string_free(text, TRUE);
    trace_release(&trace);
}

/* Labels and facts are sought one by one: as many as a file may have, but no more. */
static void test_many_texts(void)
{
    static void (*const set[])(struct trace *, const char *, const char *) = {trace_label_text,
                                                                              trace_fact_text};
    static const uint32_t most[] = {256, 8192};
    for (unsigned i = 0; i < G_N_ELEMENTS(set); i++)
        for (uint32_t n = most[i]; n <= most[i] + 1; n++) {
            struct trace trace, back;
            GError *error = NULL;
            small_init(&trace, 1, 0);
            for (uint32_t k = 0; k < n; k++) {
                g_autofree char *key = g_strdup_printf("k%u", k);
                set[i](&trace, key, "v");
            }
            GString *text = exported(&trace);
            g_assert_true(import_copy(text->str, text->len, &back, &error) == (n == most[i]));
            if (error)
                g_assert_nonnull(strstr(error->message, "more than"));
            else
                trace_release(&back);
            g_clear_error(&error);
            g_string_free(text, TRUE);
            trace_release(&trace);
        }
}

/* Members in another order, events before "parprof" and sorted by time: the same trace. */
static void test_order(void)
{
    struct trace trace;
    GError *error = NULL;
    GString *text = sample();
    const char *head = strstr(text->str, "\"parprof\":"), *events = strstr(text->str, "\"traceEvents\":[\n");
    const char *first = strchr(events, '\n') + 1, *end = strstr(first, "\n]}");
    g_autofree char *list = g_strndup(first, (gsize)(end - first));
    g_auto(GStrv) lines = g_strsplit(list, ",\n", -1);
    guint n = g_strv_length(lines);
    /* Steps in turn: within a lane the order stays. */
    GString *changed = g_string_new("{\"traceEvents\":[");
    for (int step = -1; step < 3; step++)
        for (guint i = 0; i < n; i++) {
            g_autofree char *mark = g_strdup_printf("\"step\":%d,", step);
            if ((step < 0) == !strstr(lines[i], "\"step\":") && (step < 0 || strstr(lines[i], mark)))
                g_string_append_printf(changed, "%s%s", changed->len > 16 ? ", " : "", lines[i]);
        }
    g_string_append_printf(changed, "],%.*s}", (int)(events - head - 2), head);
    import_copy(changed->str, changed->len, &trace, &error);
    g_assert_no_error(error);
    GString *again = exported(&trace);
    g_assert_cmpstr(again->str, ==, text->str);
    trace_release(&trace);
    g_string_free(again, TRUE);
    g_string_free(changed, TRUE);
    g_string_free(text, TRUE);
}

static void keep_row(void *rows, const struct cost_key *key, const struct cost *cost, uint32_t samples)
{
    g_string_append_printf(
        rows, "%u %u \"%s\" %" G_GUINT64_FORMAT " %u %u: %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " (%u)\n",
        key->kind, key->members, key->shape, key->bytes, key->nodes, key->gemms[0].n, cost->alone_ns,
        cost->work_ns, samples);
}

static char *rows_of(struct cost_table *table)
{
    GString *rows = g_string_new(NULL);
    cost_table_each(table, keep_row, rows);
    return g_string_free(rows, FALSE);
}

static void test_costs(void)
{
    static const char cost_file[] = "{\"source\": \"by hand\", \"costs\": [\n"
                                    "{\"alone_ns\": 9223372036854775807, \"kind\": \"FWD\", \"shape\": "
                                    "\"s\", \"new\": [], \"bytes\": 18446744073709551615},\n"
                                    "{\"kind\": \"BWD\", \"alone_ns\": 10, \"work_ns\": 4, \"members\": 2, "
                                    "\"nodes\": 3, \"gemms\": [[1, 2, 3, 4]]},\n"
                                    "{\"kind\": \"BWD\", \"alone_ns\": 20, \"work_ns\": 6, \"members\": 2, "
                                    "\"nodes\": 3}], \"schema\": \"parprof.cost/1\"}";
    static const char rows[] =
        "1 1 \"s\" 18446744073709551615 0 0: 9223372036854775807 9223372036854775807 (1)\n"
        "4 2 \"\" 0 3 2: 15 5 (2)\n";
    GError *error = NULL;
    struct cost_table *table = cost_table_new();
    import_costs(cost_file, strlen(cost_file), "c.json", table, &error);
    g_assert_no_error(error);
    g_autofree char *found = rows_of(table);
    g_assert_cmpstr(found, ==, rows);

    GString *out = g_string_new(NULL);
    export_costs(table, "by \"hand\"", out);
    struct cost_table *back = cost_table_new();
    import_costs(out->str, out->len, "c.json", back, &error);
    g_assert_no_error(error);
    g_autofree char *again = rows_of(back);
    g_assert_true(g_str_has_prefix(again, "1 1 \"s\"") && strstr(again, ": 15 5 (1)"));
    g_assert_cmpstr(import_kind(out->str, out->len, "c.json", NULL), ==, "cost");
    cost_table_free(back);
    g_string_free(out, TRUE);
    cost_table_free(table);

    /* A trace gives what its ops took. */
    table = cost_table_new();
    out = sample();
    import_costs(out->str, out->len, "t.json", table, &error);
    g_assert_no_error(error);
    g_autofree char *of_trace = rows_of(table);
    g_assert_cmpstr(of_trace, ==, "1 1 \"attention d8\" 9 0 0: 20 15 (1)\n");
    g_string_free(out, TRUE);
    cost_table_free(table);

    static const char *const bad[] = {
        "{\"schema\": \"parprof.cost/1\"}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": []}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": [{\"alone_ns\": 1}]}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": [{\"kind\": \"FWD\"}]}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": [{\"kind\": \"FWD\", \"alone_ns\": -1}]}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": [{\"kind\": \"FWD\", \"alone_ns\": 1, \"work_ns\": 2}]}",
        "{\"schema\":\"parprof.cost/1\",\"costs\":[{\"kind\":\"FWD\",\"alone_ns\":1,\"gemms\":[[1]]}]}",
        "{\"schema\": \"parprof.cost/1\", \"costs\": [{\"kind\": \"FWD\", \"alone_ns\": 1}, ",
        "{\"schema\": \"parprof.plan/1\"}"};
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        table = cost_table_new();
        g_assert_false(import_costs(bad[i], strlen(bad[i]), "c.json", table, &error));
        g_assert_true(g_str_has_prefix(error->message, "c.json:"));
        g_clear_error(&error);
        cost_table_free(table);
    }
}

static void test_kinds(void)
{
    static const struct {
        const char *text, *kind, *error;
    } cases[] = {{"{\"schema\": \"parprof.report/1\", ...", "report", NULL},
                 {"{\"x\": [{}], \"schema\": \"parprof.plan/1\"}", "plan", NULL},
                 {"{\"schema\":\"parprof.sweep/1\"}", "sweep", NULL},
                 {"{\"traceEvents\":[{}],\"parprof\":{\"schema\":\"parprof.trace/1\"", "trace", NULL},
                 {"{\"traceEvents\":[{}],\"displayTimeUnit\":\"ms\"}", "profile", NULL},
                 {"[{\"ph\":\"X\"}]", "profile", NULL},
                 {"[{\"a\":1}]", NULL, "a list"},
                 {"{\"schema\":\"parprof.report/2\"}", NULL, "another version"},
                 {"{\"schema\":\"other\"}", NULL, "no schema of parprof"},
                 {"{\"a\":1}", NULL, "no file of parprof"},
                 {"", NULL, "no file of parprof"},
                 {"[model]\nname = x\n", NULL, "a list"},
                 {"hello", NULL, "should be an object"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        GError *error = NULL;
        g_assert_cmpstr(import_kind(cases[i].text, strlen(cases[i].text), "f", &error), ==, cases[i].kind);
        g_assert_true(!error == !cases[i].error);
        if (error && !strstr(error->message, cases[i].error))
            g_error("%s: %s", cases[i].text, error->message);
        g_clear_error(&error);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/import/random", test_random);
    g_test_add_func("/import/scenes", test_scenes);
    g_test_add_func("/import/engines", test_engines);
    g_test_add_func("/import/cut", test_cut);
    g_test_add_func("/import/flips", test_flips);
    g_test_add_func("/import/numbers", test_numbers);
    g_test_add_func("/import/contradictions", test_contradictions);
    g_test_add_func("/import/lone-rank", test_lone_rank);
    g_test_add_func("/import/many-texts", test_many_texts);
    g_test_add_func("/import/order", test_order);
    g_test_add_func("/import/costs", test_costs);
    g_test_add_func("/import/kinds", test_kinds);
    return g_test_run();
}
