/* The balanced split goes by what layers cost: sums by hand, stages as simulated, a run by what it measured.
 */
#include "cli/balance.h"

#include <string.h>

#include "cli/attempts.h"
#include "plan/split.h"
#include "tests/tap.h"

#define SIM "parprof --mode pipeline --backend sim --split balanced "

static void open_job(const char *line, struct options *o, struct job *job)
{
    GError *error = NULL;
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    g_assert_true(options_parse(o, (int)g_strv_length(argv), argv, &error));
    job_open(job, o, &error);
    g_assert_no_error(error);
}

/* Forward 1, forward again 10, input gradient 100, weight gradient 1000, both 2000, loss 1e6; times the FLOPs
 * but for the loss. */
static bool price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                  GError **error)
{
    static const int64_t times[OP_KINDS] = {
        [OP_FWD] = 1, [OP_RECOMPUTE] = 10, [OP_BWD] = 2000, [OP_BWD_INPUT] = 100, [OP_BWD_WEIGHT] = 1000};
    (void)model, (void)error;
    const int64_t ns = key->kind == OP_LOSS ? 1000000 : times[key->kind] * (int64_t)(key->flops >> 20);
    *out = (struct cost){ns, ns};
    return true;
}

static const struct cost_model by_flops = {"by hand", price};

static int64_t mega(uint64_t flops)
{
    return (int64_t)(flops >> 20);
}

/* Of a job with 8 micro-batches of 8 samples. */
static void check_layers(const char *line, int64_t recomputed, bool split)
{
    struct options o;
    struct job job;
    open_job(line, &o, &job);
    g_assert_true(balance(&job, &by_flops, NULL));
    const struct model *m = job.model;
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const int64_t f = mega(layer_forward_flops(m, i, 8));
        int64_t ns = f + 10 * f * recomputed / 8;
        ns += split ? 1000 * mega(layer_weight_flops(m, i, 8)) +
                          (i ? 100 * mega(layer_input_flops(m, i, 8)) : 0)
                    : 2000 * mega(layer_backward_flops(m, i, 8));
        ns += i == m->n_layers - 1 ? 1000000 : 0;
        g_assert_cmpint(job.layer_ns[i], ==, ns);
    }
    g_assert_true(job.shape.layer_ns == job.layer_ns);
    job_release(&job);
    options_release(&o);
}

static void test_layers(void)
{
    check_layers(SIM "--chunks 8 --batch 64", 0, false);
    check_layers(SIM "--chunks 8 --batch 64 --checkpoint always", 8, false);
    check_layers(SIM "--chunks 8 --batch 64 --checkpoint except-last --chain 2", 7, false);
    check_layers(SIM "--chunks 8 --batch 64 --schedule zb1p", 0, true);
}

/* Of a stage, in ms a micro-batch. */
static double slowest_ms(const char *line)
{
    struct options o;
    struct job job;
    struct outcome out;
    GError *error = NULL;
    open_job(line, &o, &job);
    predict(&job, &job.shape, job.costs, &out, &error);
    g_assert_no_error(error);
    const struct pipeline_times *p = out.analysis.pipeline;
    const double ms = (double)p->stage_ns[p->slowest_stage] / p->n_micro / 1e6;
    outcome_release(&out);
    job_release(&job);
    options_release(&o);
    return ms;
}

/* What is said of stages is what comes out, of this split and of the even one. */
static void test_said(void)
{
    static const char *const lines[] = {SIM "--model gpt2", SIM "--model gpt2 --checkpoint always --ranks 3",
                                        SIM "--model bert-base --schedule zbv --ranks 4",
                                        SIM "--model transformer-lm --layers 5 --ranks 2"};
    for (unsigned i = 0; i < G_N_ELEMENTS(lines); i++) {
        struct options o;
        struct job job;
        open_job(lines[i], &o, &job);
        g_autoptr(GString) out = g_string_new(NULL);
        balance_print(&job, job.costs->name, out);
        g_autofree char *even = g_strconcat(lines[i], " --split even", NULL),
                        *wanted = g_strdup_printf("the slowest stage %.1f ms a micro-batch, even %.1f\n",
                                                  slowest_ms(lines[i]), slowest_ms(even));
        g_assert_true(g_str_has_prefix(out->str, "split balanced by costs analytic on a100x4: "));
        if (!g_str_has_suffix(out->str, wanted))
            g_error("%s%s", out->str, wanted);
        g_assert_cmpfloat(slowest_ms(lines[i]), <=, slowest_ms(even));
        job_release(&job);
        options_release(&o);
    }
}

/* A stage costs a unit whatever is in it: there is nothing to balance by. */
static void test_unit(void)
{
    struct options o;
    struct job job;
    open_job(SIM "--cost unit --ranks 4 --layers 8", &o, &job);
    g_autoptr(GString) out = g_string_new(NULL);
    balance_print(&job, "unit", out);
    g_assert_cmpstr(out->str, ==, "");
    job_release(&job);
    options_release(&o);
}

/* It runs the split that its costs ask for, after it has measured them. */
static void test_run(void)
{
    struct options o;
    struct job job;
    struct attempts attempts;
    uint32_t first[4];
    GError *error = NULL;
    open_job(
        "parprof --mode pipeline --backend cpu --split balanced --ranks 3 --chunks 3 --layers 5 --d-model 32 "
        "--heads 2 --ff 64 --vocab 3000 --dtype f64 --steps 3 --warmup 1 --link none --quiet",
        &o, &job);
    g_assert_null(job.layer_ns);
    attempts_make(&attempts, &job, &o, &error);
    g_assert_no_error(error);
    g_assert_nonnull(job.layer_ns);
    split_layers(&job.shape, 3, first, &error);
    const struct tables *const tables[] = {&attempts_main(&attempts)->outcome.trace.t,
                                           &attempts_main(&attempts)->predicted.trace.t};
    for (unsigned k = 0; k < G_N_ELEMENTS(tables); k++)
        for (uint32_t s = 0; s < 3; s++) {
            g_assert_cmpuint(tables[k]->stages[s].layer0, ==, first[s]);
            g_assert_cmpuint(tables[k]->stages[s].layer1, ==, first[s + 1]);
        }
    for (uint32_t i = 0; i < job.model->n_layers; i++)
        g_assert_cmpint(job.layer_ns[i], >, 0);
    attempts_release(&attempts);
    job_release(&job);
    options_release(&o);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/balance/layers", test_layers);
    g_test_add_func("/balance/said", test_said);
    g_test_add_func("/balance/unit", test_unit);
    g_test_add_func("/balance/run", test_run);
    return g_test_run();
}
