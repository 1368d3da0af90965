/* The memory of real runs: what is predicted is what is touched, and neither what lies in it at first nor
 * which values share it changes a bit of what is trained. */
#include <math.h>
#include <string.h>

#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/memory.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

enum { STEPS = 3 };

/* How values lie: as plan_place says; each in memory of its own; as plan_place says but for two that meet. */
enum places { PLACED, APART, WRONG };

struct result {
    double loss[STEPS];
    uint64_t weight_hash;
};

static struct model *load(uint32_t layers, uint32_t d, uint32_t vocab, uint32_t seq)
{
    GError *error = NULL;
    struct model_override over = {
        .layers = layers, .d = d, .heads = 4, .ff = 2 * d, .vocab = vocab, .seq = seq};
    struct model *model = model_load("mini", &over, &error);
    g_assert_no_error(error);
    return model;
}

static void place_apart(struct plan *plan)
{
    memset(plan->arena_bytes, 0, plan->t.n_ranks * sizeof *plan->arena_bytes);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root != i)
            continue;
        plan->place[i] = plan->arena_bytes[v->rank];
        plan->arena_bytes[v->rank] += (v->bytes + 63) / 64 * 64;
    }
}

static uint32_t root_of(const struct plan *plan, uint8_t cls, uint32_t index)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].root == i && plan->values[i].cls == cls && plan->values[i].index == index)
            return i;
    g_assert_not_reached();
}

/* What layer 1 saved is still to be read when layer 2 writes. */
static void place_wrong(struct plan *plan)
{
    plan->place[root_of(plan, VALUE_ACT, 2)] = plan->place[root_of(plan, VALUE_SAVED, 1)];
}

static void make(const struct shape *shape, struct plan *plan)
{
    GError *error = NULL;
    plan_make(&mode_ddp, shape, plan, &error);
    g_assert_no_error(error);
    plan_place(plan);
}

static void train(const struct shape *shape, enum places places, unsigned jitter, bool poison,
                  struct result *r)
{
    GError *error = NULL;
    struct plan plan;
    struct trace trace;
    make(shape, &plan);
    if (places == APART)
        place_apart(&plan);
    if (places == WRONG)
        place_wrong(&plan);
    struct run run = {.plan = &plan,
                      .model = shape->model,
                      .warmup = 1,
                      .steps = STEPS,
                      .seed = 11,
                      .lr = 0.05,
                      .momentum = 0.9,
                      .clip_norm = shape->clip ? 0.5 : 0};
    g_autofree char *seed = g_strdup_printf("%u", jitter);
    if (jitter)
        g_setenv("PARPROF_JITTER", seed, TRUE);
    g_setenv("PARPROF_POISON", poison ? "1" : "0", TRUE);
    trace_init(&trace);
    cpu_engine.run(&run, &trace, &error);
    g_unsetenv("PARPROF_JITTER");
    g_unsetenv("PARPROF_POISON");
    g_assert_no_error(error);
    g_assert_true((trace_label_value(&trace, "memory") != NULL) == poison);
    memcpy(r->loss, trace.loss, sizeof r->loss);
    r->weight_hash = trace.weight_hash[0];
    for (uint32_t i = 1; i < shape->ranks && places != WRONG; i++)
        g_assert_cmpuint(trace.weight_hash[i], ==, r->weight_hash);
    trace_release(&trace);
    plan_release(&plan);
}

static bool equal(const struct result *a, const struct result *b)
{
    return memcmp(a->loss, b->loss, sizeof a->loss) == 0 && a->weight_hash == b->weight_hash;
}

static struct shape base_shape(const struct model *model)
{
    return (struct shape){.model = model,
                          .ranks = 2,
                          .batch = 7,
                          .overlap = OVERLAP_BACKWARD,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = 5000,
                          .first_bucket_bytes = 5000};
}

static void check_indifferent(const struct shape *shape, unsigned jitter)
{
    struct result apart, shared, poisoned;
    train(shape, APART, 0, false, &apart);
    for (unsigned i = 0; i < STEPS; i++)
        g_assert_true(isfinite(apart.loss[i]));
    train(shape, PLACED, jitter, false, &shared);
    g_assert_true(equal(&shared, &apart));
    train(shape, PLACED, jitter + 1, true, &poisoned);
    g_assert_true(equal(&poisoned, &apart));
}

static void test_poison(void)
{
    struct model *model = load(2, 16, 50, 6);
    const struct shape base = base_shape(model);
    for (uint8_t overlap = 0; overlap < OVERLAPS; overlap++)
        for (unsigned variant = 0; variant < 5; variant++) {
            struct shape s = base;
            s.overlap = overlap;
            s.ranks = 2 + (overlap + variant) % 2;
            s.accumulate = variant == 1 ? 3 : 1;
            s.optimizer = (uint8_t)(variant % OPTIMIZERS);
            s.clip = variant == 2 && overlap != OVERLAP_OPTIMIZER;
            s.bucket_view = variant == 3;
            s.first_iteration = variant == 4 && overlap == OVERLAP_NONE;
            check_indifferent(&s, 10 * variant + 1);
        }
    model_free(model);
}

/* Two values that meet in one place are seen in the numbers. */
static void test_wrong_place(void)
{
    struct model *model = load(2, 16, 50, 6);
    const struct shape shape = base_shape(model);
    struct result right, wrong;
    train(&shape, PLACED, 0, false, &right);
    train(&shape, WRONG, 0, false, &wrong);
    g_assert_false(equal(&right, &wrong));
    model_free(model);
}

static void test_poison_refused(void)
{
    GError *error = NULL;
    struct model *model = load(1, 8, 20, 4);
    const struct shape shape = base_shape(model);
    struct plan plan;
    struct trace trace;
    make(&shape, &plan);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    g_setenv("PARPROF_POISON", "yes", TRUE);
    trace_init(&trace);
    g_assert_false(cpu_engine.run(&run, &trace, &error));
    g_unsetenv("PARPROF_POISON");
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
    g_assert_nonnull(strstr(error->message, "PARPROF_POISON"));
    g_clear_error(&error);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void near(uint64_t measured, uint64_t predicted)
{
    g_assert_cmpuint(measured, >=, predicted - predicted / 20);
    g_assert_cmpuint(measured, <=, predicted + predicted / 20);
}

static void check_memory(const struct shape *shape)
{
    GError *error = NULL;
    struct plan plan;
    struct trace real, simulated;
    struct cost_model *costs = cost_unit_new("F=1", &error);
    g_assert_no_error(error);
    make(shape, &plan);
    struct run run = {
        .plan = &plan, .model = shape->model, .costs = costs, .warmup = 1, .steps = 1, .lr = 0.05};
    trace_init(&real);
    trace_init(&simulated);
    cpu_engine.run(&run, &real, &error);
    g_assert_no_error(error);
    sim_engine.run(&run, &simulated, &error);
    g_assert_no_error(error);
    g_assert_null(simulated.memory_measured);
    g_assert_null(simulated.memory_touched);
    uint32_t n = real.n_memory;
    g_assert_cmpuint(n, ==, VALUE_CLASSES);
    g_assert_cmpmem(real.memory_bytes, shape->ranks * n * sizeof(uint64_t), simulated.memory_bytes,
                    shape->ranks * simulated.n_memory * sizeof(uint64_t));
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        uint64_t touched = 0;
        for (uint32_t i = 0; i < n; i++) {
            g_assert_cmpuint(real.memory_touched[rank * n + i], <=, real.memory_bytes[rank * n + i]);
            touched += real.memory_touched[rank * n + i];
        }
        near(real.memory_measured[rank], memory_peak(&real, rank));
        near(touched, memory_peak(&real, rank));
        g_assert_cmpuint(real.memory_touched[rank * n + VALUE_WEIGHT], ==,
                         real.memory_bytes[rank * n + VALUE_WEIGHT]);
    }
    trace_release(&real);
    trace_release(&simulated);
    plan_release(&plan);
    cost_model_free(costs);
}

/* A model of some 100 KiB, whose activations are most of it, and one of some MiB whose weights are. */
static void test_measured(void)
{
    static const uint32_t models[][4] = {{2, 32, 100, 32}, {2, 128, 4000, 16}};
    for (unsigned m = 0; m < G_N_ELEMENTS(models); m++) {
        struct model *model = load(models[m][0], models[m][1], models[m][2], models[m][3]);
        for (uint8_t overlap = 0; overlap < OVERLAPS; overlap++) {
            struct shape s = base_shape(model);
            s.overlap = overlap;
            s.batch = 5;
            s.optimizer = overlap;
            s.bucket_bytes = s.first_bucket_bytes = 1 << 20;
            check_memory(&s);
        }
        model_free(model);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/memory/poison", test_poison);
    g_test_add_func("/memory/wrong-place", test_wrong_place);
    g_test_add_func("/memory/poison-refused", test_poison_refused);
    g_test_add_func("/memory/measured", test_measured);
    return g_test_run();
}
