#include <string.h>

#include "profile/cost-rows.h"
#include "profile/import.h"

static const char *kind_of_schema(struct json *j)
{
    static const char *const kinds[] = {"trace", "report", "plan", "cost", "sweep"};
    const char *schema = json_text(j);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autofree char *own = g_strdup_printf("parprof.%s/1", kinds[i]);
        if (strcmp(schema, own) == 0)
            return kinds[i];
    }
    if (g_str_has_prefix(schema, "parprof."))
        json_fail(j, "\"%s\" is of another version of parprof than this one reads", schema);
    else
        json_fail(j, "\"%s\" is no schema of parprof", schema);
    return NULL;
}

static const char *kind_of_member(struct json *j)
{
    const char *kind = NULL;
    json_object(j);
    for (const char *key; !kind && (key = json_key(j));) {
        if (!strcmp(key, "schema"))
            kind = kind_of_schema(j);
        else
            json_skip(j);
    }
    return kind;
}

static bool has_member(struct json *j, const char *name)
{
    json_object(j);
    for (const char *key; (key = json_key(j));)
        if (!strcmp(key, name))
            return true;
    return false;
}

static const char *find_kind(struct json *j)
{
    const char *kind = NULL;
    bool events = false;
    if (json_peek(j) == JSON_ARRAY) {
        json_array(j);
        if (json_element(j) && json_peek(j) == JSON_OBJECT && has_member(j, "ph"))
            return "profile";
        json_fail(j, "a list, and none of events of a trace");
        return NULL;
    }
    json_object(j);
    for (const char *key; !kind && (key = json_key(j));) {
        events = events || !strcmp(key, "traceEvents");
        if (!strcmp(key, "schema"))
            kind = kind_of_schema(j);
        else if (!strcmp(key, "parprof") && json_peek(j) == JSON_OBJECT)
            kind = kind_of_member(j);
        else
            json_skip(j);
    }
    if (!kind && events)
        kind = "profile";
    if (!kind)
        json_fail(j, "no file of parprof: it has no member \"schema\"");
    return kind;
}

const char *import_kind(const char *text, size_t n, const char *name, GError **error)
{
    struct json *j = json_open(text, n, name);
    const char *kind = find_kind(j);
    return json_close(j, error) ? kind : NULL;
}

bool import_trace_of(const char *kind, const char *text, size_t n, const char *name, struct trace *trace,
                     GError **error)
{
    const struct import_file file = {text, name, n};
    return !strcmp(kind, "profile") ? import_profiler(1, &file, trace, error)
                                    : import_trace(text, n, name, trace, error);
}

struct rows {
    struct json *j;
    struct cost_table *table;
    GStringChunk *strings;
    size_t n;
};

static void read_row(struct rows *rows)
{
    struct json *j = rows->j;
    struct cost_key key = cost_key_none();
    struct cost cost = {-1, -1};
    json_object(j);
    for (const char *name; (name = json_key(j));) {
        if (!strcmp(name, "alone_ns"))
            cost.alone_ns = json_i64(j, 0, INT64_MAX);
        else if (!strcmp(name, "work_ns"))
            cost.work_ns = json_i64(j, 0, INT64_MAX);
        else if (!cost_key_member(j, name, rows->strings, &key))
            json_skip(j);
    }
    if (json_cut(j) || json_bad(j))
        return;
    if (key.kind == OP_KINDS || cost.alone_ns < 0)
        json_fail(j, "a cost should have \"kind\" and \"alone_ns\"");
    else if (cost.work_ns > cost.alone_ns)
        json_fail(j, "\"work_ns\" should be at most \"alone_ns\"");
    else {
        cost.work_ns = cost.work_ns < 0 ? cost.alone_ns : cost.work_ns;
        cost_table_add(rows->table, &key, &cost);
        rows->n++;
    }
}

/* The member "costs" of a cost file or a report. */
static bool read_rows(const char *text, size_t n, const char *name, struct cost_table *table, GError **error)
{
    struct rows rows = {json_open(text, n, name), table, g_string_chunk_new(256), 0};
    struct json *j = rows.j;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "costs"))
            for (json_array(j); json_element(j);)
                read_row(&rows);
        else
            json_skip(j);
    }
    if (json_cut(j))
        json_fail(j, "costs are missing");
    else if (!rows.n)
        json_fail(j, "no measured costs are in it; write one with a run on --backend cpu");
    g_string_chunk_free(rows.strings);
    return json_close(j, error);
}

static void add_cost(void *table, const struct cost_key *key, const struct cost *cost, uint32_t samples)
{
    (void)samples;
    cost_table_add(table, key, cost);
}

static bool costs_of_trace(const char *text, size_t n, const char *name, struct cost_table *table,
                           GError **error)
{
    struct trace trace;
    if (!import_trace(text, n, name, &trace, error))
        return false;
    struct cost_table *found = trace_costs(&trace);
    cost_table_each(found, add_cost, table);
    cost_table_free(found);
    trace_release(&trace);
    return true;
}

bool import_costs(const char *text, size_t n, const char *name, struct cost_table *table, GError **error)
{
    const char *kind = import_kind(text, n, name, error);
    if (!kind)
        return false;
    if (!strcmp(kind, "trace"))
        return costs_of_trace(text, n, name, table, error);
    if (!strcmp(kind, "report") || !strcmp(kind, "cost"))
        return read_rows(text, n, name, table, error);
    g_set_error(error, JSON_ERROR, 0,
                "%s: a %s holds no measured costs, give a trace, a report or a cost file", name, kind);
    return false;
}

struct row_writer {
    GString *out;
    bool any;
};

static void write_row(void *user, const struct cost_key *key, const struct cost *cost, uint32_t samples)
{
    struct row_writer *w = user;
    g_string_append(w->out, w->any ? ",\n  {" : "\n  {");
    w->any = true;
    cost_key_json(key, w->out);
    g_string_append(w->out, ",\"alone_ns\":");
    json_int(w->out, cost->alone_ns);
    g_string_append(w->out, ",\"work_ns\":");
    json_int(w->out, cost->work_ns);
    g_string_append(w->out, ",\"samples\":");
    json_uint(w->out, samples);
    g_string_append_c(w->out, '}');
}

void export_cost_rows(struct cost_table *table, GString *out)
{
    struct row_writer w = {out, false};
    g_string_append_c(out, '[');
    cost_table_each(table, write_row, &w);
    g_string_append_c(out, ']');
}

void export_costs(struct cost_table *table, const char *source, GString *out)
{
    g_string_append(out, "{\"schema\": \"parprof.cost/1\",\n \"source\": ");
    json_string(out, source);
    g_string_append(out, ",\n \"costs\": ");
    export_cost_rows(table, out);
    g_string_append(out, "\n}\n");
}
