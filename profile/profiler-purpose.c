#include "profile/profiler-purpose.h"

#include <stdlib.h>
#include <string.h>

#include "profile/interval.h"

/* When each thread was inside what is looked for. */
struct inside {
    GArray *spans;       /* struct profiler_event, by track and start */
    GHashTable *threads; /* track -> struct intervals */
};

struct step_window {
    int64_t start_ns, end_ns; /* of launches */
    uint32_t number;
};

struct profiler_hosts {
    const struct profiler_process *process;
    GArray *steps;        /* struct step_window, in order; empty: none is marked */
    GHashTable *launches; /* correlation -> struct profiler_event */
    struct inside backward, optimizer;
};

static int by_track_start(const void *a, const void *b)
{
    const struct profiler_event *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void intervals_free(gpointer set)
{
    intervals_release(set);
    g_free(set);
}

static void inside_init(struct inside *in, const struct profiler_process *p, enum profiler_kind kind)
{
    in->spans = g_array_new(FALSE, FALSE, sizeof(struct profiler_event));
    in->threads = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, intervals_free);
    for (guint i = 0; i < p->events->len; i++) {
        const struct profiler_event *e = &g_array_index(p->events, struct profiler_event, i);
        if (e->kind == kind)
            g_array_append_val(in->spans, *e);
    }
    g_array_sort(in->spans, by_track_start);
    for (guint i = 0; i < in->spans->len; i++) {
        struct profiler_event *e = &g_array_index(in->spans, struct profiler_event, i);
        struct intervals *set = g_hash_table_lookup(in->threads, &e->track);
        if (!set)
            g_hash_table_insert(in->threads, &e->track, set = g_new0(struct intervals, 1));
        intervals_add(set, e->start_ns, e->end_ns);
    }
}

static bool is_inside(const struct inside *in, const struct profiler_event *launch)
{
    const struct intervals *set = g_hash_table_lookup(in->threads, &launch->track);
    return set && intervals_within(set, launch->start_ns, launch->start_ns + 1) > 0;
}

static void inside_release(struct inside *in)
{
    g_hash_table_unref(in->threads);
    g_array_unref(in->spans);
}

static int by_start(const void *a, const void *b)
{
    const struct step_window *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void find_steps(struct profiler_hosts *h)
{
    h->steps = g_array_new(FALSE, FALSE, sizeof(struct step_window));
    for (guint i = 0; i < h->process->events->len; i++) {
        const struct profiler_event *e = &g_array_index(h->process->events, struct profiler_event, i);
        const struct step_window w = {e->start_ns, e->end_ns, e->number};
        if (e->kind == PROFILER_STEP)
            g_array_append_val(h->steps, w);
    }
    g_array_sort(h->steps, by_start);
    for (guint i = 0; i + 1 < h->steps->len; i++)
        g_array_index(h->steps, struct step_window, i).end_ns =
            g_array_index(h->steps, struct step_window, i + 1).start_ns;
}

struct profiler_hosts *profiler_hosts_new(const struct profiler_process *p)
{
    struct profiler_hosts *h = g_new0(struct profiler_hosts, 1);
    h->process = p;
    find_steps(h);
    inside_init(&h->backward, p, PROFILER_BACKWARD);
    inside_init(&h->optimizer, p, PROFILER_OPTIMIZER);
    h->launches = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < p->events->len; i++) {
        struct profiler_event *e = &g_array_index(p->events, struct profiler_event, i);
        if (e->kind == PROFILER_LAUNCH)
            g_hash_table_insert(h->launches, &e->correlation, e);
    }
    return h;
}

void profiler_hosts_free(struct profiler_hosts *h)
{
    g_array_unref(h->steps);
    g_hash_table_unref(h->launches);
    inside_release(&h->backward);
    inside_release(&h->optimizer);
    g_free(h);
}

bool profiler_hosts_marked(const struct profiler_hosts *h)
{
    return h->steps->len > 0;
}

static uint8_t collective_kind(const char *kernel)
{
    static const struct {
        const char *part;
        uint8_t kind;
    } known[] = {
        {"reducescatter", OP_COMM},   {"reduce_scatter", OP_COMM},           {"allreduce", OP_ALLREDUCE},
        {"all_reduce", OP_ALLREDUCE}, {"cross_device_reduce", OP_ALLREDUCE}, {"allgather", OP_ALLGATHER},
        {"all_gather", OP_ALLGATHER}, {"broadcast", OP_BROADCAST},           {"reduce", OP_REDUCE}};
    g_autofree char *small = g_ascii_strdown(kernel, -1);
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (strstr(small, known[i].part))
            return known[i].kind;
    return OP_COMM;
}

static const struct step_window *step_at(const struct profiler_hosts *h, int64_t ns)
{
    guint low = 0, high = h->steps->len;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (g_array_index(h->steps, struct step_window, middle).end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    const struct step_window *s =
        low < h->steps->len ? &g_array_index(h->steps, struct step_window, low) : NULL;
    return s && s->start_ns <= ns ? s : NULL;
}

struct profiler_purpose profiler_purpose(const struct profiler_hosts *h, const struct profiler_event *e)
{
    const struct profiler_event *found =
        e->correlation ? g_hash_table_lookup(h->launches, &e->correlation) : NULL;
    const struct profiler_event *launch = found ? found : e;
    const struct step_window *step = step_at(h, launch->start_ns);
    const uint8_t kind = e->kind == PROFILER_COPY           ? OP_COPY
                         : e->kind == PROFILER_COMM         ? collective_kind(e->name)
                         : !found || !h->process->host      ? OP_KERNEL
                         : is_inside(&h->optimizer, launch) ? OP_OPTIM
                         : is_inside(&h->backward, launch)  ? OP_BWD
                                                            : OP_FWD;
    return (struct profiler_purpose){kind, step ? step->number : profiler_hosts_marked(h) ? OP_NONE : 0};
}
