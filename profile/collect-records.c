/* What is in CUPTI's buffers: device records, each with the call that launched it and the op around that
 * call. */
#include "profile/collect-cupti.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <cupti.h>

#include "profile/facts.h"
#include "profile/trace.h"

/* A call of the API.  The runtime calls the driver, and both may be recorded: then the outer one is the
 * launch. */
struct call {
    uint64_t id; /* step << 32 | op */
    int64_t start_ns, end_ns;
    uint32_t cbid, thread, outer; /* outer: index; of itself where there is none */
    bool marked, timed, driver, launch;
};

/* A record of a device, still to be attributed. */
struct found {
    struct collect_record record;
    struct collect_key key;
    uint32_t correlation, runtime_correlation; /* 0: none */
};

struct parser {
    GHashTable *index; /* correlation -> place in calls, + 1 */
    GArray *calls, *found;
    const struct collect_key *lanes;
    uint32_t n_lanes;
    GStringChunk *names;
    GArray *records;
    struct collect_counts counts;
};

static struct call *call_at(struct parser *p, uint32_t i)
{
    return &g_array_index(p->calls, struct call, i);
}

/* NULL: not there, and not to be made. */
static struct call *call_of(struct parser *p, uint32_t correlation, bool make)
{
    gpointer key = GUINT_TO_POINTER(correlation);
    guint at = GPOINTER_TO_UINT(g_hash_table_lookup(p->index, key));
    if (!at && !make)
        return NULL;
    if (!at) {
        struct call call = {.outer = p->calls->len};
        g_array_append_val(p->calls, call);
        at = p->calls->len;
        g_hash_table_insert(p->index, key, GUINT_TO_POINTER(at));
    }
    return call_at(p, at - 1);
}

/* --- reading */

static bool launches_kernel(bool driver, uint32_t cbid)
{
    if (driver)
        return cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
               cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ||
               cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx ||
               cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz ||
               cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
               cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
    return cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 ||
           cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000 ||
           cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060 ||
           cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060 ||
           cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000 ||
           cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000;
}

/* Whether the times may be believed; counted if not. */
static bool sound(struct parser *p, uint64_t start, uint64_t end)
{
    bool zero = !start || !end;
    p->counts.zero += zero;
    p->counts.inverted += !zero && end < start;
    return !zero && end >= start;
}

static void read_call(struct parser *p, const CUpti_ActivityAPI *api)
{
    if (!sound(p, api->start, api->end))
        return;
    struct call *call = call_of(p, api->correlationId, true);
    call->start_ns = (int64_t)api->start;
    call->end_ns = (int64_t)api->end;
    call->thread = api->threadId;
    call->cbid = api->cbid;
    call->driver = api->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    call->timed = true;
    call->launch = launches_kernel(call->driver, call->cbid);
}

static void read_mark(struct parser *p, const CUpti_ActivityExternalCorrelation *mark)
{
    if (mark->externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        return;
    struct call *call = call_of(p, mark->correlationId, true);
    call->id = mark->externalId;
    call->marked = true;
}

static void read_overhead(struct parser *p, const CUpti_ActivityOverhead3 *o)
{
    int64_t ns = o->end > o->start ? (int64_t)(o->end - o->start) : 0;
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING ||
        o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING)
        p->counts.lazy_ns += ns;
    else if (o->overheadKind != CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        p->counts.overhead_ns += ns;
    free(o->overheadData); /* ours, by CUPTI's rule */
}

/* The structures' members are the same, their places are not. */
#define READ_DEVICE(p, r, what, text, size, runtime)                                                         \
    add_found(p, (r)->start, (r)->end,                                                                       \
              (struct found){{.device = (r)->deviceId, .bytes = (size), .name = (text), .kind = (what)},     \
                             {(r)->deviceId, (r)->contextId, (r)->streamId},                                 \
                             (r)->correlationId,                                                             \
                             (runtime)})

static void add_found(struct parser *p, uint64_t start, uint64_t end, struct found found)
{
    if (!sound(p, start, end))
        return;
    found.record.start_ns = (int64_t)start;
    found.record.end_ns = (int64_t)end;
    found.record.name = g_string_chunk_insert_const(p->names, found.record.name ? found.record.name : "?");
    p->counts.kernels += found.record.kind == COLLECT_KERNEL;
    p->counts.copies += found.record.kind != COLLECT_KERNEL;
    g_array_append_val(p->found, found);
}

static const char *copy_name(uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
        return "copy on device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
        return "copy device to device";
    default:
        return "copy";
    }
}

static void read_record(struct parser *p, const CUpti_Activity *any)
{
    switch (any->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
        const CUpti_ActivityKernel10 *r = (const void *)any;
        READ_DEVICE(p, r, COLLECT_KERNEL, r->name, 0, 0);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy6 *r = (const void *)any;
        READ_DEVICE(p, r, COLLECT_COPY, copy_name(r->copyKind), r->bytes, r->runtimeCorrelationId);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const CUpti_ActivityMemcpyPtoP4 *r = (const void *)any;
        READ_DEVICE(p, r, COLLECT_COPY, copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP), r->bytes, 0);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const CUpti_ActivityMemset4 *r = (const void *)any;
        READ_DEVICE(p, r, COLLECT_SET, "set", r->bytes, 0);
        break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        read_call(p, (const void *)any);
        break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        read_mark(p, (const void *)any);
        break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        read_overhead(p, (const void *)any);
        break;
    default:
        break;
    }
}

static bool read_buffer(struct parser *p, const struct collect_buffer *b, GError **error)
{
    CUpti_Activity *record = NULL;
    CUptiResult result = CUPTI_ERROR_MAX_LIMIT_REACHED;
    while (b->valid && (result = cuptiActivityGetNextRecord(b->bytes, b->valid, &record)) == CUPTI_SUCCESS)
        read_record(p, record);
    /* An invalid kind is a record that was not complete when it was flushed: the last. */
    return result == CUPTI_ERROR_MAX_LIMIT_REACHED || result == CUPTI_ERROR_INVALID_KIND ||
           collect_fail(error, COLLECT_ERROR_FAILED, "cuptiActivityGetNextRecord", (int)result, "");
}

/* --- attributing */

static int compare_calls(const void *a, const void *b, void *user)
{
    const struct call *x = call_at(user, *(const uint32_t *)a), *y = call_at(user, *(const uint32_t *)b);
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->driver - y->driver;
}

/* A call inside another of its thread is a part of that. */
static void nest_calls(struct parser *p)
{
    uint32_t *order = g_new(uint32_t, p->calls->len + 1), n = 0;
    struct call *outer = NULL;
    for (uint32_t i = 0; i < p->calls->len; i++)
        if (call_at(p, i)->timed)
            order[n++] = i;
    g_qsort_with_data(order, (int)n, sizeof *order, compare_calls, p);
    for (uint32_t i = 0; i < n; i++) {
        struct call *call = call_at(p, order[i]);
        if (!outer || outer->thread != call->thread || call->start_ns >= outer->end_ns ||
            call->end_ns > outer->end_ns) {
            outer = call;
            continue;
        }
        call->outer = outer->outer;
        outer->launch = outer->launch || call->launch;
        if (!outer->marked && call->marked) {
            outer->marked = true;
            outer->id = call->id;
        }
    }
    g_free(order);
}

/* Where no lane has its context, as records of green contexts may name the device's, the one lane of that
 * stream. */
static uint32_t lane_of(const struct parser *p, const struct collect_key *key)
{
    uint32_t found = OP_NONE, n = 0;
    for (uint32_t i = 0; i < p->n_lanes; i++) {
        if (p->lanes[i].device != key->device || p->lanes[i].stream != key->stream)
            continue;
        if (p->lanes[i].context == key->context)
            return i;
        found = i;
        n++;
    }
    return n == 1 ? found : OP_NONE;
}

static void set_op(struct collect_record *r, const struct call *call)
{
    r->step = call && call->marked ? (uint32_t)(call->id >> 32) : OP_NONE;
    r->op = call && call->marked ? (uint32_t)call->id : OP_NONE;
}

static void attribute(struct parser *p, const struct found *found)
{
    struct collect_record r = found->record;
    struct call *call = call_of(p, found->correlation, false);
    if (!call && found->runtime_correlation)
        call = call_of(p, found->runtime_correlation, false);
    if (call)
        call = call_at(p, call->outer);
    set_op(&r, call);
    r.lane = lane_of(p, &found->key);
    p->counts.unattributed += r.op == OP_NONE || r.lane == OP_NONE;
    if (call) {
        call->launch = true;
        p->counts.early +=
            r.kind == COLLECT_KERNEL && call->timed && r.start_ns + COLLECT_EARLY_NS < call->start_ns;
    }
    g_array_append_val(p->records, r);
}

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000"; a _v2 of the driver is a name of its own. */
static const char *call_name(struct parser *p, const struct call *call)
{
    const char *name = NULL;
    CUpti_CallbackDomain domain = call->driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
    if (cuptiGetCallbackName(domain, call->cbid, &name) != CUPTI_SUCCESS || !name)
        name = call->driver ? "driver call" : "runtime call";
    const char *version = g_strrstr(name, "_v");
    bool strip = version && strlen(version) > 5;
    g_autofree char *plain = g_strndup(name, strip ? (gsize)(version - name) : strlen(name));
    return g_string_chunk_insert_const(p->names, plain);
}

static void add_launch(struct parser *p, uint32_t i)
{
    const struct call *call = call_at(p, i);
    if (!call->launch || !call->marked || !call->timed || call->outer != i)
        return;
    struct collect_record r = {.start_ns = call->start_ns,
                               .end_ns = call->end_ns,
                               .lane = OP_NONE,
                               .device = OP_NONE,
                               .name = call_name(p, call),
                               .kind = COLLECT_LAUNCH};
    set_op(&r, call);
    p->counts.launches++;
    g_array_append_val(p->records, r);
}

static int compare_records(const void *a, const void *b)
{
    const struct collect_record *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

bool collect_records(const struct collect_buffer *buffers, size_t n, const struct collect_key *lanes,
                     uint32_t n_lanes, GStringChunk *names, struct collected *out, GError **error)
{
    struct parser p = {.index = g_hash_table_new(NULL, NULL),
                       .calls = g_array_new(FALSE, FALSE, sizeof(struct call)),
                       .found = g_array_new(FALSE, FALSE, sizeof(struct found)),
                       .lanes = lanes,
                       .n_lanes = n_lanes,
                       .names = names,
                       .records = g_array_new(FALSE, FALSE, sizeof(struct collect_record))};
    bool ok = true;
    for (size_t i = 0; i < n; i++) /* all of them: what hangs on records is freed while they are read */
        ok = read_buffer(&p, &buffers[i], ok ? error : NULL) && ok;
    nest_calls(&p);
    for (guint i = 0; i < p.found->len; i++)
        attribute(&p, &g_array_index(p.found, struct found, i));
    for (guint i = 0; i < p.calls->len; i++)
        add_launch(&p, i);
    g_array_sort(p.records, compare_records);
    *out = (struct collected){0};
    if (ok)
        *out = (struct collected){p.records->len, (void *)g_array_free(g_steal_pointer(&p.records), FALSE),
                                  p.counts};
    g_clear_pointer(&p.records, g_array_unref);
    g_array_unref(p.found);
    g_array_unref(p.calls);
    g_hash_table_unref(p.index);
    return ok;
}

static void fact(struct trace *trace, const char *key, uint64_t n)
{
    g_autofree char *text = g_strdup_printf("%" PRIu64, n);
    trace_fact_text(trace, key, text);
}

void collect_facts(const struct collect_counts *c, struct trace *trace)
{
    fact(trace, FACT_DROPPED, c->dropped);
    fact(trace, FACT_ZERO, c->zero);
    fact(trace, FACT_INVERTED, c->inverted);
    fact(trace, FACT_EARLY, c->early);
    fact(trace, FACT_UNATTRIBUTED, c->unattributed);
    fact(trace, FACT_OVERHEAD_NS, (uint64_t)c->overhead_ns);
}
