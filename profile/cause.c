#include "profile/cause.h"

#include "profile/gang.h"

const char *cause_name(unsigned cause)
{
    static const char *const names[CAUSES] = {"late_peer", "late_launch", "queue", "end_of_backward",
                                              "bandwidth"};
    return cause < CAUSES ? names[cause] : "?";
}

/* When the last of those that an op needs arrived, and which rank that was. */
struct arrival {
    int64_t ns;
    uint32_t rank;
};

static const struct arrival no_arrival = {INT64_MIN, OP_NONE};

static void arrive(struct arrival *last, int64_t ns, uint32_t rank)
{
    if (ns > last->ns || (ns == last->ns && rank < last->rank))
        *last = (struct arrival){ns, rank};
}

static uint32_t rank_of(const struct trace *trace, const struct trace_op *op)
{
    return trace->t.lanes[op->lane].rank;
}

static void arrive_gangs(const struct trace *trace, uint32_t step, struct arrival *arrivals)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    for (size_t i = 0, end; i < n; i = end) {
        struct arrival last = no_arrival;
        end = gang_end(members, n, i);
        if (members[i]->tag.step != step)
            continue;
        for (size_t j = i; j < end; j++)
            arrive(&last, members[j]->start_ns, rank_of(trace, members[j]));
        for (size_t j = i; j < end; j++)
            arrivals[members[j] - trace->ops] = last;
    }
    g_free(members);
}

/* An op of a collective and its rank, to be sorted by both. */
struct part {
    uint32_t coll, rank;
    size_t op;
};

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->coll != y->coll)
        return x->coll < y->coll ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static bool is_pairwise(unsigned kind)
{
    return kind == OP_SEND || kind == OP_RECV || kind == OP_RECV_ADD;
}

static GArray *parts_of(const struct trace *trace, uint32_t step)
{
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct part));
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        struct part part = {op->tag.coll, rank_of(trace, op), i};
        if (op->tag.step == step && op->tag.coll != OP_NONE && op_phase(op->tag.kind) == PHASE_COMM)
            g_array_append_val(parts, part);
    }
    g_array_sort(parts, compare_parts);
    return parts;
}

/* [i, end) is one collective: the last rank to begin its part. */
static struct arrival last_to_begin(const struct trace *trace, const struct part *parts, size_t i, size_t end)
{
    struct arrival last = no_arrival;
    for (size_t j = i, next; j < end; j = next) {
        int64_t begin_ns = INT64_MAX;
        for (next = j; next < end && parts[next].rank == parts[j].rank; next++)
            begin_ns = MIN(begin_ns, trace->ops[parts[next].op].start_ns);
        arrive(&last, begin_ns, parts[j].rank);
    }
    return last;
}

static void arrive_pairs(const struct trace *trace, uint32_t step, struct arrival *arrivals)
{
    GArray *all = parts_of(trace, step);
    const struct part *parts = (const struct part *)(void *)all->data;
    for (size_t i = 0, end; i < all->len; i = end) {
        for (end = i + 1; end < all->len && parts[end].coll == parts[i].coll; end++)
            ;
        struct arrival last = last_to_begin(trace, parts, i, end);
        for (size_t j = i; j < end; j++) {
            struct arrival *own = &arrivals[parts[j].op];
            if (is_pairwise(trace->ops[parts[j].op].tag.kind) && own->ns > last.ns)
                *own = last;
        }
    }
    g_array_unref(all);
}

/* The exposed time of one span, in two.  Pieces of equal group share one ready, launch and start. */
struct piece {
    uint64_t group;
    int64_t ready_ns, start_ns, late_ns, rest_ns;
    uint32_t late_rank;
};

enum { GROUP_BUCKET, GROUP_COLL, GROUP_OP, GROUP_SPAN };

static uint64_t group_of(const struct trace *trace, size_t span, uint32_t n_buckets)
{
    uint32_t op = trace->spans[span].op;
    const struct op_tag *tag = op == OP_NONE ? NULL : &trace->ops[op].tag;
    if (!tag)
        return (uint64_t)GROUP_SPAN << 62 | span;
    if (tag->bucket < n_buckets && op_phase(tag->kind) == PHASE_COMM)
        return tag->bucket;
    if (tag->coll != OP_NONE)
        return (uint64_t)GROUP_COLL << 62 | tag->coll;
    return (uint64_t)GROUP_OP << 62 | op;
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->late_rank > y->late_rank) - (x->late_rank < y->late_rank);
}

struct finder {
    const struct index *index;
    const struct rank_times *times;
    struct analysis *analysis;
    struct arrival *arrivals;               /* of each op of the step */
    int64_t *bucket_late_ns, *rank_late_ns; /* per peer: what is waited for it, zeroed between uses */
};

static int by_start(gconstpointer a, gconstpointer b, gpointer user)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const int64_t x_ns = index_start(user, x), y_ns = index_start(user, y);
    if (x_ns != y_ns)
        return x_ns < y_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* Of what a span covers and no span before it does, what no computation hides. */
static GArray *find_pieces(const struct finder *f, uint32_t rank)
{
    const struct trace *trace = f->index->trace;
    const struct analysis *a = f->analysis;
    struct intervals compute = index_busy(f->index, a->median_step, rank, SPAN_COMPUTE);
    GArray *spans = index_spans(f->index, a->median_step, rank, SPAN_COMM);
    GArray *pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
    int64_t covered_ns = INT64_MIN;
    g_array_sort_with_data(spans, by_start, (gpointer)f->index);
    for (guint i = 0; i < spans->len; i++) {
        size_t at = g_array_index(spans, size_t, i);
        const struct trace_span *span = &trace->spans[at];
        const struct trace_op *op = span->op == OP_NONE ? NULL : &trace->ops[span->op];
        struct arrival last = op ? f->arrivals[span->op] : no_arrival;
        int64_t from_ns = MAX(covered_ns, index_start(f->index, at)),
                late_ns = CLAMP(last.ns, from_ns, span->end_ns);
        covered_ns = MAX(covered_ns, span->end_ns);
        struct piece piece = {group_of(trace, at, a->n_buckets),
                              op ? op->ready_ns : span->start_ns,
                              op ? op->start_ns : span->start_ns,
                              intervals_gap(&compute, from_ns, late_ns),
                              intervals_gap(&compute, late_ns, span->end_ns),
                              last.rank};
        g_array_append_val(pieces, piece);
    }
    g_array_sort(pieces, compare_pieces);
    intervals_release(&compute);
    g_array_unref(spans);
    return pieces;
}

/* Takes at most limit_ns of what is left. */
static int64_t take(int64_t *left_ns, int64_t limit_ns)
{
    int64_t taken_ns = CLAMP(limit_ns, 0, *left_ns);
    *left_ns -= taken_ns;
    return taken_ns;
}

/* comm: when the rank communicates at all.  A collective queues while another one is under way. */
static void split_rest(const struct rank_times *own, const struct intervals *comm, const struct piece *first,
                       int64_t rest_ns, struct causes *causes)
{
    int64_t ready_ns = first->ready_ns, launch_ns = ready_ns, start_ns = first->start_ns;
    if (first->group >> 62 == GROUP_BUCKET) {
        const struct reduction *r = &own->reductions[first->group];
        ready_ns = r->ready_ns;
        launch_ns = r->launch_ns;
        start_ns = r->start_ns;
    }
    bool last = own->backward.start_ns != INT64_MAX && ready_ns >= own->backward.end_ns;
    causes->ns[CAUSE_LATE_LAUNCH] += take(&rest_ns, launch_ns - ready_ns);
    causes->ns[CAUSE_QUEUE] += take(&rest_ns, intervals_within(comm, launch_ns, MAX(launch_ns, start_ns)));
    causes->ns[last ? CAUSE_END_OF_BACKWARD : CAUSE_BANDWIDTH] += rest_ns;
}

static void blame(struct causes *causes, const int64_t *late_ns, uint32_t peer)
{
    int64_t ns = peer == OP_NONE ? 0 : late_ns[peer];
    if (ns > causes->late_rank_ns || (ns && ns == causes->late_rank_ns && peer < causes->late_rank)) {
        causes->late_rank_ns = ns;
        causes->late_rank = peer;
    }
}

/* The pieces of one row of bucket_causes: of a bucket, or all that are of none. */
static void add_row(const struct finder *f, const struct rank_times *own, const struct intervals *comm,
                    const struct piece *pieces, size_t n, struct causes *row)
{
    for (size_t i = 0, end; i < n; i = end) {
        int64_t rest_ns = 0;
        for (end = i; end < n && pieces[end].group == pieces[i].group; end++) {
            rest_ns += pieces[end].rest_ns;
            row->ns[CAUSE_LATE_PEER] += pieces[end].late_ns;
            if (pieces[end].late_ns) {
                f->bucket_late_ns[pieces[end].late_rank] += pieces[end].late_ns;
                f->rank_late_ns[pieces[end].late_rank] += pieces[end].late_ns;
            }
        }
        split_rest(own, comm, &pieces[i], rest_ns, row);
    }
    for (size_t i = 0; i < n; i++)
        blame(row, f->bucket_late_ns, pieces[i].late_rank);
    for (size_t i = 0; i < n; i++)
        if (pieces[i].late_rank != OP_NONE)
            f->bucket_late_ns[pieces[i].late_rank] = 0;
}

static uint32_t row_of(const struct piece *piece, uint32_t n_buckets)
{
    return piece->group >> 62 == GROUP_BUCKET ? (uint32_t)piece->group : n_buckets;
}

static void find_rank(const struct finder *f, uint32_t rank)
{
    struct analysis *a = f->analysis;
    struct causes *all = &a->causes[rank];
    struct causes *rows = &a->bucket_causes[(gsize)rank * (a->n_buckets + 1)];
    struct intervals comm = index_busy(f->index, a->median_step, rank, SPAN_COMM);
    GArray *found = find_pieces(f, rank);
    const struct piece *pieces = (const struct piece *)(void *)found->data;
    int64_t sum_ns = 0;
    for (size_t i = 0, end; i < found->len; i = end) {
        uint32_t row = row_of(&pieces[i], a->n_buckets);
        for (end = i; end < found->len && row_of(&pieces[end], a->n_buckets) == row; end++)
            ;
        add_row(f, &f->times[rank], &comm, &pieces[i], end - i, &rows[row]);
        for (unsigned c = 0; c < CAUSES; c++) {
            all->ns[c] += rows[row].ns[c];
            sum_ns += rows[row].ns[c];
        }
    }
    for (uint32_t peer = 0; peer < a->n_ranks; peer++)
        blame(all, f->rank_late_ns, peer);
    for (size_t i = 0; i < found->len; i++)
        if (pieces[i].late_rank != OP_NONE)
            f->rank_late_ns[pieces[i].late_rank] = 0;
    g_assert(sum_ns == a->partition[(gsize)a->median_step * a->n_ranks + rank].exposed_comm_ns);
    intervals_release(&comm);
    g_array_unref(found);
}

void find_causes(const struct index *index, const struct rank_times *times, struct analysis *a)
{
    struct finder f = {index,
                       times,
                       a,
                       g_new(struct arrival, index->trace->n_ops),
                       g_new0(int64_t, a->n_ranks),
                       g_new0(int64_t, a->n_ranks)};
    const gsize rows = (gsize)a->n_ranks * (a->n_buckets + 1);
    a->causes = g_new0(struct causes, a->n_ranks);
    a->bucket_causes = g_new0(struct causes, rows);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        a->causes[rank].late_rank = OP_NONE;
    for (gsize row = 0; row < rows; row++)
        a->bucket_causes[row].late_rank = OP_NONE;
    for (size_t i = 0; i < index->trace->n_ops; i++)
        f.arrivals[i] = no_arrival;
    arrive_gangs(index->trace, a->median_step, f.arrivals);
    arrive_pairs(index->trace, a->median_step, f.arrivals);
    for (uint32_t rank = 0; rank < a->n_ranks; rank++)
        find_rank(&f, rank);
    g_free(f.arrivals);
    g_free(f.bucket_late_ns);
    g_free(f.rank_late_ns);
}
