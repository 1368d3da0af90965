/* Where values lie and when they are alive, against the definitions by brute force. */
#include "plan/mode.h"
#include "tests/plans.h"
#include "tests/tap.h"

static void seal_and_place(struct plan *plan)
{
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
    plan_place(plan);
}

static bool accesses(const struct plan *plan, uint32_t op, uint32_t root)
{
    for (uint32_t i = plan->ops[op].first_access; i < plan->ops[op + 1].first_access; i++)
        if (plan->values[plan->accesses[i].value].root == root)
            return true;
    return false;
}

/* Bytes of a class that are alive at a place of the order. */
static uint64_t alive_bytes(const struct plan *plan, uint32_t rank, uint8_t cls, uint32_t at)
{
    uint64_t bytes = 0;
    for (uint32_t root = 0; root < plan->n_values; root++) {
        const struct value *v = &plan->values[root];
        if (v->root != root || v->rank != rank || v->cls != cls)
            continue;
        bool before = false, after = false;
        for (uint32_t i = 0; i < plan->n_ops; i++) {
            before |= i <= at && accesses(plan, plan->order[i], root);
            after |= i >= at && accesses(plan, plan->order[i], root);
        }
        if ((before && after) || (v->flags & (VALUE_LIVE_IN | VALUE_LIVE_OUT)))
            bytes += v->bytes;
    }
    return bytes;
}

static void check_memory(const struct plan *plan)
{
    g_autofree uint64_t *memory = g_new(uint64_t, (gsize)plan->t.n_ranks * VALUE_CLASSES);
    g_autofree uint64_t *line = g_new(uint64_t, (gsize)(plan->n_ops + 1) * VALUE_CLASSES);
    g_autofree uint32_t *ops = g_new(uint32_t, plan->n_ops + 1);
    g_autofree bool *at_peak = g_new(bool, plan->n_values + 1);
    plan_memory(plan, memory, at_peak);
    for (uint32_t rank = 0; rank < plan->t.n_ranks; rank++) {
        uint32_t n = plan_memory_timeline(plan, rank, ops, line), seen = 0;
        uint64_t most = 0, peak = 0, alive = 0;
        for (uint32_t at = 0; at < plan->n_ops; at++) {
            uint64_t sum = 0;
            if (plan->t.lanes[plan->ops[plan->order[at]].lane].rank != rank)
                continue;
            g_assert_cmpuint(ops[seen], ==, plan->order[at]);
            for (uint8_t cls = 0; cls < VALUE_CLASSES; cls++) {
                uint64_t bytes = alive_bytes(plan, rank, cls, at);
                g_assert_cmpuint(line[(gsize)seen * VALUE_CLASSES + cls], ==, bytes);
                sum += bytes;
            }
            most = MAX(most, sum);
            seen++;
        }
        for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
            peak += memory[(gsize)rank * VALUE_CLASSES + cls];
        for (uint32_t v = 0; v < plan->n_values; v++)
            alive += at_peak[v] && plan->values[v].rank == rank ? plan->values[v].bytes : 0;
        g_assert_cmpuint(alive, ==, peak);
        g_assert_cmpuint(seen, ==, n);
        if (n)
            g_assert_cmpuint(peak, ==, most);
        g_assert_cmpuint(peak, <=, plan->arena_bytes[rank]);
    }
}

static void test_random_plans(void)
{
    uint32_t shared = 0;
    for (unsigned i = 0; i < 300; i++) {
        struct plan plan;
        uint64_t apart = 0, arenas = 0;
        plans_random(&plan);
        seal_and_place(&plan);
        g_assert_true(plans_placed(&plan));
        check_memory(&plan);
        for (uint32_t v = 0; v < plan.n_values; v++)
            apart += plan.values[v].root == v ? (plan.values[v].bytes + 63) / 64 * 64 : 0;
        for (uint32_t rank = 0; rank < plan.t.n_ranks; rank++)
            arenas += plan.arena_bytes[rank];
        g_assert_cmpuint(arenas, <=, apart);
        shared += arenas < apart;
        plan_release(&plan);
    }
    g_assert_cmpuint(shared, >, 30);
}

/* A chain of ops on one lane, each reading what the one before wrote, and a root that outlives the step. */
static void chain(struct plan *plan, uint32_t n, uint64_t bytes)
{
    struct op_tag tag = {.kind = OP_PACK,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = OP_NONE,
                         .coll = OP_NONE};
    plan_init(plan);
    plan->t.n_ranks = 1;
    plan_add_cost(plan, &(struct cost_key){.members = 1});
    plan_add_lane(plan, &(struct lane){.name = "compute", .peer = OP_NONE, .cls = LANE_COMPUTE});
    plan_add_lane(plan, &(struct lane){.name = "compute 2", .peer = OP_NONE, .cls = LANE_COMPUTE});
    for (uint32_t i = 0; i <= n; i++)
        plan_add_value(plan, &(struct value){.bytes = bytes,
                                             .cls = VALUE_ACT,
                                             .flags = i == 0   ? VALUE_LIVE_IN
                                                      : i == n ? VALUE_LIVE_OUT
                                                               : 0});
    for (uint32_t i = 0; i < n; i++) {
        plan_add_op(plan, 0, &tag, 0);
        plan_access(plan, i, ACCESS_READ);
        plan_access(plan, i + 1, ACCESS_WRITE);
    }
}

/* Of a chain's inner values only two are alive at once, however long it is. */
static void test_chain(void)
{
    struct plan plan;
    chain(&plan, 10, 640);
    seal_and_place(&plan);
    g_assert_cmpuint(plan.arena_bytes[0], ==, 4 * 640);
    g_assert_true(plans_placed(&plan));
    plan_release(&plan);
}

/* What runs on another lane, ordered after nothing, shares with none; ordered behind the chain, with its
 * first link. */
static void test_lanes(void)
{
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        struct plan plan;
        chain(&plan, 4, 640);
        uint32_t aside = plan_add_value(&plan, &(struct value){.bytes = 640, .cls = VALUE_BUCKET});
        plan_add_op(&plan, 1, &plan.ops[0].tag, 0);
        if (ordered)
            plan_dep(&plan, 2);
        plan_access(&plan, aside, ACCESS_WRITE);
        seal_and_place(&plan);
        g_assert_true(plans_placed(&plan));
        g_assert_cmpuint(plan.arena_bytes[0], ==, (ordered ? 4 : 5) * 640);
        plan_release(&plan);
    }
}

/* The oracle sees a place that is wrong. */
static void test_wrong_place(void)
{
    struct plan plan;
    chain(&plan, 4, 640);
    seal_and_place(&plan);
    g_assert_true(plans_placed(&plan));
    plan.place[2] = plan.place[1] + 576;
    g_assert_false(plans_placed(&plan));
    plan.place[2] = plan.place[0];
    g_assert_false(plans_placed(&plan));
    plan_release(&plan);
}

static void check_ddp(const struct model *model, uint8_t overlap, uint32_t batch, uint64_t bucket_bytes)
{
    GError *error = NULL;
    struct plan plan;
    struct shape shape = {.model = model,
                          .ranks = 4,
                          .batch = batch,
                          .overlap = overlap,
                          .algo = ALLREDUCE_RING,
                          .bucket_bytes = bucket_bytes,
                          .first_bucket_bytes = bucket_bytes};
    plan_make(&mode_ddp, &shape, &plan, &error);
    g_assert_no_error(error);
    plan_place(&plan);
    g_autofree uint64_t *memory = g_new(uint64_t, (gsize)plan.t.n_ranks * VALUE_CLASSES);
    plan_memory(&plan, memory, NULL);
    for (uint32_t rank = 0; rank < plan.t.n_ranks; rank++) {
        uint64_t apart = 0, peak = 0;
        for (uint32_t v = 0; v < plan.n_values; v++)
            apart += plan.values[v].root == v && plan.values[v].rank == rank ? plan.values[v].bytes : 0;
        for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
            peak += memory[(gsize)rank * VALUE_CLASSES + cls];
        g_assert_cmpuint(plan.arena_bytes[rank], >=, peak);
        g_assert_cmpuint(plan.arena_bytes[rank], <=, peak + peak / 20);
        g_assert_cmpuint(plan.arena_bytes[rank], <, apart - apart / 20);
    }
    plan_release(&plan);
}

/* Real plans: the arena is what the peak needs, and clearly less than all values side by side. */
static void test_ddp(void)
{
    static const char *const models[] = {"mini", "bert-base"};
    static const uint64_t buckets[] = {0, 1 << 20, 25 << 20};
    for (unsigned m = 0; m < G_N_ELEMENTS(models); m++) {
        GError *error = NULL;
        struct model *model = model_load(models[m], &(struct model_override){0}, &error);
        g_assert_no_error(error);
        for (uint8_t overlap = 0; overlap < OVERLAPS; overlap++)
            for (unsigned i = 0; i < G_N_ELEMENTS(buckets); i++)
                check_ddp(model, overlap, 14 + i, buckets[i]);
        model_free(model);
    }
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/place/random-plans", test_random_plans);
    g_test_add_func("/place/chain", test_chain);
    g_test_add_func("/place/lanes", test_lanes);
    g_test_add_func("/place/wrong", test_wrong_place);
    g_test_add_func("/place/ddp", test_ddp);
    return g_test_run();
}
