/* Times one step of a model on one thread: bench-compute [MODEL [SAMPLES]]. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/step.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The fast kernels with every call of a kernel timed. */
static double spent_ms[16];
static const char *const spent_names[16] = {"gemm",          "bias",      "bias_grad",      "add_norm",
                                            "add_norm_grad", "attention", "attention_grad", "bias_act",
                                            "bias_act_grad", "embed",     "embed_grad",     "cross_entropy",
                                            "scale_copy",    "sgd",       "dropout",        "residual"};
#define TIMED(slot, name, call, ...)                                                                         \
    static int timed_##name(__VA_ARGS__)                                                                     \
    {                                                                                                        \
        double start = now_ms();                                                                             \
        int status = k_cpu_f32.name call;                                                                    \
        spent_ms[slot] += now_ms() - start;                                                                  \
        return status;                                                                                       \
    }
TIMED(0, gemm, (s, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), void *s, int ta, int tb, size_t m,
      size_t n, size_t k, double alpha, const void *a, size_t lda, const void *b, size_t ldb, double beta,
      void *c, size_t ldc)
TIMED(1, bias, (s, r, n, b, y, ld), void *s, size_t r, size_t n, const void *b, void *y, size_t ld)
TIMED(2, bias_grad, (s, r, n, dy, ld, db, acc), void *s, size_t r, size_t n, const void *dy, size_t ld,
      void *db, int acc)
TIMED(3, add_norm, (s, r, d, x, y, b, g, be, sum, out, mean, rstd), void *s, size_t r, size_t d,
      const void *x, const void *y, const void *b, const void *g, const void *be, void *sum, void *out,
      void *mean, void *rstd)
TIMED(4, add_norm_grad, (s, r, d, o, sum, g, mean, rstd, plus, ds, dg, db, acc), void *s, size_t r, size_t d,
      const void *o, const void *sum, const void *g, const void *mean, const void *rstd, const void *plus,
      void *ds, void *dg, void *db, int acc)
TIMED(5, attention, (s, b, h, q, dh, c, drop, qkv, p, pd, o), void *s, size_t b, size_t h, size_t q,
      size_t dh, int c, const struct k_dropout *drop, const void *qkv, void *p, void *pd, void *o)
TIMED(6, attention_grad, (s, b, h, q, dh, drop, o, qkv, p, pd, dp, dqkv), void *s, size_t b, size_t h,
      size_t q, size_t dh, const struct k_dropout *drop, const void *o, const void *qkv, const void *p,
      void *pd, void *dp, void *dqkv)
TIMED(7, bias_act, (s, a, r, n, b, x, y), void *s, int a, size_t r, size_t n, const void *b, void *x, void *y)
TIMED(8, bias_act_grad, (s, a, r, n, dy, x, dx, db, acc), void *s, int a, size_t r, size_t n, const void *dy,
      const void *x, void *dx, void *db, int acc)
TIMED(9, embed, (s, r, q, d, f, t, w, p, ty, y), void *s, size_t r, size_t q, size_t d, double f,
      const int32_t *t, const void *w, const void *p, const void *ty, void *y)
TIMED(10, embed_grad, (s, r, q, d, v, ps, ts, f, t, dy, dw, dp, dt, acc), void *s, size_t r, size_t q,
      size_t d, size_t v, size_t ps, size_t ts, double f, const int32_t *t, const void *dy, void *dw,
      void *dp, void *dt, int acc)
TIMED(14, dropout, (s, r, n, drop, x, y), void *s, size_t r, size_t n, const struct k_dropout *drop,
      const void *x, void *y)
TIMED(15, residual, (s, r, n, b, x, drop, y), void *s, size_t r, size_t n, const void *b, const void *x,
      const struct k_dropout *drop, void *y)
TIMED(11, cross_entropy, (s, r, c, weight, x, t, dx, l), void *s, size_t r, size_t c, double weight,
      const void *x, const int32_t *t, void *dx, double *l)
TIMED(12, scale_copy, (s, n, f, x, y), void *s, size_t n, double f, const void *x, void *y)
TIMED(13, sgd, (s, n, lr, mu, f, g, m, w), void *s, size_t n, double lr, double mu, const double *f,
      const void *g, void *m, void *w)

static int by_time(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

int main(int argc, char **argv)
{
    enum { RUNS = 9 };
    g_autoptr(GError) error = NULL;
    const char *missing = k_cpu_open();
    struct model *model = missing ? NULL : model_load(argc > 1 ? argv[1] : "mini", NULL, &error);
    if (!model) {
        fprintf(stderr, "bench-compute: %s\n", missing ? missing : error->message);
        return 4;
    }
    const uint32_t samples = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4;
    struct k_table timed = k_cpu_f32;
    timed.gemm = timed_gemm, timed.bias = timed_bias, timed.bias_grad = timed_bias_grad;
    timed.add_norm = timed_add_norm, timed.add_norm_grad = timed_add_norm_grad;
    timed.attention = timed_attention, timed.attention_grad = timed_attention_grad;
    timed.bias_act = timed_bias_act, timed.bias_act_grad = timed_bias_act_grad;
    timed.embed = timed_embed, timed.embed_grad = timed_embed_grad, timed.cross_entropy = timed_cross_entropy;
    timed.scale_copy = timed_scale_copy, timed.sgd = timed_sgd;
    timed.dropout = timed_dropout, timed.residual = timed_residual;

    struct step s;
    step_open(&s, model, &timed, samples, 0.5, 0.01);
    double start = now_ms(), flops = 0;
    for (uint32_t l = 0; l < model->n_layers; l++) {
        data_init_layer(model, l, 1, s.cell[s.weight[l]]);
        flops += (double)(layer_forward_flops(model, l, samples) + layer_backward_flops(model, l, samples));
    }
    printf("initial weights %.1f ms\n", now_ms() - start);
    data_fill(model, 1, 0, 0, samples, s.cell[s.input]);

    double phase_ms[4][RUNS];
    for (int run = -2; run < RUNS; run++) {
        const uint32_t ends[] = {0, s.backward, s.pack, s.optim, s.plan.n_ops};
        if (run == 0)
            memset(spent_ms, 0, sizeof spent_ms);
        for (int phase = 0; phase < 4; phase++) {
            start = now_ms();
            step_run(&s, ends[phase], ends[phase + 1]);
            if (run >= 0)
                phase_ms[phase][run] = now_ms() - start;
        }
    }
    static const char *const phases[] = {"forward", "backward", "pack and unpack", "optimizer"};
    double both = 0;
    for (int phase = 0; phase < 4; phase++) {
        qsort(phase_ms[phase], RUNS, sizeof(double), by_time);
        printf("%-16s %8.2f ms\n", phases[phase], phase_ms[phase][RUNS / 2]);
        both += phase < 2 ? phase_ms[phase][RUNS / 2] : 0;
    }
    printf("forward and backward %.2f ms, %.1f GFLOP, %.1f GFLOP/s\n", both, flops * 1e-9,
           flops * 1e-6 / both);
    for (size_t i = 0; i < G_N_ELEMENTS(spent_ms) && spent_names[i]; i++)
        printf("  %-16s %8.3f ms\n", spent_names[i], spent_ms[i] / RUNS);
    step_close(&s);
    model_free(model);
    return 0;
}
