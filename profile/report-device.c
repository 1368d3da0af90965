/* What a report says of a run on devices: bandwidths, launches, and what was recorded badly. */
#include <math.h>

#include "base/decimal.h"
#include "profile/facts.h"
#include "profile/report-device.h"
#include "profile/report-text.h"

bool report_fact(const struct trace *trace, const char *key, uint64_t *number)
{
    const char *text = trace_fact_value(trace, key);
    return text && decimal_uint(text, 0, UINT64_MAX, number);
}

bool report_nccl_estimate(const struct trace *trace, uint32_t bucket, uint64_t *ns)
{
    char key[64];
    g_snprintf(key, sizeof key, FACT_NCCL_ESTIMATE_NS, bucket);
    return report_fact(trace, key, ns);
}

char **report_environment(const struct report *r)
{
    GPtrArray *pairs = g_ptr_array_new();
    for (const char *const *e = r->environment; e && *e; e++)
        g_ptr_array_add(pairs, g_strdup(*e));
    for (uint32_t i = 0; i < r->trace->n_facts; i++) {
        g_ptr_array_add(pairs, g_strdup(r->trace->facts[i].key));
        g_ptr_array_add(pairs, g_strdup(r->trace->facts[i].value));
    }
    g_ptr_array_add(pairs, NULL);
    return (char **)g_ptr_array_free(pairs, FALSE);
}

bool report_on_devices(const struct trace *trace)
{
    g_autofree bool *kernels = trace_kernel_lanes(trace);
    bool any = trace_label_value(trace, LABEL_TIMES) != NULL;
    for (uint32_t lane = 0; lane < trace->t.n_lanes; lane++)
        any = any || kernels[lane];
    return any;
}

const struct record_count report_records[REPORT_RECORDS] = {
    {FACT_DROPPED, "dropped", "dropped"},
    {FACT_ZERO, "zero", "without times"},
    {FACT_INVERTED, "inverted", "that end before they start"},
    {FACT_EARLY, "early", "of kernels before their launch"},
    {FACT_UNATTRIBUTED, "unattributed", "of no operation"},
};

static void print_records(const struct trace *trace, GString *out)
{
    bool any = false;
    for (unsigned i = 0; i < REPORT_RECORDS; i++) {
        uint64_t n = 0;
        if (!report_fact(trace, report_records[i].fact, &n) || !n)
            continue;
        g_string_append_printf(out, "%s%" G_GUINT64_FORMAT " %s", any ? ", " : "records of CUPTI: ", n,
                               report_records[i].text);
        any = true;
    }
    g_string_append(out, any ? "\n" : "");
}

static void print_launches(const struct report *r, GString *out)
{
    const struct analysis *a = r->analysis;
    if (!analysis_launch_bound(a))
        return;
    g_autofree char *ms = text_ms(a->launch_wait_ns, text_decimals(r)),
                    *part = text_percent(report_launch_percent(a));
    g_string_append_printf(
        out,
        "launch-bound: computation of rank %u waits %s ms (%s of its step) for the host to launch it; "
        "larger batches or layers give the GPU more to do a launch.\n",
        a->slowest_rank, ms, part);
}

static void print_slowdown(const struct analysis *a, GString *out)
{
    /* Less is noise, and what seems faster is nothing else; NAN: nothing was beside it. */
    if (!(a->slowdown_percent >= 2))
        return;
    g_autofree char *part = text_percent(a->slowdown_percent);
    g_string_append_printf(out, "computation is %s slower beside communication than apart from it.\n", part);
}

double report_launch_percent(const struct analysis *a)
{
    const struct partition *p = &a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank];
    return p->window_ns ? (double)a->launch_wait_ns / (double)p->window_ns * 100 : 0;
}

void report_device(const struct report *r, GString *out)
{
    const char *times = trace_label_value(r->trace, LABEL_TIMES);
    if (r->analysis) {
        print_slowdown(r->analysis, out);
        print_launches(r, out);
    }
    if (times)
        g_string_append_printf(out, "times %s\n", times);
    print_records(r->trace, out);
}
