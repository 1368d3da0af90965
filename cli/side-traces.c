#include "cli/side-traces.h"

#include <stdio.h>

#include "cli/input.h"
#include "profile/import.h"

struct loaded {
    struct trace trace;
    struct analysis analysis;
};

static void loaded_free(gpointer data)
{
    struct loaded *l = data;
    analysis_release(&l->analysis);
    trace_release(&l->trace);
    g_free(l);
}

static struct loaded *load(const char *path, GError **error)
{
    gsize n;
    g_autofree char *text = file_read(path, &n, error);
    struct loaded *l = g_new0(struct loaded, 1);
    const char *kind = text ? import_kind(text, n, path, error) : NULL;
    if (kind && import_trace_of(kind, text, n, path, &l->trace, error)) {
        if (analyze(&l->trace, &l->analysis, error))
            return l;
        trace_release(&l->trace);
        g_prefix_error(error, "%s: ", path);
    }
    g_free(l);
    return NULL;
}

/* A later run may have written over it. */
static bool is_of(const struct loaded *l, const struct measurement *m)
{
    const struct analysis *a = &l->analysis;
    if (a->n_steps != m->n[METRIC_STEP])
        return false;
    for (uint32_t step = 0; step < a->n_steps; step++) {
        int64_t most_ns = 0;
        for (uint32_t rank = 0; rank < a->n_ranks; rank++)
            most_ns = MAX(most_ns, a->partition[(gsize)step * a->n_ranks + rank].window_ns);
        if ((double)most_ns != m->x[METRIC_STEP][step])
            return false;
    }
    return true;
}

static GPtrArray *load_side(const struct side *side)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(loaded_free);
    for (uint32_t i = 0; i < side->n; i++) {
        const struct measurement *m = side->runs[i];
        g_autoptr(GError) why = NULL;
        struct loaded *l = m->trace ? load(m->trace, &why) : NULL;
        if (l && is_of(l, m)) {
            g_ptr_array_add(all, l);
        } else if (m->trace) {
            if (l)
                fprintf(stderr, "parprof: '%s' is not the trace of %s: it is left aside\n", m->trace,
                        m->name);
            else
                fprintf(stderr, "parprof: %s: the trace of %s is left aside\n", why->message, m->name);
            g_clear_pointer(&l, loaded_free);
        }
    }
    return all;
}

static struct where_run *list_runs(const GPtrArray *all)
{
    struct where_run *runs = g_new(struct where_run, all->len);
    for (guint i = 0; i < all->len; i++) {
        const struct loaded *l = all->pdata[i];
        runs[i] = (struct where_run){&l->trace, &l->analysis};
    }
    return runs;
}

bool sides_where(const struct side *base, const struct side *new, struct where *where)
{
    g_autoptr(GPtrArray) before = load_side(base), after = load_side(new);
    g_autofree struct where_run *a = list_runs(before), *b = list_runs(after);
    if (before->len && after->len && where_of_traces(where, a, before->len, b, after->len, NULL))
        return true;
    return where_of_measurements(where, base, new);
}
