/* Optimizers: the fast ones against the reference, and whole steps of training against PyTorch. */
#include <math.h>
#include <string.h>

#include "exec/compute.h"
#include "plan/mode.h"
#include "tests/tap.h"

/* --- kernels */

/* The same numbers in float and double. */
struct numbers {
    float *narrow;
    double *wide;
    size_t n;
};

static struct numbers numbers(size_t n, double low, double high)
{
    struct numbers x = {g_new(float, n + 1), g_new(double, n + 1), n};
    for (size_t i = 0; i < n; i++)
        x.wide[i] = x.narrow[i] = (float)g_test_rand_double_range(low, high);
    x.narrow[n] = 7; /* a fence */
    return x;
}

static void check_and_drop(struct numbers *x, double tolerance)
{
    for (size_t i = 0; i < x->n; i++)
        g_assert_cmpfloat(fabs((double)x->narrow[i] - x->wide[i]), <=, tolerance * (1 + fabs(x->wide[i])));
    g_assert_cmpfloat(x->narrow[x->n], ==, 7);
    g_free(x->narrow);
    g_free(x->wide);
}

static const size_t lengths[] = {0, 1, 7, 64, 257, 5000};
static const double factors[] = {1, 0.37};

static void test_sgd(gconstpointer fast)
{
    const struct k_table *k = fast;
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
        for (size_t f = 0; f < 2; f++)
            for (int momentum = 0; momentum < 2; momentum++) {
                struct numbers g = numbers(lengths[i], -1, 1), m = numbers(lengths[i], -1, 1),
                               w = numbers(lengths[i], -1, 1);
                const double *factor = f ? &factors[f] : NULL;
                k->sgd(NULL, g.n, 0.3, 0.9, factor, g.narrow, momentum ? m.narrow : NULL, w.narrow);
                k_ref_f64.sgd(NULL, g.n, 0.3, 0.9, factor, g.wide, momentum ? m.wide : NULL, w.wide);
                check_and_drop(&g, 0);
                check_and_drop(&m, 1e-6);
                check_and_drop(&w, 1e-6);
            }
}

/* The gradient is never so small that its sign, which is all that Adam's first steps keep, is rounding. */
static void test_adam(gconstpointer fast)
{
    const struct k_table *k = fast;
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
        for (size_t f = 0; f < 2; f++)
            for (uint32_t t = 1; t < 2000; t += 666) {
                struct numbers g = numbers(lengths[i], 0.1, 1), m = numbers(lengths[i], -1, 1),
                               v = numbers(lengths[i], 0.1, 1), w = numbers(lengths[i], -1, 1);
                const double *factor = f ? &factors[f] : NULL;
                k->adam(NULL, g.n, 0.01, 0.9, 0.999, 1e-8, t, factor, g.narrow, m.narrow, v.narrow, w.narrow);
                k_ref_f64.adam(NULL, g.n, 0.01, 0.9, 0.999, 1e-8, t, factor, g.wide, m.wide, v.wide, w.wide);
                check_and_drop(&g, 0);
                check_and_drop(&m, 1e-6);
                check_and_drop(&v, 1e-6);
                check_and_drop(&w, 1e-6);
            }
}

/* The first step of Adam goes by the learning rate, whatever the gradient's size. */
static void test_adam_first(void)
{
    double g[] = {1e-3, -5, 40}, m[3] = {0}, v[3] = {0}, w[3] = {0};
    k_ref_f64.adam(NULL, 3, 0.01, 0.9, 0.999, 1e-8, 1, NULL, g, m, v, w);
    for (int i = 0; i < 3; i++)
        g_assert_cmpfloat_with_epsilon(w[i], g[i] < 0 ? 0.01 : -0.01, 1e-6);
}

static void test_clip(gconstpointer table)
{
    const struct k_table *k = table;
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        struct numbers x = numbers(lengths[i], -1, 1);
        const void *cells = k->elem_bytes == sizeof(float) ? (void *)x.narrow : x.wide;
        double norm[2] = {2.25, -1}, square = 2.25;
        for (size_t e = 0; e < x.n; e++)
            square += x.wide[e] * x.wide[e];
        g_assert_cmpint(k->sum_squares(NULL, x.n, cells, norm), ==, 0);
        g_assert_cmpfloat_with_epsilon(norm[0], square, 1e-12 * square);
        g_assert_cmpint(k->clip_factor(NULL, 1.2, norm), ==, 0);
        g_assert_cmpfloat_with_epsilon(norm[1], 1.2 / (sqrt(square) + 1e-6), 1e-12);
        g_assert_cmpint(k->clip_factor(NULL, 1e6, norm), ==, 0);
        g_assert_cmpfloat(norm[1], ==, 1);
        check_and_drop(&x, 0);
    }
    double lost[2] = {NAN, 0};
    k->clip_factor(NULL, 1, lost);
    g_assert_true(isnan(lost[1]));
}

/* In order: what is small beside the first is lost one by one. */
static void test_total(gconstpointer table)
{
    const struct k_table *k = table;
    const double x[] = {1, 0x1p-53, 0x1p-53, 0.25};
    double sum = NAN;
    g_assert_cmpint(k->total(NULL, 4, x, &sum), ==, 0);
    g_assert_cmpfloat(sum, ==, 1.25);
    k->total(NULL, 0, x, &sum);
    g_assert_cmpfloat(sum, ==, 0);
}

/* --- steps */

enum { SAMPLES = 4, STEPS = 4 };
static const char tiny[] =
    "[model]\nname=tiny\nlayers=2\nd-model=12\nheads=3\nff=20\nvocab=11\nseq-len=5\npositions=5\n"
    "task=tokens\nactivation=gelu\n[embeddings]\nkind=embedding\n[layer]\nkind=encoder\n"
    "[head]\nkind=head\n";

struct training {
    struct model *model;
    struct plan plan;
    struct run run;
    char *arena;
};

static void *cell(const struct training *t, uint32_t value)
{
    const struct value *v = &t->plan.values[value];
    return t->arena + t->plan.place[v->root] + v->offset;
}

/* The value of a class and layer that is a root. */
static void *find(const struct training *t, unsigned cls, uint32_t index)
{
    for (uint32_t i = 0; i < t->plan.n_values; i++) {
        const struct value *v = &t->plan.values[i];
        if (v->cls == cls && v->root == i && v->index == index)
            return cell(t, i);
    }
    g_assert_not_reached();
}

/* The formulas of golden/optim-torch.py. */
static void fill_weights(const struct training *t)
{
    const struct model *m = t->model;
    for (uint32_t k = 0; k < m->n_params; k++) {
        const struct param *p = &m->params[k];
        void *block = find(t, VALUE_WEIGHT, p->layer);
        for (uint64_t i = 0; i < p->numel; i++) {
            double x = g_str_has_suffix(p->name, "norm.weight") + 0.3 * sin(0.7 * (double)i + 1.3 * k);
            if (m->dtype == DTYPE_F64)
                ((double *)block)[p->offset + i] = x;
            else
                ((float *)block)[p->offset + i] = (float)x;
        }
    }
}

static void fill_input(const struct training *t, uint32_t op, uint32_t step, int32_t *token)
{
    const struct samples s = plan_samples(&t->plan, op);
    const uint32_t seq = t->model->dims.seq, n = s.n * seq;
    for (uint32_t i = 0; i < n; i++) {
        token[i] = (int32_t)((s.first * seq + i + 3 * step) * 7 % 11);
        token[n + i] = (token[i] * 3 + 1) % 11;
    }
}

/* All of one step on this thread; returns the loss. */
static double take_step(const struct training *t, const struct k_table *k, uint32_t step)
{
    const struct plan *plan = &t->plan;
    struct compute compute = {&t->run, plan, t->model, k};
    g_autofree void **mem = g_new(void *, plan->n_accesses);
    double loss = 0;
    for (uint32_t i = 0; i < plan->n_accesses; i++)
        mem[i] = cell(t, plan->accesses[i].value);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        void **at = mem + plan->ops[i].first_access;
        if (plan->ops[i].tag.kind == OP_INPUT) {
            fill_input(t, i, step, at[0]);
            continue;
        }
        g_assert_cmpint(compute_op(&compute, NULL, i, t->run.data_step + step, at), ==, 0);
        if (plan->ops[i].tag.kind == OP_LOSS)
            loss += *(double *)at[3];
    }
    return loss;
}

static void open_training(struct training *t, uint8_t dtype, uint8_t optimizer, double clip_norm,
                          uint32_t accumulate)
{
    GError *error = NULL;
    t->model = model_parse(tiny, "tiny.ini", &(struct model_override){.dtype = dtype}, &error);
    g_assert_no_error(error);
    struct shape shape = {.model = t->model,
                          .ranks = 1,
                          .batch = SAMPLES,
                          .optimizer = optimizer,
                          .clip = clip_norm > 0,
                          .accumulate = accumulate};
    plan_make(&mode_single, &shape, &t->plan, &error);
    g_assert_no_error(error);
    plan_place(&t->plan);
    t->run = (struct run){.plan = &t->plan,
                          .model = t->model,
                          .lr = optimizer == OPTIMIZER_ADAM ? 1e-3 : 0.1,
                          .momentum = 0.9,
                          .clip_norm = clip_norm,
                          .data_step = 5};
    t->arena = g_aligned_alloc0(t->plan.arena_bytes[0], 1, 64);
    fill_weights(t);
}

static void close_training(struct training *t)
{
    g_aligned_free(t->arena);
    plan_release(&t->plan);
    model_free(t->model);
}

/* Of a step, what PyTorch says of its loss and of the norm of all gradients. */
static void golden(const char *name, uint32_t step, double *loss, double *norm)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "golden", "optim-torch.txt", NULL),
                    *text = NULL;
    g_autofree char *key = g_strdup_printf("%s %u ", name, step);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    char *at = strstr(text, key);
    g_assert_nonnull(at);
    *loss = g_ascii_strtod(at + strlen(key), &at);
    *norm = g_ascii_strtod(at, &at);
}

static void check_steps(uint8_t dtype, const struct k_table *k, uint8_t optimizer, double clip_norm,
                        uint32_t accumulate, double tolerance)
{
    struct training t;
    open_training(&t, dtype, optimizer, clip_norm, accumulate);
    for (uint32_t step = 0; step < STEPS; step++) {
        double loss, norm, got = take_step(&t, k, step);
        golden(optimizer_name(optimizer), step, &loss, &norm);
        g_assert_cmpfloat_with_epsilon(got, loss, tolerance * loss);
        if (clip_norm > 0) {
            const double *n = find(&t, VALUE_NORM, OP_NONE);
            g_assert_cmpfloat(norm, >, clip_norm);
            g_assert_cmpfloat_with_epsilon(sqrt(n[0]), norm, 10 * tolerance * norm);
            g_assert_cmpfloat_with_epsilon(n[1], clip_norm / (norm + 1e-6), 10 * tolerance);
        }
    }
    close_training(&t);
}

static void test_torch(gconstpointer data)
{
    const uint8_t optimizer = (uint8_t)GPOINTER_TO_UINT(data);
    const double clip_norm = optimizer == OPTIMIZER_SGD ? 0 : 0.5;
    for (uint32_t accumulate = 1; accumulate <= 3; accumulate++) {
        check_steps(DTYPE_F64, &k_ref_f64, optimizer, clip_norm, accumulate, 1e-10);
        check_steps(DTYPE_F32, &k_ref_f32, optimizer, clip_norm, accumulate, 1e-5);
        check_steps(DTYPE_F32, &k_cpu_f32, optimizer, clip_norm, accumulate, 1e-5);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_data_func("/optim/sgd/fast", &k_cpu_f32, test_sgd);
    g_test_add_data_func("/optim/sgd/reference", &k_ref_f32, test_sgd);
    g_test_add_data_func("/optim/adam/fast", &k_cpu_f32, test_adam);
    g_test_add_data_func("/optim/adam/reference", &k_ref_f32, test_adam);
    g_test_add_func("/optim/adam/first", test_adam_first);
    g_test_add_data_func("/optim/clip/fast", &k_cpu_f32, test_clip);
    g_test_add_data_func("/optim/clip/reference", &k_ref_f64, test_clip);
    g_test_add_data_func("/optim/total/fast", &k_cpu_f32, test_total);
    g_test_add_data_func("/optim/total/reference", &k_ref_f64, test_total);
    const char *missing = k_cpu_open();
    if (missing)
        g_error("%s", missing);
    g_test_add_data_func("/optim/torch/sgd", GUINT_TO_POINTER(OPTIMIZER_SGD), test_torch);
    g_test_add_data_func("/optim/torch/momentum", GUINT_TO_POINTER(OPTIMIZER_MOMENTUM), test_torch);
    g_test_add_data_func("/optim/torch/adam", GUINT_TO_POINTER(OPTIMIZER_ADAM), test_torch);
    return g_test_run();
}
