/* plan/contract.h -- what the checks of an op that was read share; plan/plan.h has what they are for. */
#ifndef PLAN_CONTRACT_H
#define PLAN_CONTRACT_H

#include "plan/plan.h"

struct contract {
    const struct plan *plan;
    const struct model *model;
    uint64_t elem_bytes;
    GError **error;
};

static inline uint32_t contract_accesses(const struct plan *plan, uint32_t op)
{
    return plan->ops[op + 1].first_access - plan->ops[op].first_access;
}

static inline const struct access *contract_access(const struct plan *plan, uint32_t op, uint32_t i)
{
    return &plan->accesses[plan->ops[op].first_access + i];
}

static inline const struct value *contract_value(const struct plan *plan, uint32_t op, uint32_t i)
{
    return &plan->values[contract_access(plan, op, i)->value];
}

/* contract-apart.c: what the op writes overlaps nothing else that it accesses; a sum may replace one of its terms. */
bool contract_apart(const struct contract *, uint32_t op);

#endif
