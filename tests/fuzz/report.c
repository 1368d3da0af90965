/* A report, a history, or a sweep: what can be read is drawn, or written again. */
#include "profile/import.h"
#include "profile/measurement.h"
#include "tests/fuzz/draw.h"

const char fuzz_name[] = "report";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    const char *text = (const char *)data;
    struct digest digest;
    struct series series;
    fuzz_settled(import_kind(text, n, "fuzz.json", &error), &error);
    if (fuzz_settled(digest_read(text, n, "fuzz.json", &digest, &error), &error)) {
        fuzz_draw(&(struct figure_input){.digest = &digest});
        digest_release(&digest);
    }
    struct measurement *m = measurement_of_report(text, n, "fuzz.json", &error);
    if (fuzz_settled(m, &error)) {
        g_autoptr(GString) line = g_string_new(NULL);
        measurement_line(m, line);
        measurement_free(m);
    }
    uint32_t passed_over;
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    fuzz_settled(measurement_of_history(text, n, "fuzz.json", runs, &passed_over, &error), &error);
    if (fuzz_settled(series_read(text, n, "fuzz.json", &series, &error), &error)) {
        g_autoptr(GString) out = g_string_new(NULL);
        series_print(&series, out);
        series_json(&series, out);
        fuzz_draw(&(struct figure_input){.series = &series});
        series_release(&series);
    }
    return 0;
}
