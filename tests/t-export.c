/* Trace files: a reader gets back every op and span; no event lies across another; scalars are exact. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/op.h"
#include "profile/export.h"
#include "profile/kernel-name.h"
#include "base/json.h"
#include "tests/strict-json.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

/* Microseconds with three decimals, to ns. */
static int64_t ns_of(const struct strict_json *event, const char *key)
{
    const struct strict_json *x = strict_json_get(event, key);
    g_assert_true(x && x->kind == '0');
    const char *dot = strchr(x->text, '.');
    g_assert_true(dot && strlen(dot) == 4);
    g_autofree char *digits = g_strdup_printf("%.*s%s", (int)(dot - x->text), x->text, dot + 1);
    return g_ascii_strtoll(digits, NULL, 10);
}

static unsigned kind_of(const char *name)
{
    unsigned kind = 0;
    while (kind < OP_KINDS && g_strcmp0(op_name(kind), name))
        kind++;
    g_assert_cmpuint(kind, <, OP_KINDS);
    return kind;
}

static struct trace_op read_op(const struct strict_json *event)
{
    const struct strict_json *args = strict_json_get(event, "args");
    int64_t start = ns_of(event, "ts"),
            end = strict_json_get(event, "dur") ? start + ns_of(event, "dur") : start;
    struct trace_op op = {0};
    op.tag.kind = (uint8_t)kind_of(strict_json_string_of(args, "kind"));
    op.tag.algo = g_strcmp0(strict_json_string_of(args, "algo"), "ring") ? ALLREDUCE_WHOLE : ALLREDUCE_RING;
    op.tag.layer0 = (uint16_t)strict_json_index(args, "layer0", LAYER_NONE);
    op.tag.layer1 = (uint16_t)strict_json_index(args, "layer1", LAYER_NONE);
    op.tag.chunk = (uint16_t)strict_json_index(args, "chunk", LAYER_NONE);
    op.tag.hop = (uint16_t)strict_json_index(args, "hop", LAYER_NONE);
    op.tag.micro = (uint32_t)strict_json_index(args, "micro", OP_NONE);
    op.tag.bucket = (uint32_t)strict_json_index(args, "bucket", OP_NONE);
    op.tag.gang = (uint32_t)strict_json_index(args, "gang", OP_NONE);
    op.tag.coll = (uint32_t)strict_json_index(args, "coll", OP_NONE);
    op.tag.step = (uint32_t)strict_json_integer(args, "step");
    op.tag.bytes = g_ascii_strtoull(strict_json_get(args, "bytes")->text, NULL, 10);
    op.lane = (uint32_t)strict_json_index(args, "op_lane", strict_json_integer(args, "lane"));
    op.cost = (uint32_t)strict_json_index(args, "cost", OP_NONE);
    op.ready_ns = strict_json_integer(args, "ready_ns");
    op.start_ns = strict_json_index(args, "start_ns", start);
    op.end_ns = strict_json_index(args, "end_ns", end);
    return op;
}

static void assert_op(const struct trace_op *a, const struct trace_op *b)
{
    g_assert_cmpuint(a->tag.kind, ==, b->tag.kind);
    g_assert_cmpuint(a->tag.algo, ==, b->tag.algo);
    g_assert_cmpuint(a->tag.layer0, ==, b->tag.layer0);
    g_assert_cmpuint(a->tag.layer1, ==, b->tag.layer1);
    g_assert_cmpuint(a->tag.chunk, ==, b->tag.chunk);
    g_assert_cmpuint(a->tag.hop, ==, b->tag.hop);
    g_assert_cmpuint(a->tag.micro, ==, b->tag.micro);
    g_assert_cmpuint(a->tag.bucket, ==, b->tag.bucket);
    g_assert_cmpuint(a->tag.step, ==, b->tag.step);
    g_assert_cmpuint(a->tag.gang, ==, b->tag.gang);
    g_assert_cmpuint(a->tag.coll, ==, b->tag.coll);
    g_assert_cmpuint(a->tag.bytes, ==, b->tag.bytes);
    g_assert_cmpuint(a->lane, ==, b->lane);
    g_assert_cmpuint(a->cost, ==, b->cost);
    g_assert_cmpint(a->ready_ns, ==, b->ready_ns);
    g_assert_cmpint(a->start_ns, ==, b->start_ns);
    g_assert_cmpint(a->end_ns, ==, b->end_ns);
}

static struct strict_json *exported(const struct trace *trace)
{
    GString *out = g_string_new(NULL);
    export_chrome(trace, out);
    struct strict_json *j = strict_json_parse(out->str);
    g_assert_nonnull(j);
    /* One event a line: each line of the array is JSON of its own. */
    const char *at = strstr(out->str, "\"traceEvents\":[\n") + strlen("\"traceEvents\":[\n");
    g_auto(GStrv) lines = g_strsplit(at, "\n", -1);
    for (guint i = 0; i < strict_json_length(strict_json_get(j, "traceEvents")); i++) {
        if (g_str_has_suffix(lines[i], ","))
            lines[i][strlen(lines[i]) - 1] = '\0';
        struct strict_json *line = strict_json_parse(lines[i]);
        g_assert_nonnull(line);
        strict_json_free(line);
    }
    g_string_free(out, TRUE);
    return j;
}

/* Ops that were split into kernels, some unknown, some on another lane, some with none, as devices report
 * them. */
static void make_irregular(struct trace *trace, GRand *rand)
{
    for (size_t i = 0; i < trace->n_ops; i++) {
        struct op_tag *tag = &trace->ops[i].tag;
        tag->algo = (uint8_t)g_rand_int_range(rand, 0, 2);
        tag->layer0 = (uint16_t)g_rand_int(rand);
        tag->layer1 = (uint16_t)g_rand_int(rand);
        tag->chunk = (uint16_t)g_rand_int(rand);
        tag->hop = (uint16_t)g_rand_int(rand);
        tag->micro = g_rand_int(rand);
        tag->gang = g_rand_int(rand);
        tag->coll = g_rand_int(rand);
        tag->bytes = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
        trace->ops[i].cost = g_rand_int(rand);
    }
    for (size_t i = 0; i < trace->n_spans; i++) {
        struct trace_span *s = &trace->spans[i];
        switch (g_rand_int_range(rand, 0, 5)) {
        case 0:
            s->op = OP_NONE;
            break;
        case 1:
            s->op = (uint32_t)g_rand_int_range(rand, 0, (gint32)trace->n_ops);
            break;
        case 2:
            s->end_ns += g_rand_int_range(rand, 0, 40); /* overlaps what follows */
            break;
        }
    }
}

static void check_events(const struct trace *trace, const struct strict_json *events)
{
    static const char *const categories[] = {"compute", "comm", "copy", "host"};
    GHashTable *row_ends = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    bool *seen = g_new0(bool, trace->n_ops);
    g_autofree bool *kernels = trace_kernel_lanes(trace);
    size_t n_spans = 0, n_seen = 0, n_open = 0, n_brackets = 0, expected = 0;
    for (guint i = 0; i < strict_json_length(events); i++) {
        const struct strict_json *event = strict_json_at(events, i), *args = strict_json_get(event, "args");
        if (*strict_json_string_of(event, "ph") == 'M')
            continue;
        /* Ops above kernels: a pair of events each, on threads where no span is. */
        if (*strict_json_string_of(event, "ph") == 'B' || *strict_json_string_of(event, "ph") == 'E') {
            bool begins = *strict_json_string_of(event, "ph") == 'B';
            g_assert_cmpuint(n_open, ==, !begins);
            n_open = begins;
            n_brackets += begins;
            g_assert_null(args);
            g_assert_false(
                g_hash_table_contains(row_ends, GINT_TO_POINTER(strict_json_integer(event, "tid"))));
            continue;
        }
        uint32_t index = (uint32_t)strict_json_index(args, "op", OP_NONE);
        if (strict_json_get(args, "kind")) {
            struct trace_op op = read_op(event);
            assert_op(&op, &trace->ops[index]);
            g_assert_false(seen[index]);
            seen[index] = true;
            n_seen++;
        }
        g_assert_true(index == OP_NONE || seen[index]);
        if (*strict_json_string_of(event, "ph") == 'i')
            continue;
        const struct trace_span *s = &trace->spans[n_spans++];
        int64_t start = ns_of(event, "ts"), end = start + ns_of(event, "dur");
        g_assert_cmpint(start, ==, s->start_ns);
        g_assert_cmpint(end, ==, s->end_ns);
        g_assert_cmpuint(index, ==, s->op);
        g_assert_cmpint(strict_json_integer(args, "lane"), ==, s->lane);
        g_assert_cmpstr(strict_json_string_of(event, "cat"), ==, categories[s->cls]);
        g_assert_true(!s->name == !strict_json_get(args, "kernel"));
        if (s->name)
            g_assert_cmpstr(strict_json_string_of(args, "kernel"), ==, s->name);
        g_assert_cmpint(strict_json_integer(event, "pid"), ==, trace->t.lanes[s->lane].rank + 1);
        gpointer tid = GINT_TO_POINTER(strict_json_integer(event, "tid"));
        int64_t *row_end = g_hash_table_lookup(row_ends, tid);
        g_assert_true(!row_end || *row_end <= start);
        g_hash_table_insert(row_ends, tid, g_memdup2(&end, sizeof end));
    }
    g_assert_cmpuint(n_spans, ==, trace->n_spans);
    g_assert_cmpuint(n_seen, ==, trace->n_ops);
    for (size_t i = 0; i < trace->n_ops; i++)
        expected += kernels[trace->ops[i].lane];
    g_assert_cmpuint(n_brackets, ==, expected);
    g_assert_cmpuint(n_open, ==, 0);
    g_hash_table_destroy(row_ends);
    g_free(seen);
}

static void test_round_trip(void)
{
    GRand *rand = g_rand_new_with_seed(31);
    for (int round = 0; round < 200; round++) {
        struct trace trace;
        small_random(&trace, rand);
        if (round % 2)
            make_irregular(&trace, rand);
        if (round % 4 > 1)
            small_kernels(&trace, rand, round % 8 > 3);
        struct strict_json *j = exported(&trace);
        const struct strict_json *head = strict_json_get(j, "parprof");
        g_assert_cmpstr(strict_json_string_of(head, "schema"), ==, "parprof.trace/1");
        g_assert_cmpint(strict_json_integer(head, "ranks"), ==, trace.t.n_ranks);
        g_assert_cmpint(strict_json_integer(head, "steps"), ==, trace.n_steps);
        g_assert_cmpint(strict_json_integer(head, "ops"), ==, (gint64)trace.n_ops);
        g_assert_cmpint(strict_json_integer(head, "spans"), ==, (gint64)trace.n_spans);
        g_assert_cmpuint(strict_json_length(strict_json_get(head, "lanes")), ==, trace.t.n_lanes);
        check_events(&trace, strict_json_get(j, "traceEvents"));
        strict_json_free(j);
        trace_release(&trace);
    }
    g_rand_free(rand);
}

/* An op of a host lane is a mark; its times are all there. */
static void test_host_op(void)
{
    struct trace trace;
    small_init(&trace, 1, 0);
    struct trace_op op = small_op(OP_FWD, 6, 0, 5, 25);
    trace.n_steps = 1;
    trace_add_op(&trace, &op);
    op = small_op(OP_FWD, 0, 0, 0, 30);
    trace_add_op(&trace, &op);
    trace_finish(&trace);
    struct strict_json *j = exported(&trace);
    check_events(&trace, strict_json_get(j, "traceEvents"));
    strict_json_free(j);
    trace_release(&trace);
}

static const char *event_name(const struct strict_json *j, gint64 op)
{
    const struct strict_json *events = strict_json_get(j, "traceEvents");
    for (guint i = 0; i < strict_json_length(events); i++)
        if (strict_json_index(strict_json_get(strict_json_at(events, i), "args"), "op", -1) == op)
            return strict_json_string_of(strict_json_at(events, i), "name");
    return NULL;
}

/* The tables, and names for people. */
static void test_tables(void)
{
    static const char hostile[] = "q\"\\\n\x01\xff";
    static const uint64_t memory[4] = {UINT64_MAX, 70, 60, 50};
    struct trace trace;
    small_init(&trace, 2, 2);
    trace.n_steps = 1;
    struct layer_row layers[] = {{"layer0.attention", "layer0", 0, 1},
                                 {"layer0.feed_forward", "layer0", 1, 1},
                                 {hostile, "head", 2, 0}};
    struct param_row params[] = {{"layer0.attention.w", 12, 0, 1}, {hostile, 34, 1, OP_NONE}};
    static const uint32_t members[] = {0, 1};
    struct cost_key cost = {"attention d8", UINT64_MAX, 3, 0.1, 5, 6, 7, OP_EXCHANGE, ALLREDUCE_RING};
    trace.t.n_layers = 3;
    trace.t.layers = g_memdup2(layers, sizeof layers);
    trace.t.n_params = 2;
    trace.t.params = g_memdup2(params, sizeof params);
    trace.t.bucket_params = g_memdup2(members, sizeof members);
    trace.t.buckets[1] = (struct bucket_row){46, 0, 2, 1};
    trace.n_costs = 1;
    trace.costs = g_memdup2(&cost, sizeof cost);
    trace.loss = g_new(double, 1);
    trace.loss[0] = NAN;
    trace.weight_hash = g_new(uint64_t, 2);
    trace.weight_hash[0] = trace.weight_hash[1] = UINT64_C(0xfedcba9876543210);
    trace_memory(&trace, 1, op_label, g_memdup2(memory, sizeof memory));
    trace.memory_touched = g_memdup2(memory + 1, sizeof memory / 2);
    trace.memory_measured = g_memdup2(memory + 1, sizeof memory / 2);
    trace_label(&trace, hostile, "%s", hostile);
    trace_label(&trace, "engine", "%s", "cpu");
    struct trace_op ops[] = {small_op(OP_FWD, 0, 0, 0, 1), small_op(OP_BWD, 0, 0, 1, 2),
                             small_op(OP_FWD, 0, 0, 2, 3), small_op(OP_EXCHANGE_ADD, 4, 0, 0, 9),
                             small_op(OP_PACK, 0, 0, 3, 4)};
    ops[0].tag.layer0 = 0, ops[0].tag.layer1 = 1;
    ops[1].tag.layer0 = 0, ops[1].tag.layer1 = 2;
    ops[2].tag.layer0 = 1, ops[2].tag.layer1 = 3;
    ops[3].tag.bucket = 2, ops[3].tag.hop = 1, ops[3].tag.algo = ALLREDUCE_RING;
    ops[4].tag.bucket = 1;
    for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++)
        trace_add_op(&trace, &ops[i]);
    trace_finish(&trace);
    struct strict_json *j = exported(&trace);
    g_assert_cmpstr(event_name(j, 0), ==, "F layer0.attention");
    g_assert_cmpstr(event_name(j, 1), ==, "B layer0");
    g_assert_cmpstr(event_name(j, 2), ==, "F layer0 to head");
    g_assert_cmpstr(event_name(j, 3), ==, "all-reduce bucket 2 hop 1");
    g_assert_cmpstr(event_name(j, 4), ==, "pack bucket 1");
    const struct strict_json *head = strict_json_get(j, "parprof");
    g_assert_cmpstr(strict_json_string_of(head, "engine"), ==, "cpu");
    g_assert_cmpstr(strict_json_string_of(strict_json_get(head, "labels"), "q\"\\\n\x01\uFFFD"), ==,
                    "q\"\\\n\x01\uFFFD");
    g_assert_cmpstr(strict_json_string_of(strict_json_at(strict_json_get(head, "layers"), 1), "name"), ==,
                    "layer0.feed_forward");
    const struct strict_json *param = strict_json_at(strict_json_get(head, "params"), 0),
                             *bucket = strict_json_at(strict_json_get(head, "buckets"), 1);
    g_assert_cmpint(strict_json_integer(param, "bucket"), ==, 1);
    g_assert_cmpint(strict_json_integer(bucket, "closed_by"), ==, 1);
    g_assert_cmpuint(strict_json_length(strict_json_get(bucket, "params")), ==, 2);
    const struct strict_json *key = strict_json_at(strict_json_get(head, "costs"), 0);
    g_assert_cmpstr(strict_json_get(key, "bytes")->text, ==, "18446744073709551615");
    g_assert_cmpstr(strict_json_get(key, "share")->text, ==, "0.1");
    g_assert_cmpint(strict_json_integer(key, "members"), ==, 7);
    g_assert_cmpint(strict_json_at(strict_json_get(head, "loss"), 0)->kind, ==, 'n');
    g_assert_cmpstr(strict_json_at(strict_json_get(head, "weight_hash"), 1)->text, ==, "fedcba9876543210");
    const struct strict_json *row = strict_json_at(strict_json_get(head, "memory"), 0);
    g_assert_cmpstr(strict_json_string_of(row, "name"), ==, op_label(0));
    g_assert_cmpstr(strict_json_at(strict_json_get(row, "bytes"), 0)->text, ==, "18446744073709551615");
    g_assert_cmpstr(strict_json_at(strict_json_get(row, "touched"), 0)->text, ==, "70");
    g_assert_cmpstr(strict_json_at(strict_json_get(head, "memory_measured"), 1)->text, ==, "60");
    strict_json_free(j);
    trace_release(&trace);
}

static void test_kernel_names(void)
{
    static const struct {
        const char *mangled, *text;
    } cases[] = {{"_Z10add_kernelPfi", "add_kernel"},
                 {"_ZN7cutlass6KernelIfEEvT_", "cutlass::Kernel"},
                 {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                  "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
                 {"sgemm_128x64", "sgemm_128x64"},
                 {"_Z", "_Z"},
                 {"_Z0x", "_Z0x"},
                 {"_Z99short", "_Z99short"},
                 {"_Z99999999999999999999999x", "_Z99999999999999999999999x"},
                 {"_ZN1a2", "a"},
                 {"", ""}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) out = g_string_new("x");
        kernel_name(cases[i].mangled, out);
        g_assert_cmpstr(out->str + 1, ==, cases[i].text);
    }
}

static void test_short_kernel_names(void)
{
    static const struct {
        const char *whole, *text;
    } cases[] = {
        {"void at::native::(anonymous namespace)::softmax_warp_forward<float, 8, false>(float*, int)",
         "softmax_warp_forward"},
        {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_s161616gemm>(cutlass::Params)", "Kernel2"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
        {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"},
        {"_ZN7cutlass6KernelIfEEvT_", "Kernel"},
        {"ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"},
        {"a::", "a::"},
        {"void ", "void "},
        {"<x>", "<x>"},
        {"(anonymous namespace)", "(anonymous namespace)"},
        {"", ""}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = kernel_short_name(cases[i].whole);
        g_assert_cmpstr(text, ==, cases[i].text);
    }
}

static void test_scalars(void)
{
    static const struct {
        int64_t ns;
        const char *text;
    } times[] = {{0, "0.000"},
                 {7, "0.007"},
                 {12345, "12.345"},
                 {-1, "-0.001"},
                 {-1234, "-1.234"},
                 {INT64_MAX, "9223372036854775.807"},
                 {INT64_MIN, "-9223372036854775.808"}};
    static const double doubles[] = {0, 0.1, 1. / 3, 1e300, 5e-324, -2.5, 123456789, 0.30000000000000004};
    GString *out = g_string_new(NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        g_string_truncate(out, 0);
        json_us(out, times[i].ns);
        g_assert_cmpstr(out->str, ==, times[i].text);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(doubles); i++) {
        g_string_truncate(out, 0);
        json_double(out, doubles[i]);
        g_assert_cmpfloat(g_ascii_strtod(out->str, NULL), ==, doubles[i]);
        struct strict_json *j = strict_json_parse(out->str);
        g_assert_nonnull(j);
        strict_json_free(j);
    }
    g_string_truncate(out, 0);
    json_double(out, 0.1);
    json_double(out, NAN);
    json_double(out, -INFINITY);
    json_int(out, INT64_MIN);
    json_uint(out, UINT64_MAX);
    json_string(out, NULL);
    json_string(out, "a\x01\"\\\t\xed\xa0\x80\xe2\x82");
    g_assert_cmpstr(out->str, ==,
                    "0.1nullnull-922337203685477580818446744073709551615null"
                    "\"a\\u0001\\\"\\\\\\t\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\"");
    g_string_free(out, TRUE);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/export/round-trip", test_round_trip);
    g_test_add_func("/export/host-op", test_host_op);
    g_test_add_func("/export/tables", test_tables);
    g_test_add_func("/export/kernel-names", test_kernel_names);
    g_test_add_func("/export/short-kernel-names", test_short_kernel_names);
    g_test_add_func("/export/scalars", test_scalars);
    return g_test_run();
}
