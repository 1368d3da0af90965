#include <math.h>
#include <string.h>

#include "plan/fields.h"
#include "plan/mode.h"
#include "plan/plan.h"

#define SCHEMA "parprof.plan/1"

struct reader {
    struct json *j;
    struct plan *plan;
    GArray *layers, *params, *buckets;   /* struct layer_row, param_row, bucket_row */
    GArray *members, *closers;           /* uint32_t: members of the buckets; const char *: who closed each */
    GArray *samples, *micro, *share;     /* uint32_t, uint32_t, double */
    GArray *accesses, *deps;             /* of the op that is being read: struct access, uint32_t */
    uint32_t n_micro;                    /* that ops speak of */
    bool schema, optimizer, collectives; /* whether the file has them */
};

/* A key that is no field: the row's number, which must be its place, or one that we do not know. */
static void read_other(struct reader *r, const char *key, const char *number, uint32_t place)
{
    if (strcmp(key, number)) {
        json_skip(r->j);
        return;
    }
    uint32_t says = json_u32(r->j, 0, UINT32_MAX);
    if (says != place)
        json_fail(r->j, "row %u says that it is %s %u; rows stand in order", place, number, says);
}

/* A row of fields and no more.  Whether it is there and whole. */
static bool read_row(struct reader *r, const struct field *fields, const char *number, uint32_t place,
                     void *row)
{
    uint32_t seen = 0;
    fields_clear(fields, row);
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!fields_read(fields, key, r->j, &r->plan->t, row, &seen))
            read_other(r, key, number, place);
    fields_done(fields, r->j, seen);
    return !json_bad(r->j);
}

static void read_rows(struct reader *r, void (*read)(struct reader *, uint32_t place))
{
    json_array(r->j);
    for (uint32_t place = 0; json_element(r->j); place++)
        read(r, place);
}

static void read_numbers(struct json *j, GArray *out)
{
    json_array(j);
    while (json_element(j)) {
        uint32_t x = json_u32(j, 0, UINT32_MAX);
        g_array_append_val(out, x);
    }
}

/* --- options */

static void read_optimizer(struct reader *r)
{
    const char *name = json_text(r->j);
    unsigned i = 0;
    while (i < OPTIMIZERS && strcmp(name, optimizer_name(i)))
        i++;
    if (i == OPTIMIZERS)
        json_fail(r->j, "there is no optimizer \"%s\"", name);
    r->plan->optimizer = (uint8_t)i;
    r->optimizer = true;
}

static void read_share(struct reader *r)
{
    json_array(r->j);
    while (json_element(r->j)) {
        double x = json_number(r->j);
        if (x < 0 || x > 1)
            json_fail(r->j, "a rank's share of the samples is %g, it should be from 0 to 1", x);
        g_array_append_val(r->share, x);
    }
}

static const char *read_name(struct reader *r)
{
    if (json_peek(r->j) != JSON_NULL)
        return tables_intern(&r->plan->t, json_text(r->j));
    json_skip(r->j);
    return NULL;
}

static void read_options(struct reader *r)
{
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "mode"))
            r->plan->t.mode = read_name(r);
        else if (!strcmp(key, "ranks"))
            r->plan->t.n_ranks = json_u32(r->j, 1, PLAN_RANKS_MAX);
        else if (!strcmp(key, "optimizer"))
            read_optimizer(r);
        else if (!strcmp(key, "samples"))
            read_numbers(r->j, r->samples);
        else if (!strcmp(key, "micro_samples"))
            read_numbers(r->j, r->micro);
        else if (!strcmp(key, "share"))
            read_share(r);
        else
            json_skip(r->j);
}

/* --- tables */

static void read_layer(struct reader *r, uint32_t place)
{
    struct layer_row row = {0};
    if (read_row(r, layer_fields, "index", place, &row))
        g_array_append_val(r->layers, row);
    if (r->layers->len >= LAYER_NONE)
        json_fail(r->j, "more than %u layers", LAYER_NONE - 1);
}

static void read_param(struct reader *r, uint32_t place)
{
    struct param_row row;
    if (read_row(r, param_fields, "index", place, &row))
        g_array_append_val(r->params, row);
}

static void read_override(struct reader *r)
{
    struct model_override *over = &r->plan->override;
    uint32_t seen;
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "dtype")) {
            const char *name = json_text(r->j);
            over->dtype = strcmp(name, dtype_name(DTYPE_F64)) ? DTYPE_F32 : DTYPE_F64;
            if (strcmp(name, dtype_name(over->dtype)))
                json_fail(r->j, "there is no dtype \"%s\", write f32 or f64", name);
        } else if (!fields_read(override_fields, key, r->j, &r->plan->t, over, &seen))
            json_skip(r->j);
}

static void read_model(struct reader *r)
{
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "name"))
            r->plan->t.model = read_name(r);
        else if (!strcmp(key, "ini"))
            r->plan->ini = read_name(r);
        else if (!strcmp(key, "override"))
            read_override(r);
        else if (!strcmp(key, "layers"))
            read_rows(r, read_layer);
        else if (!strcmp(key, "params"))
            read_rows(r, read_param);
        else
            json_skip(r->j);
}

static void read_bucket(struct reader *r, uint32_t place)
{
    struct bucket_row row = {.first_param = r->members->len, .closed_by = OP_NONE};
    const char *closer = NULL;
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "bytes"))
            row.bytes = json_u64(r->j, FIELD_BYTES_MAX);
        else if (!strcmp(key, "params"))
            read_numbers(r->j, r->members);
        else if (!strcmp(key, "closed_by"))
            closer = read_name(r);
        else
            read_other(r, key, "index", place);
    row.n_params = r->members->len - row.first_param;
    if (row.n_params == 0)
        json_fail(r->j, "bucket %u holds no parameters", place);
    g_array_append_val(r->buckets, row);
    g_array_append_val(r->closers, closer);
}

static void read_lane(struct reader *r, uint32_t place)
{
    struct lane lane = {0};
    if (read_row(r, lane_fields, "lane", place, &lane))
        plan_add_lane(r->plan, &lane);
}

static void add_value(struct reader *r, uint32_t place, const struct value *v)
{
    struct plan *plan = r->plan;
    if (v->root == OP_NONE && (v->cls >= VALUE_CLASSES || v->rank == OP_NONE))
        json_fail(r->j, "value %u has no class or no rank; it is no view, so it needs both", place);
    else if (v->root == OP_NONE)
        plan_add_value(plan, v);
    else if (v->root >= plan->n_values || plan->values[v->root].root != v->root)
        json_fail(r->j, "value %u is a view of %u, which is no root that stands before it", place, v->root);
    else if (v->offset > plan->values[v->root].bytes || v->bytes > plan->values[v->root].bytes - v->offset)
        json_fail(r->j, "value %u lies outside its root", place);
    else
        plan_add_view(plan, v->root, v->offset, v->bytes);
}

static void read_value(struct reader *r, uint32_t place)
{
    struct value v = {0};
    uint32_t seen = 0;
    fields_clear(value_fields, &v);
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "live_in"))
            v.flags |= json_bool(r->j) ? VALUE_LIVE_IN : 0;
        else if (!strcmp(key, "live_out"))
            v.flags |= json_bool(r->j) ? VALUE_LIVE_OUT : 0;
        else if (!fields_read(value_fields, key, r->j, &r->plan->t, &v, &seen))
            read_other(r, key, "value", place);
    fields_done(value_fields, r->j, seen);
    if (!json_bad(r->j))
        add_value(r, place, &v);
}

static void read_gemm(struct reader *r, struct gemm *g)
{
    uint32_t *const parts[] = {&g->m, &g->n, &g->k, &g->batch};
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++) {
        uint32_t x = json_u32(r->j, 0, UINT32_MAX);
        if (n < G_N_ELEMENTS(parts))
            *parts[n] = x;
    }
    if (n != G_N_ELEMENTS(parts))
        json_fail(r->j, "a matrix product has m, n, k and how many, not %u numbers", n);
}

static void read_gemms(struct reader *r, struct cost_key *key)
{
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++)
        if (n < COST_GEMMS)
            read_gemm(r, &key->gemms[n]);
        else
            json_fail(r->j, "more than %u matrix products in one op", COST_GEMMS);
}

static void read_cost(struct reader *r, uint32_t place)
{
    struct cost_key cost = {0};
    uint32_t seen = 0, same;
    fields_clear(cost_fields, &cost);
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "gemms"))
            read_gemms(r, &cost);
        else if (!fields_read(cost_fields, key, r->j, &r->plan->t, &cost, &seen))
            read_other(r, key, "cost", place);
    fields_done(cost_fields, r->j, seen);
    if (cost.members < 1 || cost.nodes > cost.members)
        json_fail(r->j, "cost %u is of %u members on %u nodes", place, cost.members, cost.nodes);
    if (!json_bad(r->j) && (same = plan_add_cost(r->plan, &cost)) != place)
        json_fail(r->j, "cost %u equals cost %u, leave one out", place, same);
}

static void read_gang(struct reader *r, uint32_t place)
{
    struct gang gang = {0};
    if (read_row(r, gang_fields, "gang", place, &gang))
        plan_add_gang(r->plan, gang.shift);
}

/* [value, "r", "w" or "rw"] */
static void read_access(struct reader *r)
{
    struct access a = {0};
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++)
        if (n == 0)
            a.value = json_u32(r->j, 0, UINT32_MAX);
        else if (n == 1) {
            const char *mode = json_text(r->j);
            a.mode = !strcmp(mode, "r")    ? ACCESS_READ
                     : !strcmp(mode, "w")  ? ACCESS_WRITE
                     : !strcmp(mode, "rw") ? ACCESS_UPDATE
                                           : 0;
        }
    if (n != 2 || !a.mode)
        json_fail(r->j, "an access is not [value, \"r\", \"w\" or \"rw\"]");
    g_array_append_val(r->accesses, a);
}

static void add_op(struct reader *r, const struct op *op)
{
    struct plan *plan = r->plan;
    plan_add_op(plan, op->lane, &op->tag, op->cost);
    for (guint i = 0; i < r->accesses->len; i++) {
        const struct access *a = &g_array_index(r->accesses, struct access, i);
        plan_access(plan, a->value, a->mode);
    }
    for (guint i = 0; i < r->deps->len; i++)
        plan_dep(plan, g_array_index(r->deps, uint32_t, i));
    if (op->tag.coll != OP_NONE && !r->collectives)
        plan->n_colls = MAX(plan->n_colls, op->tag.coll + 1);
    r->n_micro = MAX(r->n_micro, op->tag.micro);
}

static void read_op(struct reader *r, uint32_t place)
{
    struct op op = {0};
    uint32_t seen_tag = 0, seen = 0;
    g_array_set_size(r->accesses, 0);
    g_array_set_size(r->deps, 0);
    fields_clear(tag_fields, &op.tag);
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "access"))
            for (json_array(r->j); json_element(r->j);)
                read_access(r);
        else if (!strcmp(key, "deps"))
            read_numbers(r->j, r->deps);
        else if (!fields_read(tag_fields, key, r->j, &r->plan->t, &op.tag, &seen_tag) &&
                 !fields_read(op_fields, key, r->j, &r->plan->t, &op, &seen))
            read_other(r, key, "op", place);
    fields_done(tag_fields, r->j, seen_tag);
    fields_done(op_fields, r->j, seen);
    if (!json_bad(r->j))
        add_op(r, &op);
}

/* --- what only the whole can tell */

static void *take(GArray **array, uint32_t *n)
{
    *n = (*array)->len;
    void *rows = g_array_free(*array, (*array)->len == 0);
    *array = NULL;
    return rows;
}

static void settle_params(struct reader *r)
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
static void settle_bucket(struct reader *r, uint32_t i, uint32_t *listed)
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

static void settle_buckets(struct reader *r)
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

static void settle_lanes(struct reader *r)
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
static void derive_micro(struct reader *r)
{
    const uint64_t n = (uint64_t)r->n_micro + 1;
    /* Each has an op of each rank. */
    if (n > 1 && n * r->samples->len > r->plan->n_ops) {
        json_fail(r->j, "micro-batch %u, but there are not so many ops", r->n_micro);
        return;
    }
    for (guint i = 0; i < r->samples->len; i++)
        for (uint32_t m = 0; m < n; m++) {
            uint32_t rows = chunk_size(g_array_index(r->samples, uint32_t, i), (uint32_t)n, m);
            g_array_append_val(r->micro, rows);
        }
}

static void check_micro(struct reader *r)
{
    const struct plan *plan = r->plan;
    uint64_t all = 0;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++) {
        uint64_t sum = 0;
        for (uint32_t m = 0; m < plan->n_micro; m++)
            sum += plan->micro_rows[(gsize)i * plan->n_micro + m];
        if (sum != plan->rank_rows[i])
            json_fail(r->j, "rank %u has %u samples, but its micro-batches have others", i,
                      plan->rank_rows[i]);
        all += sum;
    }
    if (all > INT32_MAX)
        json_fail(r->j, "more than %d samples", INT32_MAX);
}

/* All of them are there, or none: only engines that execute ask. */
static void settle_ranks(struct reader *r)
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
}

/* Version 0.1 did not write it, but the costs of its steps say it. */
static void settle_optimizer(struct reader *r)
{
    for (uint32_t i = 0; i < r->plan->n_costs && !r->optimizer; i++)
        for (unsigned k = 0; k < OPTIMIZERS; k++)
            if (r->plan->costs[i].kind == OP_OPTIM && !strcmp(r->plan->costs[i].shape, optimizer_name(k)))
                r->plan->optimizer = (uint8_t)k;
}

static void settle(struct reader *r)
{
    if (!json_bad(r->j) && (!r->schema || r->plan->t.n_ranks == 0 || r->plan->n_ops == 0))
        json_fail(r->j, "%s; write one with parprof plan --format json",
                  r->schema ? "a plan without ranks or ops" : "this is no plan");
    if (json_cut(r->j))
        json_fail(r->j, "this is not all of a plan");
    void (*const steps[])(struct reader *) = {settle_params, settle_buckets, settle_lanes, settle_ranks,
                                              settle_optimizer};
    for (unsigned i = 0; i < G_N_ELEMENTS(steps) && !json_bad(r->j); i++)
        steps[i](r);
}

/* --- the model */

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

static bool remake_model(struct reader *r, const char *name, struct model **model)
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

static void read_plan(struct reader *r)
{
    struct json *j = r->j;
    json_object(j);
    for (const char *key; (key = json_key(j));)
        if (!strcmp(key, "schema")) {
            const char *schema = json_text(j);
            if (strcmp(schema, SCHEMA))
                json_fail(j, "schema \"%s\", but this program reads " SCHEMA, schema);
            r->schema = true;
        } else if (!strcmp(key, "options"))
            read_options(r);
        else if (!strcmp(key, "model"))
            read_model(r);
        else if (!strcmp(key, "buckets"))
            read_rows(r, read_bucket);
        else if (!strcmp(key, "lanes"))
            read_rows(r, read_lane);
        else if (!strcmp(key, "values"))
            read_rows(r, read_value);
        else if (!strcmp(key, "costs"))
            read_rows(r, read_cost);
        else if (!strcmp(key, "gangs"))
            read_rows(r, read_gang);
        else if (!strcmp(key, "collectives")) {
            r->plan->n_colls = json_u32(j, 0, UINT32_MAX);
            r->collectives = true;
        } else if (!strcmp(key, "ops"))
            read_rows(r, read_op);
        else
            json_skip(j);
}

bool plan_read_json(const char *text, size_t n, const char *name, struct plan *plan, struct model **model,
                    GError **error)
{
    struct reader r = {.j = json_open(text, n, name), .plan = plan};
    GArray **const arrays[] = {&r.layers,  &r.params, &r.buckets, &r.members,  &r.closers,
                               &r.samples, &r.micro,  &r.share,   &r.accesses, &r.deps};
    const guint sizes[] = {sizeof(struct layer_row), sizeof(struct param_row), sizeof(struct bucket_row),
                           sizeof(uint32_t),         sizeof(const char *),     sizeof(uint32_t),
                           sizeof(uint32_t),         sizeof(double),           sizeof(struct access),
                           sizeof(uint32_t)};
    for (unsigned i = 0; i < G_N_ELEMENTS(arrays); i++)
        *arrays[i] = g_array_new(FALSE, FALSE, sizes[i]);
    *model = NULL;
    plan_init(plan);
    read_plan(&r);
    settle(&r);
    bool ok = !json_bad(r.j) && remake_model(&r, name, model);
    for (unsigned i = 0; i < G_N_ELEMENTS(arrays); i++)
        if (*arrays[i])
            g_array_free(*arrays[i], TRUE);
    json_close(r.j, ok ? NULL : error);
    if (!ok)
        plan_release(plan);
    return ok;
}
