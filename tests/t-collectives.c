/* Collectives run for real, every algorithm on 2 to 8 ranks: exact sums, the same bits everywhere, under
 * delays. */
#include <string.h>

#include "exec/exec.h"
#include "profile/trace.h"
#include "tests/hand-plan.h"
#include "tests/tap.h"

enum { STEPS = 3, RANKS_MOST = 8 };

struct reduction {
    const struct plan *plan;
    uint32_t elems;
    bool sums;  /* else delivers */
    bool exact; /* whole numbers, which floats add exactly in any order */
    uint32_t checked;
};

static float element(const struct reduction *r, uint32_t rank, uint32_t step, uint32_t i)
{
    float whole = (float)((rank + 1) * (i % 101) + i % 7 + step);
    return r->exact ? whole : whole + (float)(rank * rank + 1) / 7;
}

static void check_bucket(struct reduction *r, uint32_t step, const float *bucket)
{
    for (uint32_t i = 0; i < r->elems; i++) {
        float expected = element(r, 0, step, i);
        for (uint32_t rank = 1; rank < r->plan->t.n_ranks && r->sums; rank++)
            expected += element(r, rank, step, i);
        if (r->exact)
            g_assert_cmpfloat(bucket[i], ==, expected);
        else
            g_assert_cmpfloat_with_epsilon(bucket[i], expected, 1e-5 * (expected + 1));
    }
    r->checked++;
}

/* Fills the buckets for the next step, and looks at what the last one made of them. */
static void look(void *user, uint32_t step, bool measured, void *(*cell)(void *, uint32_t), void *engine)
{
    struct reduction *r = user;
    const float *first = NULL;
    (void)measured;
    for (uint32_t i = 0; i < r->plan->n_values; i++) {
        const struct value *v = &r->plan->values[i];
        if (v->root != i || v->cls != VALUE_BUCKET)
            continue;
        float *bucket = cell(engine, i);
        if (step > 0 && first)
            g_assert_cmpmem(first, v->bytes, bucket, v->bytes);
        else if (step > 0)
            check_bucket(r, step, bucket);
        if (!first)
            first = bucket;
    }
    for (uint32_t i = 0; i < r->plan->n_values; i++) {
        const struct value *v = &r->plan->values[i];
        for (uint32_t k = 0; v->root == i && v->cls == VALUE_BUCKET && k < r->elems; k++)
            ((float *)cell(engine, i))[k] = element(r, v->rank, step + 1, k);
    }
}

static void run(uint8_t kind, uint8_t algo, uint32_t ranks, uint32_t elems, bool exact)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    struct trace trace;
    collective_plan(&plan, model, kind, algo, ranks, elems);
    struct reduction r = {.plan = &plan, .elems = elems, .sums = kind == OP_ALLREDUCE, .exact = exact};
    struct run run = {.plan = &plan, .model = model, .steps = STEPS, .observe = look, .user = &r};
    trace_init(&trace);
    cpu_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(r.checked, ==, STEPS - 1);
    g_assert_cmpuint(trace.n_ops, ==, STEPS * plan.n_ops);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void for_all(uint8_t kind)
{
    static const uint32_t sizes[] = {1, 7, 4001};
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++) {
        g_assert_true(cpu_engine.algos & 1u << algo);
        for (uint32_t ranks = 2; ranks <= RANKS_MOST; ranks++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
                run(kind, algo, ranks, sizes[i], true);
    }
}

static void test_sums(void)
{
    for_all(OP_ALLREDUCE);
}

static void test_broadcast(void)
{
    for_all(OP_BROADCAST);
}

static void test_same_bits(void)
{
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (uint32_t ranks = 3; ranks <= RANKS_MOST; ranks += 2)
            run(OP_ALLREDUCE, algo, ranks, 4001, false);
}

static void test_jitter(void)
{
    for (unsigned seed = 1; seed <= 2; seed++) {
        g_autofree char *text = g_strdup_printf("%u", seed);
        g_setenv("PARPROF_JITTER", text, TRUE);
        for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
            for (uint32_t ranks = 2; ranks <= RANKS_MOST; ranks += 2) {
                run(OP_ALLREDUCE, algo, ranks, 37, true);
                run(OP_BROADCAST, algo, ranks, 37, true);
            }
        g_unsetenv("PARPROF_JITTER");
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/collectives/sums", test_sums);
    g_test_add_func("/collectives/broadcast", test_broadcast);
    g_test_add_func("/collectives/same-bits", test_same_bits);
    g_test_add_func("/collectives/jitter", test_jitter);
    return g_test_run();
}
