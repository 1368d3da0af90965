/* The float tables against the double reference, function by function, at sizes that are multiples of
 * nothing, with pointers off by one element and a fence around every operand. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "tests/operand.h"

static void one_gemm(const struct k_table *data, int ta, int tb, size_t m, size_t n, size_t k_, double alpha,
                     double beta)
{
    const size_t extra = (size_t)g_rand_int_range(dice, 0, 4);
    const size_t lda = (ta ? m : k_) + extra, ldb = (tb ? k_ : n) + extra, ldc = n + extra;
    struct operand a = operand((ta ? k_ : m) * lda, 1), b = operand((tb ? n : k_) * ldb, 1),
                   c = operand(m * ldc, 1);
    if (beta == 0)
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++)
                c.wide[i * ldc + j] = c.narrow[i * ldc + j] = NAN;
    BOTH(k->gemm(NULL, ta, tb, m, n, k_, alpha, side(&a, w), lda, side(&b, w), ldb, beta, side(&c, w), ldc))
    close_and_drop(&c, tolerance[SUMS]);
    drop_operand(&a);
    drop_operand(&b);
}

static void test_gemm(gconstpointer data)
{
    static const size_t sizes[] = {1, 3, 17, 65, 130}, inner[] = {0, 1, 3, 17, 65, 130};
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, 0.25}, {1, 0}};
    int turn = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(sizes); j++)
            for (size_t l = 0; l < G_N_ELEMENTS(inner); l++)
                for (int t = 0; t < 4; t++, turn++)
                    one_gemm(data, t & 1, t >> 1, sizes[i], sizes[j], inner[l], factors[turn % 3][0],
                             factors[turn % 3][1]);
    one_gemm(data, 0, 1, 0, 5, 3, 1, 0);
    one_gemm(data, 0, 1, 5, 0, 3, 1, 0);
}

/* What a reference cannot say of itself: a product by hand. */
static void test_gemm_layout(gconstpointer data)
{
    const struct k_table *k = data;
    const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 0, 1, 3}; /* 2 x 3, and 2 x 3 transposed */
    float c[] = {100, 200, 300, 400};
    g_assert_cmpint(k->gemm(NULL, 0, 1, 2, 2, 3, 2, a, 3, b, 3, 1, c, 2), ==, 0);
    const float expected[] = {100 + 14, 200 + 22, 300 + 32, 400 + 46};
    for (int i = 0; i < 4; i++)
        g_assert_cmpfloat(c[i], ==, expected[i]);
}

static void test_bias(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(widths); j++) {
            const size_t rows = row_counts[i], n = widths[j], ld = n + i;
            struct operand bias = operand(n, 1), y = operand(rows * ld, 1), grad = operand(n, 1);
            BOTH(k->bias(NULL, rows, n, side(&bias, w), side(&y, w), ld))
            BOTH(k->bias_grad(NULL, rows, n, side(&y, w), ld, side(&grad, w), 0))
            close_and_drop(&grad, tolerance[SUMS]);
            close_and_drop(&y, tolerance[FEW]);
            drop_operand(&bias);
        }
}

/* 200,000 rows of about 1: a sum kept in float would be off by 1e-4. */
static void test_bias_grad_long(gconstpointer data)
{
    struct operand y = operand(200000 * 3, 1e-3), grad = operand(3, 1);
    for (size_t i = 0; i < y.n; i++)
        y.wide[i] = y.narrow[i] = (float)(y.wide[i] + 1);
    BOTH(k->bias_grad(NULL, 200000, 3, side(&y, w), 3, side(&grad, w), 0))
    close_and_drop(&grad, 1e-7);
    drop_operand(&y);
}

static void one_add_norm(const struct k_table *data, size_t rows, size_t d, int with_x, int with_bias,
                         int in_place)
{
    const size_t n = rows * d;
    struct operand x = operand(n, 1), y = operand(n, 1), bias = operand(d, 1), gamma = operand(d, 1),
                   beta = operand(d, 1);
    struct operand other = operand(n, 1), out = operand(n, 1), mean = operand(rows, 1),
                   rstd = operand(rows, 1);
    struct operand dout = operand(n, 1), dsum = operand(n, 1), dgamma = operand(d, 1), dbeta = operand(d, 1);
    struct operand *sum = in_place ? &y : &other;
    BOTH(k->add_norm(NULL, rows, d, with_x ? side(&x, w) : NULL, side(&y, w),
                     with_bias ? side(&bias, w) : NULL, side(&gamma, w), side(&beta, w), side(sum, w),
                     side(&out, w), side(&mean, w), side(&rstd, w)))
    /* The variance of one element is 0, and of few may be small: rounding of the sum is then large beside it.
     */
    const double loose = d < 17 ? 1e-3 : tolerance[SUMS];
    BOTH(k->add_norm_grad(NULL, rows, d, side(&dout, w), side(sum, w), side(&gamma, w), side(&mean, w),
                          side(&rstd, w), NULL, side(&dsum, w), side(&dgamma, w), side(&dbeta, w), 0))
    g_assert_true(difference(sum) <= tolerance[FEW]);
    close_and_drop(&out, loose);
    close_and_drop(&mean, tolerance[SUMS]);
    close_and_drop(&rstd, loose);
    close_and_drop(&dsum, d < 17 ? 1e-2 : tolerance[GRADIENTS]);
    close_and_drop(&dgamma, d < 17 ? 1e-2 : tolerance[GRADIENTS]);
    close_and_drop(&dbeta, tolerance[SUMS]);
    struct operand *rest[] = {&x, &y, &bias, &gamma, &beta, &other, &dout};
    for (size_t i = 0; i < G_N_ELEMENTS(rest); i++)
        drop_operand(rest[i]);
}

/* Gradients by the sum alone, by the parameters alone, of an activation alone: the bits of all at once. */
static void one_apart(const struct k_table *k, size_t rows, size_t n)
{
    const size_t size = rows * n;
    struct operand x = operand(size, 1), dout = operand(size, 1), gamma = operand(n, 1),
                   mean = operand(rows, 1), rstd = operand(rows, 1), plus = operand(size, 1);
    struct operand dx[2] = {operand(size, 1), operand(size, 1)}, dgamma[2] = {operand(n, 1), operand(n, 1)},
                   dbeta[2] = {operand(n, 1), operand(n, 1)};
    const float *o = dout.narrow, *in = x.narrow, *g = gamma.narrow, *m = mean.narrow, *r = rstd.narrow,
                *p = plus.narrow;
    k->add_norm_grad(NULL, rows, n, o, in, g, m, r, p, dx[0].narrow, dgamma[0].narrow, dbeta[0].narrow, 0);
    k->add_norm_grad(NULL, rows, n, o, in, g, m, r, p, dx[1].narrow, NULL, NULL, 0);
    k->add_norm_grad(NULL, rows, n, o, in, g, m, r, NULL, NULL, dgamma[1].narrow, dbeta[1].narrow, 0);
    g_assert_cmpmem(dx[0].narrow, size * sizeof(float), dx[1].narrow, size * sizeof(float));
    g_assert_cmpmem(dgamma[0].narrow, n * sizeof(float), dgamma[1].narrow, n * sizeof(float));
    g_assert_cmpmem(dbeta[0].narrow, n * sizeof(float), dbeta[1].narrow, n * sizeof(float));
    for (int activation = 0; activation < 3; activation++) {
        k->bias_act_grad(NULL, activation, rows, n, o, in, dx[0].narrow, dbeta[0].narrow, 0);
        k->bias_act_grad(NULL, activation, rows, n, o, in, dx[1].narrow, NULL, 0);
        g_assert_cmpmem(dx[0].narrow, size * sizeof(float), dx[1].narrow, size * sizeof(float));
    }
    struct operand *all[] = {&x,     &dout,  &gamma,     &mean,      &rstd,     &plus,
                             &dx[0], &dx[1], &dgamma[0], &dgamma[1], &dbeta[0], &dbeta[1]};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        drop_operand(all[i]);
}

static void test_apart(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(widths); j++)
            one_apart(data, row_counts[i], widths[j]);
}

static void test_add_norm(gconstpointer data)
{
    static const size_t long_widths[] = {3, 17, 65, 130, 515, 1100};
    int turn = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(long_widths); j++)
            for (int way = 0; way < 4; way++, turn++)
                one_add_norm(data, row_counts[i], long_widths[j], way & 1, way >> 1, turn % 3 == 0);
}

/* Mean 0 and variance 1 of every row, whatever the mean before. */
static void test_norm_rows(gconstpointer data)
{
    enum { ROWS = 3, D = 1001 };
    const struct k_table *k = data;
    struct operand y = operand(ROWS * D, 1), gamma = operand(D, 0), beta = operand(D, 0),
                   out = operand(ROWS * D, 1);
    struct operand mean = operand(ROWS, 1), rstd = operand(ROWS, 1);
    for (size_t i = 0; i < y.n; i++)
        y.narrow[i] += 100;
    for (size_t j = 0; j < D; j++)
        gamma.narrow[j] = 1;
    g_assert_cmpint(k->add_norm(NULL, ROWS, D, NULL, y.narrow, NULL, gamma.narrow, beta.narrow, y.narrow,
                                out.narrow, mean.narrow, rstd.narrow),
                    ==, 0);
    for (size_t r = 0; r < ROWS; r++) {
        double total = 0, squares = 0;
        for (size_t j = 0; j < D; j++) {
            total += out.narrow[r * D + j];
            squares += (double)out.narrow[r * D + j] * out.narrow[r * D + j];
        }
        g_assert_cmpfloat_with_epsilon(total / D, 0, 3e-5);
        g_assert_cmpfloat_with_epsilon(squares / D, 1, 1e-4);
    }
    struct operand *all[] = {&y, &gamma, &beta, &out, &mean, &rstd};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        drop_operand(all[i]);
}

static void one_attention(const struct k_table *data, size_t batch, size_t heads, size_t seq, size_t dh,
                          double scale, int causal, double p)
{
    const struct k_dropout some = {0x123456789abcdefu, 3, heads * seq, p}, *drops = p > 0 ? &some : NULL;
    const size_t rows = batch * seq, d = heads * dh, square = batch * heads * seq * seq;
    struct operand qkv = operand(rows * 3 * d, scale), probs = operand(square, 1), out = operand(rows * d, 1);
    struct operand dout = operand(rows * d, 1), dprobs = operand(square, 1), dropped = operand(square, 1),
                   dqkv = operand(rows * 3 * d, 1);
    BOTH(k->attention(NULL, batch, heads, seq, dh, causal, drops, side(&qkv, w), side(&probs, w),
                      side(&dropped, w), side(&out, w)))
    for (size_t r = 0; r < batch * heads * seq; r++) {
        double total = 0;
        for (size_t j = 0; j < seq; j++)
            total += probs.narrow[r * seq + j];
        for (size_t j = r % seq + 1; j < seq && causal; j++)
            g_assert_cmpfloat(probs.narrow[r * seq + j], ==, 0);
        g_assert_cmpfloat_with_epsilon(total, 1, 1e-6);
    }
    BOTH(k->attention_grad(NULL, batch, heads, seq, dh, drops, side(&dout, w), side(&qkv, w), side(&probs, w),
                           side(&dropped, w), side(&dprobs, w), side(&dqkv, w)))
    /* Scores of 100 are rounded to 1e-5, and so are their exponentials. */
    const double loose = scale > 1 ? 1e-4 : tolerance[GRADIENTS];
    close_and_drop(&probs, loose);
    close_and_drop(&out, loose);
    close_and_drop(&dqkv, loose);
    drop_operand(&dprobs);
    drop_operand(&dropped);
    drop_operand(&qkv);
    drop_operand(&dout);
}

static void test_attention(gconstpointer data)
{
    static const size_t shapes[][4] = {{0, 2, 3, 4},  {1, 1, 1, 1},    {1, 1, 3, 5},   {2, 3, 17, 5},
                                       {3, 1, 65, 3}, {1, 2, 130, 17}, {2, 8, 32, 64}, {1, 3, 33, 1}};
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
        const size_t *s = shapes[i];
        one_attention(data, s[0], s[1], s[2], s[3], 1, 0, 0);
        one_attention(data, s[0], s[1], s[2], s[3], 8, 0, 0);
        one_attention(data, s[0], s[1], s[2], s[3], 1, 1, 0);
        one_attention(data, s[0], s[1], s[2], s[3], 1, 1, 0.3);
    }
}

static void one_activation(const struct k_table *data, int activation, size_t rows, size_t n, int in_place)
{
    struct operand bias = operand(n, 1), x = operand(rows * n, 3), y = operand(rows * n, 1);
    struct operand dy = operand(rows * n, 1), other = operand(rows * n, 1), dbias = operand(n, 1);
    struct operand *dx = in_place ? &dy : &other;
    BOTH(k->bias_act(NULL, activation, rows, n, side(&bias, w), side(&x, w), side(&y, w)))
    g_assert_true(difference(&x) <= tolerance[FEW]);
    close_and_drop(&y, tolerance[FEW]);
    BOTH(k->bias_act_grad(NULL, activation, rows, n, side(&dy, w), side(&x, w), side(dx, w), side(&dbias, w),
                          0))
    close_and_drop(&dbias, tolerance[GRADIENTS]);
    g_assert_true(difference(dx) <= tolerance[FEW]);
    drop_operand(&dy);
    drop_operand(&other);
    drop_operand(&x);
    drop_operand(&bias);
}

static void test_activation(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(widths); j++)
            for (int way = 0; way < 6; way++)
                one_activation(data, way >> 1, row_counts[i], widths[j], way & 1);
}

/* GELU on a grid, each value against libm's: relative where it is not a subnormal, so that the tails are
 * right too. */
static void test_gelu_values(gconstpointer data)
{
    enum { N = 4001 };
    const struct k_table *k = data;
    float x[N], y[N], dy[N], dx[N], dbias[N];
    const float zero[N] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i - N / 2) * (12.0f / (N / 2));
        dy[i] = 1;
    }
    g_assert_cmpint(k->bias_act(NULL, K_GELU, 1, N, zero, x, y), ==, 0);
    g_assert_cmpint(k->bias_act_grad(NULL, K_GELU, 1, N, dy, x, dx, dbias, 0), ==, 0);
    for (int i = 0; i < N; i++) {
        const double v = x[i], cdf = 0.5 * erfc(-v / sqrt(2)), density = exp(-v * v / 2) / sqrt(2 * G_PI);
        g_assert_cmpfloat(fabs(y[i] - v * cdf), <=, (1e-6 + 1e-7 * v * v) * fabs(v * cdf) + 1e-37);
        g_assert_cmpfloat(fabs(dx[i] - (cdf + v * density)), <=, 3e-7);
        g_assert_cmpfloat(dbias[i], ==, dx[i]);
    }
}

static void test_tanh(gconstpointer data)
{
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(widths); j++) {
            const size_t rows = row_counts[i], n = widths[j];
            struct operand bias = operand(n, 1), y = operand(rows * n, 2), dy = operand(rows * n, 1);
            struct operand dx = operand(rows * n, 1);
            BOTH(k->bias_tanh(NULL, rows, n, side(&bias, w), side(&y, w)))
            g_assert_true(difference(&y) <= tolerance[FEW]);
            for (size_t e = 0; e < y.n;
                 e++) /* the gradient on equal terms: 1 - y^2 magnifies rounding of y */
                y.wide[e] = y.narrow[e];
            BOTH(k->tanh_grad(NULL, rows * n, side(&dy, w), side(&y, w), side(&dx, w)))
            close_and_drop(&dx, tolerance[FEW]);
            drop_operand(&y);
            drop_operand(&dy);
            drop_operand(&bias);
        }
}

static void one_embedding(const struct k_table *data, size_t samples, size_t seq, size_t d, size_t vocab,
                          size_t types)
{
    const size_t rows = samples * seq, positions = seq + 2;
    int32_t *token = indexes(rows, vocab);
    struct operand word = operand(vocab * d, 1), position = operand(positions * d, 1),
                   type = operand(types * d, 1);
    struct operand y = operand(rows * d, 1), dy = operand(rows * d, 1);
    BOTH(k->embed(NULL, rows, seq, d, 1, token, side(&word, w), side(&position, w),
                  types ? side(&type, w) : NULL, side(&y, w)))
    close_and_drop(&y, tolerance[FEW]);
    BOTH(k->embed_grad(NULL, rows, seq, d, vocab, positions, types, 1, token, side(&dy, w), side(&word, w),
                       side(&position, w), types ? side(&type, w) : NULL, 0))
    double of_tokens = 0, of_rows = 0;
    for (size_t e = 0; e < word.n; e++)
        of_tokens += word.narrow[e];
    for (size_t e = 0; e < dy.n; e++)
        of_rows += dy.narrow[e];
    g_assert_cmpfloat_with_epsilon(of_tokens, of_rows,
                                   1e-5 * (double)(dy.n + 1)); /* nothing is left of the old table */
    close_and_drop(&word, tolerance[SUMS]);
    close_and_drop(&position, tolerance[SUMS]);
    close_and_drop(&type, tolerance[SUMS]);
    drop_operand(&dy);
    g_free(token);
}

static void test_embedding(gconstpointer data)
{
    static const size_t shapes[][5] = {{0, 3, 5, 7, 2},   {1, 1, 1, 2, 0},    {3, 5, 17, 2, 0},
                                       {2, 65, 3, 40, 1}, {4, 33, 130, 9, 2}, {5, 7, 65, 300, 3}};
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++)
        one_embedding(data, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4]);
}

static void one_cross_entropy(const struct k_table *data, size_t rows, size_t classes, double scale)
{
    int32_t *target = indexes(rows, classes);
    struct operand x = operand(rows * classes, scale), dx = operand(rows * classes, 1);
    double loss[2];
    dx.unit = 1 / (double)(rows + 1);
    BOTH(k->cross_entropy(NULL, rows, classes, 1, side(&x, w), target, side(&dx, w), &loss[w]))
    g_assert_cmpfloat_with_epsilon(loss[1], loss[0], 1e-6 * (1 + fabs(loss[0])));
    for (size_t r = 0; r < rows; r++) {
        double total = 0, size = 0;
        for (size_t j = 0; j < classes; j++) {
            total += dx.narrow[r * classes + j];
            size += fabs(dx.narrow[r * classes + j]);
        }
        g_assert_cmpfloat(fabs(total), <=, 1e-6 * size + 1e-7 / (double)rows);
        g_assert_cmpfloat(dx.narrow[r * classes + (size_t)target[r]], <=, 0);
    }
    close_and_drop(&dx, scale > 10 ? 1e-4 : tolerance[SUMS]);
    drop_operand(&x);
    g_free(target);
}

static void test_cross_entropy(gconstpointer data)
{
    static const size_t classes[] = {2, 3, 17, 65, 130, 1030, 8191};
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(classes); j++) {
            one_cross_entropy(data, row_counts[i], classes[j], 1);
            one_cross_entropy(data, row_counts[i], classes[j], 300);
        }
    /* Equal logits: the loss is log(classes), whatever they are. */
    const struct k_table *k = data;
    const float flat[5] = {1e4f, 1e4f, 1e4f, 1e4f, 1e4f};
    const int32_t target = 3;
    float dx[5];
    double loss;
    g_assert_cmpint(k->cross_entropy(NULL, 1, 5, 1, flat, &target, dx, &loss), ==, 0);
    g_assert_cmpfloat_with_epsilon(loss, log(5), 1e-6);
    for (int j = 0; j < 5; j++)
        g_assert_cmpfloat_with_epsilon(dx[j], j == 3 ? -0.8 : 0.2, 1e-6);
}

static void test_elementwise(gconstpointer data)
{
    static const size_t lengths[] = {0, 1, 3, 17, 65, 130, 1031};
    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        const size_t n = lengths[i];
        struct operand a = operand(n, 1), b = operand(n, 1), c = operand(n, 1), z = operand(n, 1);
        BOTH(k->scale_copy(NULL, n, 0.3, side(&a, w), side(&c, w)))
        g_assert_true(difference(&c) <= tolerance[FEW]);
        BOTH(k->add(NULL, n, side(&a, w), side(&c, w)))
        g_assert_true(difference(&c) <= tolerance[FEW]);
        BOTH(k->sgd(NULL, n, 0.7, 0, NULL, side(&b, w), NULL, side(&c, w)))
        BOTH(k->zero(NULL, n, side(&z, w)))
        for (size_t e = 0; e < n; e++) {
            g_assert_cmpfloat_with_epsilon(c.wide[e], 1.3 * a.wide[e] - 0.7 * b.wide[e], 1e-12);
            g_assert_cmpfloat(z.narrow[e], ==, 0);
        }
        close_and_drop(&c, tolerance[SUMS]);
        drop_operand(&a);
        drop_operand(&b);
        drop_operand(&z);
    }
    const struct k_table *k = data;
    const float src[] = {-0.0f, NAN, INFINITY, 1e-40f, 1};
    float dst[5];
    g_assert_cmpint(k->scale_copy(NULL, 5, 1, src, dst), ==, 0);
    g_assert_cmpmem(src, sizeof src, dst, sizeof dst);
}

/* What diverges must show: not a number in, not a number out. */
static void test_nan(gconstpointer data)
{
    const struct k_table *k = data;
    float x[20] = {0}, y[20], dx[20], bias[20] = {0};
    const int32_t target = 0;
    double loss;
    x[7] = NAN;
    g_assert_cmpint(k->bias_act(NULL, K_RELU, 1, 20, bias, x, y), ==, 0);
    g_assert_true(isnan(y[7]));
    g_assert_cmpint(k->bias_act(NULL, K_GELU, 1, 20, bias, x, y), ==, 0);
    g_assert_true(isnan(y[7]) && y[6] == 0);
    g_assert_cmpint(k->cross_entropy(NULL, 1, 20, 1, x, &target, dx, &loss), ==, 0);
    g_assert_true(isnan(loss));
}

struct work {
    float x[130 * 65], y[130 * 130], dy[130 * 130];
    int32_t target[130];
    double loss;
};

static void *some_work(void *data)
{
    struct work *s = data;
    for (int i = 0; i < 3; i++) {
        k_cpu_f32.gemm(NULL, 0, 1, 130, 130, 65, 1, s->x, 65, s->x, 65, 0, s->y, 130);
        k_cpu_f32.cross_entropy(NULL, 130, 130, 1, s->y, s->target, s->dy, &s->loss);
    }
    return NULL;
}

/* The same bits on every thread, also while another computes. */
static void test_threads(void)
{
    enum { THREADS = 3 };
    struct work *s = g_new0(struct work, THREADS);
    pthread_t thread[THREADS];
    for (size_t i = 0; i < G_N_ELEMENTS(s->x); i++)
        s->x[i] = (float)random_near_1();
    for (size_t i = 0; i < 130; i++)
        s->target[i] = (int32_t)i;
    for (int t = 1; t < THREADS; t++)
        s[t] = s[0];
    for (int t = 0; t < THREADS; t++)
        g_assert_cmpint(pthread_create(&thread[t], NULL, some_work, &s[t]), ==, 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    for (int t = 1; t < THREADS; t++)
        g_assert_cmpmem(&s[t], sizeof s[t], &s[0], sizeof s[0]);
    g_free(s);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        TEST(test_gemm, "gemm"),
        TEST(test_gemm_layout, "gemm-layout"),
        TEST(test_bias, "bias"),
        TEST(test_bias_grad_long, "bias-grad-long"),
        TEST(test_apart, "apart"),
        TEST(test_add_norm, "add-norm"),
        TEST(test_norm_rows, "norm-rows"),
        TEST(test_attention, "attention"),
        TEST(test_activation, "activation"),
        TEST(test_gelu_values, "gelu-values"),
        TEST(test_tanh, "tanh"),
        TEST(test_embedding, "embedding"),
        TEST(test_cross_entropy, "cross-entropy"),
        TEST(test_elementwise, "elementwise"),
        TEST(test_nan, "nan"),
    };
    tap_init(&argc, &argv);
    dice = g_rand_new();
    const char *missing = k_cpu_open();
    if (missing)
        g_error("%s", missing);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_data_func(tests[i].name, &tests[i], run_test);
    g_test_add_func("/kernels/cpu/threads", test_threads);
    const int failed = g_test_run();
    g_rand_free(dice);
    return failed;
}
