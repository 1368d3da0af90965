#include "profile/pipeline.h"

#include <stdlib.h>

#include "profile/gang.h"
#include "profile/interval.h"

/* An op of a compute lane. */
struct piece {
    int64_t start_ns;
    size_t op;
    uint32_t rank;
};

struct message {
    int64_t start_ns, end_ns; /* of the transfer */
    uint32_t rank, micro;     /* that received it */
    uint16_t stage;           /* that sent it */
};

struct builder {
    const struct trace *trace;
    struct pipeline_times *p;
    struct piece *pieces;
    size_t n_pieces;
    GArray *messages; /* struct message, by rank, micro-batch, stage, end */
};

static bool is_backward(unsigned kind)
{
    return kind == OP_BWD || kind == OP_BWD_INPUT || kind == OP_BWD_WEIGHT;
}

static bool is_work(const struct builder *b, const struct op_tag *tag)
{
    const bool kind =
        tag->kind == OP_FWD || tag->kind == OP_RECOMPUTE || tag->kind == OP_LOSS || is_backward(tag->kind);
    return kind && tag->stage < b->p->n_stages && tag->micro < OP_NONE - 1;
}

static int by_start(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* The ops of compute lanes, as their ranks ran them. */
static void list_pieces(struct builder *b, uint32_t step)
{
    const struct trace *trace = b->trace;
    b->pieces = g_new(struct piece, trace->n_ops);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->tag.step == step && trace->t.lanes[op->lane].cls == LANE_COMPUTE)
            b->pieces[b->n_pieces++] = (struct piece){op->start_ns, i, trace->t.lanes[op->lane].rank};
    }
    if (b->n_pieces)
        qsort(b->pieces, b->n_pieces, sizeof *b->pieces, by_start);
}

static struct pipeline_action action_of(const struct builder *b, const struct piece *piece)
{
    const struct trace_op *op = &b->trace->ops[piece->op];
    struct pipeline_action a = {.start_ns = op->start_ns,
                                .end_ns = op->end_ns,
                                .ready_ns = op->ready_ns,
                                .rank = piece->rank,
                                .micro = OP_NONE,
                                .stage = STAGE_NONE,
                                .kind = OP_OPTIM};
    if (is_work(b, &op->tag)) {
        a.kind = op->tag.kind;
        a.stage = op->tag.stage;
        a.micro = op->tag.micro;
        a.version = op->tag.version;
        a.pair = op->tag.pair;
    }
    return a;
}

/* Joins pieces to actions, and sums what single ops say. */
static void join_actions(struct builder *b)
{
    struct pipeline_times *p = b->p;
    size_t n = 0;
    int64_t forward_ns = 0;
    p->actions = g_new(struct pipeline_action, b->n_pieces);
    p->first = g_new0(size_t, (size_t)p->n_ranks + 1);
    for (size_t i = 0; i < b->n_pieces; i++) {
        struct pipeline_action a = action_of(b, &b->pieces[i]), *last = n ? &p->actions[n - 1] : NULL;
        if (last && last->rank == a.rank && last->kind == a.kind && last->stage == a.stage &&
            last->micro == a.micro && last->pair == a.pair)
            last->end_ns = MAX(last->end_ns, a.end_ns);
        else
            p->actions[n++] = a;
        p->first[a.rank + 1] = n;
        if (a.stage == STAGE_NONE)
            continue;
        p->stage_ns[a.stage] += a.end_ns - a.start_ns;
        forward_ns += a.kind == OP_FWD ? a.end_ns - a.start_ns : 0;
        p->n_micro = MAX(p->n_micro, a.micro + 1);
    }
    for (uint32_t r = 0; r < p->n_ranks; r++)
        p->first[r + 1] = MAX(p->first[r + 1], p->first[r]);
    if (p->n_micro)
        p->unit_ns = forward_ns / p->n_micro / p->n_ranks;
    for (uint32_t s = 1; s < p->n_stages; s++)
        if (p->stage_ns[s] > p->stage_ns[p->slowest_stage])
            p->slowest_stage = s;
}

/* Of rounds and of the whole; an update counts to the round of the action before it. */
static void time_rounds(struct builder *b)
{
    struct pipeline_times *p = b->p;
    const size_t n = p->first[p->n_ranks];
    const uint32_t rounds = MAX(b->trace->t.n_rounds, 1);
    p->n_rounds = rounds <= p->n_micro && rounds <= n ? rounds : 1;
    p->round_end_ns = g_new(int64_t, p->n_rounds);
    for (uint32_t r = 0; r < p->n_rounds; r++)
        p->round_end_ns[r] = INT64_MIN;
    int64_t end_ns = INT64_MIN;
    p->start_ns = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct pipeline_action *a = &p->actions[i];
        const struct pipeline_action *before = i > p->first[a->rank] ? a - 1 : NULL;
        if (a->stage == STAGE_NONE) {
            a->round = before ? before->round : 0;
            continue;
        }
        a->round = MIN(a->micro / (p->n_micro / p->n_rounds), p->n_rounds - 1);
        p->round_end_ns[a->round] = MAX(p->round_end_ns[a->round], a->end_ns);
        p->start_ns = MIN(p->start_ns, a->start_ns);
        end_ns = MAX(end_ns, a->end_ns);
    }
    p->makespan_ns = end_ns - p->start_ns;
    p->period_ns = -1;
    if (p->n_rounds > 1 && p->round_end_ns[p->n_rounds - 2] > INT64_MIN)
        p->period_ns = end_ns - p->round_end_ns[p->n_rounds - 2];
}

static void find_versions(struct pipeline_times *p)
{
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        const struct pipeline_action *last = NULL;
        for (size_t i = p->first[r]; i < p->first[r + 1]; i++) {
            const struct pipeline_action *a = &p->actions[i];
            if (a->kind != OP_FWD)
                continue;
            p->asynchronous |= last && last->round == a->round && last->version != a->version;
            last = a;
        }
    }
}

/* --- messages */

static int by_receiver(gconstpointer a, gconstpointer b)
{
    const struct message *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->micro != y->micro)
        return x->micro < y->micro ? -1 : 1;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static void list_messages(struct builder *b, uint32_t step)
{
    size_t n;
    const struct trace_op **members = gang_members(b->trace, &n);
    b->messages = g_array_new(FALSE, FALSE, sizeof(struct message));
    for (size_t i = 0, end; i < n; i = end) {
        int64_t start_ns = INT64_MIN;
        const struct trace_op *recv = NULL;
        end = gang_end(members, n, i);
        for (size_t k = i; k < end; k++) {
            start_ns = MAX(start_ns, members[k]->start_ns);
            if (members[k]->tag.kind == OP_RECV && members[k]->tag.algo == ALLREDUCE_WHOLE)
                recv = members[k];
        }
        if (!recv || recv->tag.step != step || recv->tag.micro >= OP_NONE - 1 ||
            recv->tag.stage >= b->p->n_stages)
            continue;
        struct message m = {MIN(start_ns, recv->end_ns), recv->end_ns, b->trace->t.lanes[recv->lane].rank,
                            recv->tag.micro, recv->tag.stage};
        g_array_append_val(b->messages, m);
    }
    g_array_sort(b->messages, by_receiver);
    g_free(members);
}

/* The message that an action received.  One rank may get two of the same stage and micro-batch, forward and
 * backward; of those that were there the last is meant, as the other belongs to what is done before. */
static const struct message *message_of(const struct builder *b, const struct pipeline_action *a)
{
    const bool forward = a->kind == OP_FWD, backward = a->kind == OP_BWD || a->kind == OP_BWD_INPUT;
    if ((!forward && !backward) || (forward && a->stage == 0))
        return NULL;
    const struct message key = {.rank = a->rank,
                                .micro = a->micro,
                                .stage = (uint16_t)(forward ? a->stage - 1 : a->stage + 1),
                                .end_ns = a->start_ns};
    guint low = 0, high = b->messages->len;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (by_receiver(&g_array_index(b->messages, struct message, middle), &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct message *m = low ? &g_array_index(b->messages, struct message, low - 1) : NULL;
    return m && m->rank == key.rank && m->micro == key.micro && m->stage == key.stage ? m : NULL;
}

/* Of [idle_ns, the action's start), what its message was on its way. */
static int64_t exposed_before(const struct builder *b, const struct pipeline_action *a,
                              const struct pipeline_action *partner, int64_t idle_ns)
{
    const struct message *m = message_of(b, a), *other = partner ? message_of(b, partner) : NULL;
    const int64_t ready_ns = partner ? MAX(a->ready_ns, partner->ready_ns) : a->ready_ns;
    if (!m || (other && other->end_ns > m->end_ns))
        m = other;
    if (!m || m->end_ns < ready_ns)
        return 0;
    return MAX(0, MIN(m->end_ns, a->start_ns) - MAX(m->start_ns, idle_ns));
}

/* --- ranks */

static void partition(const struct builder *b, uint32_t rank, const struct piece *pieces, size_t n)
{
    const struct pipeline_times *p = b->p;
    struct pipeline_rank *r = &p->ranks[rank];
    struct intervals work = {0}, all = {0};
    for (size_t i = 0; i < n; i++) {
        const struct trace_op *op = &b->trace->ops[pieces[i].op];
        if (is_work(b, &op->tag))
            intervals_add(&work, op->start_ns, op->end_ns);
        intervals_add(&all, op->start_ns, op->end_ns);
    }
    const int64_t used_ns = intervals_within(&all, p->start_ns, p->start_ns + p->makespan_ns);
    r->busy_ns = intervals_length(&work);
    r->update_ns = used_ns - r->busy_ns;
    r->idle_ns = p->makespan_ns - used_ns;
    g_assert(r->update_ns >= 0 && r->idle_ns >= 0);
    intervals_release(&work);
    intervals_release(&all);
}

const struct pipeline_action *pipeline_partner(const struct pipeline_times *p, size_t first)
{
    const struct pipeline_action *a = &p->actions[first];
    size_t i = first + 1;
    while (i < p->first[a->rank + 1] && p->actions[i].kind == OP_LOSS)
        i++;
    const bool is = a->pair == PAIR_FIRST && a->kind != OP_LOSS && i < p->first[a->rank + 1];
    return is && p->actions[i].pair == PAIR_SECOND ? &p->actions[i] : NULL;
}

static void walk_actions(const struct builder *b, uint32_t rank)
{
    struct pipeline_times *p = b->p;
    struct pipeline_rank *r = &p->ranks[rank];
    int64_t idle_ns = p->start_ns; /* since when */
    bool any = false;
    for (size_t i = p->first[rank]; i < p->first[rank + 1]; i++) {
        struct pipeline_action *a = &p->actions[i];
        const struct message *m = message_of(b, a);
        a->transfer_ns = m ? m->end_ns - m->start_ns : 0;
        if (a->stage != STAGE_NONE) {
            r->start_ns = any ? r->start_ns : a->start_ns;
            r->end_ns = any ? MAX(r->end_ns, a->end_ns) : a->end_ns;
            any = true;
        }
        r->exposed_send_ns += exposed_before(b, a, pipeline_partner(p, i), idle_ns);
        idle_ns = MAX(idle_ns, a->end_ns);
    }
    g_assert(r->exposed_send_ns <= r->idle_ns);
}

static int by_subject(const void *a, const void *b)
{
    const struct pipeline_action *x = *(const struct pipeline_action *const *)a,
                                 *y = *(const struct pipeline_action *const *)b;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    if (x->micro != y->micro)
        return x->micro < y->micro ? -1 : 1;
    return (x > y) - (x < y);
}

static int by_time(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Of the actions of one stage and micro-batch; false: there is no forward. */
static bool hold_of(const struct pipeline_action *const *own, size_t n, int64_t *start_ns, int64_t *end_ns)
{
    bool held = false, recomputed = false;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (own[i]->kind == OP_RECOMPUTE || (own[i]->kind == OP_FWD && !recomputed)) {
            *start_ns = own[i]->start_ns;
            recomputed = own[i]->kind == OP_RECOMPUTE;
            held = true;
        }
        if (is_backward(own[i]->kind))
            *end_ns = MAX(*end_ns, own[i]->end_ns);
    }
    *end_ns = *end_ns == INT64_MIN ? INT64_MAX : *end_ns;
    return held;
}

static uint32_t most_at_once(int64_t *starts, int64_t *ends, size_t n)
{
    size_t most = 0;
    if (n) {
        qsort(starts, n, sizeof *starts, by_time);
        qsort(ends, n, sizeof *ends, by_time);
    }
    for (size_t i = 0, ended = 0; i < n; i++) {
        while (ended < i && ends[ended] <= starts[i])
            ended++;
        most = MAX(most, i + 1 - ended);
    }
    return (uint32_t)most;
}

static uint32_t in_flight(const struct pipeline_times *p, uint32_t rank)
{
    const size_t n = p->first[rank + 1] - p->first[rank];
    const struct pipeline_action **own = g_new(const struct pipeline_action *, n);
    int64_t *starts = g_new(int64_t, n), *ends = g_new(int64_t, n);
    size_t held = 0;
    for (size_t i = 0; i < n; i++)
        own[i] = &p->actions[p->first[rank] + i];
    if (n)
        qsort(own, n, sizeof *own, by_subject);
    for (size_t i = 0, end; i < n && own[i]->stage != STAGE_NONE; i = end) {
        for (end = i + 1; end < n && own[end]->stage == own[i]->stage && own[end]->micro == own[i]->micro;)
            end++;
        held += hold_of(own + i, end - i, &starts[held], &ends[held]);
    }
    const uint32_t most = most_at_once(starts, ends, held);
    g_free(own);
    g_free(starts);
    g_free(ends);
    return most;
}

static void time_ranks(struct builder *b)
{
    struct pipeline_times *p = b->p;
    for (uint32_t s = 0; s < p->n_stages; s++)
        if (b->trace->t.stages[s].rank < p->n_ranks)
            p->ranks[b->trace->t.stages[s].rank].n_stages++;
    for (size_t i = 0, end; i < b->n_pieces; i = end) {
        for (end = i + 1; end < b->n_pieces && b->pieces[end].rank == b->pieces[i].rank;)
            end++;
        partition(b, b->pieces[i].rank, b->pieces + i, end - i);
    }
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        struct pipeline_rank *r = &p->ranks[rank];
        if (p->first[rank] == p->first[rank + 1])
            r->idle_ns = p->makespan_ns;
        walk_actions(b, rank);
        r->in_flight = in_flight(p, rank);
        p->busy_ns += r->busy_ns;
        p->idle_ns += r->idle_ns;
        p->exposed_send_ns += r->exposed_send_ns;
    }
}

struct pipeline_times *pipeline_times_new(const struct trace *trace, uint32_t step)
{
    const struct tables *t = &trace->t;
    if (!t->n_stages || t->n_stages >= STAGE_NONE || !t->n_ranks)
        return NULL;
    struct pipeline_times *p = g_new0(struct pipeline_times, 1);
    struct builder b = {.trace = trace, .p = p};
    p->n_ranks = t->n_ranks;
    p->n_stages = t->n_stages;
    p->stage_ns = g_new0(int64_t, p->n_stages);
    p->ranks = g_new0(struct pipeline_rank, p->n_ranks);
    list_pieces(&b, step);
    join_actions(&b);
    if (p->n_micro) {
        time_rounds(&b);
        find_versions(p);
        list_messages(&b, step);
        time_ranks(&b);
        g_array_unref(b.messages);
    }
    g_free(b.pieces);
    if (p->n_micro)
        return p;
    pipeline_times_free(p);
    return NULL;
}

void pipeline_times_free(struct pipeline_times *p)
{
    if (!p)
        return;
    g_free(p->actions);
    g_free(p->first);
    g_free(p->ranks);
    g_free(p->stage_ns);
    g_free(p->round_end_ns);
    g_free(p);
}

double pipeline_bubble_of_total(const struct pipeline_times *p)
{
    return p->makespan_ns > 0 ? (double)p->idle_ns / ((double)p->n_ranks * (double)p->makespan_ns) : 0;
}

double pipeline_bubble_of_ideal(const struct pipeline_times *p)
{
    return p->busy_ns > 0 ? (double)p->idle_ns / (double)p->busy_ns : 0;
}

double pipeline_in_flight(const struct pipeline_rank *r)
{
    return r->n_stages ? (double)r->in_flight / r->n_stages : r->in_flight;
}

double pipeline_stage_excess(const struct pipeline_times *p)
{
    double sum = 0;
    for (uint32_t s = 0; s < p->n_stages; s++)
        sum += (double)p->stage_ns[s];
    return sum > 0 ? ((double)p->stage_ns[p->slowest_stage] * p->n_stages / sum - 1) * 100 : 0;
}
