/* A trace: what can be read is analysed, reported, drawn, priced and written again. */
#include "profile/trace.h"

#include "profile/export.h"
#include "profile/import.h"
#include "tests/fuzz/use-trace.h"

const char fuzz_name[] = "trace";

/* Reading what was written gives the same bytes. */
static void write_again(const struct trace *trace)
{
    GError *error = NULL;
    struct trace again;
    g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
    export_chrome(trace, one);
    import_trace(one->str, one->len, "again.json", &again, &error);
    g_assert_no_error(error);
    export_chrome(&again, other);
    g_assert_cmpstr(one->str, ==, other->str);
    trace_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    struct trace trace;
    if (!fuzz_settled(import_trace((const char *)data, n, "fuzz.json", &trace, &error), &error))
        return 0;
    fuzz_use_trace(&trace);
    write_again(&trace);
    cost_table_free(trace_costs(&trace));
    trace_release(&trace);
    return 0;
}
