/* A trace of PyTorch's profiler: what can be read is analysed, reported and drawn. */
#include "profile/import.h"
#include "tests/fuzz/use-trace.h"

const char fuzz_name[] = "profiler";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    struct trace trace;
    const struct import_file file = {(const char *)data, "fuzz.json", n};
    if (!fuzz_settled(import_profiler(1, &file, &trace, &error), &error))
        return 0;
    fuzz_use_trace(&trace);
    trace_release(&trace);
    return 0;
}
