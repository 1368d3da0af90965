/* A topological order with each gang one node: breadth first, as Kahn's algorithm has it.
 *
 * Ids ascend along a lane and a dependency is of the op's own rank, so that how far each lane has come is all
 * that there is to know: a dependency is met if its lane is past it.  The first op of a lane that is not
 * waits at the lane of its first dependency that is not met; when it is, the next one is looked at, so that
 * each is looked at once. */
#include <string.h>

#include "base/huge.h"
#include "plan/seal.h"

/* A lane.  It waits for one op at most. */
struct track {
    uint32_t head;      /* its first op that is not done; OP_NONE: all are */
    uint32_t dep;       /* index of deps: those of head before it are met */
    uint32_t waits_for; /* op */
    uint32_t waiters;   /* first of the lanes that wait for an op of this one; OP_NONE */
    uint32_t link;      /* the next lane that waits where this one does */
    uint32_t rank;
};

struct walk {
    struct plan *plan;
    struct seal_links *links;
    const struct seal_node *nodes;
    struct track *tracks;
    uint32_t *woken; /* ops, room for the lanes of a rank and one more */
    uint32_t n;      /* ops in the order, which serves as the queue too */
    GError **error;
    bool failed;
};

/* In the state of a meet: members that may begin, and whether all is checked. */
#define UNCHECKED (UINT32_C(1) << 31)

static uint32_t track_rank(const struct walk *w, uint32_t op)
{
    return w->tracks[w->nodes[op].lane].rank;
}

static int by_rank(const void *a, const void *b, void *user)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b, r = track_rank(user, x),
                   q = track_rank(user, y);
    return r != q ? (r > q) - (r < q) : (x > y) - (x < y);
}

static void sort_by_rank(struct walk *w, uint32_t *members, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && track_rank(w, members[i - 1]) <= track_rank(w, members[i]))
        i++;
    if (i == n)
        return;
    if (n > 2)
        g_qsort_with_data(members, (gint)n, sizeof *members, by_rank, w);
    else {
        const uint32_t first = members[1];
        members[1] = members[0];
        members[0] = first;
    }
}

/* Members are listed where their gang will stand. */
static void arrive(struct walk *w, uint32_t op, uint32_t g)
{
    struct plan *plan = w->plan;
    struct gang *gang = &plan->gangs[g];
    const uint32_t state = w->links->meets[g].state++, others = state & ~UNCHECKED;
    if (others == 0) {
        gang->first = plan->n_gang_ops;
        plan->n_gang_ops += gang->n;
    }
    uint32_t *members = &plan->gang_ops[gang->first];
    members[others] = op;
    if (others + 1 < gang->n)
        return;
    sort_by_rank(w, members, gang->n);
    if ((state & UNCHECKED) && !seal_gang(plan, gang, w->error))
        w->failed = true;
    for (uint32_t i = 0; i < gang->n; i++)
        plan->order[w->n++] = members[i];
}

/* Goes on with what the first op of a lane waits for. */
static void look(struct walk *w, uint32_t lane)
{
    const struct plan *plan = w->plan;
    struct track *track = &w->tracks[lane];
    const uint32_t op = track->head, end = w->nodes[op + 1].first_dep;
    for (uint32_t dep = track->dep; dep < end; dep++) {
        const uint32_t on = plan->deps[dep];
        struct track *other = &w->tracks[w->nodes[on].lane];
        if (other->head > on)
            continue;
        track->dep = dep;
        track->waits_for = on;
        track->link = other->waiters;
        other->waiters = lane;
        return;
    }
    if (w->nodes[op].gang != OP_NONE)
        arrive(w, op, w->nodes[op].gang);
    else
        plan->order[w->n++] = op;
}

/* Whether there is one. */
static inline bool begin_op(struct walk *w, struct track *track, uint32_t op)
{
    track->head = op;
    if (op == OP_NONE)
        return false;
    track->dep = w->nodes[op].first_dep;
    return true;
}

/* In the order of ids. */
static void wake(struct walk *w, uint32_t op, uint32_t n)
{
    for (; n > 0 && w->woken[n - 1] > op; n--)
        w->woken[n] = w->woken[n - 1];
    w->woken[n] = op;
}

/* The lanes that wait for the op, which is of this lane; returns how many. */
static uint32_t wake_waiters(struct walk *w, struct track *track, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t *lane = &track->waiters; *lane != OP_NONE;) {
        struct track *waiter = &w->tracks[*lane];
        if (waiter->waits_for == op) {
            wake(w, waiter->head, n++);
            *lane = waiter->link;
        } else
            lane = &waiter->link;
    }
    return n;
}

static inline void finish(struct walk *w, uint32_t op)
{
    const uint32_t lane = w->nodes[op].lane;
    struct track *track = &w->tracks[lane];
    uint32_t n = track->waiters == OP_NONE ? 0 : wake_waiters(w, track, op);
    const bool goes_on = begin_op(w, track, w->nodes[op].next);
    if (n == 0) {
        if (goes_on)
            look(w, lane);
        return;
    }
    if (goes_on)
        wake(w, track->head, n++);
    for (uint32_t i = 0; i < n; i++)
        look(w, w->nodes[w->woken[i]].lane);
}

/* What can begin stands in the order of ids, a gang where its first member does. */
static int by_first(const void *a, const void *b, void *user)
{
    const struct walk *w = user;
    const uint32_t ids[] = {*(const uint32_t *)a, *(const uint32_t *)b};
    uint32_t first[2];
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t g = w->nodes[ids[i]].gang;
        first[i] = g == OP_NONE ? ids[i] : w->plan->gang_ops[w->plan->gangs[g].first];
    }
    return first[0] != first[1] ? (first[0] > first[1]) - (first[0] < first[1]) : by_rank(a, b, user);
}

static void begin(struct walk *w)
{
    const struct plan *plan = w->plan;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++) {
        w->tracks[i] = (struct track){.waiters = OP_NONE, .rank = plan->t.lanes[i].rank};
        begin_op(w, &w->tracks[i], w->links->first[i]);
    }
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (w->tracks[i].head != OP_NONE)
            look(w, i);
    g_qsort_with_data(plan->order, (gint)w->n, sizeof *plan->order, by_first, w);
}

/* The order goes through all ranks at once, which no cache foresees; but what comes next of a rank, and of a
 * channel of a pipeline, is a little further on. */
static inline void fetch(const struct walk *w, uint32_t op)
{
    enum { OPS = 16, GANGS = 4 };
    const struct seal_node *node = &w->nodes[op];
    __builtin_prefetch(node + OPS);
    __builtin_prefetch(&w->plan->deps[node->first_dep + OPS]);
    if (node->gang == OP_NONE)
        return;
    __builtin_prefetch(&w->links->meets[node->gang + GANGS], 1);
    __builtin_prefetch(&w->plan->gangs[node->gang + GANGS], 1);
}

static void run(struct walk *w)
{
    begin(w);
    for (uint32_t done = 0; done < w->n && !w->failed; done++) {
        fetch(w, w->plan->order[done]);
        finish(w, w->plan->order[done]);
    }
}

/* --- what cannot be done */

static bool is_left(const struct walk *w, uint32_t op)
{
    return w->tracks[w->plan->ops[op].lane].head <= op;
}

/* An op of the node of `op`, and what it waits for, among those that are left. */
static uint32_t blocker(const struct walk *w, const uint32_t *previous, uint32_t op, uint32_t *waiting)
{
    const struct plan *plan = w->plan;
    const uint32_t g = plan->ops[op].tag.gang, n = g == OP_NONE ? 1 : plan->gangs[g].n;
    for (uint32_t m = 0; m < n; m++) {
        const uint32_t member = g == OP_NONE ? op : plan->gang_ops[plan->gangs[g].first + m];
        *waiting = member;
        if (previous[member] != OP_NONE && is_left(w, previous[member]))
            return previous[member];
        for (uint32_t d = plan->ops[member].first_dep; d < plan->ops[member + 1].first_dep; d++)
            if (is_left(w, plan->deps[d]))
                return plan->deps[d];
    }
    return OP_NONE;
}

static uint32_t node_of(const struct plan *plan, uint32_t op)
{
    return plan->ops[op].tag.gang == OP_NONE ? op : plan->n_ops + plan->ops[op].tag.gang;
}

static uint32_t *link_back(const struct walk *w)
{
    uint32_t *previous = huge_new(uint32_t, (gsize)w->plan->n_ops + 1);
    memset(previous, 0xff, w->plan->n_ops * sizeof *previous);
    for (uint32_t i = 0; i < w->plan->n_ops; i++)
        if (w->nodes[i].next != OP_NONE)
            previous[w->nodes[i].next] = i;
    return previous;
}

/* From any op that is left, waiting leads into a circle; its first op is named. */
static bool refuse_deadlock(const struct walk *w)
{
    const struct plan *plan = w->plan;
    g_autofree uint8_t *seen = g_new0(uint8_t, (gsize)plan->n_ops + plan->n_gangs + 1);
    g_autofree uint32_t *previous = link_back(w);
    uint32_t at = 0, waiting = 0, first = OP_NONE, on = OP_NONE;
    while (!is_left(w, at))
        at++;
    while (seen[node_of(plan, at)] < 2) {
        const bool again = ++seen[node_of(plan, at)] == 2;
        const uint32_t next = blocker(w, previous, at, &waiting);
        if (again && waiting < first) {
            first = waiting;
            on = next;
        }
        at = next;
    }
    g_autofree char *other = plan_op_text(plan, on);
    return seal_refuse(plan, first, w->error, "deadlock: it waits for %s, which waits for it through a gang",
                       other);
}

bool seal_order(struct plan *plan, struct seal_links *links, GError **error)
{
    g_autofree struct track *tracks = g_new(struct track, (gsize)plan->t.n_lanes + 1);
    g_autofree uint32_t *woken = g_new(uint32_t, (gsize)plan->t.n_lanes + 1);
    struct walk w = {plan, links, links->nodes, tracks, woken, .error = error};
    plan->n_gang_ops = 0;
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        links->meets[g].state = links->meets[g].state == MEET_CHECKED ? 0 : UNCHECKED;
    run(&w);
    if (w.failed)
        return false;
    /* A gang that is wrong may be what others wait for. */
    return w.n == plan->n_ops || (seal_gangs(plan, error) && refuse_deadlock(&w));
}
