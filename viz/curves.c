#include "viz/curves.h"

#include <math.h>

#include "viz/words.h"

#define BEFORE 4.0 /* how many times smaller than the smallest 0 counts as */

static bool number_of(const char *text, double *out)
{
    char *end;

    *out = g_ascii_strtod(text, &end);
    return end != text && !*end && (*out == 0 || (fabs(*out) > 1e-100 && fabs(*out) < 1e100));
}

/* How many different numbers the option takes, or 0 if one value is none. */
static uint32_t count_numbers(const struct series *s, uint32_t axis)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_double_hash, g_double_equal, g_free, NULL);

    for (uint32_t i = 0; i < s->n_points; i++) {
        double x;
        if (!number_of(s->points[i].values[axis], &x))
            return 0;
        x = x == 0 ? 0 : x; /* not -0 */
        g_hash_table_add(seen, g_memdup2(&x, sizeof x));
    }
    return g_hash_table_size(seen);
}

static char *name_of(const struct curves *c, const struct language *l, uint32_t point)
{
    GString *name = g_string_new(NULL);

    for (uint32_t axis = 0; axis < c->series->n_axes; axis++)
        if (axis != c->axis)
            g_string_append_printf(name, "%s%s", name->len ? ", " : "",
                                   words_value(l, c->series->axes[axis], c->series->points[point].values[axis]));
    return g_string_free(name, FALSE);
}

static gint by_value(gconstpointer a, gconstpointer b, gpointer data)
{
    const double *at = data;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (at[x] != at[y])
        return at[x] < at[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void span(struct curves *c, double value)
{
    c->low = MIN(c->low, value);
    c->high = MAX(c->high, value);
    if (value > 0)
        c->least = MIN(c->least, value);
}

static void collect(struct curves *c, const struct language *l)
{
    const struct series *s = c->series;
    g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal);

    c->at = g_new(double, s->n_points);
    c->curves = g_new0(struct curve, s->n_points);
    for (uint32_t i = 0; i < s->n_points; i++) {
        number_of(s->points[i].values[c->axis], &c->at[i]);
        span(c, c->at[i]);
        if (s->points[i].why_not)
            continue;
        char *name = name_of(c, l, i);
        gpointer known = g_hash_table_lookup(index, name);
        const uint32_t k = known ? GPOINTER_TO_UINT(known) - 1 : c->n;
        if (known) {
            g_free(name);
        } else {
            c->curves[c->n++] = (struct curve){name, g_array_new(FALSE, FALSE, sizeof(uint32_t))};
            g_hash_table_insert(index, name, GUINT_TO_POINTER(c->n));
        }
        g_array_append_val(c->curves[k].points, i);
    }
    for (uint32_t k = 0; k < c->n; k++)
        g_array_sort_with_data(c->curves[k].points, by_value, c->at);
}

bool curves_make(struct curves *c, const struct series *s, const struct language *l)
{
    uint32_t most = 0;
    bool any = false;

    *c = (struct curves){.series = s, .low = INFINITY, .high = -INFINITY, .least = INFINITY};
    for (uint32_t i = 0; i < s->n_points; i++)
        any |= !s->points[i].why_not;
    for (uint32_t axis = 0; any && axis < s->n_axes; axis++) {
        const uint32_t n = count_numbers(s, axis);
        if (n > most) {
            most = n;
            c->axis = axis;
        }
    }
    if (!most)
        return false;
    collect(c, l);
    c->log = c->low >= 0 && c->high / c->least > LOG_SPAN;
    return true;
}

void curves_release(struct curves *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        g_free(c->curves[i].name);
        g_array_unref(c->curves[i].points);
    }
    g_free(c->curves);
    g_free(c->at);
}

struct scale curves_scale(const struct curves *c, double at0, double at1)
{
    if (c->log)
        return (struct scale){c->low > 0 ? c->low : c->least / BEFORE, c->high, at0, at1, true};
    const double air = c->low < c->high ? 0 : MAX(1, fabs(c->low)); /* a single value stands in the middle */
    return (struct scale){c->low - air, c->high + air, at0, at1, false};
}

double curves_at(const struct curves *c, const struct scale *s, double value)
{
    return scale_at(s, c->log ? MAX(value, s->low) : value);
}
