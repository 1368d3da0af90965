#include "exec/cuda/times.h"

#include <string.h>

#include "profile/clock.h"
#include "profile/facts.h"

/* CUPTI is asked once in a process, and stays. */
static struct {
    enum { UNTRIED, COLLECTING, REFUSED } state;
    char *why;
} collector;

static void refuse_collector(GError *refusal)
{
    collector.state = REFUSED;
    collector.why = g_strdup(refusal->message);
    g_error_free(refusal);
    collect_close();
}

static void try_collector(void)
{
    GError *refusal = NULL;
    if (collector.state != UNTRIED)
        return;
    collector.state = COLLECTING;
    if (!collect_open(&refusal))
        refuse_collector(refusal);
}

void cuda_times_open(struct cuda *c)
{
    c->times = g_new0(struct times, 1);
    if (!c->run->untraced)
        try_collector();
    c->collecting = !c->run->untraced && collector.state == COLLECTING;
    c->times->records = g_new0(struct op_records, c->plan->n_ops);
    c->times->lane_end_ns = g_new0(int64_t, c->plan->t.n_lanes);
    c->times->host_lane = g_new(uint32_t, c->plan->t.n_ranks);
}

static struct {
    cudaStream_t stream;
    struct k_cuda_stream *kernels;
    void *memory;
} sentinel;

/* Where waiting fails once, a run goes on with times from events: again, as the arena is to be filled next. */
static int launch_sentinel(void)
{
    int status = k_cuda_f32.zero(sentinel.kernels, 1, sentinel.memory);
    if (!status && (status = (int)cudaStreamSynchronize(sentinel.stream)))
        (void)cudaStreamSynchronize(sentinel.stream);
    return status;
}

/* CUPTI may accept everything and record nothing. */
static bool records(struct cuda *c, GError **refusal)
{
    const struct gpu_rank *r = &c->ranks[c->plan->t.lanes[0].rank];
    const uint32_t n = c->plan->t.n_lanes;
    g_autofree struct collect_lane *lanes = g_new(struct collect_lane, n);
    for (uint32_t i = 0; i < n; i++)
        lanes[i] = (struct collect_lane){c->ranks[c->plan->t.lanes[i].rank].device, c->lanes[i].stream};
    if (!collect_lanes(lanes, n, refusal))
        return false;
    sentinel.stream = c->lanes[0].stream;
    sentinel.kernels = c->lanes[0].kernels;
    sentinel.memory = r->arena;
    return !r->arena ||
           (cuda_use(c, c->plan->t.lanes[0].rank, refusal) && collect_sentinel(launch_sentinel, refusal));
}

void cuda_times_lanes(struct cuda *c)
{
    GError *refusal = NULL;
    if (c->collecting && !records(c, &refusal)) {
        refuse_collector(refusal);
        c->collecting = false;
    }
    c->timed = !c->collecting;
    if (c->timed)
        c->times->by_event = g_new0(struct interval, (size_t)c->run->steps * c->plan->n_ops);
}

/* --- times by events */

/* When the device comes past an event on an idle lane: between the calls around it. */
static bool set_anchor(struct cuda *c, uint32_t lane, GError **error)
{
    struct gpu_lane *l = &c->lanes[lane];
    const uint32_t rank = c->plan->t.lanes[lane].rank;
    if (!cuda_use(c, rank, error))
        return false;
    const int64_t before_ns = clock_ns();
    if (!cuda_ok(c, cudaEventRecord(l->base, l->stream), "cudaEventRecord", rank, error) ||
        !cuda_ok(c, cudaEventSynchronize(l->base), "cudaEventSynchronize", rank, error))
        return false;
    l->anchor = l->base;
    l->anchor_ns = before_ns + (clock_ns() - before_ns) / 2;
    return true;
}

bool cuda_times_restart(struct cuda *c, GError **error)
{
    if (c->collecting)
        return cuda_own_error(collect_discard(error), error);
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
        if (!set_anchor(c, i, error))
            return false;
    return true;
}

static bool since_anchor(struct cuda *c, uint32_t lane, cudaEvent_t event, int64_t *ns, GError **error)
{
    const struct gpu_lane *l = &c->lanes[lane];
    float ms = 0;
    if (!cuda_ok(c, cudaEventElapsedTime(&ms, l->anchor, event), "cudaEventElapsedTime",
                 c->plan->t.lanes[lane].rank, error))
        return false;
    *ns = l->anchor_ns + (int64_t)((double)ms * 1e6);
    return true;
}

/* Times are a float of ms since the anchor, which therefore moves on with each step. */
bool cuda_times_read(struct cuda *c, uint32_t lane, uint32_t step, GError **error)
{
    struct gpu_lane *l = &c->lanes[lane];
    struct interval at = {0};
    if (step < run_first_measured(c->run))
        return true;
    for (uint32_t i = 0; i < l->n_ops; i++) {
        const struct gpu_op *op = &c->ops[l->ops[i]];
        if (!since_anchor(c, lane, op->begin[cuda_slot(step)], &at.start_ns, error) ||
            !since_anchor(c, lane, op->end[cuda_slot(step)], &at.end_ns, error))
            return false;
        at.end_ns = MAX(at.end_ns, at.start_ns);
        c->times->by_event[(size_t)(step - run_first_measured(c->run)) * c->plan->n_ops + l->ops[i]] = at;
    }
    l->anchor = c->ops[l->ops[l->n_ops - 1]].end[cuda_slot(step)];
    l->anchor_ns = at.end_ns;
    return true;
}

static void gather_events(struct cuda *c, uint32_t measured, const struct timing *timing, size_t first_row,
                          struct trace *trace)
{
    static const uint8_t classes[LANE_CLASSES] = {SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_HOST};
    for (uint32_t i = 0; i < c->plan->n_ops; i++) {
        const uint32_t op = c->plan->order[i], lane = c->plan->ops[op].lane;
        const struct interval at = c->times->by_event[(size_t)measured * c->plan->n_ops + op];
        timing->start_ns[op] = at.start_ns;
        timing->end_ns[op] = at.end_ns;
        timing->work_ns[op] = -1;
        trace_add_span(trace, &(struct trace_span){.start_ns = at.start_ns,
                                                   .end_ns = at.end_ns,
                                                   .lane = lane,
                                                   .op = (uint32_t)(first_row + i),
                                                   .cls = classes[c->plan->t.lanes[lane].cls]});
    }
}

bool cuda_own_error(bool done, GError **error)
{
    if (!done && error && *error && (*error)->domain == COLLECT_ERROR) {
        (*error)->domain = ENGINE_ERROR;
        (*error)->code = ENGINE_ERROR_FAILED;
    }
    return done;
}

/* --- the whole */

static void label_sharing(const struct cuda *c, struct trace *trace)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < c->n_devices; i++) {
        const struct gpu_device *device = &c->devices[i];
        uint32_t a_part, of;
        if (device->ranks < 2)
            continue;
        if (!device->split) {
            trace_label_text(trace, "sharing", "ranks interleave: overlap not meaningful");
            trace->interleaved = true;
            return;
        }
        sm_split_count(device->split, &a_part, &of);
        g_autofree char *parts =
            g_strdup_printf("each of %u ranks has %u of %u SMs", device->ranks, a_part, of);
        if (!strstr(text->str, parts))
            g_string_append_printf(text, "%s%s", text->len ? ", " : "", parts);
    }
    if (text->len)
        trace_label_text(trace, "sharing", text->str);
}

static void label(struct cuda *c, struct trace *trace)
{
    g_autofree char *text =
        g_strdup_printf("from events, because %s", c->run->untraced ? "tracing is off" : collector.why);
    if (c->timed)
        trace_label_text(trace, LABEL_TIMES, text);
    label_sharing(c, trace);
    if (c->nccl)
        comm_nccl_facts(c->nccl, trace);
    c->times->labelled = true;
}

bool cuda_times_gather(struct cuda *c, uint32_t step, const struct timing *timing, size_t first_row,
                       struct trace *trace, GError **error)
{
    const uint32_t measured = step - run_first_measured(c->run);
    if (!c->times->labelled)
        label(c, trace);
    if (c->collecting)
        return cuda_records_gather(c, step, timing, first_row, trace, error);
    gather_events(c, measured, timing, first_row, trace);
    return true;
}

void cuda_times_close(struct cuda *c)
{
    if (!c->times)
        return;
    g_free(c->times->by_event);
    g_free(c->times->collected.records);
    g_free(c->times->records);
    g_free(c->times->lane_end_ns);
    g_free(c->times->host_lane);
    g_free(c->times->odd);
    g_free(c->times);
}
