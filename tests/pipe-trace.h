/* tests/pipe-trace.h -- traces of pipelines: simulated in units of 1 ms, and made by hand. */
#ifndef TESTS_PIPE_TRACE_H
#define TESTS_PIPE_TRACE_H

#include "plan/schedule.h"
#include "profile/analyze.h"
#include "tests/unit-trace.h"

struct pipe_case {
    const char *schedule, *cost;
    uint32_t ranks, per_rank, chunks, rounds;
    uint8_t checkpoint;
};

static inline void pipe_simulate(const struct pipe_case *c, struct trace *trace)
{
    const struct shape shape = {.ranks = c->ranks,
                                .batch = c->chunks * 2,
                                .schedule = schedule_find(c->schedule),
                                .chunks = c->chunks,
                                .stages_per_rank = c->per_rank,
                                .rounds = c->rounds,
                                .checkpoint = c->checkpoint};
    unit_simulate(&mode_pipeline, 16, shape, c->cost, trace);
}

/* Two ranks, a stage each; lanes of rank r: 3r compute, 3r + 1 receives, 3r + 2 sends. */
static inline void pipe_begin(struct trace *trace)
{
    trace_init(trace);
    struct tables *t = &trace->t;
    t->mode = "pipeline";
    t->schedule = "by-hand";
    t->n_ranks = t->n_stages = 2;
    t->n_lanes = 6;
    t->lanes = g_new0(struct lane, t->n_lanes);
    t->stages = g_new0(struct stage_row, t->n_stages);
    for (uint32_t i = 0; i < t->n_lanes; i++)
        t->lanes[i] = (struct lane){.name = "lane",
                                    .rank = i / 3,
                                    .device = i / 3,
                                    .peer = i % 3 ? 1 - i / 3 : OP_NONE,
                                    .cls = i % 3 ? LANE_COMM : LANE_COMPUTE};
    t->stages[1].rank = 1;
    trace->n_steps = 1;
}

static inline void pipe_add(struct trace *trace, unsigned kind, uint32_t lane, uint32_t stage, uint32_t micro,
                            uint32_t gang, int64_t ready_ns, int64_t start_ns, int64_t end_ns)
{
    trace_add_op(trace, &(struct trace_op){.tag = {.kind = (uint8_t)kind,
                                                   .layer0 = LAYER_NONE,
                                                   .layer1 = LAYER_NONE,
                                                   .stage = (uint16_t)stage,
                                                   .micro = micro,
                                                   .bucket = OP_NONE,
                                                   .gang = gang,
                                                   .coll = OP_NONE},
                                           .lane = lane,
                                           .cost = OP_NONE,
                                           .ready_ns = ready_ns,
                                           .start_ns = start_ns,
                                           .end_ns = end_ns,
                                           .work_ns = -1});
}

#endif
