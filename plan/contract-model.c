/* A plan that was read says layers, parameters and shapes of its own; its model must say the same. */
#include <string.h>

#include "plan/plan.h"

static bool differs(GError **error, const char *what, uint32_t i)
{
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INVALID,
                "%s %u of the plan is not the model's; was the model changed after the plan was made?", what,
                i);
    return false;
}

static bool check_tables(const struct tables *t, const struct model *model, GError **error)
{
    if (t->n_layers != model->n_layers)
        return differs(error, "the number of layers,", t->n_layers);
    if (t->n_params != model->n_params)
        return differs(error, "the number of parameters,", t->n_params);
    for (uint32_t i = 0; i < t->n_layers; i++)
        if (strcmp(t->layers[i].name, model->layers[i].name) ||
            strcmp(t->layers[i].block, model->layers[i].block))
            return differs(error, "layer", i);
    for (uint32_t i = 0; i < t->n_params; i++) {
        const struct param *p = &model->params[i];
        if (strcmp(t->params[i].name, p->name) || t->params[i].layer != p->layer ||
            t->params[i].bytes != p->numel * dtype_bytes(model->dtype))
            return differs(error, "parameter", i);
    }
    return true;
}

static bool is_of_layer(unsigned kind)
{
    return kind == OP_FWD || kind == OP_RECOMPUTE || kind == OP_BWD || kind == OP_BWD_INPUT ||
           kind == OP_BWD_WEIGHT;
}

/* What tables do not show, such as heads and the length of a sequence, is in the shape of a layer. */
static bool check_shapes(const struct plan *plan, const struct model *model, GError **error)
{
    g_auto(GStrv) shapes = g_new0(char *, (gsize)model->n_layers + 1);
    for (uint32_t i = 0; i < model->n_layers; i++)
        shapes[i] = layer_shape(model, i);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[i];
        if (!is_of_layer(op->tag.kind))
            continue;
        if (op->tag.layer0 >= model->n_layers || op->cost >= plan->n_costs ||
            strcmp(plan->costs[op->cost].shape, shapes[op->tag.layer0]))
            return differs(error, "the layer's shape in op", i);
    }
    return true;
}

bool plan_check_model(const struct plan *plan, const struct model *model, GError **error)
{
    return check_tables(&plan->t, model, error) && check_shapes(plan, model, error);
}
