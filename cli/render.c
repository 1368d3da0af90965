#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/input.h"
#include "profile/import.h"

/* A file, with what it gives figures. */
struct source {
    const char *path, *kind; /* "trace", "report", "sweep", "profile" */
    char *text;              /* until it is read */
    size_t n;
    char *name; /* its overlap, or its own name */
    struct trace trace;
    struct analysis analysis;
    struct digest digest;
    struct series series;
    bool has_trace, has_digest, has_series;
};

static void source_release(struct source *s)
{
    if (s->has_trace) {
        analysis_release(&s->analysis);
        trace_release(&s->trace);
    }
    if (s->has_digest)
        digest_release(&s->digest);
    if (s->has_series)
        series_release(&s->series);
    g_free(s->text);
    g_free(s->name);
}

static bool take_trace(struct source *s, GError **error)
{
    s->has_trace = analyze(&s->trace, &s->analysis, error);
    if (!s->has_trace) {
        trace_release(&s->trace);
        g_prefix_error(error, "%s: ", s->path);
        return false;
    }
    struct report report = {.trace = &s->trace, .analysis = &s->analysis};
    digest_make(&s->digest, &report);
    s->has_digest = true;
    return true;
}

static bool source_open(struct source *s, const char *path, GError **error)
{
    *s = (struct source){.path = file_name(path)};
    s->text = file_read(path, &s->n, error);
    if (!s->text || !(s->kind = import_kind(s->text, s->n, s->path, error))) {
        g_free(s->text);
        return false;
    }
    s->name = g_filename_display_basename(s->path);
    return true;
}

/* Profiles of the ranks of one job, which become the first source. */
static bool read_ranks(struct source *sources, unsigned n, GError **error)
{
    g_autofree struct import_file *files = g_new(struct import_file, n);
    for (unsigned i = 0; i < n; i++)
        files[i] = (struct import_file){sources[i].text, sources[i].path, sources[i].n};
    return import_profiler(n, files, &sources[0].trace, error) && take_trace(&sources[0], error);
}

static bool source_read(struct source *s, GError **error)
{
    if (!strcmp(s->kind, "trace") || !strcmp(s->kind, "profile"))
        return import_trace_of(s->kind, s->text, s->n, s->path, &s->trace, error) && take_trace(s, error);
    if (!strcmp(s->kind, "report"))
        return s->has_digest = digest_read(s->text, s->n, s->path, &s->digest, error);
    if (!strcmp(s->kind, "sweep"))
        return s->has_series = series_read(s->text, s->n, s->path, &s->series, error);
    g_set_error(error, OPTION_ERROR, 0, "%s is a %s: figures are of traces, reports and sweeps", s->path,
                s->kind);
    return false;
}

/* Several files are compared: they are traces of the same work. */
static bool comparable(const struct source *sources, unsigned n, GError **error)
{
    for (unsigned i = 0; n > 1 && i < n; i++) {
        const struct tables *t = &sources[i].trace.t, *last = &sources[n - 1].trace.t;
        if (!sources[i].has_trace) {
            g_set_error(error, OPTION_ERROR, 0,
                        "%s is a %s: several files in one figure are traces; render it alone",
                        sources[i].path, sources[i].kind);
            return false;
        }
        if (sources[n - 1].has_trace &&
            (t->n_ranks != last->n_ranks || t->n_layers != last->n_layers ||
             (g_strcmp0(t->model, last->model) && strcmp(sources[i].kind, "profile")) ||
             g_strcmp0(t->mode, last->mode))) {
            g_set_error(
                error, OPTION_ERROR, 0,
                "%s and %s differ in mode, model or ranks: one figure compares steps of the same work",
                sources[i].path, sources[n - 1].path);
            return false;
        }
    }
    return true;
}

static bool draw(const struct source *sources, unsigned n, const struct options *o, GError **error)
{
    const struct source *main = &sources[n - 1];
    const struct figure *standard = main->has_series  ? &figure_sweep
                                    : main->has_trace ? &figure_timeline
                                                      : &figure_breakdown;
    g_autofree char *usual = g_strdup_printf("parprof-%s.svg", option_text(o, OPTION_FIGURE, standard->name));
    struct drawing drawing;
    if (!drawing_check(&drawing, o, standard, usual, error))
        return false;
    if (!drawing.figure) {
        g_set_error_literal(error, OPTION_ERROR, 0, "--figure none leaves nothing to render");
        return false;
    }
    g_autofree struct variant *others = g_new0(struct variant, n);
    for (unsigned i = 0; i + 1 < n; i++)
        others[i] = (struct variant){sources[i].name, &sources[i].trace, &sources[i].analysis, NULL};
    struct figure_input input = {.trace = main->has_trace ? &main->trace : NULL,
                                 .analysis = main->has_trace ? &main->analysis : NULL,
                                 .digest = main->has_digest ? &main->digest : NULL,
                                 .series = main->has_series ? &main->series : NULL,
                                 .file = main->name,
                                 .others = others,
                                 .n_others = n - 1};
    if (!drawing_write(&drawing, &input, error))
        return false;
    g_autofree char *names = drawing_names(&drawing);
    if (strcmp(drawing.path, "-"))
        printf("wrote %s\n", names);
    return true;
}

static bool are_ranks(const struct source *sources, unsigned n, const struct options *o)
{
    bool all = n > 1 && strcmp(option_text(o, OPTION_FIGURE, ""), figure_compare.name);
    for (unsigned i = 0; i < n; i++)
        all &= !strcmp(sources[i].kind, "profile");
    return all;
}

static bool render(struct source *sources, unsigned n, const struct options *o, GError **error)
{
    if (are_ranks(sources, n, o))
        return read_ranks(sources, n, error) && draw(sources, 1, o, error);
    for (unsigned i = 0; i < n; i++) {
        if (!source_read(&sources[i], error))
            return false;
        g_clear_pointer(&sources[i].text, g_free);
    }
    if (!comparable(sources, n, error))
        return false;
    for (unsigned i = 0; i + 1 < n; i++)
        if (g_strcmp0(sources[i].trace.t.model, sources[n - 1].trace.t.model))
            trace_label_text(&sources[n - 1].trace, "compared with", sources[i].trace.t.model);
    return draw(sources, n, o, error);
}

static bool render_command(const struct options *o, int *status, GError **error)
{
    unsigned n = g_strv_length(o->operands), opened = 0;
    struct source *sources = g_new0(struct source, n);
    bool ok = true;
    (void)status;
    while (ok && opened < n && (ok = source_open(&sources[opened], o->operands[opened], error)))
        opened++;
    ok = ok && render(sources, n, o, error);
    for (unsigned i = 0; i < opened; i++)
        source_release(&sources[i]);
    g_free(sources);
    return ok;
}

const struct command command_render = {
    "render",
    "draw a trace (of PyTorch's profiler, too), a report or a sweep from its file",
    render_command,
    "TRACE|REPORT|SWEEP...",
    1,
    256};
