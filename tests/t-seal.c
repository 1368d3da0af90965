/* plan_seal accepts what is legal, refuses what is not, and names the op. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/plans.h"
#include "tests/tap.h"

#define ROUNDS 400

static uint32_t below(uint32_t n)
{
    return (uint32_t)g_test_rand_int_range(0, (gint32)n);
}

/* The op that the message begins with. */
static uint32_t refused(struct plan *plan, const char *want)
{
    g_autoptr(GError) error = NULL;
    unsigned op = OP_NONE;
    g_assert_false(plan_seal(plan, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
    g_assert_false(plan->sealed);
    if (want && !strstr(error->message, want))
        g_error("said '%s', wanted '%s'", error->message, want);
    if (sscanf(error->message, "op %u (", &op) != 1)
        g_error("no op is named in '%s'", error->message);
    g_assert_cmpuint(op, <, plan->n_ops);
    return op;
}

static void accepted(struct plan *plan)
{
    g_autoptr(GError) error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
    g_assert_true(plan->sealed);
}

/* The order has every op once, after its dependencies and its lane, and gangs in one piece by rank. */
static void check_order(const struct plan *plan)
{
    g_autofree uint32_t *at = g_new(uint32_t, plan->n_ops + 1), *last = g_new0(uint32_t, plan->t.n_lanes);
    memset(at, 0xff, plan->n_ops * sizeof *at);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        g_assert_cmpuint(at[plan->order[i]], ==, OP_NONE);
        at[plan->order[i]] = i;
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        for (uint32_t d = op->first_dep; d < op[1].first_dep; d++)
            g_assert_cmpuint(at[plan->deps[d]], <, at[i]);
        g_assert_cmpuint(last[op->lane], <=, at[i]);
        last[op->lane] = at[i];
    }
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        const uint32_t *members = &plan->gang_ops[plan->gangs[g].first];
        for (uint32_t m = 0; m < plan->gangs[g].n; m++) {
            g_assert_cmpuint(plan->ops[members[m]].tag.gang, ==, g);
            g_assert_cmpuint(at[members[m]], ==, at[members[0]] + m);
            g_assert_true(m == 0 || plan->t.lanes[plan->ops[members[m - 1]].lane].rank <
                                        plan->t.lanes[plan->ops[members[m]].lane].rank);
        }
    }
}

static void test_legal(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct plan plan;
        plans_random(&plan);
        g_assert_true(plans_ordered(&plan));
        accepted(&plan);
        check_order(&plan);
        plan_release(&plan);
    }
}

/* A dropped dependency, a value that is no longer live in, a gang moved: the verdict is the oracle's. */
static void test_oracle(void)
{
    unsigned illegal = 0, legal = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct plan plan;
        plans_random(&plan);
        if (round % 2 && plan.n_deps)
            plans_drop_dep(&plan, below(plan.n_deps));
        else
            for (uint32_t i = below(plan.n_values), n = plan.n_values; n > 0;
                 n--, i = (i + 1) % plan.n_values)
                if (plan.values[i].root == i && plan.values[i].flags) {
                    for (uint32_t k = i; k < i + 3; k++)
                        plan.values[k].flags = 0;
                    break;
                }
        bool ok = plans_ordered(&plan);
        if (ok)
            accepted(&plan);
        else
            refused(&plan, NULL);
        legal += ok;
        illegal += !ok;
        plan_release(&plan);
    }
    g_assert_cmpuint(legal, >, ROUNDS / 20);
    g_assert_cmpuint(illegal, >, ROUNDS / 20);
}

/* Two gangs in another order on one rank. */
static void test_swapped_gangs(void)
{
    unsigned deadlocks = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct plan plan;
        plans_random(&plan);
        for (uint32_t b = 0; b < plan.n_ops; b++)
            plan.ops[b].tag.bytes = 0;
        for (uint32_t a = below(plan.n_ops), b = a + 1; b < plan.n_ops; b++) {
            struct op_tag *x = &plan.ops[a].tag, *y = &plan.ops[b].tag;
            if (plan.ops[a].lane != plan.ops[b].lane || x->gang == OP_NONE || y->gang == OP_NONE)
                continue;
            uint32_t gang = x->gang;
            x->gang = y->gang;
            y->gang = gang;
            break;
        }
        if (plans_ordered(&plan)) {
            accepted(&plan);
        } else {
            g_assert_cmpuint(plan.ops[refused(&plan, "deadlock: it waits for op ")].tag.gang, !=, OP_NONE);
            deadlocks++;
        }
        plan_release(&plan);
    }
    g_assert_cmpuint(deadlocks, >, ROUNDS / 40);
}

/* --- one wrong number: in each round, some op that has what is to be broken is refused by name */

/* Breaks one op and says what must be said; NULL: this op cannot be broken so. */
typedef const char *breaker(struct plan *, uint32_t op);

static const char *break_lane_class(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.kind = plan->ops[op].tag.kind == OP_FWD ? OP_INPUT : OP_FWD;
    return "belongs on a";
}

static const char *break_lane(struct plan *plan, uint32_t op)
{
    plan->ops[op].lane = plan->t.n_lanes;
    return "but there are";
}

static const char *break_cost(struct plan *plan, uint32_t op)
{
    plan->ops[op].cost = plan->n_costs;
    return "but there are";
}

static const char *break_kind(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.kind = OP_KINDS;
    return "but there are";
}

static const char *break_gang_index(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.gang = plan->n_gangs;
    return "but there are";
}

static const char *break_layer(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.layer0 = 0;
    plan->ops[op].tag.layer1 = 1;
    return "layers 0 to 1, but there are 0";
}

static const char *break_bucket(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.bucket = 0;
    return "bucket 0, but there are 0";
}

static const char *break_coll(struct plan *plan, uint32_t op)
{
    plan->ops[op].tag.coll = 0;
    return "collective 0, but there are 0";
}

static const char *break_dep_order(struct plan *plan, uint32_t op)
{
    if (plan->ops[op].first_dep == plan->ops[op + 1].first_dep)
        return NULL;
    plan->deps[plan->ops[op].first_dep] = op + below(2) * 1000;
    return "does not come before it";
}

static const char *break_dep_rank(struct plan *plan, uint32_t op)
{
    if (plan->ops[op].first_dep == plan->ops[op + 1].first_dep)
        return NULL;
    for (uint32_t on = 0; on < op; on++)
        if (plan->t.lanes[plan->ops[on].lane].rank != plan->t.lanes[plan->ops[op].lane].rank) {
            plan->deps[plan->ops[op].first_dep] = on;
            return "only gangs cross ranks";
        }
    return NULL;
}

static const char *break_value(struct plan *plan, uint32_t op)
{
    if (plan->ops[op].first_access == plan->ops[op + 1].first_access)
        return NULL;
    plan->accesses[plan->ops[op].first_access].value = plan->n_values;
    return "accesses value";
}

static const char *break_mode(struct plan *plan, uint32_t op)
{
    if (plan->ops[op].first_access == plan->ops[op + 1].first_access)
        return NULL;
    plan->accesses[plan->ops[op].first_access].mode = 0;
    return "accesses value";
}

static const char *break_value_rank(struct plan *plan, uint32_t op)
{
    uint32_t rank = plan->t.lanes[plan->ops[op].lane].rank;
    if (plan->ops[op].first_access == plan->ops[op + 1].first_access || plan->t.n_ranks < 2)
        return NULL;
    for (uint32_t v = 0; v < plan->n_values; v++)
        if (plan->values[v].rank != rank)
            plan->accesses[plan->ops[op].first_access].value = v;
    return "only gangs cross ranks";
}

static const char *break_gang_bytes(struct plan *plan, uint32_t op)
{
    uint32_t gang = plan->ops[op].tag.gang;
    for (uint32_t i = op + 1; i < plan->n_ops && gang != OP_NONE; i++)
        if (plan->ops[i].tag.gang == gang) {
            plan->ops[op].tag.bytes++;
            return "of its gang has";
        }
    return NULL;
}

static const char *break_gang_kind(struct plan *plan, uint32_t op)
{
    if (!break_gang_bytes(plan, op))
        return NULL;
    plan->ops[op].tag.bytes--;
    plan->ops[op].tag.kind = OP_EXCHANGE;
    return "of its gang is of another kind";
}

static const char *break_gang_rank(struct plan *plan, uint32_t op)
{
    for (uint32_t i = 0; i < op && plan->ops[op].tag.gang != OP_NONE; i++)
        if (plan->ops[i].lane == plan->ops[op].lane) {
            plan->ops[op].tag.gang = plan->ops[i].tag.gang;
            plan->ops[op].tag.bytes = plan->ops[i].tag.bytes;
            return "its rank is in its gang twice";
        }
    return NULL;
}

static const struct {
    const char *name;
    breaker *breaks;
    bool exact; /* the op that was broken is the op to be named; else one of its gang */
} breakers[] = {
    {"lane-class", break_lane_class, true},
    {"lane", break_lane, true},
    {"cost", break_cost, true},
    {"kind", break_kind, true},
    {"gang", break_gang_index, true},
    {"layer", break_layer, true},
    {"bucket", break_bucket, true},
    {"collective", break_coll, true},
    {"dependency-order", break_dep_order, true},
    {"dependency-rank", break_dep_rank, true},
    {"value", break_value, true},
    {"mode", break_mode, true},
    {"value-rank", break_value_rank, true},
    {"gang-bytes", break_gang_bytes, false},
    {"gang-kind", break_gang_kind, false},
    {"gang-rank", break_gang_rank, true},
};

static void test_breaker(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data), broken = 0;
    for (unsigned round = 0; broken < 20; round++) {
        g_assert_cmpuint(round, <, 100 * ROUNDS);
        struct plan plan;
        plans_random(&plan);
        uint32_t op = below(plan.n_ops);
        const char *want = breakers[i].breaks(&plan, op);
        if (want) {
            uint32_t named = refused(&plan, want);
            if (breakers[i].exact)
                g_assert_cmpuint(named, ==, op);
            else
                g_assert_cmpuint(plan.ops[named].tag.gang, ==, plan.ops[op].tag.gang);
            broken++;
        }
        plan_release(&plan);
    }
}

/* --- by hand */

static void begin(struct plan *plan, uint32_t ranks)
{
    plan_init(plan);
    plan->t.n_ranks = ranks;
    plan_add_cost(plan, &(struct cost_key){.members = 1});
    for (uint32_t r = 0; r < ranks; r++) {
        plan_add_lane(plan, &(struct lane){"compute", r, r, OP_NONE, LANE_COMPUTE});
        plan_add_lane(plan, &(struct lane){"comm", r, r, OP_NONE, LANE_COMM});
    }
}

static uint32_t op(struct plan *plan, uint32_t lane, unsigned kind, uint32_t gang, uint64_t bytes)
{
    struct op_tag tag = {.kind = (uint8_t)kind,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = bytes};
    return plan_add_op(plan, lane, &tag, 0);
}

static void test_views(void)
{
    static const struct {
        uint64_t offset, bytes;
    } outside[] = {{0, 17}, {16, 1}, {17, 0}, {8, 9}, {1, UINT64_MAX}, {UINT64_MAX, 2}};
    for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
        struct plan plan;
        begin(&plan, 1);
        uint32_t root = plan_add_value(&plan, &(struct value){.bytes = 16});
        uint32_t view = plan_add_view(&plan, root, outside[i].offset, outside[i].bytes);
        op(&plan, 0, OP_FWD, OP_NONE, 0);
        plan_access(&plan, root, ACCESS_WRITE);
        op(&plan, 0, OP_FWD, OP_NONE, 0);
        plan_access(&plan, view, ACCESS_WRITE);
        g_assert_cmpuint(refused(&plan, "which lies outside its root"), ==, 1);
        plan.values[view].offset = plan.values[view].bytes = 8;
        accepted(&plan);
        plan.accesses[1].value = plan_add_view(&plan, view, 8, 4);
        g_assert_cmpuint(refused(&plan, "which is a view of something that is no root"), ==, 1);
        plan_release(&plan);
    }
}

/* Bytes that touch but do not overlap need no order; one byte of overlap does. */
static void test_bytes(void)
{
    struct plan plan;
    begin(&plan, 1);
    uint32_t root = plan_add_value(&plan, &(struct value){.bytes = 16});
    uint32_t low = plan_add_view(&plan, root, 0, 8), high = plan_add_view(&plan, root, 8, 8);
    op(&plan, 0, OP_FWD, OP_NONE, 0);
    plan_access(&plan, low, ACCESS_WRITE);
    op(&plan, 1, OP_ALLREDUCE, OP_NONE, 0);
    plan_access(&plan, high, ACCESS_WRITE);
    accepted(&plan);
    plan.values[high].offset = 7;
    g_assert_cmpuint(refused(&plan, "which op 0 (F, rank 0) writes too"), ==, 1);
    plan_dep(&plan, 0);
    accepted(&plan);
    plan.accesses[0].mode = ACCESS_READ;
    g_assert_cmpuint(refused(&plan, "before anything was written"), ==, 0);
    for (uint32_t i = 0; i < plan.n_values; i++)
        plan.values[i].flags = VALUE_LIVE_IN;
    accepted(&plan);
    plans_drop_dep(&plan, 0);
    g_assert_cmpuint(refused(&plan, "which op 0 (F, rank 0) reads"), ==, 1);
    plan_release(&plan);
}

/* Part of a root written does not make the rest readable. */
static void test_partly_written(void)
{
    struct plan plan;
    begin(&plan, 1);
    uint32_t root = plan_add_value(&plan, &(struct value){.bytes = 16});
    uint32_t low = plan_add_view(&plan, root, 0, 15), high = plan_add_view(&plan, root, 15, 1);
    op(&plan, 0, OP_FWD, OP_NONE, 0);
    plan_access(&plan, low, ACCESS_WRITE);
    op(&plan, 0, OP_FWD, OP_NONE, 0);
    plan_access(&plan, root, ACCESS_READ);
    g_assert_cmpuint(refused(&plan, "before anything was written"), ==, 1);
    plan.accesses[0].value = root;
    accepted(&plan);
    plan.accesses[1].value = high;
    accepted(&plan);
    plan_release(&plan);
}

/* Who writes waits for all that have read, whatever their lanes and in whatever order they came; and what
 * nobody wrote cannot be added to. */
static void test_readers(void)
{
    enum { READERS = 3 };
    for (uint32_t missing = 0; missing <= READERS; missing++) {
        struct plan plan;
        begin(&plan, 1);
        const uint32_t value = plan_add_value(&plan, &(struct value){.bytes = 8});
        op(&plan, 0, OP_FWD, OP_NONE, 0);
        plan_access(&plan, value, ACCESS_WRITE);
        for (uint32_t i = 0; i < 2 * READERS; i++) {
            const uint32_t lane = i < READERS
                                      ? plan_add_lane(&plan, &(struct lane){"copy", 0, 0, OP_NONE, LANE_COPY})
                                      : plan.ops[1 + i % READERS].lane;
            op(&plan, lane, OP_INPUT, OP_NONE, 0);
            plan_dep(&plan, 0);
            plan_access(&plan, value, ACCESS_READ);
        }
        op(&plan, 1, OP_ALLREDUCE, OP_NONE, 0);
        for (uint32_t i = 0; i < READERS; i++)
            if (i != missing)
                plan_dep(&plan, 1 + READERS + i);
        plan_access(&plan, value, ACCESS_WRITE);
        if (missing == READERS)
            accepted(&plan);
        else {
            g_autofree char *what = g_strdup_printf("which op %u (in, rank 0) reads", 1 + READERS + missing);
            g_assert_cmpuint(refused(&plan, what), ==, 1 + 2 * READERS);
        }
        plan.accesses[0].mode = ACCESS_UPDATE;
        g_assert_cmpuint(refused(&plan, "before anything was written"), ==, 0);
        plan_release(&plan);
    }
}

static void test_value_rank(void)
{
    struct plan plan;
    begin(&plan, 1);
    const uint32_t value = plan_add_value(&plan, &(struct value){.bytes = 8, .rank = 1});
    op(&plan, 0, OP_FWD, OP_NONE, 0);
    plan_access(&plan, value, ACCESS_WRITE);
    g_assert_cmpuint(refused(&plan, "which is of a wrong rank or class"), ==, 0);
    plan.values[value].rank = 0;
    accepted(&plan);
    plan.values[value].cls = VALUE_CLASSES;
    g_assert_cmpuint(refused(&plan, "which is of a wrong rank or class"), ==, 0);
    plan.values[value].cls = VALUE_ACT;
    plan.values[value].offset = 1;
    g_assert_cmpuint(refused(&plan, "which lies outside its root"), ==, 0);
    plan_release(&plan);
}

/* What orders two accesses may be the last of many dependencies, or an op on a third lane. */
static void test_many_deps(void)
{
    enum { DEPS = 12 };
    struct plan plan;
    begin(&plan, 1);
    const uint32_t value = plan_add_value(&plan, &(struct value){.bytes = 8, .flags = VALUE_LIVE_IN}),
                   lane = plan_add_lane(&plan, &(struct lane){"copy", 0, 0, OP_NONE, LANE_COPY});
    op(&plan, lane, OP_INPUT, OP_NONE, 0);
    plan_access(&plan, value, ACCESS_WRITE);
    op(&plan, 1, OP_ALLREDUCE, OP_NONE, 0);
    plan_dep(&plan, 0);
    const uint32_t reader = op(&plan, 0, OP_FWD, OP_NONE, 0);
    for (uint32_t i = 0; i < DEPS; i++)
        plan_dep(&plan, 1);
    plan_access(&plan, value, ACCESS_READ);
    accepted(&plan);
    plans_drop_dep(&plan, 0);
    g_assert_cmpuint(refused(&plan, "which op 0 (in, rank 0) writes"), ==, reader);
    plan.deps[plan.n_deps - 1] = 0;
    accepted(&plan);
    plan_release(&plan);
}

/* A path through another rank does not count, although the gang would order the two in time. */
static void test_path_within_rank(void)
{
    struct plan plan;
    begin(&plan, 2);
    uint32_t value = plan_add_value(&plan, &(struct value){.bytes = 8});
    uint32_t gang = plan_add_gang(&plan, 0);
    op(&plan, 0, OP_FWD, OP_NONE, 0);
    plan_access(&plan, value, ACCESS_WRITE);
    op(&plan, 1, OP_ALLREDUCE, gang, 8);
    op(&plan, 3, OP_ALLREDUCE, gang, 8);
    op(&plan, 2, OP_FWD, OP_NONE, 0);
    plan_dep(&plan, 2);
    op(&plan, 1, OP_ALLREDUCE, OP_NONE, 0);
    plan_access(&plan, value, ACCESS_READ);
    g_assert_cmpuint(refused(&plan, "no path orders the two"), ==, 4);
    plan_dep(&plan, 0);
    accepted(&plan);
    plan_release(&plan);
}

/* A ring that is crossed: of three gangs, each rank waits for another first.  A fourth gang waits behind them
 * and is not to blame, although its op comes first. */
static void test_three_rank_deadlock(void)
{
    struct plan plan;
    begin(&plan, 3);
    uint32_t lane = plan_add_lane(&plan, &(struct lane){"comm 2", 0, 0, OP_NONE, LANE_COMM});
    for (uint32_t g = 0; g < 4; g++)
        plan_add_gang(&plan, 0);
    op(&plan, lane, OP_ALLREDUCE, 3, 8);
    for (uint32_t r = 0; r < 3; r++) {
        op(&plan, 2 * r + 1, OP_ALLREDUCE, r, 8);
        op(&plan, 2 * r + 1, OP_ALLREDUCE, (r + 1) % 3, 8);
        if (r == 1)
            op(&plan, 2 * r + 1, OP_ALLREDUCE, 3, 8);
    }
    /* gang 1 waits for gang 0 on rank 0, 2 for 1 on rank 1, 0 for 2 on rank 2 */
    g_assert_cmpuint(refused(&plan, "deadlock: it waits for op 1 (all-reduce, rank 0)"), ==, 2);
    plan.ops[6].tag.gang = 0;
    plan.ops[7].tag.gang = 2;
    accepted(&plan);
    check_order(&plan);
    plan_release(&plan);
}

/* In an exchange the bytes differ by the cut of the chunks; what is sent is what is received. */
static void test_exchange_bytes(void)
{
    struct plan plan;
    begin(&plan, 2);
    uint32_t values[2], small[2], large[2], gang = plan_add_gang(&plan, 1);
    for (uint32_t r = 0; r < 2; r++) {
        values[r] = plan_add_value(&plan, &(struct value){.bytes = 12, .rank = r, .flags = VALUE_LIVE_IN});
        small[r] = plan_add_view(&plan, values[r], 0, 4);
        large[r] = plan_add_view(&plan, values[r], 4, 8);
    }
    op(&plan, 1, OP_EXCHANGE_ADD, gang, 4);
    plan_access(&plan, small[0], ACCESS_READ);
    plan_access(&plan, large[0], ACCESS_UPDATE);
    op(&plan, 3, OP_EXCHANGE_ADD, gang, 8);
    plan_access(&plan, large[1], ACCESS_READ);
    plan_access(&plan, small[1], ACCESS_UPDATE);
    accepted(&plan);
    plan.ops[1].tag.bytes = 4;
    refused(&plan, "8 bytes, but op 1 of its gang has 4");
    plan.ops[1].tag.bytes = 8;
    plan.accesses[2].value = small[1];
    g_assert_cmpuint(refused(&plan, "sends another number of bytes than it reads"), ==, 1);
    plan_release(&plan);
}

static void test_empty(void)
{
    struct plan plan;
    plan_init(&plan);
    accepted(&plan);
    plan_add_gang(&plan, 0);
    g_autoptr(GError) error = NULL;
    g_assert_false(plan_seal(&plan, &error));
    g_assert_cmpstr(error->message, ==, "gang 0 has no op");
    plan_release(&plan);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/seal/legal", test_legal);
    g_test_add_func("/seal/oracle", test_oracle);
    g_test_add_func("/seal/swapped-gangs", test_swapped_gangs);
    for (unsigned i = 0; i < G_N_ELEMENTS(breakers); i++) {
        g_autofree char *path = g_strconcat("/seal/broken/", breakers[i].name, NULL);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_breaker);
    }
    g_test_add_func("/seal/views", test_views);
    g_test_add_func("/seal/bytes", test_bytes);
    g_test_add_func("/seal/partly-written", test_partly_written);
    g_test_add_func("/seal/readers", test_readers);
    g_test_add_func("/seal/value-rank", test_value_rank);
    g_test_add_func("/seal/many-dependencies", test_many_deps);
    g_test_add_func("/seal/path-within-rank", test_path_within_rank);
    g_test_add_func("/seal/three-rank-deadlock", test_three_rank_deadlock);
    g_test_add_func("/seal/exchange-bytes", test_exchange_bytes);
    g_test_add_func("/seal/empty", test_empty);
    return g_test_run();
}
