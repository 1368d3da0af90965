#include "plan/read-json.h"

#include <string.h>

#include "plan/fields.h"

#define SCHEMA "parprof.plan/1"

/* A key that is no field: the row's number, which must be its place, or one that we do not know. */
static void read_other(struct plan_reader *r, const char *key, const char *number, uint32_t place)
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
static bool read_row(struct plan_reader *r, const struct field *fields, const char *number, uint32_t place,
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

static void read_rows(struct plan_reader *r, void (*read)(struct plan_reader *, uint32_t place))
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

static void read_optimizer(struct plan_reader *r)
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

static void read_shares(struct plan_reader *r, GArray *out, double max)
{
    json_array(r->j);
    while (json_element(r->j)) {
        double x = json_number(r->j);
        if (x < 0 || x > max)
            json_fail(r->j, "a share of the samples is %g, it should be from 0 to %g", x, max);
        g_array_append_val(out, x);
    }
}

static const char *read_name(struct plan_reader *r)
{
    if (json_peek(r->j) != JSON_NULL)
        return tables_intern(&r->plan->t, json_text(r->j));
    json_skip(r->j);
    return NULL;
}

static void read_options(struct plan_reader *r)
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
            read_shares(r, r->share, 1);
        else if (!strcmp(key, "micro_weight"))
            read_shares(r, r->weight, 1);
        else if (!strcmp(key, "first_sample"))
            read_numbers(r->j, r->first);
        else if (!strcmp(key, "schedule"))
            r->plan->t.schedule = read_name(r);
        else if (!strcmp(key, "batch"))
            r->plan->batch = json_u32(r->j, 1, INT32_MAX);
        else if (!strcmp(key, "rounds"))
            r->plan->t.n_rounds = json_u32(r->j, 1, INT32_MAX);
        else if (!strcmp(key, "updates"))
            r->plan->n_updates = json_u32(r->j, 1, INT32_MAX);
        else if (!strcmp(key, "loss_scale"))
            r->plan->loss_scale = json_number(r->j);
        else
            json_skip(r->j);
}

/* --- tables */

static void read_layer(struct plan_reader *r, uint32_t place)
{
    struct layer_row row = {0};
    if (read_row(r, layer_fields, "index", place, &row))
        g_array_append_val(r->layers, row);
    if (r->layers->len >= LAYER_NONE)
        json_fail(r->j, "more than %u layers", LAYER_NONE - 1);
}

static void read_param(struct plan_reader *r, uint32_t place)
{
    struct param_row row;
    if (read_row(r, param_fields, "index", place, &row))
        g_array_append_val(r->params, row);
}

static void read_override(struct plan_reader *r)
{
    struct model_override *over = &r->plan->override;
    uint32_t seen;
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));)
        if (!strcmp(key, "dtype")) {
            const char *name = json_text(r->j);
            over->dtype = (uint8_t)dtype_find(name);
            if (over->dtype == DTYPES)
                json_fail(r->j, "there is no dtype \"%s\", write f32, f64 or tf32", name);
        } else if (!fields_read(override_fields, key, r->j, &r->plan->t, over, &seen))
            json_skip(r->j);
}

static void read_model(struct plan_reader *r)
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

static void read_bucket(struct plan_reader *r, uint32_t place)
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

static void read_stage(struct plan_reader *r, uint32_t place)
{
    struct stage_row row = {0};
    if (read_row(r, stage_fields, "stage", place, &row))
        g_array_append_val(r->stages, row);
    if (r->stages->len >= STAGE_NONE)
        json_fail(r->j, "more than %u stages", STAGE_NONE - 1);
}

static void read_lane(struct plan_reader *r, uint32_t place)
{
    struct lane lane = {0};
    if (read_row(r, lane_fields, "lane", place, &lane))
        plan_add_lane(r->plan, &lane);
}

static void add_value(struct plan_reader *r, uint32_t place, const struct value *v)
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

static void read_value(struct plan_reader *r, uint32_t place)
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

static void read_gemm(struct plan_reader *r, struct gemm *g)
{
    uint32_t *const parts[] = {&g->m, &g->n, &g->k, &g->batch};
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++) {
        uint32_t x = json_u32(r->j, n < 2, UINT32_MAX);
        if (n < G_N_ELEMENTS(parts))
            *parts[n] = x;
    }
    if (n != G_N_ELEMENTS(parts))
        json_fail(r->j, "a matrix product has m, n, k and how many, not %u numbers", n);
}

static void read_gemms(struct plan_reader *r, struct cost_key *key)
{
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++)
        if (n < COST_GEMMS)
            read_gemm(r, &key->gemms[n]);
        else
            json_fail(r->j, "more than %u matrix products in one op", COST_GEMMS);
}

static void read_cost(struct plan_reader *r, uint32_t place)
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

static void read_gang(struct plan_reader *r, uint32_t place)
{
    struct gang gang = {0};
    if (read_row(r, gang_fields, "gang", place, &gang))
        plan_add_gang(r->plan, gang.shift);
}

/* [value, "r", "w" or "rw"] */
static void read_access(struct plan_reader *r)
{
    struct access a = {0};
    unsigned n = 0;
    for (json_array(r->j); json_element(r->j); n++)
        if (n == 0)
            a.value = json_u32(r->j, 0, PLAN_VALUES_MAX - 1);
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

static void add_op(struct plan_reader *r, const struct op *op)
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
    if (op->tag.micro != OP_NONE)
        r->last_micro = MAX(r->last_micro, op->tag.micro);
}

static void read_op(struct plan_reader *r, uint32_t place)
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

static void read_plan(struct plan_reader *r)
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
        else if (!strcmp(key, "stages"))
            read_rows(r, read_stage);
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
    struct plan_reader r = {.j = json_open(text, n, name), .plan = plan};
    GArray **const arrays[] = {&r.layers,  &r.params, &r.buckets, &r.members,  &r.closers,
                               &r.samples, &r.micro,  &r.share,   &r.accesses, &r.deps,
                               &r.stages,  &r.first,  &r.weight};
    const guint sizes[] = {sizeof(struct layer_row),
                           sizeof(struct param_row),
                           sizeof(struct bucket_row),
                           sizeof(uint32_t),
                           sizeof(const char *),
                           sizeof(uint32_t),
                           sizeof(uint32_t),
                           sizeof(double),
                           sizeof(struct access),
                           sizeof(uint32_t),
                           sizeof(struct stage_row),
                           sizeof(uint32_t),
                           sizeof(double)};
    for (unsigned i = 0; i < G_N_ELEMENTS(arrays); i++)
        *arrays[i] = g_array_new(FALSE, FALSE, sizes[i]);
    *model = NULL;
    plan_init(plan);
    read_plan(&r);
    plan_read_settle(&r);
    bool ok = !json_bad(r.j) && plan_read_model(&r, name, model);
    for (unsigned i = 0; i < G_N_ELEMENTS(arrays); i++)
        if (*arrays[i])
            g_array_free(*arrays[i], TRUE);
    json_close(r.j, ok ? NULL : error);
    if (!ok)
        plan_release(plan);
    return ok;
}
