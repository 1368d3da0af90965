#include "profile/where-names.h"

#include <math.h>
#include <string.h>

#define MOST    0.8  /* of a difference: then it is called by that alone */
#define UNIFORM 0.25 /* of a difference: how far parts may be from one factor for all */

static unsigned phase_of(const struct where_key *key)
{
    return key->op < OP_KINDS ? op_phase(key->op) : PHASE_FORWARD;
}

static bool is_compute(const struct where_part *p, unsigned phase)
{
    return p->key.kind == WHERE_COMPUTE && (phase == PHASES || phase_of(&p->key) == phase);
}

/* All longer, or shorter, by one factor. */
static bool is_throughout(GArray *parts)
{
    double base = 0, new = 0, away = 0;
    unsigned n = 0;
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (is_compute(p, PHASES)) {
            base += (double)p->ns[0];
            new += (double)p->ns[1];
            n++;
        }
    }
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (is_compute(p, PHASES))
            away += fabs((double)p->ns[1] - (double)p->ns[0] * (base > 0 ? new / base : 0));
    }
    return n > 2 && base > 0 && new > 0 && away <= UNIFORM *fabs(new - base);
}

double where_share(int64_t part_ns, int64_t all_ns)
{
    return all_ns ? (double)part_ns / (double)all_ns : 0;
}

/* The shortest run of layers, of at most half of them or one block, that most of the phase's change is in. */
static void narrow(const struct tables *t, GArray *parts, unsigned phase, struct where_item *item)
{
    g_autofree int64_t *until_ns = g_new0(int64_t, t->n_layers + 1);
    int64_t all_ns = 0;
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (!is_compute(p, phase))
            continue;
        all_ns += where_change(p);
        if (p->key.layer0 < t->n_layers)
            until_ns[p->key.layer0 + 1] += where_change(p);
    }
    for (uint32_t i = 0; i < t->n_layers; i++)
        until_ns[i + 1] += until_ns[i];
    for (uint32_t n = 1; n <= t->n_layers; n++)
        for (uint32_t i = 0; i + n <= t->n_layers; i++) {
            const bool block = !g_strcmp0(t->layers[i].block, t->layers[i + n - 1].block);
            if ((2 * n > t->n_layers && !block) || where_share(until_ns[i + n] - until_ns[i], all_ns) < MOST)
                continue;
            item->layer0 = i;
            item->layer1 = i + n;
            return;
        }
}

/* The number that most of it is of: of the field of that offset in keys. */
static uint32_t pick(GArray *parts, bool (*of)(const struct where_key *), size_t field)
{
    GHashTable *sums = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    GHashTableIter iter;
    gpointer number, value;
    uint32_t found = OP_NONE;
    int64_t all_ns = 0;
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (!of(&p->key))
            continue;
        const uint32_t key = *(const uint32_t *)(const void *)((const char *)&p->key + field);
        int64_t *sum = g_hash_table_lookup(sums, GUINT_TO_POINTER(key));
        if (!sum)
            g_hash_table_insert(sums, GUINT_TO_POINTER(key), sum = g_new0(int64_t, 1));
        *sum += where_change(p);
        all_ns += where_change(p);
    }
    g_hash_table_iter_init(&iter, sums);
    while (g_hash_table_iter_next(&iter, &number, &value))
        if (where_share(*(int64_t *)value, all_ns) >= MOST)
            found = MIN(found, GPOINTER_TO_UINT(number));
    g_hash_table_unref(sums);
    return found;
}

static bool of_bucket(const struct where_key *key)
{
    return key->kind == WHERE_TRANSFER && key->bucket != OP_NONE;
}

static bool of_message(const struct where_key *key)
{
    return key->kind == WHERE_TRANSFER && key->bucket == OP_NONE && key->peer != OP_NONE;
}

static bool of_wait(const struct where_key *key)
{
    return key->kind == WHERE_WAIT;
}

/* What each kind of item would be about. */
static void name_items(const struct tables *t, GArray *parts, struct where_item *items)
{
    for (unsigned what = 0; what < WHERE_WHATS; what++)
        items[what] = (struct where_item){what, 0, PHASES, OP_NONE, OP_NONE, OP_NONE, OP_NONE, 0, 0};
    items[WHERE_BUCKET].bucket = pick(parts, of_bucket, G_STRUCT_OFFSET(struct where_key, bucket));
    items[WHERE_MESSAGE].peer = pick(parts, of_message, G_STRUCT_OFFSET(struct where_key, peer));
    items[WHERE_PEER].peer = pick(parts, of_wait, G_STRUCT_OFFSET(struct where_key, peer));
    for (unsigned phase = 0; phase < PHASES; phase++)
        items[WHERE_PHASE_LAYERS + phase].phase = items[WHERE_PHASE + phase].phase = phase;
    if (is_throughout(parts)) {
        items[WHERE_THROUGHOUT].layer0 = 0;
        return;
    }
    narrow(t, parts, PHASES, &items[WHERE_LAYERS]);
    for (unsigned phase = 0; phase < PHASES && items[WHERE_LAYERS].layer0 == OP_NONE; phase++)
        narrow(t, parts, phase, &items[WHERE_PHASE_LAYERS + phase]);
}

static bool in_layers(const struct where_item *item, const struct where_key *key)
{
    return item->layer0 != OP_NONE && key->layer0 != OP_NONE && key->layer0 >= item->layer0 &&
           key->layer0 < item->layer1;
}

static unsigned what_of(const struct where_item *items, const struct where_key *key)
{
    const unsigned phase = phase_of(key);
    switch (key->kind) {
    case WHERE_COMPUTE:
        if (items[WHERE_THROUGHOUT].layer0 == 0)
            return WHERE_THROUGHOUT;
        if (in_layers(&items[WHERE_LAYERS], key) &&
            (items[WHERE_LAYERS].phase == PHASES || items[WHERE_LAYERS].phase == phase))
            return WHERE_LAYERS;
        return (in_layers(&items[WHERE_PHASE_LAYERS + phase], key) ? WHERE_PHASE_LAYERS : WHERE_PHASE) +
               phase;
    case WHERE_TRANSFER:
        if (of_bucket(key))
            return key->bucket == items[WHERE_BUCKET].bucket ? WHERE_BUCKET : WHERE_BUCKETS;
        if (of_message(key))
            return key->peer == items[WHERE_MESSAGE].peer ? WHERE_MESSAGE : WHERE_MESSAGES;
        return WHERE_COMM;
    case WHERE_WAIT:
        return key->peer == items[WHERE_PEER].peer ? WHERE_PEER : WHERE_PEERS;
    default:
        return key->kind == WHERE_COPY ? WHERE_COPIES : WHERE_IDLING;
    }
}

/* Of layers nearly all may be in one phase: then that is said, and the item is that alone. */
static void find_phase(GArray *parts, struct where_item *items)
{
    struct where_item *layers = &items[WHERE_LAYERS];
    int64_t by_phase[PHASES] = {0}, all_ns = 0;
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        if (what_of(items, &p->key) != WHERE_LAYERS)
            continue;
        by_phase[phase_of(&p->key)] += where_change(p);
        all_ns += where_change(p);
    }
    for (unsigned phase = 0; phase < PHASES; phase++)
        if (where_share(by_phase[phase], all_ns) >= 0.9)
            layers->phase = phase;
}

void where_names(const struct tables *t, GArray *parts, struct where_item names[static WHERE_WHATS])
{
    name_items(t, parts, names);
    find_phase(parts, names);
}

void where_add_up(GArray *parts, const struct where_item *names, int64_t ns[static WHERE_WHATS],
                  double times[static WHERE_WHATS])
{
    double before[WHERE_WHATS] = {0}, after[WHERE_WHATS] = {0};
    memset(ns, 0, WHERE_WHATS * sizeof *ns);
    for (guint i = 0; i < parts->len; i++) {
        const struct where_part *p = &g_array_index(parts, struct where_part, i);
        const unsigned what = what_of(names, &p->key);
        const bool whole = p->key.kind == WHERE_TRANSFER;
        ns[what] += where_change(p);
        before[what] += (double)(whole ? p->whole_ns : p->ns)[0];
        after[what] += (double)(whole ? p->whole_ns : p->ns)[1];
    }
    for (unsigned what = 0; what < WHERE_WHATS; what++)
        times[what] = before[what] > 0 ? after[what] / before[what] : 0;
}
