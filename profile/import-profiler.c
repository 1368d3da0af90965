#include <stdlib.h>
#include <string.h>

#include "profile/import.h"
#include "profile/interval.h"
#include "profile/profiler-events.h"
#include "profile/read.h"

/* What analyses allocate, a place a lane and step, is within this times the events of the files, or this
 * much. */
enum { PLACES_PER_EVENT = 64, PLACES_FREE = 1 << 16 };

/* An event of a device that was found to be of a step. */
struct work {
    const struct profiler_event *event;
    uint32_t rank, step, lane, op, coll, gang; /* step: as the profiler counts, then as the trace does */
    uint8_t kind;                              /* enum op_kind */
};

/* When a thread was inside what is looked for, and the k-th thread's part of it. */
struct inside {
    GArray *spans;       /* struct profiler_event, by track and start */
    GHashTable *threads; /* track -> struct intervals */
};

struct step_window {
    int64_t start_ns, end_ns; /* of launches */
    uint32_t number;
};

/* One rank: a process, or one device of a process that has several. */
struct rank {
    const struct profiler_process *process;
    uint32_t device;      /* OP_NONE: all of them */
    bool marked;          /* it has steps */
    GArray *steps;        /* struct step_window, in order */
    GHashTable *launches; /* correlation -> struct profiler_event */
    struct inside backward, optimizer;
};

struct importer {
    struct trace *trace;
    GArray *ranks;  /* struct rank */
    GArray *work;   /* struct work */
    size_t outside; /* events of devices in no step that all ranks have */
    size_t untimed; /* ... and of no time */
    uint32_t devices;
    bool marked; /* steps are marked */
};

/* --- what a host did */

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
    size_t low = 0, high = set ? set->n : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->v[middle].end_ns <= launch->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return set && low < set->n && set->v[low].start_ns <= launch->start_ns;
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

/* A step is launched until the next one begins.  Without steps all is one. */
static void find_steps(struct rank *r)
{
    r->steps = g_array_new(FALSE, FALSE, sizeof(struct step_window));
    for (guint i = 0; i < r->process->events->len; i++) {
        const struct profiler_event *e = &g_array_index(r->process->events, struct profiler_event, i);
        const struct step_window w = {e->start_ns, e->end_ns, e->number};
        if (e->kind == PROFILER_STEP)
            g_array_append_val(r->steps, w);
    }
    g_array_sort(r->steps, by_start);
    for (guint i = 0; i + 1 < r->steps->len; i++)
        g_array_index(r->steps, struct step_window, i).end_ns =
            g_array_index(r->steps, struct step_window, i + 1).start_ns;
    r->marked = r->steps->len > 0;
    if (!r->marked) {
        const struct step_window all = {INT64_MIN, INT64_MAX, 0};
        g_array_append_val(r->steps, all);
    }
}

static void rank_init(struct rank *r, const struct profiler_process *p, uint32_t device)
{
    *r = (struct rank){.process = p, .device = device};
    find_steps(r);
    inside_init(&r->backward, p, PROFILER_BACKWARD);
    inside_init(&r->optimizer, p, PROFILER_OPTIMIZER);
    r->launches = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < p->events->len; i++) {
        struct profiler_event *e = &g_array_index(p->events, struct profiler_event, i);
        if (e->kind == PROFILER_LAUNCH)
            g_hash_table_insert(r->launches, &e->correlation, e);
    }
}

static void rank_clear(gpointer rank)
{
    struct rank *r = rank;
    g_array_unref(r->steps);
    g_hash_table_unref(r->launches);
    inside_release(&r->backward);
    inside_release(&r->optimizer);
}

/* --- what a device did */

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

static const struct step_window *step_at(const struct rank *r, int64_t ns)
{
    guint low = 0, high = r->steps->len;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (g_array_index(r->steps, struct step_window, middle).end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    const struct step_window *s =
        low < r->steps->len ? &g_array_index(r->steps, struct step_window, low) : NULL;
    return s && s->start_ns <= ns ? s : NULL;
}

/* What was launched by autograd's threads is backward, whatever runs then on the others.  What has no launch
 * goes by its own time, and is of no phase: often it is left from the step before. */
static void place(struct importer *im, uint32_t rank, const struct profiler_event *e)
{
    const struct rank *r = &g_array_index(im->ranks, struct rank, rank);
    const struct profiler_event *found =
        e->correlation ? g_hash_table_lookup(r->launches, &e->correlation) : NULL;
    const struct profiler_event *launch = found ? found : e;
    struct work w = {.event = e, .rank = rank, .coll = OP_NONE, .gang = OP_NONE};
    const struct step_window *step = step_at(r, launch->start_ns);
    w.step = step ? step->number : OP_NONE;
    w.kind = e->kind == PROFILER_COPY           ? OP_COPY
             : e->kind == PROFILER_COMM         ? collective_kind(e->name)
             : !found || !r->process->host      ? OP_KERNEL
             : is_inside(&r->optimizer, launch) ? OP_OPTIM
             : is_inside(&r->backward, launch)  ? OP_BWD
                                                : OP_FWD;
    if (w.step == OP_NONE)
        im->outside++;
    else
        g_array_append_val(im->work, w);
}

static void place_all(struct importer *im)
{
    for (guint rank = 0; rank < im->ranks->len; rank++) {
        const struct rank *r = &g_array_index(im->ranks, struct rank, rank);
        for (guint i = 0; i < r->process->events->len; i++) {
            const struct profiler_event *e = &g_array_index(r->process->events, struct profiler_event, i);
            if (e->kind < PROFILER_DEVICE_KINDS && (r->device == OP_NONE || r->device == e->device))
                place(im, rank, e);
        }
    }
}

/* --- steps that all ranks have */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

struct seen {
    uint32_t ranks, last; /* how many ranks have the step, and 1 + the last of them */
};

static GHashTable *count_steps(const struct importer *im)
{
    GHashTable *steps = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (guint i = 0; i < im->work->len; i++) {
        const struct work *w = &g_array_index(im->work, struct work, i);
        struct seen *seen = g_hash_table_lookup(steps, GUINT_TO_POINTER(w->step));
        if (!seen)
            g_hash_table_insert(steps, GUINT_TO_POINTER(w->step), seen = g_new0(struct seen, 1));
        seen->ranks += seen->last != w->rank + 1;
        seen->last = w->rank + 1;
    }
    return steps;
}

/* Numbers them from 0; what is of no such step is left out. */
static void keep_common_steps(struct importer *im)
{
    g_autoptr(GHashTable) steps = count_steps(im);
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                      kept = g_array_new(FALSE, FALSE, sizeof(struct work));
    GHashTableIter iter;
    gpointer key, value;
    g_hash_table_iter_init(&iter, steps);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        const uint32_t number = GPOINTER_TO_UINT(key);
        if (((struct seen *)value)->ranks == im->ranks->len)
            g_array_append_val(numbers, number);
    }
    g_array_sort(numbers, by_number);
    for (guint i = 0; i < im->work->len; i++) {
        struct work w = g_array_index(im->work, struct work, i);
        guint at;
        if (g_array_binary_search(numbers, &w.step, by_number, &at)) {
            w.step = at;
            g_array_append_val(kept, w);
        }
    }
    im->outside += im->work->len - kept->len;
    im->trace->n_steps = numbers->len;
    g_array_unref(im->work);
    im->work = g_steal_pointer(&kept);
}

/* --- collectives of several ranks */

static int by_collective(const void *a, const void *b)
{
    const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->event->start_ns > y->event->start_ns) - (x->event->start_ns < y->event->start_ns);
}

static GPtrArray *collectives(const struct importer *im)
{
    GPtrArray *found = g_ptr_array_new();
    for (guint i = 0; i < im->work->len; i++) {
        struct work *w = &g_array_index(im->work, struct work, i);
        if (w->event->kind == PROFILER_COMM)
            g_ptr_array_add(found, w);
    }
    g_ptr_array_sort(found, by_collective);
    return found;
}

/* The k-th of a rank's collectives in a step is the k-th of every rank, if they are as many and of the same
 * kinds. */
static bool match(const struct importer *im, const GPtrArray *found, guint begin, guint end)
{
    const guint n = (end - begin) / im->ranks->len;
    for (guint i = begin; i < end; i++) {
        const struct work *w = found->pdata[i], *first = found->pdata[begin + (i - begin) % MAX(n, 1)];
        if (n * im->ranks->len != end - begin || w->rank != (i - begin) / n || w->kind != first->kind)
            return false;
    }
    return true;
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(GArray *ns)
{
    g_array_sort(ns, compare_ns);
    return g_array_index(ns, int64_t, ns->len / 2);
}

/* Members of a collective end together.  Where they end further apart than it takes, half of the time at
 * least, the ranks' clocks do not show the same time, and who waited for whom cannot be told. */
static bool clocks_agree(const struct importer *im, const GPtrArray *found, guint begin, guint n)
{
    g_autoptr(GArray) spreads = g_array_new(FALSE, FALSE, sizeof(int64_t)),
                      shortest = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (guint k = 0; k < n; k++) {
        int64_t first = INT64_MAX, last = INT64_MIN, least = INT64_MAX;
        for (guint rank = 0; rank < im->ranks->len; rank++) {
            const struct profiler_event *e = ((const struct work *)found->pdata[begin + rank * n + k])->event;
            first = MIN(first, e->end_ns);
            last = MAX(last, e->end_ns);
            least = MIN(least, e->end_ns - e->start_ns);
        }
        last -= first;
        g_array_append_val(spreads, last);
        g_array_append_val(shortest, least);
    }
    return median_of(spreads) <= median_of(shortest);
}

/* False: of some step they are not known to belong together. */
static bool match_collectives(const struct importer *im)
{
    g_autoptr(GPtrArray) found = collectives(im);
    bool all = true;
    for (guint begin = 0, end; begin < found->len; begin = end) {
        const uint32_t step = ((const struct work *)found->pdata[begin])->step;
        for (end = begin; end < found->len && ((const struct work *)found->pdata[end])->step == step; end++)
            ;
        const guint n = (end - begin) / im->ranks->len;
        const bool together =
            im->ranks->len > 1 && match(im, found, begin, end) && clocks_agree(im, found, begin, n);
        for (guint i = begin; i < end; i++) {
            struct work *w = found->pdata[i];
            w->coll = together ? begin + (i - begin) % n : i;
            w->gang = together ? w->coll : OP_NONE;
        }
        all &= together;
    }
    return all;
}

/* --- the trace */

/* A stream's computation, communication and copies are a lane each. */
static bool same_lane(const struct work *x, const struct work *y)
{
    return x->rank == y->rank && x->event->kind == y->event->kind && x->event->device == y->event->device &&
           x->event->track == y->event->track;
}

static int by_lane(const void *a, const void *b)
{
    const struct work *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->event->kind != y->event->kind)
        return x->event->kind < y->event->kind ? -1 : 1;
    if (x->event->device != y->event->device)
        return x->event->device < y->event->device ? -1 : 1;
    if (x->event->track != y->event->track)
        return x->event->track < y->event->track ? -1 : 1;
    return (x->event->start_ns > y->event->start_ns) - (x->event->start_ns < y->event->start_ns);
}

static void add_lanes(struct importer *im)
{
    static const uint8_t classes[PROFILER_DEVICE_KINDS] = {LANE_COMPUTE, LANE_COMM, LANE_COPY};
    g_array_sort(im->work, by_lane);
    for (guint i = 0; i < im->work->len; i++) {
        struct work *w = &g_array_index(im->work, struct work, i);
        if (i == 0 || !same_lane(w, w - 1)) {
            g_autofree char *name = g_strdup_printf("stream %" G_GUINT64_FORMAT, w->event->track);
            trace_add_lane(im->trace, &(struct lane){.name = name,
                                                     .rank = w->rank,
                                                     .device = w->event->device,
                                                     .peer = OP_NONE,
                                                     .cls = classes[w->event->kind]});
        }
        w->lane = im->trace->t.n_lanes - 1;
    }
}

static int by_op(const void *a, const void *b)
{
    const struct work *x = *(struct work *const *)a, *y = *(struct work *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->event->start_ns != y->event->start_ns)
        return x->event->start_ns < y->event->start_ns ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static struct trace_op op_of(const struct work *w)
{
    return (struct trace_op){.tag = {.kind = w->kind,
                                     .layer0 = LAYER_NONE,
                                     .layer1 = LAYER_NONE,
                                     .chunk = LAYER_NONE,
                                     .hop = LAYER_NONE,
                                     .stage = STAGE_NONE,
                                     .micro = OP_NONE,
                                     .bucket = OP_NONE,
                                     .step = w->step,
                                     .gang = w->gang,
                                     .coll = w->coll},
                             .lane = w->lane,
                             .cost = OP_NONE,
                             .ready_ns = w->event->start_ns,
                             .start_ns = w->event->start_ns,
                             .end_ns = w->event->end_ns,
                             .work_ns = -1};
}

/* An op is one event: what lies between two kernels is idle. */
static void add_ops(struct importer *im)
{
    static const uint8_t classes[PROFILER_DEVICE_KINDS] = {SPAN_COMPUTE, SPAN_COMM, SPAN_COPY};
    g_autoptr(GPtrArray) order = g_ptr_array_sized_new(im->work->len);
    for (guint i = 0; i < im->work->len; i++)
        g_ptr_array_add(order, &g_array_index(im->work, struct work, i));
    g_ptr_array_sort(order, by_op);
    trace_reserve(im->trace, im->work->len);
    for (guint i = 0; i < order->len; i++) {
        struct work *w = order->pdata[i];
        const struct trace_op op = op_of(w);
        trace_add_bare_op(im->trace, &op);
        w->op = i;
    }
    for (guint i = 0; i < im->work->len; i++) {
        const struct work *w = &g_array_index(im->work, struct work, i);
        trace_add_span(im->trace, &(struct trace_span){w->event->start_ns, w->event->end_ns, w->lane, w->op,
                                                       classes[w->event->kind], w->event->name});
    }
}

/* Times of files are far from 0, but near one another. */
static bool check(const struct importer *im, const char *name, GError **error)
{
    int64_t first = INT64_MAX, last = INT64_MIN, span = 0;
    for (guint i = 0; i < im->work->len; i++) {
        const struct profiler_event *e = g_array_index(im->work, struct work, i).event;
        first = MIN(first, e->start_ns);
        last = MAX(last, e->end_ns);
    }
    const char *wrong = NULL;
    if (im->ranks->len > PLAN_RANKS_MAX)
        wrong = "it has too many devices";
    else if (!im->work->len)
        wrong = im->untimed   ? "no event of a device has a time and a duration that are numbers"
                : im->outside ? "no step of the profiler has work of a device on every rank"
                              : "no event of a device is in it: record with ProfilerActivity.CUDA";
    else if (__builtin_sub_overflow(last, first, &span) || span > TIME_MAX)
        wrong = "its times are too far apart";
    else if ((uint64_t)im->trace->t.n_lanes * im->trace->n_steps >
             (uint64_t)im->work->len * PLACES_PER_EVENT + PLACES_FREE)
        wrong = "it has too many streams and steps for its events";
    if (wrong)
        g_set_error(error, JSON_ERROR, 0, "%s: %s", name, wrong);
    return !wrong;
}

static void describe(const struct importer *im)
{
    struct trace *t = im->trace;
    const struct profiler_process *p = g_array_index(im->ranks, struct rank, 0).process;
    t->t.mode = tables_intern(&t->t, "profile");
    t->t.model = tables_intern(&t->t, p->device ? p->device : "GPU");
    trace_label_text(t, "engine", "PyTorch's profiler");
    if (p->ranks > im->ranks->len)
        trace_label(t, "ranks of the job", "%u", p->ranks);
    if (!im->marked)
        trace_label_text(t, "steps", "none is marked, the whole recording is one");
    if (im->devices > im->ranks->len)
        trace_label(t, "devices", "%u", im->devices);
    if (im->untimed)
        trace_label(t, "events without a time", "%zu left out", im->untimed);
    if (im->outside)
        trace_label(t, "events outside of steps", "%zu of %zu left out", im->outside,
                    im->outside + im->work->len);
}

static bool build(struct importer *im, const char *name, GError **error)
{
    im->work = g_array_new(FALSE, FALSE, sizeof(struct work));
    place_all(im);
    keep_common_steps(im);
    add_lanes(im);
    bool ok = check(im, name, error);
    if (ok) {
        const bool together = match_collectives(im);
        describe(im);
        if (!together && im->ranks->len > 1)
            trace_label_text(im->trace, "clocks", "not known to agree");
        add_ops(im);
        trace_finish(im->trace);
    }
    g_array_unref(im->work);
    return ok;
}

/* --- ranks and their files */

/* uint32_t, in order. */
static GArray *devices_of(const struct profiler_process *p)
{
    GArray *devices = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < p->events->len; i++) {
        const struct profiler_event *e = &g_array_index(p->events, struct profiler_event, i);
        if (e->kind < PROFILER_DEVICE_KINDS && g_hash_table_add(seen, GUINT_TO_POINTER(e->device)))
            g_array_append_val(devices, e->device);
    }
    g_array_sort(devices, by_number);
    return devices;
}

/* By rank.  False: they are not the ranks of a job, one after the other. */
static bool order_ranks(unsigned n, const struct import_file *files, struct profiler_process **order,
                        GError **error)
{
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && order[k]->rank < order[k - 1]->rank; k--) {
            struct profiler_process *one = order[k];
            order[k] = order[k - 1];
            order[k - 1] = one;
        }
    for (unsigned i = 0; n > 1 && i < n; i++) {
        if (!order[i]->ranks)
            g_set_error(
                error, JSON_ERROR, 0,
                "one of %s ... %s does not say which rank of a job it is of: such a trace is rendered alone",
                files[0].name, files[n - 1].name);
        else if (order[i]->ranks != order[0]->ranks)
            g_set_error(error, JSON_ERROR, 0, "%s ... %s are of jobs of %u and of %u ranks", files[0].name,
                        files[n - 1].name, order[0]->ranks, order[i]->ranks);
        else if (i && order[i]->rank != order[i - 1]->rank + 1)
            g_set_error(
                error, JSON_ERROR, 0,
                "%s ... %s are of ranks %u and %u of a job: give each rank between two once (or --figure "
                "compare, which compares files)",
                files[0].name, files[n - 1].name, order[i - 1]->rank, order[i]->rank);
        else
            continue;
        return false;
    }
    return true;
}

static void add_rank(struct importer *im, const struct profiler_process *p, uint32_t device)
{
    struct rank r;
    rank_init(&r, p, device);
    g_array_append_val(im->ranks, r);
}

/* A process of a job is a rank; of any other each device is one. */
static void add_ranks(struct importer *im, unsigned n, struct profiler_process *const *order)
{
    for (unsigned i = 0; i < n; i++) {
        g_autoptr(GArray) devices = devices_of(order[i]);
        const bool each = !order[i]->ranks && devices->len;
        for (guint k = 0; k < (each ? devices->len : 1); k++)
            add_rank(im, order[i], each ? g_array_index(devices, uint32_t, k) : OP_NONE);
        im->devices += devices->len;
        im->untimed += order[i]->untimed;
    }
    for (guint i = 0; i < im->ranks->len; i++)
        im->marked |= g_array_index(im->ranks, struct rank, i).marked;
    im->trace->t.n_ranks = im->ranks->len;
    im->trace->first_rank = order[0]->rank;
}

bool import_profiler(unsigned n, const struct import_file *files, struct trace *trace, GError **error)
{
    struct importer im = {.trace = trace, .ranks = g_array_new(FALSE, FALSE, sizeof(struct rank))};
    g_autofree struct profiler_process *processes = g_new0(struct profiler_process, n);
    g_autofree struct profiler_process **order = g_new0(struct profiler_process *, n);
    unsigned read = 0;
    trace_init(trace);
    g_array_set_clear_func(im.ranks, rank_clear);
    while (read < n &&
           profiler_read(files[read].text, files[read].n, files[read].name, &processes[read], error)) {
        order[read] = &processes[read];
        read++;
    }
    bool ok = read == n && order_ranks(n, files, order, error);
    if (ok) {
        add_ranks(&im, n, order);
        ok = build(&im, files[0].name, error);
    }
    g_array_unref(im.ranks);
    for (unsigned i = 0; i < read; i++)
        profiler_release(&processes[i]);
    if (!ok)
        trace_release(trace);
    return ok;
}
