/* Reports as JSON, which parses and says what was measured, nothing else. */
#include <string.h>

#include "profile/facts.h"
#include "tests/report-run.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

static void test_json(void)
{
    struct fixture f;
    fixture_init(&f);
    static const char *const environment[] = {"cores", "4", NULL};
    static const char *const names[] = {"weight", "scratch"};
    f.report.environment = environment;
    f.run.n_memory = 2;
    f.run.memory_names = g_new0(char *, 2);
    f.run.memory_bytes = g_new0(uint64_t, 4);
    for (unsigned i = 0; i < 2; i++)
        f.run.memory_names[i] = g_strdup(names[i]);
    f.run.memory_bytes[3] = UINT64_MAX;
    f.run.memory_measured = g_new0(uint64_t, 2);
    f.run.memory_measured[1] = 12345;
    GString *out = g_string_new(NULL), *again = g_string_new(NULL);
    report_json(&f.report, out);
    report_json(&f.report, again);
    g_assert_cmpstr(out->str, ==, again->str);
    struct strict_json *j = strict_json_parse(out->str);
    g_assert_nonnull(j);
    g_assert_cmpstr(strict_json_string_of(j, "schema"), ==, "parprof.report/1");
    g_assert_cmpstr(strict_json_string_of(j, "mode"), ==, "ddp");
    g_assert_cmpstr(strict_json_string_of(j, "backend"), ==, "cpu");
    g_assert_cmpstr(strict_json_string_of(strict_json_get(j, "options"), "overlap"), ==, "backward");
    g_assert_cmpstr(strict_json_string_of(strict_json_get(j, "environment"), "cores"), ==, "4");
    g_assert_cmpstr(strict_json_string_of(strict_json_get(j, "labels"), "engine"), ==, "cpu");
    g_assert_cmpint(strict_json_integer(j, "ranks"), ==, 2);
    const struct strict_json *step = strict_json_get(j, "step_ns"), *samples = strict_json_get(j, "samples");
    g_assert_cmpint(strict_json_integer(step, "median"), ==, 297900000);
    g_assert_null(strict_json_get(step, "ci95")); /* of three steps there is none */
    g_assert_cmpuint(strict_json_length(strict_json_get(samples, "step_ns")), ==, 3);
    g_assert_cmpstr(strict_json_at(strict_json_at(strict_json_get(samples, "exposed_comm_ns"), 2), 1)->text,
                    ==, "28200000");
    const struct strict_json *part = strict_json_get(j, "partition_ns"),
                             *overlap = strict_json_get(j, "overlap");
    g_assert_cmpint(strict_json_integer(part, "compute") + strict_json_integer(part, "exposed_comm") +
                        strict_json_integer(part, "exposed_copy") + strict_json_integer(part, "idle"),
                    ==, strict_json_integer(part, "span"));
    g_assert_cmpint(strict_json_integer(overlap, "hidden_ns"), ==, 21000000);
    g_assert_cmpint(strict_json_integer(strict_json_get(overlap, "causes_ns"), "end_of_backward"), ==,
                    28200000);
    g_assert_cmpint(strict_json_integer(strict_json_get(overlap, "causes_ns"), "late_peer"), ==, 0);
    g_assert_null(strict_json_get(overlap, "late_rank"));
    g_assert_null(strict_json_get(overlap, "wait_ns")); /* no gangs, so nobody waited */
    g_assert_cmpfloat(g_ascii_strtod(strict_json_get(overlap, "percent")->text, NULL), ==,
                      21000000. / 49200000. * 100);
    g_assert_cmpint(strict_json_integer(strict_json_get(j, "phases_ns"), "optimizer"), ==, 14000000);
    const struct strict_json *first = strict_json_at(strict_json_get(j, "buckets"), 0),
                             *second = strict_json_at(strict_json_get(j, "buckets"), 1);
    g_assert_cmpstr(strict_json_string_of(first, "closed_by"), ==, "layer6.feed_forward.out.weight");
    g_assert_null(strict_json_get(second, "closed_by"));
    g_assert_cmpstr(strict_json_at(strict_json_get(second, "params"), 1)->text, ==, "embedding.word.weight");
    g_assert_cmpint(strict_json_integer(first, "start_ns"), ==, 48700000);
    g_assert_cmpint(strict_json_integer(second, "exposed_ns"), ==, 28200000);
    g_assert_cmpint(strict_json_integer(strict_json_get(second, "causes_ns"), "end_of_backward"), ==,
                    28200000);
    g_assert_cmpint(strict_json_integer(strict_json_get(first, "causes_ns"), "end_of_backward"), ==, 0);
    const struct strict_json *scratch =
        strict_json_get(strict_json_get(strict_json_get(j, "memory"), "by_category"), "scratch");
    g_assert_cmpstr(strict_json_at(scratch, 1)->text, ==, "18446744073709551615");
    const struct strict_json *peak = strict_json_get(strict_json_get(j, "memory"), "peak_bytes");
    const struct strict_json *measured = strict_json_get(strict_json_get(j, "memory"), "measured_bytes");
    g_assert_cmpstr(strict_json_at(peak, 0)->text, ==, "0");
    g_assert_cmpstr(strict_json_at(peak, 1)->text, ==, "18446744073709551615");
    g_assert_cmpuint(strict_json_length(measured), ==, 2);
    g_assert_cmpstr(strict_json_at(measured, 1)->text, ==, "12345");
    g_assert_cmpint(strict_json_integer(strict_json_get(j, "prediction"), "step_ns"), ==, 292400000);
    g_assert_cmpint(strict_json_integer(strict_json_get(j, "unoverlapped"), "step_ns"), ==, 357100000);
    g_assert_null(strict_json_get(j, "cancelled"));
    strict_json_free(j);
    g_string_free(out, TRUE);
    g_string_free(again, TRUE);
    fixture_release(&f);
}

static double real(const struct strict_json *object, const char *key)
{
    g_assert_nonnull(strict_json_get(object, key));
    return g_ascii_strtod(strict_json_get(object, key)->text, NULL);
}

static void test_devices_json(void)
{
    static const char *const environment[] = {"cores", "4", NULL};
    struct fixture f;
    fixture_init(&f);
    make_device_run(&f);
    f.report.environment = environment;
    f.run_analysis.slowdown_percent = 12.5;
    g_autoptr(GString) out = g_string_new(NULL);
    report_json(&f.report, out);
    struct strict_json *j = strict_json_parse(out->str);
    const struct strict_json *facts = strict_json_get(j, "environment"),
                             *records = strict_json_get(j, "records"),
                             *launches = strict_json_get(j, "launches"),
                             *buckets = strict_json_get(j, "buckets");
    g_assert_cmpstr(strict_json_string_of(facts, "cores"), ==, "4");
    g_assert_cmpstr(strict_json_string_of(facts, "driver"), ==, "580.65");
    g_assert_cmpint(strict_json_integer(records, "dropped"), ==, 12);
    g_assert_cmpint(strict_json_integer(records, "zero"), ==, 0);
    g_assert_cmpint(strict_json_integer(records, "early"), ==, 3);
    g_assert_null(strict_json_get(records, "inverted")); /* not known */
    g_assert_cmpint(strict_json_integer(launches, "wait_ns"), ==, 35000 * US);
    g_assert_cmpfloat_with_epsilon(real(launches, "percent"), 35000. / 2979, 1e-9);
    g_assert_cmpint(strict_json_get(launches, "bound")->kind, ==, 't');
    g_assert_cmpfloat(real(strict_json_get(j, "overlap"), "compute_slowdown_percent"), ==, 12.5);
    const struct strict_json *first = strict_json_at(buckets, 0), *second = strict_json_at(buckets, 1);
    g_assert_cmpint(strict_json_integer(first, "transfer_ns"), ==, 21000 * US);
    g_assert_cmpfloat_with_epsilon(real(first, "algbw_bytes_per_s"), (25 << 20) / 0.021, 1);
    g_assert_cmpfloat_with_epsilon(real(second, "busbw_bytes_per_s"), (3 << 20) / 0.0282, 1);
    g_assert_null(strict_json_get(first, "nccl_estimate_ns"));
    g_assert_cmpint(strict_json_integer(second, "nccl_estimate_ns"), ==, 25000000);
    strict_json_free(j);
    fixture_release(&f);
}

/* Absent, never 0: a bucket that no all-reduce carried, overlap of nothing, a prediction of a simulation. */
static void test_json_absent(void)
{
    struct fixture f;
    make_row(&f.run, 1, 0, 10);
    make_row(&f.predicted, 1, 0, 10);
    make_row(&f.unoverlapped, 1, 0, 10);
    f.run.t.n_buckets = 1;
    f.run.t.buckets = g_new0(struct bucket_row, 1);
    f.run.cancelled = true;
    fixture_analyze(&f);
    static const char *const absent[] = {"overlap",       "prediction", "memory",     "loss",
                                         "weights_equal", "labels",     "environment"};
    for (int round = 0; round < 2; round++) {
        GString *out = g_string_new(NULL);
        report_json(&f.report, out);
        struct strict_json *j = strict_json_parse(out->str);
        g_assert_nonnull(j);
        for (unsigned i = 0; i < G_N_ELEMENTS(absent); i++)
            g_assert_null(strict_json_get(j, absent[i]));
        g_assert_null(strict_json_get(strict_json_at(strict_json_get(j, "buckets"), 0), "ready_ns"));
        g_assert_cmpint(strict_json_get(j, "cancelled")->kind, ==, 't');
        g_assert_cmpint(strict_json_get(j, "step_ns") != NULL, ==, round == 0);
        strict_json_free(j);
        g_string_free(out, TRUE);
        f.report.analysis = NULL;
    }
    fixture_release(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/report-json/json", test_json);
    g_test_add_func("/report-json/json-absent", test_json_absent);
    g_test_add_func("/report-json/devices-json", test_devices_json);
    return g_test_run();
}
