#include "profile/trace.h"

#include <stdlib.h>
#include <string.h>

void trace_init(struct trace *trace)
{
    *trace = (struct trace){0};
    tables_init(&trace->t);
}

static void free_labels(struct trace_label *labels, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        g_free(labels[i].key);
        g_free(labels[i].value);
    }
    g_free(labels);
}

void trace_release(struct trace *trace)
{
    tables_release(&trace->t);
    g_free(trace->ops);
    g_free(trace->spans);
    g_free(trace->costs);
    free_labels(trace->labels, trace->n_labels);
    free_labels(trace->facts, trace->n_facts);
    g_free(trace->loss);
    g_free(trace->weight_hash);
    g_free(trace->memory_bytes);
    for (uint32_t i = 0; trace->memory_names && i < trace->n_memory; i++)
        g_free(trace->memory_names[i]);
    g_free(trace->memory_names);
    g_free(trace->memory_touched);
    g_free(trace->memory_measured);
    *trace = (struct trace){0};
}

void trace_adopt(struct trace *trace, const struct tables *tables, uint32_t n_costs,
                 const struct cost_key *costs)
{
    tables_release(&trace->t);
    tables_copy(&trace->t, tables);
    trace->n_costs = n_costs;
    trace->costs = g_memdup2(costs, (gsize)n_costs * sizeof *costs);
    for (uint32_t i = 0; i < n_costs; i++)
        trace->costs[i].shape = tables_intern(&trace->t, costs[i].shape);
}

static struct trace_label *find_label(struct trace_label *labels, uint32_t n, const char *key)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(labels[i].key, key) == 0)
            return &labels[i];
    return NULL;
}

/* Takes the value over. */
static void set_label(struct trace_label **labels, uint32_t *n, const char *key, char *value)
{
    struct trace_label *label = find_label(*labels, *n, key);
    if (!label) {
        *labels = g_renew(struct trace_label, *labels, *n + 1);
        label = &(*labels)[(*n)++];
        *label = (struct trace_label){g_strdup(key), NULL};
    }
    g_free(label->value);
    label->value = value;
}

void trace_label(struct trace *trace, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_label(&trace->labels, &trace->n_labels, key, g_strdup_vprintf(format, args));
    va_end(args);
}

void trace_label_text(struct trace *trace, const char *key, const char *value)
{
    set_label(&trace->labels, &trace->n_labels, key, g_strdup(value));
}

void trace_fact_text(struct trace *trace, const char *key, const char *value)
{
    set_label(&trace->facts, &trace->n_facts, key, g_strdup(value));
}

const char *trace_label_value(const struct trace *trace, const char *key)
{
    const struct trace_label *label = find_label(trace->labels, trace->n_labels, key);
    return label ? label->value : NULL;
}

const char *trace_fact_value(const struct trace *trace, const char *key)
{
    const struct trace_label *fact = find_label(trace->facts, trace->n_facts, key);
    return fact ? fact->value : NULL;
}

bool *trace_kernel_lanes(const struct trace *trace)
{
    bool *lanes = g_new0(bool, trace->t.n_lanes + 1);
    for (size_t i = 0; i < trace->n_spans; i++)
        if (trace->spans[i].name && trace->t.lanes[trace->spans[i].lane].cls != LANE_HOST)
            lanes[trace->spans[i].lane] = true;
    return lanes;
}

static void reserve_ops(struct trace *trace, size_t n)
{
    if (n <= trace->room_ops)
        return;
    trace->ops = g_renew(struct trace_op, trace->ops, n);
    trace->room_ops = n;
}

static void reserve_spans(struct trace *trace, size_t n)
{
    if (n <= trace->room_spans)
        return;
    trace->spans = g_renew(struct trace_span, trace->spans, n);
    trace->room_spans = n;
}

void trace_reserve(struct trace *trace, size_t ops)
{
    reserve_ops(trace, ops);
    reserve_spans(trace, ops);
}

void trace_add_bare_op(struct trace *trace, const struct trace_op *op)
{
    g_assert(op->lane < trace->t.n_lanes && trace->n_ops < OP_NONE);
    if (trace->n_ops == trace->room_ops)
        reserve_ops(trace, trace->n_ops + trace->n_ops / 2 + 64);
    trace->ops[trace->n_ops++] = *op;
}

static void add_span(struct trace *trace, const struct trace_span *span)
{
    if (trace->n_spans == trace->room_spans)
        reserve_spans(trace, trace->n_spans + trace->n_spans / 2 + 64);
    trace->spans[trace->n_spans++] = *span;
}

void trace_add_span(struct trace *trace, const struct trace_span *span)
{
    struct trace_span own = *span;
    g_assert(own.lane < trace->t.n_lanes && own.cls < SPAN_CLASSES);
    own.name = tables_intern(&trace->t, span->name);
    add_span(trace, &own);
}

void trace_add_op(struct trace *trace, const struct trace_op *op)
{
    static const uint8_t classes[LANE_CLASSES] = {SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_CLASSES};
    uint8_t cls = classes[trace->t.lanes[op->lane].cls];
    trace_add_bare_op(trace, op);
    if (cls < SPAN_CLASSES)
        add_span(trace, &(struct trace_span){op->start_ns, op->end_ns, op->lane, (uint32_t)trace->n_ops - 1,
                                             cls, NULL});
}

uint32_t trace_add_lane(struct trace *trace, const struct lane *lane)
{
    struct tables *t = &trace->t;
    t->lanes = g_renew(struct lane, t->lanes, t->n_lanes + 1);
    t->lanes[t->n_lanes] = *lane;
    t->lanes[t->n_lanes].name = tables_intern(t, lane->name);
    return t->n_lanes++;
}

/* Total, so that the order is the same whatever sort runs: equal times stay in op order. */
static int compare_spans(const void *a, const void *b)
{
    const struct trace_span *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->cls != y->cls)
        return x->cls - y->cls;
    return g_strcmp0(x->name, y->name);
}

/* Counts spans into their lanes, then sorts those lanes that need it: an engine adds each lane in order. */
static void sort_spans(struct trace *trace)
{
    uint32_t n_lanes = trace->t.n_lanes;
    size_t *first = g_new0(size_t, n_lanes + 1);
    for (size_t i = 0; i < trace->n_spans; i++)
        first[trace->spans[i].lane + 1]++;
    for (uint32_t lane = 0; lane < n_lanes; lane++)
        first[lane + 1] += first[lane];
    struct trace_span *sorted = g_new(struct trace_span, trace->n_spans);
    for (size_t i = 0; i < trace->n_spans; i++)
        sorted[first[trace->spans[i].lane]++] = trace->spans[i];
    /* first[lane] is now where the lane ends. */
    for (uint32_t lane = 0; lane < n_lanes; lane++) {
        size_t begin = lane ? first[lane - 1] : 0, end = first[lane], i = begin + 1;
        while (i < end && compare_spans(&sorted[i - 1], &sorted[i]) <= 0)
            i++;
        if (i < end)
            qsort(&sorted[begin], end - begin, sizeof *sorted, compare_spans);
    }
    g_free(first);
    g_free(trace->spans);
    trace->spans = sorted;
    trace->room_spans = trace->n_spans;
}

static void rebase(struct trace *trace)
{
    int64_t base = INT64_MAX;
    for (size_t i = 0; i < trace->n_ops; i++)
        base = MIN(base, MIN(trace->ops[i].ready_ns, trace->ops[i].start_ns));
    for (size_t i = 0; i < trace->n_spans; i++)
        base = MIN(base, trace->spans[i].start_ns);
    for (size_t i = 0; i < trace->n_ops; i++) {
        trace->ops[i].ready_ns -= base;
        trace->ops[i].start_ns -= base;
        trace->ops[i].end_ns -= base;
    }
    for (size_t i = 0; i < trace->n_spans; i++) {
        trace->spans[i].start_ns -= base;
        trace->spans[i].end_ns -= base;
    }
}

void trace_finish(struct trace *trace)
{
    sort_spans(trace);
    rebase(trace);
}
