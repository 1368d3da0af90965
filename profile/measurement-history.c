#include <string.h>

#include "profile/read.h"
#include "profile/measurement.h"

#define SCHEMA "parprof.history/1"

static const char *const part_keys[MEASUREMENT_PARTS] = {"step", "forward", "backward", "optimizer", "exposed_comm"};

static void text_member(GString *out, const char *key, const char *text)
{
    if (!text)
        return;
    g_string_append_printf(out, ", \"%s\": ", key);
    json_string(out, text);
}

void measurement_line(const struct measurement *s, GString *out)
{
    g_string_append(out, "{\"schema\": \"" SCHEMA "\"");
    text_member(out, "time", s->time);
    text_member(out, "source", s->name);
    text_member(out, "verdict", s->verdict);
    text_member(out, "why_not", s->why_not);
    g_string_append_printf(out, ", \"simulated\": %s, \"shared\": %s, \"fingerprint\": ",
                           s->simulated ? "true" : "false", s->shared ? "true" : "false");
    fingerprint_json(&s->fingerprint, out);
    g_string_append(out, ", \"metrics\": {");
    const char *before = "";
    for (unsigned m = 0; m < METRICS; m++) {
        if (!s->n[m])
            continue;
        g_string_append_printf(out, "%s\"%s\": [", before, metrics[m].key);
        for (uint32_t i = 0; i < s->n[m]; i++) {
            g_string_append(out, i ? ", " : "");
            json_double(out, s->x[m][i]);
        }
        g_string_append(out, "]");
        before = ", ";
    }
    g_string_append_c(out, '}');
    for (unsigned i = 0; s->has_parts && i < MEASUREMENT_PARTS; i++)
        g_string_append_printf(out, "%s\"%s\": %" G_GINT64_FORMAT, i ? ", " : ", \"parts_ns\": {", part_keys[i], s->part_ns[i]);
    g_string_append(out, s->has_parts ? "}}\n" : "}\n");
}

static void read_numbers(struct json *j, struct measurement *s, unsigned metric)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(double));
    for (json_array(j); json_element(j);) {
        const double x = json_number(j);
        g_array_append_val(list, x);
    }
    g_free(s->x[metric]);
    s->n[metric] = list->len;
    s->x[metric] = (double *)(void *)g_array_free(list, FALSE);
}

static void read_metrics(struct json *j, struct measurement *s)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        const unsigned metric = metric_find(key);
        if (metric < METRICS)
            read_numbers(j, s, metric);
        else
            json_skip(j);
    }
}

static void read_parts(struct json *j, struct measurement *s)
{
    unsigned known = 0;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        unsigned i = 0;
        while (i < MEASUREMENT_PARTS && strcmp(key, part_keys[i]))
            i++;
        if (i < MEASUREMENT_PARTS) {
            s->part_ns[i] = json_i64(j, 0, TIME_MAX);
            known |= 1u << i;
        } else {
            json_skip(j);
        }
    }
    s->has_parts = known == (1u << MEASUREMENT_PARTS) - 1;
}

static void read_members(struct json *j, struct measurement *s, bool *known)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "schema"))
            *known = read_schema(j, SCHEMA);
        else if (!strcmp(key, "time"))
            read_text(j, &s->time);
        else if (!strcmp(key, "verdict"))
            read_text(j, &s->verdict);
        else if (!strcmp(key, "why_not"))
            read_text(j, &s->why_not);
        else if (!strcmp(key, "simulated"))
            s->simulated = json_bool(j);
        else if (!strcmp(key, "shared"))
            s->shared = json_bool(j);
        else if (!strcmp(key, "fingerprint"))
            fingerprint_read(j, &s->fingerprint);
        else if (!strcmp(key, "metrics"))
            read_metrics(j, s);
        else if (!strcmp(key, "parts_ns"))
            read_parts(j, s);
        else
            json_skip(j);
    }
}

/* NULL with the error. */
static struct measurement *read_line(const char *line, size_t n, const char *name, GError **error)
{
    char *later = read_later_schema(line, n, "parprof.history/");
    if (later)
        return measurement_later(later, name);
    struct measurement *s = g_new0(struct measurement, 1);
    bool known = false;
    struct json *j = json_open(line, n, name);
    s->name = g_strdup(name);
    read_members(j, s, &known);
    if (!json_bad(j) && json_cut(j))
        json_fail(j, "the line is cut");
    else if (!json_bad(j) && (!known || !s->fingerprint.must))
        json_fail(j, "a line without \"schema\" " SCHEMA " and \"fingerprint\"");
    if (json_close(j, error))
        return s;
    measurement_free(s);
    return NULL;
}

bool measurement_of_history(const char *text, size_t n, const char *name, GPtrArray *runs,
                            uint32_t *passed_over, GError **error)
{
    g_autoptr(GError) first = NULL;
    const guint before = runs->len;
    uint32_t number = 0;
    *passed_over = 0;
    for (const char *at = text, *end = text + n; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        g_autofree char *place = g_strdup_printf("%s:%u", name, number + 1);
        struct measurement *s = length ? read_line(at, length, place, first ? NULL : &first) : NULL;
        if (s)
            g_ptr_array_add(runs, s);
        *passed_over += length && !s;
        at += length + 1;
    }
    if (runs->len > before)
        return true;
    if (first)
        g_propagate_error(error, g_steal_pointer(&first));
    else
        g_set_error(error, JSON_ERROR, 0, "%s: a history without a run", name);
    return false;
}

bool measurement_is_history(const char *text, size_t n)
{
    const char *stop = memchr(text, '\n', n);
    const size_t length = stop ? (size_t)(stop - text) : n;
    return g_strstr_len(text, (gssize)length, "\"parprof.history/") != NULL;
}
