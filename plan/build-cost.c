#include "plan/build.h"

/* The memory that a layer's forward or backward reads and writes once each.  Of an embedding's tables forward
 * reads only the rows that it looks up.  The gradients by a layer's inputs need its weights, those by its
 * weights its input and what is pending; both need what is saved, whose parts they share unevenly. */
static uint64_t traffic(const struct build *b, uint32_t samples, enum op_kind kind, uint32_t layer)
{
    const struct model *model = b->shape->model;
    uint64_t x =
        layer ? build_value_bytes(b, VALUE_ACT, layer - 1, samples) : model_input_bytes(model, samples);
    uint64_t y = build_value_bytes(b, VALUE_ACT, layer, samples);
    uint64_t weight = build_value_bytes(b, VALUE_WEIGHT, build_weight_layer(model, layer), samples);
    uint64_t read = model->layers[layer].kind == LAYER_EMBEDDING ? MIN(weight, 3 * y) : weight;
    uint64_t saved = build_value_bytes(b, VALUE_SAVED, layer, samples);
    uint64_t scratch = layer_scratch_numel(model, layer, samples) * dtype_bytes(model->dtype);
    uint64_t pending = build_value_bytes(b, VALUE_PENDING, layer, samples);
    switch (kind) {
    case OP_FWD:
    case OP_RECOMPUTE:
        return read + x + y + saved + scratch;
    case OP_BWD_INPUT:
        return read + x + y + saved + scratch + pending;
    case OP_BWD_WEIGHT:
        return layer ? x + y + saved + pending + weight : read + x + y + saved + scratch + weight;
    default:
        return read + x + y + saved + scratch + weight + (layer ? x : 0);
    }
}

/* What layer.def says of a kind of op of one layer. */
struct layer_numbers {
    uint64_t (*flops)(const struct model *, uint32_t layer, uint32_t samples);
    uint32_t (*kernels)(const struct model *, uint32_t layer);
    unsigned (*gemms)(const struct model *, uint32_t layer, uint32_t samples, struct gemm *);
};

static const struct layer_numbers *layer_numbers(enum op_kind kind)
{
    static const struct layer_numbers numbers[OP_KINDS] = {
        [OP_FWD] = {layer_forward_flops, layer_forward_kernels, layer_forward_gemms},
        [OP_RECOMPUTE] = {layer_forward_flops, layer_forward_kernels, layer_forward_gemms},
        [OP_BWD] = {layer_backward_flops, layer_backward_kernels, layer_backward_gemms},
        [OP_BWD_INPUT] = {layer_input_flops, layer_input_kernels, layer_input_gemms},
        [OP_BWD_WEIGHT] = {layer_weight_flops, layer_weight_kernels, layer_weight_gemms}};
    return &numbers[kind];
}

uint32_t build_layer_cost(struct build *b, enum op_kind kind, uint32_t layer, uint32_t samples, double share,
                          bool paired)
{
    const struct model *model = b->shape->model;
    struct cost_key key = {
        .shape = b->layer_shapes[layer],
        .bytes = traffic(b, samples, kind, layer),
        .flops = build_layer_flops(b, kind, layer, samples),
        .share = share,
        .rows = samples * model->dims.seq,
        .kernels = layer_numbers(kind)->kernels(model, layer),
        .members = 1,
        .kind = (uint8_t)kind,
        .paired = paired,
    };
    layer_numbers(kind)->gemms(model, layer, samples, key.gemms);
    return plan_add_cost(b->plan, &key);
}

uint64_t build_layer_flops(const struct build *b, enum op_kind kind, uint32_t layer, uint32_t samples)
{
    return layer_numbers(kind)->flops(b->shape->model, layer, samples);
}

uint32_t build_input_cost(struct build *b, uint32_t samples)
{
    struct cost_key key = {.bytes = model_input_bytes(b->shape->model, samples),
                           .rows = samples * b->shape->model->dims.seq,
                           .kernels = 1,
                           .members = 1,
                           .kind = OP_INPUT};
    return plan_add_cost(b->plan, &key);
}

uint32_t build_loss_cost(struct build *b, uint32_t samples)
{
    uint32_t last = b->shape->model->n_layers - 1;
    struct cost_key key = {.shape = b->layer_shapes[last],
                           .bytes = 2 * build_value_bytes(b, VALUE_ACT, last, samples),
                           .rows = samples * b->shape->model->dims.seq,
                           .kernels = 2,
                           .members = 1,
                           .kind = OP_LOSS};
    return plan_add_cost(b->plan, &key);
}
