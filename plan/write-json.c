/* What is left out is none or 0; ids are positions in the lists.  One row a line, so that plans can be
 * compared. */
#include "plan/plan.h"

static void append_string(GString *out, const char *s)
{
    if (!s) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_c(out, '"');
    for (; *s; s++) {
        if ((unsigned char)*s < 0x20)
            g_string_append_printf(out, "\\u%04x", (unsigned char)*s);
        else if (*s == '"' || *s == '\\')
            g_string_append_printf(out, "\\%c", *s);
        else
            g_string_append_c(out, *s);
    }
    g_string_append_c(out, '"');
}

static void append_key_string(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, ",\"%s\":", key);
    append_string(out, value);
}

static void append_size(GString *out, const char *key, uint64_t value)
{
    g_string_append_printf(out, ",\"%s\":%" G_GUINT64_FORMAT, key, value);
}

static void append_index(GString *out, const char *key, uint32_t value, uint32_t none)
{
    if (value != none)
        append_size(out, key, value);
}

static void append_double(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_dtostr(text, sizeof text, value));
}

static void begin_row(GString *out, uint32_t i, const char *key)
{
    g_string_append_printf(out, "%s\n{\"%s\":%u", i ? "," : "", key, i);
}

static void append_model(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"model\":{\"name\":");
    append_string(out, t->model);
    g_string_append(out, ",\"layers\":[");
    for (uint32_t i = 0; i < t->n_layers; i++) {
        begin_row(out, i, "index");
        append_key_string(out, "name", t->layers[i].name);
        append_key_string(out, "block", t->layers[i].block);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n\"params\":[");
    for (uint32_t i = 0; i < t->n_params; i++) {
        begin_row(out, i, "index");
        append_key_string(out, "name", t->params[i].name);
        append_size(out, "bytes", t->params[i].bytes);
        append_size(out, "layer", t->params[i].layer);
        append_index(out, "bucket", t->params[i].bucket, OP_NONE);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "]},\n");
}

static void append_options(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"options\":{\"mode\":");
    append_string(out, t->mode);
    append_size(out, "ranks", t->n_ranks);
    g_string_append(out, ",\"samples\":[");
    for (uint32_t r = 0; plan->rank_rows && r < t->n_ranks; r++)
        g_string_append_printf(out, "%s%u", r ? "," : "", plan->rank_rows[r]);
    g_string_append(out, "],\"share\":[");
    for (uint32_t r = 0; plan->rank_share && r < t->n_ranks; r++) {
        g_string_append(out, r ? "," : "");
        append_double(out, plan->rank_share[r]);
    }
    g_string_append(out, "]},\n");
}

static void append_buckets(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    g_string_append(out, "\"buckets\":[");
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *b = &t->buckets[i];
        begin_row(out, i, "index");
        append_size(out, "bytes", b->bytes);
        g_string_append(out, ",\"params\":[");
        for (uint32_t k = 0; k < b->n_params; k++)
            g_string_append_printf(out, "%s%u", k ? "," : "", t->bucket_params[b->first_param + k]);
        g_string_append_c(out, ']');
        append_key_string(out, "closed_by", b->closed_by < t->n_params ? t->params[b->closed_by].name : NULL);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_lanes(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"lanes\":[");
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        const struct lane *l = &plan->t.lanes[i];
        begin_row(out, i, "lane");
        append_key_string(out, "name", l->name);
        append_key_string(out, "class", lane_class_name(l->cls));
        append_size(out, "rank", l->rank);
        append_size(out, "device", l->device);
        append_index(out, "peer", l->peer, OP_NONE);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_values(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"values\":[");
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        begin_row(out, i, "value");
        append_index(out, "root", v->root, i);
        if (v->root != i)
            append_size(out, "offset", v->offset);
        append_size(out, "bytes", v->bytes);
        if (v->root == i) {
            append_key_string(out, "class", value_class_name(v->cls));
            append_size(out, "rank", v->rank);
            append_index(out, "index", v->index, OP_NONE);
            append_index(out, "micro", v->micro, 0);
            g_string_append(out, v->flags & VALUE_LIVE_IN ? ",\"live_in\":true" : "");
            g_string_append(out, v->flags & VALUE_LIVE_OUT ? ",\"live_out\":true" : "");
        }
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_costs(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"costs\":[");
    for (uint32_t i = 0; i < plan->n_costs; i++) {
        const struct cost_key *k = &plan->costs[i];
        begin_row(out, i, "cost");
        append_key_string(out, "kind", op_name(k->kind));
        append_key_string(out, "algo", allreduce_name(k->algo));
        append_key_string(out, "shape", k->shape);
        append_size(out, "rows", k->rows);
        append_size(out, "bytes", k->bytes);
        append_size(out, "flops", k->flops);
        append_size(out, "kernels", k->kernels);
        append_size(out, "members", k->members);
        g_string_append(out, ",\"share\":");
        append_double(out, k->share);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_gangs(const struct plan *plan, GString *out)
{
    g_string_append(out, "\"gangs\":[");
    for (uint32_t i = 0; i < plan->n_gangs; i++) {
        begin_row(out, i, "gang");
        append_size(out, "shift", plan->gangs[i].shift);
        g_string_append_c(out, '}');
    }
    g_string_append(out, "],\n");
}

static void append_tag(const struct op_tag *tag, GString *out)
{
    append_key_string(out, "kind", op_name(tag->kind));
    if (tag->algo != ALLREDUCE_WHOLE)
        append_key_string(out, "algo", allreduce_name(tag->algo));
    append_index(out, "layer0", tag->layer0, LAYER_NONE);
    append_index(out, "layer1", tag->layer1, LAYER_NONE);
    append_index(out, "chunk", tag->chunk, LAYER_NONE);
    append_index(out, "hop", tag->hop, LAYER_NONE);
    append_index(out, "micro", tag->micro, 0);
    append_index(out, "step", tag->step, 0);
    append_index(out, "bucket", tag->bucket, OP_NONE);
    append_index(out, "gang", tag->gang, OP_NONE);
    append_index(out, "coll", tag->coll, OP_NONE);
    if (tag->bytes)
        append_size(out, "bytes", tag->bytes);
}

static void append_op(const struct plan *plan, uint32_t i, GString *out)
{
    static const char *const modes[] = {"?", "r", "w", "rw"};
    const struct op *op = &plan->ops[i];
    begin_row(out, i, "op");
    append_tag(&op->tag, out);
    append_size(out, "lane", op->lane);
    append_size(out, "cost", op->cost);
    g_string_append(out, ",\"access\":[");
    for (uint32_t k = op->first_access; k < op[1].first_access; k++)
        g_string_append_printf(out, "%s[%u,\"%s\"]", k > op->first_access ? "," : "", plan->accesses[k].value,
                               modes[plan->accesses[k].mode & ACCESS_UPDATE]);
    g_string_append(out, "],\"deps\":[");
    for (uint32_t k = op->first_dep; k < op[1].first_dep; k++)
        g_string_append_printf(out, "%s%u", k > op->first_dep ? "," : "", plan->deps[k]);
    g_string_append(out, "]}");
}

void plan_write_json(const struct plan *plan, GString *out)
{
    g_string_append(out, "{\"schema\":\"parprof.plan/1\",\n");
    append_options(plan, out);
    append_model(plan, out);
    append_buckets(plan, out);
    append_lanes(plan, out);
    append_values(plan, out);
    append_costs(plan, out);
    append_gangs(plan, out);
    g_string_append(out, "\"ops\":[");
    for (uint32_t i = 0; i < plan->n_ops; i++)
        append_op(plan, i, out);
    g_string_append(out, "]}\n");
}
