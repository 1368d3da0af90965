#include "sim/sim.h"

#include <string.h>

#include "base/huge.h"

/* An op, or a join of two waits.  What it waits for are slots, each the end of something; slot 0 is time 0.
 * Ends on a lane never decrease, so of an op's dependencies only the last on each other lane counts; where
 * more than one lane remains, joins of cost 0 come first. */
struct node {
    uint32_t a, b; /* slots */
    uint32_t cost; /* index of sweep.cost_ns */
};

/* Nodes alone, each filling a slot of its own, then one gang, whose members fill one slot together. */
struct segment {
    uint32_t alone, members;
};

struct sweep {
    uint32_t n_ops, n_lanes, n_costs, n_nodes, n_slots, n_segments;
    struct node *nodes;
    struct segment *segments;
    uint32_t *op_node, *op_slot; /* by op */
    uint32_t *lane_slot;         /* by lane: of its last op */
    int64_t *end_ns;             /* by slot */
    int64_t *cost_ns;            /* 0, then the plan's costs */
};

/* Only while packing.  A gang has one op a lane at most, and an op waits for one slot a lane at most. */
struct packer {
    struct sweep *s;
    const struct plan *plan;
    uint32_t *waits, *members; /* room for n_lanes each */
    uint32_t *lane_stamp;      /* by lane: 1 + the op that waits for it */
    uint32_t *lane_wait;       /* by lane: index of waits */
};

static uint32_t collect_waits(struct packer *p, uint32_t op)
{
    const struct op *o = &p->plan->ops[op];
    uint32_t n = 0;
    for (uint32_t d = o[0].first_dep; d < o[1].first_dep; d++) {
        uint32_t on = p->plan->deps[d], lane = p->plan->ops[on].lane, slot = p->s->op_slot[on];
        if (lane == o->lane)
            continue;
        if (p->lane_stamp[lane] != op + 1) {
            p->lane_stamp[lane] = op + 1;
            p->lane_wait[lane] = n;
            p->waits[n++] = slot;
        } else if (slot > p->waits[p->lane_wait[lane]])
            p->waits[p->lane_wait[lane]] = slot;
    }
    return n;
}

static void add_node(struct sweep *s, uint32_t a, uint32_t b, uint32_t cost)
{
    s->nodes[s->n_nodes++] = (struct node){a, b, cost};
}

/* The slot that stands for all that the op waits for on other lanes. */
static uint32_t join_waits(struct packer *p, uint32_t op)
{
    struct sweep *s = p->s;
    uint32_t n = collect_waits(p, op);
    uint32_t slot = n ? p->waits[0] : 0;
    for (uint32_t i = 1; i < n; i++) {
        add_node(s, slot, p->waits[i], 0);
        s->segments[s->n_segments - 1].alone++;
        slot = s->n_slots++;
    }
    return slot;
}

static void add_op(struct packer *p, uint32_t op, uint32_t wait)
{
    struct sweep *s = p->s;
    const struct op *o = &p->plan->ops[op];
    s->op_node[op] = s->n_nodes;
    s->op_slot[op] = s->n_slots;
    add_node(s, s->lane_slot[o->lane], wait, o->cost + 1);
    s->lane_slot[o->lane] = s->n_slots;
}

static uint32_t gang_length(const struct plan *plan, uint32_t at)
{
    uint32_t gang = plan->ops[plan->order[at]].tag.gang, n = 1;
    while (at + n < plan->n_ops && plan->ops[plan->order[at + n]].tag.gang == gang)
        n++;
    return n;
}

static void pack(struct packer *p)
{
    struct sweep *s = p->s;
    const struct plan *plan = p->plan;
    s->segments[s->n_segments++] = (struct segment){0, 0};
    for (uint32_t at = 0; at < plan->n_ops;) {
        uint32_t op = plan->order[at];
        if (plan->ops[op].tag.gang == OP_NONE) {
            add_op(p, op, join_waits(p, op));
            s->segments[s->n_segments - 1].alone++;
            s->n_slots++;
            at++;
            continue;
        }
        uint32_t n = gang_length(plan, at);
        for (uint32_t i = 0; i < n; i++)
            p->members[i] = join_waits(p, plan->order[at + i]);
        for (uint32_t i = 0; i < n; i++)
            add_op(p, plan->order[at + i], p->members[i]);
        s->segments[s->n_segments - 1].members = n;
        s->segments[s->n_segments++] = (struct segment){0, 0};
        s->n_slots++;
        at += n;
    }
}

struct sweep *sweep_new(const struct plan *plan)
{
    g_assert(plan->order != NULL || plan->n_ops == 0);
    size_t most_nodes = (size_t)plan->n_ops + plan->n_deps;
    g_assert(most_nodes < UINT32_MAX);
    struct sweep *s = g_new(struct sweep, 1);
    *s = (struct sweep){
        .n_ops = plan->n_ops, .n_lanes = plan->t.n_lanes, .n_costs = plan->n_costs, .n_slots = 1};
    s->nodes = huge_new(struct node, most_nodes);
    s->segments = huge_new(struct segment, (size_t)plan->n_gangs + 1);
    s->op_node = huge_new(uint32_t, s->n_ops);
    s->op_slot = huge_new(uint32_t, s->n_ops);
    s->lane_slot = g_new0(uint32_t, s->n_lanes);
    struct packer p = {s,
                       plan,
                       g_new(uint32_t, s->n_lanes),
                       g_new(uint32_t, s->n_lanes),
                       g_new0(uint32_t, s->n_lanes),
                       g_new(uint32_t, s->n_lanes)};
    pack(&p);
    g_free(p.waits);
    g_free(p.members);
    g_free(p.lane_stamp);
    g_free(p.lane_wait);
    s->end_ns = huge_new0(int64_t, s->n_slots);
    s->cost_ns = g_new0(int64_t, (size_t)s->n_costs + 1);
    return s;
}

void sweep_free(struct sweep *s)
{
    if (!s)
        return;
    g_free(s->nodes);
    g_free(s->segments);
    g_free(s->op_node);
    g_free(s->op_slot);
    g_free(s->lane_slot);
    g_free(s->end_ns);
    g_free(s->cost_ns);
    g_free(s);
}

static inline int64_t later(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static void fill_ends(const struct sweep *s)
{
    const struct node *restrict node = s->nodes;
    const int64_t *restrict cost_ns = s->cost_ns;
    int64_t *end_ns = s->end_ns;
    uint32_t slot = 1;
    for (uint32_t g = 0; g < s->n_segments; g++) {
        for (const struct node *stop = node + s->segments[g].alone; node < stop; node++)
            end_ns[slot++] = later(end_ns[node->a], end_ns[node->b]) + cost_ns[node->cost];
        if (s->segments[g].members == 0)
            continue;
        int64_t ready_ns = 0, takes_ns = 0;
        for (const struct node *stop = node + s->segments[g].members; node < stop; node++) {
            ready_ns = later(ready_ns, later(end_ns[node->a], end_ns[node->b]));
            takes_ns = later(takes_ns, cost_ns[node->cost]);
        }
        end_ns[slot++] = ready_ns + takes_ns;
    }
}

int64_t sweep_time(struct sweep *s, const int64_t *cost_ns, int64_t *start_ns, int64_t *end_ns)
{
    if (s->n_costs)
        memcpy(s->cost_ns + 1, cost_ns, s->n_costs * sizeof *cost_ns);
    fill_ends(s);
    int64_t makespan_ns = 0;
    for (uint32_t l = 0; l < s->n_lanes; l++)
        makespan_ns = later(makespan_ns, s->end_ns[s->lane_slot[l]]);
    if (start_ns)
        for (uint32_t i = 0; i < s->n_ops; i++) {
            const struct node *node = &s->nodes[s->op_node[i]];
            start_ns[i] = later(s->end_ns[node->a], s->end_ns[node->b]);
        }
    if (end_ns)
        for (uint32_t i = 0; i < s->n_ops; i++)
            end_ns[i] = s->end_ns[s->op_slot[i]];
    return makespan_ns;
}

/* When the op could begin. */
static int64_t ready_ns(const struct plan *plan, uint32_t op, const int64_t *lane_ns, const int64_t *end_ns)
{
    const struct op *o = &plan->ops[op];
    int64_t ns = lane_ns[o->lane];
    for (uint32_t d = o->first_dep; d < o[1].first_dep; d++)
        ns = later(ns, end_ns[plan->deps[d]]);
    return ns;
}

/* The order goes through all ranks at once, which no cache foresees; but what comes next of a rank is a
 * little further on. */
static inline void fetch(const struct plan *plan, uint32_t id, const int64_t *end_ns)
{
    enum { OPS = 8 };
    const struct op *op = &plan->ops[id];
    __builtin_prefetch(op + OPS);
    __builtin_prefetch(&plan->deps[op->first_dep + 2 * OPS]);
    __builtin_prefetch(&end_ns[id + OPS], 1);
}

int64_t sweep_once(const struct plan *plan, const int64_t *cost_ns, int64_t *start_ns, int64_t *end_ns)
{
    g_autofree int64_t *lane_ns = g_new0(int64_t, plan->t.n_lanes);
    int64_t makespan_ns = 0;
    for (uint32_t at = 0; at < plan->n_ops;) {
        const uint32_t *members = &plan->order[at], gang = plan->ops[members[0]].tag.gang,
                       n = gang == OP_NONE ? 1 : plan->gangs[gang].n;
        int64_t all_ns = 0, takes_ns = 0;
        for (uint32_t i = 0; i < n; i++) {
            fetch(plan, members[i], end_ns);
            const int64_t ns = ready_ns(plan, members[i], lane_ns, end_ns);
            all_ns = later(all_ns, ns);
            takes_ns = later(takes_ns, cost_ns[plan->ops[members[i]].cost]);
            if (start_ns)
                start_ns[members[i]] = ns;
        }
        for (uint32_t i = 0; i < n; i++)
            end_ns[members[i]] = lane_ns[plan->ops[members[i]].lane] = all_ns + takes_ns;
        makespan_ns = later(makespan_ns, all_ns + takes_ns);
        at += n;
    }
    return makespan_ns;
}
