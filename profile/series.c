#include "profile/series.h"

#include "profile/report-text.h"
#include "profile/table.h"

#define MIB 1048576.0

void series_find_best(struct series *s)
{
    s->best = UINT32_MAX;
    for (uint32_t i = 0; i < s->n_points; i++)
        if (!s->points[i].why_not &&
            (s->best == UINT32_MAX || s->points[i].step_ns < s->points[s->best].step_ns))
            s->best = i;
}

char *series_place(const struct series *s, uint32_t point)
{
    GString *place = g_string_new(NULL);
    for (uint32_t i = 0; i < s->n_axes; i++)
        g_string_append_printf(place, "%s%s %s", i ? ", " : "", s->axes[i], s->points[point].values[i]);
    return g_string_free(place, FALSE);
}

void series_release(struct series *s)
{
    for (uint32_t i = 0; i < s->n_points; i++) {
        g_strfreev(s->points[i].values);
        g_free(s->points[i].why_not);
    }
    g_free(s->points);
    g_strfreev(s->axes);
    g_free(s->title);
    *s = (struct series){.best = UINT32_MAX};
}

/* Which columns the points fill. */
struct columns {
    bool predicted, measured, peak;
    int decimals; /* three digits of the best step, but at least one */
};

static struct columns columns_of(const struct series *s)
{
    struct columns c = {.decimals = 1};
    if (s->best != UINT32_MAX && s->points[s->best].step_ns < 10000000)
        c.decimals = s->points[s->best].step_ns < 1000000 ? 3 : 2;
    for (uint32_t i = 0; i < s->n_points; i++) {
        const struct series_point *p = &s->points[i];
        c.measured |= p->measured && !p->why_not;
        c.predicted |= p->predicted_ns >= 0 && !p->why_not;
        c.peak |= p->peak_bytes > 0;
    }
    return c;
}

static void head(const struct series *s, const struct columns *c, struct table *table)
{
    static const char *const names[] = {"step ms", "exposed", "hidden", "idle"};
    table_init(table, NULL, NULL);
    for (uint32_t i = 0; i < s->n_axes; i++)
        table_column(table, '>', printable(s->axes[i]));
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        table_column(table, '>', g_strdup(names[i]));
    if (c->predicted)
        table_column(table, '>', g_strdup("predicted"));
    if (c->peak)
        table_column(table, '>', g_strdup("peak MiB"));
    table_end_row(table, NULL);
}

static char *time_or_dash(const struct series_point *p, int64_t ns, const struct columns *c)
{
    return p->why_not || ns < 0 ? g_strdup("-") : text_ms(ns, c->decimals);
}

static void row(const struct series *s, uint32_t i, const struct columns *c, struct table *table)
{
    const struct series_point *p = &s->points[i];
    const int64_t times_ns[] = {p->step_ns, p->exposed_ns, p->hidden_ns, p->idle_ns};
    for (uint32_t axis = 0; axis < s->n_axes; axis++)
        table_cell(table, printable_ends(p->values[axis], PRINTABLE_PART));
    for (unsigned k = 0; k < G_N_ELEMENTS(times_ns); k++)
        table_cell(table, time_or_dash(p, times_ns[k], c));
    if (c->predicted)
        table_cell(table, time_or_dash(p, p->predicted_ns, c));
    if (c->peak)
        table_cell(table, p->why_not || !p->peak_bytes ? g_strdup("-")
                                                       : text_number("%.1f", (double)p->peak_bytes / MIB));
    g_autofree char *why = p->why_not ? printable_ends(p->why_not, 2 * PRINTABLE_PART) : NULL;
    g_autofree char *note = why ? g_strconcat("  ", why, NULL) : NULL;
    const char *made = c->measured && !p->measured ? "  simulated" : NULL;
    g_autofree char *best = i == s->best ? g_strconcat(" *", made, NULL) : NULL;
    table_end_row(table, note ? note : best ? best : made);
}

/* A best that others come close to is no strong advice. */
static void print_best(const struct series *s, GString *out)
{
    const int64_t best_ns = s->points[s->best].step_ns;
    uint32_t close = 0;
    for (uint32_t i = 0; i < s->n_points; i++)
        close += i != s->best && !s->points[i].why_not && s->points[i].step_ns - best_ns <= best_ns / 100;
    g_string_append(out, best_ns ? "* the shortest step" : "* no time at all: every cost is zero");
    if (close && best_ns)
        g_string_append_printf(out, "; %u other%s within 1 %% of it", close, close == 1 ? " is" : "s are");
    g_string_append_c(out, '\n');
}

void series_print(const struct series *s, GString *out)
{
    const struct columns c = columns_of(s);
    struct table table;
    head(s, &c, &table);
    for (uint32_t i = 0; i < s->n_points; i++)
        row(s, i, &c, &table);
    if (s->title) {
        g_autofree char *title = printable_ends(s->title, 2 * PRINTABLE_PART);
        g_string_append_printf(out, "%s\n", title);
    }
    table_print(&table, out);
    table_release(&table);
    if (s->best == UINT32_MAX)
        g_string_append(out, "no point has numbers\n");
    else
        print_best(s, out);
}
