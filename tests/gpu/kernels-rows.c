/* What works on rows of a matrix, or sums over them. */
#include <math.h>
#include <string.h>

#include "tests/gpu/kernels.h"

static void one_bias(size_t rows, size_t n, unsigned way)
{
    const size_t ld = n + way % 3;
    struct operand bias = operand(n, 1), y = operand(rows * ld, 1);
    BOTH(k->bias(s, rows, n, side(&bias, w), side(&y, w), ld))
    CLOSE(&y, tolerance[FEW]);
    SAME(&bias);
}

void test_bias(void)
{
    each_size(one_bias);
}

static void one_bias_grad(size_t rows, size_t n, unsigned way)
{
    const size_t ld = n + way % 3;
    struct operand y = operand(rows * ld, 1), grad = operand(n, 1);
    BOTH(k->bias_grad(s, rows, n, side(&y, w), ld, side(&grad, w), way & 1))
    CLOSE(&grad, tolerance[SUMS]);
    SAME(&y);
}

void test_bias_grad(void)
{
    each_size(one_bias_grad);
}

/* 200,000 rows of about 1: a sum kept in float would be off by 1e-4. */
void test_bias_grad_long(void)
{
    struct operand y = operand(200000 * 3, 1e-3), grad = operand(3, 1);
    for (size_t i = 0; i < y.n; i++)
        y.wide[i] = (float)(y.wide[i] + 1);
    send(&y);
    BOTH(k->bias_grad(s, 200000, 3, side(&y, w), 3, side(&grad, w), 0))
    CLOSE(&grad, 1e-7);
    SAME(&y);
}

static void one_norm(size_t rows, size_t d, unsigned way)
{
    const size_t n = rows * d;
    const int in_place = way % 3 == 0, only = way % 3 == 1; /* sum is y; nothing is added */
    struct operand x = operand(n, 1), y = operand(n, 1), bias = operand(d, 1), gamma = operand(d, 1),
                   beta = operand(d, 1), plus = operand(n, 1);
    struct operand other = operand(n, 1), out = operand(n, 1), mean = operand(rows, 1),
                   rstd = operand(rows, 1);
    struct operand dout = operand(n, 1), dsum = operand(n, 1), dgamma = operand(d, 1), dbeta = operand(d, 1);
    struct operand *sum = in_place || only ? &y : &other;
    BOTH(k->add_norm(s, rows, d, way & 1 && !only ? side(&x, w) : NULL, side(&y, w),
                     way & 2 && !only ? side(&bias, w) : NULL, side(&gamma, w), side(&beta, w),
                     only ? NULL : side(sum, w), side(&out, w), side(&mean, w), side(&rstd, w)))
    BOTH(k->add_norm_grad(s, rows, d, side(&dout, w), side(sum, w), side(&gamma, w), side(&mean, w),
                          side(&rstd, w), way & 4 ? side(&plus, w) : NULL, side(&dsum, w), side(&dgamma, w),
                          side(&dbeta, w), way & 1))
    /* The variance of one element is 0, and of few may be small: rounding of the sum is then large beside it.
     */
    const double loose = d < 17 ? 1e-3 : tolerance[SUMS], looser = d < 17 ? 1e-2 : tolerance[GRADIENTS];
    CLOSE(&out, loose);
    CLOSE(&mean, tolerance[SUMS]);
    CLOSE(&rstd, loose);
    CLOSE(&dsum, looser);
    CLOSE(&dgamma, looser);
    CLOSE(&dbeta, tolerance[SUMS]);
    CLOSE(&y, tolerance[FEW]);
    CLOSE(&other, tolerance[FEW]);
    struct operand *rest[] = {&x, &bias, &gamma, &beta, &dout, &plus};
    for (size_t i = 0; i < COUNT(rest); i++)
        SAME(rest[i]);
}

void test_norm(void)
{
    each_size(one_norm);
    for (unsigned way = 0; way < WAYS; way += thin()) { /* a block a row, and chunks of rows */
        about("3 rows of 1100, 1100 of 515");
        misalign(way);
        one_norm(3, 1100, way);
        give_back();
        if (way % 5)
            continue;
        one_norm(1100, 515, way);
        give_back();
    }
}

/* Mean 0 and variance 1 of every row, whatever the mean before. */
void test_norm_rows(void)
{
    enum { ROWS = 3, D = 1001 };
    struct operand y = operand(ROWS * D, 1), gamma = operand(D, 0), beta = operand(D, 0),
                   out = operand(ROWS * D, 1), mean = operand(ROWS, 1), rstd = operand(ROWS, 1);
    for (size_t i = 0; i < y.n; i++)
        y.wide[i] += 100;
    for (size_t j = 0; j < D; j++)
        gamma.wide[j] = 1;
    send(&y);
    send(&gamma);
    CHECK(k_cuda_f32.add_norm(stream, ROWS, D, NULL, y.narrow, NULL, gamma.narrow, beta.narrow, NULL,
                              out.narrow, mean.narrow, rstd.narrow) == 0);
    fetch(&out);
    fetch(&mean);
    fetch(&rstd);
    for (size_t r = 0; r < ROWS; r++) {
        double total = 0, squares = 0;
        for (size_t j = 0; j < D; j++) {
            total += out.wide[r * D + j];
            squares += out.wide[r * D + j] * out.wide[r * D + j];
        }
        CHECK_CLOSE(total / D, 0, 3e-5);
        CHECK_CLOSE(squares / D, 1, 1e-4);
    }
    struct operand *all[] = {&y, &gamma, &beta};
    for (size_t i = 0; i < COUNT(all); i++)
        SAME(all[i]);
    CLOSE(&out, 0);
    CLOSE(&mean, 0);
    CLOSE(&rstd, 0);
}

/* Gradients by the sum alone, by the parameters alone, of an activation alone. */
static void one_apart(size_t rows, size_t n, unsigned way)
{
    struct operand x = operand(rows * n, 1), dout = operand(rows * n, 1), gamma = operand(n, 1),
                   mean = operand(rows, 1), rstd = operand(rows, 1), plus = operand(rows * n, 1);
    struct operand dx = operand(rows * n, 1), dgamma = operand(n, 1), dbeta = operand(n, 1),
                   act = operand(rows * n, 1);
    BOTH(k->add_norm_grad(s, rows, n, side(&dout, w), side(&x, w), side(&gamma, w), side(&mean, w),
                          side(&rstd, w), way & 4 ? side(&plus, w) : NULL, side(&dx, w), NULL, NULL, 0))
    BOTH(k->add_norm_grad(s, rows, n, side(&dout, w), side(&x, w), side(&gamma, w), side(&mean, w),
                          side(&rstd, w), NULL, NULL, side(&dgamma, w), side(&dbeta, w), way & 1))
    BOTH(k->bias_act_grad(s, (int)(way % 3), rows, n, side(&dout, w), side(&x, w), side(&act, w), NULL, 0))
    CLOSE(&dx, tolerance[GRADIENTS]);
    CLOSE(&dgamma, tolerance[GRADIENTS]);
    CLOSE(&dbeta, tolerance[SUMS]);
    CLOSE(&act, tolerance[SUMS]);
    BOTH(k->bias_act_grad(s, (int)(way % 3), rows, n, side(&plus, w), side(&x, w), side(&plus, w), NULL, 0))
    CLOSE(&plus, tolerance[SUMS]);
    struct operand *rest[] = {&x, &dout, &gamma, &mean, &rstd};
    for (size_t i = 0; i < COUNT(rest); i++)
        SAME(rest[i]);
}

void test_apart(void)
{
    each_size(one_apart);
}

static void one_activation(size_t rows, size_t n, unsigned way)
{
    static const int activations[] = {K_GELU, K_RELU, K_GELU_TANH};
    for (size_t a = 0; a < COUNT(activations); a++) {
        struct operand bias = operand(n, 1), x = operand(rows * n, 3), y = operand(rows * n, 1);
        struct operand dy = operand(rows * n, 1), other = operand(rows * n, 1), dbias = operand(n, 1);
        struct operand *dx = way & 1 ? &dy : &other;
        BOTH(k->bias_act(s, activations[a], rows, n, side(&bias, w), side(&x, w), side(&y, w)))
        BOTH(k->bias_act_grad(s, activations[a], rows, n, side(&dy, w), side(&x, w), side(dx, w),
                              side(&dbias, w), way >> 1 & 1))
        CLOSE(&x, tolerance[FEW]);
        CLOSE(&y, tolerance[FEW]);
        CLOSE(&dbias, tolerance[GRADIENTS]);
        /* One element's derivative feels how its argument was rounded. */
        CLOSE(&dy, tolerance[SUMS]);
        CLOSE(&other, tolerance[SUMS]);
        SAME(&bias);
        give_back();
    }
}

/* Not a number stays that. */
void test_activation(void)
{
    each_size(one_activation);
    struct operand bias = operand(20, 0), x = operand(20, 0), y = operand(20, 0);
    x.wide[7] = NAN;
    for (int activation = 0; activation < 3; activation++) {
        send(&x);
        CHECK(k_cuda_f32.bias_act(stream, activation, 1, 20, bias.narrow, x.narrow, y.narrow) == 0);
        fetch(&y);
        CHECK(isnan(y.wide[7]) && y.wide[6] == 0 && y.wide[8] == 0);
    }
    SAME(&bias);
    send(&x);
    SAME(&x);
    send(&y);
    SAME(&y);
}

/* GELU on a grid, each value against libm's: relative where it is not a subnormal, so that the tails are
 * right too. */
void test_gelu_values(void)
{
    enum { N = 4001 };
    struct operand x = operand(N, 1), y = operand(N, 1), dy = operand(N, 1), dx = operand(N, 1),
                   bias = operand(N, 0), dbias = operand(N, 1);
    for (int i = 0; i < N; i++) {
        x.wide[i] = (float)(i - N / 2) * (12.0f / (N / 2));
        dy.wide[i] = 1;
    }
    send(&x);
    send(&dy);
    CHECK(k_cuda_f32.bias_act(stream, K_GELU, 1, N, bias.narrow, x.narrow, y.narrow) == 0);
    CHECK(k_cuda_f32.bias_act_grad(stream, K_GELU, 1, N, dy.narrow, x.narrow, dx.narrow, dbias.narrow, 0) ==
          0);
    fetch(&y);
    fetch(&dx);
    fetch(&dbias);
    for (int i = 0; i < N; i++) {
        const double v = x.wide[i], cdf = 0.5 * erfc(-v / sqrt(2)),
                     density = exp(-v * v / 2) / sqrt(8 * atan(1));
        about("GELU of %g", v);
        CHECK_CLOSE(y.wide[i], v * cdf, (1e-6 + 1e-7 * v * v) * fabs(v * cdf) + 1e-37);
        CHECK_CLOSE(dx.wide[i], cdf + v * density, 3e-7);
        CHECK(dbias.wide[i] == dx.wide[i]);
    }
    struct operand *all[] = {&y, &dx, &dbias};
    for (size_t i = 0; i < COUNT(all); i++)
        CLOSE(all[i], 0);
    SAME(&x);
    SAME(&dy);
    SAME(&bias);
}

static void one_tanh(size_t rows, size_t n, unsigned way)
{
    (void)way;
    struct operand bias = operand(n, 1), y = operand(rows * n, 2), dy = operand(rows * n, 1),
                   dx = operand(rows * n, 1);
    struct operand got = {0};
    BOTH(k->bias_tanh(s, rows, n, side(&bias, w), side(&y, w)))
    got = operand(rows * n, 1);
    CHECK(k_cuda_f32.scale_copy(stream, rows * n, 1, y.narrow, got.narrow) == 0);
    CLOSE(&y, tolerance[FEW]);
    fetch(&got); /* the gradient on equal terms: 1 - y^2 magnifies rounding of y */
    BOTH(k->tanh_grad(s, rows * n, side(&dy, w), side(&got, w), side(&dx, w)))
    CLOSE(&dx, tolerance[FEW]);
    CLOSE(&got, 0);
    SAME(&dy);
    SAME(&bias);
}

void test_tanh(void)
{
    each_size(one_tanh);
}

static void one_cross_entropy(size_t rows, size_t classes, double scale, double weight)
{
    struct indexes target = indexes(rows, (uint32_t)classes);
    struct operand x = operand(rows * classes, scale), dx = operand(rows * classes, 1);
    struct doubles loss;
    const double junk = NAN;
    double got;
    doubles(&loss, 1, &junk);
    dx.unit = 1 / (double)(rows + 1);
    BOTH(k->cross_entropy(s, rows, classes, weight, side(&x, w), target.of[w], side(&dx, w), loss.of[w]))
    to_host(&got, loss.of[1], sizeof got);
    CHECK_CLOSE(got, loss.host[0], 1e-6 * (1 + fabs(loss.host[0])));
    CLOSE(&dx, scale > 10 ? 1e-4 : tolerance[SUMS]);
    SAME(&x);
    drop_indexes(&target);
    give_back();
}

void test_cross_entropy(void)
{
    static const size_t classes[] = {1, 2, 3, 17, 65, 130, 1030, 8191};
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(row_counts); i++)
        for (size_t j = 0; j < COUNT(classes); j++)
            for (unsigned way = 0; way < WAYS; way++) {
                if (turn++ % (thin() * (classes[j] > 200 ? 5 : 1)))
                    continue;
                about("%zu rows of %zu classes", row_counts[i], classes[j]);
                misalign(way);
                one_cross_entropy(row_counts[i], classes[j], way & 1 ? 300 : 1, way & 2 ? 0.25 : 1);
            }
}

/* Equal logits: the loss is log(classes), whatever they are.  What diverges shows.  More rows than scratch
 * holds. */
void test_losses(void)
{
    enum { MANY = 600000 };
    struct operand x = operand(5, 0), dx = operand(5, 0), much = operand(2 * MANY, 1),
                   gradient = operand(2 * MANY, 1);
    struct indexes target = indexes(MANY, 1);
    double *loss = on_device(sizeof *loss), got, expected;
    for (int j = 0; j < 5; j++)
        x.wide[j] = 1e4;
    send(&x);
    CHECK(k_cuda_f32.cross_entropy(stream, 1, 5, 1, x.narrow, target.of[1], dx.narrow, loss) == 0);
    to_host(&got, loss, sizeof got);
    fetch(&dx);
    CHECK_CLOSE(got, log(5), 1e-6);
    for (int j = 0; j < 5; j++)
        CHECK_CLOSE(dx.wide[j], j == 0 ? -0.8 : 0.2, 1e-6);
    x.wide[3] = NAN;
    send(&x);
    CHECK(k_cuda_f32.cross_entropy(stream, 1, 5, 1, x.narrow, target.of[1], dx.narrow, loss) == 0);
    to_host(&got, loss, sizeof got);
    CHECK(isnan(got));
    SAME(&x);
    send(&dx);
    SAME(&dx);
    if (thin() == 1) {
        gradient.unit = 1.0 / MANY;
        CHECK(k_ref_f64.cross_entropy(NULL, MANY, 2, 1, much.wide, target.of[0], gradient.wide, &expected) ==
              0);
        CHECK(k_cuda_f32.cross_entropy(stream, MANY, 2, 1, much.narrow, target.of[1], gradient.narrow,
                                       loss) == 0);
        to_host(&got, loss, sizeof got);
        CHECK_CLOSE(got, expected, 1e-6);
        CLOSE(&gradient, tolerance[SUMS]);
    } else {
        SAME(&gradient);
    }
    SAME(&much);
    drop_indexes(&target);
}
