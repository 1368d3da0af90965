#include <stdio.h>

#include <string.h>

#include "cli/cli.h"
#include "cli/figures.h"
#include "cli/history-file.h"
#include "cli/sides.h"
#include "profile/compare-out.h"
#include "profile/stats.h"
#include "profile/table.h"

static char *shown(const char *text)
{
    return printable_ends(text, PRINTABLE_PART);
}

static void add_row(struct table *table, const struct measurement *m)
{
    const uint32_t n = m->n[METRIC_STEP];
    table_cell(table, shown(m->time ? m->time : "-"));
    table_cell(table, shown(m->name));
    table_cell(table, shown(digest_label(m->fingerprint.must, "mode")));
    table_cell(table, shown(digest_label(m->fingerprint.must, "model")));
    table_cell(table, shown(digest_label(m->fingerprint.must, "ranks")));
    table_cell(table, g_strdup_printf("%u", n));
    table_cell(table, n ? compared_number(METRIC_STEP, stats_median(m->x[METRIC_STEP], n)) : g_strdup("-"));
    table_cell(table, shown(m->verdict ? m->verdict : "-"));
    table_end_row(table, NULL);
}

static void list_runs(const GPtrArray *runs, guint last)
{
    struct table table;
    g_autoptr(GString) out = g_string_new(NULL);
    table_init(&table, "<time", "<line", "<mode", "<model", ">ranks", ">steps", ">step ms", "<verdict", NULL);
    table_end_row(&table, NULL);
    for (guint i = runs->len > last ? runs->len - last : 0; i < runs->len; i++)
        add_row(&table, runs->pdata[i]);
    table_print(&table, out);
    table_release(&table);
    fputs(out->str, stdout);
}

static bool add_runs(const char *history, const char *path, GError **error)
{
    bool is_history;
    uint32_t passed_over = 0;
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    if (!sides_add(runs, path, &is_history, &passed_over, error))
        return false;
    for (guint i = 0; i < runs->len; i++)
        if (!history_append(history, runs->pdata[i], NULL, error))
            return false;
    return true;
}

static bool asks_for_figure(const struct options *o)
{
    return o->given[OPTION_FIGURE] ? strcmp(option_text(o, OPTION_FIGURE, ""), "none")
                                   : o->given[OPTION_OUTPUT];
}

static bool check_figure(struct drawing *drawing, const struct options *o, GError **error)
{
    if (!drawing_check(drawing, o, &figure_trend, "parprof-trend.svg", error))
        return false;
    if (!drawing->figure || drawing->figure == &figure_trend)
        return true;
    g_set_error(error, OPTION_ERROR, 0, "--figure %s is of runs, and this is a history: --figure trend",
                drawing->figure->name);
    return false;
}

static bool draw_runs(struct drawing *drawing, const GPtrArray *runs, guint last, const char *path,
                      GError **error)
{
    const guint first = runs->len > last ? runs->len - last : 0;
    g_autofree char *name = g_filename_display_basename(path);
    const struct figure_input input = {
        .runs = (struct measurement *const *)runs->pdata + first, .n_runs = runs->len - first, .file = name};
    if (!drawing_write(drawing, &input, error))
        return false;
    g_autofree char *names = drawing_names(drawing);
    if (strcmp(drawing->path, "-"))
        printf("wrote %s\n", names);
    return true;
}

static bool history_command(const struct options *o, int *status, GError **error)
{
    const char *path = o->operands[0], *add = option_text(o, OPTION_ADD, NULL);
    uint32_t left, gone, passed_over = 0;
    bool is_history;
    struct drawing drawing = {0};
    (void)status;
    if (!check_figure(&drawing, o, error))
        return false;
    if (add && !add_runs(path, add, error))
        return false;
    if (o->given[OPTION_KEEP]) {
        if (!history_prune(path, (uint32_t)option_number(o, OPTION_KEEP, 0), &left, &gone, error))
            return false;
        printf("%s: %u run%s kept, %u line%s gone\n", path, left, left == 1 ? "" : "s", gone,
               gone == 1 ? "" : "s");
    }
    if ((add || o->given[OPTION_KEEP]) && !asks_for_figure(o))
        return true;
    g_autoptr(GPtrArray) runs = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free);
    if (!sides_add(runs, path, &is_history, &passed_over, error))
        return false;
    const guint last = (guint)option_number(o, OPTION_LAST, runs->len);
    if (!asks_for_figure(o))
        list_runs(runs, last);
    else if (!draw_runs(&drawing, runs, last, path, error))
        return false;
    if (passed_over)
        fprintf(stderr, "parprof: passed over %u line%s cut or unreadable; --keep takes %s away\n",
                passed_over, passed_over == 1 ? " that is" : "s that are", passed_over == 1 ? "it" : "them");
    return true;
}

const struct command command_history = {"history",
                                        "list the runs of a history, draw their trend, add to it, prune it",
                                        history_command,
                                        "FILE",
                                        1,
                                        1};
