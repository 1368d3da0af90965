#include "plan/read-json.h"

#include <string.h>

#include "plan/mode.h"

static void *take(GArray **array, uint32_t *n)
{
    *n = (*array)->len;
    void *rows = g_array_free(*array, (*array)->len == 0);
    *array = NULL;
    return rows;
}

static void settle_params(struct plan_reader *r)
{
    struct tables *t = &r->plan->t;
    uint32_t at = 0;
    t->layers = take(&r->layers, &t->n_layers);
    t->params = take(&r->params, &t->n_params);
    for (uint32_t i = 0; i < t->n_layers; i++) {
        t->layers[i].first_param = at;
        while (at < t->n_params && t->params[at].layer == i)
            at++;
        t->layers[i].n_params = at - t->layers[i].first_param;
    }
    if (at < t->n_params)
        json_fail(r->j, "parameter %u is of layer %u, but they stand in the order of the %u layers", at,
                  t->params[at].layer, t->n_layers);
}

/* Each parameter is in the bucket that it names, and nowhere else. */
static void settle_bucket(struct plan_reader *r, uint32_t i, uint32_t *listed)
{
    struct tables *t = &r->plan->t;
    struct bucket_row *b = &t->buckets[i];
    const char *closer = g_array_index(r->closers, const char *, i);
    uint64_t bytes = 0;
    for (uint32_t k = b->first_param; k < b->first_param + b->n_params; k++) {
        uint32_t param = g_array_index(r->members, uint32_t, k);
        if (param >= t->n_params || t->params[param].bucket != i || listed[param]++) {
            json_fail(r->j,
                      "bucket %u lists parameter %u, which is not there, in another bucket or listed twice",
                      i, param);
            return;
        }
        t->bucket_params[k] = param;
        bytes += t->params[param].bytes;
        if (closer && !strcmp(closer, t->params[param].name))
            b->closed_by = param;
    }
    if (bytes != b->bytes)
        json_fail(r->j, "bucket %u is of another size than its parameters", i);
    if (closer && b->closed_by == OP_NONE)
        json_fail(r->j, "bucket %u is closed by \"%s\", which it does not hold", i, closer);
}

static void settle_buckets(struct plan_reader *r)
{
    struct tables *t = &r->plan->t;
    uint32_t in_buckets = 0;
    g_autofree uint32_t *listed = g_new0(uint32_t, (gsize)t->n_params + 1);
    t->buckets = take(&r->buckets, &t->n_buckets);
    /* Tables are copied with room for every parameter. */
    t->bucket_params = g_new0(uint32_t, (gsize)t->n_params + 1);
    for (uint32_t i = 0; i < t->n_buckets && !json_bad(r->j); i++)
        settle_bucket(r, i, listed);
    for (uint32_t i = 0; i < t->n_params; i++)
        in_buckets += t->params[i].bucket != OP_NONE;
    if (in_buckets != r->members->len)
        json_fail(r->j, "%u parameters name a bucket, but the buckets list %u", in_buckets, r->members->len);
}

/* Each layer is in one stage, in the order of the model. */
static void settle_stages(struct plan_reader *r)
{
    struct tables *t = &r->plan->t;
    t->stages = take(&r->stages, &t->n_stages);
    for (uint32_t i = 0; i < t->n_stages; i++) {
        const struct stage_row *row = &t->stages[i];
        if (row->rank >= t->n_ranks || row->layer0 != (i ? t->stages[i - 1].layer1 : 0) ||
            row->layer1 <= row->layer0 || (i + 1 == t->n_stages && row->layer1 != t->n_layers))
            json_fail(r->j,
                      "stage %u is of rank %u and layers %u to %u; stages divide the %u layers in order", i,
                      row->rank, row->layer0, row->layer1, t->n_layers);
    }
}

static void settle_lanes(struct plan_reader *r)
{
    const struct tables *t = &r->plan->t;
    g_autofree uint32_t *lanes = g_new0(uint32_t, (gsize)t->n_ranks + 1);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        const struct lane *l = &t->lanes[i];
        if (l->rank >= t->n_ranks || l->device >= t->n_ranks || l->node >= t->n_ranks ||
            (l->peer != OP_NONE && l->peer >= t->n_ranks))
            json_fail(r->j, "lane %u is of rank %u, device %u and node %u, but there are %u ranks", i,
                      l->rank, l->device, l->node, t->n_ranks);
        else if (++lanes[l->rank] > PLAN_RANK_LANES_MAX)
            json_fail(r->j, "rank %u has more than %u lanes", l->rank, PLAN_RANK_LANES_MAX);
    }
}

/* Version 0.1 did not write them: chunk_size's rule made them. */
static void derive_micro(struct plan_reader *r)
{
    const uint64_t n = (uint64_t)r->last_micro + 1;
    /* Each has an op of each rank. */
    if (n > 1 && n * r->samples->len > r->plan->n_ops) {
        json_fail(r->j, "micro-batch %u, but there are not so many ops", r->last_micro);
        return;
    }
    for (guint i = 0; i < r->samples->len; i++)
        for (uint32_t m = 0; m < n; m++) {
            uint32_t rows = chunk_size(g_array_index(r->samples, uint32_t, i), (uint32_t)n, m);
            g_array_append_val(r->micro, rows);
        }
}

static void check_micro(struct plan_reader *r)
{
    const struct plan *plan = r->plan;
    uint64_t all = 0;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++) {
        uint64_t sum = 0;
        for (uint32_t m = 0; m < plan->n_micro; m++)
            sum += plan->micro_rows[(gsize)i * plan->n_micro + m];
        if (sum != (uint64_t)plan->rank_rows[i] * plan_rounds(plan))
            json_fail(r->j, "rank %u has %u samples, but its micro-batches have others", i,
                      plan->rank_rows[i]);
        all += sum;
    }
    if (all > INT32_MAX)
        json_fail(r->j, "more than %d samples", INT32_MAX);
}

/* Where ranks have the same samples, or weigh them otherwise than by their number. */
static void settle_uneven(struct plan_reader *r)
{
    struct plan *plan = r->plan;
    const uint32_t ranks = plan->t.n_ranks, batch = plan_batch(plan);
    const guint weights = ranks * plan->n_micro;
    uint32_t n;
    if ((r->first->len && r->first->len != ranks) || (r->weight->len && r->weight->len != weights) ||
        plan->n_micro % plan_rounds(plan)) {
        json_fail(r->j,
                  "first_sample is not a number for each of %u ranks, micro_weight not one for each of "
                  "their %u micro-batches, or %u rounds do not divide these",
                  ranks, plan->n_micro, plan_rounds(plan));
        return;
    }
    if (r->first->len)
        plan->rank_first = take(&r->first, &n);
    if (r->weight->len)
        plan->micro_weight = take(&r->weight, &n);
    for (uint32_t i = 0; plan->rank_first && i < ranks; i++)
        if (plan->rank_first[i] > batch || plan->rank_rows[i] > batch - plan->rank_first[i])
            json_fail(r->j, "rank %u has %u samples from %u on, but there are %u", i, plan->rank_rows[i],
                      plan->rank_first[i], batch);
}

/* All of them are there, or none: only engines that execute ask. */
static void settle_ranks(struct plan_reader *r)
{
    struct plan *plan = r->plan;
    const uint32_t ranks = plan->t.n_ranks;
    uint32_t n, n_rows;
    if (r->samples->len == 0 && r->share->len == 0 && r->micro->len == 0) {
        plan->n_micro = 1;
        return;
    }
    if (r->micro->len == 0)
        derive_micro(r);
    if (json_bad(r->j) || r->samples->len != ranks || r->share->len != ranks || r->micro->len % ranks) {
        json_fail(r->j, "samples, micro_samples and share are not a number for each of %u ranks", ranks);
        return;
    }
    plan->rank_share = take(&r->share, &n);
    plan->rank_rows = take(&r->samples, &n);
    plan->micro_rows = take(&r->micro, &n_rows);
    plan->n_micro = n_rows / ranks;
    check_micro(r);
    settle_uneven(r);
}

/* Version 0.1 did not write it, but the costs of its steps say it. */
static void settle_optimizer(struct plan_reader *r)
{
    for (uint32_t i = 0; i < r->plan->n_costs && !r->optimizer; i++)
        for (unsigned k = 0; k < OPTIMIZERS; k++)
            if (r->plan->costs[i].kind == OP_OPTIM && !strcmp(r->plan->costs[i].shape, optimizer_name(k)))
                r->plan->optimizer = (uint8_t)k;
}

void plan_read_settle(struct plan_reader *r)
{
    if (!json_bad(r->j) && (!r->schema || r->plan->t.n_ranks == 0 || r->plan->n_ops == 0))
        json_fail(r->j, "%s; write one with parprof plan --format json",
                  r->schema ? "a plan without ranks or ops" : "this is no plan");
    if (json_cut(r->j))
        json_fail(r->j, "this is not all of a plan");
    void (*const steps[])(struct plan_reader *) = {settle_params, settle_buckets, settle_stages,
                                                   settle_lanes,  settle_ranks,   settle_optimizer};
    for (unsigned i = 0; i < G_N_ELEMENTS(steps) && !json_bad(r->j); i++)
        steps[i](r);
}

/* Of version 0.1, which wrote the name alone: the built-in one, with either dtype, if the plan agrees. */
static struct model *guess_model(const struct plan *plan)
{
    g_auto(GStrv) names = model_list();
    if (!plan->t.model || !g_strv_contains((const char *const *)names, plan->t.model))
        return NULL;
    for (unsigned dtype = DTYPE_F32; dtype <= DTYPE_F64; dtype++) {
        const struct model_override over = {.dtype = (uint8_t)dtype};
        struct model *model = model_load(plan->t.model, &over, NULL);
        if (model && plan_check_model(plan, model, NULL))
            return model;
        model_free(model);
    }
    return NULL;
}

bool plan_read_model(struct plan_reader *r, const char *name, struct model **model)
{
    const struct plan *plan = r->plan;
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strdup_printf("%s: the model", name);
    if (!plan->ini) {
        *model = guess_model(plan);
        return true;
    }
    *model = model_parse(plan->ini, file, &plan->override, &error);
    if (*model && plan_check_model(plan, *model, &error))
        return true;
    g_clear_pointer(model, model_free);
    json_fail(r->j, "%s", error->message);
    return false;
}
