#include "profile/export.h"

#include <inttypes.h>

#include "profile/cost-rows.h"
#include "profile/export-fields.h"

static void write_lanes(const struct tables *t, GString *out)
{
    struct rows rows = {out};
    g_string_append(out, ",\n\"lanes\":[");
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        const struct lane *lane = &t->lanes[i];
        next_row(&rows);
        text_field(out, "{", "name", lane->name);
        text_field(out, ",", "class", lane_class_name(lane->cls));
        field(out, ",", "rank", lane->rank);
        field(out, ",", "device", lane->device);
        field(out, ",", "node", lane->node);
        index_field(out, "peer", lane->peer, OP_NONE);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_layers(const struct tables *t, GString *out)
{
    struct rows rows = {out};
    g_string_append(out, ",\n\"layers\":[");
    for (uint32_t i = 0; i < t->n_layers; i++) {
        next_row(&rows);
        text_field(out, "{", "name", t->layers[i].name);
        text_field(out, ",", "block", t->layers[i].block);
        field(out, ",", "first_param", t->layers[i].first_param);
        field(out, ",", "n_params", t->layers[i].n_params);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_params(const struct tables *t, GString *out)
{
    struct rows rows = {out};
    g_string_append(out, ",\n\"params\":[");
    for (uint32_t i = 0; i < t->n_params; i++) {
        next_row(&rows);
        text_field(out, "{", "name", t->params[i].name);
        bytes_field(out, ",", "bytes", t->params[i].bytes);
        field(out, ",", "layer", t->params[i].layer);
        index_field(out, "bucket", t->params[i].bucket, OP_NONE);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_buckets(const struct tables *t, GString *out)
{
    struct rows rows = {out};
    g_string_append(out, ",\n\"buckets\":[");
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *row = &t->buckets[i];
        next_row(&rows);
        bytes_field(out, "{", "bytes", row->bytes);
        g_string_append(out, ",\"params\":[");
        for (uint32_t k = 0; k < row->n_params; k++) {
            g_string_append(out, k ? "," : "");
            json_uint(out, t->bucket_params[row->first_param + k]);
        }
        g_string_append_c(out, ']');
        index_field(out, "closed_by", row->closed_by, OP_NONE);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_stages(const struct tables *t, GString *out)
{
    struct rows rows = {out};
    if (t->schedule)
        text_field(out, ",\n", "schedule", t->schedule);
    if (t->n_rounds)
        field(out, ",\n", "rounds", t->n_rounds);
    if (!t->n_stages)
        return;
    g_string_append(out, ",\n\"stages\":[");
    for (uint32_t i = 0; i < t->n_stages; i++) {
        next_row(&rows);
        field(out, "{", "rank", t->stages[i].rank);
        field(out, ",", "layer0", t->stages[i].layer0);
        field(out, ",", "layer1", t->stages[i].layer1);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_costs(const struct trace *trace, GString *out)
{
    struct rows rows = {out};
    g_string_append(out, ",\n\"costs\":[");
    for (uint32_t i = 0; i < trace->n_costs; i++) {
        next_row(&rows);
        g_string_append_c(out, '{');
        cost_key_json(&trace->costs[i], out);
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
}

static void write_texts(const char *name, const struct trace_label *texts, uint32_t n, GString *out)
{
    key(out, ",\n", name);
    for (uint32_t i = 0; i < n; i++) {
        g_string_append(out, i ? "," : "{");
        json_string(out, texts[i].key);
        g_string_append_c(out, ':');
        json_string(out, texts[i].value);
    }
    g_string_append(out, n ? "}" : "{}");
}

static void write_training(const struct trace *trace, GString *out)
{
    for (uint32_t i = 0; trace->loss && i < trace->n_steps; i++) {
        g_string_append(out, i ? "," : ",\n\"loss\":[");
        json_double(out, trace->loss[i]);
    }
    g_string_append(out, trace->loss && trace->n_steps ? "]" : "");
    /* As text: a JSON number of 64 bits is not exact for most readers. */
    for (uint32_t i = 0; trace->weight_hash && i < trace->t.n_ranks; i++)
        g_string_append_printf(out, "%s\"%016" PRIx64 "\"", i ? "," : ",\n\"weight_hash\":[",
                               trace->weight_hash[i]);
    g_string_append(out, trace->weight_hash && trace->t.n_ranks ? "]" : "");
}

static void byte_list(const uint64_t *bytes, uint32_t stride, uint32_t n, GString *out)
{
    for (uint32_t i = 0; i < n; i++)
        g_string_append_printf(out, "%s%" PRIu64, i ? "," : "", bytes[(gsize)i * stride]);
    g_string_append_c(out, ']');
}

static void write_memory(const struct trace *trace, GString *out)
{
    if (!trace->memory_bytes)
        return;
    struct rows rows = {out};
    g_string_append(out, ",\n\"memory\":[");
    for (uint32_t i = 0; i < trace->n_memory; i++) {
        next_row(&rows);
        text_field(out, "{", "name", trace->memory_names[i]);
        g_string_append(out, ",\"bytes\":[");
        byte_list(trace->memory_bytes + i, trace->n_memory, trace->t.n_ranks, out);
        if (trace->memory_touched) {
            g_string_append(out, ",\"touched\":[");
            byte_list(trace->memory_touched + i, trace->n_memory, trace->t.n_ranks, out);
        }
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
    if (trace->memory_measured) {
        g_string_append(out, ",\n\"memory_measured\":[");
        byte_list(trace->memory_measured, 1, trace->t.n_ranks, out);
    }
}

void export_header(const struct trace *trace, GString *out)
{
    const char *engine = trace_label_value(trace, "engine");
    g_string_append(out, "\"parprof\":{\"schema\":\"parprof.trace/1\"");
    text_field(out, ",\n", "mode", trace->t.mode);
    text_field(out, ",\n", "model", trace->t.model);
    if (engine)
        text_field(out, ",\n", "engine", engine);
    field(out, ",\n", "ranks", trace->t.n_ranks);
    field(out, ",", "steps", trace->n_steps);
    field(out, ",", "ops", (int64_t)trace->n_ops);
    field(out, ",", "spans", (int64_t)trace->n_spans);
    flag_field(out, "simulated", trace->simulated);
    flag_field(out, "cancelled", trace->cancelled);
    write_texts("labels", trace->labels, trace->n_labels, out);
    if (trace->n_facts)
        write_texts("facts", trace->facts, trace->n_facts, out);
    write_training(trace, out);
    write_memory(trace, out);
    write_lanes(&trace->t, out);
    write_layers(&trace->t, out);
    write_params(&trace->t, out);
    write_buckets(&trace->t, out);
    write_stages(&trace->t, out);
    write_costs(trace, out);
    g_string_append(out, "},\n");
}
