/* cli/figures.h -- a figure into a file, in the format that its name ends in. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "cli/options.h"
#include "viz/build.h"
#include "viz/figure.h"

/* What is to be drawn and how it looks: known, and checked, before there is anything to draw. */
struct drawing {
    const struct figure *figure; /* NULL: --figure none */
    const char *path;            /* "-" is standard output */
    const char *format;          /* of draw_formats */
    struct figure_options look;
    bool built, gif; /* step by step into numbered files, and all of them into a GIF */
    struct build build;
    uint32_t frames; /* that were written */
};

/* `figure` and `path` are what is drawn, and where, if the options do not say; path must outlive the drawing. */
bool drawing_check(struct drawing *, const struct options *, const struct figure *figure, const char *path, GError **);
/* Whether the library is there, before much is done for a figure.  It loads from drawing_check on; to wait for it costs. */
bool drawing_ready(const struct drawing *, GError **);
/* The file, or those of a build. */
bool drawing_write(struct drawing *, const struct figure_input *, GError **);
/* What was written: "a.svg", "a-01.svg to a-08.svg, a.gif"; g_free. */
char *drawing_names(const struct drawing *);

#endif
