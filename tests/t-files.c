/* Files that older versions wrote (tests/files/VERSION) are read: every value is there, whatever the order of
 * members and whatever else later versions may add to them. */
#include <string.h>

#include "base/json.h"
#include "plan/plan.h"
#include "profile/digest.h"
#include "profile/export.h"
#include "profile/import.h"
#include "profile/series.h"
#include "tests/same-digest.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

struct file {
    char *text;
    gsize n;
};

static struct file load_of(const char *version, const char *name)
{
    struct file file;
    GError *error = NULL;
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "files", version, name, NULL);
    g_file_get_contents(path, &file.text, &file.n, &error);
    g_assert_no_error(error);
    return file;
}

static struct file load(const char *name)
{
    return load_of("v0.1", name);
}

static void load_trace(const struct file *file, struct trace *trace)
{
    GError *error = NULL;
    import_trace(file->text, file->n, "trace", trace, &error);
    g_assert_no_error(error);
}

static void load_digest(const struct file *file, struct digest *digest)
{
    GError *error = NULL;
    digest_read(file->text, file->n, "report", digest, &error);
    g_assert_no_error(error);
}

/* The members of an object the other way round, with one more in front; what names its members by data stays.
 */
static void turn(const struct strict_json *j, bool data, GString *out)
{
    guint n = j->items ? j->items->len : 0;
    switch (j->kind) {
    case '{':
        g_string_append(out, data ? "{" : "{\"new\": [{\"a\": [1, \"}\"]}]");
        for (guint i = 0; i < n; i += 2) {
            guint at = data ? i : n - 2 - i;
            const char *key = ((const struct strict_json *)j->items->pdata[at])->text;
            bool inner = !strcmp(key, "labels") || !strcmp(key, "options") || !strcmp(key, "environment") ||
                         !strcmp(key, "by_category");
            g_string_append(out, i || !data ? ", " : "");
            json_string(out, key);
            g_string_append(out, " : ");
            turn(j->items->pdata[at + 1], inner, out);
        }
        g_string_append_c(out, '}');
        break;
    case '[':
        for (guint i = 0; i < n; i++) {
            g_string_append(out, i ? ",\n" : "[");
            turn(j->items->pdata[i], false, out);
        }
        g_string_append(out, n ? "]" : "[]");
        break;
    case '"':
        json_string(out, j->text);
        break;
    default:
        g_string_append(out, j->kind == '0'   ? j->text
                             : j->kind == 't' ? "true"
                             : j->kind == 'f' ? "false"
                                              : "null");
    }
}

static struct file turned(const struct file *file)
{
    struct strict_json *j = strict_json_parse(file->text);
    GString *out = g_string_new(NULL);
    g_assert_nonnull(j);
    turn(j, false, out);
    strict_json_free(j);
    gsize n = out->len;
    return (struct file){g_string_free(out, FALSE), n};
}

/* Written again, the trace is the old file but for the keys that are new. */
static void check_trace_file(const char *name)
{
    struct file file = load(name), other = turned(&file);
    struct trace trace, same;
    load_trace(&file, &trace);
    load_trace(&other, &same);
    GString *out = g_string_new(NULL), *again = g_string_new(NULL);
    export_chrome(&trace, out);
    export_chrome(&same, again);
    g_assert_cmpstr(out->str, ==, again->str);
    g_string_replace(out, ",\"node\":0", "", 0);
    g_assert_cmpstr(out->str, ==, file.text);
    g_string_free(out, TRUE);
    g_string_free(again, TRUE);
    trace_release(&trace);
    trace_release(&same);
    g_free(file.text);
    g_free(other.text);
}

static void test_traces(void)
{
    check_trace_file("trace-cpu.json");
    check_trace_file("trace-sim.json");
    struct file file = load("trace-cpu.json");
    struct trace trace;
    load_trace(&file, &trace);
    g_assert_cmpstr(trace.t.mode, ==, "ddp");
    g_assert_cmpuint(trace.t.n_ranks, ==, 2);
    g_assert_cmpuint(trace.n_steps, ==, 1);
    g_assert_false(trace.simulated);
    g_assert_cmpint(trace.ops[0].work_ns, ==, -1);
    g_assert_cmpstr(trace_label_value(&trace, "link"), ==, "paced to 10 Gb/s, 20 µs");
    g_assert_cmpstr(import_kind(file.text, file.n, "f", NULL), ==, "trace");
    trace_release(&trace);
    g_free(file.text);
}

/* What is found in a trace is what the report that was written with it says. */
static void check_report_file(const char *report_name, const char *trace_name)
{
    struct file report = load(report_name), other = turned(&report), file = load(trace_name);
    struct trace trace;
    struct analysis analysis;
    struct digest digest, same, fresh;
    load_trace(&file, &trace);
    load_digest(&report, &digest);
    load_digest(&other, &same);
    assert_same_digest(&digest, &same);
    g_assert_true(analyze(&trace, &analysis, NULL));
    digest_make(&fresh, &(struct report){.trace = &trace,
                                         .analysis = &analysis,
                                         .backend = digest.backend,
                                         .options = (const char *const *)digest.options,
                                         .environment = (const char *const *)digest.environment});
    struct digest_row *own = &digest.rows[digest.n_rows - 1];
    own->predicted_step_ns = -1; /* a trace does not say */
    g_assert_cmpuint(fresh.n_rows, ==, 1);
    assert_same_row(own, &fresh.rows[0]);
    g_assert_cmpuint(digest.n_memory, ==, fresh.n_memory);
    g_assert_cmpmem(digest.memory_bytes, digest.n_memory * digest.n_ranks * sizeof(uint64_t),
                    fresh.memory_bytes, fresh.n_memory * fresh.n_ranks * sizeof(uint64_t));
    digest_release(&digest);
    digest_release(&same);
    digest_release(&fresh);
    analysis_release(&analysis);
    trace_release(&trace);
    g_free(report.text);
    g_free(other.text);
    g_free(file.text);
}

static void test_reports(void)
{
    check_report_file("report-cpu.json", "trace-cpu.json");
    check_report_file("report-sim.json", "trace-sim.json");
    struct file file = load("report-cpu.json");
    struct digest d;
    load_digest(&file, &d);
    g_assert_cmpstr(d.backend, ==, "cpu");
    g_assert_cmpstr(digest_label(d.options, "lr"), ==, "0.1");
    g_assert_cmpstr(digest_label(d.environment, "program"), ==, "parprof 0.1");
    g_assert_cmpuint(d.n_rows, ==, 2);
    g_assert_cmpstr(d.rows[0].name, ==, "none");
    g_assert_true(d.rows[0].measured);
    g_assert_cmpint(d.rows[0].step_ns, ==, 9985999);
    g_assert_cmpint(d.rows[0].phase_ns[PHASE_COMM], ==, -1); /* that version did not say */
    g_assert_cmpint(d.rows[0].partition.window_ns, ==, 0);
    g_assert_cmpint(d.rows[1].step_ns, ==, 3535359);
    g_assert_cmpint(d.rows[1].predicted_step_ns, ==, 1988490);
    g_assert_cmpint(d.rows[1].partition.hidden_comm_ns, ==, 39805);
    digest_release(&d);
    GError *error = NULL;
    struct cost_table *table = cost_table_new();
    g_assert_false(import_costs(file.text, file.n, "report", table, &error));
    g_assert_nonnull(strstr(error->message, "no measured costs are in it"));
    g_error_free(error);
    cost_table_free(table);
    g_free(file.text);
}

static void test_plan(void)
{
    struct file file = load("plan.json");
    g_assert_cmpstr(import_kind(file.text, file.n, "f", NULL), ==, "plan");
    g_free(file.text);
}

/* What today's formats hold beyond those of 0.1 comes back as it was written. */
static void test_today(void)
{
    GError *error = NULL;
    struct file file = load_of("v0.2", "trace.json");
    struct trace trace;
    GString *out = g_string_new(NULL);
    load_trace(&file, &trace);
    g_assert_cmpuint(trace.t.lanes[trace.t.n_lanes - 1].device, ==, 1);
    g_assert_cmpstr(trace_label_value(&trace, "sharing"), ==, "2 ranks share each device");
    export_chrome(&trace, out);
    g_assert_cmpstr(out->str, ==, file.text);
    trace_release(&trace);
    g_free(file.text);

    file = load_of("v0.2", "plan.json");
    struct plan plan;
    struct model *model;
    plan_read_json(file.text, file.n, "plan", &plan, &model, &error);
    g_assert_no_error(error);
    plan_seal(&plan, &error);
    g_assert_no_error(error);
    g_string_truncate(out, 0);
    plan_write_json(&plan, out);
    g_assert_cmpstr(out->str, ==, file.text);
    g_assert_true(plan_check_run(&plan, model, NULL));
    plan_release(&plan);
    model_free(model);
    g_free(file.text);

    file = load_of("v0.2", "sweep.json");
    struct series series;
    series_read(file.text, file.n, "sweep", &series, &error);
    g_assert_no_error(error);
    g_string_truncate(out, 0);
    series_json(&series, out);
    g_assert_cmpstr(out->str, ==, file.text);
    g_assert_cmpuint(series.n_points, ==, 6);
    g_assert_nonnull(series.points[5].why_not);
    series_release(&series);
    g_free(file.text);
    g_string_free(out, TRUE);
}

/* The costs of a report are those of the cost file that the same run wrote. */
static void test_costs(void)
{
    static const char *const names[] = {"report.json", "costs.json"};
    char *rows[G_N_ELEMENTS(names)];
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        GError *error = NULL;
        struct file file = load_of("v0.2", names[i]);
        struct cost_table *table = cost_table_new();
        GString *out = g_string_new(NULL);
        import_costs(file.text, file.n, names[i], table, &error);
        g_assert_no_error(error);
        export_cost_rows(table, out);
        rows[i] = g_string_free(out, FALSE);
        cost_table_free(table);
        g_free(file.text);
    }
    g_assert_cmpstr(rows[0], ==, rows[1]);
    g_assert_nonnull(strstr(rows[1], "\"kind\":\"NORM\""));
    g_free(rows[0]);
    g_free(rows[1]);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/files/traces", test_traces);
    g_test_add_func("/files/reports", test_reports);
    g_test_add_func("/files/plan", test_plan);
    g_test_add_func("/files/today", test_today);
    g_test_add_func("/files/costs", test_costs);
    return g_test_run();
}
