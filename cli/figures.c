#include "cli/figures.h"

#include <string.h>

#include "cli/output.h"

const struct draw_ops *figures_open(const struct options *o, const char *path, GError **error)
{
    (void)o;
    for (unsigned i = 0; draw_formats[i]; i++) {
        g_autofree char *suffix = g_strdup_printf(".%s", draw_formats[i]);
        if (g_str_has_suffix(path, suffix) || !strcmp(path, "-"))
            return draw_open(draw_formats[i], error);
    }
    g_autofree char *formats = g_strjoinv(", .", (char **)draw_formats);
    g_set_error(error, OPTION_ERROR, 0, "--output takes a name that ends in .%s", formats);
    return NULL;
}

bool figures_write(const struct figure *figure, const struct figure_input *input, const struct options *o,
                   const struct draw_ops *draw, const char *path, GError **error)
{
    (void)o;
    struct figure_options options = {.width = 1280, .height = 720};
    GBytes *bytes = figure_render(figure, input, &options, draw, error);
    if (!bytes)
        return false;
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);
    bool ok = output_write(path, data, n, error);
    g_bytes_unref(bytes);
    return ok;
}

bool figures_pick(const struct options *o, const struct figure *standard, const struct figure **figure,
                  GError **error)
{
    const char *name = option_text(o, OPTION_FIGURE, standard->name);
    *figure = strcmp(name, "none") ? figure_find(name) : NULL;
    if (*figure || !strcmp(name, "none"))
        return true;
    g_set_error(error, OPTION_ERROR, 0, "--figure takes a name that 'parprof list' shows, or none, not '%s'",
                name);
    return false;
}
