/* Every pair of accesses that must be ordered is, by a path of ops of their rank.
 *
 * Ids are a topological order within a rank, so one pass suffices.  Each op has a vector clock over the lanes
 * of its rank: the place on every lane up to which ops come before it.  Each root is cut into segments at the
 * ends of its views; a segment knows its last writer and, by lane, its last reader since.  An access is
 * ordered after all earlier ones if it is ordered after those. */
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "plan/seal.h"

struct segments {
    uint32_t *first, *last; /* per value: its segments are [first, last) */
    uint32_t *writer;       /* per segment; OP_NONE before the first */
    uint32_t *readers;      /* per segment and slot of a lane */
};

struct hazards {
    const struct plan *plan;
    const struct chains *chains;
    struct segments seg;
    uint32_t *clocks; /* per op and slot of a lane */
    GError **error;
};

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t unique(uint64_t *sorted, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (kept == 0 || sorted[kept - 1] != sorted[i])
            sorted[kept++] = sorted[i];
    return kept;
}

static uint32_t index_of(const uint64_t *sorted, uint32_t n, uint64_t wanted)
{
    uint32_t low = 0;
    while (n > 1) {
        uint32_t half = n / 2;
        if (sorted[low + half] <= wanted)
            low += half;
        n -= half;
    }
    return low;
}

/* The ends of each root and of its views: cuts[first[root] .. first[root + 1]). */
static uint64_t *collect_cuts(const struct plan *plan, uint32_t *first)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        first[plan->values[i].root + 1] += 2;
    for (uint32_t i = 0; i < plan->n_values; i++)
        first[i + 1] += first[i];
    uint64_t *cuts = huge_new(uint64_t, 2 * (gsize)plan->n_values + 1);
    g_autofree uint32_t *next = g_memdup2(first, ((gsize)plan->n_values + 1) * sizeof *first);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        cuts[next[v->root]++] = v->offset;
        cuts[next[v->root]++] = v->offset + v->bytes;
    }
    return cuts;
}

/* Fills first and last; returns the number of segments. */
static uint32_t cut_roots(const struct plan *plan, struct segments *seg)
{
    g_autofree uint32_t *first = huge_new0(uint32_t, (gsize)plan->n_values + 1);
    g_autofree uint64_t *cuts = collect_cuts(plan, first);
    g_autofree uint32_t *n_cuts = huge_new(uint32_t, (gsize)plan->n_values + 1);
    g_autofree uint32_t *base = huge_new(uint32_t, (gsize)plan->n_values + 1);
    uint32_t total = 0;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        if (plan->values[i].root != i)
            continue;
        uint32_t n = first[i + 1] - first[i];
        if (n > 2)
            qsort(&cuts[first[i]], n, sizeof *cuts, by_size);
        n_cuts[i] = unique(&cuts[first[i]], n);
        base[i] = total;
        total += n_cuts[i] - 1;
    }
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        const uint64_t *sorted = &cuts[first[v->root]];
        seg->first[i] = base[v->root] + index_of(sorted, n_cuts[v->root], v->offset);
        seg->last[i] = base[v->root] + index_of(sorted, n_cuts[v->root], v->offset + v->bytes);
    }
    return total;
}

static bool is_before(const struct hazards *h, uint32_t a, uint32_t b)
{
    const struct chains *c = h->chains;
    uint32_t slot = c->lane_slot[h->plan->ops[a].lane];
    return h->clocks[(gsize)b * c->slots + slot] >= c->place[a];
}

static void tick(struct hazards *h, uint32_t id)
{
    const struct chains *c = h->chains;
    const struct op *op = &h->plan->ops[id];
    uint32_t *clock = &h->clocks[(gsize)id * c->slots];
    for (uint32_t k = 0; k < c->slots; k++)
        clock[k] = c->previous[id] == OP_NONE ? 0 : h->clocks[(gsize)c->previous[id] * c->slots + k];
    for (uint32_t d = op->first_dep; d < op[1].first_dep; d++) {
        const uint32_t *other = &h->clocks[(gsize)h->plan->deps[d] * c->slots];
        for (uint32_t k = 0; k < c->slots; k++)
            clock[k] = MAX(clock[k], other[k]);
    }
    clock[c->lane_slot[op->lane]] = c->place[id];
}

static bool refuse_pair(const struct hazards *h, uint32_t id, uint32_t value, const char *does,
                        uint32_t other, const char *did)
{
    g_autofree char *text = plan_op_text(h->plan, other);
    const struct value *v = &h->plan->values[value];
    return seal_refuse(h->plan, id, h->error, "%s value %u (%s), which %s %s, but no path orders the two",
                       does, value, value_class_name(v->cls), text, did);
}

static bool read_segment(struct hazards *h, uint32_t id, uint32_t value, uint32_t segment)
{
    const struct chains *c = h->chains;
    uint32_t writer = h->seg.writer[segment];
    if (writer == OP_NONE && !(h->plan->values[value].flags & VALUE_LIVE_IN))
        return seal_refuse(h->plan, id, h->error, "reads value %u (%s) before anything was written there",
                           value, value_class_name(h->plan->values[value].cls));
    if (writer != OP_NONE && !is_before(h, writer, id))
        return refuse_pair(h, id, value, "reads", writer, "writes");
    h->seg.readers[(gsize)segment * c->slots + c->lane_slot[h->plan->ops[id].lane]] = id;
    return true;
}

static bool write_segment(struct hazards *h, uint32_t id, uint32_t value, uint32_t segment)
{
    uint32_t writer = h->seg.writer[segment], slots = h->chains->slots;
    const uint32_t *readers = &h->seg.readers[(gsize)segment * slots];
    if (writer != OP_NONE && !is_before(h, writer, id))
        return refuse_pair(h, id, value, "writes", writer, "writes too");
    for (uint32_t k = 0; k < slots; k++)
        if (readers[k] != OP_NONE && !is_before(h, readers[k], id))
            return refuse_pair(h, id, value, "writes", readers[k], "reads");
    h->seg.writer[segment] = id;
    return true;
}

static bool check_accesses(struct hazards *h, uint32_t id)
{
    const struct op *op = &h->plan->ops[id];
    for (uint32_t i = op->first_access; i < op[1].first_access; i++) {
        const struct access *a = &h->plan->accesses[i];
        for (uint32_t s = h->seg.first[a->value]; s < h->seg.last[a->value]; s++) {
            if ((a->mode & ACCESS_READ) && !read_segment(h, id, a->value, s))
                return false;
            if ((a->mode & ACCESS_WRITE) && !write_segment(h, id, a->value, s))
                return false;
        }
    }
    return true;
}

bool seal_hazards(struct plan *plan, const struct chains *chains, GError **error)
{
    g_autofree uint32_t *first = huge_new(uint32_t, (gsize)plan->n_values + 1);
    g_autofree uint32_t *last = huge_new(uint32_t, (gsize)plan->n_values + 1);
    g_free(plan->clocks);
    plan->clocks = huge_new(uint32_t, (gsize)plan->n_ops * chains->slots + 1);
    plan->clock_slots = chains->slots;
    struct hazards h = {plan, chains, {first, last, NULL, NULL}, plan->clocks, error};
    gsize n = cut_roots(plan, &h.seg);
    g_autofree uint32_t *writer = huge_new(uint32_t, n + 1),
                        *readers = huge_new(uint32_t, n * chains->slots + 1);
    h.seg.writer = writer;
    h.seg.readers = readers;
    memset(writer, 0xff, n * sizeof *writer);
    memset(readers, 0xff, n * chains->slots * sizeof *readers);
    bool ok = true;
    for (uint32_t i = 0; i < plan->n_ops && ok; i++) {
        tick(&h, i);
        ok = check_accesses(&h, i);
    }
    return ok;
}
