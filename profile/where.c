#include "profile/where-names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts them. */
static int64_t median(int64_t *ns, size_t n)
{
    qsort(ns, n, sizeof *ns, by_value);
    return ns[(n - 1) / 2];
}

/* --- a side's times by key and step, of one rank */

struct row {
    struct where_key key;
    int64_t *ns, *whole_ns; /* by step */
};

static guint key_hash(gconstpointer key)
{
    const uint32_t *words = key;
    guint hash = 2166136261u;
    for (size_t i = 0; i < sizeof(struct where_key) / sizeof *words; i++)
        hash = (hash ^ words[i]) * 16777619u;
    return hash;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(struct where_key));
}

static void row_free(gpointer data)
{
    struct row *row = data;
    g_free(row->ns);
    g_free(row->whole_ns);
    g_free(row);
}

static struct row *row_of(GHashTable *rows, const struct where_key *key, uint32_t n_steps)
{
    struct row *row = g_hash_table_lookup(rows, key);
    if (row)
        return row;
    row = g_new0(struct row, 1);
    row->key = *key;
    row->ns = g_new0(int64_t, n_steps);
    row->whole_ns = g_new0(int64_t, n_steps);
    g_hash_table_insert(rows, &row->key, row);
    return row;
}

struct half {
    const struct where_run *runs;
    struct walk *walks; /* a run each */
    uint32_t n, n_steps; /* steps of all of them */
};

static void half_init(struct half *h, const struct where_run *runs, uint32_t n)
{
    *h = (struct half){runs, g_new(struct walk, n), n, 0};
    for (uint32_t i = 0; i < n; i++) {
        walk_init(&h->walks[i], runs[i].trace);
        h->n_steps += runs[i].trace->n_steps;
    }
}

static void half_release(struct half *h)
{
    for (uint32_t i = 0; i < h->n; i++)
        walk_release(&h->walks[i]);
    g_free(h->walks);
}

static int64_t half_step_ns(const struct half *h)
{
    g_autofree int64_t *ns = g_new(int64_t, h->n_steps);
    uint32_t at = 0;
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t step = 0; step < h->runs[i].trace->n_steps; step++)
            ns[at++] = h->runs[i].analysis->step_ns[step];
    return median(ns, at);
}

/* Where buckets are not the same ones on both sides their numbers mean nothing. */
static void add_pieces(GHashTable *rows, GArray *pieces, bool numbered, uint32_t at, uint32_t n_steps, bool whole)
{
    for (guint i = 0; i < pieces->len; i++) {
        struct where_piece *piece = &g_array_index(pieces, struct where_piece, i);
        if (!numbered)
            piece->key.bucket = OP_NONE;
        struct row *row = row_of(rows, &piece->key, n_steps);
        (whole ? row->whole_ns : row->ns)[at] += piece->end_ns - piece->start_ns;
    }
    g_array_unref(pieces);
}

static GHashTable *half_rows(const struct half *h, uint32_t rank, bool numbered)
{
    GHashTable *rows = g_hash_table_new_full(key_hash, key_equal, NULL, row_free);
    uint32_t at = 0;
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t step = 0; step < h->runs[i].trace->n_steps; step++, at++) {
            add_pieces(rows, walk_pieces(&h->walks[i], step, rank), numbered, at, h->n_steps, false);
            add_pieces(rows, walk_transfers(&h->walks[i], step, rank), numbered, at, h->n_steps, true);
        }
    return rows;
}

static int64_t half_busy_ns(const struct half *h, uint32_t rank)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < h->n; i++)
        for (uint32_t step = 0; step < h->runs[i].trace->n_steps; step++) {
            g_autoptr(GArray) pieces = walk_pieces(&h->walks[i], step, rank);
            for (guint k = 0; k < pieces->len; k++) {
                const struct where_piece *piece = &g_array_index(pieces, struct where_piece, k);
                ns += piece->key.kind <= WHERE_COPY ? piece->end_ns - piece->start_ns : 0;
            }
        }
    return ns;
}

/* --- parts */

static void add_medians(GHashTable *rows, unsigned side, uint32_t n_steps, GHashTable *parts)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, rows);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct row *row = value;
        struct where_part *part = g_hash_table_lookup(parts, &row->key);
        if (!part) {
            part = g_new0(struct where_part, 1);
            part->key = row->key;
            g_hash_table_insert(parts, &part->key, part);
        }
        part->ns[side] = median(row->ns, n_steps);
        part->whole_ns[side] = median(row->whole_ns, n_steps);
    }
    g_hash_table_unref(rows);
}

static int by_change(const void *a, const void *b)
{
    const struct where_part *x = a, *y = b;
    const int64_t dx = llabs(where_change(x)), dy = llabs(where_change(y));
    return dx != dy ? (dx < dy ? 1 : -1) : memcmp(&x->key, &y->key, sizeof x->key);
}

/* Of a rank, all of them; struct where_part. */
static GArray *list_parts(const struct half *halves, uint32_t rank, bool numbered)
{
    GHashTable *parts = g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct where_part));
    GHashTableIter iter;
    gpointer value;
    for (unsigned side = 0; side < 2; side++)
        add_medians(half_rows(&halves[side], rank, numbered), side, halves[side].n_steps, parts);
    g_hash_table_iter_init(&iter, parts);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        g_array_append_vals(list, value, 1);
    g_hash_table_unref(parts);
    g_array_sort(list, by_change);
    return list;
}

/* --- items */

static int by_size(const void *a, const void *b)
{
    const struct where_item *x = a, *y = b;
    const int64_t dx = llabs(x->ns), dy = llabs(y->ns);
    return dx != dy ? (dx < dy ? 1 : -1) : (x->what > y->what) - (x->what < y->what);
}

/* Keeps what is not 0, with what the others leave of the step. */
static void close_items(struct where *w, struct where_item *items)
{
    int64_t left_ns = w->step_ns[1] - w->step_ns[0];
    for (unsigned what = 0; what < WHERE_REST; what++)
        left_ns -= items[what].ns;
    items[WHERE_REST].ns = left_ns;
    w->n_items = 0;
    for (unsigned what = 0; what < WHERE_WHATS; what++)
        if (items[what].ns)
            w->items[w->n_items++] = items[what];
    if (w->n_items)
        qsort(w->items, w->n_items, sizeof *w->items, by_size);
    int64_t sum_ns = 0;
    for (unsigned i = 0; i < w->n_items; i++)
        sum_ns += w->items[i].ns;
    g_assert(sum_ns == w->step_ns[1] - w->step_ns[0]);
}

/* On how many ranks computation differs alike. */
static void count_alike(const struct half *halves, uint32_t n_ranks, bool numbered, struct where_item *items)
{
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        int64_t ns[WHERE_WHATS];
        double times[WHERE_WHATS];
        g_autoptr(GArray) parts = list_parts(halves, rank, numbered);
        where_add_up(parts, items, ns, times);
        for (unsigned what = 0; what < WHERE_BUCKET; what++)
            items[what].alike += items[what].ns && 2 * where_share(ns[what], items[what].ns) >= 1;
    }
}

/* --- from traces */

static bool same_buckets(const struct tables *a, const struct tables *b)
{
    if (a->n_buckets != b->n_buckets)
        return false;
    for (uint32_t i = 0; i < a->n_buckets; i++)
        if (a->buckets[i].bytes != b->buckets[i].bytes)
            return false;
    return true;
}

static bool check_work(const struct half *halves, bool *numbered, GError **error)
{
    const struct tables *first = &halves[0].runs[0].trace->t;
    *numbered = true;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < halves[side].n; i++) {
            const struct tables *t = &halves[side].runs[i].trace->t;
            *numbered = *numbered && same_buckets(first, t);
            if (t->n_ranks == first->n_ranks && t->n_layers == first->n_layers && !g_strcmp0(t->model, first->model) &&
                !g_strcmp0(t->mode, first->mode))
                continue;
            g_set_error_literal(error, ANALYZE_ERROR, ANALYZE_ERROR_INVALID,
                                "the traces differ in mode, model or ranks: compare traces of the same work");
            return false;
        }
    return true;
}

static uint32_t busiest_rank(const struct half *h)
{
    uint32_t found = 0;
    int64_t most_ns = -1;
    for (uint32_t rank = 0; rank < h->runs[0].trace->t.n_ranks; rank++) {
        const int64_t ns = half_busy_ns(h, rank);
        if (ns > most_ns) {
            most_ns = ns;
            found = rank;
        }
    }
    return found;
}

/* MHz of the multiprocessors, the mean over the GPUs and runs that say so at the end; 0: none does. */
static double clock_mhz(const struct where_run *runs, uint32_t n)
{
    double sum = 0;
    unsigned known = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < runs[i].trace->n_facts; k++) {
            const struct trace_label *fact = &runs[i].trace->facts[k];
            unsigned gpu, mhz;
            int end = 0;
            if (sscanf(fact->key, "gpu %u clocks after%n", &gpu, &end) == 1 && end && !fact->key[end] &&
                sscanf(fact->value, "SM %u", &mhz) == 1) {
                sum += mhz;
                known++;
            }
        }
    return known ? sum / known : 0;
}

static void keep_parts(struct where *w, GArray *parts)
{
    w->parts = g_new(struct where_part, parts->len);
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (where_change(p))
            w->parts[w->n_parts++] = *p;
    }
}

bool where_of_traces(struct where *w, const struct where_run *base, uint32_t n_base, const struct where_run *new,
                     uint32_t n_new, GError **error)
{
    struct half halves[2];
    struct where_item items[WHERE_WHATS];
    int64_t ns[WHERE_WHATS];
    double times[WHERE_WHATS];
    bool numbered;
    *w = (struct where){.traced = true};
    half_init(&halves[0], base, n_base);
    half_init(&halves[1], new, n_new);
    const bool ok = check_work(halves, &numbered, error);
    if (ok) {
        tables_copy(&w->t, &new[0].trace->t);
        for (unsigned side = 0; side < 2; side++)
            w->step_ns[side] = half_step_ns(&halves[side]);
        w->rank = busiest_rank(&halves[w->step_ns[1] >= w->step_ns[0]]);
        g_autoptr(GArray) parts = list_parts(halves, w->rank, numbered);
        where_names(&w->t, parts, items);
        where_add_up(parts, items, ns, times);
        for (unsigned what = 0; what < WHERE_WHATS; what++) {
            items[what].ns = ns[what];
            items[what].times = times[what];
        }
        count_alike(halves, w->t.n_ranks, numbered, items);
        close_items(w, items);
        keep_parts(w, parts);
        const double before = clock_mhz(base, n_base), after = clock_mhz(new, n_new);
        w->clock = before > 0 ? after / before : 0;
    }
    half_release(&halves[0]);
    half_release(&halves[1]);
    return ok;
}

/* --- from measurements */

static int64_t median_of(const struct side *side, unsigned part)
{
    g_autofree int64_t *ns = g_new(int64_t, side->n);
    for (uint32_t i = 0; i < side->n; i++)
        ns[i] = side->runs[i]->part_ns[part];
    return median(ns, side->n);
}

bool where_of_measurements(struct where *w, const struct side *base, const struct side *new)
{
    static const unsigned whats[MEASUREMENT_PARTS] = {[MEASUREMENT_FORWARD] = WHERE_PHASE + PHASE_FORWARD,
                                                      [MEASUREMENT_BACKWARD] = WHERE_PHASE + PHASE_BACKWARD,
                                                      [MEASUREMENT_OPTIMIZER] = WHERE_PHASE + PHASE_OPTIMIZER,
                                                      [MEASUREMENT_EXPOSED] = WHERE_EXPOSED};
    const struct side *const sides[] = {base, new};
    struct where_item items[WHERE_WHATS];
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(struct where_part));
    *w = (struct where){.rank = OP_NONE};
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side]->n; i++)
            if (!sides[side]->runs[i]->has_parts)
                return false;
    where_names(&w->t, none, items);
    for (unsigned part = 0; part < MEASUREMENT_PARTS; part++) {
        const int64_t before = median_of(base, part), after = median_of(new, part);
        if (part == MEASUREMENT_STEP) {
            w->step_ns[0] = before;
            w->step_ns[1] = after;
            continue;
        }
        items[whats[part]].ns = after - before;
        items[whats[part]].times = before > 0 ? (double)after / (double)before : 0;
    }
    close_items(w, items);
    return true;
}

void where_release(struct where *w)
{
    if (w->traced && w->t.strings)
        tables_release(&w->t);
    g_free(w->parts);
    *w = (struct where){0};
}
