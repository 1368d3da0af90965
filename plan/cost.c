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
    return a->kind == b->kind && a->algo == b->algo && a->members == b->members && a->rows == b->rows &&
           g_str_equal(key_shape(a), key_shape(b));
}

static guint hash_family(const struct cost_key *key)
{
    guint h = g_str_hash(key_shape(key));
    h = h * 31 + key->kind;
    h = h * 31 + key->algo;
    h = h * 31 + key->members;
    return h * 31 + key->rows;
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
    GArray *samples_ns; /* int64_t */
    bool sorted;
};

struct cost_table {
    struct cost_model model; /* first: a model of ours is its table */
    GHashTable *entries;     /* key -> struct entry, owned */
    GHashTable
        *families; /* key -> GPtrArray of the entries that differ in bytes only; key is the first entry's */
    GStringChunk *strings;
};

static void entry_free(gpointer data)
{
    struct entry *e = data;
    g_array_free(e->samples_ns, TRUE);
    g_free(e);
}

static int compare_ns(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_ns(struct entry *e)
{
    if (!e->sorted)
        g_array_sort(e->samples_ns, compare_ns);
    e->sorted = true;
    guint n = e->samples_ns->len;
    int64_t low = g_array_index(e->samples_ns, int64_t, (n - 1) / 2);
    int64_t high = g_array_index(e->samples_ns, int64_t, n / 2);
    return low + (high - low) / 2;
}

/* Between two measured sizes a power law joins them; it needs logarithms, so zeros are joined by a line. */
static double between(struct entry *below, struct entry *above, uint64_t bytes)
{
    double x0 = (double)below->key.bytes, x1 = (double)above->key.bytes, x = (double)bytes;
    double y0 = (double)median_ns(below), y1 = (double)median_ns(above);
    if (x0 == 0 || y0 == 0 || y1 == 0)
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    return y0 * pow(y1 / y0, log(x / x0) / log(x1 / x0));
}

static double beyond(struct entry *edge, uint64_t bytes)
{
    double y = (double)median_ns(edge);
    return edge->key.bytes == 0 ? y : y * ((double)bytes / (double)edge->key.bytes);
}

static double from_family(const GPtrArray *family, uint64_t bytes)
{
    struct entry *below = NULL, *above = NULL;
    for (guint i = 0; i < family->len; i++) {
        struct entry *e = family->pdata[i];
        if (e->key.bytes < bytes) {
            if (!below || e->key.bytes > below->key.bytes)
                below = e;
        } else if (!above || e->key.bytes < above->key.bytes)
            above = e;
    }
    return below && above ? between(below, above, bytes) : beyond(below ? below : above, bytes);
}

static int64_t table_alone_ns(const struct cost_model *model, const struct cost_key *key, GError **error)
{
    const struct cost_table *table = (const struct cost_table *)model;
    struct entry *exact = g_hash_table_lookup(table->entries, key);
    if (exact)
        return median_ns(exact);
    const GPtrArray *family = g_hash_table_lookup(table->families, key);
    if (!family) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "no measured cost for %s \"%s\", %" G_GUINT32_FORMAT
                    " rows, %u members, %s; measure a run that has it",
                    op_name(key->kind), key_shape(key), key->rows, key->members, allreduce_name(key->algo));
        return -1;
    }
    double ns = from_family(family, key->bytes);
    return cost_round_ns(key, ns, error);
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
    table->model = (struct cost_model){"measured", table_alone_ns};
    table->entries = g_hash_table_new_full(cost_key_hash, cost_key_equal, NULL, entry_free);
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
    g_string_chunk_free(table->strings);
    g_free(table);
}

static struct entry *add_entry(struct cost_table *table, const struct cost_key *key)
{
    struct entry *e = g_new0(struct entry, 1);
    e->key = *key;
    e->key.shape = g_string_chunk_insert_const(table->strings, key_shape(key));
    e->samples_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    g_hash_table_insert(table->entries, &e->key, e);
    GPtrArray *family = g_hash_table_lookup(table->families, key);
    if (!family) {
        family = g_ptr_array_new();
        g_hash_table_insert(table->families, &e->key, family);
    }
    g_ptr_array_add(family, e);
    return e;
}

void cost_table_add(struct cost_table *table, const struct cost_key *key, int64_t ns)
{
    struct entry *e = g_hash_table_lookup(table->entries, key);
    if (!e)
        e = add_entry(table, key);
    ns = MAX(ns, 0);
    g_array_append_val(e->samples_ns, ns);
    e->sorted = false;
}

const struct cost_model *cost_table_model(struct cost_table *table)
{
    return &table->model;
}
