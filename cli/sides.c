#include "cli/sides.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "profile/import.h"

#define LAST_RUNS 10

/* A trace says what a report of it would. */
static struct measurement *measure_trace(const char *kind, const char *text, gsize n, const char *name,
                                         GError **error)
{
    struct trace trace;
    struct analysis analysis;
    struct measurement *m = NULL;
    g_autoptr(GString) json = g_string_new(NULL);
    if (!import_trace_of(kind, text, n, name, &trace, error))
        return NULL;
    if (analyze(&trace, &analysis, error)) {
        const struct report report = {.trace = &trace, .analysis = &analysis};
        report_json(&report, json);
        m = measurement_of_report(json->str, json->len, name, error);
        analysis_release(&analysis);
    } else {
        g_prefix_error(error, "%s: ", name);
    }
    trace_release(&trace);
    return m;
}

/* Where the trace is that the report names: in its folder, nowhere else. */
static void find_trace(struct measurement *m, const char *path)
{
    g_autofree char *named = g_steal_pointer(&m->trace), *folder = g_path_get_dirname(path);
    if (!named || strchr(named, '/') || !strcmp(path, "-"))
        return;
    char *file = g_build_filename(folder, named, NULL);
    if (g_file_test(file, G_FILE_TEST_IS_REGULAR))
        m->trace = file;
    else
        g_free(file);
}

static struct measurement *measure(const char *text, gsize n, const char *path, GError **error)
{
    const char *name = file_name(path), *kind = import_kind(text, n, name, NULL);
    const bool trace = kind && (!strcmp(kind, "trace") || !strcmp(kind, "profile"));
    struct measurement *m =
        trace ? measure_trace(kind, text, n, name, error) : measurement_of_report(text, n, name, error);
    if (m && trace)
        m->trace = strcmp(path, "-") ? g_strdup(path) : NULL;
    else if (m)
        find_trace(m, path);
    return m;
}

static bool add_file(GPtrArray *runs, const char *path, bool *is_history, uint32_t *passed_over,
                     GError **error)
{
    gsize n;
    uint32_t lines = 0;
    const char *name = file_name(path);
    g_autofree char *text = file_read(path, &n, error);
    if (!text)
        return false;
    *is_history = measurement_is_history(text, n);
    if (*is_history) {
        const bool ok = measurement_of_history(text, n, name, runs, &lines, error);
        *passed_over += lines;
        return ok;
    }
    struct measurement *m = measure(text, n, path, error);
    if (m)
        g_ptr_array_add(runs, m);
    return m != NULL;
}

/* As --processes numbers them, 10 behind 9: the order in which they ran counts (profile/wander.h). */
static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the folder's files that may be reports or histories, in order. */
static GPtrArray *list_folder(const char *path, GError **error)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, error);
    if (!folder)
        return NULL;
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(folder));)
        if (g_str_has_suffix(name, ".json") || g_str_has_suffix(name, ".jsonl"))
            g_ptr_array_add(names, g_build_filename(path, name, NULL));
    if (names->len)
        qsort(names->pdata, names->len, sizeof *names->pdata, by_name);
    return names;
}

/* What stands beside the reports and is none; NULL: it should be one, and if it is cut that is an error. */
static const char *other_kind(const char *path)
{
    gsize n;
    g_autofree char *text = file_read(path, &n, NULL);
    const char *kind = text ? import_kind(text, n, path, NULL) : NULL;
    return kind && strcmp(kind, "report") ? kind : NULL;
}

static bool add_folder(GPtrArray *runs, const char *path, uint32_t *passed_over, GError **error)
{
    const guint before = runs->len;
    bool is_history;
    g_autoptr(GPtrArray) names = list_folder(path, error);
    if (!names)
        return false;
    for (guint i = 0; i < names->len; i++) {
        const char *other = other_kind(names->pdata[i]);
        if (other)
            *passed_over += strcmp(other, "trace") != 0; /* a report's own is read with it */
        else if (!add_file(runs, names->pdata[i], &is_history, passed_over, error))
            return false;
    }
    if (runs->len == before)
        g_set_error(error, OPTION_ERROR, 0,
                    "there is no report in '%s': write some with --report %s/NAME.json", path, path);
    return runs->len > before;
}

bool sides_add(GPtrArray *runs, const char *path, bool *is_history, uint32_t *passed_over, GError **error)
{
    *is_history = false;
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return add_folder(runs, path, passed_over, error);
    return add_file(runs, path, is_history, passed_over, error);
}

static void keep_last(GPtrArray *runs, guint n)
{
    if (runs->len > n)
        g_ptr_array_remove_range(runs, 0, runs->len - n);
}

static bool is_reference(const struct measurement *m, const struct measurement *like)
{
    g_autofree char *difference = fingerprint_difference(&m->fingerprint, "", &like->fingerprint, "");
    return !difference && measurement_is_reference(m);
}

/* Of a history: what this run is to be compared with. */
static void choose(struct sides *s, const struct options *o)
{
    for (guint i = s->base->len; i-- > 0;)
        if (!is_reference(s->base->pdata[i], s->new->pdata[0]))
            g_ptr_array_remove_index(s->base, i);
    keep_last(s->base, (guint)option_number(o, OPTION_LAST, LAST_RUNS));
}

static bool add_side(struct sides *s, GPtrArray *runs, char **from, unsigned n, bool *is_history,
                     GError **error)
{
    for (unsigned i = 0; i < n; i++) {
        bool one;
        if (!sides_add(runs, from[i], &one, &s->passed_over, error))
            return false;
        *is_history = one && n == 1;
    }
    return true;
}

bool sides_read(struct sides *s, const struct options *o, GError **error)
{
    const unsigned n = g_strv_length(o->operands), first = o->n_before ? o->n_before : 1;
    bool history = false;
    *s = (struct sides){.base = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free),
                        .new = g_ptr_array_new_with_free_func((GDestroyNotify)measurement_free)};
    if (first >= n || (!o->n_before && n != 2)) {
        g_set_error_literal(
            error, OPTION_ERROR, 0,
            "'compare' takes BASE and NEW; of several files a side put -- between: BASE... -- NEW...");
        return false;
    }
    if (!add_side(s, s->new, o->operands + first, n - first, &history, error))
        return false;
    if (history)
        keep_last(s->new, 1);
    history = false;
    s->missing = first == 1 && access(o->operands[0], F_OK) != 0;
    if (!s->missing && !add_side(s, s->base, o->operands, first, &history, error))
        return false;
    if (history)
        choose(s, o);
    else if (o->given[OPTION_LAST] && !s->missing) {
        g_set_error(error, OPTION_ERROR, 0, "--last is of a history, and '%s' is none", o->operands[0]);
        return false;
    }
    s->history = history || s->missing ? o->operands[0] : NULL;
    s->missing = s->missing || s->base->len == 0;
    return true;
}

void sides_release(struct sides *s)
{
    g_clear_pointer(&s->base, g_ptr_array_unref);
    g_clear_pointer(&s->new, g_ptr_array_unref);
}
