#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/history-file.h"
#include "cli/output.h"
#include "cli/sides.h"
#include "profile/compare-out.h"

/* What the options choose, checked before anything is read. */
struct choices {
    double relative[METRICS];
    bool strict, seed, quiet, record;
    const char *json, *junit, *markdown;
};

/* --- options */

static bool pick_word(const struct options *o, enum option_id id, const char *first, const char *second,
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
    char *end;
    const double percent = g_ascii_strtod(number, &end);
    if (metric == METRICS || metrics[metric].kind == METRIC_SHOWN || end == number || *end ||
        strpbrk(number, "xX") || !(percent >= 0 && percent <= 1000))
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

static bool outputs_apart(const struct choices *c, GError **error)
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

static bool choose(struct choices *c, const struct options *o, GError **error)
{
    *c = (struct choices){.quiet = o->given[OPTION_QUIET],
                          .record = o->given[OPTION_RECORD],
                          .json = option_text(o, OPTION_JSON, NULL),
                          .junit = option_text(o, OPTION_JUNIT, NULL),
                          .markdown = option_text(o, OPTION_MARKDOWN, NULL)};
    return pick_word(o, OPTION_INCONCLUSIVE, "pass", "fail", &c->strict, error) &&
           pick_word(o, OPTION_ON_MISSING, "fail", "seed", &c->seed, error) &&
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

static void print_passed_over(const struct sides *sides)
{
    if (sides->passed_over)
        fprintf(stderr, "parprof: passed over %u lines or files that are no report\n", sides->passed_over);
}

static void print_text(const struct choices *c, const struct comparison *comparison,
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

/* --- history */

static bool append_all(const struct sides *sides, const char *verdict, GError **error)
{
    for (guint i = 0; i < sides->new->len; i++)
        if (!history_append(sides->history, sides->new->pdata[i], verdict, error))
            return false;
    return true;
}

/* There is nothing to compare with. */
static bool begin_history(const struct sides *sides, const struct choices *c, int *status, GError **error)
{
    const struct measurement *new = sides->new->pdata[0];
    if (!c->seed) {
        g_set_error(
            error, OPTION_ERROR, 0,
            "nothing was compared: '%s' has no run of the same work; --on-missing seed begins with this one",
            sides->history);
        return false;
    }
    if (new->why_not) {
        printf("INCOMPARABLE: %s: %s; not taken to begin with\n", new->name, new->why_not);
        *status = EXIT_INCOMPARABLE;
        return true;
    }
    if (!append_all(sides, NULL, error))
        return false;
    printf("nothing to compare with yet: %s begins with %s\n", sides->history, new->name);
    return true;
}

/* What cannot be kept is said; the verdict stands. */
static void record(const struct sides *sides, int verdict, int *status)
{
    g_autoptr(GError) why = NULL;
    if (append_all(sides, verdict_name((unsigned)verdict), &why))
        return;
    fprintf(stderr, "parprof: %s; the verdict stands\n", why->message);
    *status = *status ? *status : EXIT_USAGE;
}

/* --- the command */

static bool compare_sides(const struct sides *sides, const struct choices *c, int *status, GError **error)
{
    struct compared_sides s = {{"BASE", (struct measurement *const *)sides->base->pdata, sides->base->len},
                               {"NEW", (struct measurement *const *)sides->new->pdata, sides->new->len},
                               c->strict,
                               "compare"};
    struct comparison comparison;
    compare(&s.base, &s.new, c->relative, &comparison);
    print_text(c, &comparison, &s);
    if (comparison.verdict == VERDICT_AMBIGUOUS && !c->strict)
        fputs("parprof: warning: ambiguous, taken as passed; --inconclusive fail does not\n", stderr);
    *status = status_of(comparison.verdict, c->strict);
    if (c->record)
        record(sides, comparison.verdict, status);
    const bool ok = write_whole(c->json, comparison_json, &comparison, &s, error) &&
                    write_whole(c->junit, comparison_junit, &comparison, &s, error) &&
                    write_markdown(c->markdown, &comparison, &s, error);
    comparison_release(&comparison);
    return ok;
}

static bool compare_command(const struct options *o, int *status, GError **error)
{
    struct choices c;
    struct sides sides = {0};
    bool ok = choose(&c, o, error) && sides_read(&sides, o, error);
    if (ok)
        print_passed_over(&sides);
    if (ok && c.record && !sides.history) {
        g_set_error(error, OPTION_ERROR, 0, "--record appends to a history, and '%s' is none",
                    o->operands[0]);
        ok = false;
    }
    if (ok)
        ok = sides.missing ? begin_history(&sides, &c, status, error)
                           : compare_sides(&sides, &c, status, error);
    sides_release(&sides);
    return ok;
}

const struct command command_compare = {
    "compare",
    "whether a run is slower than another, for CI: reports, folders, histories",
    compare_command,
    "BASE... [--] NEW...",
    2,
    100000,
    true};
