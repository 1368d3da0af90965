#include "cli/verdicts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "cli/cli.h"
#include "cli/output.h"

bool verdict_pick_word(const struct options *o, enum option_id id, const char *first, const char *second,
                       bool *is_second, GError **error)
{
    const char *text = option_text(o, id, first);
    g_autofree char *known = g_strdup_printf("%s or %s", first, second);
    *is_second = !strcmp(text, second);
    return *is_second || !strcmp(text, first) || option_unknown(error, id, text, known);
}

static bool bad_threshold(const char *text, GError **error)
{
    g_autoptr(GString) known =
        g_string_new("PCT or METRIC=PCT, several with commas, of 0 to 1000; metrics: ");
    for (unsigned m = 0; m < METRICS; m++)
        if (metrics[m].kind != METRIC_SHOWN)
            g_string_append_printf(known, "%s%s", m ? ", " : "", metrics[m].key);
    return option_unknown(error, OPTION_THRESHOLD, text, known->str);
}

/* "5" or "idle=20" */
static bool pick_threshold(const char *part, double *relative)
{
    const char *equals = strchr(part, '='), *number = equals ? equals + 1 : part;
    g_autofree char *key = g_strndup(part, (gsize)(equals ? equals - part : 0));
    const unsigned metric = equals ? metric_find(key) : METRIC_STEP;
    double percent;
    if (metric == METRICS || metrics[metric].kind == METRIC_SHOWN ||
        !decimal_double(number, number + strlen(number), &percent) || percent < 0 || percent > 1000)
        return false;
    relative[metric] = percent / 100;
    return true;
}

static bool pick_thresholds(const struct options *o, double *relative, GError **error)
{
    const char *text = option_text(o, OPTION_THRESHOLD, NULL);
    for (unsigned m = 0; m < METRICS; m++)
        relative[m] = -1;
    if (!text)
        return true;
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    for (char **part = parts; *part; part++)
        if (!pick_threshold(*part, relative))
            return bad_threshold(text, error);
    return true;
}

static bool outputs_apart(const struct verdict_choices *c, GError **error)
{
    const char *const files[] = {c->json, c->junit, c->markdown};
    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        if (files[i] && !output_check(files[i], error))
            return false;
        for (unsigned k = 0; k < i; k++)
            if (output_same(files[i], files[k])) {
                g_set_error(error, OPTION_ERROR, 0,
                            "two outputs would overwrite each other in '%s': name a file each", files[i]);
                return false;
            }
    }
    return true;
}

bool verdict_choose(struct verdict_choices *c, const struct options *o, GError **error)
{
    *c = (struct verdict_choices){.quiet = o->given[OPTION_QUIET],
                                  .json = option_text(o, OPTION_JSON, NULL),
                                  .junit = option_text(o, OPTION_JUNIT, NULL),
                                  .markdown = option_text(o, OPTION_MARKDOWN, NULL)};
    return verdict_pick_word(o, OPTION_INCONCLUSIVE, "pass", "fail", &c->strict, error) &&
           pick_thresholds(o, c->relative, error) && outputs_apart(c, error);
}

/* --- outputs */

typedef void writer(const struct comparison *, const struct compared_sides *, GString *);

static bool write_whole(const char *path, writer *write, const struct comparison *c,
                        const struct compared_sides *s, GError **error)
{
    g_autoptr(GString) out = g_string_new(NULL);
    if (!path)
        return true;
    write(c, s, out);
    return output_write(path, out->str, out->len, error);
}

/* A step summary of GitHub is a file that every command of the step appends to. */
static bool write_markdown(const char *path, const struct comparison *c, const struct compared_sides *s,
                           GError **error)
{
    struct stat st;
    g_autoptr(GString) out = g_string_new(NULL);
    if (!path)
        return true;
    const bool there = strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode);
    const gsize used = there ? (gsize)st.st_size : 0;
    comparison_markdown(c, s, used < MARKDOWN_ROOM ? MARKDOWN_ROOM - used : 0, out);
    if (!there)
        return output_write(path, out->str, out->len, error);
    FILE *file = fopen(path, "ae");
    bool ok = file && fwrite(out->str, 1, out->len, file) == out->len;
    const int code = errno;
    ok = (!file || !fclose(file)) && ok;
    if (!ok)
        g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot append to '%s': %s", path,
                    g_strerror(code));
    return ok;
}

static bool on_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static void print_text(const struct verdict_choices *c, const struct comparison *comparison,
                       const struct compared_sides *s)
{
    g_autoptr(GString) out = g_string_new(NULL);
    if (!c->quiet)
        comparison_print(comparison, s, out);
    if (!g_strcmp0(g_getenv("GITHUB_ACTIONS"), "true"))
        comparison_annotations(comparison, s, out);
    fputs(out->str, on_stdout(c->json) || on_stdout(c->junit) || on_stdout(c->markdown) ? stderr : stdout);
}

static int status_of(int verdict, bool strict)
{
    switch (verdict) {
    case VERDICT_SLOWER:
        return EXIT_SLOWER;
    case VERDICT_INCOMPARABLE:
        return EXIT_INCOMPARABLE;
    case VERDICT_AMBIGUOUS:
        return strict ? EXIT_INCOMPARABLE : EXIT_DONE;
    default:
        return EXIT_DONE;
    }
}

void verdict_print(const struct verdict_choices *c, const struct comparison *comparison,
                   const struct compared_sides *s, int *status)
{
    print_text(c, comparison, s);
    if (comparison->verdict == VERDICT_AMBIGUOUS && !c->strict)
        fputs("parprof: warning: ambiguous, taken as passed; --inconclusive fail does not\n", stderr);
    *status = status_of(comparison->verdict, c->strict);
}

bool verdict_write(const struct verdict_choices *c, const struct comparison *comparison,
                   const struct compared_sides *s, GError **error)
{
    return write_whole(c->json, comparison_json, comparison, s, error) &&
           write_whole(c->junit, comparison_junit, comparison, s, error) &&
           write_markdown(c->markdown, comparison, s, error);
}
