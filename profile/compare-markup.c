/* JUnit's XML, Markdown and annotations of GitHub: the same cases, escaped each in its way. */
#include <string.h>

#include "profile/compare-out.h"
#include "profile/table.h"

/* A test case: a metric that is gated, or the comparison as a whole where that says more. */
struct test_case {
    const char *name;
    int verdict;
    char *text; /* what was found, for people; printable */
};

static char *describe(const struct compared *c, unsigned metric, const char *where)
{
    g_autofree char *base = compared_number(metric, c->median[0]),
                    *new = compared_number(metric, c->median[1]), *change = compared_change(c, metric),
                    *why = c->why ? printable(c->why) : NULL;
    return g_strdup_printf("%s: %s, %s to %s %s (%s)%s%s%s%s", metrics[metric].title,
                           verdict_name((unsigned)c->verdict), base, new, compared_unit(metric), change,
                           why ? ": " : "", why ? why : "", where ? "; " : "", where ? where : "");
}

/* At most METRICS + 1. */
static unsigned list_cases(const struct comparison *c, const struct compared_sides *s, struct test_case *cases)
{
    g_autofree char *where = compared_where(c, s);
    unsigned n = 0;
    for (unsigned m = 0; m < METRICS; m++)
        if (c->of[m].there && c->of[m].verdict != VERDICT_NONE)
            cases[n++] = (struct test_case){metrics[m].key, c->of[m].verdict,
                                            describe(&c->of[m], m, m == METRIC_STEP ? where : NULL)};
    if (!n)
        cases[n++] = (struct test_case){"comparison", c->verdict, printable(c->why)};
    return n;
}

static void release_cases(struct test_case *cases, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        g_free(cases[i].text);
}

static bool is_skipped(const struct compared_sides *s, int verdict)
{
    return !compared_fails(s, verdict) && (verdict == VERDICT_AMBIGUOUS || verdict == VERDICT_INCOMPARABLE);
}

void comparison_junit(const struct comparison *c, const struct compared_sides *s, GString *out)
{
    struct test_case cases[METRICS + 1];
    unsigned n = list_cases(c, s, cases), failed = 0, skipped = 0;
    for (unsigned i = 0; i < n; i++) {
        failed += compared_fails(s, cases[i].verdict);
        skipped += is_skipped(s, cases[i].verdict);
    }
    g_string_append_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"parprof %s\" "
        "tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\">\n",
        s->command, n, failed, skipped);
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *text = g_markup_escape_text(cases[i].text, -1);
        const char *inside = compared_fails(s, cases[i].verdict) ? "failure"
                             : is_skipped(s, cases[i].verdict)   ? "skipped"
                                                                 : NULL;
        g_string_append_printf(out, "<testcase classname=\"parprof.%s\" name=\"%s\">", s->command,
                               cases[i].name);
        if (inside)
            g_string_append_printf(out, "<%s message=\"%s\"/>", inside, text);
        else
            g_string_append_printf(out, "<system-out>%s</system-out>", text);
        g_string_append(out, "</testcase>\n");
    }
    g_string_append(out, "</testsuite>\n</testsuites>\n");
    release_cases(cases, n);
}

/* --- Markdown */

/* Nothing in it is markup, HTML, a cell's end or a link of GitHub's. */
static void markdown_text(GString *out, const char *text)
{
    g_autofree char *shown = printable(text);
    for (const char *at = shown; *at; at++) {
        if (strchr("\\`*_{}[]()#+!|~@<>&", *at))
            g_string_append_printf(out, "&#%d;", *at);
        else
            g_string_append_c(out, *at);
    }
}

static void markdown_row(GString *out, const struct compared *c, unsigned metric)
{
    static const char *const marks[VERDICTS] = {[VERDICT_SAME] = "same",
                                                [VERDICT_FASTER] = "**faster**",
                                                [VERDICT_SLOWER] = "**SLOWER**",
                                                [VERDICT_AMBIGUOUS] = "ambiguous",
                                                [VERDICT_INCOMPARABLE] = "incomparable",
                                                [VERDICT_NONE] = "shown"};
    g_autofree char *base = compared_number(metric, c->median[0]),
                    *new = compared_number(metric, c->median[1]), *change = compared_change(c, metric),
                    *interval = compared_interval(c);
    g_string_append_printf(out, "| %s, %s | %s | %s | %s | %s | %s | ", metrics[metric].title,
                           compared_unit(metric), base, new, change, interval, marks[c->verdict]);
    if (c->why)
        markdown_text(out, c->why);
    g_string_append(out, " |\n");
}

/* Cut where a character begins. */
static void keep_room(GString *out, gsize before, gsize room)
{
    static const char note[] = "\n\n(cut: GitHub takes no more)\n";
    if (out->len - before <= room)
        return;
    gsize end = before + (room > sizeof note ? room - sizeof note : 0);
    while (end > before && (out->str[end] & 0xc0) == 0x80)
        end--;
    g_string_truncate(out, end);
    if (room > sizeof note)
        g_string_append(out, note);
}

void comparison_markdown(const struct comparison *c, const struct compared_sides *s, gsize room, GString *out)
{
    const gsize before = out->len;
    g_autofree char *base = compared_runs(&s->base), *new = compared_runs(&s->new),
                    *armed = compared_armed(c), *where = compared_where(c, s);
    g_string_append_printf(out, "### parprof %s: %s\n\n", s->command, verdict_name((unsigned)c->verdict));
    if (c->why) {
        markdown_text(out, c->why);
        g_string_append(out, "\n\n");
    }
    if (where) {
        markdown_text(out, where);
        g_string_append(out, "\n\n");
    }
    g_string_append(out, "| metric | BASE | NEW | change | 95 % interval | verdict | why |\n"
                         "|---|--:|--:|--:|--:|---|---|\n");
    for (unsigned m = 0; m < METRICS; m++)
        if (c->of[m].there)
            markdown_row(out, &c->of[m], m);
    g_string_append(out, "\nBASE ");
    markdown_text(out, base);
    g_string_append(out, ", NEW ");
    markdown_text(out, new);
    g_string_append_printf(out, "; %s\n", armed);
    if (c->how) {
        g_string_append(out, "\n");
        markdown_text(out, c->how);
        g_string_append(out, "\n");
    }
    if (c->changes) {
        g_string_append(out, "\nDiffers, and may: ");
        markdown_text(out, c->changes);
        g_string_append(out, "\n");
    }
    g_string_append(out, "\n");
    keep_room(out, before, room);
}

/* --- annotations */

G_STATIC_ASSERT(METRICS + 1 <= 10);

void comparison_annotations(const struct comparison *c, const struct compared_sides *s, GString *out)
{
    struct test_case cases[METRICS + 1];
    const unsigned n = list_cases(c, s, cases);
    for (unsigned i = 0; i < n; i++) {
        if (!compared_fails(s, cases[i].verdict))
            continue;
        g_auto(GStrv) parts = g_strsplit(cases[i].text, "%", -1);
        g_autofree char *text = g_strjoinv("%25", parts); /* printable: no line ends */
        g_string_append_printf(out, "::error title=parprof %s::%s\n", s->command, text);
    }
    release_cases(cases, n);
}
