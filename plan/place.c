/* Offsets in the arenas.  Each root has two vectors over the lanes of its rank, from the clocks that sealing
 * left: begins, up to which places everything comes before its first access, and ends, the places of its last
 * accesses.  One root is over before another begins where ends <= begins on every lane.  Those that may meet
 * must lie apart: one after the other goes into the smallest gap that fits among those it may meet.  Which
 * goes first decides how well they pack: backward frees in reverse what forward made, so that what lives on
 * longest lies best at the bottom; where that is not so, what takes most bytes times ops.  Both are tried. */
#include <stdlib.h>
#include <string.h>

#include "plan/seal.h"

#define ALIGNMENT 64 /* a cache line, and what vectorised kernels like */
/* Beyond these, in order of size, what is left is too small to be worth a search that grows with the square.
 */
#define SHARING_MAX 4096

struct root {
    uint64_t bytes, offset; /* bytes are rounded up to the alignment */
    uint64_t key;           /* the greatest goes first */
    uint32_t row;
};

/* The roots of all ranks that may share memory, rank after rank, in the order of ids. */
struct shared {
    uint32_t slots, *first; /* by rank: its rows are [first[rank], first[rank + 1]) */
    uint32_t *row_of;       /* by value; OP_NONE: keeps its place for good, or is a view */
    uint32_t *value;        /* by row, as those below */
    uint64_t *bytes;
    uint32_t *begins, *ends; /* slots of them a row */
    uint32_t *first_op, *last_op;
};

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t rounded(uint64_t bytes)
{
    return bytes > UINT64_MAX - ALIGNMENT ? UINT64_MAX : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool shares(const struct value *v)
{
    return !(v->flags & (VALUE_LIVE_IN | VALUE_LIVE_OUT));
}

static void list_roots(const struct plan *plan, struct shared *s)
{
    s->first = g_new0(uint32_t, (gsize)plan->t.n_ranks + 1);
    s->row_of = g_new(uint32_t, (gsize)plan->n_values + 1);
    s->value = g_new(uint32_t, (gsize)plan->n_values + 1);
    s->bytes = g_new(uint64_t, (gsize)plan->n_values + 1);
    for (uint32_t i = 0; i < plan->n_values; i++)
        s->first[plan->values[i].rank + 1] += plan->values[i].root == i && shares(&plan->values[i]);
    for (uint32_t r = 0; r < plan->t.n_ranks; r++)
        s->first[r + 1] += s->first[r];
    g_autofree uint32_t *next = g_memdup2(s->first, ((gsize)plan->t.n_ranks + 1) * sizeof *next);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        bool listed = v->root == i && shares(v);
        s->row_of[i] = listed ? next[v->rank]++ : OP_NONE;
        if (listed) {
            s->value[s->row_of[i]] = i;
            s->bytes[s->row_of[i]] = rounded(v->bytes);
        }
    }
}

/* An op comes before itself nowhere: on its own lane what comes before it ends one place earlier. */
static void find_lives(const struct plan *plan, struct shared *s)
{
    gsize n = (gsize)s->first[plan->t.n_ranks] * plan->clock_slots;
    s->slots = plan->clock_slots;
    s->begins = g_new(uint32_t, n + 1);
    s->ends = g_new0(uint32_t, n + 1);
    s->first_op = g_new(uint32_t, (gsize)s->first[plan->t.n_ranks] + 1);
    s->last_op = g_new0(uint32_t, (gsize)s->first[plan->t.n_ranks] + 1);
    memset(s->begins, 0xff, n * sizeof *s->begins);
    memset(s->first_op, 0xff, s->first[plan->t.n_ranks] * sizeof *s->first_op);
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        const uint32_t *clock = &plan->clocks[(gsize)op * s->slots];
        uint32_t own = plan->clock_lane[plan->ops[op].lane];
        for (uint32_t i = plan->ops[op].first_access; i < plan->ops[op + 1].first_access; i++) {
            uint32_t row = s->row_of[plan->values[plan->accesses[i].value].root];
            if (row == OP_NONE)
                continue;
            uint32_t *begins = &s->begins[(gsize)row * s->slots], *ends = &s->ends[(gsize)row * s->slots];
            for (uint32_t k = 0; k < s->slots; k++)
                begins[k] = MIN(begins[k], clock[k] - (k == own));
            ends[own] = MAX(ends[own], clock[own]);
            s->first_op[row] = MIN(s->first_op[row], op);
            s->last_op[row] = op;
        }
    }
}

static bool over_before(const struct shared *s, uint32_t a, uint32_t b)
{
    const uint32_t *ends = &s->ends[(gsize)a * s->slots], *begins = &s->begins[(gsize)b * s->slots];
    for (uint32_t k = 0; k < s->slots; k++)
        if (ends[k] > begins[k])
            return false;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct root *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The offset of the smallest gap that fits between the roots, in order of offset, that `root` may meet. */
static uint64_t best_fit(const struct shared *s, const struct root *placed, uint32_t n,
                         const struct root *root)
{
    uint64_t at = 0, best = 0, best_gap = UINT64_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const struct root *p = &placed[i];
        if (over_before(s, p->row, root->row) || over_before(s, root->row, p->row))
            continue;
        if (p->offset > at && p->offset - at >= root->bytes && p->offset - at < best_gap) {
            best_gap = p->offset - at;
            best = at;
        }
        at = MAX(at, add(p->offset, p->bytes));
    }
    return best_gap == UINT64_MAX ? at : best;
}

static void insert(struct root *placed, uint32_t n, const struct root *root)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (placed[middle].offset <= root->offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&placed[low + 1], &placed[low], (n - low) * sizeof *placed);
    placed[low] = *root;
}

/* Sorts the roots by their keys and places them; returns where they end. */
static uint64_t place_roots(const struct shared *s, struct root *roots, uint32_t n)
{
    g_autofree struct root *placed = g_new(struct root, (gsize)n + 1);
    uint64_t end = 0;
    qsort(roots, n, sizeof *roots, by_key);
    for (uint32_t i = 0; i < n; i++) {
        roots[i].offset = best_fit(s, placed, i, &roots[i]);
        insert(placed, i, &roots[i]);
        end = MAX(end, add(roots[i].offset, roots[i].bytes));
    }
    return end;
}

/* As place_roots, in both orders; fills offset by row with those of the better one. */
static uint64_t place_best(const struct shared *s, struct root *roots, uint32_t n, uint64_t *offset)
{
    for (uint32_t i = 0; i < n; i++)
        roots[i].key = s->last_op[roots[i].row];
    uint64_t end = place_roots(s, roots, n);
    for (uint32_t i = 0; i < n; i++)
        offset[roots[i].row] = roots[i].offset;
    for (uint32_t i = 0; i < n; i++)
        if (__builtin_mul_overflow(roots[i].bytes, s->last_op[roots[i].row] - s->first_op[roots[i].row],
                                   &roots[i].key))
            roots[i].key = UINT64_MAX;
    uint64_t other_end = place_roots(s, roots, n);
    for (uint32_t i = 0; i < n && other_end < end; i++)
        offset[roots[i].row] = roots[i].offset;
    return MIN(end, other_end);
}

/* Fills offset by row for the rows of a rank, from 0; returns where they end. */
static uint64_t place_rank(const struct shared *s, uint32_t first, uint32_t n, uint64_t *offset)
{
    g_autofree struct root *roots = g_new(struct root, (gsize)n + 1);
    uint32_t sharing = MIN(n, SHARING_MAX);
    for (uint32_t i = 0; i < n; i++)
        roots[i] = (struct root){s->bytes[first + i], 0, s->bytes[first + i], first + i};
    qsort(roots, n, sizeof *roots, by_key);
    uint64_t end = place_best(s, roots, sharing, offset);
    for (uint32_t i = sharing; i < n; i++) {
        offset[roots[i].row] = end;
        end = add(end, roots[i].bytes);
    }
    return end;
}

/* Whether two ranks have equal roots with equal lives: equal offsets then serve both. */
static bool alike(const struct shared *s, uint32_t a, uint32_t b)
{
    gsize n = s->first[a + 1] - s->first[a], clocks = n * s->slots * sizeof *s->begins;
    gsize clock_a = (gsize)s->first[a] * s->slots, clock_b = (gsize)s->first[b] * s->slots;
    return s->first[b + 1] - s->first[b] == n &&
           memcmp(&s->bytes[s->first[a]], &s->bytes[s->first[b]], n * sizeof *s->bytes) == 0 &&
           memcmp(&s->begins[clock_a], &s->begins[clock_b], clocks) == 0 &&
           memcmp(&s->ends[clock_a], &s->ends[clock_b], clocks) == 0;
}

/* Above what keeps its place for good lies what shares. */
static void place_shared(struct plan *plan, const struct shared *s)
{
    g_autofree uint64_t *offset = g_new(uint64_t, (gsize)s->first[plan->t.n_ranks] + 1);
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < plan->t.n_ranks; r++) {
        uint32_t first = s->first[r], n = s->first[r + 1] - first;
        if (r > 0 && alike(s, r - 1, r))
            memcpy(&offset[first], &offset[s->first[r - 1]], n * sizeof *offset);
        else
            bytes = place_rank(s, first, n, offset);
        for (uint32_t row = first; row < first + n; row++)
            plan->place[s->value[row]] = add(plan->arena_bytes[r], offset[row]);
        plan->arena_bytes[r] = add(plan->arena_bytes[r], bytes);
    }
}

void plan_place(struct plan *plan)
{
    struct shared s = {0};
    g_assert(plan->sealed);
    seal_clocks(plan);
    g_free(plan->place);
    g_free(plan->arena_bytes);
    plan->place = g_new0(uint64_t, (gsize)plan->n_values + 1);
    plan->arena_bytes = g_new0(uint64_t, (gsize)plan->t.n_ranks + 1);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root != i || shares(v))
            continue;
        plan->place[i] = plan->arena_bytes[v->rank];
        plan->arena_bytes[v->rank] = add(plan->arena_bytes[v->rank], rounded(v->bytes));
    }
    list_roots(plan, &s);
    find_lives(plan, &s);
    place_shared(plan, &s);
    g_free(s.first);
    g_free(s.row_of);
    g_free(s.value);
    g_free(s.bytes);
    g_free(s.begins);
    g_free(s.ends);
    g_free(s.first_op);
    g_free(s.last_op);
    g_clear_pointer(&plan->clocks, g_free);
    g_clear_pointer(&plan->clock_lane, g_free);
}

const char *value_class_name(unsigned cls)
{
    static const char *const names[VALUE_CLASSES] = {
        [VALUE_WEIGHT] = "weight", [VALUE_GRAD] = "gradient",   [VALUE_BUCKET] = "bucket",
        [VALUE_INPUT] = "input",   [VALUE_ACT] = "activation",  [VALUE_SAVED] = "saved",
        [VALUE_DELTA] = "delta",   [VALUE_MOMENT] = "moment",   [VALUE_VARIANCE] = "variance",
        [VALUE_NORM] = "norm",     [VALUE_LOSS] = "loss",       [VALUE_PENDING] = "pending",
        [VALUE_NORMS] = "norms",   [VALUE_SCRATCH] = "scratch",
    };
    return cls < VALUE_CLASSES ? names[cls] : "?";
}
