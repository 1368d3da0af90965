/* bench-allreduce [RANKS [ALGORITHM]] -- how long a 25 MiB all-reduce takes in raw memory: prints the median
 * of 20 in ms, of the slowest rank.  The plan is nothing but the all-reduce, lowered (to a ring) and run by
 * the CPU engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/analyze.h"
#include "profile/trace.h"

enum { STEPS = 20, BYTES = 25 << 20, RANKS_MAX = 64 };

static void add_rank(struct plan *plan, uint32_t rank, uint32_t cost)
{
    struct lane lane = {"comm", rank, rank, OP_NONE, LANE_COMM};
    struct value bucket = {.bytes = BYTES, .rank = rank, .cls = VALUE_BUCKET, .flags = VALUE_LIVE_IN};
    struct op_tag tag = {.kind = OP_ALLREDUCE, .layer0 = LAYER_NONE, .layer1 = LAYER_NONE, .bytes = BYTES};
    uint32_t id = plan_add_lane(plan, &lane), value = plan_add_value(plan, &bucket);
    plan_add_op(plan, id, &tag, cost);
    plan_access(plan, value, ACCESS_UPDATE);
}

static void build(struct plan *plan, uint32_t ranks)
{
    struct cost_key key = {.bytes = BYTES, .members = (uint16_t)ranks, .kind = OP_ALLREDUCE};
    struct bucket_row row = {.bytes = BYTES, .closed_by = OP_NONE};
    plan_init(plan);
    plan->t.n_ranks = ranks;
    plan->t.mode = plan->t.model = "all-reduce";
    plan->t.n_buckets = plan->n_colls = 1;
    plan->t.buckets = g_memdup2(&row, sizeof row);
    plan->rank_share = g_new0(double, ranks);
    plan->rank_rows = g_new0(uint32_t, ranks);
    plan->n_micro = 1;
    plan->micro_rows = g_new0(uint32_t, ranks);
    plan_add_gang(plan, 0);
    uint32_t cost = plan_add_cost(plan, &key);
    for (uint32_t rank = 0; rank < ranks; rank++)
        add_rank(plan, rank, cost);
}

static bool measure(uint32_t ranks, enum allreduce algo, GError **error)
{
    struct plan whole, lowered;
    struct trace trace;
    struct analysis analysis = {0};
    struct model_override tiny = {.layers = 1, .d = 8, .heads = 1, .ff = 8, .vocab = 8};
    struct model *model = model_load("mini", &tiny, error);
    if (!model || !cpu_engine.probe(error))
        return false;
    build(&whole, ranks);
    trace_init(&trace);
    bool ok =
        plan_lower_allreduce(&whole, algo, sizeof(float), &lowered, error) && plan_seal(&lowered, error);
    if (ok) {
        plan_place(&lowered);
        struct run run = {.plan = &lowered, .model = model, .warmup = 3, .steps = STEPS};
        ok = cpu_engine.run(&run, &trace, error) && analyze(&trace, &analysis, error);
        plan_release(&lowered);
    }
    if (ok)
        printf("%.2f\n", analysis.median_ns / 1e6);
    analysis_release(&analysis);
    trace_release(&trace);
    plan_release(&whole);
    model_free(model);
    return ok;
}

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    int ranks = argc > 1 ? atoi(argv[1]) : 2;
    unsigned algo = ALLREDUCE_RING;
    while (argc > 2 && algo < ALLREDUCES && strcmp(argv[2], allreduce_name(algo)))
        algo++;
    if (ranks >= 2 && ranks <= RANKS_MAX && algo < ALLREDUCES && measure((uint32_t)ranks, algo, &error))
        return 0;
    fprintf(stderr, "bench-allreduce: %s\n", error ? error->message : "give 2 to 64 ranks, and an algorithm");
    return 1;
}
