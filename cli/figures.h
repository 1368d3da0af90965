/* cli/figures.h -- a figure into a file, in the format that its name ends in. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "cli/options.h"
#include "viz/figure.h"

/* What is to be drawn and how it looks: known, and checked, before there is anything to draw. */
struct drawing {
    const struct figure *figure; /* NULL: --figure none */
    const char *path;            /* "-" is standard output */
    const char *format;          /* of draw_formats */
    struct figure_options look;
};

/* `figure` and `path` are what is drawn, and where, if the options do not say; path must outlive the drawing. */
bool drawing_check(struct drawing *, const struct options *, const struct figure *figure, const char *path, GError **);
/* Whether the library is there, before much is done for a figure.  It loads from drawing_check on; to wait for it costs. */
bool drawing_ready(const struct drawing *, GError **);
bool drawing_write(const struct drawing *, const struct figure_input *, GError **);

#endif
