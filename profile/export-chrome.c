#include "profile/export.h"

#include <inttypes.h>

#include "profile/export-fields.h"
#include "profile/gang.h"
#include "profile/kernel-name.h"

/* "layer3", "layer3.attention", "layer3 to layer5". */
static void append_layers(const struct tables *t, const struct op_tag *tag, GString *out)
{
    if (tag->layer0 >= tag->layer1 || tag->layer1 > t->n_layers)
        return;
    const struct layer_row *first = &t->layers[tag->layer0], *last = &t->layers[tag->layer1 - 1];
    if (first == last)
        g_string_append_printf(out, " %s", first->name);
    else if (g_strcmp0(first->block, last->block) == 0)
        g_string_append_printf(out, " %s", first->block);
    else
        g_string_append_printf(out, " %s to %s", first->block, last->block);
}

/* "F layer3.attention", "all-reduce bucket 2 hop 1": a hop carries the name of what it is part of. */
static void op_text(const struct tables *t, const struct op_tag *tag, GString *out)
{
    bool hop = tag->algo != ALLREDUCE_WHOLE && op_phase(tag->kind) == PHASE_COMM;
    g_string_assign(out, hop ? collective_name(tag->collective) : op_label(tag->kind));
    append_layers(t, tag, out);
    if (tag->bucket != OP_NONE)
        g_string_append_printf(out, " bucket %" PRIu32, tag->bucket);
    if (hop && tag->hop != LAYER_NONE)
        g_string_append_printf(out, " hop %u", tag->hop);
}

struct writer {
    const struct trace *trace;
    struct rows rows;
    GString *name;
    uint32_t next_tid; /* for further rows of lanes */
    uint32_t *op_tid;  /* by lane: the thread of its ops, which its spans are parts of; 0: spans are ops */
    bool *seen;        /* ops whose fields are written */
    bool *kernels;     /* by lane: its spans are parts of ops */
    bool any_kernels;
    int64_t *arrival_ns; /* of a pipeline, by op: gang_arrivals; else NULL */
};

/* Perfetto keeps process and thread 0 for the idle ones, so ids count from 1. */
static uint32_t lane_pid(const struct trace *trace, uint32_t lane)
{
    return trace->t.lanes[lane].rank + 1;
}

static void metadata(struct writer *w, const char *what, uint32_t pid, uint32_t tid)
{
    next_row(&w->rows);
    g_string_append_printf(w->rows.out,
                           "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"args\":{",
                           what, pid, tid);
}

static void name_process(struct writer *w, uint32_t rank)
{
    GString *out = w->rows.out;
    metadata(w, "process_name", rank + 1, 0);
    g_string_append_printf(out, "\"name\":\"rank %" PRIu32 "\"}}", rank);
    metadata(w, "process_sort_index", rank + 1, 0);
    g_string_append_printf(out, "\"sort_index\":%" PRIu32 "}}", rank);
}

/* what: "" or " ops", which are above. */
static void name_thread(struct writer *w, uint32_t lane, uint32_t tid, const char *what)
{
    GString *out = w->rows.out;
    uint32_t pid = lane_pid(w->trace, lane);
    g_string_printf(w->name, "%s%s", w->trace->t.lanes[lane].name, what);
    metadata(w, "thread_name", pid, tid);
    text_field(out, "", "name", w->name->str);
    g_string_append(out, "}}");
    metadata(w, "thread_sort_index", pid, tid);
    /* Where any lane has its ops above it, all leave room for them. */
    uint64_t order = w->any_kernels ? 2 * (uint64_t)lane + !*what : lane;
    g_string_append_printf(out, "\"sort_index\":%" PRIu64 "}}", order);
}

/* All of struct trace_op that the event of one of its spans does not say. */
static void write_op(const struct trace *trace, uint32_t index, const struct trace_span *span, GString *out)
{
    const struct trace_op *op = &trace->ops[index];
    const struct op_tag *tag = &op->tag;
    text_field(out, ",", "kind", op_name(tag->kind));
    if (tag->algo != ALLREDUCE_WHOLE)
        text_field(out, ",", "algo", allreduce_name(tag->algo));
    field(out, ",", "step", tag->step);
    index_field(out, "layer0", tag->layer0, LAYER_NONE);
    index_field(out, "layer1", tag->layer1, LAYER_NONE);
    index_field(out, "chunk", tag->chunk, LAYER_NONE);
    index_field(out, "hop", tag->hop, LAYER_NONE);
    if (tag->collective)
        text_field(out, ",", "collective", collective_name(tag->collective));
    if (tag->pair)
        field(out, ",", "pair", tag->pair);
    if (trace->t.n_stages)
        index_field(out, "stage", tag->stage, STAGE_NONE);
    index_field(out, "micro", tag->micro, OP_NONE);
    if (tag->version)
        field(out, ",", "version", tag->version);
    index_field(out, "bucket", tag->bucket, OP_NONE);
    index_field(out, "gang", tag->gang, OP_NONE);
    index_field(out, "coll", tag->coll, OP_NONE);
    index_field(out, "cost", op->cost, OP_NONE);
    bytes_field(out, ",", "bytes", tag->bytes);
    field(out, ",", "ready_ns", op->ready_ns);
    if (op->work_ns >= 0)
        field(out, ",", "work_ns", op->work_ns);
    if (op->lane != span->lane)
        field(out, ",", "op_lane", op->lane);
    if (op->start_ns != span->start_ns || op->end_ns != span->end_ns) {
        field(out, ",", "start_ns", op->start_ns);
        field(out, ",", "end_ns", op->end_ns);
    }
}

static void begin_event(struct writer *w, const char *phase, uint32_t tid, const struct trace_span *span)
{
    static const char *const categories[SPAN_CLASSES + 1] = {"compute", "comm", "copy", "host", "op"};
    GString *out = w->rows.out;
    const char *category = categories[MIN(span->cls, SPAN_CLASSES)];
    g_string_truncate(w->name, 0);
    if (span->name)
        kernel_name(span->name, w->name);
    else if (span->op == OP_NONE)
        g_string_assign(w->name, category);
    else
        op_text(&w->trace->t, &w->trace->ops[span->op].tag, w->name);
    next_row(&w->rows);
    g_string_append(out, phase);
    text_field(out, ",", "name", w->name->str);
    text_field(out, ",", "cat", category);
    field(out, ",", "pid", lane_pid(w->trace, span->lane));
    field(out, ",", "tid", tid);
    g_string_append(out, ",\"ts\":");
    json_us(out, span->start_ns);
}

static void end_event(struct writer *w, const struct trace_span *span)
{
    GString *out = w->rows.out;
    field(out, ",\"args\":{", "lane", span->lane);
    if (span->name)
        text_field(out, ",", "kernel", span->name);
    if (span->op != OP_NONE) {
        field(out, ",", "op", span->op);
        if (!w->seen[span->op])
            write_op(w->trace, span->op, span, out);
        w->seen[span->op] = true;
    }
    g_string_append(out, "}}");
}

static void span_event(struct writer *w, uint32_t tid, const struct trace_span *span)
{
    begin_event(w, "{\"ph\":\"X\"", tid, span);
    g_string_append(w->rows.out, ",\"dur\":");
    json_us(w->rows.out, span->end_ns - span->start_ns);
    end_event(w, span);
}

/* An op that kept nothing busy: a mark, since a bar could lie across others. */
static void mark_event(struct writer *w, uint32_t op)
{
    int64_t at_ns = w->trace->ops[op].start_ns;
    uint32_t lane = w->trace->ops[op].lane;
    struct trace_span none = {at_ns, at_ns, lane, op, SPAN_CLASSES, NULL};
    begin_event(w, "{\"ph\":\"i\",\"s\":\"t\"", lane + 1, &none);
    end_event(w, &none);
}

/* For people: nothing is read of it. */
static void bracket(struct writer *w, uint32_t tid, const struct trace_span *span)
{
    begin_event(w, "{\"ph\":\"B\"", tid, span);
    g_string_append_c(w->rows.out, '}');
    next_row(&w->rows);
    field(w->rows.out, "{\"ph\":\"E\",", "pid", lane_pid(w->trace, span->lane));
    field(w->rows.out, ",", "tid", tid);
    g_string_append(w->rows.out, ",\"ts\":");
    json_us(w->rows.out, span->end_ns);
    g_string_append_c(w->rows.out, '}');
}

/* An op over the spans that it is made of: what is read of it stands at its first span. */
static void bracket_event(struct writer *w, uint32_t op)
{
    const struct trace_op *o = &w->trace->ops[op];
    const struct trace_span whole = {o->start_ns, o->end_ns, o->lane, op, SPAN_CLASSES, NULL};
    bracket(w, w->op_tid[o->lane], &whole);
}

/* Within a span of a pipeline's communication, what it waits for its peers. */
static void wait_event(struct writer *w, uint32_t tid, const struct trace_span *span)
{
    if (!w->arrival_ns || span->op == OP_NONE || span->cls != SPAN_COMM)
        return;
    const int64_t end_ns = MIN(w->arrival_ns[span->op], span->end_ns);
    const struct trace_span wait = {span->start_ns, end_ns, span->lane, span->op, SPAN_CLASSES, "waits"};
    if (end_ns > span->start_ns)
        bracket(w, tid, &wait);
}

/* Lanes of kernels have a thread more, of the ops. */
static void name_op_threads(struct writer *w)
{
    for (uint32_t lane = 0; lane < w->trace->t.n_lanes; lane++)
        if (w->kernels[lane]) {
            w->op_tid[lane] = w->next_tid++;
            name_thread(w, lane, w->op_tid[lane], " ops");
        }
}

struct row_end {
    int64_t end_ns;
    uint32_t tid;
};

/* The spans of one lane from `i` on; returns where the next lane's begin.  One that overlaps goes to a row of
 * its own. */
static size_t write_lane(struct writer *w, size_t i)
{
    const struct trace *trace = w->trace;
    uint32_t lane = trace->spans[i].lane;
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct row_end));
    struct row_end first = {INT64_MIN, lane + 1};
    g_array_append_val(rows, first);
    for (; i < trace->n_spans && trace->spans[i].lane == lane; i++) {
        const struct trace_span *span = &trace->spans[i];
        guint row = 0;
        while (row < rows->len && g_array_index(rows, struct row_end, row).end_ns > span->start_ns)
            row++;
        if (row == rows->len) {
            struct row_end more = {INT64_MIN, w->next_tid++};
            g_array_append_val(rows, more);
            name_thread(w, lane, more.tid, "");
        }
        struct row_end *chosen = &g_array_index(rows, struct row_end, row);
        chosen->end_ns = span->end_ns;
        span_event(w, chosen->tid, span);
        wait_event(w, chosen->tid, span);
    }
    g_array_free(rows, TRUE);
    return i;
}

void export_chrome(const struct trace *trace, GString *out)
{
    struct writer w = {.trace = trace,
                       .rows = {out},
                       .name = g_string_new(NULL),
                       .next_tid = trace->t.n_lanes + 1,
                       .op_tid = g_new0(uint32_t, trace->t.n_lanes),
                       .seen = g_new0(bool, trace->n_ops),
                       .arrival_ns = trace->t.n_stages ? gang_arrivals(trace) : NULL,
                       .kernels = trace_kernel_lanes(trace)};
    w.any_kernels = memchr(w.kernels, true, trace->t.n_lanes);
    g_string_append(out, "{\"displayTimeUnit\":\"ms\",\n");
    export_header(trace, out);
    g_string_append(out, "\"traceEvents\":[");
    for (uint32_t rank = 0; rank < trace->t.n_ranks; rank++)
        name_process(&w, rank);
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++)
        name_thread(&w, lane, lane + 1, "");
    name_op_threads(&w);
    for (size_t i = 0; i < trace->n_spans;)
        i = write_lane(&w, i);
    for (uint32_t op = 0; op < trace->n_ops; op++) {
        if (!w.seen[op])
            mark_event(&w, op);
        if (w.op_tid[trace->ops[op].lane])
            bracket_event(&w, op);
    }
    g_string_append(out, "\n]}\n");
    g_string_free(w.name, TRUE);
    g_free(w.op_tid);
    g_free(w.arrival_ns);
    g_free(w.kernels);
    g_free(w.seen);
}
