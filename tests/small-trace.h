/* tests/small-trace.h -- traces made by hand, or at random but legal. */
#ifndef TESTS_SMALL_TRACE_H
#define TESTS_SMALL_TRACE_H

#include "profile/trace.h"

/* Lanes of each rank: two of each class that can be busy, so that merging lanes matters, and a host lane. */
enum { SMALL_LANES = 7 };

static inline uint32_t small_lane(uint32_t rank, unsigned cls, unsigned which)
{
    return rank * SMALL_LANES + cls * 2 + which;
}

static inline void small_init(struct trace *trace, uint32_t ranks, uint32_t buckets)
{
    static const char *const names[SMALL_LANES] = {"compute", "compute 2", "comm", "comm 2",
                                                   "copy",    "copy 2",    "host"};
    trace_init(trace);
    struct tables *t = &trace->t;
    t->mode = "ddp";
    t->model = "small";
    t->n_ranks = ranks;
    t->n_lanes = ranks * SMALL_LANES;
    t->lanes = g_new0(struct lane, t->n_lanes);
    for (uint32_t i = 0; i < t->n_lanes; i++)
        t->lanes[i] = (struct lane){names[i % SMALL_LANES], i / SMALL_LANES, i / SMALL_LANES, OP_NONE,
                                    (uint8_t)(i % SMALL_LANES / 2)};
    t->n_buckets = buckets;
    t->buckets = g_new0(struct bucket_row, buckets);
    for (uint32_t i = 0; i < buckets; i++)
        t->buckets[i] = (struct bucket_row){.bytes = (uint64_t)(i + 1) << 20, .closed_by = OP_NONE};
}

static inline struct trace_op small_op(unsigned kind, uint32_t lane, uint32_t step, int64_t start_ns,
                                       int64_t end_ns)
{
    return (struct trace_op){.tag = {.kind = (uint8_t)kind,
                                     .layer0 = LAYER_NONE,
                                     .layer1 = LAYER_NONE,
                                     .chunk = LAYER_NONE,
                                     .hop = LAYER_NONE,
                                     .micro = OP_NONE,
                                     .bucket = OP_NONE,
                                     .step = step,
                                     .gang = OP_NONE,
                                     .coll = OP_NONE},
                             .lane = lane,
                             .cost = OP_NONE,
                             .ready_ns = start_ns,
                             .start_ns = start_ns,
                             .end_ns = end_ns,
                             .work_ns = -1};
}

/* Fills the lanes of a class with ops at random, from begin_ns on; some are empty, some touch. */
static inline int64_t small_fill(struct trace *trace, GRand *rand, uint32_t lane, uint32_t step,
                                 int64_t begin_ns)
{
    static const uint8_t kinds[][3] = {{OP_FWD, OP_BWD, OP_OPTIM},
                                       {OP_ALLREDUCE, OP_EXCHANGE, OP_EXCHANGE_ADD}};
    unsigned cls = trace->t.lanes[lane].cls;
    int64_t now = begin_ns;
    for (gint32 n = g_rand_int_range(rand, 0, 7); n > 0; n--) {
        int64_t start = now + g_rand_int_range(rand, 0, 9) * g_rand_int_range(rand, 0, 2);
        now = start + g_rand_int_range(rand, 0, 12);
        unsigned kind = cls == LANE_COPY ? OP_INPUT : kinds[cls][g_rand_int_range(rand, 0, 3)];
        struct trace_op op = small_op(kind, lane, step, start, now);
        op.ready_ns = g_rand_int_range(rand, (gint32)begin_ns, (gint32)start + 1);
        if (cls == LANE_COMM && trace->t.n_buckets)
            op.tag.bucket = (uint32_t)g_rand_int_range(rand, 0, (gint32)trace->t.n_buckets);
        trace_add_op(trace, &op);
    }
    return now;
}

/* Every step of every rank begins with a compute op of 1 ns, so that none is empty. */
static inline void small_random(struct trace *trace, GRand *rand)
{
    uint32_t ranks = (uint32_t)g_rand_int_range(rand, 1, 4), steps = (uint32_t)g_rand_int_range(rand, 1, 6);
    small_init(trace, ranks, (uint32_t)g_rand_int_range(rand, 0, 4));
    trace->n_steps = steps;
    int64_t *now = g_new(int64_t, ranks);
    for (uint32_t rank = 0; rank < ranks; rank++)
        now[rank] = g_rand_int_range(rand, 0, 20);
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            struct trace_op first =
                small_op(OP_FWD, small_lane(rank, LANE_COMPUTE, 0), step, now[rank], now[rank] + 1);
            trace_add_op(trace, &first);
            int64_t begin = now[rank] + 1, end = begin;
            for (unsigned lane = 0; lane < SMALL_LANES - 1; lane++) {
                int64_t filled = small_fill(trace, rand, rank * SMALL_LANES + lane, step, begin);
                end = MAX(end, filled);
            }
            now[rank] = end + g_rand_int_range(rand, 0, 3);
        }
    }
    g_free(now);
    trace_finish(trace);
}

/* The same as a device reports it: each op in up to three kernels, with gaps or without, and a launch of each. */
static inline void small_kernels(struct trace *trace, GRand *rand, bool gaps)
{
    static const char *const names[] = {"_Z10add_kernelPfi", "_ZN7cutlass6KernelIfEEvT_", "sgemm_128x64"};
    struct trace_span *old = trace->spans;
    size_t n = trace->n_spans;
    trace->spans = NULL;
    trace->n_spans = trace->room_spans = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t at = old[i].start_ns;
        for (gint32 left = g_rand_int_range(rand, 1, 4); left > 0; left--) {
            struct trace_span kernel = old[i], launch = old[i];
            kernel.name = names[g_rand_int_range(rand, 0, 3)];
            kernel.start_ns = at;
            if (left > 1)
                kernel.end_ns = g_rand_int_range(rand, (gint32)at, (gint32)old[i].end_ns + 1);
            at = gaps && left > 1 ? g_rand_int_range(rand, (gint32)kernel.end_ns, (gint32)old[i].end_ns + 1)
                                  : kernel.end_ns;
            launch.cls = SPAN_HOST;
            launch.lane = small_lane(trace->t.lanes[old[i].lane].rank, LANE_HOST, 0);
            launch.name = "cudaLaunchKernel";
            launch.start_ns = kernel.start_ns - g_rand_int_range(rand, 0, 9);
            launch.start_ns = MAX(launch.start_ns, 0); /* the base stays where it is */
            launch.end_ns = launch.start_ns + g_rand_int_range(rand, 0, 5);
            trace_add_span(trace, &kernel);
            trace_add_span(trace, &launch);
        }
    }
    g_free(old);
    trace_finish(trace);
}

#endif
