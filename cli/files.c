#include "cli/files.h"

#include <string.h>

#include "cli/figures.h"
#include "cli/output.h"
#include "profile/export.h"

bool files_check(struct files *f, const char *mode, const struct options *o, GError **error)
{
    g_autofree char *standard = g_strdup_printf("parprof-%s.svg", mode);
    if (!figures_pick(o, figures[0], &f->kind, error))
        return false;
    f->options = o;
    f->figure = f->kind ? option_text(o, OPTION_OUTPUT, g_intern_string(standard)) : NULL;
    f->trace = option_text(o, OPTION_TRACE, NULL);
    f->report = option_text(o, OPTION_REPORT, NULL);
    const char *wrong = NULL;
    if (!f->kind && o->given[OPTION_OUTPUT])
        wrong = "--output is the figure's file, and --figure none asks for no figure";
    else if (output_same(f->figure, f->trace) || output_same(f->figure, f->report) ||
             output_same(f->trace, f->report))
        wrong = "--output, --trace and --report would overwrite each other: name a file each";
    if (wrong) {
        g_set_error_literal(error, OPTION_ERROR, 0, wrong);
        return false;
    }
    return (!f->figure || output_check(f->figure, error)) && (!f->trace || output_check(f->trace, error)) &&
           (!f->report || output_check(f->report, error)) &&
           (!f->figure || (f->draw = figures_open(o, f->figure, error)));
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
    if (f->figure) {
        struct digest digest;
        digest_make(&digest, report);
        struct figure_input input = {.trace = report->trace,
                                     .analysis = report->analysis,
                                     .digest = &digest,
                                     .name = report_overlap(report),
                                     .others = report->others,
                                     .n_others = report->n_others};
        ok &= figures_write(f->kind, &input, f->options, f->draw, f->figure, ok ? error : NULL);
        digest_release(&digest);
    }
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
