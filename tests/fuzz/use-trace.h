/* tests/fuzz/use-trace.h -- what is done with a trace that could be read: it is analysed, reported and drawn. */
#ifndef TESTS_FUZZ_USE_TRACE_H
#define TESTS_FUZZ_USE_TRACE_H

#include "profile/analyze.h"
#include "profile/digest.h"
#include "profile/report.h"
#include "tests/fuzz/draw.h"

static inline void fuzz_use_trace(const struct trace *trace)
{
    GError *error = NULL;
    struct analysis analysis;
    struct digest digest;
    if (!fuzz_settled(analyze(trace, &analysis, &error), &error))
        return;
    g_autoptr(GString) out = g_string_new(NULL);
    const char *const none[] = {NULL};
    const struct report report = {
        .trace = trace, .analysis = &analysis, .backend = "fuzz", .options = none, .environment = none};
    report_print(&report, out);
    report_json(&report, out);
    digest_make(&digest, &report);
    fuzz_draw(&(struct figure_input){.trace = trace, .analysis = &analysis, .digest = &digest});
    digest_release(&digest);
    analysis_release(&analysis);
}

#endif
