#include "viz/deltas.h"

#include <math.h>
#include <stdlib.h>

/* Cells that are the same follow each other. */
struct part {
    struct cell cell;
    bool comm, second;
};

/* A collective's number differs between plans; of a bucket or a message it does not matter which collective
 * it is. */
static uint32_t last_of(const struct part *p)
{
    return p->comm && p->cell.first != OP_NONE ? 0 : p->cell.last;
}

static int by_subject(const struct part *a, const struct part *b)
{
    const struct cell *x = &a->cell, *y = &b->cell;

    if (a->comm != b->comm)
        return a->comm - b->comm;
    if (x->kind != y->kind)
        return x->kind - y->kind;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (last_of(a) != last_of(b))
        return last_of(a) < last_of(b) ? -1 : 1;
    return (x->micro > y->micro) - (x->micro < y->micro);
}

static int by_subject_and_start(gconstpointer a, gconstpointer b)
{
    const struct part *x = a, *y = b;
    const int order = by_subject(x, y);

    if (order || x->second != y->second)
        return order ? order : x->second - y->second;
    return (x->cell.start_ns > y->cell.start_ns) - (x->cell.start_ns < y->cell.start_ns);
}

static int greatest_first(gconstpointer a, gconstpointer b)
{
    const struct delta *x = a, *y = b;

    if (llabs(x->ns) != llabs(y->ns))
        return llabs(x->ns) > llabs(y->ns) ? -1 : 1;
    return (x->cell.start_ns > y->cell.start_ns) - (x->cell.start_ns < y->cell.start_ns);
}

static void add_parts(GArray *parts, const struct row *row, bool second)
{
    const GArray *lanes[] = {row->copies, row->compute, row->comm};

    for (unsigned k = 0; k < G_N_ELEMENTS(lanes); k++)
        for (unsigned i = 0; i < lanes[k]->len; i++) {
            const struct part p = {g_array_index(lanes[k], struct cell, i), lanes[k] == row->comm, second};
            g_array_append_val(parts, p);
        }
}

struct span {
    unsigned begin, middle, end; /* from the middle on they are the second row's */
};

static int64_t length_of(const GArray *parts, unsigned begin, unsigned end)
{
    int64_t ns = 0;

    for (unsigned i = begin; i < end; i++) {
        const struct cell *c = &g_array_index(parts, struct part, i).cell;
        ns += c->end_ns - c->start_ns;
    }
    return ns;
}

static void add_delta(GArray *deltas, const struct part *at, int64_t before_ns, int64_t now_ns,
                      int64_t first_step_ns)
{
    const struct delta d = {at->cell, at->comm, now_ns - before_ns};
    const double least = fmax(DELTA_STEP_PART * (double)first_step_ns, DELTA_CELL_PART * (double)before_ns);

    if ((double)llabs(d.ns) > least)
        g_array_append_val(deltas, d);
}

/* One by one where both rows have as many, else their sums. */
static void compare_parts(GArray *deltas, const GArray *parts, struct span s, int64_t first_step_ns)
{
    const bool paired = s.middle - s.begin == s.end - s.middle;

    for (unsigned i = s.middle; paired && i < s.end; i++) {
        const unsigned k = s.begin + (i - s.middle);
        add_delta(deltas, &g_array_index(parts, struct part, i), length_of(parts, k, k + 1),
                  length_of(parts, i, i + 1), first_step_ns);
    }
    if (!paired && s.begin < s.middle && s.middle < s.end)
        add_delta(deltas, &g_array_index(parts, struct part, s.end - 1), length_of(parts, s.begin, s.middle),
                  length_of(parts, s.middle, s.end), first_step_ns);
}

GArray *deltas_find(const struct row *first, const struct row *second, int64_t first_step_ns)
{
    g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct part));
    GArray *deltas = g_array_new(FALSE, FALSE, sizeof(struct delta));

    add_parts(parts, first, false);
    add_parts(parts, second, true);
    g_array_sort(parts, by_subject_and_start);
    for (struct span at = {0, 0, 0}; at.begin < parts->len; at.begin = at.end) {
        const struct part *p = &g_array_index(parts, struct part, at.begin);
        at.middle = at.begin;
        for (at.end = at.begin; at.end < parts->len; at.end++) {
            const struct part *q = &g_array_index(parts, struct part, at.end);
            if (by_subject(p, q))
                break;
            at.middle += !q->second;
        }
        compare_parts(deltas, parts, at, first_step_ns);
    }
    g_array_sort(deltas, greatest_first);
    return deltas;
}
