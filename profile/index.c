#include "profile/index.h"

#include "profile/gang.h"

void index_init(struct index *index, const struct trace *trace)
{
    *index = (struct index){trace, g_new(uint32_t, trace->n_spans),
                            g_new0(struct slice, (gsize)trace->t.n_lanes * trace->n_steps),
                            trace->t.n_stages ? gang_arrivals(trace) : NULL};
    for (size_t i = 0; i < trace->n_spans; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->op != OP_NONE)
            index->step[i] = trace->ops[span->op].tag.step;
        else
            index->step[i] = i && trace->spans[i - 1].lane == span->lane ? index->step[i - 1] : 0;
        struct slice *slice = &index->slices[(gsize)span->lane * trace->n_steps + index->step[i]];
        if (slice->begin == slice->end)
            slice->begin = i;
        slice->end = i + 1;
    }
}

void index_release(struct index *index)
{
    g_free(index->step);
    g_free(index->slices);
    g_free(index->arrival_ns);
}

int64_t index_start(const struct index *index, size_t span)
{
    const struct trace_span *s = &index->trace->spans[span];
    if (!index->arrival_ns || s->cls != SPAN_COMM || s->op == OP_NONE)
        return s->start_ns;
    return CLAMP(index->arrival_ns[s->op], s->start_ns, s->end_ns);
}

static bool is_class(const struct trace *trace, const struct trace_span *span, unsigned cls)
{
    (void)trace;
    return span->cls == cls;
}

static bool is_phase(const struct trace *trace, const struct trace_span *span, unsigned phase)
{
    return span->cls != SPAN_HOST && span->op != OP_NONE && op_phase(trace->ops[span->op].tag.kind) == phase;
}

/* The union of the spans that match. */
static struct intervals busy(const struct index *index, uint32_t step, uint32_t rank,
                             bool (*matches)(const struct trace *, const struct trace_span *, unsigned),
                             unsigned what)
{
    const struct trace *trace = index->trace;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(struct interval));
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++) {
            const struct interval one = {index_start(index, i), trace->spans[i].end_ns};
            if (index->step[i] == step && matches(trace, &trace->spans[i], what))
                g_array_append_val(all, one);
        }
    }
    return intervals_of((struct interval *)(void *)all->data, all->len);
}

struct intervals index_busy(const struct index *index, uint32_t step, uint32_t rank, unsigned span_class)
{
    return busy(index, step, rank, is_class, span_class);
}

struct intervals index_phase(const struct index *index, uint32_t step, uint32_t rank, unsigned phase)
{
    return busy(index, step, rank, is_phase, phase);
}

GArray *index_spans(const struct index *index, uint32_t step, uint32_t rank, unsigned span_class)
{
    const struct trace *trace = index->trace;
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(size_t));
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++)
            if (index->step[i] == step && trace->spans[i].cls == span_class)
                g_array_append_val(spans, i);
    }
    return spans;
}

struct interval index_window(const struct index *index, uint32_t step, uint32_t rank)
{
    const struct trace *trace = index->trace;
    struct interval all = {INT64_MAX, INT64_MIN};
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++) {
            if (index->step[i] != step || trace->spans[i].cls == SPAN_HOST)
                continue;
            all.start_ns = MIN(all.start_ns, trace->spans[i].start_ns);
            all.end_ns = MAX(all.end_ns, trace->spans[i].end_ns);
        }
    }
    return all;
}
