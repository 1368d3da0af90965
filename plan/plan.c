#include "plan/plan.h"

#include <string.h>

#include "base/huge.h"

#define ALIGNMENT 64

G_DEFINE_QUARK(parprof_plan, plan_error)

/* Unit costs go by the share. */
static gboolean same_cost(gconstpointer a, gconstpointer b)
{
    const struct cost_key *x = a, *y = b;
    return x->share == y->share && x->paired == y->paired && cost_key_equal(a, b);
}

/* The arrays that grow.  Of ops the first row that is not there is in use, as the end mark. */
enum { GROWING = 5 };
struct growing {
    void *array; /* where the pointer to it is */
    uint32_t used, *room;
    size_t bytes_each;
    uint32_t most;
};

static void list_growing(struct plan *plan, struct growing *out)
{
    const struct growing all[GROWING] = {
        {&plan->ops, plan->room.ops ? plan->n_ops + 1 : 0, &plan->room.ops, sizeof *plan->ops, PLAN_OPS_MAX},
        {&plan->values, plan->n_values, &plan->room.values, sizeof *plan->values, PLAN_VALUES_MAX},
        {&plan->accesses, plan->n_accesses, &plan->room.accesses, sizeof *plan->accesses, UINT32_MAX},
        {&plan->deps, plan->n_deps, &plan->room.deps, sizeof *plan->deps, UINT32_MAX},
        {&plan->gangs, plan->n_gangs, &plan->room.gangs, sizeof *plan->gangs, UINT32_MAX}};
    memcpy(out, all, sizeof all);
}

/* Arrays of a plan that was reserved at first lie in one block. */
static void release_array(const struct plan *plan, void *array)
{
    const uintptr_t at = (uintptr_t)array, block = (uintptr_t)plan->block;
    if (!plan->block || at < block || at >= block + plan->block_bytes)
        g_free(array);
}

static void *array_of(const struct growing *g)
{
    void *array;
    return memcpy(&array, g->array, sizeof array), array;
}

static void move_to(const struct plan *plan, const struct growing *g, void *to, uint32_t room)
{
    if (g->used)
        memcpy(to, array_of(g), g->used * g->bytes_each);
    release_array(plan, array_of(g));
    memcpy(g->array, &to, sizeof to);
    *g->room = room;
}

void plan_grow(struct plan *plan)
{
    struct growing all[GROWING];
    list_growing(plan, all);
    for (unsigned i = 0; i < GROWING; i++) {
        const uint32_t room = (uint32_t)MIN(MAX(2 * (uint64_t)*all[i].room, 1024), all[i].most);
        if (*all[i].room - all[i].used >= PLAN_FEW)
            continue;
        if (room - all[i].used < PLAN_FEW)
            g_error("a plan with more than %u rows of a table has no room", all[i].used);
        move_to(plan, &all[i], huge_alloc(room, all[i].bytes_each), room);
    }
}

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.cost_ids = g_hash_table_new_full(cost_key_hash, same_cost, g_free, NULL)};
    tables_init(&plan->t);
    plan_grow(plan);
    plan->ops[0].first_access = plan->ops[0].first_dep = 0;
}

void plan_reserve(struct plan *plan, const struct plan_room *more)
{
    const uint64_t wanted[GROWING] = {more->ops, more->values, more->accesses, more->deps, more->gangs};
    struct growing all[GROWING];
    size_t bytes = 0;
    if (plan->block)
        return;
    list_growing(plan, all);
    for (unsigned i = 0; i < GROWING; i++) {
        const uint64_t room = MAX(all[i].used + wanted[i], *all[i].room);
        if (room > all[i].most)
            return;
        bytes += (room * all[i].bytes_each + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    const size_t order = bytes;
    bytes += (more->ops + more->gang_ops) * sizeof *plan->order;
    char *block = huge_alloc(bytes, 1), *at = block;
    for (unsigned i = 0; i < GROWING; i++) {
        const uint32_t room = (uint32_t)MAX(all[i].used + wanted[i], *all[i].room);
        move_to(plan, &all[i], at, room);
        at += (room * all[i].bytes_each + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    plan->block = block;
    plan->block_bytes = bytes;
    plan->block_order = order;
}

void plan_make_order(struct plan *plan)
{
    const size_t n = (size_t)plan->n_ops + plan->n_gang_ops + 1;
    if (n <= (plan->block_bytes - plan->block_order) / sizeof *plan->order)
        plan->order = (uint32_t *)(void *)((char *)plan->block + plan->block_order);
    else
        plan->order = huge_new(uint32_t, n);
    plan->gang_ops = plan->order + plan->n_ops;
}

void plan_drop_order(struct plan *plan)
{
    release_array(plan, plan->order);
    plan->order = plan->gang_ops = NULL;
}

void plan_release(struct plan *plan)
{
    if (plan->cost_ids)
        g_hash_table_destroy(plan->cost_ids);
    struct growing all[GROWING];
    list_growing(plan, all);
    for (unsigned i = 0; i < GROWING; i++)
        release_array(plan, array_of(&all[i]));
    plan_drop_order(plan);
    g_free(plan->block);
    g_free(plan->costs);
    g_free(plan->rank_share);
    g_free(plan->rank_first);
    g_free(plan->rank_rows);
    g_free(plan->micro_weight);
    g_free(plan->micro_rows);
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
    if (plan->n_values == plan->room.values)
        plan_grow(plan);
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
    if (plan->n_costs == plan->room.costs) {
        plan->room.costs = MAX(2 * plan->room.costs, 64);
        plan->costs = g_renew(struct cost_key, plan->costs, plan->room.costs);
    }
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
