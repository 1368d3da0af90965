#include "plan/plan.h"

#include "base/huge.h"

G_DEFINE_QUARK(parprof_plan, plan_error)

/* Makes room for one more row. */
#define GROW(array, n, capacity)                                                                             \
    do {                                                                                                     \
        const uint32_t used = (n);                                                                           \
        if (used == (capacity)) {                                                                            \
            (capacity) = MAX(2 * used, 1024);                                                                \
            (array) = huge_grow((array), used, (capacity), sizeof *(array));                                 \
        }                                                                                                    \
    } while (0)

#define RESERVE(array, n, capacity, more)                                                                    \
    do {                                                                                                     \
        const uint32_t used = (n);                                                                           \
        const uint64_t wanted = used + (more);                                                               \
        if (wanted > (capacity) && wanted < UINT32_MAX) {                                                    \
            (capacity) = (uint32_t)wanted;                                                                   \
            (array) = huge_grow((array), used, (capacity), sizeof *(array));                                 \
        }                                                                                                    \
    } while (0)

/* Unit costs go by the share. */
static gboolean same_cost(gconstpointer a, gconstpointer b)
{
    const struct cost_key *x = a, *y = b;
    return x->share == y->share && x->paired == y->paired && cost_key_equal(a, b);
}

/* Of ops the first row that is not there is in use, as the end mark. */
static uint32_t n_rows_of_ops(const struct plan *plan)
{
    return plan->room.ops ? plan->n_ops + 1 : 0;
}

void plan_grow(struct plan *plan)
{
    GROW(plan->ops, n_rows_of_ops(plan), plan->room.ops);
    GROW(plan->values, plan->n_values, plan->room.values);
    GROW(plan->accesses, plan->n_accesses, plan->room.accesses);
    GROW(plan->deps, plan->n_deps, plan->room.deps);
    GROW(plan->gangs, plan->n_gangs, plan->room.gangs);
}

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.cost_ids = g_hash_table_new_full(cost_key_hash, same_cost, g_free, NULL)};
    tables_init(&plan->t);
    plan_grow(plan);
    plan->ops[0].first_access = plan->ops[0].first_dep = 0;
}

void plan_reserve(struct plan *plan, const struct plan_room *room)
{
    RESERVE(plan->ops, n_rows_of_ops(plan), plan->room.ops, room->ops);
    RESERVE(plan->values, plan->n_values, plan->room.values, room->values);
    RESERVE(plan->accesses, plan->n_accesses, plan->room.accesses, room->accesses);
    RESERVE(plan->deps, plan->n_deps, plan->room.deps, room->deps);
    RESERVE(plan->gangs, plan->n_gangs, plan->room.gangs, room->gangs);
}

void plan_release(struct plan *plan)
{
    if (plan->cost_ids)
        g_hash_table_destroy(plan->cost_ids);
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

uint32_t plan_add_view(struct plan *plan, uint32_t root, uint64_t offset, uint64_t bytes)
{
    GROW(plan->values, plan->n_values, plan->room.values);
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
    if (g_hash_table_lookup_extended(plan->cost_ids, key, NULL, &id))
        return GPOINTER_TO_UINT(id);
    GROW(plan->costs, plan->n_costs, plan->room.costs);
    struct cost_key own = *key;
    own.shape = tables_intern(&plan->t, key->shape ? key->shape : "");
    plan->costs[plan->n_costs] = own;
    g_hash_table_insert(plan->cost_ids, g_memdup2(&own, sizeof own), GUINT_TO_POINTER(plan->n_costs));
    return plan->n_costs++;
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
