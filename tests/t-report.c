/* Reports as text: the summary letter by letter. */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "profile/facts.h"
#include "profile/report.h"
#include "tests/report-run.h"
#include "tests/strict-json.h"
#include "tests/small-trace.h"
#include "tests/tap.h"

static char *print(const struct report *report)
{
    GString *out = g_string_new(NULL);
    report_print(report, out);
    g_assert_true(g_utf8_validate_len(out->str, out->len, NULL));
    return g_string_free(out, FALSE);
}

static void expect(const struct report *report, const char *want)
{
    g_autofree char *got = print(report);
    g_assert_cmpstr(got, ==, want);
}

static void expect_part(const struct report *report, const char *part, bool there)
{
    g_autofree char *got = print(report);
    if ((strstr(got, part) != NULL) != there)
        g_error("%s in the summary: %s\n%s", there ? "missing" : "should not be", part, got);
}

static const char golden[] =
    "bucket   MiB  closed by                ready  start    end  hidden  exposed   ms from start of "
    "backward, on rank 0, the slowest\n"
    "0       25.0  layer6.feed_forward.out   48.7   48.7   69.7    21.0      0.0\n"
    "1        3.0  rest                     171.6  171.6  199.8     0.0     28.2\n"
    "            FWD    BWD   COMM  exposed    OPT   step\n"
    "none      100.0    0.0  157.1    157.1  100.0  357.1 ms  predicted\n"
    "backward   84.1  171.6   49.2     28.2   14.0  297.9 ms  measured (predicted 292.4, −1.8 %)\n"
    "42.7 % of communication hidden; saves 59.2 ms (16.6 %) of the predicted.\n"
    "28.2 ms exposed because bucket 1 (rest) is ready only at the end of backward.\n"
    "loss 9.01 → 8.74 (perplexity 8185 → 6248); weights equal on all ranks\n";

static void test_golden(void)
{
    struct fixture f;
    fixture_init(&f);
    expect(&f.report, golden);
    f.run_analysis.transfer_ns = 40000000;
    f.run_analysis.wait_ns = 2000000; /* noise */
    expect(&f.report, golden);
    f.run_analysis.wait_ns = 9200000;
    expect_part(&f.report,
                "backward.\nCOMM of rank 0 is 40.0 ms of transfer and 9.2 ms of waiting for other ranks.\n",
                true);
    fixture_release(&f);
}

/* Causes in ms, by bucket: rows of late peer, late launch, queue, end of backward, bandwidth. */
static void set_causes(struct fixture *f, const int64_t ms[3][CAUSES], uint32_t late_rank,
                       int64_t late_rank_ms)
{
    struct analysis *a = &f->run_analysis;
    struct causes all = {.late_rank = late_rank, .late_rank_ns = late_rank_ms * 1000 * US};
    int64_t sum_ns = 0;
    for (uint32_t row = 0; row < 3; row++)
        for (unsigned c = 0; c < CAUSES; c++) {
            a->bucket_causes[row].ns[c] = ms[row][c] * 1000 * US;
            all.ns[c] += ms[row][c] * 1000 * US;
            sum_ns += ms[row][c] * 1000 * US;
        }
    a->causes[0] = all;
    a->partition[a->median_step * 2].exposed_comm_ns = sum_ns;
}

static void test_why(void)
{
    static const struct {
        int64_t ms[3][CAUSES];
        uint32_t late_rank;
        int64_t late_rank_ms;
        const char *want;
    } cases[] = {
        {{{0}}, OP_NONE, 0, "nothing exposed: computation hides all of it."},
        {{{7}}, 1, 7, "7.0 ms exposed waiting for rank 1."},
        {{{7}, {2}}, 1, 5, "9.0 ms exposed waiting for other ranks, rank 1 most of all."},
        {{{1}, {0, 0, 0, 18}},
         1,
         1,
         "19.0 ms exposed: 18.0 because bucket 1 (rest) is ready only at the end of "
         "backward, 1.0 waiting for rank 1."},
        {{{0, 0, 3, 0, 5}, {0, 4, 2, 0, 6}},
         OP_NONE,
         0,
         "20.0 ms exposed: 11.0 because bucket 1 (rest) and 1 more take longer than "
         "the "
         "computation beside them, 5.0 because bucket 0 (layer6.feed_forward.out) and 1 more queue behind an "
         "earlier collective, 4.0 because bucket 1 (rest) waits until an earlier "
         "bucket is "
         "ready."},
        {{{0}, {0}, {0, 0, 0, 0, 2}},
         OP_NONE,
         0,
         "2.0 ms exposed because communication outside the buckets takes longer than the computation beside "
         "it."},
    };
    struct fixture f;
    fixture_init(&f);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *line = g_strdup_printf("\n%s\n", cases[i].want);
        set_causes(&f, cases[i].ms, cases[i].late_rank, cases[i].late_rank_ms);
        expect_part(&f.report, line, true);
    }
    set_causes(&f, cases[0].ms, OP_NONE, 0);
    f.run_analysis.partition[f.run_analysis.median_step * 2].exposed_comm_ns = 49999;
    f.run_analysis.causes[0].ns[CAUSE_QUEUE] = 49999;
    expect_part(&f.report, "\nnext to nothing exposed: 49999 ns.\n", true);
    set_causes(&f, cases[4].ms, OP_NONE, 0);
    f.report.options = apart;
    expect_part(&f.report, "\n20.0 ms exposed because without overlap it begins after backward.\n", true);
    set_causes(&f, cases[3].ms, 1, 1);
    expect_part(
        &f.report,
        "\n19.0 ms exposed: 18.0 because without overlap it begins after backward, 1.0 waiting for rank 1.\n",
        true);
    f.report.options = NULL;
    f.run.t.mode = "dp";
    expect_part(&f.report,
                "\n19.0 ms exposed: 18.0 because DataParallel never computes beside it, 1.0 waiting for rank 1.\n",
                true);
    fixture_release(&f);
}

/* Rows of several overlaps, measured and predicted; losses are equal only if they are. */
static void test_variants(void)
{
    struct fixture f, other;
    fixture_init(&f);
    fixture_init(&other);
    const struct variant others[] = {
        {"none", &f.unoverlapped, &f.unoverlapped_analysis, NULL},
        {"optimizer", &other.run, &other.run_analysis, &other.predicted_analysis}};
    f.report.others = others;
    f.report.n_others = 2;
    expect_part(
        &f.report,
        "none       100.0    0.0  157.1    157.1  100.0  357.1 ms  predicted\n"
        "optimizer   84.1  171.6   49.2     28.2   14.0  297.9 ms  measured (predicted 292.4, −1.8 %)\n"
        "backward    84.1  171.6   49.2     28.2   14.0  297.9 ms  measured (predicted 292.4, −1.8 %)\n",
        true);
    expect_part(&f.report, "6248); losses equal in every overlap; weights equal on all ranks\n", true);
    GString *out = g_string_new(NULL);
    report_json(&f.report, out);
    struct strict_json *j = strict_json_parse(out->str);
    g_assert_nonnull(j);
    const struct strict_json *variants = strict_json_get(j, "variants");
    g_assert_cmpuint(strict_json_length(variants), ==, 3);
    g_assert_cmpstr(strict_json_string_of(strict_json_at(variants, 2), "overlap"), ==, "backward");
    g_assert_cmpint(strict_json_get(strict_json_at(variants, 0), "measured")->kind, ==, 'f');
    g_assert_cmpint(strict_json_get(strict_json_at(variants, 1), "measured")->kind, ==, 't');
    g_assert_cmpint(strict_json_integer(strict_json_at(variants, 0), "step_ns"), ==, 357100000);
    g_assert_cmpint(strict_json_integer(strict_json_at(variants, 1), "exposed_comm_ns"), ==, 28200000);
    g_assert_cmpint(strict_json_integer(strict_json_at(variants, 1), "predicted_step_ns"), ==, 292400000);
    strict_json_free(j);
    g_string_free(out, TRUE);
    other.run.loss[1] *= 1 + 1e-9;
    expect_part(&f.report, "; losses differ by up to 1.0e-09 between overlaps; weights", true);
    other.run.loss[1] = NAN;
    expect_part(&f.report, "losses", false);
    fixture_release(&f);
    fixture_release(&other);
}

/* Where decimals are written with a comma. */
static void test_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    bool set = false;
    for (unsigned i = 0; i < G_N_ELEMENTS(names) && !set; i++)
        set = setlocale(LC_ALL, names[i]) != NULL;
    if (!set) {
        g_test_skip("no locale with a decimal comma is installed");
        return;
    }
    test_golden();
    struct fixture f;
    fixture_init(&f);
    GString *out = g_string_new(NULL);
    report_json(&f.report, out);
    g_assert_nonnull(strstr(out->str, "9.01"));
    g_string_free(out, TRUE);
    fixture_release(&f);
    setlocale(LC_ALL, "C.UTF-8");
}

/* What is not there is not spoken of. */
static void test_without(void)
{
    struct fixture f;
    fixture_init(&f);
    f.report.predicted_analysis = NULL;
    expect_part(&f.report, "measured\n", true);
    f.report.options = apart;
    f.report.n_others = 0;
    expect_part(&f.report, "42.7 % of communication hidden.\n", true);
    expect_part(&f.report, "predicted", false);
    f.report.options = overlapping;
    expect_part(&f.report, "none", false);
    expect_part(&f.report, "saves", false);
    g_clear_pointer(&f.run.loss, g_free);
    expect_part(&f.report, "loss", false);
    expect_part(&f.report, "\nweights equal on all ranks\n", true);
    g_clear_pointer(&f.run.weight_hash, g_free);
    expect_part(&f.report, "weights", false);
    f.run.cancelled = true;
    expect_part(&f.report, "interrupted: only 3 steps measured\n", true);
    f.report.analysis = NULL;
    f.run.n_steps = 0;
    expect(&f.report, "interrupted: only 0 steps measured\n");
    fixture_release(&f);
}

static void test_single(void)
{
    struct fixture f;
    make_row(&f.run, 1, 0, 10);
    make_row(&f.predicted, 1, 0, 10);
    make_row(&f.unoverlapped, 1, 0, 10);
    fixture_analyze(&f);
    f.run.t.mode = "single";
    f.report.options = NULL;
    f.report.n_others = 0;
    f.report.tokens = false;
    expect(&f.report, "          FWD    BWD   COMM  exposed    OPT   step\n"
                      "single  0.010  0.000  0.000    0.000  0.010  0.020 ms  simulated\n");
    f.run_analysis.n_buckets = f.run.t.n_buckets = 1;
    f.run.t.buckets = g_new0(struct bucket_row, 1);
    f.run_analysis.buckets = g_new0(struct bucket_times, 1);
    f.run_analysis.buckets[0].rank = OP_NONE;
    expect_part(&f.report, "bucket", false);
    expect_part(&f.report, "\none rank: nothing to communicate\n", true);
    f.run.simulated = false;
    f.run.loss = g_new(double, 1);
    f.run.loss[0] = 0.0625;
    f.run.weight_hash = g_new0(uint64_t, 1);
    expect_part(&f.report, "measured (predicted 0.020, 0.0 %)\n", true);
    expect_part(&f.report, "\nloss 0.0625\n", true);
    fixture_release(&f);
}

static void test_costs_more(void)
{
    struct fixture f;
    fixture_init(&f);
    trace_release(&f.unoverlapped);
    analysis_release(&f.unoverlapped_analysis);
    make_row(&f.unoverlapped, 2, 10000, 100000);
    f.unoverlapped.simulated = false;
    g_assert_true(analyze(&f.unoverlapped, &f.unoverlapped_analysis, NULL));
    expect_part(&f.report, "; costs 87.9 ms (41.9 %).\n", true);
    expect_part(&f.report, "210.0 ms  measured\n", true);
    /* a prediction is no measurement of what overlap costs */
    f.unoverlapped.simulated = true;
    expect_part(&f.report, "; 87.9 ms (41.9 %) above the prediction without overlap, which is too low.\n",
                true);
    /* one that misses the step itself by more than a fifth says nothing at all */
    struct analysis far = f.run_analysis;
    far.median_ns = f.run_analysis.median_ns * 79 / 100;
    f.report.predicted_analysis = &far;
    expect_part(&f.report, "; the prediction is too far off to say what overlap saves.\n", true);
    far.median_ns = f.run_analysis.median_ns * 81 / 100;
    expect_part(&f.report, "which is too low.\n", true);
    f.report.predicted_analysis = NULL;
    f.unoverlapped.simulated = false;
    f.run.simulated = f.unoverlapped.simulated = true;
    expect_part(&f.report, "297.9 ms  simulated\n", true);
    expect_part(&f.report, "210.0 ms  simulated\n", true);
    fixture_release(&f);
}

/* Perplexities are counts of choices, of which even a bad model has no need of an exponent. */
static void test_epochs(void)
{
    struct epoch epochs[] = {{.batches = 5, .valid_loss = 9.4727, .loss = 9.6}, {.batches = 5, .loss = 3}};
    struct training t = {
        .epochs = epochs, .n = 1, .asked = 3, .trained = 1, .test_loss = 5.2, .valid_samples = 8};
    struct fixture f;
    fixture_init(&f);
    f.report.training = &t;
    expect_part(&f.report, "best epoch 1 of 1 (of 3 asked for; not tested): valid loss 9.473 (perplexity 13000)\n", true);
    expect_part(&f.report, "interrupted while", false);
    t.test_samples = 8;
    expect_part(&f.report, "; test loss 5.2 (perplexity 181.3)\n", true);
    t.test_samples = 0;
    t.trained = 2;
    expect_part(&f.report, "\nepoch 2 was trained, and interrupted while it was validated: loss 3 (perplexity 20.09)\n", true);
    t.n = 0;
    t.trained = 1;
    expect_part(&f.report, "best epoch", false);
    expect_part(&f.report, "\nepoch 1 was trained, and interrupted while it was validated: loss 9.6 (perplexity 14765)\n", true);
    fixture_release(&f);
}

static void test_broken_training(void)
{
    struct fixture f;
    fixture_init(&f);
    f.run.weight_hash[1] = 1;
    expect_part(&f.report,
                "\n*** WEIGHTS DIFFER: 1 of 2 ranks do not hold the weights of rank 0 (rank 1): ", true);
    expect_part(&f.report, "equal", false);
    f.run.loss[2] = NAN;
    expect_part(&f.report, "loss 9.01 → not finite (training diverged; try a smaller --lr)\n", true);
    f.run.loss[0] = -INFINITY;
    g_autofree char *text = print(&f.report), *lower = g_ascii_strdown(text, -1);
    g_assert_null(strstr(lower, "nan"));
    g_assert_nonnull(strstr(lower, "loss not finite → not finite"));
    GString *out = g_string_new(NULL);
    report_json(&f.report, out);
    struct strict_json *j = strict_json_parse(out->str);
    g_assert_nonnull(j);
    g_assert_cmpint(strict_json_at(strict_json_get(j, "loss"), 2)->kind, ==, 'n');
    g_assert_cmpint(strict_json_get(j, "weights_equal")->kind, ==, 'f');
    strict_json_free(j);
    g_string_free(out, TRUE);
    fixture_release(&f);
}

/* 40 buckets, bucket i exposed for i/10 ms, but for two: the last lies between the 25th and the 26th. */
static void test_many_buckets(void)
{
    struct fixture f;
    small_init(&f.run, 2, 40);
    f.run.n_steps = 1;
    for (uint32_t i = 0; i < 40; i++)
        run_add(&f.run, OP_ALLREDUCE, 0, i, i * 10000, i * 10000 + (i == 20 ? 9000 : i == 39 ? 2560 : i * 100));
    trace_finish(&f.run);
    make_row(&f.predicted, 2, 10, 10);
    make_row(&f.unoverlapped, 2, 10, 10);
    fixture_analyze(&f);
    g_autofree char *text = print(&f.report);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_true(g_str_has_prefix(lines[1], "0 "));
    g_assert_true(g_str_has_prefix(lines[2], "20 "));
    g_assert_true(g_str_has_prefix(lines[3], "26 "));
    g_assert_true(g_str_has_prefix(lines[16], "39 "));
    g_assert_cmpstr(lines[17], ==, "24 other buckets, each exposed for 2.5 ms at most, are left out");
    fixture_release(&f);
}

/* The rank that needs most; what is nothing beside the rest is not named. */
static void test_memory(void)
{
    static const char *const names[] = {"weight", "loss", "saved"};
    struct fixture f;
    fixture_init(&f);
    f.run.n_memory = 3;
    f.run.memory_names = g_new0(char *, 3);
    f.run.memory_bytes = g_new0(uint64_t, 6);
    for (unsigned i = 0; i < 3; i++) {
        f.run.memory_names[i] = g_strdup(names[i]);
        f.run.memory_bytes[i] = f.run.memory_bytes[3 + i] = (i == 1 ? 8 : (i + 2) * 1048576);
    }
    g_autofree char *equal = print(&f.report);
    g_assert_nonnull(strstr(equal, "memory: 6.0 MiB a rank at the peak (weight 2.0, saved 4.0)\n"));
    f.run.memory_bytes[5] *= 2;
    f.run.memory_measured = g_new0(uint64_t, 2);
    f.run.memory_measured[0] = 5 << 20;
    f.run.memory_measured[1] = (10 << 20) + (1 << 19);
    g_autofree char *differ = print(&f.report);
    g_assert_nonnull(
        strstr(differ, "memory: up to 10.0 MiB a rank at the peak (weight 2.0, saved 8.0), measured 10.5\n"));
    fixture_release(&f);
}

static void test_devices(void)
{
    struct fixture f;
    fixture_init(&f);
    make_device_run(&f);
    /* 25 MiB in 21.0 ms, 3 MiB in 28.2 ms; for two members the bus carries as much. */
    expect_part(
        &f.report,
        "hidden  exposed  algbw  busbw  NCCL   ms from start of backward, on rank 0, the slowest; "
        "GB/s of the transfer without waiting; ms that NCCL expects\n"
        "0       25.0  layer6.feed_forward.out   48.7   48.7   69.7    21.0      0.0    1.2    1.2     -\n"
        "1        3.0  rest                     171.6  171.6  199.8     0.0     28.2    0.1    0.1  25.0\n",
        true);
    expect_part(&f.report,
                "\nlaunch-bound: computation of rank 0 waits 35.0 ms (11.7 % of its step) for the host to "
                "launch it; ",
                true);
    expect_part(&f.report, "\nrecords of CUPTI: 12 dropped, 3 of kernels before their launch\n", true);
    expect_part(&f.report, "\ntimes ", false);
    trace_label_text(&f.run, LABEL_TIMES, "from events, because nsys holds CUPTI");
    expect_part(&f.report, "\ntimes from events, because nsys holds CUPTI\n", true);
    f.run_analysis.launch_wait_ns = 29000 * US;
    expect_part(&f.report, "launch-bound", false);
    f.run_analysis.slowdown_percent = 12.34;
    expect_part(&f.report, "\ncomputation is 12.3 % slower beside communication than apart from it.\n", true);
    f.run_analysis.slowdown_percent = -1;
    expect_part(&f.report, "\ncomputation is ", false);
    f.run_analysis.slowdown_percent = 0.99;
    expect_part(&f.report, "computation is", false);
    fixture_release(&f);
}

static void test_hostile_names(void)
{
    struct fixture f;
    fixture_init(&f);
    static const char hostile[] = "a\"b\\c\n\x1b[31m\x01\xff\xc3.weight\t";
    static const char *const options[] = {"overlap", hostile, hostile, hostile, NULL};
    f.run.t.params[0].name = hostile;
    f.run.t.mode = hostile;
    f.report.options = options;
    trace_label(&f.run, hostile, "%s", hostile);
    g_autofree char *text = print(&f.report);
    for (const char *c = text; *c; c++)
        g_assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    g_assert_nonnull(strstr(text, "a\"b\\c??[31m?\uFFFD\uFFFD.weight?"));
    GString *out = g_string_new(NULL);
    report_json(&f.report, out);
    struct strict_json *j = strict_json_parse(out->str);
    g_assert_nonnull(j);
    g_assert_cmpstr(strict_json_string_of(j, "mode"), ==, "a\"b\\c\n\x1b[31m\x01\uFFFD\uFFFD.weight\t");
    strict_json_free(j);
    g_string_free(out, TRUE);
    /* A long name loses its middle, between letters. */
    f.run.t.params[0].name = "ééééééééééééééééééééééééééééééééééééééééééé.weight";
    expect_part(&f.report, " ééééééééééééé…éééééééééééééé ", true);
    /* Columns align by what is seen: é has two bytes and a Chinese letter two columns. */
    f.run.t.params[0].name = "é層.weight";
    expect_part(&f.report, "bucket   MiB  closed by  ready", true);
    expect_part(&f.report, "0       25.0  é層         48.7", true);
    fixture_release(&f);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/report/golden", test_golden);
    g_test_add_func("/report/why", test_why);
    g_test_add_func("/report/variants", test_variants);
    g_test_add_func("/report/locale", test_locale);
    g_test_add_func("/report/without", test_without);
    g_test_add_func("/report/single", test_single);
    g_test_add_func("/report/costs-more", test_costs_more);
    g_test_add_func("/report/epochs", test_epochs);
    g_test_add_func("/report/broken-training", test_broken_training);
    g_test_add_func("/report/many-buckets", test_many_buckets);
    g_test_add_func("/report/memory", test_memory);
    g_test_add_func("/report/devices", test_devices);
    g_test_add_func("/report/hostile-names", test_hostile_names);
    return g_test_run();
}
