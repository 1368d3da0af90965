#include "cli/files.h"

#include <string.h>

#include "cli/output.h"
#include "profile/export.h"
#include "profile/import.h"

static const enum option_id options_of[FILES] = {OPTION_OUTPUT, OPTION_REPORT, OPTION_TRACE, OPTION_COSTS};

static bool check_apart(const struct files *f, GError **error)
{
    for (unsigned i = 0; i < FILES; i++)
        for (unsigned k = 0; k < i; k++)
            if (output_same(f->path[i], f->path[k])) {
                g_set_error(error, OPTION_ERROR, 0,
                            "--%s and --%s would overwrite each other: name a file each",
                            option_name(options_of[k]), option_name(options_of[i]));
                return false;
            }
    return true;
}

bool files_check(struct files *f, const char *mode, const struct options *o, GError **error)
{
    g_autofree char *standard = g_strdup_printf("parprof-%s.svg", mode);
    if (!drawing_check(&f->drawing, o, figures[0], g_intern_string(standard), error))
        return false;
    if (f->drawing.figure == &figure_sweep) {
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "--figure sweep needs a sweep, and this is one point of it: 'parprof sweep' draws it");
        return false;
    }
    f->path[FILE_FIGURE] = f->drawing.path;
    for (unsigned i = FILE_FIGURE + 1; i < FILES; i++) {
        f->path[i] = option_text(o, options_of[i], NULL);
        if (f->path[i] && !output_check(f->path[i], error))
            return false;
    }
    return check_apart(f, error);
}

static bool draw(struct files *f, const struct report *report, GError **error)
{
    struct digest digest;
    digest_make(&digest, report);
    struct figure_input input = {.trace = report->trace,
                                 .analysis = report->analysis,
                                 .digest = &digest,
                                 .name = report_overlap(report),
                                 .others = report->others,
                                 .n_others = report->n_others};
    bool ok = drawing_write(&f->drawing, &input, error);
    digest_release(&digest);
    return ok;
}

/* Says what was measured on what. */
static void write_costs(const struct report *r, GString *out)
{
    g_autoptr(GString) source = g_string_new(r->trace->t.model);
    const char *gpus = trace_label_value(r->trace, "gpus");
    if (gpus)
        g_string_append_printf(source, " on %s", gpus);
    for (unsigned i = 0; r->environment && r->environment[i]; i += 2)
        g_string_append_printf(source, ", %s %s", r->environment[i], r->environment[i + 1]);
    export_costs(r->costs, source->str, out);
}

static bool write_file(struct files *f, enum file file, const struct report *report, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    switch (file) {
    case FILE_FIGURE:
        return draw(f, report, error);
    case FILE_REPORT:
        report_json(report, text);
        break;
    case FILE_TRACE:
        export_chrome(report->trace, text);
        break;
    default:
        write_costs(report, text);
    }
    return output_write(f->path[file], text->str, text->len, error);
}

/* The trace's name, where it is written into the report's folder: they may be moved together. */
static char *trace_beside(const struct files *f)
{
    const char *report = f->path[FILE_REPORT], *trace = f->path[FILE_TRACE];
    if (!report || !trace || !strcmp(report, "-") || !strcmp(trace, "-"))
        return NULL;
    g_autofree char *a = g_path_get_dirname(report), *b = g_path_get_dirname(trace);
    return strcmp(a, b) ? NULL : g_path_get_basename(trace);
}

bool files_write(struct files *f, const struct report *given, GError **error)
{
    static const enum file order[FILES] = {FILE_REPORT, FILE_COSTS, FILE_TRACE, FILE_FIGURE};
    g_autofree char *beside = trace_beside(f);
    struct report whole = *given;
    const struct report *report = &whole;
    bool ok = true;
    whole.trace_file = beside;
    for (unsigned i = 0; i < FILES; i++)
        if (f->path[order[i]])
            ok &= write_file(f, order[i], report, ok ? error : NULL);
    return ok;
}

bool files_take_stdout(const struct files *f)
{
    for (unsigned i = 0; i < FILES; i++)
        if (f->path[i] && !strcmp(f->path[i], "-"))
            return true;
    return false;
}

void files_name(const struct files *f, const struct report *r, GString *out)
{
    const char *before = "wrote ", *after = "";
    for (unsigned i = 0; i < FILES; i++) {
        if (!f->path[i])
            continue;
        g_autofree char *names = i == FILE_FIGURE ? drawing_names(&f->drawing) : g_strdup(f->path[i]);
        g_string_append_printf(out, "%s%s", before, names);
        if (i == FILE_FIGURE && r->analysis->n_steps > 1)
            g_string_append_printf(out, " (step %u of %u, the median)", r->analysis->median_step + 1,
                                   r->analysis->n_steps);
        before = ", ";
        after = "; ";
    }
    g_string_append(out, after);
}
