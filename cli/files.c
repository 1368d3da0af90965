#include "cli/files.h"

#include <string.h>

#include "cli/output.h"
#include "profile/export.h"

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
    f->trace = option_text(o, OPTION_TRACE, NULL);
    f->report = option_text(o, OPTION_REPORT, NULL);
    if (output_same(f->drawing.path, f->trace) || output_same(f->drawing.path, f->report) ||
        output_same(f->trace, f->report)) {
        g_set_error_literal(error, OPTION_ERROR, 0,
                            "--output, --trace and --report would overwrite each other: name a file each");
        return false;
    }
    return (!f->trace || output_check(f->trace, error)) && (!f->report || output_check(f->report, error));
}

static bool draw(const struct files *f, const struct report *report, GError **error)
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
    if (f->drawing.figure)
        ok &= draw(f, report, ok ? error : NULL);
    return ok;
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

bool files_take_stdout(const struct files *f)
{
    return is_stdout(f->drawing.path) || is_stdout(f->trace) || is_stdout(f->report);
}

void files_name(const struct files *f, const struct report *r, GString *out)
{
    const char *const names[] = {f->drawing.path, f->trace, f->report};
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
    if (f->drawing.path || f->trace || f->report)
        g_string_append(out, "; ");
}
