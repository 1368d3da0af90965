/* The kernels of dropout, embeddings and gradients that add up, against the double reference and closed
 * forms. */
#include <string.h>

#include "tests/operand.h"

enum { SEQ = 5 };

static void one_dropout(const struct k_table *data, size_t rows, size_t n, const struct k_dropout *drop)
{
    struct operand x = operand(rows * n, 1), y = operand(rows * n, 1), z = operand(rows * n, 1);
    struct operand bias = operand(n, 1);
    BOTH(k->dropout(NULL, rows, n, drop, side(&x, w), side(&y, w)))
    for (size_t i = 0; i < y.n; i++)
        g_assert_true((y.narrow[i] == 0) == (y.wide[i] == 0));
    close_and_drop(&y, tolerance[FEW]);
    for (int way = 0; way < 8; way++)
        BOTH(k->residual(NULL, rows, n, way & 1 ? side(&bias, w) : NULL, way & 2 ? side(&x, w) : NULL,
                         way & 4 ? drop : NULL, side(&z, w)))
    close_and_drop(&z, tolerance[SUMS]);
    drop_operand(&x);
    drop_operand(&bias);
}

static void test_dropout(gconstpointer data)
{
    const struct k_dropout drop = {77, 2, SEQ, 0.4};
    for (size_t i = 0; i < G_N_ELEMENTS(row_counts); i++)
        for (size_t j = 0; j < G_N_ELEMENTS(widths); j++)
            one_dropout(data, row_counts[i], widths[j], &drop);
}

/* What is kept is the right part, within five deviations, whatever the key; and it is multiplied by 1 / (1 -
 * p). */
static void test_kept(gconstpointer data)
{
    enum { ROWS = 40, N = 997 };
    static const double p[] = {0.01, 0.1, 0.5, 0.9};
    const struct k_table *k = data;
    g_autofree float *x = g_new(float, ROWS *N);
    for (size_t way = 0; way < 5 * G_N_ELEMENTS(p); way++) {
        const struct k_dropout drop = {way * 12345, 0, SEQ, p[way / 5]};
        for (size_t i = 0; i < ROWS * N; i++)
            x[i] = 3;
        g_assert_cmpint(k->dropout(NULL, ROWS, N, &drop, x, x), ==, 0);
        double kept = 0, beside = 0;
        for (size_t i = 0; i < ROWS * N; i++) {
            if (x[i] != 0)
                g_assert_cmpfloat_with_epsilon(x[i], 3 / (1 - drop.p), 1e-5);
            kept += x[i] != 0;
            beside += i && x[i] != 0 && x[i - 1] != 0;
        }
        const double n = ROWS * N, q = 1 - drop.p;
        g_assert_cmpfloat(fabs(kept - n * q), <=, 5 * sqrt(n * q * drop.p));
        g_assert_cmpfloat(fabs(beside - n * q * q), <=, 10 * sqrt(n * q * q));
    }
}

/* A sample's elements are the same in any batch; samples, and keys, differ. */
static void test_split(gconstpointer data)
{
    enum { SAMPLES = 6, N = 64 };
    const struct k_table *k = data;
    static float whole[SAMPLES * SEQ * N], part[SAMPLES * SEQ * N];
    for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
        whole[i] = part[i] = 1;
    struct k_dropout drop = {5, 10, SEQ, 0.5};
    g_assert_cmpint(k->dropout(NULL, SAMPLES * SEQ, N, &drop, whole, whole), ==, 0);
    for (size_t s = 0; s < SAMPLES; s += 2, drop.first += 2)
        g_assert_cmpint(k->dropout(NULL, 2 * SEQ, N, &drop, part + s * SEQ * N, part + s * SEQ * N), ==, 0);
    g_assert_cmpmem(whole, sizeof whole, part, sizeof part);
    g_assert_true(memcmp(whole, whole + SEQ * N, SEQ * N * sizeof(float)) != 0);
    g_assert_true(memcmp(whole, whole + N, N * sizeof(float)) != 0);
    for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
        part[i] = 1;
    drop = (struct k_dropout){6, 10, SEQ, 0.5};
    g_assert_cmpint(k->dropout(NULL, SAMPLES * SEQ, N, &drop, part, part), ==, 0);
    g_assert_true(memcmp(whole, part, sizeof whole) != 0);
}

static void test_sine(gconstpointer data)
{
    static const size_t shapes[][2] = {{1, 1}, {5, 7}, {300, 12}, {17, 130}};
    for (size_t i = 0; i < G_N_ELEMENTS(shapes); i++) {
        struct operand y = operand(shapes[i][0] * shapes[i][1], 1);
        BOTH(k->sine(NULL, shapes[i][0], shapes[i][1], side(&y, w)))
        close_and_drop(&y, tolerance[FEW]);
    }
}

/* Twice into the same sums; without positions and types, and scaled. */
static void test_embedding(gconstpointer data)
{
    enum { ROWS = 4 * SEQ, D = 17, VOCAB = 7, POSITIONS = 6, TYPES = 2 };
    int32_t *token = indexes(ROWS, VOCAB);
    for (int with = 0; with < 2; with++) {
        struct operand word = operand(VOCAB * D, 1), position = operand(POSITIONS * D, 1),
                       type = operand(TYPES * D, 1);
        struct operand y = operand(ROWS * D, 1), dy = operand(ROWS * D, 1);
        BOTH(k->embed(NULL, ROWS, SEQ, D, 3.5, token, side(&word, w), with ? side(&position, w) : NULL,
                      with ? side(&type, w) : NULL, side(&y, w)))
        close_and_drop(&y, tolerance[FEW]);
        for (int accumulate = with; accumulate < 2; accumulate++)
            BOTH(k->embed_grad(NULL, ROWS, SEQ, D, VOCAB, with ? POSITIONS : 0, with ? TYPES : 0, 3.5, token,
                               side(&dy, w), side(&word, w), with ? side(&position, w) : NULL,
                               with ? side(&type, w) : NULL, accumulate))
        close_and_drop(&word, tolerance[SUMS]);
        close_and_drop(&position, tolerance[SUMS]);
        close_and_drop(&type, tolerance[SUMS]);
        drop_operand(&dy);
    }
    g_free(token);
}

static void test_bag(gconstpointer data)
{
    enum { BATCH = 9, D = 19, VOCAB = 7 };
    int32_t *token = indexes(BATCH * SEQ, VOCAB);
    struct operand word = operand(VOCAB * D, 1), y = operand(BATCH * D, 1), dy = operand(BATCH * D, 1);
    BOTH(k->bag(NULL, BATCH, SEQ, D, token, side(&word, w), side(&y, w)))
    close_and_drop(&y, tolerance[FEW]);
    for (int accumulate = 0; accumulate < 2; accumulate++)
        BOTH(k->bag_grad(NULL, BATCH, SEQ, D, VOCAB, token, side(&dy, w), side(&word, w), accumulate))
    close_and_drop(&word, tolerance[SUMS]);
    drop_operand(&dy);
    g_free(token);
}

/* Gradients by parameters are added to what is there, and `plus` to the one by the input. */
static void test_accumulate(gconstpointer data)
{
    enum { ROWS = 13, D = 65 };
    struct operand x = operand(ROWS * D, 1), dout = operand(ROWS * D, 1), out = operand(ROWS * D, 1);
    struct operand gamma = operand(D, 1), beta = operand(D, 1), plus = operand(ROWS * D, 1),
                   dx = operand(ROWS * D, 1);
    struct operand mean = operand(ROWS, 1), rstd = operand(ROWS, 1), bias = operand(D, 1);
    BOTH(k->add_norm(NULL, ROWS, D, NULL, side(&x, w), NULL, side(&gamma, w), side(&beta, w), NULL,
                     side(&out, w), side(&mean, w), side(&rstd, w)))
    BOTH(k->add_norm_grad(NULL, ROWS, D, side(&dout, w), side(&x, w), side(&gamma, w), side(&mean, w),
                          side(&rstd, w), side(&plus, w), side(&dx, w), side(&gamma, w), side(&beta, w), 1))
    BOTH(k->bias_grad(NULL, ROWS, D, side(&dout, w), D, side(&bias, w), 1))
    BOTH(k->bias_act_grad(NULL, K_GELU_TANH, ROWS, D, side(&dout, w), side(&x, w), side(&plus, w),
                          side(&bias, w), 1))
    struct operand *close[] = {&out, &dx, &gamma, &beta, &bias, &plus}, *rest[] = {&x, &dout, &mean, &rstd};
    for (size_t i = 0; i < G_N_ELEMENTS(close); i++)
        close_and_drop(close[i], tolerance[GRADIENTS]);
    for (size_t i = 0; i < G_N_ELEMENTS(rest); i++)
        drop_operand(rest[i]);
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        TEST(test_dropout, "dropout"),       TEST(test_kept, "kept"),
        TEST(test_split, "split"),           TEST(test_sine, "sine"),
        TEST(test_embedding, "embedding"),   TEST(test_bag, "bag"),
        TEST(test_accumulate, "accumulate"),
    };
    tap_init(&argc, &argv);
    dice = g_rand_new();
    const char *missing = k_cpu_open();
    if (missing)
        g_error("%s", missing);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_data_func(tests[i].name, &tests[i], run_test);
    const int failed = g_test_run();
    g_rand_free(dice);
    return failed;
}
