/* Products, elementwise work, optimizers. */
#include <math.h>
#include <string.h>

#include "tests/gpu/kernels.h"

static void one_gemm(int ta, int tb, size_t m, size_t n, size_t inner, double alpha, double beta)
{
    const size_t extra = dice(4), lda = (ta ? m : inner) + extra, ldb = (tb ? inner : n) + extra,
                 ldc = n + extra;
    struct operand a = operand((ta ? inner : m) * lda, 1), b = operand((tb ? n : inner) * ldb, 1),
                   c = operand(m * ldc, 1);
    about("gemm ta %d tb %d, %zu x %zu x %zu, alpha %g beta %g", ta, tb, m, n, inner, alpha, beta);
    if (beta == 0) {
        for (size_t i = 0; i < c.n; i++)
            c.wide[i] = i % ldc < n ? (double)NAN : 0;
        send(&c);
    }
    BOTH(k->gemm(s, ta, tb, m, n, inner, alpha, side(&a, w), lda, side(&b, w), ldb, beta, side(&c, w), ldc))
    CLOSE(&c, tolerance[SUMS]);
    SAME(&a);
    SAME(&b);
    give_back();
}

void test_gemm(void)
{
    static const size_t sizes[] = {1, 3, 17, 65, 130}, inner[] = {0, 1, 3, 17, 65, 130};
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, 0.25}};
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t j = 0; j < COUNT(sizes); j++)
            for (size_t l = 0; l < COUNT(inner); l++)
                for (int t = 0; t < 4; t++, turn++) {
                    if (turn % thin())
                        continue;
                    misalign(turn);
                    one_gemm(t & 1, t >> 1, sizes[i], sizes[j], inner[l], factors[turn % 3][0],
                             factors[turn % 3][1]);
                }
    one_gemm(0, 1, 600, 130, 65, 1, 0);
}

void test_gemm_empty(void)
{
    one_gemm(0, 1, 0, 5, 3, 1, 0);
    one_gemm(0, 1, 5, 0, 3, 1, 0);
    for (unsigned way = 0; way < WAYS; way++) {
        misalign(way);
        one_gemm(0, 0, 5, 7, 0, 1, 0);
        one_gemm(1, 0, 5, 7, 0, 1, 1);
        one_gemm(0, 1, 65, 17, 0, 1, 0.5);
    }
}

static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 65, 130, 600, 1031, 5000};

/* Every length with every way to misalign, or some of them. */
static void each_length(void (*run)(size_t n))
{
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(lengths); i++)
        for (unsigned way = 0; way < WAYS; way++) {
            if (turn++ % thin())
                continue;
            about("%zu elements", lengths[i]);
            misalign(way);
            run(lengths[i]);
            give_back();
        }
}

static void one_elementwise(size_t n)
{
    struct operand a = operand(n, 1), b = operand(n, 1), c = operand(n, 1), z = operand(n, 1);
    BOTH(k->scale_copy(s, n, 0.3, side(&a, w), side(&b, w)))
    BOTH(k->add(s, n, side(&a, w), side(&c, w)))
    BOTH(k->zero(s, n, side(&z, w)))
    CLOSE(&b, tolerance[FEW]);
    CLOSE(&c, tolerance[FEW]);
    CLOSE(&z, 0);
    SAME(&a);
}

/* Far more than one round of the grid has threads for. */
void test_elementwise(void)
{
    each_length(one_elementwise);
    if (thin() == 1) {
        about("long");
        one_elementwise((4 << 20) + 3);
        give_back();
    }
}

/* A copy is one of bits. */
void test_bits(void)
{
    const uint32_t bits[] = {0x80000000, 0x7fc12345, 0x7f800000, 0x00000123, 0x7f8abcde, 0xffc00001, 1};
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t got[7];
        misalign(way);
        struct operand a = operand(7, 1), b = operand(7, 1);
        to_device(a.narrow, bits, sizeof bits);
        CHECK(k_cuda_f32.scale_copy(stream, 7, 1, a.narrow, b.narrow) == 0);
        to_host(got, b.narrow, sizeof got);
        CHECK(memcmp(got, bits, sizeof bits) == 0);
        send(&a);
        send(&b);
        SAME(&a);
        SAME(&b);
        give_back();
    }
}

/* In the order of the members, and the result may lie in one of them. */
static void one_sum(size_t n)
{
    enum { MEMBERS = 9 };
    const size_t members = 1 + dice(MEMBERS), into = dice(2) ? dice((uint32_t)members) : MEMBERS;
    struct operand all[MEMBERS + 1];
    for (size_t m = 0; m <= MEMBERS; m++)
        all[m] = operand(n, m % 2 ? 1e4 : 1);
    const void *from[2][MEMBERS];
    for (size_t m = 0; m < MEMBERS; m++)
        for (int w = 0; w < 2; w++)
            from[w][m] = side(&all[m], w);
    /* float sums in this order, to the bit */
    for (size_t i = 0; i < n; i++) {
        float sum = (float)all[0].wide[i];
        for (size_t m = 1; m < members; m++)
            sum += (float)all[m].wide[i];
        all[into].wide[i] = sum;
    }
    CHECK(k_cuda_f32.sum(stream, members, n, from[1], all[into].narrow) == 0);
    for (size_t m = 0; m <= MEMBERS; m++)
        if (m == into)
            CLOSE(&all[m], 0);
        else
            SAME(&all[m]);
}

void test_sum(void)
{
    const void *none[1] = {NULL};
    each_length(one_sum);
    CHECK(k_cuda_f32.sum(stream, 0, 1, none, NULL) != 0);
    CHECK(k_cuda_f32.sum(stream, K_CUDA_MEMBERS + 1, 1, none, NULL) != 0);
}

static void one_sgd(size_t n)
{
    static const double factors[] = {0.37};
    struct doubles factor;
    for (int way = 0; way < 4; way++) {
        struct operand g = operand(n, 1), m = operand(n, 1), x = operand(n, 1);
        doubles(&factor, 1, factors);
        BOTH(k->sgd(s, n, 0.3, 0.9, way & 1 ? factor.of[w] : NULL, side(&g, w), way & 2 ? side(&m, w) : NULL,
                    side(&x, w)))
        SAME(&g);
        CLOSE(&m, tolerance[FEW]);
        CLOSE(&x, tolerance[FEW]);
        give_back();
    }
}

void test_sgd(void)
{
    each_length(one_sgd);
}

/* The gradient is never so small that its sign, which is all that Adam's first steps keep, is rounding. */
static void one_adam(size_t n)
{
    static const double factors[] = {0.37};
    struct doubles factor;
    for (uint32_t t = 1; t < 2000; t += 666) {
        struct operand g = operand(n, 1), m = operand(n, 1), v = operand(n, 1), x = operand(n, 1);
        for (size_t i = 0; i < n; i++) {
            g.wide[i] = (float)(2 + near_1());
            v.wide[i] = (float)(2 + near_1());
        }
        send(&g);
        send(&v);
        doubles(&factor, 1, factors);
        BOTH(k->adam(s, n, 0.01, 0.9, 0.999, 1e-8, t, t % 4 == 3 ? factor.of[w] : NULL, side(&g, w),
                     side(&m, w), side(&v, w), side(&x, w)))
        SAME(&g);
        CLOSE(&m, tolerance[FEW]);
        CLOSE(&v, tolerance[FEW]);
        CLOSE(&x, tolerance[FEW]);
        give_back();
    }
}

void test_adam(void)
{
    each_length(one_adam);
}

static void one_clip(size_t n)
{
    const double start[] = {2.25, -1};
    struct operand x = operand(n, 1);
    struct doubles norm;
    double got[2];
    doubles(&norm, 2, start);
    BOTH(k->sum_squares(s, n, side(&x, w), norm.of[w]))
    for (int generous = 0; generous < 2; generous++) {
        BOTH(k->clip_factor(s, generous ? 1e6 : 1.2, norm.of[w]))
        to_host(got, norm.of[1], sizeof got);
        CHECK_CLOSE(got[0], norm.host[0], 1e-12 * norm.host[0]);
        CHECK_CLOSE(got[1], norm.host[1], 1e-12);
    }
    SAME(&x);
}

/* In order: what is small beside the first is lost one by one. */
void test_total(void)
{
    const double few[] = {1, 0x1p-53, 0x1p-53, 0.25};
    struct doubles x, sum;
    double got;
    doubles(&x, 4, few);
    doubles(&sum, 1, few);
    CHECK(k_cuda_f32.total(stream, 4, x.of[1], sum.of[1]) == 0);
    to_host(&got, sum.of[1], sizeof got);
    CHECK(got == 1.25);
    CHECK(k_cuda_f32.total(stream, 0, x.of[1], sum.of[1]) == 0);
    to_host(&got, sum.of[1], sizeof got);
    CHECK(got == 0);
}

void test_clip(void)
{
    const double start[] = {NAN, 0};
    struct doubles norm;
    double got[2];
    each_length(one_clip);
    about("300000 elements");
    one_clip(300000);
    doubles(&norm, 2, start);
    CHECK(k_cuda_f32.clip_factor(stream, 1, norm.of[1]) == 0);
    to_host(got, norm.of[1], sizeof got);
    CHECK(isnan(got[1]));
}
