/* How far prices and simulated steps are from what others measured: all-reduces of nccl-tests, iterations of
 * Megatron-LM, the DDP paper.  Prints errors with their signs; asserts nothing.  Arguments: the folder of the
 * data. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/paper.h"

static void stop(GError *error)
{
    if (!error)
        return;
    fprintf(stderr, "accuracy: %s\n", error->message);
    exit(1);
}

/* Lines of a data file that are no comments. */
static char **read_lines(const char *dir, const char *file)
{
    GError *error = NULL;
    g_autofree char *path = g_build_filename(dir, file, NULL), *text = NULL;
    g_file_get_contents(path, &text, NULL, &error);
    stop(error);
    g_auto(GStrv) all = g_strsplit(text, "\n", -1);
    GPtrArray *lines = g_ptr_array_new();
    for (unsigned i = 0; all[i]; i++)
        if (*all[i] && *all[i] != '#')
            g_ptr_array_add(lines, g_strdup(all[i]));
    g_ptr_array_add(lines, NULL);
    return (char **)g_ptr_array_free(lines, FALSE);
}

static struct cluster *load_cluster(const char *name)
{
    GError *error = NULL;
    struct cluster *c = cluster_load(name, &error);
    stop(error);
    return c;
}

/* --- all-reduces */

/* Errors of a model in percent: sum, sum of the sizes, how many; below 16 MiB, and from there. */
struct errors {
    double sum[2], size[2];
    unsigned n[2];
};

static void add_error(struct errors *e, uint64_t bytes, double error)
{
    const unsigned large = bytes >= 16 << 20;
    e->sum[large] += 100 * error;
    e->size[large] += 100 * fabs(error);
    e->n[large]++;
}

static void print_errors(const char *name, const struct errors *e)
{
    printf("  %-12s", name);
    printf(" %5.1f %% (bias %+5.1f)", (e->size[0] + e->size[1]) / (e->n[0] + e->n[1]),
           (e->sum[0] + e->sum[1]) / (e->n[0] + e->n[1]));
    for (unsigned large = 0; large < 2; large++)
        printf("   %s %5.1f %% (%+5.1f)", large ? "from 16 MiB" : "below", e->size[large] / e->n[large],
               e->sum[large] / e->n[large]);
    printf("\n");
}

struct measurement {
    uint32_t gpus;
    uint64_t bytes;
    double us;
};

static struct cost_key key_of(const struct measurement *m, const struct cluster *c)
{
    return (struct cost_key){.bytes = m->bytes,
                             .members = (uint16_t)m->gpus,
                             .nodes = (uint16_t)((m->gpus + c->devices - 1) / c->devices),
                             .kind = OP_ALLREDUCE};
}

static struct errors errors_of(const struct cost_model *model, const struct cluster *c,
                               const struct measurement *m, unsigned n, unsigned first, unsigned step)
{
    struct errors errors = {0};
    for (unsigned i = first; i < n; i += step) {
        GError *error = NULL;
        struct cost_key key = key_of(&m[i], c);
        struct cost cost;
        model->price(model, &key, &cost, &error);
        stop(error);
        add_error(&errors, m[i].bytes, (double)cost.alone_ns / 1e3 / m[i].us - 1);
    }
    return errors;
}

/* From every other size, for those between. */
static void print_measured(const struct cluster *c, const struct measurement *m, unsigned n)
{
    struct cost_table *table = cost_table_new();
    for (unsigned i = 0; i < n; i += 2) {
        struct cost_key key = key_of(&m[i], c);
        int64_t ns = llrint(m[i].us * 1e3);
        cost_table_add(table, &key, &(struct cost){ns, ns});
    }
    struct errors errors = errors_of(cost_table_model(table), c, m, n, 1, 2);
    print_errors("measured", &errors);
    cost_table_free(table);
}

static void print_gpus(const struct measurement *m, unsigned n)
{
    struct cluster *c = load_cluster(m->gpus <= 4 ? "a100x4" : m->gpus == 8 ? "a100x8" : "a100x16-200g");
    c->nodes = MAX(c->nodes, m->gpus / c->devices);
    printf(" %u GPUs, %s%s\n", m->gpus, c->name, m->gpus > 16 ? ", extended" : "");
    struct cost_model *nccl = cost_nccl_new(c, NULL), *alpha_beta = cost_analytic_new(c, NULL);
    struct errors errors = errors_of(nccl, c, m, n, 0, 1);
    print_errors("nccl", &errors);
    errors = errors_of(alpha_beta, c, m, n, 0, 1);
    print_errors("alpha-beta", &errors);
    print_measured(c, m, n);
    cost_model_free(nccl);
    cost_model_free(alpha_beta);
    cluster_free(c);
}

static void print_allreduces(const char *dir)
{
    enum { MOST = 64 };
    g_auto(GStrv) lines = read_lines(dir, "echo-allreduce.txt");
    struct measurement m[MOST];
    unsigned n = 0;
    printf("All-reduces of 1 KiB to 1 GiB (nccl-tests on A100, NetX-lab/Echo): mean size of the error, and "
           "its mean.\n"
           "The links of a100x4, a100x8 and a100x16-200g are of two points each of these logs of 4, 8 and 16 "
           "GPUs;\n"
           "measured: the sizes between every other one.\n");
    for (unsigned i = 0; lines[i]; i++) {
        sscanf(lines[i], "%u %" G_GUINT64_FORMAT " %lf", &m[n].gpus, &m[n].bytes, &m[n].us);
        n++;
        unsigned next = 0;
        if (lines[i + 1] && n < MOST && sscanf(lines[i + 1], "%u", &next) == 1 && next == m[0].gpus)
            continue;
        print_gpus(m, n);
        n = 0;
    }
}

/* --- iterations of Megatron-LM */

struct megatron {
    char name[16];
    unsigned layers, width, heads, tensor, stages, batch, micro;
    double full_s, selective_s;
};

/* The tensor-parallel GPUs as one device: 312 TFLOP/s of half precision each, whose elements have half the
 * bytes of ours, so that memory of 2039 GB/s (NVIDIA A100-80GB data sheet) counts twice. */
static struct cluster tensor_device(unsigned gpus)
{
    return (struct cluster){.name = (char *)"A100s as one",
                            .nodes = 1,
                            .devices = 1,
                            .f32_tflops = 312.0 * gpus,
                            .f64_tflops = 9.7 * gpus,
                            .memory_gbs = 2 * 2039.0 * gpus,
                            .launch_us = 4,
                            .efficiency = 0.85,
                            .sms = 108 * gpus,
                            .link_gbps = 1,
                            .link_us = 1};
}

/* Of one rank: all it computes, and of that the forward. */
static void compute_s(const struct megatron *m, double *all_s, double *forward_s)
{
    GError *error = NULL;
    struct model_override over = {.layers = m->layers / m->stages,
                                  .d = m->width,
                                  .heads = m->heads,
                                  .ff = 4 * m->width,
                                  .vocab = 51200,
                                  .seq = 2048};
    struct model *model = model_load("gpt2", &over, &error);
    stop(error);
    struct shape shape = {.model = model,
                          .ranks = 1,
                          .batch = m->batch,
                          .accumulate = m->batch / m->micro,
                          .optimizer = OPTIMIZER_ADAM};
    struct plan plan;
    plan_make(&mode_single, &shape, &plan, &error);
    stop(error);
    struct cluster device = tensor_device(m->tensor);
    struct cost_model *costs = cost_analytic_new(&device, &error);
    stop(error);
    *all_s = *forward_s = 0;
    for (uint32_t i = 0; i < plan.n_ops; i++) {
        struct cost cost;
        costs->price(costs, &plan.costs[plan.ops[i].cost], &cost, &error);
        stop(error);
        if (op_lane_class(plan.ops[i].tag.kind) == LANE_COMPUTE)
            *all_s += (double)cost.alone_ns / 1e9;
        if (plan.ops[i].tag.kind == OP_FWD)
            *forward_s += (double)cost.alone_ns / 1e9;
    }
    cost_model_free(costs);
    plan_release(&plan);
    model_free(model);
}

static void print_megatron(const char *dir)
{
    g_auto(GStrv) lines = read_lines(dir, "megatron-steps.txt");
    printf("Iterations of Megatron-LM on A100-80GB, s (Korthikanti et al. 2022, table 5).  There is no "
           "tensor or pipeline\n"
           "parallelism to simulate yet: this is the compute of the last stage alone, its tensor-parallel "
           "GPUs as one device,\n"
           "at an efficiency of 0.85 (assumed), without any communication or bubble; full adds a forward.\n");
    for (unsigned i = 0; lines[i]; i++) {
        struct megatron m;
        double all_s, forward_s;
        sscanf(lines[i], "%15s %u %u %u %u %u %u %u %lf %lf", m.name, &m.layers, &m.width, &m.heads,
               &m.tensor, &m.stages, &m.batch, &m.micro, &m.full_s, &m.selective_s);
        compute_s(&m, &all_s, &forward_s);
        printf("  %-5s full %6.2f, measured %6.2f: %+5.1f %%   selective %6.2f, measured %6.2f: %+5.1f %%\n",
               m.name, all_s + forward_s, m.full_s, 100 * ((all_s + forward_s) / m.full_s - 1), all_s,
               m.selective_s, 100 * (all_s / m.selective_s - 1));
    }
}

/* --- the DDP paper */

static void print_paper(void)
{
    static const uint32_t samples[][4] = {{16, 32, 64, 128}, {4, 8, 16, 32}};
    struct cluster *c = load_cluster("v100x32-100g");
    printf("Saving of overlap on 32 V100 (Li et al. 2020, figure 6, NCCL), %% of the step without, by "
           "samples of a GPU; "
           "the\npaper does not name them: those named first are assumed, the others show what that is "
           "worth.\n");
    for (size_t i = 0; i < G_N_ELEMENTS(paper_rows); i++) {
        const struct paper_row *row = &paper_rows[i];
        double saving = paper_saving_on(row, row->samples, c);
        printf("  %-9s measured %.1f; %u samples %.1f: %+.1f points;", row->name, 100 * row->saving,
               row->samples, 100 * saving, 100 * (saving - row->saving));
        for (unsigned k = 0; k < 4; k++)
            printf(" %u: %.1f", samples[i][k], 100 * paper_saving_on(row, samples[i][k], c));
        struct cluster line_rate = *c;
        line_rate.net_gbps = 96;
        printf("; %u at the card's 12 GB/s: %.1f\n", row->samples,
               100 * paper_saving_on(row, row->samples, &line_rate));
    }
    struct model *model = model_load("resnet50", NULL, NULL);
    double ms = (double)paper_step_ns(model, 1, 32, OVERLAP_BACKWARD, c) / 1e6;
    printf("  ResNet-50, 32 images on one V100: %.1f ms, measured 100 (PyTorch's DDP benchmark, one GPU): "
           "%+.1f %%\n",
           ms, ms - 100);
    model_free(model);
    cluster_free(c);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "accuracy: give the folder of the data\n");
        return 1;
    }
    print_allreduces(argv[1]);
    print_megatron(argv[1]);
    print_paper();
    return 0;
}
