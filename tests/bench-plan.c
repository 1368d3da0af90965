/* What a plan costs the planner and the simulator, in ns an op: a layered plan of 32,768 ops on 16 ranks with
 * 3 lanes each.  A layer is an input copy, a forward that waits for it, and an exchange of all ranks that
 * waits for the forward; a layer's copy waits for the exchange two layers before.  So each op has one
 * dependency from another lane. */
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "plan/plan.h"
#include "sim/sim.h"

enum { RANKS = 16, OPS = 32768, LAYERS = 683, REPETITIONS = 30, WIDTH = 1 << 12 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct rank {
    uint32_t compute, comm, copy;
    uint32_t weight, input[2], received[2], act, copied, forward, exchange[2];
};

static void add_tables(struct plan *plan)
{
    plan->t.mode = tables_intern(&plan->t, "bench");
    plan->t.model = tables_intern(&plan->t, "layers");
    plan->t.n_ranks = RANKS;
    plan->t.n_layers = LAYERS;
    plan->t.layers = g_new0(struct layer_row, LAYERS);
    for (int l = 0; l < LAYERS; l++)
        plan->t.layers[l].name = plan->t.layers[l].block = "layer";
    plan->rank_share = g_new(double, RANKS);
    plan->rank_rows = g_new(uint32_t, RANKS);
    plan->n_micro = 1;
    plan->micro_rows = g_new(uint32_t, RANKS);
    for (int r = 0; r < RANKS; r++) {
        plan->rank_share[r] = 1.0 / RANKS;
        plan->rank_rows[r] = plan->micro_rows[r] = 1;
    }
}

static uint32_t add_value(struct plan *plan, uint32_t rank, unsigned cls, unsigned flags, uint32_t index)
{
    return plan_add_value(
        plan, &(struct value){.bytes = WIDTH, .rank = rank, .index = index, .cls = cls, .flags = flags});
}

static void add_rank(struct plan *plan, uint32_t r, struct rank *rank)
{
    rank->compute = plan_add_lane(plan, &(struct lane){"compute", r, r, OP_NONE, LANE_COMPUTE});
    rank->comm = plan_add_lane(plan, &(struct lane){"comm", r, r, OP_NONE, LANE_COMM});
    rank->copy = plan_add_lane(plan, &(struct lane){"copy", r, r, OP_NONE, LANE_COPY});
    rank->weight = add_value(plan, r, VALUE_WEIGHT, VALUE_LIVE_IN, 0);
    rank->act = add_value(plan, r, VALUE_ACT, VALUE_LIVE_IN, 0);
    for (int i = 0; i < 2; i++) {
        rank->input[i] = add_value(plan, r, VALUE_INPUT, 0, 0);
        rank->received[i] = add_value(plan, r, VALUE_SCRATCH, 0, 0);
    }
}

static uint32_t add_op(struct plan *plan, uint32_t lane, uint8_t kind, uint32_t layer, uint32_t gang)
{
    struct cost_key key = {.shape = "layer f32",
                           .bytes = WIDTH << layer % 4,
                           .share = 1,
                           .rows = 32,
                           .kernels = 1,
                           .members = gang == OP_NONE ? 1 : RANKS,
                           .kind = kind};
    struct op_tag tag = {.kind = kind,
                         .layer0 = (uint16_t)layer,
                         .layer1 = (uint16_t)(layer + 1),
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = gang == OP_NONE ? 0 : WIDTH};
    return plan_add_op(plan, lane, &tag, plan_add_cost(plan, &key));
}

static void add_input(struct plan *plan, struct rank *rank, uint32_t layer)
{
    rank->copied = add_op(plan, rank->copy, OP_INPUT, layer, OP_NONE);
    plan_access(plan, rank->input[layer % 2], ACCESS_WRITE);
    if (layer >= 2)
        plan_dep(plan, rank->exchange[layer % 2]);
}

static void add_forward(struct plan *plan, uint32_t r, struct rank *rank, uint32_t layer)
{
    uint32_t act = add_value(plan, r, VALUE_ACT, 0, layer);
    rank->forward = add_op(plan, rank->compute, OP_FWD, layer, OP_NONE);
    plan_access(plan, rank->weight, ACCESS_READ);
    plan_access(plan, rank->act, ACCESS_READ);
    plan_access(plan, rank->input[layer % 2], ACCESS_READ);
    plan_access(plan, act, ACCESS_WRITE);
    plan_dep(plan, rank->copied);
    rank->act = act;
}

static void add_exchange(struct plan *plan, struct rank *rank, uint32_t layer, uint32_t gang)
{
    rank->exchange[layer % 2] = add_op(plan, rank->comm, OP_EXCHANGE, layer, gang);
    plan_access(plan, rank->act, ACCESS_READ);
    plan_access(plan, rank->received[layer % 2], ACCESS_WRITE);
    plan_dep(plan, rank->forward);
}

static void build(struct plan *plan)
{
    struct rank ranks[RANKS];
    plan_init(plan);
    add_tables(plan);
    for (uint32_t r = 0; r < RANKS; r++)
        add_rank(plan, r, &ranks[r]);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            add_input(plan, &ranks[r], layer);
            add_forward(plan, r, &ranks[r], layer);
        }
        if (layer == LAYERS - 1)
            break;
        uint32_t gang = plan_add_gang(plan, 1);
        for (uint32_t r = 0; r < RANKS; r++)
            add_exchange(plan, &ranks[r], layer, gang);
    }
    g_assert(plan->n_ops == OPS);
}

/* Best over the repetitions of each phase. */
struct phases {
    double build, seal, cold, again;
};

static void keep_best(double *best, double since_ns)
{
    *best = MIN(*best, (now_ns() - since_ns) / OPS);
}

static bool measure(struct phases *best, GError **error)
{
    struct plan plan;
    double t = now_ns();
    build(&plan);
    keep_best(&best->build, t);
    t = now_ns();
    if (!plan_seal(&plan, error))
        return false;
    keep_best(&best->seal, t);
    int64_t *cost_ns = g_new(int64_t, plan.n_costs);
    for (uint32_t i = 0; i < plan.n_costs; i++)
        cost_ns[i] = 1000 + 100 * i;
    t = now_ns();
    struct sweep *sweep = sweep_new(&plan);
    int64_t first_ns = sweep_time(sweep, cost_ns, NULL, NULL);
    keep_best(&best->cold, t);
    for (int i = 0; i < REPETITIONS; i++) {
        cost_ns[0]++;
        t = now_ns();
        int64_t again_ns = sweep_time(sweep, cost_ns, NULL, NULL);
        keep_best(&best->again, t);
        g_assert(again_ns >= first_ns);
    }
    sweep_free(sweep);
    g_free(cost_ns);
    plan_release(&plan);
    return true;
}

int main(void)
{
    /* Freed memory is kept, so that the best repetition measures our code and not the kernel's page faults.
     */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    struct phases best = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (int i = 0; i < REPETITIONS; i++) {
        GError *error = NULL;
        if (!measure(&best, &error)) {
            fprintf(stderr, "bench-plan: %s\n", error->message);
            return 1;
        }
    }
    printf("plan of %d ops: build %.1f ns/op, seal %.1f ns/op, time (cold) %.1f ns/op, re-time %.2f ns/op\n",
           OPS, best.build, best.seal, best.cold, best.again);
    return 0;
}
