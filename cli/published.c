#include <stdio.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/preset.h"
#include "profile/report-text.h"
#include "profile/table.h"

/* What says how to draw is all that can be asked of numbers that are there. */
static bool only_looks(const struct preset *p, const struct options *o, GError **error)
{
    static const enum option_id others[] = {OPTION_PRESET, OPTION_OUTPUT, OPTION_FIGURE, OPTION_FORMAT, OPTION_QUIET};
    for (unsigned id = 0; id < N_OPTIONS; id++) {
        bool look = !o->given[id] || option_of_look(id);
        for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
            look |= id == others[i];
        if (look)
            continue;
        g_set_error(error, OPTION_ERROR, 0,
                    "--%s changes nothing about the published steps of --%s %s: leave it out",
                    option_name(id), option_name(OPTION_PRESET), p->name);
        return false;
    }
    return true;
}

static void cell(struct table *t, double part)
{
    table_cell(t, text_number("%.3f", part));
}

static void print_table(const struct preset *p, GString *out)
{
    struct table t;
    table_init(&t, "<parts of a step", ">forward", ">backward", ">comm", ">optimizer", ">efficiency",
               ">overlapped", ">published", ">saved", ">published", NULL);
    table_end_row(&t, NULL);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const struct preset_step *s = &p->steps[i];
        const double total = preset_total(s);
        table_cell(&t, printable(s->name));
        cell(&t, s->forward);
        cell(&t, s->backward);
        cell(&t, s->comm);
        cell(&t, s->optimizer);
        table_cell(&t, text_number("%.2f", s->efficiency));
        cell(&t, total);
        cell(&t, s->published_total);
        table_cell(&t, text_percent(100 * (1 - total)));
        table_cell(&t, text_percent(s->published_percent));
        table_end_row(&t, NULL);
    }
    table_print(&t, out);
    table_release(&t);
}

bool published_show(const struct preset *p, const struct options *given, GError **error)
{
    struct drawing drawing;
    struct digest digest;
    g_autoptr(GString) out = g_string_new(NULL);
    g_autofree char *path = g_strdup_printf("parprof-%s.svg", p->name);
    if (!only_looks(p, given, error) || !drawing_check(&drawing, given, &figure_breakdown, path, error))
        return false;
    drawing.look.normalise = true;
    preset_digest(p, &digest);
    const struct figure_input input = {.digest = &digest};
    bool ok = !drawing.figure || drawing_write(&drawing, &input, error);
    digest_release(&digest);
    if (!ok || given->given[OPTION_QUIET])
        return ok;
    g_string_append_printf(out, "%s\n", p->summary);
    print_table(p, out);
    g_string_append_printf(out, "source: %s\nwith overlap: %s\n", p->source, p->computed);
    g_autofree char *names = drawing.figure ? drawing_names(&drawing) : NULL;
    if (names)
        g_string_append_printf(out, "wrote %s\n", names);
    fputs(out->str, !g_strcmp0(drawing.path, "-") ? stderr : stdout);
    return true;
}
