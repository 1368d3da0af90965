/* What is compared of a run: out of reports it is what its trace says, counted anew; a history gives back
 * what was appended, whatever was cut off it. */
#include <string.h>

#include "profile/facts.h"
#include "profile/measurement.h"
#include "tests/pipe-trace.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

static const char *const options[] = {"batch", "8", "overlap", "backward", NULL};
static const char *const environment[] = {"program", "parprof 9", "cores", "4", "load", "0.5", NULL};

static void write_report(const struct trace *trace, GString *out)
{
    struct analysis a;
    g_assert_true(analyze(trace, &a, NULL));
    const struct report report = {
        .trace = trace, .analysis = &a, .backend = "cpu", .options = options, .environment = environment};
    report_json(&report, out);
    analysis_release(&a);
}

static struct measurement *of_trace(const struct trace *trace)
{
    GError *error = NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    write_report(trace, out);
    struct measurement *s = measurement_of_report(out->str, out->len, "r.json", &error);
    g_assert_no_error(error);
    return s;
}

/* Two ranks, two steps, by hand: (ms) rank 0 computes [0, 4) and communicates [3, 6); rank 1 computes [1, 3),
 * [5, 9). The second step is twice as long. */
static void by_hand(struct trace *trace)
{
    enum { MS = 1000000 };
    small_init(trace, 2, 0);
    for (uint32_t step = 0; step < 2; step++) {
        const int64_t unit = MS * (step + 1), base = step * 100 * (int64_t)MS;
        const struct {
            unsigned kind, cls;
            uint32_t rank;
            int64_t start, end;
        } ops[] = {{OP_FWD, SPAN_COMPUTE, 0, 0, 4},
                   {OP_BROADCAST, SPAN_COMM, 0, 3, 6},
                   {OP_FWD, SPAN_COMPUTE, 1, 1, 3},
                   {OP_BWD, SPAN_COMPUTE, 1, 5, 9}};
        for (unsigned i = 0; i < G_N_ELEMENTS(ops); i++) {
            const struct trace_op op = small_op(ops[i].kind, small_lane(ops[i].rank, ops[i].cls, 0), step,
                                                base + ops[i].start * unit, base + ops[i].end * unit);
            trace_add_op(trace, &op);
        }
    }
    trace->n_steps = 2;
    trace_finish(trace);
}

static void test_by_hand(void)
{
    struct trace trace;
    by_hand(&trace);
    trace_label(&trace, "engine", "%s", "cpu");
    struct measurement *s = of_trace(&trace);
    g_assert_cmpstr(s->name, ==, "r.json");
    g_assert_null(s->why_not);
    g_assert_false(s->simulated);
    g_assert_cmpuint(s->n[METRIC_STEP], ==, 2);
    g_assert_cmpfloat(s->x[METRIC_STEP][0], ==, 8e6); /* rank 1's [1, 9) */
    g_assert_cmpfloat(s->x[METRIC_STEP][1], ==, 16e6);
    g_assert_cmpfloat(s->x[METRIC_EXPOSED_COMM][0], ==, 2e6);
    g_assert_cmpfloat(s->x[METRIC_IDLE][1], ==, 4e6); /* rank 1's [3, 5) */
    g_assert_cmpfloat_with_epsilon(s->x[METRIC_OVERLAP][0], 100.0 / 3, 1e-9);
    g_assert_cmpuint(s->n[METRIC_BUBBLE], ==, 0);
    g_assert_cmpuint(s->n[METRIC_MEMORY], ==, 0);
    g_assert_cmpstr(digest_label(s->fingerprint.must, "batch"), ==, "8");
    g_assert_cmpstr(digest_label(s->fingerprint.must, "ranks"), ==, "2");
    g_assert_cmpstr(digest_label(s->fingerprint.must, "cores"), ==, "4");
    g_assert_cmpstr(digest_label(s->fingerprint.must, "label engine"), ==, "cpu");
    g_assert_null(digest_label(s->fingerprint.must, "load"));
    g_assert_cmpstr(digest_label(s->fingerprint.may, "load"), ==, "0.5");
    measurement_free(s);
    trace_release(&trace);
}

/* A whole pipeline in units of 1 ms: (p - 1)(F + B) of each rank is bubble; 3 x 2 ms with 4 ranks. */
static void test_bubble(void)
{
    static const struct pipe_case c = {"gpipe", "F=1,B=1,W=0", 4, 1, 8, 1, 0};
    struct trace trace;
    pipe_simulate(&c, &trace);
    struct measurement *s = of_trace(&trace);
    g_assert_true(s->simulated);
    g_assert_cmpuint(s->n[METRIC_BUBBLE], ==, 1);
    g_assert_cmpfloat_with_epsilon(s->x[METRIC_BUBBLE][0], 6e6, 10);
    measurement_free(s);
    trace_release(&trace);
}

/* The rank with most: measured where it was, else planned. */
static void test_memory(void)
{
    static const uint64_t planned[] = {100, 20, 5, 300}, touched[] = {700, 650};
    for (unsigned measured = 0; measured < 2; measured++) {
        struct trace trace;
        by_hand(&trace);
        trace_memory(&trace, 2, op_label, g_memdup2(planned, sizeof planned));
        if (measured)
            trace.memory_measured = g_memdup2(touched, sizeof touched);
        struct measurement *s = of_trace(&trace);
        g_assert_cmpuint(s->n[METRIC_MEMORY], ==, 1);
        g_assert_cmpfloat(s->x[METRIC_MEMORY][0], ==, measured ? 700 : 305);
        measurement_free(s);
        trace_release(&trace);
    }
}

static char *why_not(void (*spoil)(struct trace *))
{
    struct trace trace;
    by_hand(&trace);
    spoil(&trace);
    struct measurement *s = of_trace(&trace);
    char *why = g_steal_pointer(&s->why_not);
    measurement_free(s);
    trace_release(&trace);
    return why;
}

static void throttle(struct trace *trace)
{
    trace_label_text(trace, LABEL_CLOCKS, "GPU 0: thermal slowdown");
    trace_fact_text(trace, "gpu 0 clocks limited by after", "thermal slowdown");
}

static void cap(struct trace *trace)
{
    trace_fact_text(trace, "gpu 0 clocks limited by after", "power cap");
    trace_fact_text(trace, FACT_DROPPED, "0");
}

static void drop(struct trace *trace)
{
    trace_fact_text(trace, FACT_DROPPED, "17");
}

static void interrupt(struct trace *trace)
{
    trace->cancelled = true;
}

static void test_reasons(void)
{
    g_autofree char *heat = why_not(throttle), *power = why_not(cap), *dropped = why_not(drop),
                    *cancelled = why_not(interrupt);
    g_assert_nonnull(strstr(heat, "GPU 0: thermal slowdown"));
    g_assert_null(power);
    g_assert_nonnull(strstr(dropped, "dropped records"));
    g_assert_nonnull(strstr(cancelled, "interrupted"));
}

static void test_future(void)
{
    static const char text[] = "{\"schema\": \"parprof.report/2\", \"samples\": [7]}",
                      far[] = "{\"schema\": \"parprof.history/12\", \"fingerprint\": 1}\n";
    GError *error = NULL;
    uint32_t passed_over;
    struct measurement *s = measurement_of_report(text, strlen(text), "r.json", &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(s->why_not, "parprof.report/2"));
    measurement_free(s);
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    g_assert_true(measurement_of_history(far, strlen(far), "h", runs, &passed_over, &error));
    g_assert_nonnull(strstr(((struct measurement *)runs->pdata[0])->why_not, "parprof.history/12"));
}

/* Every cut of a report is an error that names it. */
static void test_cut(void)
{
    struct trace trace;
    g_autoptr(GString) out = g_string_new(NULL);
    by_hand(&trace);
    write_report(&trace, out);
    for (size_t n = 0; n + 2 < out->len; n++) {
        g_autofree char *copy = g_memdup2(out->str, n);
        g_autoptr(GError) error = NULL;
        struct measurement *s = measurement_of_report(copy ? copy : "", n, "cut.json", &error);
        g_assert_null(s);
        g_assert_true(g_str_has_prefix(error->message, "cut.json"));
    }
    trace_release(&trace);
}

static void test_contradictions(void)
{
    static const struct {
        const char *samples, *why;
    } cases[] = {{"{\"step_ns\": [[1, 2], [3]]}", "samples of 1 ranks"},
                 {"{\"step_ns\": [[]]}", "samples of 0 ranks"},
                 {"{\"step_ns\": [[1], [2]], \"idle_ns\": [[1]]}", "\"idle_ns\" has 1 steps"},
                 {"{\"idle_ns\": [[1]]}", "r.json:1: \"samples\" of \"step_ns\" is missing"},
                 {"{\"step_ns\": [[-1]]}", "-1"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strdup_printf(
            "{\"schema\": \"parprof.report/1\", \"mode\": \"ddp\", \"ranks\": 1, \"samples\": %s}",
            cases[i].samples);
        g_assert_null(measurement_of_report(text, strlen(text), "r.json", &error));
        g_assert_nonnull(strstr(error->message, cases[i].why));
    }
}

static void same(const struct measurement *a, const struct measurement *b)
{
    g_assert_cmpstr(a->verdict, ==, b->verdict);
    g_assert_cmpstr(a->time, ==, b->time);
    g_assert_cmpstr(a->why_not, ==, b->why_not);
    g_assert_true(a->simulated == b->simulated && a->shared == b->shared);
    g_assert_true(
        g_strv_equal((const char *const *)a->fingerprint.must, (const char *const *)b->fingerprint.must));
    g_assert_true(
        g_strv_equal((const char *const *)a->fingerprint.may, (const char *const *)b->fingerprint.may));
    for (unsigned m = 0; m < METRICS; m++)
        g_assert_cmpmem(a->x[m], a->n[m] * sizeof(double), b->x[m], b->n[m] * sizeof(double));
}

/* Three lines; of each cut the whole lines are there, and another line after the cut is not lost. */
static void test_history(void)
{
    struct trace trace;
    by_hand(&trace);
    trace_label_text(&trace, "odd \"\n", "\t\\");
    struct measurement *s = of_trace(&trace);
    g_autoptr(GString) out = g_string_new(NULL);
    size_t ends[3];
    s->verdict = g_strdup("same");
    s->time = g_strdup("2026-01-02T03:04:05Z");
    s->why_not = g_strdup("\"because\"\n");
    for (unsigned i = 0; i < 3; i++) {
        measurement_line(s, out);
        ends[i] = out->len;
    }
    g_assert_true(measurement_is_history(out->str, out->len));
    for (size_t n = ends[0]; n <= out->len; n += 7) {
        g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
        g_autoptr(GString) more = g_string_new_len(out->str, (gssize)n);
        uint32_t passed_over;
        g_string_append_c(more, '\n');
        measurement_line(s, more);
        g_assert_true(measurement_of_history(more->str, more->len, "h", runs, &passed_over, NULL));
        /* a line without its end alone is whole */
        const unsigned whole = (n >= ends[0]) + (n + 1 >= ends[1]) + (n + 1 >= ends[2]);
        g_assert_cmpuint(runs->len, ==, whole + 1);
        for (guint i = 0; i < runs->len; i++)
            same(runs->pdata[i], s);
    }
    measurement_free(s);
    trace_release(&trace);
}

static void test_no_history(void)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "{}\n",
                                        "{\"schema\": \"parprof.history/1\"}\n",
                                        "{\"schema\": \"parprof.report/1\"}\n",
                                        "\x01\xff"};
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
        g_autoptr(GError) error = NULL;
        uint32_t passed_over;
        g_assert_false(measurement_of_history(texts[i], strlen(texts[i]), "h", runs, &passed_over, &error));
        g_assert_nonnull(error);
    }
}

static void test_differences(void)
{
    struct trace trace;
    by_hand(&trace);
    struct measurement *a = of_trace(&trace), *b = of_trace(&trace);
    g_assert_null(fingerprint_difference(&a->fingerprint, "A", &b->fingerprint, "B"));
    g_assert_null(fingerprint_changes(&a->fingerprint, &b->fingerprint));
    for (char **p = b->fingerprint.must; *p; p += 2)
        if (!strcmp(p[0], "batch")) {
            g_free(p[1]);
            p[1] = g_strdup("9");
        } else if (!strcmp(p[0], "overlap")) {
            g_free(p[0]);
            p[0] = g_strdup("lap");
        }
    g_free(b->fingerprint.may[1]);
    b->fingerprint.may[1] = g_strdup("parprof 10");
    g_autofree char *must = fingerprint_difference(&a->fingerprint, "A", &b->fingerprint, "B"),
                    *may = fingerprint_changes(&a->fingerprint, &b->fingerprint);
    g_assert_cmpstr(must, ==,
                    "batch is 8 in A and 9 in B; overlap is backward in A and not said in B; "
                    "lap is backward in B and not said in A");
    g_assert_cmpstr(may, ==, "program parprof 9 -> parprof 10");
    measurement_free(a);
    measurement_free(b);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/measurement/by-hand", test_by_hand);
    g_test_add_func("/measurement/bubble", test_bubble);
    g_test_add_func("/measurement/memory", test_memory);
    g_test_add_func("/measurement/reasons", test_reasons);
    g_test_add_func("/measurement/future", test_future);
    g_test_add_func("/measurement/cut", test_cut);
    g_test_add_func("/measurement/contradictions", test_contradictions);
    g_test_add_func("/measurement/history", test_history);
    g_test_add_func("/measurement/no-history", test_no_history);
    g_test_add_func("/measurement/differences", test_differences);
    return g_test_run();
}
