#include "plan/plan.h"

/* "layer3.attention", or the first and last layer of several. */
static void append_layers(const struct plan *plan, const struct op_tag *tag, GString *out)
{
    if (tag->layer0 >= tag->layer1 || tag->layer1 > plan->t.n_layers)
        return;
    g_string_append_printf(out, " %s", plan->t.layers[tag->layer0].name);
    if (tag->layer1 - tag->layer0 > 1)
        g_string_append_printf(out, "..%s", plan->t.layers[tag->layer1 - 1].name);
}

static void append_op(const struct plan *plan, const struct op_tag *tag, GString *out)
{
    g_string_append(out, op_label(tag->kind));
    if (tag->bucket != OP_NONE)
        g_string_append_printf(out, " bucket %u", tag->bucket);
    if (tag->bucket == OP_NONE || tag->kind == OP_PACK)
        append_layers(plan, tag, out);
    if (tag->hop != LAYER_NONE)
        g_string_append_printf(out, " hop %u", tag->hop);
}

char *plan_op_text(const struct plan *plan, uint32_t op)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "op %u (", op);
    append_op(plan, &plan->ops[op].tag, out);
    if (plan->ops[op].lane < plan->t.n_lanes)
        g_string_append_printf(out, ", rank %u", plan->t.lanes[plan->ops[op].lane].rank);
    g_string_append_c(out, ')');
    return g_string_free(out, FALSE);
}
