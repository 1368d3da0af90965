/* Advice: what is suggested, typed, gives what was predicted; published makespans are among it; and prices of
 * what was not measured. */
#include "cli/advice.h"

#include <math.h>
#include <string.h>

#include "cli/stand-in.h"
#include "plan/schedule.h"
#include "tests/tap.h"

#define MS 1000000

struct asked {
    struct options options;
    struct job job;
    struct outcome base;
};

/* False where the options are refused. */
static bool ask(const char *line, struct asked *a)
{
    GError *error = NULL;
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_assert_true(options_parse(&a->options, (int)g_strv_length(argv), argv, &error));
    a->base.there = false;
    const bool ok = job_open(&a->job, &a->options, &error) &&
                    predict(&a->job, &a->job.shape, a->job.costs, &a->base, &error);
    g_clear_error(&error);
    return ok;
}

static void asked_release(struct asked *a)
{
    outcome_release(&a->base);
    job_release(&a->job);
    options_release(&a->options);
}

/* -1: refused. */
static int64_t step_of(const char *line)
{
    struct asked a;
    const int64_t step_ns = ask(line, &a) ? a.base.analysis.median_ns : -1;
    asked_release(&a);
    return step_ns;
}

static void advise(const char *line, struct advice *advice)
{
    struct asked a;
    g_assert_true(ask(line, &a));
    advice_find(advice, &a.job, &a.options, &a.base, a.job.costs);
    asked_release(&a);
}

static const struct suggestion *find(const struct advice *a, const char *options)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (!strcmp(a->list[i].options, options))
            return &a->list[i];
    return NULL;
}

#define UNIT "parprof --mode pipeline --backend sim --cost unit --layers 16 --ranks 4 --chunks 8"

/* Published, in units of F: (ranks 4, 8 micro-batches) ZB1P 27, ZB-V 25.5, interleaved 28.5 and with 4
 * stages 26.25, ZB2P 27 and 7 micro-batches held (Qi et al.; Narayanan et al.); 1F1B 3 (m + p - 1), for 16
 * micro-batches 57. */
static void test_published(void)
{
    static const struct {
        const char *options;
        double step, equal, in_flight;
        bool holds_more;
    } known[] = {{"--schedule zb1p", 27, 27, 4, false},
                 {"--schedule zbv", 25.5, 25.5, 4, false},
                 {"--schedule zb2p", 27, 27, 7, true},
                 {"--schedule interleaved", 28.5, 28.5, 5.5, true},
                 {"--schedule interleaved --stages-per-rank 4", 26.25, 26.25, 4.75, true},
                 {"--chunks 16 --batch 128", 57, 28.5, 4, false}};
    struct advice a;
    advise(UNIT, &a);
    g_assert_cmpfloat_with_epsilon((double)a.step_ns / MS, 33, 1e-3);
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++) {
        const struct suggestion *s = find(&a, known[i].options);
        g_assert_nonnull(s);
        g_assert_cmpfloat_with_epsilon((double)s->step_ns / MS, known[i].step, 1e-3);
        g_assert_cmpfloat_with_epsilon((double)s->equal_ns / MS, known[i].equal, 1e-3);
        g_assert_cmpfloat_with_epsilon(s->in_flight, known[i].in_flight, 1e-9);
        g_assert_cmpint(s->holds_more, ==, known[i].holds_more);
        g_assert_cmpuint(s->assumed, ==, 0);
    }
    g_assert_null(find(&a, "--schedule gpipe")); /* saves nothing */
    /* A unit a micro-batch whatever its size: smaller ones are no gain. */
    g_assert_null(find(&a, "--chunks 16 --batch 64"));
    for (uint32_t i = 1; i < a.n; i++)
        g_assert_cmpint(a.list[i - 1].equal_ns, <=, a.list[i].equal_ns);
    advice_release(&a);
}

static const char *const jobs[] = {
    UNIT,
    UNIT " --schedule gpipe",
    UNIT " --schedule interleaved --stages-per-rank 4",
    UNIT " --schedule naive --batch 8",
    "parprof --mode pipeline --backend sim --schedule gpipe --checkpoint always",
    "parprof --mode pipeline --backend sim --model gpt2 --split tutorial --ranks 3 --batch 50 --chunks 7",
    "parprof --mode pipeline --backend sim --model gpt2 --split balanced --checkpoint except-last",
    "parprof --mode pipeline --backend sim --model mlp --chain 3 --ranks 2 --optimizer adam",
    "parprof --mode pipeline --backend sim --schedule pipedream --split even --ranks 4",
    "parprof --mode dp --backend sim",
    "parprof --mode dp --backend sim --ranks 3 --batch 50 --optimizer adam --cluster rtx-pcie-x2",
};

static void test_typed(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(jobs); i++) {
        struct advice a;
        advise(jobs[i], &a);
        g_assert_cmpuint(a.n, >, 0);
        for (uint32_t k = 0; k < a.n; k++) {
            g_autofree char *line = g_strconcat(jobs[i], " ", a.list[k].options, NULL);
            if (step_of(line) != a.list[k].step_ns)
                g_error("%s: predicted %" G_GINT64_FORMAT " ns, takes %" G_GINT64_FORMAT, line,
                        a.list[k].step_ns, step_of(line));
            g_assert_cmpint(a.list[k].equal_ns * 100, <=, a.step_ns * 99);
        }
        advice_release(&a);
    }
}

/* Each schedule that is legal and saves is there, where it changes nothing but times. */
static void test_complete(void)
{
    struct advice a;
    advise(UNIT, &a);
    for (unsigned i = 0; schedules[i]; i++) {
        g_autofree char *options = g_strconcat("--schedule ", schedules[i]->name, NULL),
                        *line = g_strconcat(UNIT, " ", options, NULL);
        const int64_t step_ns = step_of(line);
        const bool saves = step_ns > 0 && step_ns * 100 <= a.step_ns * 99 && !schedules[i]->asynchronous;
        g_assert_cmpint(find(&a, options) != NULL, ==, saves);
    }
    advice_release(&a);
}

/* A cluster does not say how much memory it has. */
static void test_memory_unknown(void)
{
    struct advice a;
    const char *line = "parprof --mode pipeline --backend sim --checkpoint always";
    g_autofree char *never = g_strconcat(line, " --checkpoint never", NULL);
    advise(line, &a);
    g_assert_cmpint(step_of(never) * 100, <, a.step_ns * 90);
    g_assert_null(find(&a, "--checkpoint never"));
    advice_release(&a);
}

/* Without a flush weights have other versions: that is faster and something else. */
static void test_same_training(void)
{
    struct advice a;
    advise(UNIT " --schedule naive", &a);
    g_assert_nonnull(find(&a, "--schedule 1f1b"));
    g_assert_cmpint(step_of(UNIT " --schedule pipedream") * 2, <, a.step_ns);
    g_assert_null(find(&a, "--schedule pipedream"));
    advice_release(&a);
}

static char *printed(const char *line)
{
    struct advice a;
    GString *out = g_string_new(NULL);
    advise(line, &a);
    advice_print(&a, out);
    advice_release(&a);
    return g_string_free(out, FALSE);
}

static void test_line(void)
{
    g_autofree char *text = printed(UNIT),
                    *nothing = printed(UNIT " --ranks 1 --stages-per-rank 1 --split even"),
                    *gathered = printed("parprof --mode dp --backend sim --gather loss"),
                    *sum = printed("parprof --mode dp --backend sim --gather loss --loss-reduction sum");
    g_assert_cmpstr(
        text, ==,
        "try --schedule zb1p --stages-per-rank 4 (predicted 24.8 ms instead of 33.0, −25.0 %), "
        "--schedule zbv (25.5, −22.7 %) or --chunks 16 --batch 128 (57.0 for 2 times the samples, "
        "28.5 for as many as now, −13.6 %)\n");
    g_assert_cmpstr(nothing, ==, "");
    g_assert_true(g_str_has_prefix(gathered, "try --mode ddp without --gather (predicted "));
    g_assert_cmpstr(sum, ==, ""); /* DDP's loss is a mean */
}

/* --- stand-ins */

static const struct cost_key
    fwd = {.kind = OP_FWD, .shape = "a", .rows = 4, .members = 1, .flops = 100},
    bwd = {.kind = OP_BWD, .shape = "a", .rows = 4, .members = 1, .flops = 200},
    part_i = {.kind = OP_BWD_INPUT, .shape = "a", .rows = 4, .members = 1, .flops = 50},
    part_w = {.kind = OP_BWD_WEIGHT, .shape = "a", .rows = 4, .members = 1, .flops = 150},
    optim = {.kind = OP_OPTIM, .bytes = 1000, .members = 1},
    pack = {.kind = OP_PACK, .bytes = 250, .members = 1},
    hop = {.kind = OP_EXCHANGE, .bytes = 1000000, .members = 2},
    loss = {.kind = OP_LOSS, .shape = "a", .rows = 4, .bytes = 800, .members = 1},
    half = {.kind = OP_LOSS, .shape = "a", .rows = 2, .bytes = 400, .members = 1};

/* What `key` costs where `of` cost 800 each, 400 of it work; -1: unknown. */
static int64_t stand_in_ns(const struct cost_key *key, const struct cost_key *of, uint32_t n,
                           unsigned *assumed)
{
    struct cost_table *table = cost_table_new();
    struct cost_key *keys = g_memdup2(of, n * sizeof *of);
    struct trace trace = {.n_costs = n, .costs = keys};
    struct job job = {.link_gbps = 10, .link_us = 20};
    struct stand_in s;
    struct cost cost = {-1, -1};
    for (uint32_t i = 0; i < n; i++)
        cost_table_add(table, &of[i], &(struct cost){800, 400});
    *assumed = 0;
    stand_in_init(&s, &job, cost_table_model(table), &trace, assumed);
    GError *error = NULL;
    const bool known = s.model.price(&s.model, key, &cost, &error);
    g_assert_cmpint(known, ==, error == NULL);
    g_clear_error(&error);
    cost_table_free(table);
    g_free(keys);
    if (known && !(*assumed & ASSUME_LINK))
        g_assert_cmpint(cost.work_ns * 2, ==, cost.alone_ns);
    return known ? cost.alone_ns : -1;
}

static void test_stand_ins(void)
{
    const struct cost_key halves[] = {part_i, part_w}, other = {.kind = OP_BWD, .shape = "b", .rows = 4};
    struct cost_key first = bwd;
    unsigned assumed;
    first.flops = 0; /* an embedding's: all of it W */
    g_assert_cmpint(stand_in_ns(&bwd, &bwd, 1, &assumed), ==, 800);
    g_assert_cmpuint(assumed, ==, 0);
    g_assert_cmpint(stand_in_ns(&part_i, &bwd, 1, &assumed), ==, 200);
    g_assert_cmpint(stand_in_ns(&part_w, &bwd, 1, &assumed), ==, 600);
    g_assert_cmpuint(assumed, ==, ASSUME_HALVES);
    g_assert_cmpint(stand_in_ns(&part_w, &first, 1, &assumed), ==, 800);
    g_assert_cmpint(stand_in_ns(&bwd, halves, 2, &assumed), ==, 1600);
    g_assert_cmpint(stand_in_ns(&bwd, &part_w, 1, &assumed), ==, 800);
    g_assert_cmpint(stand_in_ns(&bwd, &other, 1, &assumed), ==, -1);
    g_assert_cmpint(stand_in_ns(&fwd, &bwd, 1, &assumed), ==, -1);
    g_assert_cmpint(stand_in_ns(&pack, &optim, 1, &assumed), ==, 200);
    g_assert_cmpuint(assumed, ==, ASSUME_OPTIMIZER);
    g_assert_cmpint(stand_in_ns(&half, &loss, 1, &assumed), ==, 400);
    g_assert_cmpuint(assumed, ==, ASSUME_BYTES);
    g_assert_cmpint(stand_in_ns(&hop, &fwd, 1, &assumed), ==, 820000); /* 20 us + 1 MB at 10 Gb/s */
    g_assert_cmpuint(assumed, ==, ASSUME_LINK);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/advice/published", test_published);
    g_test_add_func("/advice/typed", test_typed);
    g_test_add_func("/advice/complete", test_complete);
    g_test_add_func("/advice/memory-unknown", test_memory_unknown);
    g_test_add_func("/advice/same-training", test_same_training);
    g_test_add_func("/advice/line", test_line);
    g_test_add_func("/advice/stand-ins", test_stand_ins);
    return g_test_run();
}
