/* tests/operand.h -- kernels against the double reference: operands with pointers off by one element and a
 * fence around them. */
#ifndef TESTS_OPERAND_H
#define TESTS_OPERAND_H

#include <math.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "tests/tap.h"
#include "tests/tolerance.h"

/* An operand in double, for the reference, and in float, for the table under test.  Both hold the same
 * numbers. */
struct operand {
    size_t n;
    double unit; /* size of the terms of which an element is the sum: what differs by rounding of these is
                    equal */
    double *wide;
    float *narrow; /* one element off the alignment, fenced by the elements before and after */
};

static const float fence = 12345.5f;

/* Seeded alike for every test: no number that fails today passes tomorrow. */
static GRand *dice;

static inline double random_near_1(void)
{
    return g_rand_double_range(dice, -1.7, 1.7);
}

static inline struct operand operand(size_t n, double scale)
{
    struct operand o = {n, 1, g_new0(double, n + 1), g_new0(float, n + 2)};
    o.narrow[0] = o.narrow[n + 1] = fence;
    o.narrow++;
    for (size_t i = 0; i < n; i++)
        o.wide[i] = o.narrow[i] = (float)(scale * random_near_1());
    return o;
}

static inline void *side(const struct operand *o, int narrow)
{
    return narrow ? (void *)o->narrow : (void *)o->wide;
}

/* ||float - double|| / (||double|| + ||unit||) */
static inline double difference(const struct operand *o)
{
    double square = 0, norm = 0;
    for (size_t i = 0; i < o->n; i++) {
        const double d = o->narrow[i] - o->wide[i];
        square += d * d;
        norm += o->wide[i] * o->wide[i];
    }
    return o->n ? sqrt(square) / (sqrt(norm) + sqrt((double)o->n) * o->unit) : 0;
}

static inline void drop_operand(struct operand *o)
{
    g_assert_cmpfloat(o->narrow[-1], ==, fence);
    g_assert_cmpfloat(o->narrow[o->n], ==, fence);
    g_free(o->narrow - 1);
    g_free(o->wide);
}

static inline void close_and_drop(struct operand *o, double most)
{
    const double d = difference(o);
    if (!(d <= most))
        printf("# difference %g of %zu elements\n", d, o->n);
    g_assert_true(d <= most);
    drop_operand(o);
}

static inline int32_t *indexes(size_t n, size_t below)
{
    int32_t *x = g_new0(int32_t, n + 1);
    for (size_t i = 0; i < n; i++)
        x[i] = (int32_t)(g_rand_int(dice) % below);
    return x;
}

/* Runs `call` with the reference and the wide sides, then with the table `data` and the narrow ones. */
#define BOTH(call)                                                                                           \
    for (int w = 0; w < 2; w++) {                                                                            \
        const struct k_table *k = w ? data : &k_ref_f64;                                                     \
        g_assert_cmpint((call), ==, 0);                                                                      \
    }

static const size_t row_counts[] = {0, 1, 3, 65, 130}, widths[] = {1, 3, 17, 65, 130, 600};

struct test {
    const char *name;
    void (*run)(gconstpointer table);
    const struct k_table *table;
};

static inline void run_test(gconstpointer data)
{
    const struct test *test = data;
    g_rand_set_seed(dice, 1);
    test->run(test->table);
}

#define TEST(function, name)                                                                                 \
    {"/kernels/reference/" name, function, &k_ref_f32},                                                      \
    {                                                                                                        \
        "/kernels/cpu/" name, function, &k_cpu_f32                                                           \
    }

#endif
