/* A vector clock for each op over the lanes of its rank: the place on every lane up to which ops come before
 * it.  Ids are a topological order within a rank, so one pass suffices. */
#include <string.h>

#include "base/huge.h"
#include "plan/seal.h"

static uint32_t *lane_slots(const struct plan *plan, uint32_t *slots)
{
    g_autofree uint32_t *rank_lanes = g_new0(uint32_t, (gsize)plan->t.n_ranks + 1);
    uint32_t *lane_slot = g_new(uint32_t, (gsize)plan->t.n_lanes + 1);
    *slots = 0;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        lane_slot[i] = rank_lanes[plan->t.lanes[i].rank]++;
        *slots = MAX(*slots, lane_slot[i] + 1);
    }
    return lane_slot;
}

/* previous: the op before it on its lane, or OP_NONE. */
static void tick(struct plan *plan, uint32_t id, uint32_t previous, uint32_t own)
{
    const struct op *op = &plan->ops[id];
    const gsize slots = plan->clock_slots;
    uint32_t *clock = &plan->clocks[id * slots];
    if (previous == OP_NONE)
        memset(clock, 0, slots * sizeof *clock);
    else
        memcpy(clock, &plan->clocks[previous * slots], slots * sizeof *clock);
    const uint32_t place = clock[own] + 1;
    for (uint32_t d = op->first_dep; d < op[1].first_dep; d++) {
        const uint32_t *other = &plan->clocks[plan->deps[d] * slots];
        for (uint32_t k = 0; k < slots; k++)
            clock[k] = MAX(clock[k], other[k]);
    }
    clock[own] = place;
}

void seal_clocks(struct plan *plan)
{
    if (plan->clocks)
        return;
    plan->clock_lane = lane_slots(plan, &plan->clock_slots);
    g_autofree uint32_t *last = g_new(uint32_t, (gsize)plan->t.n_lanes + 1);
    memset(last, 0xff, plan->t.n_lanes * sizeof *last);
    plan->clocks = huge_new(uint32_t, (gsize)plan->n_ops * plan->clock_slots + 1);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const uint32_t lane = plan->ops[i].lane;
        tick(plan, i, last[lane], plan->clock_lane[lane]);
        last[lane] = i;
    }
}

bool seal_before(const struct plan *plan, uint32_t a, uint32_t b)
{
    const gsize slots = plan->clock_slots, own = plan->clock_lane[plan->ops[a].lane];
    return plan->clocks[b * slots + own] >= plan->clocks[a * slots + own];
}
