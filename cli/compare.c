#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/history-file.h"
#include "cli/side-traces.h"
#include "cli/sides.h"
#include "cli/verdicts.h"

/* What the options choose, checked before anything is read. */
struct choices {
    struct verdict_choices verdict;
    bool seed, record;
};

static bool choose(struct choices *c, const struct options *o, GError **error)
{
    c->record = o->given[OPTION_RECORD];
    return verdict_choose(&c->verdict, o, error) &&
           verdict_pick_word(o, OPTION_ON_MISSING, "fail", "seed", &c->seed, error);
}

static void print_passed_over(const struct sides *sides)
{
    if (sides->passed_over)
        fprintf(stderr, "parprof: passed over %u line%s no report\n", sides->passed_over,
                sides->passed_over == 1 ? " or file that is" : "s or files that are");
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
        const bool there = access(sides->history, F_OK) == 0;
        g_set_error(error, OPTION_ERROR, 0,
                    "nothing was compared: %s '%s'%s; --on-missing seed begins with this one",
                    there ? "no run of the same work is in" : "there is no", sides->history,
                    there ? "" : ", neither a report nor a history");
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
                               c->verdict.strict,
                               "compare"};
    struct comparison comparison;
    struct where where;
    compare(&s.base, &s.new, c->verdict.relative, &comparison);
    s.where = !comparison.why && sides_where(&s.base, &s.new, &where) ? &where : NULL;
    verdict_print(&c->verdict, &comparison, &s, status);
    if (c->record)
        record(sides, comparison.verdict, status);
    const bool ok = verdict_write(&c->verdict, &comparison, &s, error);
    if (s.where)
        where_release(&where);
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
