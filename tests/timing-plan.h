/* tests/timing-plan.h -- random plans of ops that only take time. */
#ifndef TESTS_TIMING_PLAN_H
#define TESTS_TIMING_PLAN_H

#include "plan/plan.h"

enum { MOST_RANKS = 5, TIMING_LANES = 4 };

static inline uint32_t pick(GRand *rand, uint32_t n)
{
    return (uint32_t)g_rand_int_range(rand, 0, (int)n);
}

/* Lanes of a rank: two compute, one copy, one comm, so that plans wait across lanes in every direction. */
static inline void add_lanes(struct plan *plan, uint32_t sharing)
{
    static const uint8_t classes[TIMING_LANES] = {LANE_COMPUTE, LANE_COMPUTE, LANE_COPY, LANE_COMM};
    for (uint32_t i = 0; i < plan->t.n_ranks * TIMING_LANES; i++)
        plan_add_lane(plan, &(struct lane){.name = "lane",
                                           .rank = i / TIMING_LANES,
                                           .device = i / TIMING_LANES / sharing,
                                           .node = i / TIMING_LANES / sharing / 2,
                                           .peer = OP_NONE,
                                           .cls = classes[i % TIMING_LANES]});
}

static inline void add_op(struct plan *plan, GRand *rand, uint32_t rank, uint32_t lane, uint8_t kind, uint32_t gang)
{
    /* Members of a gang may differ in rows, hence in cost. */
    struct cost_key key = {.shape = "s", .rows = pick(rand, 3), .members = 1, .kind = kind};
    if (kind == OP_FWD)
        key.gemms[0] = (struct gemm){128 * (1 + key.rows * 3), 256, 64, 1};
    struct op_tag tag = {.kind = kind,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE};
    uint32_t op = plan_add_op(plan, rank * TIMING_LANES + lane, &tag, plan_add_cost(plan, &key));
    for (uint32_t tries = pick(rand, 6); op > 0 && tries > 0; tries--) {
        uint32_t on = pick(rand, op);
        if (plan->t.lanes[plan->ops[on].lane].rank == rank)
            plan_dep(plan, on);
    }
}

static inline void add_gang(struct plan *plan, GRand *rand)
{
    uint32_t gang = OP_NONE;
    for (uint32_t rank = 0; rank < plan->t.n_ranks; rank++) {
        if (g_rand_boolean(rand))
            continue;
        if (gang == OP_NONE)
            gang = plan_add_gang(plan, 1);
        add_op(plan, rand, rank, 3, OP_EXCHANGE, gang);
    }
}

static inline void add_pair(struct plan *plan, GRand *rand)
{
    uint32_t gang = plan_add_gang(plan, 1), from = pick(rand, plan->t.n_ranks), to = pick(rand, plan->t.n_ranks - 1);
    add_op(plan, rand, from, 3, OP_SEND, gang);
    add_op(plan, rand, to + (to >= from), 3, OP_RECV, gang);
}

/* `sharing` ranks a device, two devices a node. */
static inline void random_plan(struct plan *plan, GRand *rand, uint32_t sharing)
{
    static const uint8_t kinds[TIMING_LANES - 1] = {OP_FWD, OP_BWD, OP_INPUT};
    plan_init(plan);
    plan->t.n_ranks = 1 + pick(rand, MOST_RANKS);
    plan->rank_share = g_new0(double, plan->t.n_ranks);
    plan->rank_rows = g_new0(uint32_t, plan->t.n_ranks);
    plan->n_micro = 1;
    plan->micro_rows = g_new0(uint32_t, plan->t.n_ranks);
    add_lanes(plan, sharing);
    for (uint32_t n = pick(rand, 80); n > 0; n--) {
        uint32_t lane = pick(rand, TIMING_LANES);
        if (lane == 3 && plan->t.n_ranks > 1 && pick(rand, 3) == 0)
            add_pair(plan, rand);
        else if (lane == 3)
            add_gang(plan, rand);
        else
            add_op(plan, rand, pick(rand, plan->t.n_ranks), lane, kinds[lane], OP_NONE);
    }
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
}

#endif
