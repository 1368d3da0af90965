/* A trace of PyTorch's profiler: what can be read is analysed and drawn. */
#include "profile/analyze.h"
#include "profile/digest.h"
#include "profile/import.h"
#include "profile/report.h"
#include "tests/fuzz/draw.h"

const char fuzz_name[] = "profiler";

static void use(const struct trace *trace)
{
    GError *error = NULL;
    struct analysis analysis;
    struct digest digest;
    if (!fuzz_settled(analyze(trace, &analysis, &error), &error))
        return;
    const struct report report = {.trace = trace, .analysis = &analysis};
    digest_make(&digest, &report);
    fuzz_draw(&(struct figure_input){.trace = trace, .analysis = &analysis, .digest = &digest});
    digest_release(&digest);
    analysis_release(&analysis);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    struct trace trace;
    const struct import_file file = {(const char *)data, "fuzz.json", n};
    if (!fuzz_settled(import_profiler(1, &file, &trace, &error), &error))
        return 0;
    use(&trace);
    trace_release(&trace);
    return 0;
}
