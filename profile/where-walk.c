#include "profile/where-walk.h"

#include <stdlib.h>
#include <string.h>

#include "profile/gang.h"

const char *where_kind_name(unsigned kind)
{
    static const char *const names[WHERE_KINDS] = {"compute", "transfer", "copy", "wait", "idle"};
    return kind < WHERE_KINDS ? names[kind] : "?";
}

/* A piece as it would be if nothing else were there. */
struct claim {
    int64_t start_ns, end_ns;
    uint32_t lane;
    struct where_key key;
};

static struct interval *step_windows(const struct index *index)
{
    const struct trace *trace = index->trace;
    struct interval *steps = g_new(struct interval, trace->n_steps);
    for (uint32_t step = 0; step < trace->n_steps; step++)
        steps[step] = (struct interval){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < trace->n_spans; i++) {
        struct interval *all = &steps[index->step[i]];
        if (trace->spans[i].cls == SPAN_HOST)
            continue;
        all->start_ns = MIN(all->start_ns, trace->spans[i].start_ns);
        all->end_ns = MAX(all->end_ns, trace->spans[i].end_ns);
    }
    return steps;
}

void walk_init(struct walk *w, const struct trace *trace)
{
    size_t n;
    const struct trace_op **members = gang_members(trace, &n);
    index_init(&w->index, trace);
    w->steps = step_windows(&w->index);
    w->arrival_ns = gang_arrivals(trace);
    w->last = g_new(uint32_t, trace->n_ops);
    memset(w->last, 0xff, trace->n_ops * sizeof *w->last);
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t last = OP_NONE;
        end = gang_end(members, n, i);
        for (size_t j = i; j < end; j++)
            if (members[j]->start_ns == w->arrival_ns[members[j] - trace->ops])
                last = MIN(last, trace->t.lanes[members[j]->lane].rank);
        for (size_t j = i; j < end; j++)
            w->last[members[j] - trace->ops] = last;
    }
    g_free(members);
}

void walk_release(struct walk *w)
{
    index_release(&w->index);
    g_free(w->arrival_ns);
    g_free(w->last);
    g_free(w->steps);
}

static struct where_key key_of(const struct trace *trace, const struct trace_span *span)
{
    static const uint32_t kinds[] = {
        [SPAN_COMPUTE] = WHERE_COMPUTE, [SPAN_COMM] = WHERE_TRANSFER, [SPAN_COPY] = WHERE_COPY};
    struct where_key key = {kinds[span->cls], OP_NONE, OP_NONE, OP_NONE, OP_NONE, OP_NONE};
    if (span->op == OP_NONE)
        return key;
    const struct op_tag *tag = &trace->ops[span->op].tag;
    key.op = tag->kind;
    if (key.kind == WHERE_COMPUTE && tag->layer0 != LAYER_NONE) {
        key.layer0 = tag->layer0;
        key.layer1 = tag->layer1;
    } else if (key.kind == WHERE_TRANSFER && tag->bucket < trace->t.n_buckets) {
        key.op = OP_ALLREDUCE;
        key.bucket = tag->bucket;
    } else if (key.kind == WHERE_TRANSFER) {
        key.peer = trace->t.lanes[span->lane].peer;
    }
    return key;
}

static void claim(GArray *claims, int64_t start_ns, int64_t end_ns, uint32_t lane, struct where_key key)
{
    const struct claim c = {start_ns, end_ns, lane, key};
    if (end_ns > start_ns)
        g_array_append_val(claims, c);
}

static void claim_span(const struct walk *w, const struct trace_span *span, GArray *claims)
{
    struct where_key key = key_of(w->index.trace, span);
    int64_t there_ns = span->start_ns;
    if (span->cls == SPAN_COMM && span->op != OP_NONE && w->last[span->op] != OP_NONE)
        there_ns = CLAMP(w->arrival_ns[span->op], span->start_ns, span->end_ns);
    claim(claims, there_ns, span->end_ns, span->lane, key);
    if (there_ns == span->start_ns)
        return;
    key = (struct where_key){WHERE_WAIT, OP_NONE, OP_NONE, OP_NONE, key.bucket, w->last[span->op]};
    claim(claims, span->start_ns, there_ns, span->lane, key);
}

static int by_start(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static GArray *list_claims(const struct walk *w, uint32_t step, uint32_t rank)
{
    GArray *claims = g_array_new(FALSE, FALSE, sizeof(struct claim));
    for (unsigned cls = SPAN_COMPUTE; cls <= SPAN_COPY; cls++) {
        g_autoptr(GArray) spans = index_spans(&w->index, step, rank, cls);
        for (guint i = 0; i < spans->len; i++)
            claim_span(w, &w->index.trace->spans[g_array_index(spans, size_t, i)], claims);
    }
    if (claims->len)
        qsort(claims->data, claims->len, sizeof(struct claim), by_start);
    return claims;
}

static bool comes_before(const struct claim *a, const struct claim *b)
{
    if (a->key.kind != b->key.kind)
        return a->key.kind < b->key.kind;
    return a->end_ns != b->end_ns ? a->end_ns < b->end_ns : a->lane < b->lane;
}

static void add_piece(GArray *pieces, int64_t start_ns, int64_t end_ns, const struct where_key *key)
{
    struct where_piece *last =
        pieces->len ? &g_array_index(pieces, struct where_piece, pieces->len - 1) : NULL;
    const struct where_piece piece = {start_ns, end_ns, *key};
    if (start_ns == end_ns)
        return;
    if (last && !memcmp(&last->key, key, sizeof *key))
        last->end_ns = end_ns;
    else
        g_array_append_val(pieces, piece);
}

/* Claims that hold at a moment, few: one a lane. */
struct open {
    GPtrArray *claims;
    int64_t until_ns; /* the first end */
};

static const struct where_key idle = {WHERE_IDLE, OP_NONE, OP_NONE, OP_NONE, OP_NONE, OP_NONE};

/* Drops what has ended; returns whom the moment belongs to. */
static const struct where_key *settle(struct open *open, int64_t now_ns)
{
    const struct claim *best = NULL;
    open->until_ns = INT64_MAX;
    for (guint i = open->claims->len; i-- > 0;) {
        const struct claim *c = open->claims->pdata[i];
        if (c->end_ns <= now_ns) {
            g_ptr_array_remove_index_fast(open->claims, i);
            continue;
        }
        open->until_ns = MIN(open->until_ns, c->end_ns);
        best = !best || comes_before(c, best) ? c : best;
    }
    return best ? &best->key : &idle;
}

GArray *walk_pieces(const struct walk *w, uint32_t step, uint32_t rank)
{
    const struct interval window = w->steps[step];
    g_autoptr(GArray) claims = list_claims(w, step, rank);
    GArray *pieces = g_array_new(FALSE, FALSE, sizeof(struct where_piece));
    struct open open = {.claims = g_ptr_array_new()};
    guint next = 0;
    for (int64_t now_ns = window.start_ns, then_ns; now_ns < window.end_ns; now_ns = then_ns) {
        for (; next < claims->len && g_array_index(claims, struct claim, next).start_ns <= now_ns; next++)
            g_ptr_array_add(open.claims, &g_array_index(claims, struct claim, next));
        const struct where_key *key = settle(&open, now_ns);
        then_ns = MIN(window.end_ns, open.until_ns);
        if (next < claims->len)
            then_ns = MIN(then_ns, g_array_index(claims, struct claim, next).start_ns);
        add_piece(pieces, now_ns - window.start_ns, then_ns - window.start_ns, key);
    }
    g_ptr_array_unref(open.claims);
    return pieces;
}

GArray *walk_transfers(const struct walk *w, uint32_t step, uint32_t rank)
{
    g_autoptr(GArray) claims = list_claims(w, step, rank);
    GArray *transfers = g_array_new(FALSE, FALSE, sizeof(struct where_piece));
    for (guint i = 0; i < claims->len; i++) {
        const struct claim *c = &g_array_index(claims, struct claim, i);
        const struct where_piece piece = {c->start_ns - w->steps[step].start_ns,
                                          c->end_ns - w->steps[step].start_ns, c->key};
        if (c->key.kind == WHERE_TRANSFER)
            g_array_append_val(transfers, piece);
    }
    return transfers;
}
