#include "profile/profiler-steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct step {
    int64_t start_ns, duration_ns;
};

/* GPU rows repeat a step's name for what its kernels span. */
static void read_event(struct json *j, GArray *found)
{
    struct step s = {0, -1};
    bool is_step = false, on_gpu = false;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "name") && json_peek(j) == JSON_TEXT)
            is_step = g_str_has_prefix(json_text(j), "ProfilerStep#");
        else if (!strcmp(key, "cat") && json_peek(j) == JSON_TEXT)
            on_gpu = g_str_has_prefix(json_text(j), "gpu_");
        else if (!strcmp(key, "ts") && json_peek(j) == JSON_NUMBER)
            s.start_ns = json_us_ns(j);
        else if (!strcmp(key, "dur") && json_peek(j) == JSON_NUMBER)
            s.duration_ns = json_us_ns(j);
        else
            json_skip(j);
    }
    if (is_step && !on_gpu && s.duration_ns >= 0)
        g_array_append_val(found, s);
}

static void read_events(struct json *j, GArray *found)
{
    for (json_array(j); json_element(j);)
        if (json_peek(j) == JSON_OBJECT)
            read_event(j, found);
        else
            json_skip(j);
}

static bool read_trace(struct json *j, GArray *found)
{
    bool any = false;
    if (json_peek(j) == JSON_ARRAY) {
        read_events(j, found);
        return true;
    }
    json_object(j);
    for (const char *key; (key = json_key(j));)
        if (!strcmp(key, "traceEvents")) {
            read_events(j, found);
            any = true;
        } else
            json_skip(j);
    return any;
}

static int by_start(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

bool profiler_steps(const char *text, size_t n, const char *name, GArray *steps, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct step));
    struct json *j = json_open(text, n, name);
    const bool events = read_trace(j, found);
    if (!json_bad(j) && json_cut(j))
        json_fail(j, "the trace is cut");
    else if (!events)
        json_fail(j, "no trace: there is no \"traceEvents\"");
    else if (!found->len)
        json_fail(j, "no \"ProfilerStep#N\" event: call the profiler's step() after each step");
    if (!json_close(j, error))
        return false;
    qsort(found->data, found->len, sizeof(struct step), by_start);
    for (guint i = 0; i < found->len; i++) {
        const double x = (double)g_array_index(found, struct step, i).duration_ns;
        g_array_append_val(steps, x);
    }
    return true;
}
