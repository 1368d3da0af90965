#include "plan/plan.h"

/* "layer3.attention", or the first and last layer of several. */
static void append_layers(const struct plan *plan, uint32_t layer0, uint32_t layer1, GString *out)
{
    if (layer0 >= layer1 || layer1 > plan->t.n_layers)
        return;
    g_string_append_printf(out, " %s", plan->t.layers[layer0].name);
    if (layer1 - layer0 > 1)
        g_string_append_printf(out, "..%s", plan->t.layers[layer1 - 1].name);
}

static void append_op(const struct plan *plan, const struct op_tag *tag, GString *out)
{
    g_string_append(out, op_label(tag->kind));
    if (tag->bucket != OP_NONE)
        g_string_append_printf(out, " bucket %u", tag->bucket);
    if (tag->bucket == OP_NONE || tag->kind == OP_PACK)
        append_layers(plan, tag->layer0, tag->layer1, out);
    if (tag->algo != ALLREDUCE_WHOLE)
        g_string_append_printf(out, " hop %u", tag->hop);
}

char *plan_op_text(const struct plan *plan, uint32_t op)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "op %u (", op);
    append_op(plan, &plan->ops[op].tag, out);
    if (plan->ops[op].lane < plan->t.n_lanes)
        g_string_append_printf(out, ", rank %u", plan->t.lanes[plan->ops[op].lane].rank);
    g_string_append_c(out, ')');
    return g_string_free(out, FALSE);
}

/* A plan is printed in a handful of columns, so sizes are always MiB. */
static void append_mib(GString *out, const char *format, uint64_t bytes)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(out, format,
                           g_ascii_formatd(text, sizeof text, "%.2f", (double)bytes / (1 << 20)));
}

static void append_summary(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < t->n_params; i++)
        bytes += t->params[i].bytes;
    g_string_append_printf(out, "mode %s, model %s, %u rank%s: ", t->mode ? t->mode : "?",
                           t->model ? t->model : "?", t->n_ranks, t->n_ranks == 1 ? "" : "s");
    append_mib(out, "%s MiB of gradients in ", bytes);
    g_string_append_printf(out, "%u tensors", t->n_params);
    if (t->n_buckets)
        g_string_append_printf(out, ", %u buckets", t->n_buckets);
    g_string_append_printf(out, ", %u operations\n", plan->n_ops);
}

static void append_buckets(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    if (t->n_buckets)
        g_string_append(out, "\nbucket       MiB  tensors  closed by\n");
    for (uint32_t i = 0; i < t->n_buckets; i++) {
        const struct bucket_row *b = &t->buckets[i];
        g_string_append_printf(out, "%6u", i);
        append_mib(out, "  %8s", b->bytes);
        g_string_append_printf(out, "  %7u  %s\n", b->n_params,
                               b->closed_by < t->n_params ? t->params[b->closed_by].name
                                                          : "- (what was left)");
    }
}

static void append_stages(const struct plan *plan, GString *out)
{
    const struct tables *t = &plan->t;
    if (t->n_stages)
        g_string_append(out, "\nstage  rank   parameters       MiB  layers\n");
    for (uint32_t s = 0; s < t->n_stages; s++) {
        const struct stage_row *stage = &t->stages[s];
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < t->n_params; i++)
            if (t->params[i].layer >= stage->layer0 && t->params[i].layer < stage->layer1)
                bytes += t->params[i].bytes;
        g_string_append_printf(out, "%5u  %4u  %11" G_GUINT64_FORMAT, s, stage->rank,
                               bytes / dtype_bytes(plan->override.dtype));
        append_mib(out, "  %8s ", bytes);
        append_layers(plan, stage->layer0, stage->layer1, out);
        g_string_append_c(out, '\n');
    }
}

static void append_kinds(const struct plan *plan, GString *out)
{
    uint32_t counts[OP_KINDS] = {0};
    for (uint32_t i = 0; i < plan->n_ops; i++)
        counts[plan->ops[i].tag.kind]++;
    g_string_append(out, "\nkind           ops  lane     what it does\n");
    for (unsigned kind = 0; kind < OP_KINDS; kind++)
        if (counts[kind])
            g_string_append_printf(out, "%-10s  %6u  %-7s  %s\n", op_label(kind), counts[kind],
                                   lane_class_name(op_lane_class(kind)), op_description(kind));
}

static void append_memory(const struct plan *plan, GString *out)
{
    g_autofree uint64_t *bytes = g_new(uint64_t, (gsize)plan->t.n_ranks * VALUE_CLASSES);
    plan_memory(plan, bytes, NULL);
    g_string_append(out, "\nmemory of rank 0       MiB at its peak\n");
    for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
        if (bytes[cls]) {
            g_string_append_printf(out, "%-14s", value_class_name(cls));
            append_mib(out, "  %10s\n", bytes[cls]);
        }
}

static uint64_t sent_bytes(const struct op_tag *tag)
{
    return tag->kind == OP_RECV || tag->kind == OP_RECV_ADD ? 0 : tag->bytes;
}

/* The hops of a lowered collective are one row; returns the op after those of the row. */
static uint32_t append_row(const struct plan *plan, uint32_t id, GString *out)
{
    const struct op *op = &plan->ops[id];
    uint32_t next = id + 1, hops = 1;
    uint64_t bytes = sent_bytes(&op->tag);
    g_autoptr(GString) what = g_string_new(NULL);
    if (op->tag.algo == ALLREDUCE_WHOLE)
        append_op(plan, &op->tag, what);
    for (; op->tag.algo != ALLREDUCE_WHOLE && next < plan->n_ops && plan->ops[next].lane == op->lane &&
           plan->ops[next].tag.coll == op->tag.coll;
         next++, hops++)
        bytes += sent_bytes(&plan->ops[next].tag);
    if (op->tag.algo != ALLREDUCE_WHOLE && op->tag.bucket != OP_NONE)
        g_string_append_printf(what, "%s all-reduce bucket %u, %u hop%s", allreduce_name(op->tag.algo),
                               op->tag.bucket, hops, hops == 1 ? "" : "s");
    else if (op->tag.algo != ALLREDUCE_WHOLE)
        g_string_append_printf(what, "%s broadcast, %u hop%s", allreduce_name(op->tag.algo), hops,
                               hops == 1 ? "" : "s");
    if (bytes)
        append_mib(what, ", %s MiB sent", bytes);
    g_string_append_printf(out, "%6u  %-7s  %-50s", id, plan->t.lanes[op->lane].name, what->str);
    for (uint32_t i = op->first_dep; i < op[1].first_dep; i++)
        g_string_append_printf(out, " %u", plan->deps[i]);
    while (out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
    return next;
}

void plan_write_table(const struct plan *plan, GString *out)
{
    append_summary(plan, out);
    append_buckets(plan, out);
    append_stages(plan, out);
    append_kinds(plan, out);
    append_memory(plan, out);
    g_string_append(out, "\nrank 0: in order on each lane, and after the operations named\n"
                         "    op  lane     what                                               after\n");
    for (uint32_t i = 0; i < plan->n_ops;)
        i = plan->t.lanes[plan->ops[i].lane].rank == 0 ? append_row(plan, i, out) : i + 1;
}
