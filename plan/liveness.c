#include <string.h>

#include "plan/plan.h"

/* A pass over the sealed order: what is alive of each rank. */
struct liveness {
    const struct plan *plan;
    uint32_t *first, *last; /* per root: places in the order of its first and last access; OP_NONE: always */
    uint64_t *alive;        /* per rank and class */
};

static bool always(const struct value *v)
{
    return v->flags & (VALUE_LIVE_IN | VALUE_LIVE_OUT);
}

static void begin(const struct plan *plan, struct liveness *l)
{
    g_assert(plan->sealed);
    *l = (struct liveness){plan, g_new(uint32_t, (gsize)plan->n_values + 1),
                           g_new(uint32_t, (gsize)plan->n_values + 1),
                           g_new0(uint64_t, (gsize)plan->t.n_ranks * VALUE_CLASSES + 1)};
    memset(l->first, 0xff, plan->n_values * sizeof *l->first);
    memset(l->last, 0xff, plan->n_values * sizeof *l->last);
    for (uint32_t at = 0; at < plan->n_ops; at++) {
        const struct op *op = &plan->ops[plan->order[at]];
        for (uint32_t i = op->first_access; i < op[1].first_access; i++) {
            uint32_t root = plan->values[plan->accesses[i].value].root;
            if (always(&plan->values[root]))
                continue;
            if (l->first[root] == OP_NONE)
                l->first[root] = at;
            l->last[root] = at;
        }
    }
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root == i && always(v))
            l->alive[(gsize)v->rank * VALUE_CLASSES + v->cls] += v->bytes;
    }
}

static void end(struct liveness *l)
{
    g_free(l->first);
    g_free(l->last);
    g_free(l->alive);
}

/* Begins (`edge` is first) or ends (last) the lives that do so at a place of the order.  An op may access a
 * root more than once, so that each is marked as dealt with. */
static void cross(struct liveness *l, uint32_t at, uint32_t *edge)
{
    const struct op *op = &l->plan->ops[l->plan->order[at]];
    for (uint32_t i = op->first_access; i < op[1].first_access; i++) {
        const struct value *v = &l->plan->values[l->plan->values[l->plan->accesses[i].value].root];
        if (edge[v->root] != at)
            continue;
        uint64_t *bytes = &l->alive[(gsize)v->rank * VALUE_CLASSES + v->cls];
        *bytes = edge == l->first ? *bytes + v->bytes : *bytes - v->bytes;
        edge[v->root] = OP_NONE;
    }
}

static uint64_t sum(const uint64_t *by_class)
{
    uint64_t total = 0;
    for (unsigned cls = 0; cls < VALUE_CLASSES; cls++)
        total += by_class[cls];
    return total;
}

static uint32_t rank_at(const struct plan *plan, uint32_t at)
{
    return plan->t.lanes[plan->ops[plan->order[at]].lane].rank;
}

/* peak: by rank, the place in the order of its peak, OP_NONE: before the first op. */
static void find_peaks(const struct plan *plan, uint64_t *out, uint32_t *peak)
{
    struct liveness l;
    begin(plan, &l);
    g_autofree uint64_t *most = g_new(uint64_t, (gsize)plan->t.n_ranks + 1);
    memcpy(out, l.alive, (gsize)plan->t.n_ranks * VALUE_CLASSES * sizeof *out);
    for (uint32_t r = 0; r < plan->t.n_ranks; r++) {
        most[r] = sum(&out[(gsize)r * VALUE_CLASSES]);
        peak[r] = OP_NONE;
    }
    for (uint32_t at = 0; at < plan->n_ops; at++) {
        uint32_t rank = rank_at(plan, at);
        const uint64_t *alive = &l.alive[(gsize)rank * VALUE_CLASSES];
        cross(&l, at, l.first);
        uint64_t now = sum(alive);
        if (now > most[rank]) {
            most[rank] = now;
            peak[rank] = at;
            memcpy(&out[(gsize)rank * VALUE_CLASSES], alive, VALUE_CLASSES * sizeof *out);
        }
        cross(&l, at, l.last);
    }
    end(&l);
}

void plan_memory(const struct plan *plan, uint64_t *out, bool *at_peak)
{
    g_autofree uint32_t *peak = g_new(uint32_t, (gsize)plan->t.n_ranks + 1);
    find_peaks(plan, out, peak);
    if (!at_peak)
        return;
    struct liveness l;
    begin(plan, &l);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        uint32_t at = peak[v->rank];
        bool within = at != OP_NONE && l.first[i] != OP_NONE && l.first[i] <= at && at <= l.last[i];
        at_peak[i] = v->root == i && (always(v) || within);
    }
    end(&l);
}

uint32_t plan_memory_timeline(const struct plan *plan, uint32_t rank, uint32_t *ops, uint64_t *out)
{
    struct liveness l;
    uint32_t n = 0;
    begin(plan, &l);
    for (uint32_t at = 0; at < plan->n_ops; at++) {
        if (rank_at(plan, at) != rank)
            continue;
        cross(&l, at, l.first);
        ops[n] = plan->order[at];
        memcpy(&out[(gsize)n++ * VALUE_CLASSES], &l.alive[(gsize)rank * VALUE_CLASSES],
               VALUE_CLASSES * sizeof *out);
        cross(&l, at, l.last);
    }
    end(&l);
    return n;
}
