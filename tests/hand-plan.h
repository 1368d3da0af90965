/* tests/hand-plan.h -- plans made by hand, of ops that need no layers. */
#ifndef TESTS_HAND_PLAN_H
#define TESTS_HAND_PLAN_H

#include "plan/model.h"
#include "plan/plan.h"

/* A rank's lanes: two compute, one copy, one comm, so that plans wait across lanes in every direction. */
enum { LANES = 4, COMM_LANE = 3 };

static inline struct model *tiny_model(uint8_t dtype)
{
    GError *error = NULL;
    struct model_override small = {
        .layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = 11, .seq = 4, .dtype = dtype};
    struct model *model = model_load("mini", &small, &error);
    g_assert_no_error(error);
    return model;
}

static inline uint32_t add_op(struct plan *plan, uint32_t lane, uint8_t kind, uint32_t gang, uint64_t bytes)
{
    struct op_tag tag = {.kind = kind,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = bytes};
    struct cost_key key = {.shape = "", .bytes = bytes, .members = 1, .kind = kind};
    return plan_add_op(plan, lane, &tag, plan_add_cost(plan, &key));
}

static inline void begin_plan(struct plan *plan, const struct model *model, uint32_t ranks)
{
    static const struct lane lanes[LANES] = {{.name = "compute", .cls = LANE_COMPUTE, .peer = OP_NONE},
                                             {.name = "compute 2", .cls = LANE_COMPUTE, .peer = OP_NONE},
                                             {.name = "copy", .cls = LANE_COPY, .peer = OP_NONE},
                                             {.name = "comm", .cls = LANE_COMM, .peer = OP_NONE}};
    plan_init(plan);
    plan->t.mode = tables_intern(&plan->t, "test");
    plan->t.n_ranks = ranks;
    plan->t.n_layers = model->n_layers;
    plan->t.layers = g_new0(struct layer_row, model->n_layers);
    for (uint32_t i = 0; i < model->n_layers; i++)
        plan->t.layers[i].name = plan->t.layers[i].block = tables_intern(&plan->t, model->layers[i].name);
    plan->rank_share = g_new(double, ranks);
    plan->rank_rows = g_new(uint32_t, ranks);
    plan->n_micro = 1;
    plan->micro_rows = g_new(uint32_t, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        plan->rank_share[i] = 1.0 / ranks;
        plan->rank_rows[i] = plan->micro_rows[i] = 1;
        for (uint32_t j = 0; j < LANES; j++) {
            struct lane lane = lanes[j];
            lane.rank = lane.device = i;
            plan_add_lane(plan, &lane);
        }
    }
}

static inline void end_plan(struct plan *plan)
{
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
    plan_place(plan);
}

/* One collective of the kind, all-reduce or broadcast, of a bucket of floats that is live in; lowered. */
static inline void collective_plan(struct plan *plan, const struct model *model, uint8_t kind, uint8_t algo,
                                   uint32_t ranks, uint32_t elems)
{
    GError *error = NULL;
    struct plan whole;
    begin_plan(&whole, model, ranks);
    uint32_t gang = plan_add_gang(&whole, 0);
    for (uint32_t i = 0; i < ranks; i++) {
        struct value v = {.bytes = elems * sizeof(float),
                          .rank = i,
                          .cls = VALUE_BUCKET,
                          .flags = VALUE_LIVE_IN | VALUE_LIVE_OUT};
        uint32_t bucket = plan_add_value(&whole, &v);
        add_op(&whole, i * LANES + COMM_LANE, kind, gang, v.bytes);
        plan_access(&whole, bucket, kind == OP_ALLREDUCE ? ACCESS_UPDATE : i ? ACCESS_WRITE : ACCESS_READ);
    }
    plan_lower_allreduce(&whole, algo, sizeof(float), plan, &error);
    g_assert_no_error(error);
    plan_release(&whole);
    end_plan(plan);
}

static inline void ring_plan(struct plan *plan, const struct model *model, uint32_t ranks, uint32_t elems)
{
    collective_plan(plan, model, OP_ALLREDUCE, ALLREDUCE_RING, ranks, elems);
}

#endif
