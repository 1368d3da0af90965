#include "profile/import-tables.h"

#include <math.h>
#include <string.h>

#include "profile/cost-rows.h"
#include "profile/read.h"

/* What is checked when all of it is there, since members come in any order. */
struct reader {
    struct json *j;
    struct trace *trace;
    struct trace_counts *counts;
    bool schema;
    GArray *loss, *hashes, *measured; /* double, uint64_t; NULL: not there */
    GPtrArray *bytes, *touched;       /* of uint64_t GArrays, a row each; elements may be NULL */
    GPtrArray *names;                 /* of memory */
};

static const char *intern(struct reader *r, const char *text)
{
    return tables_intern(&r->trace->t, text);
}

static const char *text_or_null(struct reader *r)
{
    if (json_peek(r->j) != JSON_NULL)
        return intern(r, json_text(r->j));
    json_skip(r->j);
    return NULL;
}

static void read_lane(struct reader *r, GArray *rows)
{
    struct json *j = r->j;
    struct lane row = {.name = "", .peer = OP_NONE, .rank = OP_NONE, .cls = LANE_CLASSES};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "name"))
            row.name = intern(r, json_text(j));
        else if (!strcmp(key, "class"))
            row.cls = read_name(j, lane_class_name, LANE_CLASSES);
        else if (!strcmp(key, "rank"))
            row.rank = json_u32(j, 0, PLAN_RANKS_MAX - 1);
        else if (!strcmp(key, "device"))
            row.device = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "node"))
            row.node = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "peer"))
            row.peer = json_u32(j, 0, PLAN_RANKS_MAX - 1);
        else
            json_skip(j);
    }
    g_array_append_val(rows, row);
}

static void read_layer(struct reader *r, GArray *rows)
{
    struct json *j = r->j;
    struct layer_row row = {.name = "", .block = ""};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "name"))
            row.name = intern(r, json_text(j));
        else if (!strcmp(key, "block"))
            row.block = intern(r, json_text(j));
        else if (!strcmp(key, "first_param"))
            row.first_param = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "n_params"))
            row.n_params = json_u32(j, 0, OP_NONE - 1);
        else
            json_skip(j);
    }
    g_array_append_val(rows, row);
}

static void read_param(struct reader *r, GArray *rows)
{
    struct json *j = r->j;
    struct param_row row = {.name = "", .bucket = OP_NONE};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "name"))
            row.name = intern(r, json_text(j));
        else if (!strcmp(key, "bytes"))
            row.bytes = json_u64(j, UINT64_MAX);
        else if (!strcmp(key, "layer"))
            row.layer = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "bucket"))
            row.bucket = json_u32(j, 0, OP_NONE - 1);
        else
            json_skip(j);
    }
    g_array_append_val(rows, row);
}

static void read_bucket(struct reader *r, GArray *rows, GArray *params)
{
    struct json *j = r->j;
    struct bucket_row row = {.first_param = params->len, .closed_by = OP_NONE};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "bytes"))
            row.bytes = json_u64(j, UINT64_MAX);
        else if (!strcmp(key, "closed_by"))
            row.closed_by = json_u32(j, 0, OP_NONE - 1);
        else if (strcmp(key, "params"))
            json_skip(j);
        else
            for (json_array(j); json_element(j);) {
                uint32_t param = json_u32(j, 0, OP_NONE - 1);
                g_array_append_val(params, param);
            }
    }
    row.n_params = params->len - row.first_param;
    g_array_append_val(rows, row);
}

static void read_stage(struct reader *r, GArray *rows)
{
    struct json *j = r->j;
    struct stage_row row = {.rank = OP_NONE};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "rank"))
            row.rank = json_u32(j, 0, PLAN_RANKS_MAX - 1);
        else if (!strcmp(key, "layer0"))
            row.layer0 = json_u32(j, 0, LAYER_NONE - 1);
        else if (!strcmp(key, "layer1"))
            row.layer1 = json_u32(j, 0, LAYER_NONE - 1);
        else
            json_skip(j);
    }
    g_array_append_val(rows, row);
}

static void read_cost(struct reader *r, GArray *rows)
{
    struct json *j = r->j;
    struct cost_key row = cost_key_none();
    json_object(j);
    for (const char *key; (key = json_key(j));)
        if (!cost_key_member(j, key, r->trace->t.strings, &row))
            json_skip(j);
    if (row.kind == OP_KINDS && !json_cut(j))
        json_fail(j, "a cost of no \"kind\"");
    g_array_append_val(rows, row);
}

/* The rows of a table, which replace those that are there. */
static void *read_rows(struct reader *r, void *old, void (*read)(struct reader *, GArray *), guint size,
                       uint32_t *n)
{
    GArray *rows = g_array_new(FALSE, TRUE, size);
    for (json_array(r->j); json_element(r->j);)
        read(r, rows);
    g_free(old);
    *n = rows->len;
    return g_array_free(rows, FALSE);
}

static void read_buckets(struct reader *r)
{
    struct tables *t = &r->trace->t;
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct bucket_row));
    GArray *params = g_array_new(FALSE, TRUE, sizeof(uint32_t));
    for (json_array(r->j); json_element(r->j);)
        read_bucket(r, rows, params);
    g_free(t->buckets);
    g_free(t->bucket_params);
    t->n_buckets = rows->len;
    t->buckets = (struct bucket_row *)(void *)g_array_free(rows, FALSE);
    t->bucket_params = (uint32_t *)(void *)g_array_free(params, FALSE);
}

/* Each is sought among the others, and captions show labels. */
enum { LABELS_MAX = 256, FACTS_MAX = 8192 };

static void read_texts(struct reader *r, unsigned most,
                       void (*set)(struct trace *, const char *, const char *))
{
    unsigned n = 0;
    json_object(r->j);
    for (const char *key; (key = json_key(r->j));) {
        if (n++ == most)
            json_fail(r->j, "there are more than %u members", most);
        g_autofree char *name = g_strdup(key);
        const char *value = json_text(r->j);
        if (!json_cut(r->j) && !json_bad(r->j))
            set(r->trace, name, value);
    }
}

static GArray *new_list(guint size, GArray **list)
{
    if (*list)
        g_array_unref(*list);
    return *list = g_array_new(FALSE, FALSE, size);
}

static void read_loss(struct reader *r)
{
    new_list(sizeof(double), &r->loss);
    for (json_array(r->j); json_element(r->j);) {
        double x = NAN;
        if (json_peek(r->j) == JSON_NULL)
            json_skip(r->j);
        else
            x = json_number(r->j);
        g_array_append_val(r->loss, x);
    }
}

static void read_hashes(struct reader *r)
{
    new_list(sizeof(uint64_t), &r->hashes);
    for (json_array(r->j); json_element(r->j);) {
        const char *text = json_text(r->j);
        size_t n = strspn(text, "0123456789abcdefABCDEF");
        if ((n == 0 || n > 16 || text[n]) && !json_cut(r->j))
            json_fail(r->j, "found \"%s\", should be 16 hexadecimal digits", text);
        uint64_t x = g_ascii_strtoull(text, NULL, 16);
        g_array_append_val(r->hashes, x);
    }
}

static void read_category(struct reader *r)
{
    struct json *j = r->j;
    char *name = NULL;
    GArray *bytes = NULL, *touched = NULL;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "name")) {
            g_free(name);
            name = g_strdup(json_text(j));
        } else if (!strcmp(key, "bytes")) {
            read_bytes(j, &bytes);
        } else if (!strcmp(key, "touched")) {
            read_bytes(j, &touched);
        } else {
            json_skip(j);
        }
    }
    g_ptr_array_add(r->names, name ? name : g_strdup(""));
    g_ptr_array_add(r->bytes, bytes);
    g_ptr_array_add(r->touched, touched);
}

static void list_free(gpointer list)
{
    if (list)
        g_array_unref(list);
}

static void memory_free(struct reader *r)
{
    if (!r->names)
        return;
    g_ptr_array_unref(r->names);
    g_ptr_array_unref(r->bytes);
    g_ptr_array_unref(r->touched);
}

static void read_memory(struct reader *r)
{
    memory_free(r);
    r->names = g_ptr_array_new_with_free_func(g_free);
    r->bytes = g_ptr_array_new_with_free_func(list_free);
    r->touched = g_ptr_array_new_with_free_func(list_free);
    for (json_array(r->j); json_element(r->j);)
        read_category(r);
}

static void read_table(struct reader *r, const char *key)
{
    struct trace *trace = r->trace;
    struct tables *t = &trace->t;
    if (!strcmp(key, "lanes"))
        t->lanes = read_rows(r, t->lanes, read_lane, sizeof *t->lanes, &t->n_lanes);
    else if (!strcmp(key, "layers"))
        t->layers = read_rows(r, t->layers, read_layer, sizeof *t->layers, &t->n_layers);
    else if (!strcmp(key, "params"))
        t->params = read_rows(r, t->params, read_param, sizeof *t->params, &t->n_params);
    else if (!strcmp(key, "buckets"))
        read_buckets(r);
    else if (!strcmp(key, "stages"))
        t->stages = read_rows(r, t->stages, read_stage, sizeof *t->stages, &t->n_stages);
    else if (!strcmp(key, "costs"))
        trace->costs = read_rows(r, trace->costs, read_cost, sizeof *trace->costs, &trace->n_costs);
    else if (!strcmp(key, "labels"))
        read_texts(r, LABELS_MAX, trace_label_text);
    else if (!strcmp(key, "facts"))
        read_texts(r, FACTS_MAX, trace_fact_text);
    else if (!strcmp(key, "loss"))
        read_loss(r);
    else if (!strcmp(key, "weight_hash"))
        read_hashes(r);
    else if (!strcmp(key, "memory"))
        read_memory(r);
    else if (!strcmp(key, "memory_measured"))
        read_bytes(r->j, &r->measured);
    else
        json_skip(r->j);
}

static void read_members(struct reader *r)
{
    struct json *j = r->j;
    struct trace *trace = r->trace;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "schema"))
            r->schema = read_schema(j, "parprof.trace/1");
        else if (!strcmp(key, "mode"))
            trace->t.mode = text_or_null(r);
        else if (!strcmp(key, "model"))
            trace->t.model = text_or_null(r);
        else if (!strcmp(key, "schedule"))
            trace->t.schedule = text_or_null(r);
        else if (!strcmp(key, "rounds"))
            trace->t.n_rounds = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "ranks"))
            trace->t.n_ranks = json_u32(j, 0, PLAN_RANKS_MAX);
        else if (!strcmp(key, "steps"))
            r->counts->steps = json_u32(j, 0, OP_NONE - 1);
        else if (!strcmp(key, "ops"))
            r->counts->ops = json_u64(j, OP_NONE - 1);
        else if (!strcmp(key, "spans"))
            r->counts->spans = json_u64(j, INT64_MAX);
        else if (!strcmp(key, "simulated"))
            trace->simulated = json_bool(j);
        else if (!strcmp(key, "cancelled"))
            trace->cancelled = json_bool(j);
        else
            read_table(r, key);
    }
}

static void check_lanes(struct reader *r)
{
    const struct tables *t = &r->trace->t;
    g_autofree bool *any = g_new0(bool, t->n_ranks + 1);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        const struct lane *lane = &t->lanes[i];
        if (lane->cls == LANE_CLASSES || lane->rank >= t->n_ranks ||
            (lane->peer != OP_NONE && lane->peer >= t->n_ranks)) {
            json_fail(r->j, "lane %u should have a class, and its rank and peer be below %u", i, t->n_ranks);
            return;
        }
        any[lane->rank] = true;
    }
    for (uint32_t rank = 0; rank < t->n_ranks; rank++)
        if (!any[rank]) {
            json_fail(r->j, "rank %u of %u has no lane", rank, t->n_ranks);
            return;
        }
}

static void check_params(struct reader *r)
{
    const struct tables *t = &r->trace->t;
    for (uint32_t i = 0; i < t->n_layers; i++)
        if ((uint64_t)t->layers[i].first_param + t->layers[i].n_params > t->n_params)
            json_fail(r->j, "layer %u has parameters beyond the %u that there are", i, t->n_params);
    for (uint32_t i = 0; i < t->n_params; i++)
        if (t->params[i].layer >= t->n_layers ||
            (t->params[i].bucket != OP_NONE && t->params[i].bucket >= t->n_buckets))
            json_fail(r->j, "parameter %u is of layer %u and bucket %u; there are %u and %u", i,
                      t->params[i].layer, t->params[i].bucket, t->n_layers, t->n_buckets);
}

/* A parameter is in one bucket at most, and bucket_params gets the room that struct tables wants. */
static void check_buckets(struct reader *r)
{
    struct tables *t = &r->trace->t;
    g_autofree bool *taken = g_new0(bool, t->n_params + 1);
    uint32_t held = 0;
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *row = &t->buckets[i];
        if (row->closed_by != OP_NONE && row->closed_by >= t->n_params)
            json_fail(r->j, "bucket %u is closed by parameter %u of %u", i, row->closed_by, t->n_params);
        for (uint32_t k = 0; k < row->n_params; k++) {
            uint32_t param = t->bucket_params[row->first_param + k];
            if (param >= t->n_params || taken[param]) {
                json_fail(r->j, "bucket %u holds parameter %u, of %u that are in one bucket each", i, param,
                          t->n_params);
                return;
            }
            taken[param] = true;
            held++;
        }
    }
    t->bucket_params = g_renew(uint32_t, t->bucket_params, t->n_params);
    for (uint32_t i = held; i < t->n_params; i++)
        t->bucket_params[i] = 0;
}

static void check_stages(struct reader *r)
{
    const struct tables *t = &r->trace->t;
    if (t->n_stages >= STAGE_NONE)
        json_fail(r->j, "there are %u stages", t->n_stages);
    for (uint32_t i = 0; i < t->n_stages; i++)
        if (t->stages[i].rank >= t->n_ranks || t->stages[i].layer0 >= t->stages[i].layer1 ||
            t->stages[i].layer1 > t->n_layers)
            json_fail(r->j, "stage %u is of rank %u and layers %u to %u; there are %u and %u", i,
                      t->stages[i].rank, t->stages[i].layer0, t->stages[i].layer1, t->n_ranks, t->n_layers);
}

static void *take_list(struct reader *r, GArray **list, uint32_t n, const char *what)
{
    if (*list && (*list)->len != n)
        json_fail(r->j, "\"%s\" has %u numbers, should have %u", what, (*list)->len, n);
    return *list ? g_array_free(g_steal_pointer(list), FALSE) : NULL;
}

/* Rows of a number a rank become ranks of a number a row. */
static uint64_t *turn(struct reader *r, const GPtrArray *rows, const char *what)
{
    uint32_t ranks = r->trace->t.n_ranks;
    for (guint i = 0; i < rows->len; i++) {
        const GArray *row = rows->pdata[i];
        if (!row || row->len != ranks) {
            json_fail(r->j, "\"memory\" should have a number of \"%s\" a rank in each row", what);
            return NULL;
        }
    }
    uint64_t *out = g_new(uint64_t, (gsize)rows->len * ranks);
    for (guint i = 0; i < rows->len; i++)
        for (uint32_t rank = 0; rank < ranks; rank++)
            out[(gsize)rank * rows->len + i] = g_array_index((const GArray *)rows->pdata[i], uint64_t, rank);
    return out;
}

static void take_memory(struct reader *r)
{
    struct trace *trace = r->trace;
    if (!r->names)
        return;
    trace->memory_bytes = turn(r, r->bytes, "bytes");
    if (r->touched->len && r->touched->pdata[0])
        trace->memory_touched = turn(r, r->touched, "touched");
    trace->n_memory = r->names->len;
    trace->memory_names = g_new(char *, r->names->len);
    for (guint i = 0; i < r->names->len; i++)
        trace->memory_names[i] = g_strdup(r->names->pdata[i]);
}

static void check(struct reader *r)
{
    struct trace *trace = r->trace;
    if (!r->schema)
        json_fail(r->j, "a trace of no \"schema\"");
    else if (json_cut(r->j))
        json_fail(r->j, "no whole step is there");
    check_lanes(r);
    check_params(r);
    check_buckets(r);
    check_stages(r);
    trace->loss = take_list(r, &r->loss, r->counts->steps, "loss");
    trace->weight_hash = take_list(r, &r->hashes, trace->t.n_ranks, "weight_hash");
    trace->memory_measured = take_list(r, &r->measured, trace->t.n_ranks, "memory_measured");
    take_memory(r);
}

void import_tables(struct json *j, struct trace *trace, struct trace_counts *counts)
{
    struct reader r = {.j = j, .trace = trace, .counts = counts};
    *counts = (struct trace_counts){0};
    read_members(&r);
    check(&r);
    list_free(r.loss);
    list_free(r.hashes);
    list_free(r.measured);
    memory_free(&r);
}
