#include "cli/figures.h"

#include <string.h>

#include "cli/output.h"

#define STANDARD_DPI 192

/* The format that the name asks for; NULL: none that there is. */
static const char *format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (!strcmp(path, "-"))
        return draw_formats[0];
    for (unsigned i = 0; dot && draw_formats[i]; i++)
        if (!strcmp(dot + 1, draw_formats[i]))
            return draw_formats[i];
    return NULL;
}

/* "1280x720" */
static bool parse_size(const char *text, struct figure_options *look)
{
    char *x, *end;
    if (!g_ascii_isdigit(*text))
        return false;
    look->width = g_ascii_strtoull(text, &x, 10);
    if (*x != 'x' || !g_ascii_isdigit(x[1]))
        return false;
    look->height = g_ascii_strtoull(x + 1, &end, 10);
    return !*end;
}

/* Fills the look; returns what is wrong, or NULL. */
static const char *check_look(struct figure_options *look, const char *format, const struct options *o)
{
    const char *text = option_text(o, OPTION_TEXT, "text");
    const bool pixels = !strcmp(format, "png");
    *look = (struct figure_options){.width = 1280,
                                    .height = 720,
                                    .outlines = !strcmp(text, "paths"),
                                    .dpi = option_number(o, OPTION_DPI, STANDARD_DPI)};
    if (o->given[OPTION_SIZE] && !parse_size(option_text(o, OPTION_SIZE, NULL), look))
        return "--size takes WxH in px, as 1280x720";
    if (strcmp(text, "text") && !look->outlines)
        return "--text takes text or paths";
    if (o->given[OPTION_TEXT] && pixels)
        return "--text belongs to svg and pdf, and a png has pixels only: leave it out";
    if (o->given[OPTION_DPI] && !pixels)
        return "--dpi belongs to png: leave it out or name the figure FILE.png";
    return NULL;
}

/* Which of two or three words an option takes; -1: another one. */
static int choose(const struct options *o, enum option_id id, const char *const *words)
{
    const char *text = option_text(o, id, words[0]);
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

/* The look of a grid, likewise. */
static const char *check_grid(struct figure_options *look, const struct figure *figure,
                              const struct options *o)
{
    static const char *const orders[] = {"down", "up", NULL}, *const aligns[] = {"early", "late", NULL},
                             *const colors[] = {"kind", "stage", "micro", NULL};
    const int order = choose(o, OPTION_RANK_ORDER, orders), color = choose(o, OPTION_COLOR_BY, colors),
              align = choose(o, OPTION_ALIGN, aligns);
    if (figure != &figure_grid && (o->given[OPTION_RANK_ORDER] || o->given[OPTION_COUNT_FROM] ||
                                   o->given[OPTION_COLOR_BY] || o->given[OPTION_ALIGN]))
        return "--rank-order, --count-from, --color-by and --align are of --figure grid";
    if (order < 0)
        return "--rank-order takes down or up";
    if (color < 0)
        return "--color-by takes kind, stage or micro";
    if (align < 0)
        return "--align takes early or late";
    look->ranks_up = order;
    look->color_by = (uint8_t)color;
    look->late = align;
    look->count_from = (uint32_t)option_number(o, OPTION_COUNT_FROM, 0);
    return NULL;
}

static bool pick(struct drawing *d, const struct options *o, const struct figure *standard, GError **error)
{
    const char *name = option_text(o, OPTION_FIGURE, standard->name);
    d->figure = figure_find(name);
    if (d->figure)
        return true;
    if (strcmp(name, "none"))
        g_set_error(error, OPTION_ERROR, 0,
                    "--figure takes a name that 'parprof list' shows, or none, not '%s'", name);
    else if (o->given[OPTION_OUTPUT] || o->given[OPTION_SIZE] || o->given[OPTION_DPI] ||
             o->given[OPTION_TEXT] || o->given[OPTION_RANK_ORDER] || o->given[OPTION_COUNT_FROM] ||
             o->given[OPTION_COLOR_BY] || o->given[OPTION_ALIGN])
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "--output, --size, --dpi, --text and the options of a grid are of the figure, and "
            "--figure none asks for no figure");
    else
        return true;
    return false;
}

bool drawing_check(struct drawing *d, const struct options *o, const struct figure *figure, const char *path,
                   GError **error)
{
    *d = (struct drawing){0};
    if (!pick(d, o, figure, error))
        return false;
    if (!d->figure)
        return true;
    d->path = option_text(o, OPTION_OUTPUT, path);
    const char *format = format_of(d->path);
    const char *wrong =
        format ? check_look(&d->look, format, o) : "--output takes a name that ends in .svg, .pdf or .png";
    if (!wrong)
        wrong = check_grid(&d->look, d->figure, o);
    if (wrong) {
        g_set_error_literal(error, OPTION_ERROR, 0, wrong);
        return false;
    }
    draw_prepare();
    const bool unusual = o->given[OPTION_SIZE] || o->given[OPTION_DPI];
    return output_check(d->path, error) && (!unusual || drawing_ready(d, error));
}

bool drawing_ready(const struct drawing *d, GError **error)
{
    const struct draw_ops *ops = d->figure ? draw_open(format_of(d->path), error) : NULL;
    return !d->figure || (ops && figure_fits(d->figure, &d->look, ops, error));
}

bool drawing_write(const struct drawing *d, const struct figure_input *input, GError **error)
{
    const struct draw_ops *ops = draw_open(format_of(d->path), error);
    GBytes *bytes = ops ? figure_render(d->figure, input, &d->look, ops, error) : NULL;
    if (!bytes)
        return false;
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);
    bool ok = output_write(d->path, data, n, error);
    g_bytes_unref(bytes);
    return ok;
}
