#include <math.h>
#include <string.h>

#include "profile/compare-out.h"
#include "profile/table.h"

static char *number(const char *format, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(text, sizeof text, format, x);
    return g_strdup(strpbrk(text, "123456789") ? text : text + (*text == '-')); /* no negative zero */
}

static char *signed_percent(double part)
{
    g_autofree char *text = number("%.1f", 100 * part);
    return g_strconcat(*text == '-' ? "" : "+", text, NULL);
}

bool compared_fails(const struct compared_sides *s, int verdict)
{
    return verdict == VERDICT_SLOWER ||
           (s->strict && (verdict == VERDICT_AMBIGUOUS || verdict == VERDICT_INCOMPARABLE));
}

char *compared_number(unsigned metric, double x)
{
    static const double units[] = {[METRIC_NS] = 1e6, [METRIC_BYTES] = 1048576, [METRIC_PERCENT] = 1};
    const double scaled = x / units[metrics[metric].unit];
    return number(fabs(scaled) < 10 ? "%.3f" : fabs(scaled) < 100 ? "%.2f" : "%.1f", scaled);
}

const char *compared_unit(unsigned metric)
{
    static const char *const names[] = {[METRIC_NS] = "ms", [METRIC_BYTES] = "MiB", [METRIC_PERCENT] = "%"};
    return names[metrics[metric].unit];
}

char *compared_change(const struct compared *c, unsigned metric)
{
    if (metrics[metric].unit == METRIC_PERCENT) {
        g_autofree char *points = number("%+.1f", c->difference);
        return g_strconcat(points, " points", NULL);
    }
    if (!(c->median[0] > 0))
        return g_strdup("-");
    g_autofree char *percent = signed_percent(c->difference / c->median[0]);
    return g_strconcat(percent, " %", NULL);
}

char *compared_interval(const struct compared *c)
{
    if (c->exact || !(c->median[0] > 0))
        return g_strdup("-");
    g_autofree char *low = signed_percent(c->ci[0] / c->median[0]),
                    *high = signed_percent(c->ci[1] / c->median[0]);
    return g_strdup_printf("%s to %s %%", low, high);
}

char *compared_runs(const struct side *side)
{
    g_autofree char *first = printable(side->runs[0]->name);
    return side->n > 1 ? g_strdup_printf("%s and %u more", first, side->n - 1) : g_strdup(first);
}

char *compared_armed(const struct comparison *c)
{
    const struct compared *step = &c->of[METRIC_STEP];
    g_autofree char *percent = number("%.1f", 100 * step->detects),
                    *both = step->n[0] == step->n[1] ? g_strdup_printf("%u", step->n[0])
                                                     : g_strdup_printf("%u and %u", step->n[0], step->n[1]);
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "armed: %u metric%s", c->armed, c->armed == 1 ? "" : "s");
    if (step->there)
        g_string_append_printf(out, ", n = %s%s", both, c->by_pair ? " pairs" : c->by_run ? " runs" : "");
    if (step->there && step->detects > 0 && step->verdict != VERDICT_INCOMPARABLE)
        g_string_append_printf(out, ", detects \u2265 %s %% of the step", percent);
    return g_string_free(out, FALSE);
}

char *compared_where(const struct comparison *c, const struct compared_sides *s)
{
    const bool differ =
        c->verdict == VERDICT_SLOWER || c->verdict == VERDICT_FASTER || c->verdict == VERDICT_AMBIGUOUS;
    return s->where && !c->why && differ ? where_sentence(s->where, s->base.name, s->new.name) : NULL;
}

static char *p_text(const struct compared *c)
{
    if (c->exact)
        return g_strdup("-");
    return number(c->adjusted < 1e-4 ? "%.0e" : "%.4f", c->adjusted);
}

static void add_row(const struct compared *c, unsigned metric, struct table *table)
{
    g_autofree char *shouted = g_ascii_strup(verdict_name((unsigned)c->verdict), -1);
    g_autofree char *note = c->why ? g_strdup_printf("  %s", c->why) : NULL;
    table_cell(table, g_strdup_printf("%s, %s", metrics[metric].title, compared_unit(metric)));
    table_cell(table, compared_number(metric, c->median[0]));
    table_cell(table, compared_number(metric, c->median[1]));
    table_cell(table, compared_change(c, metric));
    table_cell(table, compared_interval(c));
    table_cell(table, p_text(c));
    table_cell(table, c->verdict == VERDICT_NONE ? g_strdup("shown") : g_steal_pointer(&shouted));
    table_end_row(table, c->verdict == VERDICT_NONE ? NULL : note);
}

static void print_table(const struct comparison *c, GString *out)
{
    struct table table;
    table_init(&table, "<metric", ">BASE", ">NEW", ">change", ">95 % interval", ">p", "<verdict", NULL);
    table_end_row(&table, NULL);
    for (unsigned m = 0; m < METRICS; m++)
        if (c->of[m].there)
            add_row(&c->of[m], m, &table);
    if (table.notes->len > 1)
        table_print(&table, out);
    table_release(&table);
}

/* What would see more, by this noise. */
static void print_advice(const struct comparison *c, GString *out)
{
    const struct compared *step = &c->of[METRIC_STEP];
    if (c->by_pair || !step->there || step->exact)
        return;
    if (step->sharper && step->verdict != VERDICT_INCOMPARABLE) {
        g_autofree char *percent = number("%.3g", 200 * step->threshold / step->median[0]);
        g_string_append_printf(out, "for %s %%: --%s %u a side\n", percent, c->by_run ? "processes" : "steps",
                               step->sharper);
    }
    if (!c->by_run)
        g_string_append(out, "steps of one process resemble each other: --processes 10 a side is surer\n");
}

void comparison_print(const struct comparison *c, const struct compared_sides *s, GString *out)
{
    g_autofree char *all_base = compared_runs(&s->base), *all_new = compared_runs(&s->new),
                    *base = printable_ends(all_base, PRINTABLE_PART),
                    *new = printable_ends(all_new, PRINTABLE_PART), *armed = compared_armed(c),
                    *where = compared_where(c, s),
                    *shouted = g_ascii_strup(verdict_name((unsigned)c->verdict), -1);
    g_string_append_printf(out, "BASE %s, NEW %s\n", base, new);
    print_table(c, out);
    g_string_append_printf(out, "%s\n", armed);
    print_advice(c, out);
    if (c->how)
        g_string_append_printf(out, "%s\n", c->how);
    if (c->changes) {
        g_autofree char *changes = printable(c->changes);
        g_string_append_printf(out, "differs, and may: %s\n", changes);
    }
    if (where)
        g_string_append_printf(out, "%s\n", where);
    if (c->why) {
        g_autofree char *why = printable(c->why);
        g_string_append_printf(out, "%s: %s\n", shouted, why);
    } else {
        g_string_append_printf(out, "%s\n", shouted);
    }
}
