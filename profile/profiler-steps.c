#include "profile/profiler-steps.h"

#include "base/json.h"
#include "profile/profiler-events.h"

static int by_start(const void *a, const void *b)
{
    const struct profiler_event *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

bool profiler_steps(const char *text, size_t n, const char *name, GArray *steps, GError **error)
{
    struct profiler_process p;
    if (!profiler_read(text, n, name, &p, error))
        return false;
    const guint before = steps->len;
    g_array_sort(p.events, by_start);
    for (guint i = 0; i < p.events->len; i++) {
        const struct profiler_event *e = &g_array_index(p.events, struct profiler_event, i);
        const double x = (double)(e->end_ns - e->start_ns);
        if (e->kind == PROFILER_STEP)
            g_array_append_val(steps, x);
    }
    const bool any = steps->len > before;
    if (!any)
        g_set_error(error, JSON_ERROR, 0,
                    "%s: no \"ProfilerStep#N\" event: call the profiler's step() after each step", name);
    profiler_release(&p);
    return any;
}
