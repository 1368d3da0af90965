#include "plan/plan.h"

#define ALIGNMENT 64 /* a cache line, and what vectorised kernels like */

void plan_place(struct plan *plan)
{
    g_free(plan->place);
    g_free(plan->arena_bytes);
    plan->place = g_new0(uint64_t, (gsize)plan->n_values + 1);
    plan->arena_bytes = g_new0(uint64_t, (gsize)plan->t.n_ranks + 1);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root != i)
            continue;
        plan->place[i] = plan->arena_bytes[v->rank];
        plan->arena_bytes[v->rank] += (v->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

void plan_memory(const struct plan *plan, uint32_t rank, uint64_t *out)
{
    for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
        out[cls] = 0;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root == i && v->rank == rank)
            out[v->cls] += v->bytes;
    }
}

const char *value_class_name(unsigned cls)
{
    static const char *const names[VALUE_CLASSES] = {
        [VALUE_WEIGHT] = "weight", [VALUE_GRAD] = "gradient",  [VALUE_BUCKET] = "bucket",
        [VALUE_INPUT] = "input",   [VALUE_ACT] = "activation", [VALUE_SAVED] = "saved",
        [VALUE_DELTA] = "delta",   [VALUE_LOSS] = "loss",      [VALUE_SCRATCH] = "scratch",
    };
    return cls < VALUE_CLASSES ? names[cls] : "?";
}
