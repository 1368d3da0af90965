#include <stdlib.h>
#include <string.h>

#include "profile/facts.h"
#include "profile/import.h"
#include "profile/profiler-gangs.h"
#include "profile/profiler-purpose.h"
#include "profile/read.h"

/* What analyses allocate, a place a lane and step, is within this times the events of the files, or this
 * much. */
enum { PLACES_PER_EVENT = 64, PLACES_FREE = 1 << 16 };

/* One rank: a process, or one device of a process that has several. */
struct rank {
    const struct profiler_process *process;
    uint32_t device; /* OP_NONE: all of them */
    const struct profiler_hosts *hosts;
};

struct importer {
    struct trace *trace;
    GPtrArray *hosts; /* struct profiler_hosts, a process each */
    GArray *ranks;    /* struct rank */
    GArray *work;     /* struct profiler_work */
    size_t outside;   /* events of devices in no step that all ranks have */
    size_t untimed;   /* ... and of no time */
    uint32_t devices;
    bool marked;                    /* steps are marked */
    uint32_t first_step, last_step; /* as the profiler counts */
};

/* --- what devices did */

static void place(struct importer *im, uint32_t rank, const struct profiler_event *e)
{
    const struct profiler_purpose of = profiler_purpose(g_array_index(im->ranks, struct rank, rank).hosts, e);
    const struct profiler_work w = {
        .event = e, .rank = rank, .step = of.step, .kind = of.kind, .coll = OP_NONE, .gang = OP_NONE};
    if (of.step == OP_NONE)
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
        const struct profiler_work *w = &g_array_index(im->work, struct profiler_work, i);
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
                      kept = g_array_new(FALSE, FALSE, sizeof(struct profiler_work));
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
        struct profiler_work w = g_array_index(im->work, struct profiler_work, i);
        guint at;
        if (g_array_binary_search(numbers, &w.step, by_number, &at)) {
            w.step = at;
            g_array_append_val(kept, w);
        }
    }
    im->outside += im->work->len - kept->len;
    im->trace->n_steps = numbers->len;
    if (numbers->len) {
        im->first_step = g_array_index(numbers, uint32_t, 0);
        im->last_step = g_array_index(numbers, uint32_t, numbers->len - 1);
    }
    g_array_unref(im->work);
    im->work = g_steal_pointer(&kept);
}

/* --- the trace */

/* A stream's computation, communication and copies are a lane each. */
static bool same_lane(const struct profiler_work *x, const struct profiler_work *y)
{
    return x->rank == y->rank && x->event->kind == y->event->kind && x->event->device == y->event->device &&
           x->event->track == y->event->track;
}

static int by_lane(const void *a, const void *b)
{
    const struct profiler_work *x = a, *y = b;
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
        struct profiler_work *w = &g_array_index(im->work, struct profiler_work, i);
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
    const struct profiler_work *x = *(struct profiler_work *const *)a, *y = *(struct profiler_work *const *)b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->event->start_ns != y->event->start_ns)
        return x->event->start_ns < y->event->start_ns ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static struct trace_op op_of(const struct profiler_work *w)
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
        g_ptr_array_add(order, &g_array_index(im->work, struct profiler_work, i));
    g_ptr_array_sort(order, by_op);
    trace_reserve(im->trace, im->work->len);
    for (guint i = 0; i < order->len; i++) {
        struct profiler_work *w = order->pdata[i];
        const struct trace_op op = op_of(w);
        trace_add_bare_op(im->trace, &op);
        w->op = i;
    }
    for (guint i = 0; i < im->work->len; i++) {
        const struct profiler_work *w = &g_array_index(im->work, struct profiler_work, i);
        trace_add_span(im->trace, &(struct trace_span){w->event->start_ns, w->event->end_ns, w->lane, w->op,
                                                       classes[w->event->kind], w->event->name});
    }
}

/* Times of files are far from 0, but near one another. */
static bool check(const struct importer *im, const char *name, GError **error)
{
    int64_t first = INT64_MAX, last = INT64_MIN, span = 0;
    for (guint i = 0; i < im->work->len; i++) {
        const struct profiler_event *e = g_array_index(im->work, struct profiler_work, i).event;
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
        trace_label_text(t, LABEL_STEPS, "none is marked, the whole recording is one");
    else if (t->n_steps == 1)
        trace_label(t, LABEL_STEPS, "ProfilerStep#%u", im->first_step);
    else
        trace_label(t, LABEL_STEPS, "ProfilerStep#%u–%u", im->first_step, im->last_step);
    if (im->devices > im->ranks->len)
        trace_label(t, "devices", "%u", im->devices);
    if (im->untimed)
        trace_label(t, LABEL_UNTIMED, "%zu left out", im->untimed);
    if (im->outside)
        trace_label(t, LABEL_OUTSIDE, "%zu of %zu left out", im->outside, im->outside + im->work->len);
}

static bool build(struct importer *im, const char *name, GError **error)
{
    im->work = g_array_new(FALSE, FALSE, sizeof(struct profiler_work));
    place_all(im);
    keep_common_steps(im);
    add_lanes(im);
    bool ok = check(im, name, error);
    if (ok) {
        const bool together = profiler_gangs(im->work, im->ranks->len);
        describe(im);
        if (!together && im->ranks->len > 1)
            trace_label_text(im->trace, LABEL_RANK_CLOCKS, "not known to agree");
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

static int by_rank(const void *a, const void *b)
{
    const struct profiler_process *const *x = a, *const *y = b;
    return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

/* By rank.  False: they are not the ranks of a job, one after the other. */
static bool order_ranks(unsigned n, const struct import_file *files, struct profiler_process **order,
                        GError **error)
{
    qsort(order, n, sizeof *order, by_rank);
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

/* A process of a job is a rank; of any other each device is one. */
static void add_ranks(struct importer *im, unsigned n, struct profiler_process *const *order)
{
    for (unsigned i = 0; i < n; i++) {
        g_autoptr(GArray) devices = devices_of(order[i]);
        const bool each = !order[i]->ranks && devices->len;
        struct profiler_hosts *hosts = profiler_hosts_new(order[i]);
        g_ptr_array_add(im->hosts, hosts);
        for (guint k = 0; k < (each ? devices->len : 1); k++) {
            const struct rank r = {order[i], each ? g_array_index(devices, uint32_t, k) : OP_NONE, hosts};
            g_array_append_val(im->ranks, r);
        }
        im->marked |= profiler_hosts_marked(hosts);
        im->devices += devices->len;
        im->untimed += order[i]->untimed;
    }
    im->trace->t.n_ranks = im->ranks->len;
    im->trace->first_rank = order[0]->rank;
}

bool import_profiler(unsigned n, const struct import_file *files, struct trace *trace, GError **error)
{
    struct importer im = {.trace = trace,
                          .hosts = g_ptr_array_new_with_free_func((GDestroyNotify)profiler_hosts_free),
                          .ranks = g_array_new(FALSE, FALSE, sizeof(struct rank))};
    g_autofree struct profiler_process *processes = g_new0(struct profiler_process, n);
    g_autofree struct profiler_process **order = g_new0(struct profiler_process *, n);
    unsigned read = 0;
    trace_init(trace);
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
    g_ptr_array_unref(im.hosts);
    for (unsigned i = 0; i < read; i++)
        profiler_release(&processes[i]);
    if (!ok)
        trace_release(trace);
    return ok;
}
