#include "tests/plans.h"

#include <string.h>

static uint32_t lane_rank(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

/* --- oracle */

static bool overlap(const struct plan *plan, const struct access *a, const struct access *b)
{
    const struct value *v = &plan->values[a->value], *w = &plan->values[b->value];
    return v->root == w->root && v->offset < w->offset + w->bytes && w->offset < v->offset + v->bytes &&
           v->bytes && w->bytes;
}

/* Whether two ops touch the same bytes, one of them writing. */
static bool conflict(const struct plan *plan, uint32_t a, uint32_t b)
{
    for (uint32_t i = plan->ops[a].first_access; i < plan->ops[a + 1].first_access; i++)
        for (uint32_t k = plan->ops[b].first_access; k < plan->ops[b + 1].first_access; k++)
            if (((plan->accesses[i].mode | plan->accesses[k].mode) & ACCESS_WRITE) &&
                overlap(plan, &plan->accesses[i], &plan->accesses[k]))
                return true;
    return false;
}

/* reach[a * n + b]: a path of ops of one rank leads from a to b. */
static bool *closure(const struct plan *plan)
{
    uint32_t n = plan->n_ops;
    bool *reach = g_new0(bool, (gsize)n *n + 1);
    for (uint32_t b = 0; b < n; b++) {
        bool chained = false;
        for (uint32_t a = b; a-- > 0;) {
            bool edge = !chained && plan->ops[a].lane == plan->ops[b].lane;
            chained = chained || edge;
            for (uint32_t d = plan->ops[b].first_dep; d < plan->ops[b + 1].first_dep; d++)
                edge = edge || plan->deps[d] == a;
            for (uint32_t c = 0; edge && c <= a; c++)
                if (c == a || reach[(gsize)c * n + a])
                    reach[(gsize)c * n + b] = true;
        }
    }
    return reach;
}

/* Runs what can run until nothing can, gangs as a whole. */
static bool runs_through(const struct plan *plan)
{
    g_autofree bool *done = g_new0(bool, plan->n_ops + 1);
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < plan->n_ops; i++) {
            uint32_t gang = plan->ops[i].tag.gang;
            bool ready = !done[i];
            for (uint32_t m = 0; m < plan->n_ops && ready; m++) {
                if (m != i && (gang == OP_NONE || plan->ops[m].tag.gang != gang))
                    continue;
                for (uint32_t a = 0; a < m && ready; a++)
                    ready = done[a] || plan->ops[a].lane != plan->ops[m].lane;
                for (uint32_t d = plan->ops[m].first_dep; d < plan->ops[m + 1].first_dep && ready; d++)
                    ready = done[plan->deps[d]];
            }
            for (uint32_t m = 0; m < plan->n_ops && ready; m++)
                if (m == i || (gang != OP_NONE && plan->ops[m].tag.gang == gang))
                    done[m] = moved = true;
        }
    }
    return memchr(done, 0, plan->n_ops) == NULL;
}

/* Byte by byte, in the order of ids. */
static bool written_first(const struct plan *plan)
{
    g_autoptr(GPtrArray) bytes = g_ptr_array_new_with_free_func(g_free);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        g_ptr_array_add(bytes, g_malloc(v->bytes + 1));
        memset(bytes->pdata[i], v->flags & VALUE_LIVE_IN ? 1 : 0, v->bytes + 1);
    }
    for (uint32_t i = 0; i < plan->n_accesses; i++) {
        const struct value *v = &plan->values[plan->accesses[i].value];
        uint8_t *at = (uint8_t *)bytes->pdata[v->root] + v->offset;
        if ((plan->accesses[i].mode & ACCESS_READ) && memchr(at, 0, v->bytes))
            return false;
        if (plan->accesses[i].mode & ACCESS_WRITE)
            memset(at, 1, v->bytes);
    }
    return true;
}

bool plans_ordered(const struct plan *plan)
{
    g_autofree bool *reach = closure(plan);
    for (uint32_t b = 0; b < plan->n_ops; b++)
        for (uint32_t a = 0; a < b; a++)
            if (lane_rank(plan, a) == lane_rank(plan, b) && !reach[(gsize)a * plan->n_ops + b] &&
                conflict(plan, a, b))
                return false;
    return written_first(plan) && runs_through(plan);
}

/* Whether every op that accesses one root comes before every op that accesses the other. */
static bool over_before(const struct plan *plan, const bool *reach, uint32_t root, uint32_t other)
{
    for (uint32_t a = 0; a < plan->n_ops; a++)
        for (uint32_t i = plan->ops[a].first_access; i < plan->ops[a + 1].first_access; i++) {
            if (plan->values[plan->accesses[i].value].root != root)
                continue;
            for (uint32_t b = 0; b < plan->n_ops; b++)
                for (uint32_t k = plan->ops[b].first_access; k < plan->ops[b + 1].first_access; k++)
                    if (plan->values[plan->accesses[k].value].root == other &&
                        !reach[(gsize)a * plan->n_ops + b])
                        return false;
        }
    return true;
}

static bool share_bytes(const struct plan *plan, uint32_t a, uint32_t b)
{
    const struct value *v = &plan->values[a], *w = &plan->values[b];
    return v->rank == w->rank && v->bytes && w->bytes && plan->place[a] < plan->place[b] + w->bytes &&
           plan->place[b] < plan->place[a] + v->bytes;
}

bool plans_placed(const struct plan *plan)
{
    const uint8_t kept = VALUE_LIVE_IN | VALUE_LIVE_OUT;
    g_autofree bool *reach = closure(plan);
    for (uint32_t a = 0; a < plan->n_values; a++) {
        const struct value *v = &plan->values[a];
        if (v->root != a)
            continue;
        if (plan->place[a] % 64 || plan->place[a] + v->bytes > plan->arena_bytes[v->rank])
            return false;
        for (uint32_t b = 0; b < a; b++)
            if (plan->values[b].root == b && share_bytes(plan, a, b) &&
                ((v->flags | plan->values[b].flags) & kept ||
                 (!over_before(plan, reach, a, b) && !over_before(plan, reach, b, a))))
                return false;
    }
    return true;
}

/* --- random plans */

static const uint8_t lane_kinds[] = {OP_FWD, OP_FWD, OP_ALLREDUCE, OP_INPUT};
#define LANES  ((uint32_t)G_N_ELEMENTS(lane_kinds))
#define ROOTS  5
#define VALUES (3 * ROOTS) /* of a rank: each root and two views of it */

static uint32_t below(uint32_t n)
{
    return (uint32_t)g_test_rand_int_range(0, (gint32)n);
}

/* After op `b`, the last, was added with its accesses: orders it after what it conflicts with, as a legal
 * plan must. */
static void add_needed_deps(struct plan *plan, uint32_t b)
{
    for (uint32_t a = b; a-- > 0;) {
        if (lane_rank(plan, a) != lane_rank(plan, b) || !conflict(plan, a, b))
            continue;
        g_autofree bool *reach = closure(plan);
        if (!reach[(gsize)a * plan->n_ops + b])
            plan_dep(plan, a);
    }
}

static void add_op(struct plan *plan, uint32_t rank, uint32_t lane, uint32_t gang, uint64_t bytes,
                   bool *written)
{
    struct op_tag tag = {.kind = lane_kinds[lane],
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = bytes};
    uint32_t id = plan_add_op(plan, rank * LANES + lane, &tag, 0);
    for (uint32_t n = below(4); n > 0; n--) {
        uint32_t value = rank * VALUES + below(VALUES), root = plan->values[value].root;
        uint8_t mode = (uint8_t)(1 + below(3));
        /* A root counts as written once an op wrote the whole of it. */
        if ((mode & ACCESS_READ) && !written[root]) {
            mode = ACCESS_WRITE;
            value = root;
        }
        plan_access(plan, value, mode);
        written[root] = written[root] || ((mode & ACCESS_WRITE) && value == root);
    }
    add_needed_deps(plan, id);
    for (uint32_t n = below(3); n > 0 && id > 0; n--) {
        uint32_t on = below(id);
        if (lane_rank(plan, on) == rank)
            plan_dep(plan, on);
    }
}

static void add_rank(struct plan *plan, uint32_t rank)
{
    static const char *const names[] = {"compute", "compute 2", "comm", "copy"};
    for (uint32_t i = 0; i < LANES; i++) {
        struct lane lane = {names[i], rank, rank, OP_NONE, (uint8_t)op_lane_class(lane_kinds[i])};
        plan_add_lane(plan, &lane);
    }
    for (uint32_t i = 0; i < ROOTS; i++) {
        struct value v = {.bytes = below(40), .rank = rank, .index = OP_NONE, .cls = VALUE_SCRATCH};
        v.flags = below(2) ? VALUE_LIVE_IN : 0;
        uint32_t root = plan_add_value(plan, &v);
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t from = below((uint32_t)v.bytes + 1);
            plan_add_view(plan, root, from, below((uint32_t)(v.bytes - from) + 1));
        }
    }
}

void plans_random(struct plan *plan)
{
    plan_init(plan);
    plan->t.n_ranks = 1 + below(3);
    struct cost_key key = {.members = 1};
    plan_add_cost(plan, &key);
    for (uint32_t rank = 0; rank < plan->t.n_ranks; rank++)
        add_rank(plan, rank);
    g_autofree bool *written = g_new0(bool, plan->n_values);
    for (uint32_t i = 0; i < plan->n_values; i++)
        written[i] = plan->values[i].flags & VALUE_LIVE_IN;
    for (uint32_t n = 3 + below(20); n > 0; n--) {
        uint32_t lane = below(LANES);
        if (lane_kinds[lane] != OP_ALLREDUCE) {
            add_op(plan, below(plan->t.n_ranks), lane, OP_NONE, 0, written);
            continue;
        }
        uint32_t gang = plan_add_gang(plan, 0), bytes = below(100);
        for (uint32_t rank = plan->t.n_ranks; rank-- > 0;)
            if (rank == 0 || below(4))
                add_op(plan, rank, lane, gang, bytes, written);
    }
}

uint32_t plans_dep_owner(const struct plan *plan, uint32_t dep)
{
    uint32_t op = 0;
    while (plan->ops[op + 1].first_dep <= dep)
        op++;
    return op;
}

void plans_drop_dep(struct plan *plan, uint32_t dep)
{
    for (uint32_t op = plans_dep_owner(plan, dep) + 1; op <= plan->n_ops; op++)
        plan->ops[op].first_dep--;
    plan->n_deps--;
    memmove(&plan->deps[dep], &plan->deps[dep + 1], (plan->n_deps - dep) * sizeof *plan->deps);
}
