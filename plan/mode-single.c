/* One rank: forward, loss, backward, optimizer.  The smallest mode, and the sample to copy for a new one. */
#include "plan/build.h"

static bool check(const struct shape *shape, GError **error)
{
    if (shape->ranks > 1) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "--ranks %u, but mode single runs on one, give --ranks 1 or --mode ddp", shape->ranks);
        return false;
    }
    return build_check_divided(shape, error);
}

static void build(const struct shape *shape, struct plan *plan)
{
    struct build b;
    build_begin(&b, shape, mode_single.name, plan);
    struct build_rank r = build_rank(&b, 0);
    for (uint32_t i = 0; i < plan->n_micro; i++) {
        struct build_micro m = build_micro(&b, &r, i);
        build_forward(&b, &r, &m);
        for (uint32_t layer = shape->model->n_layers; layer-- > 0;)
            build_backward(&b, &r, &m, layer);
    }
    struct build_gradients whole_layers = {0};
    if (shape->clip)
        build_norm(&b, &r, whole_layers);
    build_optimizer(&b, &r, whole_layers, OP_NONE);
    build_end(&b);
}

const struct mode mode_single = {
    .name = "single",
    .summary = "one rank, nothing to communicate",
    .check = check,
    .build = build,
};
