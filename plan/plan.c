#include "plan/plan.h"

#include "base/huge.h"

G_DEFINE_QUARK(parprof_plan, plan_error)

/* Capacities, and the costs that exist, so that a key is stored once. */
struct plan_index {
    uint32_t ops, values, accesses, deps, gangs, costs;
    GHashTable *cost_ids; /* struct cost_key * (owned) -> id + 1 */
};

/* Makes room for one more row. */
#define GROW(array, n, capacity)                                                                             \
    do {                                                                                                     \
        if ((n) == (capacity)) {                                                                             \
            (capacity) = MAX(2 * (capacity), 1024);                                                          \
            (array) = huge_grow((array), (n), (capacity), sizeof *(array));                                  \
        }                                                                                                    \
    } while (0)

#define RESERVE(array, n, capacity, more)                                                                    \
    do {                                                                                                     \
        const uint64_t wanted = (n) + (more);                                                                \
        if (wanted > (capacity) && wanted < UINT32_MAX) {                                                    \
            (capacity) = (uint32_t)wanted;                                                                   \
            (array) = huge_grow((array), (n), (capacity), sizeof *(array));                                  \
        }                                                                                                    \
    } while (0)

/* The op after the last one says where the last one's accesses and dependencies end. */
static void mark_end(struct plan *plan)
{
    plan->ops[plan->n_ops].first_access = plan->n_accesses;
    plan->ops[plan->n_ops].first_dep = plan->n_deps;
}

/* Unit costs go by the share. */
static gboolean same_cost(gconstpointer a, gconstpointer b)
{
    const struct cost_key *x = a, *y = b;
    return x->share == y->share && x->paired == y->paired && cost_key_equal(a, b);
}

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.index = g_new0(struct plan_index, 1)};
    tables_init(&plan->t);
    plan->index->cost_ids = g_hash_table_new_full(cost_key_hash, same_cost, g_free, NULL);
    GROW(plan->ops, plan->n_ops, plan->index->ops);
    mark_end(plan);
}

void plan_reserve(struct plan *plan, const struct plan_room *room)
{
    struct plan_index *index = plan->index;
    RESERVE(plan->ops, plan->n_ops + 1, index->ops, room->ops);
    RESERVE(plan->values, plan->n_values, index->values, room->values);
    RESERVE(plan->accesses, plan->n_accesses, index->accesses, room->accesses);
    RESERVE(plan->deps, plan->n_deps, index->deps, room->deps);
    RESERVE(plan->gangs, plan->n_gangs, index->gangs, room->gangs);
}

void plan_release(struct plan *plan)
{
    if (plan->index)
        g_hash_table_destroy(plan->index->cost_ids);
    g_free(plan->index);
    g_free(plan->ops);
    g_free(plan->values);
    g_free(plan->accesses);
    g_free(plan->deps);
    g_free(plan->gangs);
    g_free(plan->costs);
    g_free(plan->rank_share);
    g_free(plan->rank_first);
    g_free(plan->rank_rows);
    g_free(plan->micro_weight);
    g_free(plan->micro_rows);
    g_free(plan->order);
    g_free(plan->clocks);
    g_free(plan->clock_lane);
    g_free(plan->place);
    g_free(plan->arena_bytes);
    tables_release(&plan->t);
    *plan = (struct plan){0};
}

uint32_t plan_add_lane(struct plan *plan, const struct lane *lane)
{
    /* Lanes are few: no capacity is kept for them. */
    plan->t.lanes = g_renew(struct lane, plan->t.lanes, plan->t.n_lanes + 1);
    plan->t.lanes[plan->t.n_lanes] = *lane;
    plan->t.lanes[plan->t.n_lanes].name = tables_intern(&plan->t, lane->name);
    return plan->t.n_lanes++;
}

uint32_t plan_add_value(struct plan *plan, const struct value *value)
{
    GROW(plan->values, plan->n_values, plan->index->values);
    struct value *v = &plan->values[plan->n_values];
    *v = *value;
    v->offset = 0;
    v->root = plan->n_values;
    return plan->n_values++;
}

uint32_t plan_add_view(struct plan *plan, uint32_t root, uint64_t offset, uint64_t bytes)
{
    GROW(plan->values, plan->n_values, plan->index->values);
    struct value *v = &plan->values[plan->n_values];
    *v = plan->values[root];
    v->root = root;
    v->offset = offset;
    v->bytes = bytes;
    return plan->n_values++;
}

uint32_t plan_add_cost(struct plan *plan, const struct cost_key *key)
{
    gpointer id;
    if (g_hash_table_lookup_extended(plan->index->cost_ids, key, NULL, &id))
        return GPOINTER_TO_UINT(id);
    GROW(plan->costs, plan->n_costs, plan->index->costs);
    struct cost_key own = *key;
    own.shape = tables_intern(&plan->t, key->shape ? key->shape : "");
    plan->costs[plan->n_costs] = own;
    g_hash_table_insert(plan->index->cost_ids, g_memdup2(&own, sizeof own), GUINT_TO_POINTER(plan->n_costs));
    return plan->n_costs++;
}

uint32_t plan_add_gang(struct plan *plan, uint32_t shift)
{
    GROW(plan->gangs, plan->n_gangs, plan->index->gangs);
    plan->gangs[plan->n_gangs] = (struct gang){.shift = shift};
    return plan->n_gangs++;
}

uint32_t plan_add_op(struct plan *plan, uint32_t lane, const struct op_tag *tag, uint32_t cost)
{
    struct op *op = &plan->ops[plan->n_ops++]; /* the end mark before it has said where its accesses begin */
    op->tag = *tag;
    op->lane = lane;
    op->cost = cost;
    GROW(plan->ops, plan->n_ops, plan->index->ops);
    mark_end(plan);
    return plan->n_ops - 1;
}

void plan_access(struct plan *plan, uint32_t value, uint8_t mode)
{
    GROW(plan->accesses, plan->n_accesses, plan->index->accesses);
    plan->accesses[plan->n_accesses++] = (struct access){value, mode};
    mark_end(plan);
}

void plan_dep(struct plan *plan, uint32_t on)
{
    GROW(plan->deps, plan->n_deps, plan->index->deps);
    plan->deps[plan->n_deps++] = on;
    mark_end(plan);
}

uint32_t plan_rounds(const struct plan *plan)
{
    return MAX(plan->t.n_rounds, 1);
}

uint32_t plan_batch(const struct plan *plan)
{
    uint32_t batch = plan->batch;
    for (uint32_t i = 0; !plan->batch && i < plan->t.n_ranks; i++)
        batch += plan->rank_rows[i];
    return batch;
}

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

struct samples plan_samples(const struct plan *plan, uint32_t op)
{
    const uint32_t rank = rank_of(plan, op), micro = plan->ops[op].tag.micro,
                   a_round = plan->n_micro / plan_rounds(plan);
    if (micro == OP_NONE)
        return (struct samples){0, plan_batch(plan), 0};
    const uint32_t *rows = &plan->micro_rows[(gsize)rank * plan->n_micro];
    struct samples s = {plan->rank_first ? plan->rank_first[rank] : 0, rows[micro], micro / a_round};
    for (uint32_t r = 0; !plan->rank_first && r < rank; r++)
        s.first += plan->rank_rows[r];
    for (uint32_t m = s.round * a_round; m < micro; m++)
        s.first += rows[m];
    return s;
}

double plan_loss_weight(const struct plan *plan, uint32_t op)
{
    const uint32_t rank = rank_of(plan, op), micro = plan->ops[op].tag.micro;
    const double scale = plan->loss_scale > 0 ? plan->loss_scale : 1;
    if (micro == OP_NONE)
        return scale;
    const gsize at = (gsize)rank * plan->n_micro + micro;
    if (plan->micro_weight)
        return scale * plan->micro_weight[at];
    return plan->rank_rows[rank] ? scale * plan->micro_rows[at] / plan->rank_rows[rank] : 0;
}
