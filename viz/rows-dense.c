/* Cells that are too thin to be told apart: what share of the time they take, a stretch at a time. */
#include "viz/rows-dense.h"

/* Units. */
#define THIN 1.5   /* cells that are wider are drawn as they are */
#define NEAR 8.0   /* between thin cells of a stretch, at most */
#define BIN  8.0   /* of a piece at least, from the start of a cell to that of another: what repeats is even */
#define LONG 480.0 /* from which on a stretch of even shares begins anew */

#define FEWEST 4    /* cells of a stretch */
#define LEAST  24.0 /* units of it */
/* Shares that differ by no more than the first and that part of the greater are drawn as one. */
#define EVEN      0.02
#define EVEN_PART 0.25

/* Time by role within a piece of a stretch; of communication, ROLE_EXPOSED counts again what is exposed of
 * the others. */
struct piece {
    int64_t start_ns, end_ns, of[ROLE_CELLS + 1];
};

struct dense {
    const struct row *row; /* of communication; NULL: the cells say all */
    double unit_ns;
    const struct cell *cells;
    unsigned n;
    uint8_t kind[ROLE_CELLS + 1]; /* of some cell of that role */
    GArray *out;
};

static bool thin(const struct dense *d, unsigned i)
{
    return i < d->n && (double)(d->cells[i].end_ns - d->cells[i].start_ns) < THIN * d->unit_ns;
}

/* Where the stretch that begins with cell i ends; i: there is none. */
static unsigned stretch_end(const struct dense *d, unsigned i)
{
    unsigned end = i;

    while (thin(d, end) &&
           (end == i || (double)(d->cells[end].start_ns - d->cells[end - 1].end_ns) < NEAR * d->unit_ns))
        end++;
    const bool many =
        end >= i + FEWEST && (double)(d->cells[end - 1].end_ns - d->cells[i].start_ns) >= LEAST * d->unit_ns;
    return many ? end : i;
}

static struct piece measure(struct dense *d, unsigned from, unsigned to, int64_t end_ns)
{
    struct piece p = {.start_ns = d->cells[from].start_ns, .end_ns = end_ns};

    for (unsigned i = from; i < to; i++) {
        const struct cell *c = &d->cells[i];
        p.of[c->role] += c->end_ns - c->start_ns;
        d->kind[c->role] = c->kind;
    }
    if (!d->row)
        return p;
    const int64_t busy_ns = p.of[ROLE_COMM] - intervals_within(&d->row->gaps, p.start_ns, end_ns);
    p.of[ROLE_WAIT] = MIN(intervals_within(&d->row->waits, p.start_ns, end_ns), busy_ns);
    p.of[ROLE_COMM] = busy_ns - p.of[ROLE_WAIT];
    p.of[ROLE_EXPOSED] = MIN(intervals_within(&d->row->exposed, p.start_ns, end_ns), busy_ns);
    d->kind[ROLE_WAIT] = d->kind[ROLE_EXPOSED] = d->kind[ROLE_COMM];
    return p;
}

static double share(const struct piece *p, unsigned role)
{
    return (double)p->of[role] / (double)(p->end_ns - p->start_ns);
}

static bool even(const struct piece *a, const struct piece *b)
{
    for (unsigned role = 0; role <= ROLE_CELLS; role++) {
        const double x = share(a, role), y = share(b, role);
        if (ABS(x - y) > EVEN + EVEN_PART * MAX(x, y))
            return false;
    }
    return true;
}

/* The shares of a piece, one upon another; what is exposed lies over the topmost of them. */
static void put_piece(struct dense *d, const struct piece *p)
{
    double below = 0;

    for (unsigned role = 0; role <= ROLE_CELLS; role++) {
        struct cell c = {.start_ns = p->start_ns,
                         .end_ns = p->end_ns,
                         .first = OP_NONE,
                         .last = OP_NONE,
                         .micro = OP_NONE,
                         .role = (uint8_t)role,
                         .kind = d->kind[role],
                         .share = share(p, role)};
        if (!p->of[role])
            continue;
        c.below = role == ROLE_EXPOSED ? below - c.share : below;
        below += role == ROLE_EXPOSED ? 0 : c.share;
        g_array_append_val(d->out, c);
    }
}

/* Whether a piece from cell i ends where that one begins: rather after whole periods of what repeats, which
 * are alike. */
static bool is_cut(const struct dense *d, unsigned i, unsigned next, int64_t end_ns)
{
    const double long_units = (double)(d->cells[next].start_ns - d->cells[i].start_ns) / d->unit_ns,
                 left = (double)(end_ns - d->cells[next].start_ns) / d->unit_ns;

    return left >= BIN && long_units >= (d->cells[next].kind == d->cells[i].kind ? BIN : 3 * BIN);
}

static void put_stretch(struct dense *d, unsigned from, unsigned to)
{
    const int64_t end_ns = d->cells[to - 1].end_ns;
    struct piece all = {0};

    for (unsigned i = from, next; i < to; i = next) {
        for (next = i + 1; next < to && !is_cut(d, i, next, end_ns); next++)
            ;
        const struct piece p = measure(d, i, next, next < to ? d->cells[next].start_ns : end_ns);
        if (i == from) {
            all = p;
        } else if (even(&all, &p) && (double)(p.end_ns - all.start_ns) < LONG * d->unit_ns) {
            for (unsigned role = 0; role <= ROLE_CELLS; role++)
                all.of[role] += p.of[role];
            all.end_ns = p.end_ns;
        } else {
            put_piece(d, &all);
            all = p;
        }
    }
    put_piece(d, &all);
}

/* The cells with their stretches in their place, and where these are. */
static struct intervals condense(GArray **cells, const struct row *row, double unit_ns)
{
    struct dense d = {.row = row,
                      .unit_ns = unit_ns,
                      .cells = (const struct cell *)(void *)(*cells)->data,
                      .n = (*cells)->len,
                      .out = g_array_new(FALSE, FALSE, sizeof(struct cell))};
    struct intervals where = {0};

    for (unsigned i = 0; i < d.n;) {
        const unsigned end = stretch_end(&d, i);
        if (end > i) {
            put_stretch(&d, i, end);
            intervals_add(&where, d.cells[i].start_ns, d.cells[end - 1].end_ns);
            i = end;
        } else
            g_array_append_val(d.out, d.cells[i++]);
    }
    g_array_unref(*cells);
    *cells = d.out;
    return where;
}

void row_condense(struct row *row, double ns_per_unit)
{
    struct intervals copies = condense(&row->copies, NULL, ns_per_unit),
                     compute = condense(&row->compute, NULL, ns_per_unit),
                     comm = condense(&row->comm, row, ns_per_unit);
    struct intervals *const sets[] = {&row->gaps, &row->waits, &row->exposed};

    for (unsigned i = 0; i < G_N_ELEMENTS(sets); i++) {
        struct intervals rest = intervals_minus(sets[i], &comm);
        intervals_release(sets[i]);
        *sets[i] = rest;
    }
    intervals_release(&copies);
    intervals_release(&compute);
    intervals_release(&comm);
}
