/* torch.nn.DataParallel (torch/nn/parallel, torch/csrc/cuda/comm.cpp of PyTorch 2.7): rank 0 scatters the
 * mini-batch, broadcasts the parameters, every step, gathers what came out, and reduces the gradients.
 * Because the broadcast is one node of the graph, its backward, the reduction, starts when all gradients of
 * all ranks are there: nothing overlaps. */
#include "plan/build.h"
#include "plan/bucket.h"

#define CHUNK_BYTES ((uint64_t)10 << 20) /* of parameters in a broadcast, of gradients in a reduction */
#define OPS_MAX     (1u << 24)

/* Parameters that travel together. */
struct parcels {
    uint32_t n;
    struct bucket_row *rows;
    uint32_t *members;
};

struct dp {
    struct build b;
    uint32_t ranks; /* that have samples: the others take no part */
    struct parcels weights, gradients;
    uint32_t whole_logits, whole_deltas; /* on rank 0: of all samples */
    uint32_t losses;                     /* on rank 0: a double a rank, then a view of each */
    uint32_t input_op;
};

/* One rank while it is built. */
struct dp_rank {
    struct dp *dp;
    struct build_rank r;
    uint32_t comm, coll; /* lane; collectives so far */
};

/* --- what travels together */

/* _take_tensors of torch/_utils.py closes before what would not fit; take_tensors of
 * csrc/utils/tensor_flatten.cpp behind what filled it: bucket_assign's rule. */
static uint32_t assign_before(uint32_t n, const uint64_t *bytes, uint64_t limit, struct bucket_row *rows)
{
    uint32_t n_rows = 0;
    struct bucket_row open = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (open.n_params && open.bytes + bytes[i] > limit) {
            rows[n_rows++] = open;
            open = (struct bucket_row){.first_param = i};
        }
        open.bytes += bytes[i];
        open.n_params++;
    }
    if (open.n_params)
        rows[n_rows++] = open;
    return n_rows;
}

static struct parcels pack(const struct model *model, bool gradients)
{
    const uint32_t n = model->n_params;
    struct parcels p = {0, g_new0(struct bucket_row, n), g_new(uint32_t, n)};
    g_autofree uint64_t *bytes = g_new(uint64_t, n);
    g_autofree uint32_t *ids = g_new(uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = p.members[i] = i;
        bytes[i] = model->params[i].numel * dtype_bytes(model->dtype);
    }
    p.n = gradients ? assign_before(n, bytes, CHUNK_BYTES, p.rows)
                    : bucket_assign(n, bytes, ids, CHUNK_BYTES, CHUNK_BYTES, p.rows, p.members);
    return p;
}

static void release(struct parcels *p)
{
    g_free(p->rows);
    g_free(p->members);
}

/* --- collectives, in the same order on every rank: number, gang and collective are one */

static uint32_t add_collective(struct dp_rank *d, enum op_kind kind, uint64_t bytes, uint64_t root_bytes)
{
    struct plan *plan = d->dp->b.plan;
    struct op_tag tag = build_tag(kind);
    tag.gang = tag.coll = d->coll++;
    tag.bytes = bytes;
    const struct cost_key key = {.bytes = root_bytes,
                                 .members = (uint16_t)d->dp->ranks,
                                 .nodes = build_nodes(d->dp->b.shape),
                                 .kernels = 1,
                                 .kind = (uint8_t)kind};
    return plan_add_op(plan, d->comm, &tag, plan_add_cost(plan, &key));
}

/* What a sample takes in each of the pieces that are scattered or gathered. */
struct shares {
    enum op_kind kind;
    uint32_t n;
    uint64_t bytes[2];
    bool a_rank; /* that a rank takes, whatever its samples */
};

static uint64_t share_bytes(const struct dp *dp, const struct shares *s, uint32_t piece, uint32_t rank)
{
    return s->bytes[piece] * (s->a_rank ? 1 : dp->b.plan->rank_rows[rank]);
}

/* Pieces of each other rank, view after view from `first` on at rank 0; the rank's own elsewhere. */
static uint32_t add_shares(struct dp_rank *d, const struct shares *s, uint32_t first)
{
    const struct dp *dp = d->dp;
    struct plan *plan = dp->b.plan;
    const bool root = d->r.rank == 0, writes = (s->kind == OP_SCATTER) != root;
    uint64_t all = 0, own = 0;
    for (uint32_t rank = 1; rank < dp->ranks; rank++)
        for (uint32_t i = 0; i < s->n; i++) {
            all += share_bytes(dp, s, i, rank);
            own += rank == d->r.rank ? share_bytes(dp, s, i, rank) : 0;
        }
    const uint32_t op = add_collective(d, s->kind, root ? all : own, all);
    for (uint32_t i = 0; i < s->n * (root ? dp->ranks - 1 : 1); i++)
        plan_access(plan, first + i, writes ? ACCESS_WRITE : ACCESS_READ);
    return op;
}

/* Views of rank 0's values of all samples, value by value: the pieces of ranks 1, 2 and so on. */
static uint32_t add_views(const struct dp *dp, const struct shares *s, const uint32_t *roots,
                          const uint64_t *from)
{
    struct plan *plan = dp->b.plan;
    const uint32_t first = plan->n_values;
    for (uint32_t rank = 1; rank < dp->ranks; rank++)
        for (uint32_t i = 0; i < s->n; i++) {
            uint64_t at = from[i];
            for (uint32_t before = 0; before < rank; before++)
                at += share_bytes(dp, s, i, before);
            plan_add_view(plan, roots[i], at, share_bytes(dp, s, i, rank));
        }
    return first;
}

static bool gathers_logits(const struct dp *dp)
{
    return dp->b.shape->gather == GATHER_LOGITS;
}

/* --- the data: rank 0 reads it, the others get their chunk */

static uint64_t token_bytes(const struct model *m, uint32_t samples)
{
    return sizeof(int32_t) * (uint64_t)samples * m->dims.seq;
}

static uint64_t target_bytes(const struct model *m, uint32_t samples)
{
    return model_input_bytes(m, samples) - token_bytes(m, samples);
}

static void add_input(struct dp_rank *d)
{
    struct build *b = &d->dp->b;
    struct op_tag tag = build_tag(OP_INPUT);
    tag.micro = OP_NONE;
    d->dp->input_op = plan_add_op(b->plan, d->r.copy, &tag, build_input_cost(b, b->shape->batch));
    plan_access(b->plan, d->r.inputs, ACCESS_WRITE);
}

/* Targets stay on rank 0 where the loss does.  Rank 0's own chunk is where it lies. */
static uint32_t scatter_input(struct dp_rank *d)
{
    struct dp *dp = d->dp;
    const struct model *m = dp->b.shape->model;
    const uint32_t rows = dp->b.plan->rank_rows[d->r.rank], batch = dp->b.shape->batch;
    const uint32_t all = d->r.rank ? rows : batch;
    const struct shares s = {
        OP_SCATTER, gathers_logits(dp) ? 1 : 2, {token_bytes(m, 1), target_bytes(m, 1)}, false};
    d->r.tokens = plan_add_view(dp->b.plan, d->r.inputs, 0, token_bytes(m, rows));
    if (!gathers_logits(dp))
        d->r.targets = plan_add_view(dp->b.plan, d->r.inputs, token_bytes(m, all), target_bytes(m, rows));
    if (d->r.rank)
        return add_shares(d, &s, d->r.tokens);
    add_input(d);
    if (dp->ranks == 1)
        return dp->input_op;
    const uint32_t roots[] = {d->r.inputs, d->r.inputs};
    const uint64_t from[] = {0, token_bytes(m, batch)};
    const uint32_t first = add_views(dp, &s, roots, from), op = add_shares(d, &s, first);
    plan_dep(dp->b.plan, dp->input_op);
    return op;
}

static void broadcast_weights(struct dp_rank *d)
{
    struct dp *dp = d->dp;
    const struct tables *t = &dp->b.plan->t;
    for (uint32_t i = 0; i < dp->weights.n && dp->ranks > 1; i++) {
        const struct bucket_row *row = &dp->weights.rows[i];
        d->r.weights_ready = add_collective(d, OP_BROADCAST, row->bytes, row->bytes);
        struct op_tag *tag = &dp->b.plan->ops[d->r.weights_ready].tag;
        tag->layer0 = (uint16_t)t->params[row->first_param].layer;
        tag->layer1 = (uint16_t)(t->params[row->first_param + row->n_params - 1].layer + 1);
        for (uint32_t k = row->first_param; k < row->first_param + row->n_params; k++)
            plan_access(dp->b.plan, build_param(&dp->b, &d->r, VALUE_WEIGHT, k),
                        d->r.rank ? ACCESS_WRITE : ACCESS_READ);
    }
}

/* --- outputs and loss */

/* Rank 0 has room for the outputs of all, of which its own are the first. */
static void make_room(struct dp_rank *d)
{
    struct dp *dp = d->dp;
    struct build *b = &dp->b;
    const uint32_t last = b->shape->model->n_layers - 1, rows = b->plan->rank_rows[0];
    if (d->r.rank || !gathers_logits(dp))
        return;
    const struct {
        enum value_class cls;
        uint32_t *whole, *own;
    } both[] = {{VALUE_ACT, &dp->whole_logits, &d->r.logits}, {VALUE_DELTA, &dp->whole_deltas, &d->r.deltas}};
    for (unsigned i = 0; i < G_N_ELEMENTS(both); i++) {
        *both[i].whole = build_add_value(b, 0, both[i].cls, last, OP_NONE,
                                         build_value_bytes(b, both[i].cls, last, b->shape->batch));
        *both[i].own =
            plan_add_view(b->plan, *both[i].whole, 0, build_value_bytes(b, both[i].cls, last, rows));
    }
}

static uint32_t move_outputs(struct dp_rank *d, enum op_kind kind, enum value_class cls, uint32_t after)
{
    struct dp *dp = d->dp;
    const uint32_t last = dp->b.shape->model->n_layers - 1;
    const struct shares s = {kind, 1, {build_value_bytes(&dp->b, cls, last, 1)}, false};
    const uint64_t from[] = {0};
    const uint32_t first =
        d->r.rank ? build_value(&d->r, cls, last)
                  : add_views(dp, &s, cls == VALUE_ACT ? &dp->whole_logits : &dp->whole_deltas, from);
    const uint32_t op = add_shares(d, &s, first);
    if (after != OP_NONE)
        plan_dep(dp->b.plan, after);
    return op;
}

static uint32_t add_whole_loss(struct dp_rank *d, uint32_t after)
{
    struct dp *dp = d->dp;
    struct build *b = &dp->b;
    struct op_tag tag = build_tag(OP_LOSS);
    tag.micro = OP_NONE;
    const uint32_t op = build_compute(b, &d->r, &tag, build_loss_cost(b, b->shape->batch));
    plan_dep(b->plan, dp->input_op);
    if (after != OP_NONE)
        plan_dep(b->plan, after);
    plan_access(b->plan, dp->whole_logits, ACCESS_READ);
    plan_access(b->plan, d->r.inputs, ACCESS_READ);
    plan_access(b->plan, dp->whole_deltas, ACCESS_WRITE);
    plan_access(b->plan, d->r.losses, ACCESS_WRITE);
    return op;
}

/* The loss of all logits is rank 0's; the op after which backward may begin. */
static uint32_t loss_of_logits(struct dp_rank *d)
{
    const bool apart = d->dp->ranks > 1;
    const uint32_t forward = d->dp->b.plan->n_ops - 1;
    const uint32_t gathered = apart ? move_outputs(d, OP_GATHER, VALUE_ACT, forward) : OP_NONE;
    const uint32_t loss = d->r.rank ? OP_NONE : add_whole_loss(d, gathered);
    return apart ? move_outputs(d, OP_SCATTER, VALUE_DELTA, loss) : loss;
}

static uint32_t add_total(struct dp_rank *d, uint32_t after)
{
    struct plan *plan = d->dp->b.plan;
    const struct op_tag tag = build_tag(OP_TOTAL);
    const struct cost_key key = {
        .bytes = (d->dp->ranks + 1) * sizeof(double), .kernels = 1, .members = 1, .kind = OP_TOTAL};
    const uint32_t op = build_compute(&d->dp->b, &d->r, &tag, plan_add_cost(plan, &key));
    plan_dep(plan, after);
    plan_access(plan, d->dp->losses, ACCESS_READ);
    plan_access(plan, d->r.losses, ACCESS_WRITE);
    return op;
}

/* Each rank has its loss and its gradient, by a weight that everybody knows; rank 0 adds the losses up, and
 * when it has, backward begins: what is scattered then says no more than that. */
static uint32_t loss_of_ranks(struct dp_rank *d, uint32_t input)
{
    struct dp *dp = d->dp;
    struct build *b = &dp->b;
    const struct build_micro m = build_micro(b, &d->r, 0);
    const struct shares up = {OP_GATHER, 1, {sizeof(double)}, true},
                        down = {OP_SCATTER, 1, {sizeof(double)}, true};
    if (d->r.rank == 0) {
        dp->losses = build_add_value(b, 0, VALUE_NORMS, OP_NONE, 0, dp->ranks * sizeof(double));
        for (uint32_t i = 0; i < dp->ranks; i++)
            plan_add_view(b->plan, dp->losses, i * sizeof(double), sizeof(double));
        d->r.loss = dp->losses + 1;
    }
    const uint32_t loss = build_loss(b, &d->r, &m, input);
    if (dp->ranks == 1)
        return add_total(d, loss);
    const uint32_t gathered = add_shares(d, &up, d->r.rank ? d->r.losses : dp->losses + 2);
    plan_dep(b->plan, loss);
    const uint32_t total = d->r.rank ? OP_NONE : add_total(d, gathered);
    const uint32_t go =
        d->r.rank ? build_add_value(b, d->r.rank, VALUE_SCRATCH, OP_NONE, 0, sizeof(double)) : dp->losses + 2;
    const uint32_t op = add_shares(d, &down, go);
    if (total != OP_NONE)
        plan_dep(b->plan, total);
    return op;
}

/* --- backward */

static uint32_t reduce_gradients(struct dp_rank *d)
{
    struct dp *dp = d->dp;
    const struct tables *t = &dp->b.plan->t;
    const uint32_t after = dp->b.plan->n_ops - 1;
    uint32_t op = after;
    for (uint32_t i = 0; i < dp->gradients.n && dp->ranks > 1; i++) {
        const struct bucket_row *row = &dp->gradients.rows[i];
        op = add_collective(d, OP_REDUCE, row->bytes, row->bytes);
        plan_dep(dp->b.plan, after);
        struct op_tag *tag = &dp->b.plan->ops[op].tag;
        tag->layer0 = (uint16_t)t->params[row->first_param].layer;
        tag->layer1 = (uint16_t)(t->params[row->first_param + row->n_params - 1].layer + 1);
        for (uint32_t k = row->first_param; k < row->first_param + row->n_params; k++)
            plan_access(dp->b.plan, build_param(&dp->b, &d->r, VALUE_GRAD, k),
                        d->r.rank ? ACCESS_READ : ACCESS_UPDATE);
    }
    return op;
}

static void update(struct dp_rank *d, uint32_t after)
{
    struct build *b = &d->dp->b;
    const struct build_gradients whole_layers = {0};
    if (d->r.rank)
        return;
    if (b->shape->clip)
        build_norm(b, &d->r, whole_layers);
    else
        build_optimizer(b, &d->r, whole_layers, OP_NONE);
    plan_dep(b->plan, after);
    if (b->shape->clip)
        build_optimizer(b, &d->r, whole_layers, OP_NONE);
}

static void build_one(struct dp *dp, uint32_t rank)
{
    struct build *b = &dp->b;
    struct dp_rank d = {.dp = dp, .r = build_rank(b, rank)};
    d.comm = build_lane(b, "comm", rank, LANE_COMM);
    if (rank >= dp->ranks)
        return;
    make_room(&d);
    const struct build_micro m = build_micro(b, &d.r, 0);
    const uint32_t input = scatter_input(&d);
    broadcast_weights(&d);
    build_layers(b, &d.r, &m, input);
    const uint32_t go = gathers_logits(dp) ? loss_of_logits(&d) : loss_of_ranks(&d, input);
    for (uint32_t layer = b->shape->model->n_layers; layer-- > 0;) {
        build_backward(b, &d.r, &m, layer);
        if (layer + 1 == b->shape->model->n_layers)
            plan_dep(b->plan, go);
    }
    update(&d, reduce_gradients(&d));
}

/* --- what the losses count */

/* Logits: rank 0's is the step's.  Losses: each rank's mean counts alike, however many samples it has, as
 * PyTorch's mean of means; a sum counts samples. */
static void weigh(struct dp *dp)
{
    struct plan *plan = dp->b.plan;
    const struct shape *shape = dp->b.shape;
    plan->batch = shape->batch;
    plan->micro_weight = g_new0(double, shape->ranks);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        plan->rank_share[r] = 1;
        plan->micro_weight[r] = shape->loss_sum ? plan->rank_rows[r] / (double)shape->batch : 1.0 / dp->ranks;
    }
    plan->loss_scale = shape->loss_sum ? shape->batch : 1;
}

static uint32_t n_collectives(const struct dp *dp)
{
    return dp->ranks > 1 ? 3 + dp->weights.n + dp->gradients.n : 0;
}

static void build(const struct shape *shape, struct plan *plan)
{
    struct dp dp = {.weights = pack(shape->model, false), .gradients = pack(shape->model, true)};
    build_begin(&dp.b, shape, mode_dp.name, plan);
    dp.b.replicas = true;
    while (dp.ranks < shape->ranks && plan->rank_rows[dp.ranks])
        dp.ranks++;
    weigh(&dp);
    plan->n_colls = n_collectives(&dp);
    for (uint32_t i = 0; i < plan->n_colls; i++)
        plan_add_gang(plan, 0);
    for (uint32_t rank = 0; rank < shape->ranks; rank++)
        build_one(&dp, rank);
    if (shape->gil)
        build_launched(&dp.b);
    release(&dp.weights);
    release(&dp.gradients);
    build_end(&dp.b);
}

static bool check(const struct shape *shape, GError **error)
{
    if (!build_check(shape, error))
        return false;
    if (shape->batch < 1 || !model_fits(shape->model, shape->batch)) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "--batch %u is %s for model %s", shape->batch,
                    shape->batch ? "too large" : "too small", shape->model->name);
        return false;
    }
    if (shape->accumulate > 1) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "--accumulate %u: DataParallel takes a step's samples in one pass, give 1",
                    shape->accumulate);
        return false;
    }
    const uint64_t ops =
        (uint64_t)shape->ranks * (2 * shape->model->n_layers + 8 + 8 * (uint64_t)shape->model->n_params);
    if (ops <= OPS_MAX)
        return true;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "--ranks %u would make up to %" G_GUINT64_FORMAT " operations and the most is %u, give fewer",
                shape->ranks, ops, OPS_MAX);
    return false;
}

const struct mode mode_dp = {
    .name = "dp",
    .summary = "one process, rank 0 broadcasts weights and reduces gradients each step (nn.DataParallel)",
    .check = check,
    .build = build,
};
