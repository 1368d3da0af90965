/* tests/fuzz/draw.h -- what was read is drawn, by every figure. */
#ifndef TESTS_FUZZ_DRAW_H
#define TESTS_FUZZ_DRAW_H

#include "tests/draw-list.h"
#include "tests/fuzz/fuzz.h"
#include "viz/figure.h"

static inline void fuzz_draw(const struct figure_input *input)
{
    const struct figure_options options = {.width = 1280, .height = 720};
    for (unsigned i = 0; figures[i]; i++) {
        GError *error = NULL;
        GBytes *bytes = figure_render(figures[i], input, &options, &draw_list, &error);
        if (fuzz_settled(bytes, &error))
            g_bytes_unref(bytes);
    }
}

#endif
