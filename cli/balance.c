#include "cli/balance.h"

#include <inttypes.h>
#include <string.h>

#include "plan/schedule.h"
#include "plan/split.h"
#include "profile/report-text.h"

enum { STAGES_NAMED = 16 };

static const struct split_rule *even(void)
{
    return split_find("even");
}

bool balance_wanted(const struct job *job)
{
    /* Unit costs are of stages, whatever is in them: there is nothing to balance by. */
    return job->mode == &mode_pipeline && !job->given && job->shape.split == split_find("balanced") &&
           !(job->costs && g_str_has_prefix(job->costs->name, "unit"));
}

static uint32_t layer_of(const struct op *op, uint32_t n_layers)
{
    switch (op->tag.kind) {
    case OP_FWD:
    case OP_RECOMPUTE:
    case OP_BWD:
    case OP_BWD_INPUT:
    case OP_BWD_WEIGHT:
        return op->tag.layer0;
    case OP_LOSS:
        return n_layers - 1;
    default:
        return LAYER_NONE;
    }
}

static int64_t *sum_layers(const struct plan *plan, uint32_t n_layers, const struct cost_model *costs,
                           GError **error)
{
    g_autofree int64_t *layer_ns = g_new0(int64_t, n_layers), *cost_ns = g_new(int64_t, plan->n_costs);
    memset(cost_ns, 0xff, plan->n_costs * sizeof *cost_ns);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        const uint32_t layer = layer_of(op, n_layers);
        struct cost cost;
        if (layer >= n_layers)
            continue;
        if (cost_ns[op->cost] < 0) {
            if (!costs->price(costs, &plan->costs[op->cost], &cost, error))
                return NULL;
            cost_ns[op->cost] = cost.alone_ns;
        }
        if (__builtin_add_overflow(layer_ns[layer], cost_ns[op->cost], &layer_ns[layer])) {
            g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                        "--split balanced: layer %u takes more than 292 years; check the costs", layer);
            return NULL;
        }
    }
    for (uint32_t i = 0; i < n_layers; i++)
        layer_ns[i] /= plan->n_micro;
    return g_steal_pointer(&layer_ns);
}

bool balance(struct job *job, const struct cost_model *costs, GError **error)
{
    struct shape shape = job->shape;
    struct plan plan;
    if (!balance_wanted(job))
        return true;
    shape.split = even();
    shape.rounds = 1;
    if (!plan_make(job->mode, &shape, &plan, error))
        return false;
    int64_t *layer_ns = sum_layers(&plan, shape.model->n_layers, costs, error);
    plan_release(&plan);
    if (!layer_ns)
        return false;
    g_free(job->layer_ns);
    job->layer_ns = layer_ns;
    job->shape.layer_ns = layer_ns;
    return true;
}

static int64_t slowest(const struct job *job, const uint32_t *first, uint32_t n_stages)
{
    int64_t most_ns = 0;
    for (uint32_t s = 0; s < n_stages; s++) {
        int64_t sum_ns = 0;
        for (uint32_t i = first[s]; i < first[s + 1]; i++)
            sum_ns += job->layer_ns[i];
        most_ns = MAX(most_ns, sum_ns);
    }
    return most_ns;
}

void balance_print(const struct job *job, const char *costs, GString *out)
{
    struct shape shape = job->shape;
    const uint32_t n = shape.actions ? shape.actions->n_stages : shape.ranks * MAX(shape.stages_per_rank, 1);
    g_autofree uint32_t *first = g_new(uint32_t, (gsize)n + 1), *evenly = g_new(uint32_t, (gsize)n + 1);
    if (!job->layer_ns || !split_layers(&shape, n, first, NULL))
        return;
    shape.split = even();
    split_layers(&shape, n, evenly, NULL);
    g_string_append_printf(out, "split balanced by costs %s: ", costs);
    for (uint32_t s = 0; s < MIN(n, STAGES_NAMED); s++)
        g_string_append_printf(out, "%s%" PRIu32, s ? "+" : "", first[s + 1] - first[s]);
    g_autofree char *most = text_ms(slowest(job, first, n), 1),
                    *instead = text_ms(slowest(job, evenly, n), 1);
    g_string_append_printf(out, "%s layers, the slowest stage %s ms a micro-batch, even %s\n",
                           n > STAGES_NAMED ? "+…" : "", most, instead);
}
