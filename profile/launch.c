#include "profile/launch.h"

#include <stdlib.h>

/* A span of an op, to be sorted by op, device before host, and start. */
struct part {
    uint32_t op;
    bool host;
    int64_t start_ns;
    size_t span;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->host != y->host)
        return x->host - y->host;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

static GArray *list_parts(const struct index *index, uint32_t step, uint32_t rank)
{
    const struct trace *trace = index->trace;
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
        for (size_t i = slice.begin; i < slice.end; i++) {
            const struct trace_span *s = &trace->spans[i];
            struct part part = {s->op, s->cls == SPAN_HOST, s->start_ns, i};
            if (index->step[i] == step && s->op != OP_NONE)
                g_array_append_val(parts, part);
        }
    }
    g_array_sort(parts, compare_parts);
    return parts;
}

/* When the launch of each span of the rank in the step had returned, by span; INT64_MIN: unknown.  NULL: no
 * launch. */
static int64_t *find_launches(const struct index *index, uint32_t step, uint32_t rank)
{
    GArray *parts = list_parts(index, step, rank);
    const struct part *p = (const struct part *)(void *)parts->data;
    int64_t *launched_ns = g_new(int64_t, index->trace->n_spans + 1);
    bool any = false;
    for (guint i = 0, host, end; i < parts->len; i = end) {
        for (host = i; host < parts->len && p[host].op == p[i].op && !p[host].host; host++)
            launched_ns[p[host].span] = INT64_MIN;
        for (end = host; end < parts->len && p[end].op == p[i].op; end++)
            any = true;
        for (guint k = 0; host - i == end - host && k < host - i; k++)
            launched_ns[p[i + k].span] = index->trace->spans[p[host + k].span].end_ns;
    }
    g_array_unref(parts);
    if (!any)
        g_clear_pointer(&launched_ns, g_free);
    return launched_ns;
}

/* What of a lane's gaps goes by after a span of computation could have begun, and before it was launched. */
static struct intervals late_gaps(const struct index *index, uint32_t step, uint32_t lane,
                                  const int64_t *launched_ns)
{
    const struct trace *trace = index->trace;
    struct slice slice = index->slices[(gsize)lane * trace->n_steps + step];
    struct intervals gaps = {0};
    int64_t free_ns = INT64_MAX; /* since when the lane has nothing to do */
    for (size_t i = slice.begin; i < slice.end; i++) {
        const struct trace_span *s = &trace->spans[i];
        if (index->step[i] != step || s->cls == SPAN_HOST)
            continue;
        if (s->cls == SPAN_COMPUTE && s->op != OP_NONE)
            intervals_add(&gaps, MAX(free_ns, trace->ops[s->op].ready_ns), MIN(launched_ns[i], s->start_ns));
        free_ns = free_ns == INT64_MAX ? s->end_ns : MAX(free_ns, s->end_ns);
    }
    return gaps;
}

int64_t launch_wait_ns(const struct index *index, uint32_t step, uint32_t rank)
{
    const struct trace *trace = index->trace;
    int64_t *launched_ns = find_launches(index, step, rank);
    struct intervals late = {0}, compute;
    if (!launched_ns)
        return -1;
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++) {
        if (trace->t.lanes[lane].rank != rank)
            continue;
        struct intervals own = late_gaps(index, step, lane, launched_ns);
        intervals_unite(&late, &own);
        intervals_release(&own);
    }
    compute = index_busy(index, step, rank, SPAN_COMPUTE);
    int64_t ns = intervals_length(&late) - intervals_common(&late, &compute);
    intervals_release(&compute);
    intervals_release(&late);
    g_free(launched_ns);
    return ns;
}
