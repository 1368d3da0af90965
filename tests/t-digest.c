/* The numbers of a report: from a file they are those of the analysis it was written from; what a file lacks
 * is unknown; any bytes give a digest or an error. */
#include <stdlib.h>
#include <string.h>

#include "profile/digest.h"
#include "profile/import.h"
#include "tests/same-digest.h"
#include "tests/small-trace.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

static bool read_copy(const char *text, size_t n, struct digest *d, GError **error)
{
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    bool ok = digest_read(copy, n, "r.json", d, error);
    free(copy);
    return ok;
}

static const char *const options[] = {"batch", "8", "overlap", "backward", NULL};
static const char *const environment[] = {"cpu", "\"a\" \u00e4\n", "", "", NULL};

static void add_memory(struct trace *trace, GRand *rand)
{
    uint32_t ranks = trace->t.n_ranks;
    uint64_t *bytes = g_new(uint64_t, ranks * 2);
    for (uint32_t i = 0; i < ranks * 2; i++)
        bytes[i] = (uint64_t)g_rand_int(rand) << 32;
    trace_memory(trace, 2, op_label, bytes);
    if (g_rand_boolean(rand))
        trace->memory_measured = g_memdup2(bytes, ranks * sizeof *bytes);
}

struct made {
    struct trace trace[3];
    struct analysis analysis[3];
    struct variant others[2];
    struct report report;
};

/* A run, a variant that was run or simulated, a prediction; some of it missing. */
static void make(struct made *m, GRand *rand)
{
    for (unsigned i = 0; i < 3; i++) {
        small_random(&m->trace[i], rand);
        m->trace[i].simulated = i == 2 || g_rand_boolean(rand);
        g_assert_true(analyze(&m->trace[i], &m->analysis[i], NULL));
    }
    struct trace *own = &m->trace[0];
    own->cancelled = g_rand_boolean(rand);
    if (g_rand_boolean(rand))
        add_memory(own, rand);
    trace_label(own, "engine", "%s", "cpu");
    if (g_rand_boolean(rand))
        trace_fact_text(own, "gpu", "\"H200\" \u00e4");
    trace_label(own, "odd \"key\"", "%s", "\\");
    const struct analysis *predicted = g_rand_boolean(rand) ? &m->analysis[2] : NULL;
    m->others[0] = (struct variant){"none", &m->trace[1], &m->analysis[1], predicted};
    m->others[1] = (struct variant){"optimizer", &m->trace[2], &m->analysis[2], NULL};
    m->report = (struct report){.trace = own,
                                .analysis = &m->analysis[0],
                                .predicted_analysis = predicted,
                                .others = m->others,
                                .n_others = (uint32_t)g_rand_int_range(rand, 0, 3),
                                .backend = g_rand_boolean(rand) ? "cpu" : NULL,
                                .options = g_rand_boolean(rand) ? options : NULL,
                                .environment = g_rand_boolean(rand) ? environment : NULL};
    if (g_rand_int_range(rand, 0, 8) == 0)
        m->report.analysis = NULL;
}

static void made_release(struct made *m)
{
    for (unsigned i = 0; i < 3; i++) {
        analysis_release(&m->analysis[i]);
        trace_release(&m->trace[i]);
    }
}

static void test_same(void)
{
    GRand *rand = g_rand_new_with_seed(11);
    for (int round = 0; round < 300; round++) {
        struct made m;
        struct digest made, read;
        GError *error = NULL;
        make(&m, rand);
        GString *text = g_string_new(NULL);
        report_json(&m.report, text);
        digest_make(&made, &m.report);
        g_assert_true(read_copy(text->str, text->len, &read, &error));
        g_assert_no_error(error);
        assert_same_digest(&made, &read);
        g_assert_cmpuint(made.n_rows, ==, m.report.analysis ? m.report.n_others + 1 : 0);
        if (made.n_rows) {
            const struct digest_row *own = &made.rows[made.n_rows - 1];
            g_assert_cmpstr(own->name, ==, m.report.options ? "backward" : "ddp");
            g_assert_cmpint(own->step_ns, ==, m.analysis[0].median_ns);
        }
        g_assert_cmpstr(digest_label(read.labels, "engine"), ==, "cpu");
        g_assert_null(digest_label(read.labels, "none"));
        digest_release(&made);
        digest_release(&read);
        g_string_free(text, TRUE);
        made_release(&m);
    }
    g_rand_free(rand);
}

/* The costs that a run measured are in its report, and come back. */
static void test_costs(void)
{
    GRand *rand = g_rand_new_with_seed(12);
    struct made m;
    make(&m, rand);
    m.report.costs = cost_table_new();
    cost_table_add(m.report.costs, &(struct cost_key){.shape = "s", .kind = OP_BWD, .members = 1},
                   &(struct cost){12, 7});
    GString *text = g_string_new(NULL), *rows = g_string_new(NULL);
    report_json(&m.report, text);
    struct strict_json *j = strict_json_parse(text->str);
    g_assert_cmpint(strict_json_integer(strict_json_at(strict_json_get(j, "costs"), 0), "work_ns"), ==, 7);
    strict_json_free(j);
    struct cost_table *back = cost_table_new();
    g_assert_true(import_costs(text->str, text->len, "r.json", back, NULL));
    export_cost_rows(m.report.costs, rows);
    gsize n = rows->len;
    export_cost_rows(back, rows);
    g_assert_cmpmem(rows->str, n, rows->str + n, rows->len - n);
    cost_table_free(back);
    cost_table_free(m.report.costs);
    g_string_free(text, TRUE);
    g_string_free(rows, TRUE);
    made_release(&m);
    g_rand_free(rand);
}

static void try_read(const char *text, size_t n)
{
    struct digest d;
    GError *error = NULL;
    if (read_copy(text, n, &d, &error)) {
        digest_release(&d);
        return;
    }
    g_assert_true(g_str_has_prefix(error->message, "r.json:"));
    g_error_free(error);
}

static void test_broken(void)
{
    GRand *rand = g_rand_new_with_seed(13);
    struct made m;
    make(&m, rand);
    m.report.n_others = 2;
    m.report.analysis = &m.analysis[0];
    m.report.options = options;
    if (!m.trace[0].memory_bytes)
        add_memory(&m.trace[0], rand);
    GString *text = g_string_new(NULL);
    report_json(&m.report, text);
    for (size_t n = 0; n < text->len; n++)
        try_read(text->str, n);
    for (int round = 0; round < 3000; round++) {
        g_autofree char *copy = g_memdup2(text->str, text->len);
        for (int i = round % 3 == 0 ? 100 : 1; i > 0; i--)
            copy[g_rand_int_range(rand, 0, (gint32)text->len)] ^= (char)(1 << g_rand_int_range(rand, 0, 8));
        try_read(copy, text->len);
    }
    g_string_free(text, TRUE);
    made_release(&m);
    g_rand_free(rand);
}

static void test_errors(void)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{}", "no \"schema\""},
        {"{\"schema\": \"parprof.report/2\"}", "should be \"parprof.report/1\""},
        {"{\"schema\": \"parprof.report/1\"", "is missing; the file ends in the middle"},
        {"{\"schema\": \"parprof.report/1\"}", "r.json:1: \"mode\" is missing"},
        {"{\"schema\": \"parprof.report/1\", \"mode\": \"ddp\"}", "r.json:1: \"ranks\" is missing"},
        {"{\"schema\": \"parprof.report/1\", \"ranks\": -1}", "from 0 to 4096"},
        {"{\"schema\": \"parprof.report/1\", \"mode\": null, \"ranks\": 2, \"memory\": {\"by_category\": "
         "{\"w\": [1]}}}",
         "2 ranks"},
        {"{\"schema\": \"parprof.report/1\", \"partition_ns\": {\"compute\": 3, \"span\": 4}}", "sum to"},
        {"{\"schema\": \"parprof.report/1\", \"phases_ns\": {\"forward\": \"x\"}}", "found a text"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct digest d;
        GError *error = NULL;
        g_assert_false(read_copy(cases[i].text, strlen(cases[i].text), &d, &error));
        if (!strstr(error->message, cases[i].error))
            g_error("%s: %s", cases[i].text, error->message);
        g_error_free(error);
    }
    struct digest d;
    static const char least[] = "{\"new\": [1], \"schema\": \"parprof.report/1\", \"mode\": null, \"ranks\": "
                                "2, \"step_ns\": {\"median\": 5}}";
    g_assert_true(read_copy(least, strlen(least), &d, NULL));
    g_assert_cmpuint(d.n_rows, ==, 1);
    g_assert_cmpint(d.rows[0].step_ns, ==, 5);
    g_assert_cmpint(d.rows[0].phase_ns[0], ==, -1);
    g_assert_cmpint(d.rows[0].predicted_step_ns, ==, -1);
    g_assert_cmpint(d.rows[0].partition.window_ns, ==, 0);
    g_assert_cmpstr(d.rows[0].name, ==, "");
    g_assert_null(d.mode);
    digest_release(&d);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/digest/same", test_same);
    g_test_add_func("/digest/costs", test_costs);
    g_test_add_func("/digest/broken", test_broken);
    g_test_add_func("/digest/errors", test_errors);
    return g_test_run();
}
