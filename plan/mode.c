#include "plan/mode.h"

#include <string.h>

const struct mode *const modes[] = {&mode_single, &mode_ddp, &mode_dp, &mode_pipeline, NULL};

const struct mode *mode_find(const char *name)
{
    for (const struct mode *const *mode = modes; *mode; mode++)
        if (strcmp((*mode)->name, name) == 0)
            return *mode;
    return NULL;
}

const char *overlap_name(unsigned overlap)
{
    static const char *const names[OVERLAPS] = {"none", "backward", "optimizer"};
    return overlap < OVERLAPS ? names[overlap] : "?";
}

const char *checkpoint_name(unsigned checkpoint)
{
    static const char *const names[CHECKPOINTS] = {"never", "except-last", "always"};
    return checkpoint < CHECKPOINTS ? names[checkpoint] : "?";
}

const char *gather_name(unsigned gather)
{
    static const char *const names[GATHERS] = {"logits", "loss"};
    return gather < GATHERS ? names[gather] : "?";
}

uint32_t chunk_size(uint32_t batch, uint32_t ranks, uint32_t rank)
{
    uint64_t size = ((uint64_t)batch + ranks - 1) / ranks, first = size * rank;
    return first < batch ? (uint32_t)MIN(size, batch - first) : 0;
}

bool plan_make(const struct mode *mode, const struct shape *shape, struct plan *plan, GError **error)
{
    if (!mode->check(shape, error))
        return false;
    plan_init(plan);
    mode->build(shape, plan);
    if (shape->forward_only) {
        struct plan whole = *plan;
        plan_forward(&whole, plan);
        plan_release(&whole);
    }
    if (shape->algo != ALLREDUCE_WHOLE && plan->n_colls) {
        struct plan lowered;
        bool ok = plan_lower_allreduce(plan, shape->algo, dtype_bytes(shape->model->dtype), &lowered, error);
        plan_release(plan);
        if (!ok)
            return false;
        *plan = lowered;
    }
    if (plan_seal(plan, error))
        return true;
    plan_release(plan);
    return false;
}
