#include <string.h>

#include "profile/read.h"
#include "profile/series.h"

#define SCHEMA   "parprof.sweep/1"
#define MAX_AXES 64

/* The times of a point, by their names in the file. */
static const struct member {
    const char *name;
    size_t offset;
} members[] = {
    {"step_ns", offsetof(struct series_point, step_ns)},
    {"compute_ns", offsetof(struct series_point, compute_ns)},
    {"comm_ns", offsetof(struct series_point, comm_ns)},
    {"hidden_ns", offsetof(struct series_point, hidden_ns)},
    {"exposed_ns", offsetof(struct series_point, exposed_ns)},
    {"idle_ns", offsetof(struct series_point, idle_ns)},
    {"predicted_ns", offsetof(struct series_point, predicted_ns)},
};

static int64_t *time_of(const struct series_point *p, const struct member *m)
{
    return (int64_t *)((char *)p + m->offset);
}

static void texts(GString *out, char *const *list)
{
    g_string_append_c(out, '[');
    for (unsigned i = 0; list && list[i]; i++) {
        g_string_append(out, i ? ", " : "");
        json_string(out, list[i]);
    }
    g_string_append_c(out, ']');
}

static void point(GString *out, const struct series_point *p)
{
    g_string_append(out, "  {\"values\": ");
    texts(out, p->values);
    g_string_append_printf(out, ", \"measured\": %s", p->measured ? "true" : "false");
    if (p->why_not) {
        g_string_append(out, ", \"why_not\": ");
        json_string(out, p->why_not);
        g_string_append_c(out, '}');
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++) {
        const int64_t ns = *time_of(p, &members[i]);
        if (ns < 0)
            continue;
        g_string_append_printf(out, ", \"%s\": ", members[i].name);
        json_int(out, ns);
    }
    g_string_append(out, ", \"peak_bytes\": ");
    json_uint(out, p->peak_bytes);
    g_string_append_c(out, '}');
}

void series_json(const struct series *s, GString *out)
{
    g_string_append(out, "{\"schema\": \"" SCHEMA "\",\n \"title\": ");
    json_string(out, s->title);
    g_string_append(out, ",\n \"axes\": ");
    texts(out, s->axes);
    if (s->best != UINT32_MAX) {
        g_string_append(out, ",\n \"best\": ");
        json_uint(out, s->best);
    }
    g_string_append(out, ",\n \"points\": [");
    for (uint32_t i = 0; i < s->n_points; i++) {
        g_string_append(out, i ? ",\n" : "\n");
        point(out, &s->points[i]);
    }
    g_string_append(out, "]}\n");
}

static char **read_texts(struct json *j, uint32_t *n)
{
    GPtrArray *list = g_ptr_array_new();
    json_array(j);
    while (json_element(j)) {
        if (list->len == MAX_AXES)
            json_fail(j, "more than %d of them: a sweep has an axis an option", MAX_AXES);
        g_ptr_array_add(list, g_strdup(json_text(j)));
    }
    *n = list->len;
    g_ptr_array_add(list, NULL);
    return (char **)g_ptr_array_free(list, FALSE);
}

static bool read_time(struct json *j, const char *key, struct series_point *p)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(members); i++)
        if (!strcmp(key, members[i].name)) {
            *time_of(p, &members[i]) = json_i64(j, 0, INT64_MAX);
            return true;
        }
    return false;
}

static void read_point(struct json *j, struct series_point *p, uint32_t *n_values)
{
    *p = (struct series_point){.step_ns = -1, .predicted_ns = -1};
    *n_values = 0;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "values")) {
            g_strfreev(p->values);
            p->values = read_texts(j, n_values);
        } else if (!strcmp(key, "why_not")) {
            read_text(j, &p->why_not);
        } else if (!strcmp(key, "measured")) {
            p->measured = json_bool(j);
        } else if (!strcmp(key, "peak_bytes")) {
            p->peak_bytes = json_u64(j, UINT64_MAX);
        } else if (!read_time(j, key, p)) {
            json_skip(j);
        }
    }
    if (!p->values)
        p->values = g_new0(char *, 1);
    if (p->step_ns < 0 && !p->why_not)
        json_fail(j, "a point with neither step_ns nor why_not");
    if (p->why_not)
        *p = (struct series_point){
            .values = p->values, .why_not = p->why_not, .measured = p->measured, .predicted_ns = -1};
}

/* Fills points; the number of values that all of them have, or UINT32_MAX where there are none. */
static uint32_t read_points(struct json *j, GArray *points)
{
    uint32_t all = UINT32_MAX;
    json_array(j);
    while (json_element(j)) {
        struct series_point p;
        uint32_t n;
        read_point(j, &p, &n);
        g_array_append_val(points, p);
        if (all != UINT32_MAX && n != all)
            json_fail(j, "a point of %u values after points of %u", n, all);
        all = n;
    }
    return all;
}

static void take_points(struct series *s, GArray *points)
{
    s->n_points = points->len;
    s->points = (struct series_point *)(void *)g_array_free(points, FALSE);
}

bool series_read(const char *text, size_t n, const char *name, struct series *s, GError **error)
{
    struct json *j = json_open(text, n, name);
    GArray *points = g_array_new(FALSE, FALSE, sizeof(struct series_point));
    uint32_t values = UINT32_MAX;
    bool schema = false, there = false; /* there: the points */
    *s = (struct series){.best = UINT32_MAX};
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "schema")) {
            schema = read_schema(j, SCHEMA);
        } else if (!strcmp(key, "title")) {
            read_text(j, &s->title);
        } else if (!strcmp(key, "axes")) {
            g_strfreev(s->axes);
            s->axes = read_texts(j, &s->n_axes);
        } else if (!strcmp(key, "points") && !there) {
            values = read_points(j, points);
            there = true;
        } else {
            json_skip(j);
        }
    }
    if (!schema)
        json_fail(j, "no \"schema\": a sweep has " SCHEMA);
    else if (json_cut(j))
        json_fail(j, "the rest of the sweep is missing");
    if (!s->axes)
        json_fail(j, "no \"axes\": a list of the options that were swept");
    else if (values != UINT32_MAX && values != s->n_axes)
        json_fail(j, "points of %u values on %u axes", values, s->n_axes);
    take_points(s, points);
    if (!json_close(j, error)) {
        series_release(s);
        return false;
    }
    series_find_best(s);
    return true;
}
