/* Pipelines: the layers are divided into stages on the ranks, the mini-batch into micro-batches that go
 * through them, forward and backward, in the order of a schedule. */
#include <string.h>

#include "base/huge.h"
#include "plan/pipeline.h"
#include "plan/split.h"

#define OPS_MAX    (1u << 26)
#define STAGES_MAX 4096

/* --- sizes */

uint32_t pipeline_micro(const struct shape *shape)
{
    const uint32_t size = chunk_size(shape->batch, shape->chunks, 0);
    return (shape->batch + size - 1) / size;
}

static uint32_t n_rounds(const struct shape *shape)
{
    return MAX(shape->rounds, 1);
}

static bool is_asynchronous(const struct shape *shape)
{
    return !shape->actions && shape->schedule->asynchronous;
}

static struct pipe pipe_of(const struct shape *shape)
{
    return (struct pipe){shape->ranks, MAX(shape->stages_per_rank, 1), pipeline_micro(shape)};
}

static uint32_t n_stages(const struct shape *shape)
{
    const struct pipe pipe = pipe_of(shape);
    return shape->actions ? shape->actions->n_stages : pipe.ranks * pipe.per_rank;
}

/* A mini-batch each where there is no flush, else a part of the step's: as ranks that divide the samples
 * weigh them. */
void pipeline_rows(const struct shape *shape, struct plan *plan)
{
    const uint32_t a_round = pipeline_micro(shape), n = plan->n_micro = a_round * n_rounds(shape);
    const gsize all = (gsize)shape->ranks * n;
    const double share = 1.0 / (is_asynchronous(shape) ? n : n_rounds(shape));
    plan->batch = shape->batch;
    plan->t.n_rounds = n_rounds(shape);
    plan->n_updates = is_asynchronous(shape) ? n : n_rounds(shape);
    plan->rank_share = g_new(double, shape->ranks);
    plan->rank_first = g_new0(uint32_t, shape->ranks);
    plan->rank_rows = g_new(uint32_t, shape->ranks);
    plan->micro_rows = huge_new(uint32_t, all);
    for (uint32_t m = 0; m < n; m++)
        plan->micro_rows[m] = chunk_size(shape->batch, a_round, m % a_round);
    for (uint32_t r = 0; r < shape->ranks; r++) {
        plan->rank_share[r] = share;
        plan->rank_rows[r] = shape->batch;
        if (r > 0)
            memcpy(&plan->micro_rows[(gsize)r * n], plan->micro_rows, n * sizeof *plan->micro_rows);
    }
    if (is_asynchronous(shape)) {
        plan->micro_weight = huge_new(double, all);
        for (gsize i = 0; i < all; i++)
            plan->micro_weight[i] = 1;
    }
}

/* --- what is refused */

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool refuse(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, PLAN_ERROR, PLAN_ERROR_INPUT, text);
    return false;
}

static bool check_sizes(const struct shape *shape, GError **error)
{
    if (shape->batch < 1 || shape->chunks < 1)
        return refuse(error, "--batch %u in --chunks %u: give at least 1 of each", shape->batch,
                      shape->chunks);
    if (!model_fits(shape->model, shape->batch))
        return refuse(error, "--batch %u is too large for model %s", shape->batch, shape->model->name);
    if (shape->batch < shape->chunks)
        return refuse(error, "--chunks %u is more than the samples of --batch %u, give 1 to %u",
                      shape->chunks, shape->batch, shape->batch);
    if (MAX(shape->stages_per_rank, 1) > STAGES_MAX / shape->ranks)
        return refuse(error, "%u ranks with --stages-per-rank %u are more than %u stages", shape->ranks,
                      shape->stages_per_rank, STAGES_MAX);
    return true;
}

static bool check_actions(const struct shape *shape, GError **error)
{
    const struct actions *a = shape->actions;
    if (a->n_ranks != shape->ranks)
        return refuse(error, "the schedule is of %u ranks, give --ranks %u", a->n_ranks, a->n_ranks);
    if (a->n_micro != pipeline_micro(shape))
        return refuse(error,
                      "the schedule is of %u micro-batches, but --batch %u in --chunks %u makes %u, "
                      "give --chunks %u and a multiple of it as --batch",
                      a->n_micro, shape->batch, shape->chunks, pipeline_micro(shape), a->n_micro);
    return actions_check(a, error);
}

/* Without a flush there is no moment at which all ranks have the gradients of the same micro-batches. */
static bool check_asynchronous(const struct shape *shape, GError **error)
{
    const char *name = shape->schedule->name;
    if (shape->clip)
        return refuse(error,
                      "--schedule %s cannot go with --clip-grad-norm: there is no norm over all ranks "
                      "without a flush; leave it out, or give --schedule 1f1b",
                      name);
    if (shape->model->dims.tied && shape->ranks > 1)
        return refuse(error,
                      "--schedule %s cannot train model %s: its head shares the embedding's weights, "
                      "whose versions differ on two ranks; give --schedule 1f1b",
                      name, shape->model->name);
    if (shape->stages_per_rank > 1)
        return refuse(error, "--schedule %s has one stage a rank, give --stages-per-rank 1", name);
    return true;
}

static bool check_schedule(const struct shape *shape, GError **error)
{
    const struct pipe pipe = pipe_of(shape);
    if (shape->actions)
        return check_actions(shape, error);
    return schedule_check(shape->schedule, &pipe, error) &&
           (!is_asynchronous(shape) || check_asynchronous(shape, error));
}

static bool check_count(const struct shape *shape, GError **error)
{
    const uint64_t micro = (uint64_t)pipeline_micro(shape) * n_rounds(shape),
                   ops = micro * ((uint64_t)shape->model->n_layers * 3 + n_stages(shape) * 4 + 3);
    if (ops <= OPS_MAX)
        return true;
    return refuse(error,
                  "%" G_GUINT64_FORMAT
                  " micro-batches through %u stages of %u layers would make up to %" G_GUINT64_FORMAT
                  " operations and the most is %u, give fewer --chunks or --layers",
                  micro, n_stages(shape), shape->model->n_layers, ops, OPS_MAX);
}

static bool check(const struct shape *shape, GError **error)
{
    if (!build_check(shape, error) || !check_sizes(shape, error) || !check_schedule(shape, error) ||
        !check_count(shape, error))
        return false;
    g_autofree uint32_t *first = g_new(uint32_t, (gsize)n_stages(shape) + 1);
    return split_layers(shape, n_stages(shape), first, error);
}

/* --- what all ranks share */

static void fill_stages(struct pipeline *p)
{
    struct tables *t = &p->b->plan->t;
    const uint32_t n = pipe_stages(p);
    g_autofree uint32_t *count = g_new0(uint32_t, p->actions->n_ranks);
    p->local = g_new(uint32_t, n);
    t->n_stages = n;
    t->stages = g_new(struct stage_row, n);
    for (uint32_t s = 0; s < n; s++) {
        p->local[s] = count[p->actions->rank[s]]++;
        t->stages[s] = (struct stage_row){p->actions->rank[s], p->first_layer[s], p->first_layer[s + 1]};
    }
}

static uint32_t add_gangs(struct plan *plan, uint32_t n)
{
    const uint32_t first = plan->n_gangs;
    for (uint32_t i = 0; i < n; i++)
        plan_add_gang(plan, 0);
    return first;
}

static void fill_gangs(struct pipeline *p)
{
    struct plan *plan = p->b->plan;
    const uint32_t n = pipe_stages(p), *rank = p->actions->rank;
    p->gangs = g_new(uint32_t, (gsize)2 * n);
    for (uint32_t i = 0; i < 2 * n; i++)
        p->gangs[i] =
            i / 2 + 1 < n && rank[i / 2] != rank[i / 2 + 1] ? add_gangs(plan, plan->n_micro) : OP_NONE;
    plan->n_colls = pipe_collectives(p) * p->rounds;
    p->comm_gangs = add_gangs(plan, plan->n_colls);
}

/* What an action of a stage of so many layers adds at most: its ops, what it receives and sends. */
static void count_action(const struct pipeline *p, const struct action *a, struct plan_room *room)
{
    static const struct {
        uint8_t values, accesses;
    } a_layer[ACTION_KINDS] = {
        [ACTION_F] = {2, 5}, [ACTION_B] = {1, 7}, [ACTION_I] = {2, 7}, [ACTION_W] = {0, 7}};
    const bool sends = a->kind != ACTION_W, again = a->micro < p->kept_from && sends && a->kind != ACTION_F;
    const uint64_t layers = p->first_layer[a->stage + 1] - p->first_layer[a->stage],
                   more = again ? layers : 0;
    room->ops += layers + more + 2 * sends;
    room->gang_ops += 2 * sends;
    room->accesses += a_layer[a->kind].accesses * layers + a_layer[ACTION_F].accesses * more + 2 * sends;
    room->deps += 3 + a->paired;
    room->values += a_layer[a->kind].values * layers + a_layer[ACTION_F].values * more + sends;
    if (p->asynchronous && a->kind == ACTION_B) { /* an optimizer step, and a copy of the weights */
        room->ops += 2;
        room->accesses += 6 * layers;
        room->values += layers;
    }
}

/* Beside them each rank has its parameters, each micro-batch its input, twice, and its loss. */
static void reserve(const struct pipeline *p)
{
    const struct actions *a = p->actions;
    const uint64_t layers = p->b->shape->model->n_layers, ranks = a->n_ranks;
    struct plan_room room = {.gangs = 2 * (uint64_t)pipe_stages(p) * p->micro};
    for (uint32_t i = 0; i < a->first[ranks]; i++)
        count_action(p, &a->list[i], &room);
    room.ops += 3 * (uint64_t)p->micro + 8 * ranks;
    room.values += 4 * (uint64_t)p->micro + 8 * layers + ranks * (ranks + 8);
    room.accesses += 7 * (uint64_t)p->micro + 16 * layers;
    room.deps += 6 * (uint64_t)p->micro + 8 * ranks;
    room.gang_ops += 2 * ranks;
    uint64_t *const all[] = {&room.ops,  &room.values, &room.accesses,
                             &room.deps, &room.gangs,  &room.gang_ops};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        *all[i] *= p->rounds;
    plan_reserve(p->b->plan, &room);
}

static void *unknown(gsize n, gsize bytes_each)
{
    return memset(g_malloc_n(n, bytes_each), 0xff, n * bytes_each);
}

static void fill_caches(struct pipeline *p)
{
    const gsize layers = p->b->shape->model->n_layers, stages = pipe_stages(p);
    p->costs = unknown(OP_KINDS * layers * 4, sizeof *p->costs);
    p->stage_flops = unknown(OP_KINDS * stages * 2, sizeof *p->stage_flops);
    p->sizes = unknown(layers * VALUE_CLASSES * 2, sizeof *p->sizes);
    memset(p->input_costs, 0xff, sizeof p->input_costs);
    memset(p->loss_costs, 0xff, sizeof p->loss_costs);
}

/* PyTorch's pipeline stops checkpointing at the chunks that were asked for, of which fewer may come out. */
static uint32_t first_kept(const struct shape *shape, uint32_t micro)
{
    static const uint8_t kept[CHECKPOINTS] = {
        [CHECKPOINT_NEVER] = 2, [CHECKPOINT_EXCEPT_LAST] = 1, [CHECKPOINT_ALWAYS] = 0};
    return kept[shape->checkpoint] == 2 ? 0 : MIN(micro, shape->chunks - kept[shape->checkpoint]);
}

void pipeline_order(const struct shape *shape, struct actions *out)
{
    const struct pipe pipe = pipe_of(shape);
    schedule_order(shape->schedule, &pipe, out);
}

/* What the ids of any rank take: see pipe_open_rank and pipe_open_channels. */
static gsize most_ids(const struct pipeline *p)
{
    const struct actions *a = p->actions;
    gsize most_actions = 0;
    for (uint32_t i = 0; i < a->n_ranks; i++)
        most_actions = MAX(most_actions, a->first[i + 1] - a->first[i]);
    /* A slot has two actions at least. */
    return 4 * (gsize)p->b->shape->model->n_layers + pipe_stages(p) + 9 * (most_actions / 2) +
           2 * (gsize)p->micro + most_actions + 1 + 2 * ((gsize)p->b->plan->n_updates + 1);
}

static void open_pipeline(struct pipeline *p, struct build *b, struct actions *own)
{
    const struct shape *shape = b->shape;
    *p = (struct pipeline){
        .b = b, .blank = build_tag(OP_INPUT), .rounds = n_rounds(shape), .micro = pipeline_micro(shape)};
    p->actions = shape->actions;
    p->asynchronous = is_asynchronous(shape);
    if (!shape->actions) {
        pipeline_order(shape, own);
        p->actions = own;
    }
    p->kept_from = first_kept(shape, p->micro);
    p->full = shape->batch / chunk_size(shape->batch, p->micro, 0);
    p->first_layer = g_new(uint32_t, (gsize)pipe_stages(p) + 1);
    split_layers(shape, pipe_stages(p), p->first_layer, NULL);
    p->tied_apart = shape->model->dims.tied && p->actions->rank[0] != p->actions->rank[pipe_stages(p) - 1];
    fill_stages(p);
    reserve(p);
    fill_gangs(p);
    fill_caches(p);
    p->memory = huge_new(uint32_t, most_ids(p));
}

static void close_pipeline(struct pipeline *p)
{
    g_free(p->first_layer);
    g_free(p->local);
    g_free(p->gangs);
    g_free(p->costs);
    g_free(p->stage_flops);
    g_free(p->sizes);
    g_free(p->memory);
}

/* --- all ranks, one after another */

static void build_round(struct pipe_rank *r)
{
    for (uint32_t i = 0; i < r->p->micro; i++)
        r->input[i] = OP_NONE;
    for (uint32_t i = 0; i < r->n_inboxes; i++)
        r->inboxes[i].next = 0;
    for (uint32_t at = 0; at < r->n_list; at++)
        pipe_action(r, at);
    if (!r->p->asynchronous)
        pipe_update(r);
    r->last_op[r->n_list] = r->last;
}

static void build(const struct shape *shape, struct plan *plan)
{
    struct build b;
    struct pipeline p;
    struct actions own = {0};
    build_begin(&b, shape, mode_pipeline.name, plan);
    plan->t.schedule = tables_intern(&plan->t, shape->actions ? "file" : shape->schedule->name);
    open_pipeline(&p, &b, &own);
    for (uint32_t rank = 0; rank < shape->ranks; rank++) {
        struct pipe_rank r;
        pipe_open_rank(&r, &p, rank);
        for (r.round = 0; r.round < p.rounds; r.round++)
            build_round(&r);
        pipe_close_rank(&r);
    }
    close_pipeline(&p);
    actions_release(&own);
    build_end(&b);
}

const struct mode mode_pipeline = {
    .name = "pipeline",
    .summary = "layers in stages on the ranks, micro-batches through them by a schedule",
    .check = check,
    .build = build,
};
