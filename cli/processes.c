#include "cli/processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/history-file.h"
#include "cli/input.h"
#include "plan/engine.h"
#include "profile/compare-out.h"
#include "profile/stats.h"

enum { TAIL_LINES = 3 };
/* What is numbered. */
static const enum option_id files[] = {OPTION_OUTPUT, OPTION_REPORT, OPTION_TRACE, OPTION_COSTS};

struct repeats {
    const struct options *o;
    uint32_t n;
    char *folder;                            /* of reports that nobody asked for; NULL: --report names them */
    GArray *medians;                         /* double, ns */
    struct stat before[G_N_ELEMENTS(files)]; /* of this process's files; st_ino 0: not there */
    char *left;                              /* names of files that an interrupted process wrote */
};

/* "r.json" -> "r-3.json" */
static char *numbered(const char *path, uint32_t number)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    const size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    return g_strdup_printf("%.*s-%" PRIu32 "%s", (int)stem, path, number, path + stem);
}

static bool check(const struct options *o, GError **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++)
        if (!strcmp(option_text(o, files[i], ""), "-")) {
            g_set_error(error, OPTION_ERROR, 0, "--processes numbers its files: --%s takes a name, not -",
                        option_name(files[i]));
            return false;
        }
    if (o->given[OPTION_OUTPUT] || !strcmp(option_text(o, OPTION_FIGURE, "none"), "none"))
        return true;
    g_set_error_literal(error, OPTION_ERROR, 0,
                        "--processes draws no figure that has no name: give --output too");
    return false;
}

static bool is_file(enum option_id id)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++)
        if (id == files[i])
            return true;
    return false;
}

static char *argument(const struct options *o, enum option_id id, uint32_t number)
{
    const struct option_spec *spec = &option_specs[id];
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (spec->type == TAKES_NOTHING)
        return g_strdup_printf("--%s", spec->name);
    if (spec->type == TAKES_NUMBER || spec->type == TAKES_COUNT)
        return g_strdup_printf("--%s=%s", spec->name,
                               g_ascii_formatd(text, sizeof text, "%.17g", o->value[id].number));
    g_autofree char *file = is_file(id) ? numbered(o->value[id].text, number) : NULL;
    return g_strdup_printf("--%s=%s", spec->name, file ? file : o->value[id].text);
}

static char *report_path(const struct repeats *r, uint32_t number)
{
    if (!r->folder)
        return numbered(option_text(r->o, OPTION_REPORT, NULL), number);
    return g_build_filename(r->folder, "report.json", NULL);
}

static GPtrArray *arguments(const struct repeats *r, uint32_t number, const char *report)
{
    const struct options *o = r->o;
    GPtrArray *argv = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(argv, g_strdup("/proc/self/exe"));
    g_ptr_array_add(argv, g_strdup("run"));
    for (unsigned i = 0; i < N_OPTIONS; i++)
        if (o->given[i] && i != OPTION_PROCESSES && i != OPTION_HISTORY && i != OPTION_QUIET)
            g_ptr_array_add(argv, argument(o, i, number));
    g_ptr_array_add(argv, g_strdup("--quiet"));
    if (r->folder)
        g_ptr_array_add(argv, g_strdup_printf("--report=%s", report));
    if (!o->given[OPTION_OUTPUT] && !o->given[OPTION_FIGURE])
        g_ptr_array_add(argv, g_strdup("--figure=none"));
    for (char **operand = o->operands; *operand; operand++)
        g_ptr_array_add(argv, g_strdup(*operand));
    g_ptr_array_add(argv, NULL);
    return argv;
}

/* As if it had failed here. */
static bool fail(const struct repeats *r, uint32_t number, const struct child_result *result, GError **error)
{
    const int status = WIFEXITED(result->status) ? WEXITSTATUS(result->status) : EXIT_FAILED;
    g_autofree char *last = child_last_lines(result->err, TAIL_LINES), *failure = child_failure(result);
    const char *what = g_str_has_prefix(last, "parprof: ") ? last + strlen("parprof: ")
                       : *last                             ? last
                                                           : failure;
    if (status == EXIT_UNAVAILABLE || status == EXIT_FAILED)
        g_set_error(error, ENGINE_ERROR,
                    status == EXIT_FAILED ? ENGINE_ERROR_FAILED : ENGINE_ERROR_UNAVAILABLE,
                    "process %u of %u: %s", number, r->n, what);
    else
        g_set_error(error, OPTION_ERROR, 0, "process %u of %u: %s", number, r->n, what);
    return false;
}

static struct measurement *read_report(const char *path, GError **error)
{
    gsize n;
    g_autofree char *text = file_read(path, &n, error);
    struct measurement *m = text ? measurement_of_report(text, n, path, error) : NULL;
    if (m && m->simulated) {
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "--processes repeats what is measured, and a simulation is the same each time: leave it out");
        g_clear_pointer(&m, measurement_free);
    }
    return m;
}

static bool take(struct repeats *r, uint32_t number, const char *path, GError **error)
{
    struct measurement *m = read_report(path, error);
    bool ok = m != NULL;
    if (ok && m->n[METRIC_STEP]) {
        const double median = stats_median(m->x[METRIC_STEP], m->n[METRIC_STEP]);
        g_autofree char *shown = compared_number(METRIC_STEP, median);
        g_array_append_val(r->medians, median);
        if (!r->o->given[OPTION_QUIET])
            printf("process %u of %u: step %s %s, median of %u%s%s%s\n", number, r->n, shown,
                   compared_unit(METRIC_STEP), m->n[METRIC_STEP], r->folder ? "" : "; ",
                   r->folder ? "" : path, m->why_not ? "; it cannot be compared" : "");
        fflush(stdout);
    }
    if (ok && r->folder) {
        g_free(m->name);
        m->name = g_strdup_printf("process %u of %u", number, r->n);
    }
    ok = ok && (!r->o->given[OPTION_HISTORY] ||
                history_append(option_text(r->o, OPTION_HISTORY, NULL), m, NULL, error));
    measurement_free(m);
    return ok;
}

static char *file_of(const struct repeats *r, unsigned i, uint32_t number, struct stat *now)
{
    g_autofree char *path = r->o->given[files[i]] ? numbered(r->o->value[files[i]].text, number) : NULL;
    if (!path || stat(path, now))
        *now = (struct stat){0};
    return g_steal_pointer(&path);
}

static void note_files(struct repeats *r, uint32_t number)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++)
        g_free(file_of(r, i, number, &r->before[i]));
}

/* A file is replaced, not written into; others are of an earlier run. */
static void name_left(struct repeats *r, uint32_t number)
{
    GString *names = g_string_new(NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        struct stat now;
        g_autofree char *path = file_of(r, i, number, &now);
        const struct stat *was = &r->before[i];
        if (now.st_ino && (now.st_ino != was->st_ino || now.st_mtim.tv_sec != was->st_mtim.tv_sec ||
                           now.st_mtim.tv_nsec != was->st_mtim.tv_nsec))
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", path);
    }
    r->left = g_string_free(names, FALSE);
}

static bool run_one(struct repeats *r, uint32_t number, int *status, GError **error)
{
    g_autofree char *report = report_path(r, number);
    g_autoptr(GPtrArray) argv = arguments(r, number, report);
    const struct child child = {(const char *const *)argv->pdata, INT64_MAX, NULL, NULL};
    struct child_result result;
    const bool shown = isatty(STDERR_FILENO) && !r->o->given[OPTION_QUIET];
    if (shown)
        fprintf(stderr, "process %u of %u runs", number, r->n);
    note_files(r, number);
    bool ok = child_run(&child, &result, error);
    if (shown)
        fputs("\r\033[K", stderr);
    if (!ok)
        return false;
    if (result.how == CHILD_INTERRUPTED) {
        *status = EXIT_INTERRUPTED;
        name_left(r, number);
    } else
        ok = result.status ? fail(r, number, &result, error) : take(r, number, report, error);
    child_result_release(&result);
    if (r->folder)
        unlink(report);
    return ok;
}

static void print_end(const struct repeats *r)
{
    const double *x = (const double *)(const void *)r->medians->data;
    const uint32_t n = r->medians->len;
    char apart[G_ASCII_DTOSTR_BUF_SIZE];
    if (!n || r->o->given[OPTION_QUIET])
        return;
    const double median = stats_median(x, n), deviation = STATS_MAD_SIGMA * stats_mad(x, n);
    g_autofree char *shown = compared_number(METRIC_STEP, median);
    g_ascii_formatd(apart, sizeof apart, "%.1f", 100 * deviation / median);
    printf("%u processes: step %s %s, their median; they deviate by %s %%\n", n, shown,
           compared_unit(METRIC_STEP), apart);
    if (!r->folder) {
        g_autofree char *first = numbered(option_text(r->o, OPTION_REPORT, NULL), 1);
        printf("compare with others: parprof compare %s ... -- NEW...\n", first);
    }
}

static void print_interrupted(const struct repeats *r)
{
    const uint32_t n = r->medians->len;
    fprintf(stderr, "parprof: interrupted: %u of %u processes were through", n, r->n);
    if (n && !r->folder) {
        const char *report = option_text(r->o, OPTION_REPORT, NULL);
        g_autofree char *first = numbered(report, 1), *last = numbered(report, n);
        fprintf(stderr, ", whose reports are %s%s%s", first, n > 1 ? " to " : "", n > 1 ? last : "");
    }
    if (n && r->o->given[OPTION_HISTORY])
        fputs(n > 1 ? ", and are in the history" : ", and is in the history", stderr);
    if (*r->left)
        fprintf(stderr, "; process %u was cut short and left %s", n + 1, r->left);
    fputc('\n', stderr);
}

bool processes_run(const struct options *o, int *status, GError **error)
{
    struct repeats r = {.o = o, .n = (uint32_t)option_number(o, OPTION_PROCESSES, 1)};
    bool ok = check(o, error);
    if (ok && !o->given[OPTION_REPORT]) {
        r.folder = g_dir_make_tmp("parprof-XXXXXX", error);
        ok = r.folder != NULL;
    }
    r.medians = g_array_new(FALSE, FALSE, sizeof(double));
    child_catch_interrupt();
    for (uint32_t i = 1; ok && i <= r.n && *status == EXIT_DONE; i++)
        ok = run_one(&r, i, status, error);
    if (ok && *status == EXIT_INTERRUPTED)
        print_interrupted(&r);
    if (ok)
        print_end(&r);
    if (r.folder)
        rmdir(r.folder);
    g_free(r.folder);
    g_array_unref(r.medians);
    g_free(r.left);
    return ok;
}
