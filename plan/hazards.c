/* What ops access is their rank's, and every pair of accesses that must be ordered is, by a path of ops of
 * the rank.
 *
 * Each root is cut into segments at the ends of its views; a segment knows its last writer and, by lane, its
 * last reader since.  An access is ordered after all earlier ones if it is ordered after those.  Nearly
 * always that shows at once: the two ops share a lane, or the later one depends on something of the earlier
 * one's lane that is no earlier, or it is not the first of its lane to read.  What does not show is a doubt,
 * to be settled by the clocks, which most plans of one kind never need. */
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "plan/seal.h"

/* Nearly always nobody has read it since on another lane than the last one. */
struct segment {
    uint32_t writer; /* OP_NONE before the first */
    uint32_t last;   /* its reader since then; the writer, if there is none; of several, SEVERAL + index of
                        readers */
};
#define SEVERAL PLAN_OPS_MAX

/* One of several, each of another lane. */
struct reader {
    uint32_t op, next; /* index of readers, OP_NONE */
};

/* Values whose root has views, as what they are cut into. */
struct cuts {
    uint32_t n;
    uint32_t *index; /* by value: index of those below, OP_NONE: its root has no view; NULL: none has */
    uint32_t *value; /* in the order of ids */
    uint32_t *first, *last; /* its segments are [first, last) */
};

enum doubt_kind { UNWRITTEN, READ_AFTER_WRITE, WRITE_AFTER_WRITE, WRITE_AFTER_READ };
struct doubt {
    uint32_t op, other, value; /* other: before it in the order of ids */
    uint8_t kind;
};

struct hazards {
    const struct plan *plan;
    const struct seal_node *nodes; /* of the ops so far: their lanes are close together there */
    struct cuts cuts;
    struct segment *segments; /* by value those of roots without views, then the others */
    GArray *readers;          /* struct reader */
    GArray *doubts;           /* struct doubt, in the order of ids of op */
};

/* --- views */

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

/* The values whose root has a view, by id. */
static void list_cut(const struct plan *plan, struct cuts *c, struct huge_arena *arena)
{
    uint32_t i;
    c->index = huge_arena_take(arena, plan->n_values, sizeof *c->index);
    memset(c->index, 0xff, plan->n_values * sizeof *c->index);
    for (i = 0; i < plan->n_values; i++)
        if (plan->values[i].root != i)
            c->index[plan->values[i].root] = 0;
    for (i = 0; i < plan->n_values; i++)
        if (c->index[plan->values[i].root] != OP_NONE)
            c->n++;
    c->value = huge_arena_take(arena, c->n, sizeof *c->value);
    c->n = 0;
    for (i = 0; i < plan->n_values; i++)
        if (plan->values[i].root == i && c->index[i] != OP_NONE) {
            c->value[c->n] = i;
            c->index[i] = c->n++;
        }
    for (i = 0; i < plan->n_values; i++)
        if (plan->values[i].root != i) {
            c->value[c->n] = i;
            c->index[i] = c->n++;
        }
}

/* The ends of each root and of its views: ends[first[root] .. first[root + 1]), roots by their index. */
static uint64_t *collect_ends(const struct plan *plan, const struct cuts *c, uint32_t *first)
{
    for (uint32_t i = 0; i < c->n; i++)
        first[c->index[plan->values[c->value[i]].root] + 1] += 2;
    for (uint32_t i = 0; i < c->n; i++)
        first[i + 1] += first[i];
    uint64_t *ends = huge_new(uint64_t, 2 * (gsize)c->n);
    g_autofree uint32_t *next = g_memdup2(first, ((gsize)c->n + 1) * sizeof *first);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct value *v = &plan->values[c->value[i]];
        uint32_t *at = &next[c->index[v->root]];
        ends[(*at)++] = v->offset;
        ends[(*at)++] = v->offset + v->bytes;
    }
    return ends;
}

/* Numbers the segments from `total` on; returns where they end. */
static uint32_t cut_roots(const struct plan *plan, struct cuts *c, uint32_t total, struct huge_arena *arena)
{
    g_autofree uint32_t *first = huge_new0(uint32_t, (gsize)c->n + 1);
    g_autofree uint64_t *ends = collect_ends(plan, c, first);
    g_autofree uint32_t *n_ends = huge_new(uint32_t, c->n), *base = huge_new(uint32_t, c->n);
    c->first = huge_arena_take(arena, c->n, sizeof *c->first);
    c->last = huge_arena_take(arena, c->n, sizeof *c->last);
    for (uint32_t i = 0; i < c->n && first[i + 1] > first[i]; i++) {
        const uint32_t n = first[i + 1] - first[i];
        qsort(&ends[first[i]], n, sizeof *ends, by_size);
        n_ends[i] = unique(&ends[first[i]], n);
        base[i] = total;
        total += n_ends[i] - 1;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        const struct value *v = &plan->values[c->value[i]];
        const uint32_t root = c->index[v->root];
        const uint64_t *sorted = &ends[first[root]];
        c->first[i] = base[root] + index_of(sorted, n_ends[root], v->offset);
        c->last[i] = base[root] + index_of(sorted, n_ends[root], v->offset + v->bytes);
    }
    return total;
}

/* --- accesses */

static void doubt(struct hazards *h, uint32_t op, uint32_t other, uint32_t value, enum doubt_kind kind)
{
    const struct doubt d = {op, other, value, (uint8_t)kind};
    g_array_append_val(h->doubts, d);
}

static bool is_on(const struct hazards *h, uint32_t op, uint32_t lane)
{
    return h->nodes[op].lane == lane;
}

/* Whether it shows, at so many dependencies, that `other` comes before the op. */
static bool shows(const struct hazards *h, uint32_t id, uint32_t other)
{
    const struct op *op = &h->plan->ops[id];
    const uint32_t lane = h->nodes[other].lane, end = MIN(op[1].first_dep, op->first_dep + 8);
    bool before = lane == op->lane;
    for (uint32_t d = op->first_dep; d < end && !before; d++)
        before = h->plan->deps[d] >= other && is_on(h, h->plan->deps[d], lane);
    return before;
}

static struct reader *reader_at(const struct hazards *h, uint32_t index)
{
    return &g_array_index(h->readers, struct reader, index);
}

static bool has_reader(const struct segment *s)
{
    return s->last != s->writer;
}

/* The index of the first of several; OP_NONE if there are not. */
static uint32_t first_reader(const struct segment *s)
{
    return has_reader(s) && s->last >= SEVERAL ? s->last - SEVERAL : OP_NONE;
}

/* The reader of the segment on the lane, NULL if there is none. */
static uint32_t *reader_on(const struct hazards *h, struct segment *s, uint32_t lane)
{
    if (!has_reader(s))
        return NULL;
    if (s->last < SEVERAL)
        return is_on(h, s->last, lane) ? &s->last : NULL;
    for (uint32_t i = first_reader(s); i != OP_NONE; i = reader_at(h, i)->next)
        if (is_on(h, reader_at(h, i)->op, lane))
            return &reader_at(h, i)->op;
    return NULL;
}

static uint32_t add_row(struct hazards *h, uint32_t op, uint32_t next)
{
    const struct reader r = {op, next};
    g_array_append_val(h->readers, r);
    return h->readers->len - 1;
}

/* The first one stays the first. */
static void add_reader(struct hazards *h, struct segment *s, uint32_t id)
{
    if (!has_reader(s)) {
        s->last = id;
        return;
    }
    if (s->last < SEVERAL)
        s->last = SEVERAL + add_row(h, s->last, OP_NONE);
    const uint32_t first = first_reader(s), added = add_row(h, id, reader_at(h, first)->next);
    reader_at(h, first)->next = added;
}

static void read_segment(struct hazards *h, uint32_t id, uint32_t value, struct segment *s)
{
    uint32_t *reader = reader_on(h, s, h->nodes[id].lane);
    if (reader) {
        *reader = id;
        return;
    }
    if (s->writer == OP_NONE && !(h->plan->values[value].flags & VALUE_LIVE_IN))
        doubt(h, id, OP_NONE, value, UNWRITTEN);
    else if (s->writer != OP_NONE && !shows(h, id, s->writer))
        doubt(h, id, s->writer, value, READ_AFTER_WRITE);
    add_reader(h, s, id);
}

/* A reader comes after the writer itself. */
static void write_segment(struct hazards *h, uint32_t id, uint32_t value, struct segment *s)
{
    const enum doubt_kind kind = has_reader(s) ? WRITE_AFTER_READ : WRITE_AFTER_WRITE;
    if (s->last < SEVERAL && !shows(h, id, s->last))
        doubt(h, id, s->last, value, kind);
    for (uint32_t i = first_reader(s); i != OP_NONE; i = reader_at(h, i)->next)
        if (!shows(h, id, reader_at(h, i)->op))
            doubt(h, id, reader_at(h, i)->op, value, kind);
    *s = (struct segment){id, id};
}

static void access_segment(struct hazards *h, uint32_t id, struct access a, struct segment *s)
{
    if (a.mode & ACCESS_READ)
        read_segment(h, id, a.value, s);
    if (a.mode & ACCESS_WRITE)
        write_segment(h, id, a.value, s);
}

/* Nearly always what is written is new, or who accessed it last is of the same lane. */
static inline bool is_simple(const struct segment *s, struct access a, const struct seal_node *nodes,
                             uint32_t lane)
{
    return s->last < SEVERAL ? nodes[s->last].lane == lane : s->last == OP_NONE && a.mode == ACCESS_WRITE;
}

/* Out of the way of what is simple. */
G_GNUC_NO_INLINE
static void access_value(struct hazards *h, uint32_t id, struct access a)
{
    const uint32_t cut = h->cuts.index ? h->cuts.index[a.value] : OP_NONE;
    if (cut == OP_NONE)
        access_segment(h, id, a, &h->segments[a.value]);
    else
        for (uint32_t s = h->cuts.first[cut]; s < h->cuts.last[cut]; s++)
            access_segment(h, id, a, &h->segments[s]);
}

G_GNUC_NO_INLINE
static bool refuse_access(const struct plan *plan, uint32_t id, struct access a, GError **error)
{
    if (a.value >= plan->n_values || !a.mode)
        return seal_refuse(plan, id, error, "accesses value %u in mode %u, but there are %u values", a.value,
                           a.mode, plan->n_values);
    return seal_refuse(plan, id, error, "accesses value %u of rank %u, only gangs cross ranks", a.value,
                       plan->values[a.value].rank);
}

bool hazards_op(struct hazards *h, uint32_t id, uint32_t rank, GError **error)
{
    const struct plan *plan = h->plan;
    const struct value *const values = plan->values;
    const struct seal_node *const nodes = h->nodes;
    struct segment *const segments = h->segments;
    const bool cut = h->cuts.index != NULL;
    const uint32_t n_values = plan->n_values, lane = nodes[id].lane;
    const struct access *a = &plan->accesses[plan->ops[id].first_access],
                        *end = &plan->accesses[plan->ops[id + 1].first_access];
    for (; a < end; a++) {
        if (a->value >= n_values || !a->mode || values[a->value].rank != rank)
            return refuse_access(plan, id, *a, error);
        struct segment *s = &segments[a->value];
        if (values[a->value].bytes == 0)
            continue;
        if (cut || !is_simple(s, *a, nodes, lane))
            access_value(h, id, *a);
        else if (a->mode & ACCESS_WRITE)
            *s = (struct segment){id, id};
        else
            s->last = id;
    }
    return true;
}

/* --- judgement */

static bool refuse(const struct plan *plan, const struct doubt *d, GError **error)
{
    static const char *const does[] = {"", "reads", "writes", "writes"}, *const did[] = {"", "writes",
                                                                                         "writes too",
                                                                                         "reads"};
    const char *cls = value_class_name(plan->values[d->value].cls);
    if (d->kind == UNWRITTEN)
        return seal_refuse(plan, d->op, error, "reads value %u (%s) before anything was written there",
                           d->value, cls);
    g_autofree char *text = plan_op_text(plan, d->other);
    return seal_refuse(plan, d->op, error, "%s value %u (%s), which %s %s, but no path orders the two",
                       does[d->kind], d->value, cls, text, did[d->kind]);
}

bool hazards_judge(struct hazards *h, struct plan *plan, GError **error)
{
    if (h->doubts->len)
        seal_clocks(plan);
    for (guint i = 0; i < h->doubts->len; i++) {
        const struct doubt *d = &g_array_index(h->doubts, struct doubt, i);
        if (d->kind == UNWRITTEN || !seal_before(plan, d->other, d->op))
            return refuse(plan, d, error);
    }
    return true;
}

size_t hazards_bytes(const struct plan *plan)
{
    return huge_arena_bytes(plan->n_values, sizeof(struct segment));
}

struct hazards *hazards_new(const struct plan *plan, const struct seal_node *nodes, bool views,
                            struct huge_arena *arena)
{
    struct hazards *h = g_new(struct hazards, 1);
    *h = (struct hazards){.plan = plan,
                          .nodes = nodes,
                          .readers = g_array_new(FALSE, FALSE, sizeof(struct reader)),
                          .doubts = g_array_new(FALSE, FALSE, sizeof(struct doubt))};
    uint32_t n = plan->n_values;
    if (views) {
        list_cut(plan, &h->cuts, arena);
        n = cut_roots(plan, &h->cuts, n, arena);
    }
    h->segments = huge_arena_take(arena, n, sizeof *h->segments);
    memset(h->segments, 0xff, n * sizeof *h->segments);
    return h;
}

void hazards_free(struct hazards *h)
{
    g_array_free(h->readers, TRUE);
    g_array_free(h->doubts, TRUE);
    g_free(h);
}
