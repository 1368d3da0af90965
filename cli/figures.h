/* cli/figures.h -- a figure into a file, in the format that its name ends in. */
#ifndef CLI_FIGURES_H
#define CLI_FIGURES_H

#include "cli/options.h"
#include "viz/figure.h"

/* The writer for a path ("-" is SVG), once the options about figures make sense for it; else NULL. */
const struct draw_ops *figures_open(const struct options *, const char *path, GError **);
bool figures_write(const struct figure *, const struct figure_input *, const struct options *, const struct draw_ops *,
                   const char *path, GError **);
/* By --figure, or NULL with *none if that is "none"; `standard` where it is not given. */
bool figures_pick(const struct options *, const struct figure *standard, const struct figure **, GError **);

#endif
