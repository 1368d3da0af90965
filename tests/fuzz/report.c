/* A report, or a sweep: what can be read is drawn. */
#include "profile/import.h"
#include "tests/draw-list.h"
#include "tests/fuzz/fuzz.h"
#include "viz/figure.h"

const char fuzz_name[] = "report";

static void draw(const struct figure_input *input)
{
    const struct figure_options options = {.width = 1280, .height = 720};
    for (unsigned i = 0; figures[i]; i++) {
        GError *error = NULL;
        GBytes *bytes = figure_render(figures[i], input, &options, &draw_list, &error);
        if (fuzz_settled(bytes, &error))
            g_bytes_unref(bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    GError *error = NULL;
    const char *text = (const char *)data;
    struct digest digest;
    struct series series;
    fuzz_settled(import_kind(text, n, "fuzz.json", &error), &error);
    if (fuzz_settled(digest_read(text, n, "fuzz.json", &digest, &error), &error)) {
        draw(&(struct figure_input){.digest = &digest});
        digest_release(&digest);
    }
    if (fuzz_settled(series_read(text, n, "fuzz.json", &series, &error), &error)) {
        g_autoptr(GString) out = g_string_new(NULL);
        series_print(&series, out);
        series_json(&series, out);
        draw(&(struct figure_input){.series = &series});
        series_release(&series);
    }
    return 0;
}
