#include "plan/gangs.h"

#include "base/huge.h"

/* Ops in rank order, then in their own. */
static uint32_t *by_rank(const struct plan *plan)
{
    uint32_t *ops = huge_new(uint32_t, (gsize)plan->n_ops + 1);
    g_autofree uint32_t *at = g_new0(uint32_t, plan->t.n_ranks + 1);
    for (uint32_t i = 0; i < plan->n_ops; i++)
        at[plan->t.lanes[plan->ops[i].lane].rank + 1]++;
    for (uint32_t r = 0; r < plan->t.n_ranks; r++)
        at[r + 1] += at[r];
    for (uint32_t i = 0; i < plan->n_ops; i++)
        ops[at[plan->t.lanes[plan->ops[i].lane].rank]++] = i;
    return ops;
}

uint32_t gangs_gather(const struct plan *plan, struct gang *gangs, uint32_t *gang_ops)
{
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        gangs[g].n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.gang != OP_NONE)
            gangs[plan->ops[i].tag.gang].n++;
    uint32_t n = 0;
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        gangs[g].first = n;
        n += gangs[g].n;
        gangs[g].n = 0;
    }
    g_autofree uint32_t *ops = by_rank(plan);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t g = plan->ops[ops[i]].tag.gang;
        if (g != OP_NONE)
            gang_ops[gangs[g].first + gangs[g].n++] = ops[i];
    }
    return n;
}
