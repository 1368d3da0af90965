/* What of the rows of a step is left in a window, and at a scale. */
#include "viz/rows-dense.h"

static void clip_cells(GArray *cells, int64_t from_ns, int64_t to_ns)
{
    unsigned n = 0;

    for (unsigned i = 0; i < cells->len; i++) {
        struct cell c = g_array_index(cells, struct cell, i);
        const int64_t all_ns = c.end_ns - c.start_ns;
        c.start_ns = MAX(c.start_ns, from_ns);
        c.end_ns = MIN(c.end_ns, to_ns);
        if (c.start_ns >= c.end_ns)
            continue;
        c.own_ns = c.own_ns >= all_ns ? c.end_ns - c.start_ns : MIN(c.own_ns, c.end_ns - c.start_ns);
        g_array_index(cells, struct cell, n++) = c;
    }
    g_array_set_size(cells, n);
}

static void clip(struct intervals *set, int64_t from_ns, int64_t to_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct interval v = {MAX(set->v[i].start_ns, from_ns), MIN(set->v[i].end_ns, to_ns)};
        if (v.start_ns < v.end_ns)
            set->v[n++] = v;
    }
    set->n = n;
}

void rows_clip(struct step_rows *s, int64_t from_ns, int64_t to_ns)
{
    for (uint32_t r = 0; r < s->n; r++) {
        struct row *row = &s->rows[r];
        struct intervals *const sets[] = {&row->gaps, &row->waits, &row->exposed, &row->critical,
                                          &row->critical_comm};
        unsigned n = 0;
        clip_cells(row->copies, from_ns, to_ns);
        clip_cells(row->compute, from_ns, to_ns);
        clip_cells(row->comm, from_ns, to_ns);
        for (unsigned i = 0; i < G_N_ELEMENTS(sets); i++)
            clip(sets[i], from_ns, to_ns);
        for (unsigned i = 0; i < row->marks->len; i++) {
            const struct ready_mark m = g_array_index(row->marks, struct ready_mark, i);
            if (m.ready_ns >= from_ns && m.start_ns <= to_ns)
                g_array_index(row->marks, struct ready_mark, n++) = m;
        }
        g_array_set_size(row->marks, n);
        if (row->backward_end_ns < from_ns || row->backward_end_ns > to_ns)
            row->backward_end_ns = 0;
        row->end_ns = CLAMP(row->end_ns, from_ns, to_ns);
    }
}

/* Joins over gaps shorter than that and drops what is shorter, until what was added or dropped amounts to as
 * much: then it is made up for, so that the length stays right wherever one looks. */
static void coarsen(struct intervals *set, double least_ns)
{
    const int64_t least = (int64_t)least_ns;
    int64_t added = 0, end_ns = INT64_MIN; /* of what is left so far */
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++) {
        struct interval v = set->v[i];
        for (; i + 1 < set->n && added < least && set->v[i + 1].start_ns - v.end_ns < least; i++) {
            added += set->v[i + 1].start_ns - v.end_ns;
            v.end_ns = set->v[i + 1].end_ns;
        }
        const int64_t length = v.end_ns - v.start_ns;
        if (added >= least)
            v.end_ns -= MIN(added, length);
        else if (length < least)
            v.start_ns = added - length <= -least ? MAX(v.end_ns - (length - added), end_ns) : v.end_ns;
        added += v.end_ns - v.start_ns - length;
        if (v.start_ns < v.end_ns) {
            set->v[n++] = v;
            end_ns = v.end_ns;
        }
    }
    set->n = n;
}

void rows_simplify(struct step_rows *s, double ns_per_unit)
{
    const double half = ns_per_unit / 2;

    for (uint32_t r = 0; r < s->n; r++) {
        struct row *row = &s->rows[r];
        row_condense(row, ns_per_unit);
        cells_merge(row->copies, ns_per_unit, half);
        cells_merge(row->compute, ns_per_unit, half);
        cells_merge(row->comm, half, half);
        coarsen(&row->gaps, half);
        coarsen(&row->waits, half);
        coarsen(&row->exposed, half);
        coarsen(&row->critical, half);
        coarsen(&row->critical_comm, half);
    }
}
