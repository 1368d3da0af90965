/* What is left out is none or 0; ids are positions in the lists.  One row a line, so that plans can be
 * compared. */
#include "plan/fields.h"
#include "plan/plan.h"

static void append_key_string(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, ",\"%s\":", key);
    json_string(out, value);
}

static void begin_row(GString *out, uint32_t i, const char *key)
{
    g_string_append_printf(out, "%s\n{\"%s\":", i ? "," : "", key);
    json_uint(out, i);
}

/* numbers[from .. to) */
static void append_numbers(GString *out, const char *key, const uint32_t *numbers, size_t from, size_t to)
{
    g_string_append_printf(out, ",\"%s\":[", key);
    for (size_t i = from; i < to; i++) {
        g_string_append(out, i > from ? "," : "");
        json_uint(out, numbers[i]);
    }
    g_string_append_c(out, ']');
}

/* A table whose rows are fields and no more. */
static void append_rows(GString *out, const char *list, const char *key, const struct field *fields,
                        const void *rows, size_t row_bytes, uint32_t n)
{
    g_string_append_printf(out, "\"%s\":[", list);
    for (uint32_t i = 0; i < n; i++) {
        begin_row(out, i, key);
        fields_write(fields, (const char *)rows + i * row_bytes, out);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void append_doubles(GString *out, const char *key, const double *numbers, size_t n)
{
    g_string_append_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        g_string_append(out, i ? "," : "");
        json_double(out, numbers[i]);
    }
    g_string_append_c(out, ']');
}

/* What only pipelines and DataParallel have. */
static void append_uneven(const struct plan *plan, GString *out)
{
    const size_t micro = (size_t)plan->t.n_ranks * plan->n_micro;
    if (plan->t.schedule)
        append_key_string(out, "schedule", plan->t.schedule);
    const struct {
        const char *key;
        uint32_t value;
    } counts[] = {{"batch", plan->batch}, {"rounds", plan->t.n_rounds}, {"updates", plan->n_updates}};
    for (unsigned i = 0; i < G_N_ELEMENTS(counts); i++)
        if (counts[i].value) {
            g_string_append_printf(out, ",\"%s\":", counts[i].key);
            json_uint(out, counts[i].value);
        }
    if (plan->loss_scale > 0) {
        g_string_append(out, ",\"loss_scale\":");
        json_double(out, plan->loss_scale);
    }
    if (plan->rank_first)
        append_numbers(out, "first_sample", plan->rank_first, 0, plan->t.n_ranks);
    if (plan->micro_weight)
        append_doubles(out, "micro_weight", plan->micro_weight, micro);
}

static void append_options(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"options\":{\"mode\":");
    json_string(out, t->mode);
    g_string_append(out, ",\"ranks\":");
    json_uint(out, t->n_ranks);
    append_key_string(out, "optimizer", optimizer_name(plan->optimizer));
    append_numbers(out, "samples", plan->rank_rows, 0, plan->rank_rows ? t->n_ranks : 0);
    append_numbers(out, "micro_samples", plan->micro_rows, 0,
                   plan->micro_rows ? (size_t)t->n_ranks * plan->n_micro : 0);
    append_doubles(out, "share", plan->rank_share, plan->rank_share ? t->n_ranks : 0);
    append_uneven(plan, out);
    g_string_append(out, "},\n");
}

static void append_model(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"model\":{\"name\":");
    json_string(out, t->model);
    if (plan->ini) {
        append_key_string(out, "ini", plan->ini);
        g_string_append(out, ",\n\"override\":{\"dtype\":");
        json_string(out, dtype_name(plan->override.dtype));
        fields_write(override_fields, &plan->override, out);
        g_string_append_c(out, '}');
    }
    g_string_append(out, ",\n");
    append_rows(out, "layers", "index", layer_fields, t->layers, sizeof *t->layers, t->n_layers);
    g_string_append(out, ",\n");
    append_rows(out, "params", "index", param_fields, t->params, sizeof *t->params, t->n_params);
    g_string_append(out, "},\n");
}

static void append_buckets(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"buckets\":[");
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *b = &t->buckets[i];
        begin_row(out, i, "index");
        g_string_append(out, ",\"bytes\":");
        json_uint(out, b->bytes);
        append_numbers(out, "params", t->bucket_params, b->first_param, b->first_param + b->n_params);
        append_key_string(out, "closed_by", b->closed_by < t->n_params ? t->params[b->closed_by].name : NULL);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

/* A view has its root's class, rank and flags. */
static void append_value(const struct plan *plan, uint32_t i, GString *out)
{
    const struct value *v = &plan->values[i];
    const bool root = v->root == i;
    struct value row;
    fields_clear(value_fields, &row);
    row.root = root ? OP_NONE : v->root;
    row.offset = root ? VALUE_OFFSET_NONE : v->offset;
    row.bytes = v->bytes;
    if (root) {
        row.cls = v->cls;
        row.rank = v->rank;
        row.index = v->index;
        row.micro = v->micro;
        row.version = v->version;
    }
    begin_row(out, i, "value");
    fields_write(value_fields, &row, out);
    g_string_append(out, root && v->flags & VALUE_LIVE_IN ? ",\"live_in\":true" : "");
    g_string_append(out, root && v->flags & VALUE_LIVE_OUT ? ",\"live_out\":true" : "");
    g_string_append_c(out, '}');
}

static void append_values(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"values\":[");
    for (uint32_t i = 0; i < plan->n_values; i++)
        append_value(plan, i, out);
    g_string_append(out, "],\n");
}

static void append_gemms(const struct cost_key *key, GString *out)
{
    const unsigned n = cost_gemms(key);
    for (unsigned i = 0; i < n; i++) {
        const struct gemm *g = &key->gemms[i];
        g_string_append_printf(out, "%s[%u,%u,%u,%u]", i ? "," : ",\"gemms\":[", g->m, g->n, g->k, g->batch);
    }
    g_string_append(out, n ? "]" : "");
}

static void append_costs(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"costs\":[");
    for (uint32_t i = 0; i < plan->n_costs; i++) {
        begin_row(out, i, "cost");
        fields_write(cost_fields, &plan->costs[i], out);
        append_gemms(&plan->costs[i], out);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_op(const struct plan *plan, uint32_t i, GString *out)
{
    static const char *const modes[] = {"?", "r", "w", "rw"};
    const struct op *op = &plan->ops[i];
    begin_row(out, i, "op");
    fields_write(tag_fields, &op->tag, out);
    fields_write(op_fields, op, out);
    g_string_append(out, ",\"access\":[");
    for (uint32_t k = op->first_access; k < op[1].first_access; k++) {
        g_string_append(out, k > op->first_access ? ",[" : "[");
        json_uint(out, plan->accesses[k].value);
        g_string_append_printf(out, ",\"%s\"]", modes[plan->accesses[k].mode & ACCESS_UPDATE]);
    }
    g_string_append_c(out, ']');
    append_numbers(out, "deps", plan->deps, op->first_dep, op[1].first_dep);
    g_string_append_c(out, '}');
}

void plan_write_json(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "{\"schema\":\"parprof.plan/1\",\n");
    append_options(plan, out);
    append_model(plan, out);
    append_buckets(plan, out);
    if (t->n_stages) {
        append_rows(out, "stages", "stage", stage_fields, t->stages, sizeof *t->stages, t->n_stages);
        g_string_append(out, ",\n");
    }
    append_rows(out, "lanes", "lane", lane_fields, t->lanes, sizeof *t->lanes, t->n_lanes);
    g_string_append(out, ",\n");
    append_values(plan, out);
    append_costs(plan, out);
    append_rows(out, "gangs", "gang", gang_fields, plan->gangs, sizeof *plan->gangs, plan->n_gangs);
    g_string_append(out, ",\n\"collectives\":");
    json_uint(out, plan->n_colls);
    g_string_append(out, ",\n\"ops\":[");
    for (uint32_t i = 0; i < plan->n_ops; i++)
        append_op(plan, i, out);
    g_string_append(out, "]}\n");
}
