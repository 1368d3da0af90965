#include "viz/hops.h"

#include <stdlib.h>

#include "profile/gang.h"

static bool is_hop(const struct trace_op *op, uint32_t step)
{
    const struct op_tag *t = &op->tag;

    return t->step == step && t->algo != ALLREDUCE_WHOLE && t->algo < ALLREDUCES && t->hop != LAYER_NONE &&
           t->collective == COLLECTIVE_ALLREDUCE && op_phase(t->kind) == PHASE_COMM;
}

/* NULL: none. */
static const struct trace_op *first_hop(const struct trace *trace, uint32_t step)
{
    const struct trace_op *first = NULL;

    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (is_hop(op, step) && op->tag.gang != OP_NONE && (!first || op->start_ns < first->start_ns))
            first = op;
    }
    return first;
}

static bool belongs(const struct trace_op *op, const struct trace_op *first)
{
    return is_hop(op, first->tag.step) && op->tag.coll == first->tag.coll && op->tag.bucket == first->tag.bucket &&
           op->tag.algo == first->tag.algo;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Its members, and the size of the buffer: a ring's member has sent each chunk but one when it has passed the sums on. */
static void collect_members(struct hops *h, const struct trace *trace, const struct trace_op *first)
{
    g_autofree bool *in = g_new0(bool, trace->t.n_ranks);

    h->ranks = g_new(uint32_t, trace->t.n_ranks);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        const uint32_t rank = trace->t.lanes[op->lane].rank;
        if (!belongs(op, first))
            continue;
        if (!in[rank])
            h->ranks[h->n++] = rank;
        in[rank] = true;
        h->n_hops = op->tag.kind == OP_SUM ? h->n_hops : MAX(h->n_hops, op->tag.hop + 1u);
        h->sum_ns = op->tag.kind == OP_SUM ? MAX(h->sum_ns, op->end_ns - op->start_ns) : h->sum_ns;
    }
    qsort(h->ranks, h->n, sizeof *h->ranks, by_number);
    h->hops = g_new0(struct hop_times, h->n_hops);
}

static uint32_t member_of(const struct hops *h, uint32_t rank)
{
    const uint32_t *at = bsearch(&rank, h->ranks, h->n, sizeof rank, by_number);

    return at ? (uint32_t)(at - h->ranks) : 0;
}

static bool receives(unsigned kind)
{
    return kind != OP_SEND && kind != OP_SUM;
}

/* Who sends to a member in a hop: of a pair the other one; around a ring the one before it; all to all as many before it as
 * there were hops. */
static uint32_t sender_of(const struct hops *h, const struct trace *trace, const struct trace_op *const *gang, size_t n,
                          const struct trace_op *to)
{
    const uint32_t member = member_of(h, trace->t.lanes[to->lane].rank);

    for (size_t i = 0; i < n; i++)
        if (gang[i]->tag.kind == OP_SEND)
            return member_of(h, trace->t.lanes[gang[i]->lane].rank);
    const uint32_t back = h->algo == ALLREDUCE_ALL_TO_ALL ? to->tag.hop + 1u : 1;
    return (member + h->n - back % h->n) % h->n;
}

static uint64_t bytes_of(const struct hops *h, const struct trace *trace, const struct trace_op *const *gang, size_t n,
                         uint32_t from)
{
    for (size_t i = 0; i < n; i++)
        if (trace->t.lanes[gang[i]->lane].rank == h->ranks[from])
            return gang[i]->tag.bytes;
    return 0;
}

static void add_gang(struct hops *h, const struct trace *trace, const struct trace_op *const *gang, size_t n,
                     const int64_t *arrivals, const struct trace_op *first)
{
    for (size_t i = 0; i < n; i++) {
        const struct trace_op *op = gang[i];
        if (!belongs(op, first) || op->tag.kind == OP_SUM)
            continue;
        struct hop_times *times = &h->hops[op->tag.hop];
        times->ns = MAX(times->ns, op->end_ns - arrivals[op - trace->ops]);
        if (!receives(op->tag.kind))
            continue;
        struct hop_move m = {.hop = op->tag.hop,
                             .from = sender_of(h, trace, gang, n, op),
                             .to = member_of(h, trace->t.lanes[op->lane].rank),
                             .chunk = h->algo == ALLREDUCE_RING ? op->tag.chunk : OP_NONE,
                             .adds = op->tag.kind == OP_EXCHANGE_ADD || op->tag.kind == OP_RECV_ADD};
        m.bytes = bytes_of(h, trace, gang, n, m.from);
        times->bytes = MAX(times->bytes, m.bytes);
        times->adds |= m.adds;
        g_array_append_val(h->moves, m);
    }
}

static int by_hop(gconstpointer a, gconstpointer b)
{
    const struct hop_move *x = a, *y = b;

    if (x->hop != y->hop)
        return x->hop < y->hop ? -1 : 1;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static void collect_moves(struct hops *h, const struct trace *trace, const struct trace_op *first)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    g_autofree int64_t *arrivals = gang_arrivals(trace);

    h->moves = g_array_new(FALSE, FALSE, sizeof(struct hop_move));
    for (size_t i = 0, end; i < n; i = end) {
        end = gang_end(members, n, i);
        if (belongs(members[i], first))
            add_gang(h, trace, &members[i], end - i, arrivals, first);
    }
    g_free(members);
    g_array_sort(h->moves, by_hop);
}

/* --- what is summed up in what is sent */

static void end_hop(const struct hops *h, uint64_t *held, const uint64_t *before, size_t begin, size_t end, uint32_t chunks)
{
    for (size_t i = begin; i < end; i++) {
        const struct hop_move *m = &g_array_index(h->moves, struct hop_move, i);
        const uint32_t chunk = m->chunk == OP_NONE ? 0 : m->chunk % chunks;
        const uint64_t sent = before[m->from * chunks + chunk];
        uint64_t *at = &held[m->to * chunks + chunk];
        *at = m->adds ? *at | sent : sent;
    }
}

static void name_sums(struct hops *h)
{
    const uint32_t chunks = h->algo == ALLREDUCE_RING ? h->n : 1;
    g_autofree uint64_t *held = g_new(uint64_t, (size_t)h->n * chunks), *before = NULL;

    for (uint32_t i = 0; i < h->n * chunks; i++)
        held[i] = UINT64_C(1) << i / chunks;
    for (size_t i = 0, end; i < h->moves->len; i = end) {
        const uint32_t hop = g_array_index(h->moves, struct hop_move, i).hop;
        g_free(before);
        before = g_memdup2(held, (size_t)h->n * chunks * sizeof *held);
        for (end = i; end < h->moves->len && g_array_index(h->moves, struct hop_move, end).hop == hop; end++) {
            struct hop_move *m = &g_array_index(h->moves, struct hop_move, end);
            m->summed = before[m->from * chunks + (m->chunk == OP_NONE ? 0 : m->chunk % chunks)];
            m->n_summed = (uint32_t)__builtin_popcountll(m->summed);
        }
        if (h->algo != ALLREDUCE_ALL_TO_ALL) /* what is received there is added up behind the hops */
            end_hop(h, held, before, i, end, chunks);
    }
}

static uint64_t buffer_bytes(const struct hops *h, const struct trace *trace)
{
    uint64_t most = 0, ring = 0;

    if (h->bucket < trace->t.n_buckets)
        return trace->t.buckets[h->bucket].bytes;
    for (uint32_t i = 0; i < h->moves->len; i++) {
        const struct hop_move *m = &g_array_index(h->moves, struct hop_move, i);
        most = MAX(most, m->bytes);
        ring += m->hop == 0 ? m->bytes : 0; /* each member sends another chunk */
    }
    return h->algo == ALLREDUCE_RING ? ring : most;
}

bool hops_collect(struct hops *h, const struct trace *trace, uint32_t step)
{
    const struct trace_op *first = first_hop(trace, step);

    *h = (struct hops){.sum_ns = -1, .bucket = OP_NONE};
    if (!first)
        return false;
    h->algo = first->tag.algo;
    h->bucket = first->tag.bucket;
    collect_members(h, trace, first);
    collect_moves(h, trace, first);
    h->bytes = buffer_bytes(h, trace);
    if (h->n <= HOPS_NAMED)
        name_sums(h);
    return true;
}

void hops_release(struct hops *h)
{
    g_free(h->ranks);
    g_free(h->hops);
    g_array_unref(h->moves);
    *h = (struct hops){0};
}
