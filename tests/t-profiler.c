/* What PyTorch's profiler wrote, as a trace: against a hand-made job of two ranks, in any order of its events
 * and members; against exact values of recordings that others made, by TraceLens' definitions; and what is
 * refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "profile/analyze.h"
#include "profile/import.h"
#include "profile/profiler-steps.h"
#include "tests/tap.h"

/* --- a job made by hand */

/* {category, name, pid, tid, ts, dur, correlation}: us */
struct made {
    const char *category, *name;
    int process, thread;
    double start, duration;
    int correlation;
};

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

/* Step 7 of rank 4: forward, backward with an all-reduce that is hidden in part, a copy, the optimizer.  The
 * first kernel was launched before the step, the last one after it began; step 8 has one kernel alone. */
static const struct made job[] = {
    {"user_annotation", "ProfilerStep#7", 1, 1, 1000, 1000, 0},
    {"user_annotation", "ProfilerStep#8", 1, 1, 2000, 500, 0},
    {"user_annotation", "Optimizer.step#SGD.step", 1, 1, 1390, 60, 0},
    {"cpu_op", "autograd::engine::evaluate_function: MmBackward0", 1, 2, 1150, 100, 0},
    {"cpu_op", "autograd::engine::evaluate_function: AddBackward0", 1, 2, 1160, 20, 0},
    {"cpu_op", "aten::mm", 1, 1, 1005, 20, 0},
    {"cuda_runtime", "cudaLaunchKernel", 1, 1, 900, 5, 1},
    {"cuda_runtime", "cudaLaunchKernel", 1, 1, 1010, 5, 2},
    {"cuda_runtime", "cudaLaunchKernel", 1, 2, 1200, 5, 3},
    {"cuda_driver", "cuLaunchKernelEx", 1, 2, 1240, 5, 4},
    {"cuda_runtime", "cudaMemcpyAsync", 1, 1, 1255, 5, 5},
    {"cuda_runtime", "cudaLaunchKernel", 1, 1, 1400, 5, 6},
    {"cuda_runtime", "cudaMemsetAsync", 1, 1, 1410, 5, 7},
    {"cuda_runtime", "cudaLaunchKernel", 1, 1, 2100, 5, 8},
    {"kernel", "early", 0, 7, 950, 20, 1},
    {"kernel", "mm", 0, 7, 1100, 300.125, 2},
    {"kernel", "mm_backward", 0, 7, 1500, 400, 3},
    {"kernel", NCCL, 0, 20, 1600, 500, 4},
    {"gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 9, 2050, 100, 5},
    {"kernel", "sgd", 0, 7, 2200, 50, 6},
    {"gpu_memset", "Memset (Device)", 0, 7, 2250, 10, 7},
    {"kernel", "mm", 0, 7, 2400, 10, 8},
    {"gpu_user_annotation", "ProfilerStep#7", 0, 7, 950, 2000, 0},
    {"cuda_sync", "Stream Sync", 0, 7, 950, 2000, 2},
};

/* Members of an event in this or the opposite order. */
static void put(GString *out, const struct made *e, double later, bool backward)
{
    char ts[40], dur[40];
    g_ascii_formatd(ts, sizeof ts, "%.3f", e->start + later);
    g_ascii_formatd(dur, sizeof dur, "%.3f", e->duration);
    g_autofree char *parts[] = {
        g_strdup_printf("\"ph\": \"X\", \"cat\": \"%s\"", e->category),
        g_strdup_printf("\"name\": \"%s\"", e->name),
        g_strdup_printf("\"pid\": %d, \"tid\": %d", e->process, e->thread),
        g_strdup_printf("\"ts\": %s, \"dur\": %s", ts, dur),
        e->process
            ? g_strdup_printf("\"args\": {\"correlation\": %d}", e->correlation)
            : g_strdup_printf(
                  "\"args\": {\"stream\": %d, \"device\": 0, \"correlation\": %d, \"est. achieved occupancy "
                  "%%\": NaN}",
                  e->thread, e->correlation),
    };
    g_string_append(out, out->str[out->len - 1] == '[' ? "{" : ",\n{");
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_string_append_printf(out, "%s%s", i ? ", " : "", parts[backward ? G_N_ELEMENTS(parts) - 1 - i : i]);
    }
    g_string_append_c(out, '}');
    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        g_clear_pointer(&parts[i], g_free);
}

/* seed 0: as it stands */
static char *job_text(int rank, int ranks, double later, unsigned seed)
{
    GString *out =
        g_string_new("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU One\"}],");
    g_autoptr(GRand) dice = g_rand_new_with_seed(seed);
    unsigned order[G_N_ELEMENTS(job)];
    if (ranks)
        g_string_append_printf(
            out, "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},", rank,
            ranks);
    g_string_append(out, "\"traceEvents\": [");
    for (unsigned i = 0; i < G_N_ELEMENTS(job); i++) {
        const unsigned k = seed ? (unsigned)g_rand_int_range(dice, 0, (gint32)i + 1) : i;
        order[i] = order[k];
        order[k] = i;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(job); i++)
        put(out, &job[order[i]], later, seed && g_rand_boolean(dice));
    g_string_append(out, "]}");
    return g_string_free(out, FALSE);
}

static bool import_texts(unsigned n, char *const *texts, struct trace *trace, GError **error)
{
    g_autofree struct import_file *files = g_new0(struct import_file, n);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (unsigned i = 0; i < n; i++) {
        g_ptr_array_add(names, g_strdup_printf("%u.json", i));
        files[i] = (struct import_file){texts[i], names->pdata[i], strlen(texts[i])};
    }
    return import_profiler(n, files, trace, error);
}

static void import_one(char *text, struct trace *trace)
{
    GError *error = NULL;
    g_assert_true(import_texts(1, &text, trace, &error));
    g_assert_no_error(error);
}

static const struct trace_op *op_named(const struct trace *t, const char *name, uint32_t rank)
{
    for (size_t i = 0; i < t->n_spans; i++)
        if (g_str_equal(t->spans[i].name, name) && t->t.lanes[t->spans[i].lane].rank == rank)
            return &t->ops[t->spans[i].op];
    return NULL;
}

static void assert_op(const struct trace *t, const char *name, enum op_kind kind, enum lane_class cls,
                      const char *lane, int64_t start_ns, int64_t end_ns)
{
    const struct trace_op *op = op_named(t, name, 0);
    g_assert_nonnull(op);
    g_assert_cmpstr(op_name(op->tag.kind), ==, op_name(kind));
    g_assert_cmpint(t->t.lanes[op->lane].cls, ==, cls);
    g_assert_cmpstr(t->t.lanes[op->lane].name, ==, lane);
    g_assert_cmpint(op->start_ns, ==, start_ns);
    g_assert_cmpint(op->end_ns, ==, end_ns);
}

static void test_made(void)
{
    struct trace t;
    struct analysis a;
    g_autofree char *text = job_text(4, 8, 0, 0);
    import_one(text, &t);
    g_assert_cmpuint(t.n_steps, ==, 2);
    g_assert_cmpuint(t.t.n_ranks, ==, 1);
    g_assert_cmpuint(t.first_rank, ==, 4);
    g_assert_cmpuint(t.n_ops, ==, 7);
    g_assert_cmpstr(t.t.model, ==, "GPU One");
    g_assert_null(op_named(&t, "early", 0));
    g_assert_cmpstr(trace_label_value(&t, "events outside of steps"), ==, "1 of 8 left out");
    g_assert_cmpstr(trace_label_value(&t, "ranks of the job"), ==, "8");
    g_assert_cmpstr(trace_label_value(&t, "steps"), ==, "ProfilerStep#7–8");
    assert_op(&t, "mm", OP_FWD, LANE_COMPUTE, "stream 7", 0, 300125);
    assert_op(&t, "mm_backward", OP_BWD, LANE_COMPUTE, "stream 7", 400000, 800000);
    assert_op(&t, NCCL, OP_ALLREDUCE, LANE_COMM, "stream 20", 500000, 1000000);
    assert_op(&t, "Memcpy DtoH (Device -> Pageable)", OP_COPY, LANE_COPY, "stream 9", 950000, 1050000);
    assert_op(&t, "sgd", OP_OPTIM, LANE_COMPUTE, "stream 7", 1100000, 1150000);
    assert_op(&t, "Memset (Device)", OP_OPTIM, LANE_COMPUTE, "stream 7", 1150000, 1160000);
    /* The kernel of step 8, launched in it, is the only one of it. */
    g_assert_cmpuint(t.ops[6].tag.step, ==, 1);
    g_assert_cmpuint(t.ops[5].tag.step, ==, 0);
    GError *error = NULL;
    g_assert_true(analyze(&t, &a, &error));
    g_assert_no_error(error);
    const struct partition *p = &a.partition[0];
    g_assert_cmpint(p->compute_ns, ==, 300125 + 400000 + 60000);
    g_assert_cmpint(p->exposed_comm_ns, ==, 200000);
    g_assert_cmpint(p->exposed_copy_ns, ==, 50000);
    g_assert_cmpint(p->window_ns, ==, 1160000);
    g_assert_cmpint(a.step_ns[1], ==, 10000);
    analysis_release(&a);
    trace_release(&t);
}

static void assert_same(const struct trace *x, const struct trace *y)
{
    g_assert_cmpuint(x->n_ops, ==, y->n_ops);
    for (size_t i = 0; i < x->n_ops; i++) {
        g_assert_cmpint(x->ops[i].start_ns, ==, y->ops[i].start_ns);
        g_assert_cmpint(x->ops[i].end_ns, ==, y->ops[i].end_ns);
        g_assert_cmpuint(x->ops[i].lane, ==, y->ops[i].lane);
        g_assert_cmpmem(&x->ops[i].tag, sizeof x->ops[i].tag, &y->ops[i].tag, sizeof y->ops[i].tag);
    }
}

static void test_any_order(void)
{
    struct trace t, other;
    g_autofree char *text = job_text(4, 8, 0, 0);
    import_one(text, &t);
    for (unsigned seed = 1; seed <= 50; seed++) {
        g_autofree char *mixed = job_text(4, 8, 0, seed);
        import_one(mixed, &other);
        assert_same(&t, &other);
        trace_release(&other);
    }
    trace_release(&t);
}

/* Rank 5 is 30 us later with all but the collective's end, as members end together. */
static void test_ranks(void)
{
    struct trace t, alone;
    struct analysis a;
    g_autofree char *first = job_text(5, 8, 30, 0), *second = job_text(4, 8, 0, 0);
    char *texts[] = {first, second};
    GError *error = NULL;
    import_texts(2, texts, &t, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(t.t.n_ranks, ==, 2);
    g_assert_cmpuint(t.first_rank, ==, 4);
    g_assert_cmpuint(t.n_ops, ==, 14);
    const struct trace_op *one = op_named(&t, NCCL, 0), *two = op_named(&t, NCCL, 1);
    g_assert_cmpuint(one->tag.gang, !=, OP_NONE);
    g_assert_cmpuint(one->tag.gang, ==, two->tag.gang);
    g_assert_cmpint(two->start_ns - one->start_ns, ==, 30000);
    g_assert_null(trace_label_value(&t, "clocks of ranks"));
    g_assert_true(analyze(&t, &a, &error));
    /* Rank 4 waits for rank 5, beside computation; what is exposed is past that. */
    g_assert_cmpint(a.partition[0].exposed_comm_ns, ==, 200000);
    g_assert_cmpint(a.partition[1].window_ns, ==, a.partition[0].window_ns);
    analysis_release(&a);
    trace_release(&t);
    g_free(first);
    first = texts[0] = job_text(5, 8, 600, 0); /* ends 600 us apart, and takes 500 us */
    import_texts(2, texts, &t, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(op_named(&t, NCCL, 0)->tag.gang, ==, OP_NONE);
    g_assert_cmpstr(trace_label_value(&t, "clocks of ranks"), ==, "not known to agree");
    trace_release(&t);
    import_one(second, &alone);
    g_assert_null(trace_label_value(&alone, "clocks of ranks"));
    trace_release(&alone);
}

/* Step numbers are the ranks' common ones, whatever order they have in the files. */
static void test_common_steps(void)
{
    struct trace t;
    g_autofree char *first = job_text(0, 2, 0, 0), *second = job_text(1, 2, 0, 0);
    memcpy(strstr(second, "ProfilerStep#7"), "ProfilerStep#9", strlen("ProfilerStep#9"));
    char *texts[] = {first, second};
    GError *error = NULL;
    import_texts(2, texts, &t, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(t.n_steps, ==, 1);
    g_assert_cmpstr(trace_label_value(&t, "steps"), ==, "ProfilerStep#8");
    g_assert_cmpuint(t.n_ops, ==, 2);
    g_assert_cmpstr(trace_label_value(&t, "events outside of steps"), ==, "14 of 16 left out");
    trace_release(&t);
}

/* A process of no job: its devices are the ranks. */
static void test_devices(void)
{
    struct trace t;
    char *text = g_strdup(
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"a\", \"ts\": 5, \"dur\": 2, \"args\": {\"device\": "
        "3, \"stream\": 7}},"
        "{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"b\", \"ts\": 4, \"dur\": 2, \"args\": {\"device\": "
        "1, \"stream\": 7}},"
        "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"c\", \"ts\": 7, \"dur\": -2, \"args\": "
        "{\"device\": 1, \"stream\": 7}},"
        "{\"ph\": \"X\", \"cat\": \"Memcpy\", \"name\": \"d\", \"ts\": 7, \"dur\": 0.001, \"args\": "
        "{\"device\": 1, \"stream\": -1, \"correlation\": 18446744073709551615}}], "
        "\"baseTimeNanoseconds\": 1727743122000000000}");
    import_one(text, &t);
    g_assert_cmpuint(t.t.n_ranks, ==, 2);
    g_assert_cmpuint(t.n_steps, ==, 1);
    g_assert_cmpuint(t.n_ops, ==, 3);
    g_assert_cmpstr(t.spans[0].name, ==, "b");
    g_assert_cmpuint(t.t.lanes[t.spans[2].lane].rank, ==, 1);
    g_assert_cmpint(op_named(&t, "d", 0)->end_ns, ==, 3001);
    g_assert_cmpstr(trace_label_value(&t, "events without a time"), ==, "1 left out");
    g_assert_null(trace_label_value(&t, "devices"));
    g_free(text);
    trace_release(&t);
}

/* Then the whole file is one. */
static void hide_steps(char *text)
{
    for (char *at = text; (at = strstr(at, "ProfilerStep#")); at++)
        *at = '?';
}

/* A kernel that no launch or no host tells of is of no phase; what has no time is counted; names are cut. */
static void test_unknown(void)
{
    struct trace t;
    g_autofree char *text = job_text(4, 8, 0, 0);
    char *launch = strstr(text, "\"correlation\": 3}"); /* of mm_backward */
    memcpy(launch, "\"correlation\": 9}", strlen("\"correlation\": 9}"));
    memcpy(strstr(text, "\"dur\": 50.000"), "\"dur\": \"5.00\"", strlen("\"dur\": 50.000")); /* of sgd */
    import_one(text, &t);
    g_assert_cmpuint(t.n_ops, ==, 6);
    g_assert_cmpstr(op_name(op_named(&t, "mm_backward", 0)->tag.kind), ==, "KERNEL");
    g_assert_cmpstr(op_name(op_named(&t, "mm", 0)->tag.kind), ==, "FWD");
    g_assert_cmpstr(trace_label_value(&t, "events without a time"), ==, "1 left out");
    trace_release(&t);
    hide_steps(text);
    for (char *at = text; (at = strstr(at, "\"cpu_op\""));)
        memcpy(at, "\"python\"", strlen("\"python\""));
    import_one(text, &t);
    g_assert_cmpstr(op_name(op_named(&t, "mm", 0)->tag.kind), ==, "KERNEL");
    g_assert_cmpstr(op_name(op_named(&t, NCCL, 0)->tag.kind), ==, "ALLREDUCE");
    g_assert_cmpstr(trace_label_value(&t, "steps"), ==, "none is marked, the whole recording is one");
    trace_release(&t);
}

static void test_long_names(void)
{
    struct trace t;
    g_autofree char *many = g_strnfill(999, 'k');
    g_autofree char *text = g_strdup_printf(
        "{\"deviceProperties\": [{\"name\": \"%s\"}], \"distributedInfo\": {\"rank\": 0, \"world_size\": 1}, "
        "\"traceEvents\": [{\"cat\": \"kernel\", \"name\": \"%s\\u20ac%s\", \"ts\": 1, \"dur\": 1, "
        "\"args\": {\"device\": 2}}, {\"cat\": \"kernel\", \"name\": \"b\", \"ts\": 1, \"dur\": 1}]}",
        many, many + 500, many);
    import_one(text, &t);
    g_assert_cmpuint(strlen(t.t.model), ==, 499);
    g_assert_true(g_str_has_prefix(t.spans[1].name, "kkk") && g_utf8_validate(t.spans[1].name, -1, NULL));
    g_assert_cmpuint(strlen(t.spans[1].name), ==, 499);
    g_assert_cmpuint(t.t.n_ranks, ==, 1);
    g_assert_cmpstr(trace_label_value(&t, "devices"), ==, "2");
    trace_release(&t);
}

/* --- refusals */

static void assert_refused(unsigned n, char **texts, const char *says)
{
    struct trace t;
    GError *error = NULL;
    g_assert_false(import_texts(n, texts, &t, &error));
    if (!strstr(error->message, says))
        g_error("'%s' says nothing of '%s'", error->message, says);
    g_error_free(error);
}

static void test_refused(void)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "ends in the middle"},
        {"{}", "there is no \"traceEvents\""},
        {"{\"traceEvents\": []}", "no event of a device"},
        {"{\"traceEvents\": [{\"cat\": \"kernel\", \"ts\": \"1\", \"dur\": 1}]}", "that are numbers"},
        {"{\"traceEvents\": [{\"ph\": \"X\"", "ends in the middle"},
        {"\x1f\x8b\x08", "compressed"},
        {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a\", \"ts\": 1e30, \"dur\": "
         "1}]}",
         "292 years"},
        {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 9223372036854775, \"dur\": 1}]}",
         "in ns"},
        {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": 9223372036854, \"dur\": 1}], "
         "\"baseTimeNanoseconds\": 9223372036854775807}",
         "in ns"},
        {"{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"ts\": -5e15, \"dur\": 1}, {\"ph\": "
         "\"X\", \"cat\": "
         "\"kernel\", \"ts\": 5e15, \"dur\": 1}]}",
         "too far apart"},
        {"{\"traceEvents\": [{\"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"ts\": 10, "
         "\"dur\": 1}, {\"cat\": "
         "\"kernel\", \"ts\": 5, \"dur\": 1}]}",
         "no step of the profiler"},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        char *text = g_strdup(bad[i].text);
        assert_refused(1, &text, bad[i].says);
        g_free(text);
    }
    g_autofree char *four = job_text(4, 8, 0, 0), *six = job_text(6, 8, 0, 0), *none = job_text(0, 0, 0, 0);
    assert_refused(2, (char *[]){four, six}, "ranks 4 and 6");
    assert_refused(2, (char *[]){four, four}, "ranks 4 and 4");
    assert_refused(2, (char *[]){none, four}, "does not say which rank");
    g_autofree char *other = job_text(5, 9, 0, 0);
    assert_refused(2, (char *[]){four, other}, "jobs of 8 and of 9 ranks");
}

/* Streams and steps that would need more places than the file has events for. */
static void test_too_many(void)
{
    GString *out = g_string_new("{\"traceEvents\": [");
    for (unsigned i = 0; i < 20000; i++)
        g_string_append_printf(
            out,
            "{\"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%u\", \"ts\": %u, \"dur\": 1},\n"
            "{\"cat\": \"kernel\", \"name\": \"a\", \"ts\": %u, \"dur\": 1, \"args\": {\"stream\": %u}}%s",
            i, i, i, i, i < 19999 ? "," : "]}");
    char *text = g_string_free(out, FALSE);
    assert_refused(1, &text, "too many streams and steps");
    g_free(text);
}

/* Whatever is cut or changed: a trace that can be analysed, or an error. */
static void test_hostile(void)
{
    g_autofree char *text = job_text(4, 8, 0, 0);
    const size_t n = strlen(text);
    g_autoptr(GRand) dice = g_rand_new_with_seed(7);
    unsigned read = 0;
    for (unsigned i = 0; i < 3000; i++) {
        g_autofree char *bad = g_memdup2(text, n + 1);
        for (unsigned k = 0; k <= i % 4; k++)
            bad[g_rand_int_range(dice, 0, (gint32)n)] =
                "0123456789-\"{}[],:eE.x"[g_rand_int_range(dice, 0, 22)];
        if (i % 5 == 0)
            bad[g_rand_int_range(dice, 0, (gint32)n)] = '\0';
        struct trace t;
        struct analysis a;
        GError *error = NULL;
        if (!import_texts(1, &bad, &t, &error)) {
            g_assert_nonnull(error);
            g_clear_error(&error);
            continue;
        }
        read++;
        if (analyze(&t, &a, &error))
            analysis_release(&a);
        g_clear_error(&error);
        trace_release(&t);
    }
    g_assert_cmpuint(read, >, 300);
}

/* --- recordings of others */

static char *unpacked(const char *path)
{
    g_autofree char *quoted = g_shell_quote(path), *command = g_strconcat("gzip -dc ", quoted, NULL);
    GString *out = g_string_new(NULL);
    FILE *pipe = popen(command, "r");
    char part[65536];
    for (size_t n; pipe && (n = fread(part, 1, sizeof part, pipe)) > 0;)
        g_string_append_len(out, part, (gssize)n);
    g_assert_true(pipe && pclose(pipe) == 0);
    return g_string_free(out, FALSE);
}

struct expected {
    int64_t compute, exposed_comm, exposed_copy, idle, total, comm;
};

static void check_file(const char *folder, const char *name, const struct expected *e)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *text = unpacked(path);
    struct trace t;
    struct analysis a;
    GError *error = NULL;
    hide_steps(text);
    import_one(text, &t);
    g_assert_true(analyze(&t, &a, &error));
    const struct partition *p = &a.partition[0];
    g_assert_cmpuint(t.t.n_ranks, ==, 1);
    g_assert_cmpint(p->compute_ns, ==, e->compute);
    g_assert_cmpint(p->exposed_comm_ns, ==, e->exposed_comm);
    g_assert_cmpint(p->exposed_copy_ns, ==, e->exposed_copy);
    g_assert_cmpint(p->idle_ns, ==, e->idle);
    g_assert_cmpint(p->window_ns, ==, e->total);
    g_assert_cmpint(p->comm_ns, ==, e->comm);
    analysis_release(&a);
    trace_release(&t);
}

static bool read_expected(struct json *j, struct expected *e)
{
    bool any = false;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (strcmp(key, "tracelens_definition_ns") != 0) {
            json_skip(j);
            continue;
        }
        any = true;
        json_object(j);
        for (const char *part; (part = json_key(j));) {
            int64_t *to = !strcmp(part, "computation_time")      ? &e->compute
                          : !strcmp(part, "exposed_comm_time")   ? &e->exposed_comm
                          : !strcmp(part, "exposed_memcpy_time") ? &e->exposed_copy
                          : !strcmp(part, "idle_time")           ? &e->idle
                          : !strcmp(part, "total_time")          ? &e->total
                          : !strcmp(part, "total_comm_time")     ? &e->comm
                                                                 : NULL;
            if (to)
                *to = json_i64(j, 0, INT64_MAX);
            else
                json_skip(j);
        }
    }
    return any;
}

static void test_recordings(void)
{
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "..", "..", "shared", "traces", NULL),
                    *path = g_build_filename(folder, "expected.json", NULL), *text = NULL;
    gsize n;
    unsigned files = 0;
    if (!g_file_get_contents(path, &text, &n, NULL)) {
        g_test_skip("the recordings are not here");
        return;
    }
    struct json *j = json_open(text, n, path);
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        g_autofree char *name = g_strdup(key);
        struct expected e = {0};
        if (json_peek(j) != JSON_OBJECT)
            json_skip(j);
        else if (read_expected(j, &e)) {
            check_file(folder, name, &e);
            files++;
        }
    }
    GError *error = NULL;
    json_close(j, &error);
    g_assert_no_error(error);
    g_test_message("%u recordings", files);
    g_assert_cmpuint(files, >=, 15);
}

/* All ranks of a job whose clocks agree: most of what its collectives take is waiting (96.4 %, with the
 * transfer as the shortest member's time; shared/facts/traces.md, 0). */
static void test_waits(void)
{
    char *texts[8];
    struct trace t;
    GError *error = NULL;
    int64_t whole_ns = 0, least_ns[64] = {0};
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *name = g_strdup_printf("rank%u.json.gz", i),
                        *path = g_test_build_filename(G_TEST_DIST, "..", "..", "shared", "traces",
                                                      "dlrm_v100x8", name, NULL);
        if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
            g_test_skip("the recordings are not here");
            return;
        }
        texts[i] = unpacked(path);
    }
    import_texts(G_N_ELEMENTS(texts), texts, &t, &error);
    g_assert_no_error(error);
    unsigned members = 0;
    for (size_t i = 0; i < t.n_ops; i++) {
        const struct trace_op *op = &t.ops[i];
        if (op->tag.gang == OP_NONE)
            continue;
        const int64_t ns = op->end_ns - op->start_ns;
        int64_t *least = &least_ns[op->tag.gang % G_N_ELEMENTS(least_ns)];
        *least = *least ? MIN(*least, ns) : ns;
        whole_ns += ns;
        members++;
    }
    int64_t transfer_ns = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(least_ns); i++)
        transfer_ns += 8 * least_ns[i];
    g_assert_cmpuint(members, ==, 64);
    g_assert_cmpfloat_with_epsilon(100 - 100.0 * (double)transfer_ns / (double)whole_ns, 96.4, 0.05);
    trace_release(&t);
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
}

static void test_steps(void)
{
    g_autofree char *text = job_text(4, 8, 0, 3);
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(double));
    GError *error = NULL;
    g_assert_true(profiler_steps(text, strlen(text), "x", steps, &error));
    g_assert_cmpuint(steps->len, ==, 2);
    g_assert_cmpfloat(g_array_index(steps, double, 0), ==, 1e6);
    g_assert_cmpfloat(g_array_index(steps, double, 1), ==, 5e5);
    hide_steps(text);
    g_assert_false(profiler_steps(text, strlen(text), "x", steps, &error));
    g_assert_nonnull(strstr(error->message, "step()"));
    g_error_free(error);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/profiler/made", test_made);
    g_test_add_func("/profiler/any-order", test_any_order);
    g_test_add_func("/profiler/ranks", test_ranks);
    g_test_add_func("/profiler/common-steps", test_common_steps);
    g_test_add_func("/profiler/devices", test_devices);
    g_test_add_func("/profiler/unknown", test_unknown);
    g_test_add_func("/profiler/long-names", test_long_names);
    g_test_add_func("/profiler/refused", test_refused);
    g_test_add_func("/profiler/too-many", test_too_many);
    g_test_add_func("/profiler/hostile", test_hostile);
    g_test_add_func("/profiler/recordings", test_recordings);
    g_test_add_func("/profiler/waits", test_waits);
    g_test_add_func("/profiler/steps", test_steps);
    return g_test_run();
}
