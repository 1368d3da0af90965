#include "plan/cost.h"

#include <math.h>

#include "plan/plan.h"

static const char *key_shape(const struct cost_key *key)
{
    return key->shape ? key->shape : "";
}

/* All that makes a key but its bytes. */
static bool same_family(const struct cost_key *a, const struct cost_key *b)
{
    return a->kind == b->kind && a->algo == b->algo && a->members == b->members &&
           MAX(a->nodes, 1) == MAX(b->nodes, 1) && a->rows == b->rows &&
           g_str_equal(key_shape(a), key_shape(b));
}

static guint hash_family(const struct cost_key *key)
{
    guint h = g_str_hash(key_shape(key));
    h = h * 31 + key->kind;
    h = h * 31 + key->algo;
    h = h * 31 + key->members;
    h = h * 31 + MAX(key->nodes, 1);
    return h * 31 + key->rows;
}

unsigned cost_gemms(const struct cost_key *key)
{
    unsigned n = 0;
    while (n < COST_GEMMS && key->gemms[n].m && key->gemms[n].n)
        n++;
    return n;
}

gboolean cost_key_equal(gconstpointer a, gconstpointer b)
{
    const struct cost_key *x = a, *y = b;
    return x->bytes == y->bytes && same_family(x, y);
}

guint cost_key_hash(gconstpointer key)
{
    const struct cost_key *k = key;
    /* Sizes are multiples of large powers of two: the multiplication spreads them over the low bits that are
     * kept. */
    return hash_family(k) ^ (guint)((k->bytes * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static gboolean family_equal(gconstpointer a, gconstpointer b)
{
    return same_family(a, b);
}

static guint family_hash(gconstpointer key)
{
    return hash_family(key);
}

struct entry {
    struct cost_key key;
    GArray *alone_ns, *work_ns; /* int64_t, a sample each */
    bool sorted;
};

struct cost_table {
    struct cost_model model; /* first: a model of ours is its table */
    GHashTable *entries;     /* key -> struct entry */
    GPtrArray *in_order;     /* the entries, owned */
    GHashTable
        *families; /* key -> GPtrArray of the entries that differ in bytes only; key is the first entry's */
    GStringChunk *strings;
};

static void entry_free(gpointer data)
{
    struct entry *e = data;
    g_array_free(e->alone_ns, TRUE);
    g_array_free(e->work_ns, TRUE);
    g_free(e);
}

static int compare_ns(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_ns(const GArray *sorted)
{
    int64_t low = g_array_index(sorted, int64_t, (sorted->len - 1) / 2);
    int64_t high = g_array_index(sorted, int64_t, sorted->len / 2);
    return low + (high - low) / 2;
}

static struct cost entry_cost(struct entry *e)
{
    if (!e->sorted) {
        g_array_sort(e->alone_ns, compare_ns);
        g_array_sort(e->work_ns, compare_ns);
        e->sorted = true;
    }
    struct cost cost = {median_ns(e->alone_ns), median_ns(e->work_ns)};
    cost.work_ns = MIN(cost.work_ns, cost.alone_ns);
    return cost;
}

/* Between two measured sizes a power law joins them; it needs logarithms, so zeros are joined by a line. */
static double between(double x0, double y0, double x1, double y1, double x)
{
    if (x0 == 0 || y0 == 0 || y1 == 0)
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    return y0 * pow(y1 / y0, log(x / x0) / log(x1 / x0));
}

static double beyond(double x0, double y0, double x)
{
    return x0 == 0 ? y0 : y0 * (x / x0);
}

static bool price_from_family(const GPtrArray *family, const struct cost_key *key, struct cost *out,
                              GError **error)
{
    struct entry *below = NULL, *above = NULL;
    for (guint i = 0; i < family->len; i++) {
        struct entry *e = family->pdata[i];
        if (e->key.bytes < key->bytes) {
            if (!below || e->key.bytes > below->key.bytes)
                below = e;
        } else if (!above || e->key.bytes < above->key.bytes)
            above = e;
    }
    struct cost low = entry_cost(below ? below : above), high = entry_cost(above ? above : below);
    double x0 = (double)(below ? below : above)->key.bytes, x1 = (double)(above ? above : below)->key.bytes;
    double x = (double)key->bytes, alone_ns, work_ns;
    if (below && above) {
        alone_ns = between(x0, (double)low.alone_ns, x1, (double)high.alone_ns, x);
        work_ns = between(x0, (double)low.work_ns, x1, (double)high.work_ns, x);
    } else {
        alone_ns = beyond(x0, (double)low.alone_ns, x);
        work_ns = beyond(x0, (double)low.work_ns, x);
    }
    out->alone_ns = cost_round_ns(key, alone_ns, error);
    out->work_ns = out->alone_ns < 0 ? 0 : (int64_t)nearbyint(MIN(work_ns, (double)out->alone_ns));
    return out->alone_ns >= 0;
}

static bool table_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                        GError **error)
{
    const struct cost_table *table = (const struct cost_table *)model;
    struct entry *exact = g_hash_table_lookup(table->entries, key);
    if (exact) {
        *out = entry_cost(exact);
        return true;
    }
    const GPtrArray *family = g_hash_table_lookup(table->families, key);
    if (!family) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "no measured cost for %s \"%s\", %" G_GUINT32_FORMAT
                    " rows, %u members, %s; measure a run that has it",
                    op_name(key->kind), key_shape(key), key->rows, key->members, allreduce_name(key->algo));
        return false;
    }
    return price_from_family(family, key, out, error);
}

int64_t cost_round_ns(const struct cost_key *key, double ns, GError **error)
{
    if (ns >= 0 && ns < 0x1p63)
        return (int64_t)nearbyint(ns);
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "%s \"%s\" of %" G_GUINT64_FORMAT " bytes would take longer than 292 years; check the costs",
                op_name(key->kind), key_shape(key), key->bytes);
    return -1;
}

struct cost_table *cost_table_new(void)
{
    struct cost_table *table = g_new0(struct cost_table, 1);
    table->model = (struct cost_model){"measured", table_price};
    table->entries = g_hash_table_new_full(cost_key_hash, cost_key_equal, NULL, NULL);
    table->in_order = g_ptr_array_new_with_free_func(entry_free);
    table->families =
        g_hash_table_new_full(family_hash, family_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    table->strings = g_string_chunk_new(256);
    return table;
}

void cost_table_free(struct cost_table *table)
{
    if (!table)
        return;
    g_hash_table_destroy(table->families);
    g_hash_table_destroy(table->entries);
    g_ptr_array_unref(table->in_order);
    g_string_chunk_free(table->strings);
    g_free(table);
}

static struct entry *add_entry(struct cost_table *table, const struct cost_key *key)
{
    struct entry *e = g_new0(struct entry, 1);
    e->key = *key;
    e->key.shape = g_string_chunk_insert_const(table->strings, key_shape(key));
    e->alone_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    e->work_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_hash_table_insert(table->entries, &e->key, e);
    g_ptr_array_add(table->in_order, e);
    GPtrArray *family = g_hash_table_lookup(table->families, key);
    if (!family) {
        family = g_ptr_array_new();
        g_hash_table_insert(table->families, &e->key, family);
    }
    g_ptr_array_add(family, e);
    return e;
}

void cost_table_add(struct cost_table *table, const struct cost_key *key, const struct cost *sample)
{
    struct entry *e = g_hash_table_lookup(table->entries, key);
    if (!e)
        e = add_entry(table, key);
    int64_t alone_ns = MAX(sample->alone_ns, 0), work_ns = CLAMP(sample->work_ns, 0, alone_ns);
    g_array_append_val(e->alone_ns, alone_ns);
    g_array_append_val(e->work_ns, work_ns);
    e->sorted = false;
}

void cost_table_each(struct cost_table *table,
                     void (*each)(void *user, const struct cost_key *, const struct cost *, uint32_t samples),
                     void *user)
{
    for (guint i = 0; i < table->in_order->len; i++) {
        struct entry *e = table->in_order->pdata[i];
        struct cost cost = entry_cost(e);
        each(user, &e->key, &cost, e->alone_ns->len);
    }
}

const struct cost_model *cost_table_model(struct cost_table *table)
{
    return &table->model;
}
