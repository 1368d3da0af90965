#include "cli/points.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/cli.h"

static bool refuse(GError **error, enum option_id id, const char *text, const char *wants)
{
    g_set_error(error, OPTION_ERROR, 0, "--%s %s: %s", option_name(id), text, wants);
    return false;
}

/* The number that a text begins with; whole ones are digits. */
static bool parse(const char *text, bool whole, const char **end, double *out)
{
    if (!whole)
        return decimal_begin(text, end, out);
    *end = text + strspn(text, "0123456789");
    return decimal_double(text, *end, out);
}

static void add_number(GPtrArray *values, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_ptr_array_add(values, g_strdup(g_ascii_formatd(text, sizeof text, "%.10g", x)));
}

/* "1..8", "10..100+10", "1..64*2": up to the end, which is among them if a step meets it. */
static bool add_range(GPtrArray *values, enum option_id id, const char *text, GError **error)
{
    static const char form[] = "a range is FIRST..LAST, FIRST..LAST+STEP or FIRST..LAST*FACTOR, upwards";
    const char *at, *dots = strstr(text, "..");
    double first, last, by = 1;
    bool times = false;
    const bool whole = option_specs[id].type == TAKES_COUNT;
    g_autofree char *begin = g_strndup(text, (gsize)(dots - text)); /* "1." would take a dot */
    bool good =
        parse(begin, whole, &at, &first) && !*at && parse(dots + 2, whole, &at, &last) && last >= first;
    if (good && *at) {
        times = *at == '*';
        good = (times || *at == '+') && parse(at + 1, whole && !times, &at, &by) && !*at &&
               (times ? by > 1 && first > 0 : by > 0);
    }
    if (!good)
        return refuse(error, id, text, form);
    double steps = times ? log(last / first) / log(by) : (last - first) / by;
    if (!(steps < POINTS_MAX))
        return refuse(error, id, text, "too many values");
    for (unsigned i = 0; i <= (unsigned)(steps + 1e-9); i++)
        add_number(values, times ? first * pow(by, i) : first + by * i);
    return true;
}

static bool add_text(GPtrArray *values, enum option_id id, const char *text, GError **error)
{
    uint8_t type = option_specs[id].type;
    if (type == TAKES_TUPLE || !*text) {
        g_ptr_array_add(values, g_strdup(text));
        return true;
    }
    g_auto(GStrv) pieces = g_strsplit(text, ",", -1);
    for (unsigned i = 0; pieces[i]; i++) {
        if (type != TAKES_TEXT && strstr(pieces[i], "..")) {
            if (!add_range(values, id, pieces[i], error))
                return false;
        } else
            g_ptr_array_add(values, g_strdup(pieces[i]));
    }
    return true;
}

static bool check_values(const struct points *p, enum option_id id, char **values, GError **error)
{
    struct options scratch;
    bool ok = true;
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    options_copy(&scratch, &p->base);
    for (unsigned i = 0; ok && values[i]; i++)
        ok =
            options_set(&scratch, id, values[i], error) &&
            (g_hash_table_add(seen, values[i]) || refuse(error, id, values[i], "given twice: leave one out"));
    options_release(&scratch);
    return ok;
}

/* What is written, and how, is one thing for the whole sweep; the table ends with the sections of it. */
static bool is_output(enum option_id id)
{
    return id >= OPTION_FORMAT;
}

static bool add_axis(struct points *p, const struct options *o, enum option_id id, GError **error)
{
    GPtrArray *values = g_ptr_array_new();
    bool ok = true;
    for (unsigned i = 0; ok && i < o->texts[id]->len; i++)
        ok = add_text(values, id, o->texts[id]->pdata[i], error);
    unsigned n = values->len;
    g_ptr_array_add(values, NULL);
    char **list = (char **)g_ptr_array_free(values, FALSE);
    if (ok && n > POINTS_MAX / p->n)
        ok = refuse(error, id, o->texts[id]->pdata[0], "more points than 100,000 in all");
    ok = ok && check_values(p, id, list, error);
    if (ok && n == 1)
        ok = options_set(&p->base, id, list[0], error);
    if (ok && n > 1 && is_output(id))
        ok = refuse(error, id, o->texts[id]->pdata[0], "takes one value in a sweep");
    if (!ok || n == 1) {
        g_strfreev(list);
        return ok;
    }
    p->axis[p->n_axes] = id;
    p->values[p->n_axes] = list;
    p->n_values[p->n_axes++] = n;
    p->n *= n;
    return true;
}

bool points_init(struct points *p, const struct options *o, GError **error)
{
    *p = (struct points){.n = 1};
    options_copy(&p->base, o);
    p->base.command = commands[0]->name;
    for (unsigned id = 0; id < N_OPTIONS; id++)
        if (o->texts[id])
            p->base.given[id] = false;
    for (unsigned id = 0; id < N_OPTIONS; id++)
        if (o->texts[id] && !add_axis(p, o, id, error))
            return false;
    return true;
}

void points_release(struct points *p)
{
    for (unsigned i = 0; i < p->n_axes; i++)
        g_strfreev(p->values[i]);
    options_release(&p->base);
}

char **points_values(const struct points *p, uint32_t i)
{
    char **values = g_new0(char *, p->n_axes + 1);
    for (unsigned a = p->n_axes; a-- > 0; i /= p->n_values[a])
        values[a] = g_strdup(p->values[a][i % p->n_values[a]]);
    return values;
}

/* Where points differ in backend or mode, each leaves out what belongs to others' only. */
static void leave_out_foreign(struct options *o, enum option_id axis, const char *value)
{
    if (axis != OPTION_BACKEND && axis != OPTION_MODE)
        return;
    for (unsigned id = 0; id < N_OPTIONS; id++) {
        const struct option_spec *spec = &option_specs[id];
        o->given[id] &= option_listed(axis == OPTION_MODE ? spec->modes : spec->backends, value);
    }
}

bool points_options(const struct points *p, uint32_t i, struct options *o, GError **error)
{
    g_auto(GStrv) values = points_values(p, i);
    options_copy(o, &p->base);
    for (unsigned a = 0; a < p->n_axes; a++)
        if (!options_set(o, p->axis[a], values[a], error))
            return false;
    for (unsigned a = 0; a < p->n_axes; a++)
        leave_out_foreign(o, p->axis[a], values[a]);
    return true;
}
