/* What a rank of a pipeline begins with: its stages, lanes, parameters, losses and norms, and the arrays in
 * which its values are found. */
#include <string.h>

#include "plan/pipeline.h"

static bool has_moment(const struct shape *shape, enum value_class cls)
{
    return cls == VALUE_MOMENT ? shape->optimizer != OPTIMIZER_SGD : shape->optimizer == OPTIMIZER_ADAM;
}

static void add_parameters(struct pipe_rank *r, uint32_t layer)
{
    struct build *b = r->p->b;
    const struct {
        enum value_class cls;
        uint32_t *values;
        bool there;
    } classes[] = {{VALUE_WEIGHT, r->weight, true},
                   {VALUE_GRAD, r->grad, true},
                   {VALUE_MOMENT, r->moment, has_moment(b->shape, VALUE_MOMENT)},
                   {VALUE_VARIANCE, r->variance, has_moment(b->shape, VALUE_VARIANCE)}};
    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        if (classes[i].there)
            classes[i].values[layer] = build_add_value(b, r->rank, classes[i].cls, layer, 0,
                                                       build_value_bytes(b, classes[i].cls, layer, 1));
}

/* The layers of the rank's stages, and a copy of the embedding where the head is tied to one on another rank.
 */
static void add_layers(struct pipe_rank *r)
{
    struct pipeline *p = r->p;
    const struct model *model = p->b->shape->model;
    uint64_t scratch = 0;
    for (uint32_t i = 0; i < r->n_stages; i++)
        for (uint32_t layer = p->first_layer[r->stages[i]]; layer < p->first_layer[r->stages[i] + 1];
             layer++) {
            const uint32_t owner = build_weight_layer(model, layer);
            add_parameters(r, layer);
            if (r->weight[owner] == OP_NONE)
                add_parameters(r, owner);
            if (owner != layer)
                r->words = plan_add_view(p->b->plan, r->weight[owner], 0,
                                         model->params[0].numel * dtype_bytes(model->dtype));
            scratch = MAX(scratch, layer_scratch_numel(model, layer, pipe_samples(p, 0)));
        }
    r->scratch =
        build_add_value(p->b, r->rank, VALUE_SCRATCH, OP_NONE, 0, scratch * dtype_bytes(model->dtype));
}

static void add_losses(struct pipe_rank *r)
{
    r->losses = r->p->b->plan->n_values;
    if (r->stages[r->n_stages - 1] + 1 == pipe_stages(r->p))
        for (uint32_t m = 0; m < r->p->b->plan->n_micro; m++)
            build_add_value(r->p->b, r->rank, VALUE_LOSS, OP_NONE, m, sizeof(double));
}

/* Of a rank alone the norm; else the norms of all of them first, each a view. */
static void add_norms(struct pipe_rank *r)
{
    struct build *b = r->p->b;
    const uint32_t ranks = r->p->actions->n_ranks;
    if (!b->shape->clip)
        return;
    r->norm = build_add_value(b, r->rank, VALUE_NORM, OP_NONE, 0, 2 * sizeof(double));
    if (ranks == 1)
        return;
    r->norms = build_add_value(b, r->rank, VALUE_NORMS, OP_NONE, 0, ranks * sizeof(double));
    for (uint32_t i = 0; i < ranks; i++)
        plan_add_view(b->plan, r->norms, i * sizeof(double), sizeof(double));
}

uint32_t *pipe_ids(struct pipe_rank *r, gsize n)
{
    uint32_t *ids = r->p->memory + r->used;
    r->used += n;
    return memset(ids, 0xff, n * sizeof *ids);
}

static void fill_arrays(struct pipe_rank *r)
{
    const struct pipeline *p = r->p;
    const gsize layers = p->b->shape->model->n_layers, slots = (gsize)r->n_stages * p->micro,
                updates = p->b->plan->n_updates;
    uint32_t **const by_layer[] = {&r->weight, &r->grad, &r->moment, &r->variance};
    uint32_t **const by_slot[] = {&r->x, &r->acts, &r->dy, &r->deltas, &r->x_op, &r->dy_op, &r->version};
    for (unsigned i = 0; i < G_N_ELEMENTS(by_layer); i++)
        *by_layer[i] = pipe_ids(r, layers);
    for (unsigned i = 0; i < G_N_ELEMENTS(by_slot); i++)
        *by_slot[i] = pipe_ids(r, slots);
    r->grad_begun = g_new0(bool, layers);
    r->input = pipe_ids(r, p->micro);
    r->input_op = pipe_ids(r, p->micro);
    r->last_op = pipe_ids(r, (gsize)r->n_list + 1);
    r->stash = pipe_ids(r, updates + 1);
    r->users = pipe_ids(r, updates + 1);
    memset(r->users, 0, (updates + 1) * sizeof *r->users);
}

static void find_stages(struct pipe_rank *r)
{
    const struct pipeline *p = r->p;
    r->stages = pipe_ids(r, pipe_stages(p));
    for (uint32_t s = 0; s < pipe_stages(p); s++)
        if (p->actions->rank[s] == r->rank)
            r->stages[r->n_stages++] = s;
}

static bool reads_data(const struct pipe_rank *r)
{
    return r->stages[0] == 0 || r->stages[r->n_stages - 1] + 1 == pipe_stages(r->p);
}

void pipe_open_rank(struct pipe_rank *r, struct pipeline *p, uint32_t rank)
{
    const struct actions *a = p->actions;
    *r = (struct pipe_rank){.p = p,
                            .rank = rank,
                            .comm = OP_NONE,
                            .copy = OP_NONE,
                            .norm = OP_NONE,
                            .norms = OP_NONE,
                            .words = OP_NONE,
                            .last = OP_NONE,
                            .list = a->list + a->first[rank],
                            .n_list = a->first[rank + 1] - a->first[rank]};
    find_stages(r);
    fill_arrays(r);
    r->compute = build_lane(p->b, "compute", rank, LANE_COMPUTE);
    if (reads_data(r))
        r->copy = build_lane(p->b, "copy", rank, LANE_COPY);
    add_layers(r);
    add_losses(r);
    add_norms(r);
    pipe_open_channels(r);
    if (pipe_collectives(p) && r->comm == OP_NONE)
        r->comm = build_lane(p->b, "comm", rank, LANE_COMM);
}

void pipe_close_rank(struct pipe_rank *r)
{
    pipe_close_channels(r);
    g_free(r->grad_begun);
}
