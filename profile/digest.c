#include "profile/digest.h"

#include <string.h>

#include "profile/digest-buckets.h"
#include "profile/read.h"
#include "profile/report-device.h"

static char *text_or_empty(const char *text)
{
    return g_strdup(text ? text : "");
}

static char **copy_pairs(const char *const *pairs)
{
    return pairs ? g_strdupv((char **)pairs) : g_new0(char *, 1);
}

static char **copy_labels(const struct trace *trace)
{
    char **pairs = g_new0(char *, 2 * (gsize)trace->n_labels + 1);
    for (uint32_t i = 0; i < trace->n_labels; i++) {
        pairs[2 * i] = g_strdup(trace->labels[i].key);
        pairs[2 * i + 1] = text_or_empty(trace->labels[i].value);
    }
    return pairs;
}

static struct digest_row make_row(const struct variant *v)
{
    const struct analysis *a = v->analysis;
    struct digest_row row = {.name = text_or_empty(v->name),
                             .measured = !v->trace->simulated,
                             .step_ns = a->median_ns,
                             .predicted_step_ns = -1,
                             .partition = a->partition[(gsize)a->median_step * a->n_ranks + a->slowest_rank]};
    if (v->predicted && row.measured)
        row.predicted_step_ns = v->predicted->median_ns;
    memcpy(row.phase_ns, a->phase_ns, sizeof row.phase_ns);
    return row;
}

static void make_rows(struct digest *d, const struct report *r)
{
    struct variant run = report_run(r);
    if (!r->analysis)
        return;
    d->n_rows = r->n_others + 1;
    d->rows = g_new(struct digest_row, d->n_rows);
    for (uint32_t i = 0; i < r->n_others; i++)
        d->rows[i] = make_row(&r->others[i]);
    d->rows[r->n_others] = make_row(&run);
}

static void make_memory(struct digest *d, const struct trace *trace)
{
    gsize n = (gsize)trace->n_memory * trace->t.n_ranks;
    if (!trace->memory_bytes || !n)
        return;
    d->n_memory = trace->n_memory;
    d->memory_names = g_new(char *, d->n_memory);
    for (uint32_t i = 0; i < d->n_memory; i++)
        d->memory_names[i] = g_strdup(trace->memory_names[i]);
    d->memory_bytes = g_memdup2(trace->memory_bytes, n * sizeof *d->memory_bytes);
    if (trace->memory_measured)
        d->memory_measured = g_memdup2(trace->memory_measured, trace->t.n_ranks * sizeof *d->memory_measured);
}

void digest_make(struct digest *d, const struct report *r)
{
    const struct trace *trace = r->trace;
    *d = (struct digest){.mode = g_strdup(trace->t.mode),
                         .backend = g_strdup(r->backend),
                         .model = g_strdup(trace->t.model),
                         .n_ranks = trace->t.n_ranks,
                         .simulated = trace->simulated,
                         .cancelled = trace->cancelled,
                         .labels = copy_labels(trace),
                         .options = copy_pairs(r->options),
                         .environment = report_environment(r)};
    make_rows(d, r);
    digest_make_buckets(d, r);
    make_memory(d, trace);
}

static void row_release(struct digest_row *row)
{
    g_free(row->name);
    g_free(row->group);
}

void digest_release(struct digest *d)
{
    g_free(d->mode);
    g_free(d->backend);
    g_free(d->model);
    g_strfreev(d->labels);
    g_strfreev(d->options);
    g_strfreev(d->environment);
    for (uint32_t i = 0; i < d->n_rows; i++)
        row_release(&d->rows[i]);
    g_free(d->rows);
    g_free(d->buckets);
    for (uint32_t i = 0; i < d->n_memory; i++)
        g_free(d->memory_names[i]);
    g_free(d->memory_names);
    g_free(d->memory_bytes);
    g_free(d->memory_measured);
    *d = (struct digest){0};
}

const char *digest_label(char *const *pairs, const char *key)
{
    for (; pairs[0]; pairs += 2)
        if (!strcmp(pairs[0], key))
            return pairs[1];
    return NULL;
}

/* Members that reports of every version have. */
static const char *const required[] = {"mode", "ranks"};

/* A report as it is read; what needs other members waits until all are there. */
struct reader {
    struct json *j;
    struct digest *d;
    bool schema, step;     /* whether there is one */
    unsigned found;        /* bits, of required */
    struct digest_row own; /* from the members that are of the report's own step */
    GArray *rows;          /* struct digest_row, of "variants" */
    GPtrArray *categories; /* uint64_t GArrays, a number a rank each */
    GPtrArray *names;
    GArray *measured;
};

static void replace_pairs(struct json *j, char ***pairs)
{
    g_strfreev(*pairs);
    *pairs = read_pairs(j);
}

static int64_t time_of(struct json *j)
{
    return json_i64(j, 0, TIME_MAX);
}

static void read_partition(struct json *j, struct partition *p)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "compute"))
            p->compute_ns = time_of(j);
        else if (!strcmp(key, "exposed_comm"))
            p->exposed_comm_ns = time_of(j);
        else if (!strcmp(key, "exposed_copy"))
            p->exposed_copy_ns = time_of(j);
        else if (!strcmp(key, "idle"))
            p->idle_ns = time_of(j);
        else if (!strcmp(key, "span"))
            p->window_ns = time_of(j);
        else
            json_skip(j);
    }
    if (p->compute_ns + p->exposed_comm_ns + p->exposed_copy_ns + p->idle_ns != p->window_ns && !json_cut(j))
        json_fail(j, "\"partition_ns\" should sum to its \"span\"");
}

static void read_phases(struct json *j, int64_t *phase_ns)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        unsigned phase = 0;
        while (phase < PHASES && strcmp(key, phase_name(phase)))
            phase++;
        if (phase < PHASES)
            phase_ns[phase] = time_of(j);
        else
            json_skip(j);
    }
}

/* One member of an object; which, is up to the caller.  Others are skipped. */
static void read_time(struct json *j, const char *name, int64_t *ns)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, name))
            *ns = time_of(j);
        else
            json_skip(j);
    }
}

static void read_overlap(struct json *j, struct partition *p)
{
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "comm_ns"))
            p->comm_ns = time_of(j);
        else if (!strcmp(key, "hidden_ns"))
            p->hidden_comm_ns = time_of(j);
        else
            json_skip(j);
    }
}

static struct digest_row no_row(void)
{
    struct digest_row row = {.predicted_step_ns = -1};
    for (unsigned phase = 0; phase < PHASES; phase++)
        row.phase_ns[phase] = -1;
    return row;
}

static void read_row(struct reader *r)
{
    struct json *j = r->j;
    struct digest_row row = no_row();
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "overlap"))
            read_text(j, &row.name);
        else if (!strcmp(key, "measured"))
            row.measured = json_bool(j);
        else if (!strcmp(key, "step_ns"))
            row.step_ns = time_of(j);
        else if (!strcmp(key, "predicted_step_ns"))
            row.predicted_step_ns = time_of(j);
        else if (!strcmp(key, "comm_ns"))
            row.partition.comm_ns = time_of(j);
        else if (!strcmp(key, "hidden_comm_ns"))
            row.partition.hidden_comm_ns = time_of(j);
        else if (!strcmp(key, "partition_ns"))
            read_partition(j, &row.partition);
        else if (!strcmp(key, "phases_ns"))
            read_phases(j, row.phase_ns);
        else
            json_skip(j);
    }
    if (!row.name)
        row.name = g_strdup("");
    g_array_append_val(r->rows, row);
}

static void rows_clear(struct reader *r)
{
    for (guint i = 0; i < r->rows->len; i++)
        row_release(&g_array_index(r->rows, struct digest_row, i));
    g_array_set_size(r->rows, 0);
}

static void read_variants(struct reader *r)
{
    rows_clear(r);
    for (json_array(r->j); json_element(r->j);)
        read_row(r);
}

static void read_memory(struct reader *r)
{
    struct json *j = r->j;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        if (!strcmp(key, "measured_bytes")) {
            read_bytes(j, &r->measured);
        } else if (!strcmp(key, "by_category")) {
            json_object(j);
            for (const char *name; (name = json_key(j));) {
                GArray *bytes = NULL;
                g_ptr_array_add(r->names, g_strdup(name));
                read_bytes(j, &bytes);
                g_ptr_array_add(r->categories, bytes);
            }
        } else {
            json_skip(j);
        }
    }
}

/* Members of the report's own step. */
static bool own_member(struct reader *r, const char *key)
{
    struct json *j = r->j;
    if (!strcmp(key, "step_ns")) {
        r->step = true;
        read_time(j, "median", &r->own.step_ns);
    } else if (!strcmp(key, "partition_ns")) {
        read_partition(j, &r->own.partition);
    } else if (!strcmp(key, "overlap")) {
        read_overlap(j, &r->own.partition);
    } else if (!strcmp(key, "phases_ns")) {
        read_phases(j, r->own.phase_ns);
    } else if (!strcmp(key, "prediction")) {
        read_time(j, "step_ns", &r->own.predicted_step_ns);
    } else {
        return false;
    }
    return true;
}

static void note_required(struct reader *r, const char *key)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(required); i++)
        if (!strcmp(key, required[i]))
            r->found |= 1u << i;
}

static void read_members(struct reader *r)
{
    struct json *j = r->j;
    struct digest *d = r->d;
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        note_required(r, key);
        if (!strcmp(key, "schema"))
            r->schema = read_schema(j, "parprof.report/1");
        else if (!strcmp(key, "mode"))
            read_text(j, &d->mode);
        else if (!strcmp(key, "backend"))
            read_text(j, &d->backend);
        else if (!strcmp(key, "model"))
            read_text(j, &d->model);
        else if (!strcmp(key, "ranks"))
            d->n_ranks = json_u32(j, 0, PLAN_RANKS_MAX);
        else if (!strcmp(key, "simulated"))
            d->simulated = json_bool(j);
        else if (!strcmp(key, "cancelled"))
            d->cancelled = json_bool(j);
        else if (!strcmp(key, "labels"))
            replace_pairs(j, &d->labels);
        else if (!strcmp(key, "options"))
            replace_pairs(j, &d->options);
        else if (!strcmp(key, "environment"))
            replace_pairs(j, &d->environment);
        else if (!strcmp(key, "variants"))
            read_variants(r);
        else if (!strcmp(key, "buckets"))
            digest_read_buckets(j, d);
        else if (!strcmp(key, "backward_ns"))
            d->backward_ns = time_of(j);
        else if (!strcmp(key, "memory"))
            read_memory(r);
        else if (!own_member(r, key))
            json_skip(j);
    }
}

/* The report's own row is the last of the variants, where there are any; the members of the report say more
 * of it. */
static void take_rows(struct reader *r)
{
    struct digest *d = r->d;
    const char *overlap = digest_label(d->options, "overlap");
    guint n = r->rows->len;
    if (!r->step)
        return;
    r->own.measured = !d->simulated;
    if (n) {
        struct digest_row *last = &g_array_index(r->rows, struct digest_row, n - 1);
        r->own.name = g_steal_pointer(&last->name);
        *last = r->own;
    } else {
        r->own.name = text_or_empty(overlap ? overlap : d->mode);
        g_array_append_val(r->rows, r->own);
    }
    d->n_rows = r->rows->len;
    d->rows = (struct digest_row *)(void *)g_array_free(r->rows, FALSE);
    r->rows = NULL;
}

static bool per_rank(struct reader *r, const GArray *list, const char *name)
{
    if (list->len != r->d->n_ranks)
        json_fail(r->j, "\"memory\" has %u numbers of \"%s\", should have one for each of %u ranks",
                  list->len, name, r->d->n_ranks);
    return list->len == r->d->n_ranks;
}

static void take_memory(struct reader *r)
{
    struct digest *d = r->d;
    guint n = r->names->len;
    for (guint i = 0; i < n; i++)
        if (!per_rank(r, r->categories->pdata[i], r->names->pdata[i]))
            return;
    if (!n || !d->n_ranks || (r->measured && !per_rank(r, r->measured, "measured_bytes")))
        return;
    d->memory_bytes = g_new(uint64_t, (gsize)n * d->n_ranks);
    for (guint i = 0; i < n; i++)
        for (uint32_t rank = 0; rank < d->n_ranks; rank++)
            d->memory_bytes[(gsize)rank * n + i] =
                g_array_index((const GArray *)r->categories->pdata[i], uint64_t, rank);
    d->n_memory = n;
    d->memory_names = g_new(char *, n);
    for (guint i = 0; i < n; i++)
        d->memory_names[i] = g_strdup(r->names->pdata[i]);
    if (r->measured)
        d->memory_measured = (uint64_t *)(void *)g_array_free(g_steal_pointer(&r->measured), FALSE);
}

static void take(struct reader *r)
{
    if (json_bad(r->j))
        return;
    if (!r->schema)
        json_fail(r->j, "a report of no \"schema\"");
    else if (json_cut(r->j))
        json_fail(r->j, "the rest of the report is missing");
    for (unsigned i = 0; i < G_N_ELEMENTS(required) && !json_bad(r->j); i++)
        if (!(r->found >> i & 1))
            json_fail(r->j, "\"%s\" is missing, which every report has", required[i]);
    if (!json_bad(r->j))
        take_memory(r);
    if (!json_bad(r->j))
        take_rows(r);
}

static void reader_release(struct reader *r)
{
    if (r->rows) {
        rows_clear(r);
        g_array_unref(r->rows);
    }
    g_ptr_array_unref(r->names);
    g_ptr_array_unref(r->categories);
    g_clear_pointer(&r->measured, g_array_unref);
}

bool digest_read(const char *text, size_t n, const char *name, struct digest *d, GError **error)
{
    *d = (struct digest){.labels = g_new0(char *, 1),
                         .options = g_new0(char *, 1),
                         .environment = g_new0(char *, 1),
                         .backward_ns = -1};
    struct reader r = {.j = json_open(text, n, name),
                       .d = d,
                       .own = no_row(),
                       .rows = g_array_new(FALSE, FALSE, sizeof(struct digest_row)),
                       .categories = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
                       .names = g_ptr_array_new_with_free_func(g_free)};
    read_members(&r);
    take(&r);
    reader_release(&r);
    if (json_close(r.j, error))
        return true;
    digest_release(d);
    return false;
}
