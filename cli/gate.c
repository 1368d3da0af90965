#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/history-file.h"
#include "cli/output.h"
#include "cli/samples.h"
#include "cli/summary.h"
#include "cli/verdicts.h"
#include "profile/clock.h"
#include "profile/gate.h"
#include "profile/stats.h"
#include "profile/table.h"

enum { BASE, NEW, SIDES };
enum { MAX_PAIRS = 64, TAIL_LINES = 5 };
#define BUDGET "300s"
#define LOG_NS 10000000000

static const char *const side_names[SIDES] = {"BASE", "NEW"};

struct gate {
    struct verdict_choices choices;
    const char *command[SIDES], *history, *budget;
    struct sampler *sampler;
    uint32_t warmup, max_pairs;
    bool quiet, terminal;
    int64_t said_ns; /* of the last line of progress that is no terminal's */
    int64_t began_ns, until_ns, shortest_pair_ns;
    struct measurement *m[SIDES]; /* its samples are the runs' medians; NULL: it has not run */
    uint32_t pairs;
    char *stopped; /* why before a verdict; NULL: there is one */
};

/* How a run, or the whole, went on. */
enum course { COURSE_ON, COURSE_OVER, COURSE_INTERRUPTED, COURSE_FAILED };

/* --- options */

static bool pick_budget(struct gate *g, const struct options *o, GError **error)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
    const char *end;
    double number;
    g->budget = option_text(o, OPTION_BUDGET, BUDGET);
    const bool good = decimal_begin(g->budget, &end, &number);
    for (unsigned i = 0; good && i < G_N_ELEMENTS(units); i++)
        if (!strcmp(end, units[i].name) && number > 0 && number * units[i].seconds <= 1e6) {
            g->until_ns = (int64_t)(number * units[i].seconds * 1e9);
            return true;
        }
    return option_unknown(error, OPTION_BUDGET, g->budget,
                          "a time such as 300s, 10m or 1h, of at most 1e6 s");
}

static bool only_of_step(const struct gate *g, GError **error)
{
    for (unsigned m = 0; m < METRICS; m++)
        if (m != METRIC_STEP && g->choices.relative[m] >= 0) {
            g_set_error(error, OPTION_ERROR, 0, "the gate is of step times: --threshold takes no %s here",
                        metrics[m].key);
            return false;
        }
    return true;
}

static bool needs(const struct options *o, enum option_id id, const char *form, const char **text,
                  GError **error)
{
    *text = option_text(o, id, NULL);
    if (!*text)
        g_set_error(error, OPTION_ERROR, 0, "'gate' needs --%s %s", option_name(id), form);
    return *text != NULL;
}

static bool choose(struct gate *g, const struct options *o, GError **error)
{
    const char *samples;
    g->history = option_text(o, OPTION_HISTORY, NULL);
    g->warmup = (uint32_t)option_number(o, OPTION_WARMUP, 0);
    g->max_pairs = (uint32_t)option_number(o, OPTION_MAX_PAIRS, MAX_PAIRS);
    g->quiet = o->given[OPTION_QUIET];
    g->terminal = isatty(STDERR_FILENO);
    if (!needs(o, OPTION_BASE, "'CMD'", &g->command[BASE], error) ||
        !needs(o, OPTION_NEW, "'CMD'", &g->command[NEW], error) ||
        !needs(o, OPTION_SAMPLES, "regex:RE, jsonl:KEY or trace:FILE", &samples, error))
        return false;
    g->sampler = sampler_open(samples, option_text(o, OPTION_UNIT, NULL), error);
    return g->sampler && pick_budget(g, o, error) && verdict_choose(&g->choices, o, error) &&
           only_of_step(g, error) && (!g->history || output_check(g->history, error));
}

/* --- a run */

/* A terminal has one line of it, a log a new one now and then. */
static bool is_due(struct gate *g)
{
    const int64_t now_ns = clock_ns();
    if (g->quiet || (!g->terminal && now_ns - MAX(g->said_ns, g->began_ns) < LOG_NS))
        return false;
    g->said_ns = now_ns;
    return true;
}

static void show_progress(struct gate *g, unsigned side, const struct gate_look *look)
{
    char change[G_ASCII_DTOSTR_BUF_SIZE] = "";
    if (!is_due(g))
        return;
    if (g->pairs) {
        const double base = stats_median(g->m[BASE]->x[METRIC_STEP], g->pairs),
                     new = stats_median(g->m[NEW]->x[METRIC_STEP], g->pairs);
        g_ascii_formatd(change, sizeof change, "%+.1f", 100 * (new / base - 1));
    }
    fprintf(stderr, "%spair %u of %u: %s runs%s%s%s; %d s of %s%s",
            g->terminal ? "\r\033[K" : "parprof: ", g->pairs + 1, look->pairs, side_names[side],
            *change ? "; so far " : "", change, *change ? " %" : "",
            (int)((clock_ns() - g->began_ns) / 1000000000), g->budget, g->terminal ? "" : "\n");
}

static void clear_progress(const struct gate *g)
{
    if (g->terminal && !g->quiet)
        fputs("\r\033[K", stderr);
}

/* The error names the run; what it printed last helps to see why. */
static void name_run(const struct gate *g, unsigned side, const char *what, const struct child_result *r,
                     bool of_errors, GError **error)
{
    g_autofree char *command = printable_ends(g->command[side], PRINTABLE_PART),
                    *last = child_last_lines(of_errors || !r->out->len ? r->err : r->out, TAIL_LINES);
    const char *where = of_errors || !r->out->len ? "standard error" : "standard output";
    g_set_error(error, OPTION_ERROR, 0, "%s, run %u ('%s'): %s; its %s %s%s", side_names[side], g->pairs + 1,
                command, what, where, *last ? "ends with: " : "says nothing", last);
}

/* The first run of a side says what it is of; the others must be of the same. */
static void add_run(struct gate *g, unsigned side, struct measurement *run)
{
    struct measurement *m = g->m[side];
    const double median = run->n[METRIC_STEP] ? stats_median(run->x[METRIC_STEP], run->n[METRIC_STEP]) : 0;
    char *why = g_steal_pointer(&run->why_not);
    if (!m) {
        m = g->m[side] = run;
        g_free(m->name);
        m->name = g_strdup(g->command[side]);
        for (unsigned i = 0; i < METRICS; i++) {
            g_clear_pointer(&m->x[i], g_free);
            m->n[i] = 0;
        }
        m->x[METRIC_STEP] = g_new0(double, g->max_pairs);
    } else {
        why =
            why ? why
                : fingerprint_difference(&m->fingerprint, "its first run", &run->fingerprint, "a later one");
        measurement_free(run);
    }
    m->x[METRIC_STEP][g->pairs] = median;
    if (why && !m->why_not)
        m->why_not = g_steal_pointer(&why);
    g_free(why);
}

static enum course take_samples(struct gate *g, unsigned side, const struct child_result *r, GError **error)
{
    g_autoptr(GError) why = NULL;
    g_autofree char *failure = child_failure(r);
    if (failure) {
        name_run(g, side, failure, r, true, error);
        return COURSE_FAILED;
    }
    struct measurement *run = sampler_end(g->sampler, g->warmup, &why);
    if (!run) {
        name_run(g, side, why->message, r, false, error);
        return COURSE_FAILED;
    }
    add_run(g, side, run);
    return COURSE_ON;
}

static enum course run_side(struct gate *g, unsigned side, GError **error)
{
    const char *const argv[] = {"/bin/sh", "-c", g->command[side], NULL};
    const struct child child = {argv, g->until_ns, sampler_line, g->sampler};
    struct child_result result;
    enum course course = COURSE_ON;
    sampler_begin(g->sampler);
    if (!child_run(&child, &result, error))
        return COURSE_FAILED;
    if (result.how == CHILD_ENDED)
        course = take_samples(g, side, &result, error);
    else if (result.how == CHILD_INTERRUPTED)
        course = COURSE_INTERRUPTED;
    else {
        g->stopped = g_strdup_printf("the budget of %s was over while %s ran", g->budget, side_names[side]);
        course = COURSE_OVER;
    }
    child_result_release(&result);
    return course;
}

/* --- the sequence */

static enum course run_pair(struct gate *g, const struct gate_look *look, GError **error)
{
    const int64_t began_ns = clock_ns();
    const unsigned first = gate_new_first(g->pairs) ? NEW : BASE;
    for (unsigned i = 0; i < SIDES; i++) {
        show_progress(g, i ? !first : first, look);
        const enum course course = run_side(g, i ? !first : first, error);
        if (course != COURSE_ON)
            return course;
    }
    const int64_t took_ns = clock_ns() - began_ns;
    g->shortest_pair_ns = g->pairs ? MIN(g->shortest_pair_ns, took_ns) : took_ns;
    g->pairs++;
    for (unsigned i = 0; i < SIDES; i++)
        g->m[i]->n[METRIC_STEP] = g->pairs;
    return COURSE_ON;
}

/* What cannot be reached need not be waited for; a first pair is often slow. */
static bool fits(struct gate *g, const struct gate_look *look)
{
    const uint32_t left = look->pairs - g->pairs;
    const double needed_ns = (double)left * g->shortest_pair_ns, now_ns = clock_ns();
    if (left == 0 || g->pairs < 2 || now_ns + needed_ns <= g->until_ns)
        return true;
    g->stopped = g_strdup_printf(
        "%u pairs, of %.3g s at least, do not fit the budget of %s: raise --budget to %.0f s", look->pairs,
        g->shortest_pair_ns / 1e9, g->budget, ceil(1.1 * (now_ns + needed_ns - g->began_ns) / 1e9));
    return false;
}

static enum course run_to(struct gate *g, const struct gate_look *look, const struct compared_sides *s,
                          GError **error)
{
    while (g->pairs < look->pairs) {
        const enum course course = run_pair(g, look, error);
        if (course != COURSE_ON)
            return course;
        g_autofree char *obstacle = comparison_obstacle(&s->base, &s->new);
        if (obstacle || !fits(g, look))
            return COURSE_OVER;
    }
    return COURSE_ON;
}

static enum course run_all(struct gate *g, struct compared_sides *s, struct comparison *c, GError **error)
{
    for (const struct gate_look *look = gate_next_look(0); look; look = gate_next_look(g->pairs)) {
        if (look->pairs > g->max_pairs) {
            g->stopped = g_strdup_printf("the next look is after %u pairs: raise --max-pairs", look->pairs);
            return COURSE_OVER;
        }
        const enum course course = run_to(g, look, s, error);
        if (course != COURSE_ON)
            return course;
        comparison_release(c);
        gate_compare(&s->base, &s->new, g->choices.relative[METRIC_STEP], c);
        if (c->verdict != VERDICT_AMBIGUOUS)
            return COURSE_ON;
    }
    g->stopped = g_strdup("there is no later look");
    return COURSE_OVER;
}

/* --- what comes of it */

static void add_reason(char **why, const char *more)
{
    char *both = *why ? g_strdup_printf("%s; %s", *why, more) : g_strdup(more);
    g_free(*why);
    *why = both;
}

/* What the last look says, if there was one, and why there was no later. */
static void explain(const struct gate *g, const struct compared_sides *s, struct comparison *c)
{
    char percent[G_ASCII_DTOSTR_BUF_SIZE];
    comparison_release(c);
    gate_compare(&s->base, &s->new, g->choices.relative[METRIC_STEP], c);
    if (g->stopped)
        add_reason(c->verdict == VERDICT_AMBIGUOUS ? &c->of[METRIC_STEP].why : &c->why, g->stopped);
    const uint32_t looked_at = c->of[METRIC_STEP].there ? c->of[METRIC_STEP].n[NEW] : g->pairs;
    c->how = g_strdup_printf("%u pairs by turns (A B B A, B A A B), a number a run, the change that of "
                             "pairs; equal programs are called "
                             "slower at most %s %% of the time, all looks together",
                             looked_at, g_ascii_formatd(percent, sizeof percent, "%.1f", 100 * GATE_FALSE));
}

/* Nothing of a program that is not ours is known but its command. */
static void name_work(const struct gate *g, const struct options *o, struct measurement *m)
{
    if (m->fingerprint.must[0])
        return;
    const char *const must[] = {"mode",    "gate",
                                "model",   g->command[NEW],
                                "samples", option_text(o, OPTION_SAMPLES, ""),
                                "unit",    option_text(o, OPTION_UNIT, "ms"),
                                NULL};
    fingerprint_release(&m->fingerprint);
    m->fingerprint = (struct fingerprint){g_strdupv((char **)must), summary_circumstances()};
}

static void record(const struct gate *g, const struct options *o, int verdict, int *status)
{
    g_autoptr(GError) why = NULL;
    if (!g->history || !g->m[NEW]->n[METRIC_STEP])
        return;
    name_work(g, o, g->m[NEW]);
    if (history_append(g->history, g->m[NEW], verdict_name((unsigned)verdict), &why))
        return;
    fprintf(stderr, "parprof: %s; the verdict stands\n", why->message);
    *status = *status ? *status : EXIT_USAGE;
}

/* A side that never came to an end has a name all the same. */
static void complete_sides(struct gate *g)
{
    for (unsigned i = 0; i < SIDES; i++)
        if (!g->m[i]) {
            struct measurement *m = g->m[i] = g_new0(struct measurement, 1);
            m->name = g_strdup(g->command[i]);
            m->fingerprint = (struct fingerprint){g_new0(char *, 1), g_new0(char *, 1)};
        }
}

static bool conclude(struct gate *g, const struct options *o, struct compared_sides *s, struct comparison *c,
                     int *status, GError **error)
{
    complete_sides(g);
    explain(g, s, c);
    verdict_print(&g->choices, c, s, status);
    record(g, o, c->verdict, status);
    return verdict_write(&g->choices, c, s, error);
}

static bool gate_command(const struct options *o, int *status, GError **error)
{
    struct gate g = {0};
    struct comparison c = {0};
    bool ok = choose(&g, o, error);
    if (ok) {
        struct compared_sides s = {
            {side_names[BASE], &g.m[BASE], 1}, {side_names[NEW], &g.m[NEW], 1}, g.choices.strict, "gate"};
        child_catch_interrupt();
        g.began_ns = clock_ns();
        g.until_ns += g.began_ns;
        const enum course course = run_all(&g, &s, &c, error);
        clear_progress(&g);
        ok = course != COURSE_FAILED;
        if (course == COURSE_INTERRUPTED) {
            fprintf(stderr, "parprof: interrupted after %u pairs: no verdict\n", g.pairs);
            *status = EXIT_INTERRUPTED;
        } else if (ok) {
            ok = conclude(&g, o, &s, &c, status, error);
        }
    }
    comparison_release(&c);
    for (unsigned i = 0; i < SIDES; i++)
        measurement_free(g.m[i]);
    sampler_free(g.sampler);
    g_free(g.stopped);
    return ok;
}

const struct command command_gate = {
    "gate", "whether a program got slower: any two commands, run by turns until it is clear", gate_command};
