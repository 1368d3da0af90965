#include <string.h>

#include "profile/import-tables.h"
#include "profile/import.h"
#include "profile/read.h"

/* What analyses allocate, a place a lane and step or a rank and bucket, is within this times the ops of a
 * file. */
enum { PLACES_PER_OP = 64, PLACES_FREE = 1 << 16 };

struct indexed_op {
    uint64_t index;
    struct trace_op op;
};

/* One event as it is read.  An op is described at its first. */
struct event {
    char phase;
    bool described, has_op, has_op_lane, has_start, has_end;
    int64_t ts_ns, duration_ns;
    uint8_t cls;
    uint32_t lane;
    uint64_t index;
    const char *kernel; /* interned; NULL: none */
    struct trace_op op;
};

struct events {
    struct json *j;
    struct trace *trace;
    struct trace_counts counts;
    GArray *ops;          /* struct indexed_op, in the order of the file */
    GArray *spans;        /* struct trace_span */
    int64_t *lane_end_ns; /* of the last span of each lane that was read; of kernels, its start */
    int64_t total_ns;
};

static uint16_t short_index(struct json *j)
{
    return (uint16_t)json_u32(j, 0, LAYER_NONE - 1);
}

static uint32_t index_below(struct json *j, uint32_t n)
{
    if (n == 0 && json_peek(j) != JSON_NOTHING)
        json_fail(j, "an index of a table that is empty");
    return json_u32(j, 0, n - (n > 0));
}

static bool tag_member(struct events *e, const char *key, struct op_tag *tag)
{
    struct json *j = e->j;
    const struct tables *t = &e->trace->t;
    if (!strcmp(key, "algo"))
        tag->algo = read_name(j, allreduce_name, ALLREDUCES);
    else if (!strcmp(key, "step"))
        tag->step = json_u32(j, 0, e->counts.steps ? e->counts.steps - 1 : 0);
    else if (!strcmp(key, "layer0"))
        tag->layer0 = (uint16_t)json_u32(j, 0, MIN(t->n_layers, LAYER_NONE - 1));
    else if (!strcmp(key, "layer1"))
        tag->layer1 = (uint16_t)json_u32(j, 0, MIN(t->n_layers, LAYER_NONE - 1));
    else if (!strcmp(key, "chunk"))
        tag->chunk = short_index(j);
    else if (!strcmp(key, "hop"))
        tag->hop = short_index(j);
    else if (!strcmp(key, "collective"))
        tag->collective = read_name(j, collective_name, COLLECTIVES);
    else if (!strcmp(key, "pair"))
        tag->pair = (uint8_t)json_u32(j, 0, PAIR_SECOND);
    else if (!strcmp(key, "stage"))
        tag->stage = (uint16_t)index_below(j, t->n_stages);
    else if (!strcmp(key, "version"))
        tag->version = json_u32(j, 0, OP_NONE - 1);
    else if (!strcmp(key, "micro"))
        tag->micro = json_u32(j, 0, OP_NONE - 1);
    else if (!strcmp(key, "bucket"))
        tag->bucket = index_below(j, t->n_buckets);
    else if (!strcmp(key, "gang"))
        tag->gang = json_u32(j, 0, OP_NONE - 1);
    else if (!strcmp(key, "coll"))
        tag->coll = json_u32(j, 0, OP_NONE - 1);
    else if (!strcmp(key, "bytes"))
        tag->bytes = json_u64(j, UINT64_MAX);
    else
        return false;
    return true;
}

static void argument(struct events *e, const char *key, struct event *event)
{
    struct json *j = e->j;
    struct trace_op *op = &event->op;
    if (!strcmp(key, "lane")) {
        event->lane = index_below(j, e->trace->t.n_lanes);
    } else if (!strcmp(key, "op")) {
        event->has_op = true;
        event->index = json_u64(j, OP_NONE - 1);
    } else if (!strcmp(key, "kernel")) {
        event->kernel = tables_intern(&e->trace->t, json_text(j));
    } else if (!strcmp(key, "kind")) {
        event->described = true;
        op->tag.kind = read_name(j, op_name, OP_KINDS);
    } else if (!strcmp(key, "cost")) {
        op->cost = index_below(j, e->trace->n_costs);
    } else if (!strcmp(key, "ready_ns")) {
        op->ready_ns = json_i64(j, 0, TIME_MAX);
    } else if (!strcmp(key, "work_ns")) {
        op->work_ns = json_i64(j, 0, INT64_MAX);
    } else if (!strcmp(key, "op_lane")) {
        event->has_op_lane = true;
        op->lane = index_below(j, e->trace->t.n_lanes);
    } else if (!strcmp(key, "start_ns")) {
        event->has_start = true;
        op->start_ns = json_i64(j, 0, TIME_MAX);
    } else if (!strcmp(key, "end_ns")) {
        event->has_end = true;
        op->end_ns = json_i64(j, 0, TIME_MAX);
    } else if (!tag_member(e, key, &op->tag)) {
        json_skip(j);
    }
}

static int64_t event_time(struct json *j)
{
    int64_t ns = json_us_ns(j);
    if (ns < 0 || ns > TIME_MAX)
        json_fail(j, "a time should be from 0 to %g years", (double)TIME_MAX / 31557600e9);
    return ns;
}

static uint8_t span_class(struct json *j)
{
    static const char *const names[SPAN_CLASSES] = {"compute", "comm", "copy", "host"};
    const char *text = json_text(j);
    unsigned cls = 0;
    while (cls < SPAN_CLASSES && strcmp(text, names[cls]))
        cls++;
    return (uint8_t)cls;
}

static void read_event(struct events *e, struct event *event)
{
    struct json *j = e->j;
    *event = (struct event){.lane = OP_NONE, .cls = SPAN_CLASSES};
    event->op = (struct trace_op){.tag = {.layer0 = LAYER_NONE,
                                          .layer1 = LAYER_NONE,
                                          .chunk = LAYER_NONE,
                                          .hop = LAYER_NONE,
                                          .stage = STAGE_NONE,
                                          .micro = OP_NONE,
                                          .bucket = OP_NONE,
                                          .gang = OP_NONE,
                                          .coll = OP_NONE},
                                  .cost = OP_NONE,
                                  .ready_ns = -1,
                                  .work_ns = -1};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "ph")) {
            const char *phase = json_text(j);
            event->phase = strlen(phase) == 1 ? *phase : '?';
        } else if (!strcmp(key, "ts")) {
            event->ts_ns = event_time(j);
        } else if (!strcmp(key, "dur")) {
            event->duration_ns = event_time(j);
        } else if (!strcmp(key, "cat")) {
            event->cls = span_class(j);
        } else if (!strcmp(key, "args") && event->phase != 'M') {
            json_object(j);
            for (const char *name; (name = json_key(j));)
                argument(e, name, event);
        } else {
            json_skip(j);
        }
    }
}

static void count_time(struct events *e, int64_t ns)
{
    if (__builtin_add_overflow(e->total_ns, ns, &e->total_ns) || e->total_ns > TIME_MAX)
        json_fail(e->j, "the times of the trace are too long");
}

static void add_op(struct events *e, const struct event *event)
{
    struct indexed_op row = {event->index, event->op};
    struct trace_op *op = &row.op;
    const struct op_tag *tag = &op->tag;
    if (!event->has_op_lane)
        op->lane = event->lane;
    if (!event->has_start)
        op->start_ns = event->ts_ns;
    if (!event->has_end)
        op->end_ns = event->ts_ns + event->duration_ns;
    if (op->ready_ns < 0)
        op->ready_ns = op->start_ns;
    if (!event->has_op)
        json_fail(e->j, "an op of no number");
    else if (op->ready_ns > op->start_ns || op->start_ns > op->end_ns)
        json_fail(e->j, "op %" G_GUINT64_FORMAT " should be ready before it starts, and start before it ends",
                  event->index);
    else if ((tag->layer0 == LAYER_NONE) != (tag->layer1 == LAYER_NONE) || tag->layer0 > tag->layer1)
        json_fail(e->j, "op %" G_GUINT64_FORMAT " should be of layers [layer0, layer1)", event->index);
    else
        g_array_append_val(e->ops, row);
    count_time(e, op->end_ns - op->ready_ns);
}

static void add_span(struct events *e, const struct event *event)
{
    struct trace_span span = {.start_ns = event->ts_ns,
                              .end_ns = event->ts_ns + event->duration_ns,
                              .lane = event->lane,
                              .op = event->has_op ? (uint32_t)event->index : OP_NONE,
                              .cls = event->cls,
                              .name = event->kernel};
    if (span.cls == SPAN_CLASSES)
        json_fail(e->j, "a span should be of the category compute, comm, copy or host");
    else if (span.start_ns < e->lane_end_ns[span.lane])
        json_fail(e->j, "the span begins before the one before it on lane %u, \"%s\", %s", span.lane,
                  e->trace->t.lanes[span.lane].name, span.name ? "begins" : "ends");
    else
        g_array_append_val(e->spans, span);
    /* A stream may begin a kernel while the one before it ends. */
    e->lane_end_ns[span.lane] = span.name ? span.start_ns : span.end_ns;
    count_time(e, event->duration_ns);
}

static void read_events(struct events *e)
{
    struct event event;
    for (json_array(e->j); json_element(e->j);) {
        read_event(e, &event);
        if (json_cut(e->j) || json_bad(e->j))
            return;
        if (event.phase != 'X' && event.phase != 'i')
            continue;
        if (event.lane == OP_NONE) {
            json_fail(e->j, "an event of no lane");
            return;
        }
        if (event.described)
            add_op(e, &event);
        if (event.phase == 'X')
            add_span(e, &event);
    }
}

static int by_index(const void *a, const void *b)
{
    const struct indexed_op *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Ops in order: the first that are all there.  Those of a step that goes on after them are left out. */
static void take_ops(struct events *e, bool cut)
{
    struct trace *trace = e->trace;
    const struct indexed_op *rows = (const struct indexed_op *)(void *)e->ops->data;
    uint32_t n = 0, steps = e->counts.steps;
    g_array_sort(e->ops, by_index);
    while (n < e->ops->len && rows[n].index == n)
        n++;
    if (n < e->ops->len && n > 0 && rows[n].index == rows[n - 1].index) {
        json_fail(e->j, "op %u is there twice", n - 1);
        return;
    }
    if (n < e->counts.ops && !cut) {
        json_fail(e->j, "op %u of %" G_GUINT64_FORMAT " is missing", n, e->counts.ops);
        return;
    }
    if (n >= e->counts.ops && e->ops->len > e->counts.ops) {
        json_fail(e->j, "there are more ops than %" G_GUINT64_FORMAT, e->counts.ops);
        return;
    }
    if (n < e->counts.ops) {
        steps = n ? rows[n - 1].op.tag.step : 0;
        while (n > 0 && rows[n - 1].op.tag.step >= steps)
            n--;
    }
    trace->ops = g_new(struct trace_op, n);
    trace->room_ops = trace->n_ops = n;
    trace->n_steps = steps;
    for (uint32_t i = 0; i < n; i++)
        trace->ops[i] = rows[i].op;
}

/* A span is of an op that is there, or of none; where steps were left out, only the former are kept. */
static void take_spans(struct events *e, bool cut)
{
    struct trace *trace = e->trace;
    const struct trace_span *spans = (const struct trace_span *)(void *)e->spans->data;
    bool all = trace->n_ops == e->counts.ops;
    trace->spans = g_new(struct trace_span, e->spans->len);
    trace->room_spans = e->spans->len;
    for (guint i = 0; i < e->spans->len; i++) {
        if (spans[i].op < trace->n_ops || (spans[i].op == OP_NONE && all))
            trace->spans[trace->n_spans++] = spans[i];
        else if (all)
            json_fail(e->j, "a span is of op %u, of %zu", spans[i].op, trace->n_ops);
    }
    if (!cut && trace->n_spans != e->counts.spans)
        json_fail(e->j, "found %zu spans, should be %" G_GUINT64_FORMAT, trace->n_spans, e->counts.spans);
}

/* What analyses allocate is in proportion to what the file holds. */
static void check_places(struct events *e)
{
    const struct trace *trace = e->trace;
    const struct tables *t = &trace->t;
    uint64_t places = MAX((uint64_t)t->n_lanes * trace->n_steps, (uint64_t)t->n_ranks * (t->n_buckets + 1));
    if (places > (uint64_t)trace->n_ops * PLACES_PER_OP + PLACES_FREE)
        json_fail(e->j, "%u lanes, %u steps and %u buckets are too many for %zu ops", t->n_lanes,
                  trace->n_steps, t->n_buckets, trace->n_ops);
    else if (trace->n_ops && !trace->n_steps)
        json_fail(e->j, "there are ops, but no steps");
}

/* Ops are ordered by step, and every step has ops of every rank. */
static void check_steps(struct events *e)
{
    const struct trace *trace = e->trace;
    const struct tables *t = &trace->t;
    uint32_t step = 0, ranks = 0;
    /* Of each rank: 1 + the last step with an op of it. */
    g_autofree uint32_t *seen = g_new0(uint32_t, t->n_ranks + 1);
    for (size_t i = 0; i <= trace->n_ops; i++) {
        uint32_t next = i < trace->n_ops ? trace->ops[i].tag.step : trace->n_steps;
        if (next != step && (next != step + 1 || ranks != t->n_ranks)) {
            json_fail(e->j, "op %zu is of step %u, but of step %u there are ops of %u of %u ranks before it",
                      i, next, step, ranks, t->n_ranks);
            return;
        }
        ranks = next == step ? ranks : 0;
        step = next;
        uint32_t *last = i < trace->n_ops ? &seen[t->lanes[trace->ops[i].lane].rank] : NULL;
        ranks += last && *last != step + 1;
        if (last)
            *last = step + 1;
    }
}

static void finish(struct events *e)
{
    struct trace *trace = e->trace;
    bool cut = json_cut(e->j);
    if (!json_bad(e->j))
        take_ops(e, cut);
    if (cut && trace->n_steps == 0)
        json_fail(e->j, "no whole step is there");
    if (!json_bad(e->j))
        take_spans(e, cut);
    if (!json_bad(e->j))
        check_places(e);
    if (!json_bad(e->j))
        check_steps(e);
    if (json_bad(e->j))
        return;
    if (cut && trace->n_spans < e->counts.spans)
        trace_label(trace, "cut", "the file ends in the middle: %u of %u steps", trace->n_steps,
                    e->counts.steps);
    trace_finish(trace);
}

/* Steps over members up to the one of that name. */
static bool find_member(struct json *j, const char *name)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, name))
            return true;
        json_skip(j);
    }
    return false;
}

static bool head(const char *text, size_t n, const char *name, struct trace *trace,
                 struct trace_counts *counts, GError **error)
{
    struct json *j = json_open(text, n, name);
    if (find_member(j, "parprof"))
        import_tables(j, trace, counts);
    else
        json_fail(j, "no trace of parprof: it has no member \"parprof\"");
    return json_close(j, error);
}

static bool body(const char *text, size_t n, const char *name, struct events *e, GError **error)
{
    e->j = json_open(text, n, name);
    e->ops = g_array_new(FALSE, FALSE, sizeof(struct indexed_op));
    e->spans = g_array_new(FALSE, FALSE, sizeof(struct trace_span));
    e->lane_end_ns = g_new0(int64_t, e->trace->t.n_lanes);
    if (find_member(e->j, "traceEvents"))
        read_events(e);
    finish(e);
    g_array_unref(e->ops);
    g_array_unref(e->spans);
    g_free(e->lane_end_ns);
    return json_close(e->j, error);
}

bool import_trace(const char *text, size_t n, const char *name, struct trace *trace, GError **error)
{
    struct events e = {.trace = trace};
    trace_init(trace);
    bool ok = head(text, n, name, trace, &e.counts, error) && body(text, n, name, &e, error);
    if (!ok)
        trace_release(trace);
    return ok;
}
