#include "cli/samples.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/decimal.h"
#include "base/json.h"
#include "cli/input.h"
#include "cli/options.h"
#include "profile/import.h"
#include "profile/profiler-steps.h"
#include "profile/report.h"
#include "profile/table.h"

#define STEPS_MAX 1000000

enum { OF_REGEX, OF_JSONL, OF_TRACE, KINDS };
static const char *const kinds[KINDS] = {"regex:", "jsonl:", "trace:"};

struct sampler {
    unsigned kind;
    char *what; /* the expression, the key, the file */
    GRegex *regex;
    double ns; /* of a unit; 0: the numbers are rates a second */
    struct stat before;
    bool was_there;
    GArray *x;     /* double, ns */
    GError *wrong; /* the first that is of this run */
};

static bool pick_unit(struct sampler *s, const char *unit, GError **error)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"per-s", 0}};
    for (unsigned i = 0; i < G_N_ELEMENTS(units); i++)
        if (!strcmp(unit ? unit : "ms", units[i].name)) {
            s->ns = units[i].ns;
            return true;
        }
    return option_unknown(error, OPTION_UNIT, unit, "ns, us, ms, s or per-s");
}

static bool open_regex(struct sampler *s, GError **error)
{
    g_autoptr(GError) why = NULL;
    s->regex = g_regex_new(s->what, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, &why);
    if (s->regex && g_regex_get_capture_count(s->regex) > 0)
        return true;
    g_set_error(error, OPTION_ERROR, 0, "--samples %s%s: %s", kinds[OF_REGEX], s->what,
                why ? why->message
                    : "it needs a group around the number, as in regex:step time: ([0-9.]+) ms");
    return false;
}

struct sampler *sampler_open(const char *spec, const char *unit, GError **error)
{
    struct sampler *s = g_new0(struct sampler, 1);
    s->x = g_array_new(FALSE, FALSE, sizeof(double));
    while (s->kind < KINDS && !g_str_has_prefix(spec, kinds[s->kind]))
        s->kind++;
    if (s->kind < KINDS)
        s->what = g_strdup(spec + strlen(kinds[s->kind]));
    bool ok = s->kind < KINDS && *s->what;
    if (!ok)
        option_unknown(error, OPTION_SAMPLES, spec, "regex:RE, jsonl:KEY or trace:FILE");
    else if (s->kind == OF_TRACE && unit) {
        g_set_error_literal(error, OPTION_ERROR, 0,
                            "--unit is of numbers, and a trace says its own: leave it out");
        ok = false;
    }
    ok = ok && pick_unit(s, unit, error) && (s->kind != OF_REGEX || open_regex(s, error));
    if (ok)
        return s;
    sampler_free(s);
    return NULL;
}

void sampler_free(struct sampler *s)
{
    if (!s)
        return;
    if (s->regex)
        g_regex_unref(s->regex);
    g_array_unref(s->x);
    g_clear_error(&s->wrong);
    g_free(s->what);
    g_free(s);
}

void sampler_begin(struct sampler *s)
{
    g_array_set_size(s->x, 0);
    g_clear_error(&s->wrong);
    s->was_there = s->kind == OF_TRACE && !stat(s->what, &s->before);
}

/* --- lines */

static void wrong(struct sampler *s, const char *what, const char *text, gsize n)
{
    g_autofree char *line = g_strndup(text, MIN(n, 120)), *shown = printable(line);
    if (!s->wrong)
        s->wrong = g_error_new(OPTION_ERROR, 0, "%s: \"%s\"", what, shown);
}

static void take(struct sampler *s, double number, const char *line, gsize n)
{
    const double ns = s->ns > 0 ? number * s->ns : 1e9 / number;
    if (!(number > 0 && isfinite(ns) && ns > 0))
        wrong(s, "a step's time should be above 0, in", line, n);
    else if (s->x->len == STEPS_MAX)
        wrong(s, "more than a million steps; the last is in", line, n);
    else
        g_array_append_val(s->x, ns);
}

static void take_matches(struct sampler *s, const char *line, gsize n)
{
    GMatchInfo *match = NULL;
    g_autoptr(GError) why = NULL;
    g_regex_match_full(s->regex, line, (gssize)n, 0, 0, &match, &why);
    while (!why && g_match_info_matches(match)) {
        int from = -1, to = -1;
        double number;
        if (g_match_info_fetch_pos(match, 1, &from, &to) && from >= 0) {
            if (decimal_double(line + from, line + to, &number))
                take(s, number, line, n);
            else
                wrong(s, "what the group of the expression matches is no number, in", line, n);
        }
        g_match_info_next(match, &why);
    }
    if (why)
        wrong(s, "the expression takes too long to match", line, n);
    g_match_info_free(match);
}

/* Lines that are no JSON are a program's other output. */
static void take_member(struct sampler *s, const char *line, gsize n)
{
    double number = 0;
    bool there = false, other = false;
    struct json *j = json_open(line, n, "line");
    if (json_peek(j) == JSON_OBJECT) {
        json_object(j);
        for (const char *key; (key = json_key(j));) {
            if (strcmp(key, s->what))
                json_skip(j);
            else if (json_peek(j) == JSON_NUMBER) {
                number = json_number(j);
                there = true;
            } else {
                other = json_peek(j) != JSON_NULL;
                json_skip(j);
            }
        }
    }
    const bool whole = !json_cut(j);
    if (json_close(j, NULL) && whole && there)
        take(s, number, line, n);
    else if (whole && other)
        wrong(s, "the member is no number, in", line, n);
}

void sampler_line(void *sampler, const char *line, gsize n)
{
    struct sampler *s = sampler;
    if (s->wrong)
        return;
    if (s->kind == OF_REGEX)
        take_matches(s, line, n);
    else if (s->kind == OF_JSONL)
        take_member(s, line, n);
}

/* --- files */

static struct measurement *measurement_new(const char *name, const GArray *x)
{
    struct measurement *m = g_new0(struct measurement, 1);
    m->name = g_strdup(name);
    m->fingerprint = (struct fingerprint){g_new0(char *, 1), g_new0(char *, 1)};
    m->n[METRIC_STEP] = x->len;
    m->x[METRIC_STEP] = g_memdup2(x->data, x->len * sizeof(double));
    return m;
}

/* A trace of ours says as much of a run as its report. */
static struct measurement *of_trace(const char *text, gsize n, const char *name, GError **error)
{
    struct trace trace;
    struct analysis analysis;
    struct measurement *m = NULL;
    if (!import_trace(text, n, name, &trace, error))
        return NULL;
    if (analyze(&trace, &analysis, error)) {
        const struct report report = {
            .trace = &trace, .analysis = &analysis, .backend = trace_label_value(&trace, "engine")};
        g_autoptr(GString) json = g_string_new(NULL);
        report_json(&report, json);
        m = measurement_of_report(json->str, json->len, name, error);
        analysis_release(&analysis);
    }
    trace_release(&trace);
    return m;
}

static struct measurement *read_file(struct sampler *s, GError **error)
{
    gsize n;
    struct stat now;
    if (s->was_there && !stat(s->what, &now) && now.st_ino == s->before.st_ino &&
        now.st_size == s->before.st_size && now.st_mtim.tv_sec == s->before.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == s->before.st_mtim.tv_nsec) {
        g_set_error(error, OPTION_ERROR, 0, "it did not write '%s', which is from before", s->what);
        return NULL;
    }
    g_autofree char *text = file_read(s->what, &n, error);
    if (!text)
        return NULL;
    const char *kind = import_kind(text, n, s->what, NULL);
    if (kind && !strcmp(kind, "trace"))
        return of_trace(text, n, s->what, error);
    if ((kind && !strcmp(kind, "report")) || g_strstr_len(text, (gssize)MIN(n, 4096), "\"parprof.report/"))
        return measurement_of_report(text, n, s->what, error);
    return profiler_steps(text, n, s->what, s->x, error) ? measurement_new(s->what, s->x) : NULL;
}

static bool drop_warmup(struct measurement *m, uint32_t warmup, GError **error)
{
    const uint32_t n = m->n[METRIC_STEP];
    double *x = m->x[METRIC_STEP];
    if (n <= warmup && !m->why_not) {
        g_set_error(error, OPTION_ERROR, 0, "it gave %u step%s, and --warmup drops %u", n, n == 1 ? "" : "s",
                    warmup);
        return false;
    }
    if (n > warmup && warmup) {
        memmove(x, x + warmup, (n - warmup) * sizeof *x);
        m->n[METRIC_STEP] = n - warmup;
    }
    return true;
}

struct measurement *sampler_end(struct sampler *s, uint32_t warmup, GError **error)
{
    struct measurement *m = NULL;
    if (s->wrong)
        g_propagate_error(error, g_steal_pointer(&s->wrong));
    else if (s->kind == OF_TRACE)
        m = read_file(s, error);
    else if (s->x->len)
        m = measurement_new("", s->x);
    else
        g_set_error(error, OPTION_ERROR, 0, "its standard output has nothing for --samples %s%s",
                    kinds[s->kind], s->what);
    if (m && drop_warmup(m, warmup, error))
        return m;
    measurement_free(m);
    return NULL;
}
