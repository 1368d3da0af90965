#include "cli/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/frames.h"
#include "cli/output.h"
#include "profile/table.h"
#include "viz/layout.h"

#define STANDARD_DPI 192
#define PX_PER_MM    (96 / 25.4)
#define COLUMNS      100 /* of txt */
#define LINES        36

/* The format that --format asks for, else the name; NULL: none that there is. */
static const char *format_of(const struct options *o, const char *path)
{
    const char *dot = strrchr(path, '.'), *asked = o->given[OPTION_FORMAT]
                                                       ? option_text(o, OPTION_FORMAT, NULL)
                                                   : !strcmp(path, "-") ? "txt"
                                                   : dot                ? dot + 1
                                                                        : "";
    for (unsigned i = 0; draw_formats[i]; i++)
        if (!strcmp(asked, draw_formats[i]))
            return draw_formats[i];
    return NULL;
}

/* "1280x720", "160x90mm", "16:9" */
static bool parse_size(const char *text, bool cells, struct figure_options *look)
{
    char *x, *end;
    if (!g_ascii_isdigit(*text))
        return false;
    look->width = g_ascii_strtod(text, &x);
    if ((*x != 'x' && *x != ':') || !g_ascii_isdigit(x[1]))
        return false;
    look->height = g_ascii_strtod(x + 1, &end);
    if (*x == ':') {
        look->width = round(720 * look->width / look->height);
        look->height = 720;
        return !*end && !cells;
    }
    const double unit = !strcmp(end, "mm") ? PX_PER_MM : 1;
    look->width *= cells ? DRAW_COLUMN : unit;
    look->height *= cells ? DRAW_LINE : unit;
    return !*end || (unit > 1 && !cells);
}

/* "12.5ms" */
static bool parse_time(const char *text, int64_t *ns)
{
    double value;
    if (!parse_duration(text, &value) || value < 0 || value >= 1e18)
        return false;
    *ns = llround(value);
    return true;
}

/* Fills the canvas; returns what is wrong, or NULL. */
static const char *check_canvas(struct figure_options *look, const char *format, const struct options *o)
{
    const char *text = option_text(o, OPTION_TEXT, "text");
    const bool pixels = !strcmp(format, "png"), cells = !strcmp(format, "txt");
    *look = (struct figure_options){.width = cells ? COLUMNS * DRAW_COLUMN : 1280,
                                    .height = cells ? LINES * DRAW_LINE : 720,
                                    .outlines = !strcmp(text, "paths"),
                                    .dpi = option_number(o, OPTION_DPI, STANDARD_DPI),
                                    .font_scale = option_number(o, OPTION_FONT_SCALE, 1),
                                    .font = option_text(o, OPTION_FONT, NULL),
                                    .transparent = o->given[OPTION_TRANSPARENT],
                                    .ascii = o->given[OPTION_ASCII]};
    if (o->given[OPTION_SIZE] && !parse_size(option_text(o, OPTION_SIZE, NULL), cells, look))
        return cells ? "--size takes columns x lines of txt, as 100x36"
                     : "--size takes WxH in px or mm, or a shape: 1280x720, 160x90mm, 16:9, 4:3";
    if (strcmp(text, "text") && !look->outlines)
        return "--text takes text or paths";
    if (o->given[OPTION_TEXT] && (pixels || cells))
        return "--text belongs to svg and pdf, and a png has pixels only: leave it out";
    if (o->given[OPTION_DPI] && !pixels)
        return "--dpi belongs to png: leave it out or name the figure FILE.png";
    if (cells && (o->given[OPTION_FONT] || o->given[OPTION_FONT_SCALE] || o->given[OPTION_TRANSPARENT]))
        return "--font, --font-scale and --transparent mean nothing to txt: leave them out";
    if (o->given[OPTION_ASCII] && !cells)
        return "--ascii belongs to txt: leave it out or name the figure FILE.txt";
    return NULL;
}

/* Which of some words an option takes; -1: another one. */
static int choose(const struct options *o, enum option_id id, const char *const *words)
{
    const char *text = option_text(o, id, words[0]);
    for (int i = 0; words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

/* Of which figures the option is, where it is not of all, and what the others lack. */
static const struct {
    enum option_id id;
    const char *lack;
    const struct figure *figures[10]; /* ends with NULL */
} some[] = {
    {OPTION_RANK_NAME, "names no rank",
     {&figure_timeline, &figure_grid, &figure_memory, &figure_compare, &figure_overlap, &figure_allreduce, &figure_dp, &figure_ddp}},
    {OPTION_COUNT_FROM, "numbers nothing",
     {&figure_timeline, &figure_grid, &figure_memory, &figure_compare, &figure_overlap, &figure_buckets, &figure_allreduce,
      &figure_dp, &figure_ddp}},
    {OPTION_RANK_ORDER, "has no rows of ranks", {&figure_timeline, &figure_grid, &figure_memory, &figure_compare}},
    {OPTION_COLOR_BY, "gives its colours another meaning", {&figure_timeline, &figure_grid, &figure_compare}},
    {OPTION_ALIGN, "shows when things ran, or no schedule", {&figure_grid}},
    {OPTION_STEP, "shows the median step", {&figure_timeline}},
    {OPTION_FROM, "shows a whole step", {&figure_timeline}},
    {OPTION_TO, "shows a whole step", {&figure_timeline}},
    {OPTION_CRITICAL_PATH, "does not show it", {&figure_timeline}},
    {OPTION_BUCKET_ORDER, "does not number them by layers", {&figure_buckets}},
};

static bool is_of(const struct figure *const *some_of, const struct figure *figure)
{
    while (*some_of && *some_of != figure)
        some_of++;
    return *some_of;
}

static bool check_figure(const struct figure *figure, const struct options *o, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(some); i++) {
        g_autoptr(GString) of = g_string_new(NULL);
        if (!o->given[some[i].id] || is_of(some[i].figures, figure))
            continue;
        for (unsigned k = 0; some[i].figures[k]; k++)
            g_string_append_printf(of, "%s%s", k ? ", " : "", some[i].figures[k]->name);
        g_set_error(error, OPTION_ERROR, 0, "--%s is of --figure %s, not of %s, which %s: leave it out",
                    option_name(some[i].id), of->str, figure->name, some[i].lack);
        return false;
    }
    return true;
}

/* What is drawn and in which order; returns what is wrong, or NULL. */
static const char *check_contents(struct drawing *d, const struct options *o)
{
    static const char *const orders[] = {"down", "up", NULL}, *const aligns[] = {"early", "late", NULL},
                             *const numberings[] = {"launch", "layer", NULL},
                             *const colors[] = {"kind", "stage", "micro", "bucket", NULL};
    const int order = choose(o, OPTION_RANK_ORDER, orders), color = choose(o, OPTION_COLOR_BY, colors),
              align = choose(o, OPTION_ALIGN, aligns), numbering = choose(o, OPTION_BUCKET_ORDER, numberings);
    struct figure_options *look = &d->look;
    if (order < 0)
        return "--rank-order takes down or up";
    if (color < 0 || (color == COLOR_BY_BUCKET && d->figure == &figure_grid))
        return d->figure == &figure_grid ? "--color-by takes kind, stage or micro"
                                         : "--color-by takes kind, stage, micro or bucket";
    if (align < 0)
        return "--align takes early or late";
    if (numbering < 0)
        return "--bucket-order takes launch or layer";
    if (o->given[OPTION_FROM] && !parse_time(option_text(o, OPTION_FROM, NULL), &look->from_ns))
        return "--from takes a time with its unit, s, ms, us or ns: 12.5ms, 800us";
    if (o->given[OPTION_TO] &&
        (!parse_time(option_text(o, OPTION_TO, NULL), &look->to_ns) || look->to_ns == 0))
        return "--to takes a time above 0 with its unit, s, ms, us or ns: 12.5ms, 800us";
    look->ranks_up = order;
    look->color_by = (uint8_t)color;
    look->late = align;
    look->from_first_layer = numbering;
    look->count_from = (uint32_t)option_number(o, OPTION_COUNT_FROM, 0);
    look->step = (uint32_t)option_number(o, OPTION_STEP, 0);
    look->critical = o->given[OPTION_CRITICAL_PATH];
    look->title = option_text(o, OPTION_TITLE, NULL);
    look->no_legend = o->given[OPTION_NO_LEGEND];
    look->no_caption = o->given[OPTION_NO_CAPTION];
    look->notes = option_text(o, OPTION_NOTE, NULL);
    look->rank_name = option_text(o, OPTION_RANK_NAME, NULL);
    return NULL;
}

/* Theme and language. */
static bool check_style(struct drawing *d, const struct options *o, GError **error)
{
    const char *theme = option_text(o, OPTION_THEME, palette_name(palettes[0]));
    d->look.palette = palette_find(theme);
    if (!d->look.palette)
        return option_unknown(error, OPTION_THEME, theme, "light, dark or print");
    d->look.lang = language_find(option_text(o, OPTION_LANG, "en"), error);
    if (!d->look.lang) {
        g_prefix_error(error, "--%s: ", option_name(OPTION_LANG));
        return false;
    }
    return true;
}

/* "rank", "frames:12" */
static bool parse_build(const char *text, struct build *build)
{
    static const char *const keys[] = {[KEY_RANK] = "rank", [KEY_MICRO] = "micro", [KEY_BUCKET] = "bucket", [KEY_PHASE] = "phase"};
    char *end;
    for (enum draw_key key = 0; key < G_N_ELEMENTS(keys); key++)
        if (!strcmp(text, keys[key])) {
            *build = (struct build){key, 0};
            return true;
        }
    if (!strcmp(text, "frames")) {
        *build = (struct build){KEY_TIME, 0};
        return true;
    }
    if (!g_str_has_prefix(text, "frames:") || !g_ascii_isdigit(text[7]))
        return false;
    const guint64 n = g_ascii_strtoull(text + 7, &end, 10);
    *build = (struct build){KEY_TIME, (uint32_t)MIN(n, UINT32_MAX)};
    return !*end && n >= 2 && n <= BUILD_MAX_FRAMES;
}

static bool check_build(struct drawing *d, const struct options *o, GError **error)
{
    const char *text = option_text(o, OPTION_BUILD, NULL);
    g_autofree char *known = g_strdup_printf("rank, micro, bucket, phase, frames, or frames:N of 2 to %d", BUILD_MAX_FRAMES);
    d->built = text;
    d->gif = o->given[OPTION_GIF];
    if (text && !parse_build(text, &d->build))
        return option_unknown(error, OPTION_BUILD, text, known);
    if ((text || d->gif) && !strcmp(d->path, "-")) {
        g_set_error_literal(error, OPTION_ERROR, 0, "--build writes numbered files, and --output - names none: name them FILE.svg");
        return false;
    }
    if (d->gif && !text) {
        g_set_error_literal(error, OPTION_ERROR, 0, "--gif is of the frames of --build: say how, as --build rank");
        return false;
    }
    return !d->gif || frames_gif_ready(error);
}

static bool pick(struct drawing *d, const struct options *o, const struct figure *standard, GError **error)
{
    const char *name = option_text(o, OPTION_FIGURE, standard->name);
    d->figure = figure_find(name);
    if (d->figure)
        return true;
    if (strcmp(name, "none")) {
        g_set_error(error, OPTION_ERROR, 0,
                    "--figure takes a name that 'parprof list' shows, or none, not '%s'", name);
        return false;
    }
    for (unsigned id = 0; id < N_OPTIONS; id++)
        if (o->given[id] && (id == OPTION_OUTPUT || option_of_look(id))) {
            g_set_error(error, OPTION_ERROR, 0, "--%s is of the figure, and --figure none asks for no figure",
                        option_name(id));
            return false;
        }
    return true;
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
    d->format = format_of(o, d->path);
    const char *wrong =
        d->format ? check_canvas(&d->look, d->format, o)
        : o->given[OPTION_FORMAT]
            ? "--format of a figure is svg, pdf, png or txt; table, json and csv are of the command plan"
            : "--output takes a name that ends in .svg, .pdf, .png or .txt, or - for text";
    if (!wrong)
        wrong = check_contents(d, o);
    if (wrong) {
        g_set_error_literal(error, OPTION_ERROR, 0, wrong);
        return false;
    }
    if (!check_figure(d->figure, o, error) || !check_style(d, o, error) || !check_build(d, o, error))
        return false;
    draw_prepare();
    const bool unusual = o->given[OPTION_SIZE] || o->given[OPTION_DPI] || o->given[OPTION_FONT_SCALE];
    return output_check(d->path, error) && (!unusual || drawing_ready(d, error));
}

bool drawing_ready(const struct drawing *d, GError **error)
{
    const struct draw_ops *ops = d->figure ? draw_open(d->format, error) : NULL;
    return !d->figure || (ops && figure_fits(d->figure, &d->look, ops, error));
}

/* What no installed font can show is said: the figure is written all the same. */
static void warn_of_fonts(const GString *missing)
{
    g_auto(GStrv) parts = g_strsplit(missing->str, "\n", 2);
    if (!parts[0])
        return;
    if (*parts[0]) {
        g_autofree char *some_of = g_utf8_substring(parts[0], 0, MIN(g_utf8_strlen(parts[0], -1), 12));
        fprintf(stderr,
                "parprof: warning: no installed font has %s (U+%04X...); install one that does (Debian: "
                "fonts-nanum or "
                "fonts-noto-cjk for Korean), or name it by --font\n",
                some_of, g_utf8_get_char(parts[0]));
    }
    if (parts[1]) {
        g_autofree char *family = printable_ends(parts[1], PRINTABLE_PART);
        fprintf(stderr,
                "parprof: warning: no font called '%s' is installed; 'fc-list : family' names those that are\n",
                family);
    }
}

char *drawing_names(const struct drawing *d)
{
    return d->built ? frames_names(d->path, d->frames, d->gif) : g_strdup(d->path);
}

static bool write_whole(struct drawing *d, const struct figure_input *input, const struct figure_options *look,
                        const struct draw_ops *ops, GError **error)
{
    GBytes *bytes = figure_render(d->figure, input, look, ops, error);
    if (!bytes)
        return false;
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);
    const bool ok = output_write(d->path, data, n, error);
    g_bytes_unref(bytes);
    return ok;
}

static bool write_build(struct drawing *d, const struct figure_input *input, const struct figure_options *look,
                        const struct draw_ops *ops, GError **error)
{
    g_autoptr(GPtrArray) frames = build_render(&d->build, d->figure, input, look, ops, error);
    if (!frames || !frames_write(d->path, frames, error))
        return false;
    d->frames = frames->len;
    if (!d->gif)
        return true;
    const struct draw_ops *png = draw_open("png", error);
    struct figure_options pixels = *look;
    pixels.missing = NULL;
    if (strcmp(d->format, "png"))
        pixels.dpi = 0; /* a pixel a px */
    g_autoptr(GPtrArray) pictures = png ? build_render(&d->build, d->figure, input, &pixels, png, error) : NULL;
    return pictures && frames_write_gif(d->path, pictures, d->build.by == KEY_TIME, error);
}

bool drawing_write(struct drawing *d, const struct figure_input *input, GError **error)
{
    const struct draw_ops *ops = draw_open(d->format, error);
    g_autoptr(GString) missing = g_string_new(NULL);
    struct figure_options look = d->look;
    look.missing = missing;
    const bool ok = ops && (d->built ? write_build : write_whole)(d, input, &look, ops, error);
    if (ok)
        warn_of_fonts(missing);
    return ok;
}
