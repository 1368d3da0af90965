#include "plan/build.h"

/* The values of a layer, as they follow each other. */
static const uint8_t layer_values[] = {VALUE_WEIGHT, VALUE_GRAD,   VALUE_ACT,     VALUE_SAVED,
                                       VALUE_DELTA,  VALUE_MOMENT, VALUE_VARIANCE};
static const uint8_t optimizer_moments[OPTIMIZERS] = {
    [OPTIMIZER_SGD] = 0, [OPTIMIZER_MOMENTUM] = 1, [OPTIMIZER_ADAM] = 2};

static uint32_t n_micro(const struct shape *shape)
{
    return MAX(shape->accumulate, 1);
}

static uint32_t most_samples(const struct model *model)
{
    uint32_t low = 1, high = UINT32_MAX;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2 + 1;
        if (model_fits(model, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool refuse(char *what, GError **error)
{
    if (!what)
        return true;
    g_set_error_literal(error, PLAN_ERROR, PLAN_ERROR_INPUT, what);
    g_free(what);
    return false;
}

bool build_check(const struct shape *shape, GError **error)
{
    char *what = NULL;
    if (shape->ranks < 1 || shape->ranks > PLAN_RANKS_MAX)
        what = g_strdup_printf("--ranks %u is out of range, give 1 to %u", shape->ranks, PLAN_RANKS_MAX);
    else if (shape->devices > PLAN_RANKS_MAX)
        what = g_strdup_printf("%u devices are out of range, give 1 to %u, or 0 for one a rank",
                               shape->devices, PLAN_RANKS_MAX);
    else if (shape->optimizer >= OPTIMIZERS)
        what = g_strdup_printf("--optimizer is unknown, give %s or %s", optimizer_name(OPTIMIZER_SGD),
                               optimizer_name(OPTIMIZER_ADAM));
    else if (shape->overlap >= OVERLAPS)
        what = g_strdup_printf("--overlap is unknown, give %s, %s or %s", overlap_name(OVERLAP_NONE),
                               overlap_name(OVERLAP_BACKWARD), overlap_name(OVERLAP_OPTIMIZER));
    else if (shape->algo >= ALLREDUCES)
        what =
            g_strdup_printf("--allreduce is unknown, give %s, %s, %s or %s", allreduce_name(ALLREDUCE_RING),
                            allreduce_name(ALLREDUCE_TREE), allreduce_name(ALLREDUCE_REDUCE_BROADCAST),
                            allreduce_name(ALLREDUCE_ALL_TO_ALL));
    return refuse(what, error);
}

bool build_check_divided(const struct shape *shape, GError **error)
{
    char *what = NULL;
    if (!build_check(shape, error))
        return false;
    if (shape->batch < shape->ranks)
        what = g_strdup_printf("--batch %u is less than a sample a rank, give at least %u or fewer --ranks",
                               shape->batch, shape->ranks);
    else if (!model_fits(shape->model, chunk_size(shape->batch, shape->ranks, 0)))
        what = g_strdup_printf("--batch %u is too large for model %s, give at most %u a rank", shape->batch,
                               shape->model->name, most_samples(shape->model));
    else if (n_micro(shape) > chunk_size(shape->batch, shape->ranks, 0))
        what = g_strdup_printf("--accumulate %u is more than the samples of a rank, give 1 to %u",
                               shape->accumulate, chunk_size(shape->batch, shape->ranks, 0));
    return refuse(what, error);
}

static void fill_tables(const struct shape *shape, const char *mode, struct tables *t)
{
    const struct model *model = shape->model;
    t->mode = tables_intern(t, mode);
    t->model = tables_intern(t, model->name);
    t->n_ranks = shape->ranks;
    t->n_layers = model->n_layers;
    t->n_params = model->n_params;
    t->layers = g_new(struct layer_row, model->n_layers);
    t->params = g_new(struct param_row, model->n_params);
    for (uint32_t i = 0; i < model->n_layers; i++) {
        const struct layer *l = &model->layers[i];
        t->layers[i] = (struct layer_row){tables_intern(t, l->name), tables_intern(t, l->block),
                                          l->first_param, l->n_params};
    }
    for (uint32_t i = 0; i < model->n_params; i++) {
        const struct param *p = &model->params[i];
        t->params[i] = (struct param_row){tables_intern(t, p->name), p->numel * dtype_bytes(model->dtype),
                                          p->layer, OP_NONE};
    }
}

/* Ranks divide the samples. */
static void fill_rows(const struct shape *shape, struct plan *plan)
{
    uint32_t k = plan->n_micro = n_micro(shape);
    plan->rank_share = g_new(double, shape->ranks);
    plan->rank_rows = g_new(uint32_t, shape->ranks);
    plan->micro_rows = g_new(uint32_t, (gsize)shape->ranks * k);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        uint32_t rows = plan->rank_rows[r] = chunk_size(shape->batch, shape->ranks, r);
        plan->rank_share[r] = (double)rows / shape->batch;
        for (uint32_t m = 0; m < k; m++)
            plan->micro_rows[(gsize)r * k + m] = chunk_size(rows, k, m);
    }
}

static uint32_t device_of(const struct shape *shape, uint32_t rank)
{
    return shape->devices ? rank % shape->devices : rank;
}

static uint32_t node_of(const struct shape *shape, uint32_t device)
{
    return shape->node_devices ? device / shape->node_devices : 0;
}

uint16_t build_nodes(const struct shape *shape)
{
    uint32_t devices = shape->devices ? MIN(shape->devices, shape->ranks) : shape->ranks;
    return (uint16_t)(node_of(shape, devices - 1) + 1);
}

uint32_t build_node(const struct shape *shape, uint32_t rank)
{
    return node_of(shape, device_of(shape, rank));
}

uint32_t build_lane(struct build *b, const char *name, uint32_t rank, enum lane_class cls)
{
    uint32_t device = device_of(b->shape, rank);
    struct lane lane = {.name = name,
                        .rank = rank,
                        .device = device,
                        .node = node_of(b->shape, device),
                        .peer = OP_NONE,
                        .cls = (uint8_t)cls};
    return plan_add_lane(b->plan, &lane);
}

void build_begin(struct build *b, const struct shape *shape, const char *mode, struct plan *plan)
{
    const struct model *model = shape->model;
    *b = (struct build){shape, plan, g_new0(char *, model->n_layers + 1)};
    for (uint32_t i = 0; i < model->n_layers; i++)
        b->layer_shapes[i] = layer_shape(model, i);
    fill_tables(shape, mode, &plan->t);
    plan->optimizer = shape->optimizer;
    plan->ini = tables_intern(&plan->t, model->ini);
    plan->override = model->override;
    if (shape->chunks)
        pipeline_rows(shape, plan);
    else
        fill_rows(shape, plan);
}

void build_end(struct build *b)
{
    g_strfreev(b->layer_shapes);
}

static bool has_head_tied(const struct model *model, uint32_t layer)
{
    return model->dims.tied && model->layers[layer].kind == LAYER_HEAD;
}

uint32_t build_weight_layer(const struct model *model, uint32_t layer)
{
    return has_head_tied(model, layer) ? 0 : layer;
}

static uint64_t bytes_of(const struct build *b, uint64_t numel)
{
    return numel * dtype_bytes(b->shape->model->dtype);
}

uint64_t build_value_bytes(const struct build *b, enum value_class cls, uint32_t layer, uint32_t samples)
{
    const struct model *model = b->shape->model;
    switch (cls) {
    case VALUE_WEIGHT:
    case VALUE_GRAD:
    case VALUE_MOMENT:
    case VALUE_VARIANCE:
        return bytes_of(b, model->layers[layer].numel);
    case VALUE_SAVED:
        return bytes_of(b, layer_saved_numel(model, layer, samples));
    case VALUE_PENDING:
        return bytes_of(b, layer_pending_numel(model, layer, samples));
    default:
        return bytes_of(b, layer_out_numel(model, layer, samples));
    }
}

static uint8_t value_flags(enum value_class cls)
{
    switch (cls) {
    case VALUE_WEIGHT:
    case VALUE_MOMENT:
    case VALUE_VARIANCE:
        return VALUE_LIVE_IN | VALUE_LIVE_OUT;
    case VALUE_GRAD:
    case VALUE_LOSS:
        return VALUE_LIVE_OUT;
    default:
        return 0;
    }
}

uint32_t build_add_value(struct build *b, uint32_t rank, enum value_class cls, uint32_t index, uint32_t micro,
                         uint64_t bytes)
{
    struct value v = {.bytes = bytes,
                      .rank = rank,
                      .index = index,
                      .micro = micro,
                      .cls = (uint8_t)cls,
                      .flags = value_flags(cls)};
    return plan_add_value(b->plan, &v);
}

/* Whether the rank's weights, gradients and moments are the model's, not a copy for a step. */
static bool keeps(const struct build *b, uint32_t rank)
{
    return !b->replicas || rank == 0;
}

static uint32_t micro_rows(const struct build *b, const struct build_rank *r, uint32_t micro)
{
    return b->plan->micro_rows[(gsize)r->rank * b->plan->n_micro + micro];
}

/* The first micro-batch is the largest: what it needs is enough for all. */
static void add_layers(struct build *b, struct build_rank *r)
{
    const struct model *model = b->shape->model;
    uint32_t samples = micro_rows(b, r, 0);
    uint64_t scratch = 0;
    r->layers = b->plan->n_values;
    r->layer_values = (uint32_t)G_N_ELEMENTS(layer_values) - 2 +
                      (keeps(b, r->rank) ? optimizer_moments[b->shape->optimizer] : 0);
    for (uint32_t i = 0; i < model->n_layers; i++) {
        for (uint32_t k = 0; k < r->layer_values; k++)
            build_add_value(b, r->rank, layer_values[k], i, 0,
                            build_value_bytes(b, layer_values[k], i, samples));
        for (uint32_t k = 0; k < r->layer_values && !keeps(b, r->rank); k++)
            b->plan->values[r->layers + i * r->layer_values + k].flags = 0;
        scratch = MAX(scratch, bytes_of(b, layer_scratch_numel(model, i, samples)));
    }
    r->scratch = build_add_value(b, r->rank, VALUE_SCRATCH, OP_NONE, 0, scratch);
}

/* Where ranks are copies, the first one reads the data of all. */
static uint32_t input_rows(const struct build *b, const struct build_rank *r, uint32_t micro)
{
    return b->replicas && r->rank == 0 ? b->shape->batch : micro_rows(b, r, micro);
}

struct build_rank build_rank(struct build *b, uint32_t rank)
{
    struct build_rank r = {.rank = rank,
                           .norm = OP_NONE,
                           .copy = OP_NONE,
                           .weights_ready = OP_NONE,
                           .tokens = OP_NONE,
                           .targets = OP_NONE,
                           .logits = OP_NONE,
                           .deltas = OP_NONE,
                           .loss = OP_NONE};
    r.compute = build_lane(b, "compute", rank, LANE_COMPUTE);
    r.launches = b->shape->gil ? build_lane(b, "launches", rank, LANE_HOST) : OP_NONE;
    if (keeps(b, rank))
        r.copy = build_lane(b, "copy", rank, LANE_COPY);
    add_layers(b, &r);
    r.inputs = b->plan->n_values;
    for (uint32_t m = 0; m < b->plan->n_micro; m++)
        build_add_value(b, r.rank, VALUE_INPUT, OP_NONE, b->replicas && rank == 0 ? OP_NONE : m,
                        model_input_bytes(b->shape->model, input_rows(b, &r, m)));
    r.losses = b->plan->n_values;
    for (uint32_t m = 0; m < b->plan->n_micro; m++)
        build_add_value(b, r.rank, VALUE_LOSS, OP_NONE, m, sizeof(double));
    if (b->shape->clip && keeps(b, rank))
        r.norm = build_add_value(b, r.rank, VALUE_NORM, OP_NONE, 0, 2 * sizeof(double));
    return r;
}

struct build_micro build_micro(const struct build *b, const struct build_rank *r, uint32_t micro)
{
    const struct model *model = b->shape->model;
    struct build_micro m = {.micro = micro, .samples = micro_rows(b, r, micro)};
    for (uint32_t i = 0; i < model->n_layers; i++) {
        m.forward_flops += (double)layer_forward_flops(model, i, m.samples);
        m.backward_flops += (double)layer_backward_flops(model, i, m.samples);
    }
    return m;
}

uint32_t build_value(const struct build_rank *r, enum value_class cls, uint32_t layer)
{
    uint32_t k = 0;
    while (layer_values[k] != cls)
        k++;
    return r->layers + layer * r->layer_values + k;
}

uint32_t build_param(struct build *b, const struct build_rank *r, enum value_class cls, uint32_t param)
{
    const struct param *p = &b->shape->model->params[param];
    return plan_add_view(b->plan, build_value(r, cls, p->layer), bytes_of(b, p->offset),
                         bytes_of(b, p->numel));
}

struct op_tag build_tag(enum op_kind kind)
{
    return (struct op_tag){
        .kind = (uint8_t)kind,
        .layer0 = LAYER_NONE,
        .layer1 = LAYER_NONE,
        .chunk = LAYER_NONE,
        .hop = LAYER_NONE,
        .bucket = OP_NONE,
        .stage = STAGE_NONE,
        .gang = OP_NONE,
        .coll = OP_NONE,
    };
}

static uint32_t layer_cost(struct build *b, const struct build_micro *m, enum op_kind kind, uint32_t layer)
{
    double total = kind == OP_FWD ? m->forward_flops : m->backward_flops;
    double flops = (double)build_layer_flops(b, kind, layer, m->samples);
    return build_layer_cost(b, kind, layer, m->samples, total > 0 ? flops / total : 0, false);
}

uint32_t build_compute(struct build *b, const struct build_rank *r, const struct op_tag *tag, uint32_t cost)
{
    const uint32_t kernels = b->plan->costs[cost].kernels;
    if (r->launches == OP_NONE)
        return plan_add_op(b->plan, r->compute, tag, cost);
    struct op_tag launch = *tag;
    launch.kind = OP_LAUNCH;
    const struct cost_key key = {.rows = kernels, .kernels = kernels, .members = 1, .kind = OP_LAUNCH};
    const uint32_t launched = plan_add_op(b->plan, r->launches, &launch, plan_add_cost(b->plan, &key));
    const uint32_t op = plan_add_op(b->plan, r->compute, tag, cost);
    plan_dep(b->plan, launched);
    return op;
}

void build_launched(struct build *b)
{
    for (uint32_t i = 0; i < b->plan->n_costs; i++)
        if (op_lane_class(b->plan->costs[i].kind) == LANE_COMPUTE)
            b->plan->costs[i].kernels = 0;
}

static void add_input(struct build *b, const struct build_rank *r, const struct build_micro *m)
{
    struct op_tag tag = build_tag(OP_INPUT);
    tag.micro = m->micro;
    plan_add_op(b->plan, r->copy, &tag, build_input_cost(b, m->samples));
    plan_access(b->plan, r->inputs + m->micro, ACCESS_WRITE);
}

/* What stands in for a value of the rank's, if anything does. */
static uint32_t either(uint32_t instead, uint32_t value)
{
    return instead == OP_NONE ? value : instead;
}

static uint32_t out_value(const struct build *b, const struct build_rank *r, enum value_class cls,
                          uint32_t layer)
{
    const bool last = layer + 1 == b->shape->model->n_layers;
    return either(!last ? OP_NONE : cls == VALUE_ACT ? r->logits : r->deltas, build_value(r, cls, layer));
}

uint32_t build_loss(struct build *b, const struct build_rank *r, const struct build_micro *m, uint32_t input)
{
    uint32_t last = b->shape->model->n_layers - 1;
    struct op_tag tag = build_tag(OP_LOSS);
    tag.micro = m->micro;
    const uint32_t op = build_compute(b, r, &tag, build_loss_cost(b, m->samples));
    plan_dep(b->plan, input);
    plan_access(b->plan, out_value(b, r, VALUE_ACT, last), ACCESS_READ);
    plan_access(b->plan, either(r->targets, r->inputs + m->micro), ACCESS_READ);
    plan_access(b->plan, out_value(b, r, VALUE_DELTA, last), ACCESS_WRITE);
    plan_access(b->plan, either(r->loss, r->losses + m->micro), ACCESS_WRITE);
    return op;
}

/* A tied head multiplies by the words of the embedding, which begin its block. */
static uint32_t weight_value(struct build *b, const struct build_rank *r, uint32_t layer)
{
    const struct model *model = b->shape->model;
    return has_head_tied(model, layer) ? build_param(b, r, VALUE_WEIGHT, 0)
                                       : build_value(r, VALUE_WEIGHT, layer);
}

/* A tied head begins the gradients of the embedding, which then adds to them. */
static void access_grad(struct build *b, const struct build_rank *r, const struct build_micro *m,
                        uint32_t layer)
{
    const struct model *model = b->shape->model;
    const bool adds = m->micro > 0 || (model->dims.tied && layer == 0);
    plan_access(b->plan, build_value(r, VALUE_GRAD, has_head_tied(model, layer) ? 0 : layer),
                adds ? ACCESS_UPDATE : ACCESS_WRITE);
}

static void add_layer_op(struct build *b, const struct build_rank *r, const struct build_micro *m,
                         enum op_kind kind, uint32_t layer)
{
    struct op_tag tag = build_tag(kind);
    tag.micro = m->micro;
    tag.layer0 = (uint16_t)layer;
    tag.layer1 = (uint16_t)(layer + 1);
    build_compute(b, r, &tag, layer_cost(b, m, kind, layer));
    plan_access(b->plan, weight_value(b, r, layer), ACCESS_READ);
    plan_access(b->plan,
                layer ? build_value(r, VALUE_ACT, layer - 1) : either(r->tokens, r->inputs + m->micro),
                ACCESS_READ);
}

void build_layers(struct build *b, const struct build_rank *r, const struct build_micro *m, uint32_t input)
{
    for (uint32_t i = 0; i < b->shape->model->n_layers; i++) {
        add_layer_op(b, r, m, OP_FWD, i);
        if (i == 0)
            plan_dep(b->plan, input);
        if (i == 0 && r->weights_ready != OP_NONE)
            plan_dep(b->plan, r->weights_ready);
        plan_access(b->plan, out_value(b, r, VALUE_ACT, i), ACCESS_WRITE);
        plan_access(b->plan, build_value(r, VALUE_SAVED, i), ACCESS_WRITE);
        plan_access(b->plan, r->scratch, ACCESS_WRITE);
    }
}

void build_forward(struct build *b, const struct build_rank *r, const struct build_micro *m)
{
    add_input(b, r, m);
    const uint32_t input = b->plan->n_ops - 1;
    build_layers(b, r, m, input);
    build_loss(b, r, m, input);
}

void build_backward(struct build *b, const struct build_rank *r, const struct build_micro *m, uint32_t layer)
{
    add_layer_op(b, r, m, OP_BWD, layer);
    plan_access(b->plan, build_value(r, VALUE_SAVED, layer), ACCESS_READ);
    plan_access(b->plan, out_value(b, r, VALUE_DELTA, layer), ACCESS_READ);
    if (layer)
        plan_access(b->plan, build_value(r, VALUE_DELTA, layer - 1), ACCESS_WRITE);
    access_grad(b, r, m, layer);
    plan_access(b->plan, r->scratch, ACCESS_WRITE);
}
