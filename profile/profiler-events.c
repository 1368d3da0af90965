#include "profile/profiler-events.h"

#include <string.h>

#include "base/json.h"
#include "profile/read.h"

#define NAME_BYTES 500

#define STEP      "ProfilerStep#"
#define BACKWARD  "autograd::engine::evaluate_function"
#define OPTIMIZER "Optimizer.step#"

enum category { OF_KERNEL, OF_COPY, OF_SET, OF_LAUNCH, OF_HOST, OF_NOTHING };

/* One event as it is read. */
struct row {
    struct profiler_event event;
    enum category category;
    int64_t duration_ns;
    bool whole;      /* it has a beginning and an end */
    bool collective; /* the profiler names its collective */
    bool operation;  /* of the host, not a mark of the user's */
    char *name;
};

static enum category category_of(const char *text, bool *operation)
{
    static const struct {
        const char *name;
        enum category category;
    } known[] = {{"kernel", OF_KERNEL},       {"gpu_memcpy", OF_COPY},    {"gpu_memset", OF_SET},
                 {"Kernel", OF_KERNEL},       {"Memcpy", OF_COPY},        {"Memset", OF_SET},
                 {"cuda_runtime", OF_LAUNCH}, {"cuda_driver", OF_LAUNCH}, {"Runtime", OF_LAUNCH},
                 {"hip_runtime", OF_LAUNCH},  {"cpu_op", OF_HOST},        {"user_annotation", OF_HOST},
                 {"Operator", OF_HOST}};
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (!strcmp(text, known[i].name)) {
            *operation = strcmp(text, "user_annotation") != 0;
            return known[i].category;
        }
    return OF_NOTHING;
}

static char *name_cut(const char *name)
{
    const char *end = strlen(name) > NAME_BYTES ? g_utf8_find_prev_char(name, name + NAME_BYTES) : NULL;
    return end ? g_strndup(name, (gsize)(end - name)) : g_strdup(name);
}

/* Libraries of collectives, as their kernels are named. */
static bool is_communication(const char *kernel)
{
    static const char *const libraries[] = {"nccl", "rccl", "nvshmem", "deep_ep", "cross_device_reduce"};
    g_autofree char *small = g_ascii_strdown(kernel, -1);
    for (unsigned i = 0; i < G_N_ELEMENTS(libraries); i++)
        if (strstr(small, libraries[i]))
            return true;
    return false;
}

/* Of a number that names something; what is no such number names nothing. */
static uint64_t identity(struct json *j)
{
    const double x = json_peek(j) == JSON_NUMBER ? json_number(j) : -1;
    return x >= 0 && x < 0x1p53 ? (uint64_t)x : 0;
}

static uint32_t identity32(struct json *j)
{
    const uint64_t x = identity(j);
    return x <= UINT32_MAX ? (uint32_t)x : 0;
}

static void read_arguments(struct json *j, struct row *row)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "correlation"))
            row->event.correlation = identity(j);
        else if (!strcmp(key, "device"))
            row->event.device = identity32(j);
        else if (!strcmp(key, "stream"))
            row->event.track = identity(j);
        else if (!strcmp(key, "Collective name") && json_peek(j) == JSON_TEXT)
            row->collective = *json_text(j) != '\0';
        else
            json_skip(j);
    }
}

static uint64_t thread_part(struct json *j)
{
    return json_peek(j) == JSON_TEXT ? g_str_hash(json_text(j)) : identity(j);
}

static void read_row(struct json *j, struct row *row)
{
    uint64_t process = 0, thread = 0;
    bool has_end = false, has_start = false;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        const enum json_type type = json_peek(j);
        if (!strcmp(key, "name") && type == JSON_TEXT)
            row->name = (g_free(row->name), g_strdup(json_text(j)));
        else if (!strcmp(key, "cat") && type == JSON_TEXT)
            row->category = category_of(json_text(j), &row->operation);
        else if (!strcmp(key, "ts") && type == JSON_NUMBER)
            row->event.start_ns = (has_start = true, json_us_ns(j));
        else if (!strcmp(key, "dur") && type == JSON_NUMBER)
            row->duration_ns = (has_end = true, json_us_ns(j));
        else if (!strcmp(key, "pid"))
            process = thread_part(j);
        else if (!strcmp(key, "tid"))
            thread = thread_part(j);
        else if (!strcmp(key, "args") && type == JSON_OBJECT)
            read_arguments(j, row);
        else
            json_skip(j);
    }
    row->whole = has_start && has_end && row->duration_ns >= 0 && row->duration_ns <= TIME_MAX;
    if (row->category == OF_LAUNCH || row->category == OF_HOST)
        row->event.track = process << 32 ^ thread;
}

/* False: it says nothing of a device. */
static bool find_kind(struct row *row)
{
    struct profiler_event *e = &row->event;
    const char *name = row->name ? row->name : "";
    switch (row->category) {
    case OF_KERNEL:
        e->kind = row->collective || is_communication(name) ? PROFILER_COMM : PROFILER_COMPUTE;
        return true;
    case OF_COPY:
        e->kind = PROFILER_COPY;
        return true;
    case OF_SET:
        e->kind = PROFILER_COMPUTE;
        return true;
    case OF_LAUNCH:
        e->kind = PROFILER_LAUNCH;
        return e->correlation != 0;
    case OF_HOST:
        e->kind = g_str_has_prefix(name, STEP)        ? PROFILER_STEP
                  : g_str_has_prefix(name, BACKWARD)  ? PROFILER_BACKWARD
                  : g_str_has_prefix(name, OPTIMIZER) ? PROFILER_OPTIMIZER
                                                      : PROFILER_LAUNCH;
        if (e->kind == PROFILER_STEP)
            e->number = (uint32_t)MIN(g_ascii_strtoull(name + strlen(STEP), NULL, 10), UINT32_MAX - 1);
        return e->kind != PROFILER_LAUNCH;
    default:
        return false;
    }
}

static const char *intern(struct profiler_process *p, const char *name)
{
    g_autofree char *brief = name ? name_cut(name) : NULL;
    return g_string_chunk_insert_const(p->names, brief ? brief : "");
}

static void read_event(struct json *j, struct profiler_process *p)
{
    struct row row = {.category = OF_NOTHING};
    read_row(j, &row);
    p->host |= row.category == OF_HOST && row.operation;
    p->untimed += !row.whole && row.category <= OF_SET && !json_cut(j);
    if (!json_cut(j) && !json_bad(j) && row.whole && find_kind(&row)) {
        if (__builtin_add_overflow(row.event.start_ns, row.duration_ns, &row.event.end_ns))
            json_fail(j, "an event ends beyond what can be counted in ns");
        if (row.event.kind < PROFILER_DEVICE_KINDS)
            row.event.name = intern(p, row.name);
        g_array_append_val(p->events, row.event);
    }
    g_free(row.name);
}

static void read_events(struct json *j, struct profiler_process *p)
{
    for (json_array(j); json_element(j);)
        if (json_peek(j) == JSON_OBJECT)
            read_event(j, p);
        else
            json_skip(j);
}

static void read_job(struct json *j, struct profiler_process *p)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "rank"))
            p->rank = identity32(j);
        else if (!strcmp(key, "world_size"))
            p->ranks = identity32(j);
        else
            json_skip(j);
    }
    if (p->rank >= p->ranks)
        p->rank = p->ranks = 0;
}

static void read_device(struct json *j, struct profiler_process *p)
{
    json_object(j);
    for (const char *key; (key = json_key(j));)
        if (!strcmp(key, "name") && json_peek(j) == JSON_TEXT && !p->device)
            p->device = name_cut(json_text(j));
        else
            json_skip(j);
}

static void read_devices(struct json *j, struct profiler_process *p)
{
    for (json_array(j); json_element(j);)
        if (json_peek(j) == JSON_OBJECT)
            read_device(j, p);
        else
            json_skip(j);
}

static void rebase(struct json *j, struct profiler_process *p, int64_t base_ns)
{
    for (guint i = 0; i < p->events->len; i++) {
        struct profiler_event *e = &g_array_index(p->events, struct profiler_event, i);
        if (__builtin_add_overflow(e->start_ns, base_ns, &e->start_ns) ||
            __builtin_add_overflow(e->end_ns, base_ns, &e->end_ns)) {
            json_fail(
                j,
                "\"baseTimeNanoseconds\" and the times of the events are beyond what can be counted in ns");
            return;
        }
    }
}

static bool read_trace(struct json *j, struct profiler_process *p)
{
    bool any = false;
    int64_t base_ns = 0;
    if (json_peek(j) == JSON_ARRAY) {
        read_events(j, p);
        return true;
    }
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        const enum json_type type = json_peek(j);
        if (!strcmp(key, "traceEvents"))
            read_events(j, p), any = true;
        else if (!strcmp(key, "distributedInfo") && type == JSON_OBJECT)
            read_job(j, p);
        else if (!strcmp(key, "deviceProperties") && type == JSON_ARRAY)
            read_devices(j, p);
        else if (!strcmp(key, "baseTimeNanoseconds") && type == JSON_NUMBER)
            base_ns = json_i64(j, 0, INT64_MAX);
        else
            json_skip(j);
    }
    rebase(j, p, base_ns);
    return any;
}

bool profiler_read(const char *text, size_t n, const char *name, struct profiler_process *p, GError **error)
{
    *p = (struct profiler_process){.events = g_array_new(FALSE, FALSE, sizeof(struct profiler_event)),
                                   .names = g_string_chunk_new(4096)};
    struct json *j = json_open(text, n, name);
    const bool events = read_trace(j, p);
    if (!json_bad(j) && json_cut(j))
        json_fail(j, "no whole trace");
    else if (!events)
        json_fail(j, "no trace: there is no \"traceEvents\"");
    const bool ok = json_close(j, error);
    if (!ok)
        profiler_release(p);
    return ok;
}

void profiler_release(struct profiler_process *p)
{
    g_array_unref(p->events);
    g_string_chunk_free(p->names);
    g_free(p->device);
    *p = (struct profiler_process){0};
}
