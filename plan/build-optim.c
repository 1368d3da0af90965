#include "plan/build.h"

const char *optimizer_name(unsigned optimizer)
{
    static const char *const names[OPTIMIZERS] = {"sgd", "momentum", "adam"};
    return optimizer < OPTIMIZERS ? names[optimizer] : "?";
}

/* Parameters of an op: ids[0 .. n), or 0 to n - 1 where ids is NULL. */
struct params {
    const uint32_t *ids;
    uint32_t n;
};

static struct params params_of(const struct build *b, struct build_gradients g, uint32_t bucket)
{
    const struct tables *t = &b->plan->t;
    if (g.step == 0)
        return (struct params){NULL, t->n_params};
    if (bucket == OP_NONE)
        return (struct params){t->bucket_params, t->n_params};
    return (struct params){t->bucket_params + t->buckets[bucket].first_param, t->buckets[bucket].n_params};
}

/* A tag that spans the parameters' layers. */
static struct op_tag tag_of(const struct build *b, enum op_kind kind, struct params params)
{
    struct op_tag tag = build_tag(kind);
    for (uint32_t i = 0; i < params.n; i++) {
        uint16_t layer = (uint16_t)b->plan->t.params[params.ids ? params.ids[i] : i].layer;
        tag.layer0 = MIN(tag.layer0, layer);
        tag.layer1 = tag.layer1 == LAYER_NONE ? layer + 1 : MAX(tag.layer1, layer + 1);
    }
    return tag;
}

static uint64_t bytes_of(const struct build *b, struct params params)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < params.n; i++)
        bytes += b->plan->t.params[params.ids ? params.ids[i] : i].bytes;
    return bytes;
}

uint32_t build_norm_cost(struct build *b, uint64_t bytes, uint32_t n_params)
{
    struct cost_key key = {.bytes = bytes,
                           .flops = 2 * (bytes / dtype_bytes(b->shape->model->dtype)),
                           .kernels = n_params + 1,
                           .members = 1,
                           .kind = OP_NORM};
    return plan_add_cost(b->plan, &key);
}

uint32_t build_norm(struct build *b, const struct build_rank *r, struct build_gradients g)
{
    struct params params = params_of(b, g, OP_NONE);
    struct op_tag tag = tag_of(b, OP_NORM, params);
    uint64_t bytes = bytes_of(b, params);
    uint32_t op = build_compute(b, r, &tag, build_norm_cost(b, bytes, params.n));
    plan_access(b->plan, r->norm, ACCESS_WRITE);
    for (uint32_t i = 0; g.step && i < params.n; i++)
        plan_access(b->plan, g.first + g.step * params.ids[i], ACCESS_READ);
    for (uint32_t i = 0; !g.step && i < b->plan->t.n_layers; i++)
        if (b->plan->t.layers[i].n_params)
            plan_access(b->plan, build_value(r, VALUE_GRAD, i), ACCESS_READ);
    return op;
}

/* Memory traffic in units of the weights, and operations an element. */
static const struct {
    uint8_t traffic, flops;
} work[OPTIMIZERS] = {
    [OPTIMIZER_SGD] = {3, 2},
    [OPTIMIZER_MOMENTUM] = {5, 4},
    [OPTIMIZER_ADAM] = {7, 12},
};

uint32_t build_optimizer_cost(struct build *b, uint64_t bytes, uint32_t n_params)
{
    unsigned optimizer = b->shape->optimizer;
    struct cost_key key = {.shape = optimizer_name(optimizer),
                           .bytes = work[optimizer].traffic * bytes,
                           .flops = work[optimizer].flops * (bytes / dtype_bytes(b->shape->model->dtype)),
                           .kernels = n_params,
                           .members = 1,
                           .kind = OP_OPTIM};
    return plan_add_cost(b->plan, &key);
}

/* Weights and moments of a layer, or of one parameter of it. */
static uint32_t piece(struct build *b, const struct build_rank *r, enum value_class cls, uint32_t layer,
                      uint32_t param)
{
    return param == OP_NONE ? build_value(r, cls, layer) : build_param(b, r, cls, param);
}

static void update(struct build *b, const struct build_rank *r, uint32_t layer, uint32_t param,
                   uint32_t gradient)
{
    plan_access(b->plan, piece(b, r, VALUE_WEIGHT, layer, param), ACCESS_UPDATE);
    plan_access(b->plan, gradient, ACCESS_READ);
    if (b->shape->optimizer != OPTIMIZER_SGD)
        plan_access(b->plan, piece(b, r, VALUE_MOMENT, layer, param), ACCESS_UPDATE);
    if (b->shape->optimizer == OPTIMIZER_ADAM)
        plan_access(b->plan, piece(b, r, VALUE_VARIANCE, layer, param), ACCESS_UPDATE);
}

uint32_t build_optimizer(struct build *b, const struct build_rank *r, struct build_gradients g,
                         uint32_t bucket)
{
    struct params params = params_of(b, g, bucket);
    struct op_tag tag = tag_of(b, OP_OPTIM, params);
    tag.bucket = bucket;
    uint32_t op = build_compute(b, r, &tag, build_optimizer_cost(b, bytes_of(b, params), params.n));
    for (uint32_t i = 0; g.step && i < params.n; i++)
        update(b, r, LAYER_NONE, params.ids[i], g.first + g.step * params.ids[i]);
    for (uint32_t i = 0; !g.step && i < b->plan->t.n_layers; i++)
        if (b->plan->t.layers[i].n_params)
            update(b, r, i, OP_NONE, build_value(r, VALUE_GRAD, i));
    if (b->shape->clip)
        plan_access(b->plan, r->norm, ACCESS_READ);
    return op;
}
