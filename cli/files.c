#include "cli/files.h"

#include <string.h>

#include "cli/output.h"
#include "profile/export.h"

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

/* How the figure looks; returns what is wrong, or NULL. */
static const char *check_look(struct files *f, const struct options *o)
{
    const char *format = format_of(f->figure), *text = option_text(o, OPTION_TEXT, "text");
    const bool pixels = format && !strcmp(format, "png");
    f->look = (struct figure_options){.width = 1280,
                                      .height = 720,
                                      .outlines = !strcmp(text, "paths"),
                                      .dpi = option_number(o, OPTION_DPI, STANDARD_DPI)};
    if (!format)
        return "--output takes a name that ends in .svg, .pdf or .png";
    if (o->given[OPTION_SIZE] && !parse_size(option_text(o, OPTION_SIZE, NULL), &f->look))
        return "--size takes WxH in px, as 1280x720";
    if (strcmp(text, "text") && !f->look.outlines)
        return "--text takes text or paths";
    if (o->given[OPTION_TEXT] && pixels)
        return "--text belongs to svg and pdf, and a png has pixels only: leave it out";
    if (o->given[OPTION_DPI] && !pixels)
        return "--dpi belongs to png: leave it out or name the figure FILE.png";
    return NULL;
}

static bool looks_given(const struct options *o)
{
    return o->given[OPTION_OUTPUT] || o->given[OPTION_SIZE] || o->given[OPTION_DPI] || o->given[OPTION_TEXT];
}

bool files_check(struct files *f, const char *mode, const struct options *o, GError **error)
{
    const char *kind = option_text(o, OPTION_FIGURE, figures[0]->name);
    g_autofree char *standard = g_strdup_printf("parprof-%s.svg", mode);
    f->kind = figure_find(kind);
    f->figure = f->kind ? option_text(o, OPTION_OUTPUT, g_intern_string(standard)) : NULL;
    f->trace = option_text(o, OPTION_TRACE, NULL);
    f->report = option_text(o, OPTION_REPORT, NULL);
    const char *wrong = NULL;
    if (!f->kind && strcmp(kind, "none"))
        wrong = "--figure takes a name that 'parprof list' shows, or none";
    else if (!f->kind && looks_given(o))
        wrong = "--output, --size, --dpi and --text are of the figure, and --figure none asks for no figure";
    else if (f->figure && (wrong = check_look(f, o)))
        ;
    else if (output_same(f->figure, f->trace) || output_same(f->figure, f->report) ||
             output_same(f->trace, f->report))
        wrong = "--output, --trace and --report would overwrite each other: name a file each";
    if (wrong) {
        g_set_error_literal(error, OPTION_ERROR, 0, wrong);
        return false;
    }
    /* Fonts are still loading when a canvas of the usual size is not tried. */
    const bool unusual = o->given[OPTION_SIZE] || o->given[OPTION_DPI];
    return (!f->figure || output_check(f->figure, error)) && (!f->trace || output_check(f->trace, error)) &&
           (!f->report || output_check(f->report, error)) &&
           (!f->kind || (f->draw = draw_open(format_of(f->figure), error))) &&
           (!unusual || figure_fits(f->kind, &f->look, f->draw, error));
}

bool files_draw(const struct files *f, const struct figure_input *input, GError **error)
{
    GBytes *bytes = figure_render(f->kind, input, &f->look, f->draw, error);
    if (!bytes)
        return false;
    gsize n;
    const void *data = g_bytes_get_data(bytes, &n);
    bool ok = output_write(f->figure, data, n, error);
    g_bytes_unref(bytes);
    return ok;
}

static bool write_figure(const struct files *f, const struct report *r, GError **error)
{
    struct digest digest;
    digest_make(&digest, r);
    const struct figure_input input = {.trace = r->trace,
                                       .analysis = r->analysis,
                                       .digest = &digest,
                                       .name = report_overlap(r),
                                       .others = r->others,
                                       .n_others = r->n_others};
    bool ok = files_draw(f, &input, error);
    digest_release(&digest);
    return ok;
}

bool files_write(const struct files *f, const struct report *report, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    bool ok = true;
    if (f->report) {
        report_json(report, text);
        ok = output_write(f->report, text->str, text->len, error);
    }
    if (f->trace) {
        g_string_truncate(text, 0);
        export_chrome(report->trace, text);
        ok &= output_write(f->trace, text->str, text->len, ok ? error : NULL);
    }
    if (f->figure)
        ok &= write_figure(f, report, ok ? error : NULL);
    return ok;
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

bool files_take_stdout(const struct files *f)
{
    return is_stdout(f->figure) || is_stdout(f->trace) || is_stdout(f->report);
}

void files_name(const struct files *f, const struct report *r, GString *out)
{
    const char *const names[] = {f->figure, f->trace, f->report};
    const char *before = "wrote ";
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!names[i])
            continue;
        g_string_append_printf(out, "%s%s", before, names[i]);
        if (i == 0 && r->analysis->n_steps > 1)
            g_string_append_printf(out, " (step %u of %u, the median)", r->analysis->median_step + 1,
                                   r->analysis->n_steps);
        before = ", ";
    }
    if (f->figure || f->trace || f->report)
        g_string_append(out, "; ");
}
