/* Cost keys and measured tables: medians, power laws between sizes, ratios beyond them, refusals. */
#include <math.h>
#include <string.h>

#include "plan/cost.h"
#include "plan/plan.h"
#include "tests/tap.h"

static struct cost_key key_of(uint64_t bytes)
{
    return (struct cost_key){.shape = "attention d8 h2 s4 f32",
                             .bytes = bytes,
                             .rows = 16,
                             .members = 4,
                             .kind = OP_EXCHANGE,
                             .algo = ALLREDUCE_RING};
}

static int64_t ask(struct cost_table *table, struct cost_key key)
{
    GError *error = NULL;
    const struct cost_model *model = cost_table_model(table);
    struct cost cost = {-1, -1};
    model->price(model, &key, &cost, &error);
    g_assert_no_error(error);
    return cost.alone_ns;
}

static void add(struct cost_table *table, uint64_t bytes, int64_t ns)
{
    struct cost_key key = key_of(bytes);
    cost_table_add(table, &key, &(struct cost){ns, ns});
}

static void test_keys(void)
{
    struct cost_key a = key_of(64), b = a;
    char *copy = g_strdup(a.shape);
    b.shape = copy;
    b.flops = 7;
    b.share = 0.5;
    g_assert_true(cost_key_equal(&a, &b));
    g_assert_cmpuint(cost_key_hash(&a), ==, cost_key_hash(&b));
    g_free(copy);
    struct cost_key others[] = {a, a, a, a, a, a};
    others[0].kind = OP_EXCHANGE_ADD;
    others[1].algo = ALLREDUCE_WHOLE;
    others[2].members = 5;
    others[3].rows = 17;
    others[4].bytes = 65;
    others[5].shape = "attention d8 h2 s4 f64";
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        g_assert_false(cost_key_equal(&a, &others[i]));
}

static void test_median(void)
{
    struct cost_table *table = cost_table_new();
    static const int64_t ns[] = {50, 10, 1000000, 20, 40};
    static const int64_t median[] = {50, 30, 50, 35, 40}; /* of the first 1, 2, ... */
    for (size_t i = 0; i < G_N_ELEMENTS(ns); i++) {
        add(table, 64, ns[i]);
        g_assert_cmpint(ask(table, key_of(64)), ==, median[i]);
    }
    cost_table_free(table);
}

static void test_power_law(void)
{
    struct cost_table *table = cost_table_new();
    /* 3 bytes^1.5 at 2^4, 2^8, 2^12: whatever lies between is on the same curve. */
    for (int exponent = 12; exponent >= 4; exponent -= 4)
        add(table, UINT64_C(1) << exponent, (int64_t)(3 * pow(2, 1.5 * exponent)));
    for (uint64_t bytes = 16; bytes <= 4096; bytes += 10)
        g_assert_cmpint(ABS(ask(table, key_of(bytes)) - (int64_t)(3 * pow((double)bytes, 1.5))), <=, 1);
    g_assert_cmpint(ask(table, key_of(8192)), ==, 2 * ask(table, key_of(4096)));
    g_assert_cmpint(ask(table, key_of(4)), ==, ask(table, key_of(16)) / 4);
    g_assert_cmpint(ask(table, key_of(0)), ==, 0);
    cost_table_free(table);
}

static void test_zeros(void)
{
    struct cost_table *table = cost_table_new();
    add(table, 0, 100);
    g_assert_cmpint(ask(table, key_of(1000)), ==, 100);
    add(table, 1000, 300);
    g_assert_cmpint(ask(table, key_of(500)), ==, 200);
    add(table, 3000, 0);
    g_assert_cmpint(ask(table, key_of(2000)), ==, 150);
    cost_table_free(table);
}

static void assert_refused(struct cost_table *table, struct cost_key key, const char *says)
{
    GError *error = NULL;
    const struct cost_model *model = cost_table_model(table);
    struct cost cost;
    g_assert_false(model->price(model, &key, &cost, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
    if (!strstr(error->message, says))
        g_error("\"%s\" lacks \"%s\"", error->message, says);
    g_clear_error(&error);
}

static void test_refusals(void)
{
    struct cost_table *table = cost_table_new();
    assert_refused(table, key_of(64), "EXCHANGE \"attention d8 h2 s4 f32\"");
    add(table, 64, INT64_MAX / 2);
    assert_refused(table, key_of(UINT64_MAX), "292 years");
    struct cost_key other = key_of(64);
    other.rows = 32;
    assert_refused(table, other, "32 rows");
    other = key_of(64);
    other.kind = OP_FWD;
    other.shape = "pooler";
    assert_refused(table, other, "FWD \"pooler\"");
    cost_table_free(table);
}

/* The table keeps its own copy of a shape, and finds what it holds among many. */
static void test_many(void)
{
    struct cost_table *table = cost_table_new();
    for (int i = 0; i < 3000; i++) {
        char *shape = g_strdup_printf("layer%d", i % 30);
        struct cost_key key = {
            .shape = shape, .bytes = (uint64_t)(i / 30) << 20, .members = 1, .kind = OP_FWD};
        cost_table_add(table, &key, &(struct cost){i, i});
        memset(shape, '?', strlen(shape));
        g_free(shape);
    }
    for (int i = 0; i < 3000; i++) {
        char shape[32];
        g_snprintf(shape, sizeof shape, "layer%d", i % 30);
        struct cost_key key = {
            .shape = shape, .bytes = (uint64_t)(i / 30) << 20, .members = 1, .kind = OP_FWD};
        g_assert_cmpint(ask(table, key), ==, i);
    }
    cost_table_free(table);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/cost/keys", test_keys);
    g_test_add_func("/cost/median", test_median);
    g_test_add_func("/cost/power-law", test_power_law);
    g_test_add_func("/cost/zeros", test_zeros);
    g_test_add_func("/cost/refusals", test_refusals);
    g_test_add_func("/cost/many", test_many);
    return g_test_run();
}
