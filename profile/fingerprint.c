#include "profile/fingerprint.h"

#include <string.h>

#include "profile/facts.h"
#include "profile/read.h"

static void add(GPtrArray *pairs, const char *key, const char *value)
{
    g_ptr_array_add(pairs, g_strdup(key));
    g_ptr_array_add(pairs, g_strdup(value ? value : ""));
}

static char **finish(GPtrArray *pairs)
{
    g_ptr_array_add(pairs, NULL);
    return (char **)g_ptr_array_free(pairs, FALSE);
}

/* Labels that tell how a run went, not what was run. */
static bool of_course(const char *label)
{
    static const char *const keys[] = {
        "partial", "cut",       LABEL_CLOCKS,  LABEL_RECORDS, LABEL_DELAY,
        "sharing", LABEL_STEPS, LABEL_UNTIMED, LABEL_OUTSIDE, LABEL_RANK_CLOCKS};
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        if (!strcmp(label, keys[i]))
            return true;
    return false;
}

static bool of_device(const char *key, bool gpus)
{
    return !gpus && (!strcmp(key, "processor") || !strcmp(key, "cores"));
}

void fingerprint_make(struct fingerprint *f, const struct digest *d)
{
    GPtrArray *must = g_ptr_array_new(), *may = g_ptr_array_new();
    g_autofree char *ranks = g_strdup_printf("%u", d->n_ranks);
    const bool gpus = digest_label(d->labels, "gpus") != NULL;
    add(must, "mode", d->mode);
    add(must, "model", d->model);
    add(must, "backend", d->backend);
    add(must, "ranks", ranks);
    add(must, "simulated", d->simulated ? "yes" : "no");
    for (char **o = d->options; *o; o += 2)
        add(must, o[0], o[1]);
    for (char **l = d->labels; *l; l += 2) {
        g_autofree char *key = g_strdup_printf("label %s", l[0]);
        add(of_course(l[0]) ? may : must, key, l[1]);
    }
    for (char **e = d->environment; *e; e += 2)
        add(of_device(e[0], gpus) ? must : may, e[0], e[1]);
    *f = (struct fingerprint){finish(must), finish(may)};
}

void fingerprint_release(struct fingerprint *f)
{
    g_clear_pointer(&f->must, g_strfreev);
    g_clear_pointer(&f->may, g_strfreev);
}

static void pairs_json(char *const *pairs, GString *out)
{
    g_string_append_c(out, '{');
    for (size_t i = 0; pairs[i]; i += 2) {
        g_string_append(out, i ? ", " : "");
        json_string(out, pairs[i]);
        g_string_append(out, ": ");
        json_string(out, pairs[i + 1]);
    }
    g_string_append_c(out, '}');
}

void fingerprint_json(const struct fingerprint *f, GString *out)
{
    g_string_append(out, "{\"must_match\": ");
    pairs_json(f->must, out);
    g_string_append(out, ", \"may_differ\": ");
    pairs_json(f->may, out);
    g_string_append_c(out, '}');
}

static void read_part(struct json *j, char ***pairs)
{
    g_strfreev(*pairs);
    *pairs = read_pairs(j);
}

void fingerprint_read(struct json *j, struct fingerprint *f)
{
    fingerprint_release(f);
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "must_match"))
            read_part(j, &f->must);
        else if (!strcmp(key, "may_differ"))
            read_part(j, &f->may);
        else
            json_skip(j);
    }
    f->must = f->must ? f->must : g_new0(char *, 1);
    f->may = f->may ? f->may : g_new0(char *, 1);
}

static const char *shown(const char *value)
{
    return !value ? "not said" : *value ? value : "empty";
}

static void differ(char *const *a, const char *name_a, char *const *b, const char *name_b, bool missing_only,
                   GString *out)
{
    for (size_t i = 0; a[i]; i += 2) {
        const char *other = digest_label(b, a[i]);
        if (missing_only ? other != NULL : g_strcmp0(a[i + 1], other) == 0)
            continue;
        g_string_append_printf(out, "%s%s is %s in %s and %s in %s", out->len ? "; " : "", a[i],
                               shown(a[i + 1]), name_a, shown(other), name_b);
    }
}

char *fingerprint_difference(const struct fingerprint *a, const char *name_a, const struct fingerprint *b,
                             const char *name_b)
{
    GString *out = g_string_new(NULL);
    differ(a->must, name_a, b->must, name_b, false, out);
    differ(b->must, name_b, a->must, name_a, true, out);
    return g_string_free(out, out->len == 0);
}

char *fingerprint_changes(const struct fingerprint *a, const struct fingerprint *b)
{
    GString *out = g_string_new(NULL);
    for (size_t i = 0; a->may[i]; i += 2) {
        const char *other = digest_label(b->may, a->may[i]);
        if (g_strcmp0(a->may[i + 1], other))
            g_string_append_printf(out, "%s%s %s -> %s", out->len ? "; " : "", a->may[i],
                                   shown(a->may[i + 1]), shown(other));
    }
    for (size_t i = 0; b->may[i]; i += 2)
        if (!digest_label(a->may, b->may[i]))
            g_string_append_printf(out, "%s%s %s -> %s", out->len ? "; " : "", b->may[i], shown(NULL),
                                   shown(b->may[i + 1]));
    return g_string_free(out, out->len == 0);
}
