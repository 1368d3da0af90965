#include "viz/critical.h"

#include <stdlib.h>

/* Ops of the step by end. */
struct ends {
    const struct trace *trace;
    uint32_t *ops;
    size_t n;
    uint32_t *last_of_gang; /* the member that came last; OP_NONE */
};

static int by_end(gconstpointer a, gconstpointer b, gpointer data)
{
    const struct trace_op *ops = data, *x = &ops[*(const uint32_t *)a], *y = &ops[*(const uint32_t *)b];

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x > y) - (x < y);
}

static bool counts(const struct trace *t, const struct trace_op *op, uint32_t step)
{
    return op->tag.step == step && op->lane < t->t.n_lanes && t->t.lanes[op->lane].cls != LANE_HOST &&
           (op->end_ns > op->start_ns || op->tag.gang != OP_NONE); /* a message that takes no time links ranks too */
}

static void ends_make(struct ends *e, const struct trace *t, uint32_t step)
{
    *e = (struct ends){
        .trace = t, .ops = g_new(uint32_t, t->n_ops), .last_of_gang = g_new(uint32_t, t->n_ops)};
    for (size_t i = 0; i < t->n_ops; i++)
        e->last_of_gang[i] = OP_NONE;
    for (size_t i = 0; i < t->n_ops; i++) {
        const uint32_t gang = t->ops[i].tag.gang;
        if (!counts(t, &t->ops[i], step))
            continue;
        e->ops[e->n++] = (uint32_t)i;
        if (gang < t->n_ops &&
            (e->last_of_gang[gang] == OP_NONE || t->ops[i].start_ns > t->ops[e->last_of_gang[gang]].start_ns))
            e->last_of_gang[gang] = (uint32_t)i;
    }
    if (e->n)
        g_qsort_with_data(e->ops, (gint)e->n, sizeof *e->ops, by_end, t->ops);
}

/* The one that ends last up to then and is not on the path: of the lane where that is asked for, else of the rank, of several
 * that end together one of the op's micro-batch, else of its lane.  OP_NONE: none. */
static uint32_t find_before(const struct ends *e, int64_t ns, const struct trace_op *op, bool of_lane, const bool *path)
{
    const struct trace *t = e->trace;
    uint32_t found = OP_NONE;
    size_t low = 0, high = e->n;

    while (low < high) { /* of what ends later, the first */
        const size_t middle = low + (high - low) / 2;
        if (t->ops[e->ops[middle]].end_ns > ns)
            high = middle;
        else
            low = middle + 1;
    }
    while (low-- > 0) {
        const uint32_t i = e->ops[low];
        const struct trace_op *by = &t->ops[i];
        if (found != OP_NONE && by->end_ns < t->ops[found].end_ns)
            break;
        if (path[i] || t->t.lanes[by->lane].rank != t->t.lanes[op->lane].rank || (of_lane && by->lane != op->lane))
            continue;
        if (of_lane || by->tag.micro == op->tag.micro)
            return i;
        if (found == OP_NONE || by->lane == op->lane)
            found = i;
    }
    return found;
}

bool *critical_path(const struct trace *t, uint32_t step)
{
    bool *path = g_new0(bool, t->n_ops + 1);
    struct ends e;

    ends_make(&e, t, step);
    uint32_t at = e.n ? e.ops[e.n - 1] : OP_NONE;
    while (at != OP_NONE) {
        const struct trace_op *op = &t->ops[at];
        path[at] = true;
        const uint32_t last = op->tag.gang < t->n_ops ? e.last_of_gang[op->tag.gang] : at;
        const bool later = t->ops[last].start_ns > op->start_ns ||
                           (t->ops[last].start_ns == op->start_ns && op->tag.kind == OP_RECV);
        if (last != at && !path[last] && later) {
            at = last;
            continue;
        }
        at = op->ready_ns < op->start_ns ? find_before(&e, op->start_ns, op, true, path) : OP_NONE;
        if (at == OP_NONE)
            at = find_before(&e, MIN(op->ready_ns, op->start_ns), op, false, path);
    }
    g_free(e.ops);
    g_free(e.last_of_gang);
    return path;
}

/* Of each gang, when its last member came; before that the others only wait. */
static int64_t *together(const struct trace *t, uint32_t step)
{
    int64_t *all = g_new(int64_t, t->n_ops + 1);

    for (size_t i = 0; i < t->n_ops; i++)
        all[i] = INT64_MIN;
    for (size_t i = 0; i < t->n_ops; i++) {
        const struct trace_op *op = &t->ops[i];
        if (op->tag.step == step && op->tag.gang < t->n_ops)
            all[op->tag.gang] = MAX(all[op->tag.gang], op->start_ns);
    }
    return all;
}

void critical_mark(struct step_rows *rows, const struct trace *t, uint32_t step)
{
    g_autofree bool *path = critical_path(t, step);
    g_autofree int64_t *gang_ns = together(t, step);
    int64_t start_ns = INT64_MAX;

    for (size_t i = 0; i < t->n_ops; i++)
        if (t->ops[i].tag.step == step && t->ops[i].lane < t->t.n_lanes)
            start_ns = MIN(start_ns, t->ops[i].start_ns);
    for (size_t i = 0; i < t->n_ops; i++)
        for (uint32_t r = 0; path[i] && r < rows->n; r++) {
            const struct trace_op *op = &t->ops[i];
            const struct lane *lane = &t->t.lanes[op->lane];
            const int64_t from_ns = op->tag.gang < t->n_ops
                                        ? CLAMP(gang_ns[op->tag.gang], op->start_ns, op->end_ns)
                                        : op->start_ns;
            struct interval one = {from_ns - start_ns, op->end_ns - start_ns};
            const struct intervals other = {&one, 1, 1};
            if (lane->rank == rows->rows[r].rank && one.start_ns < one.end_ns)
                intervals_unite(
                    lane->cls == LANE_COMM ? &rows->rows[r].critical_comm : &rows->rows[r].critical, &other);
        }
}
