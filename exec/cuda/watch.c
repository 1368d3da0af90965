#include <time.h>

#include "exec/cuda/run.h"
#include "profile/clock.h"

#define POLL_NS 100000
#define LOOK_NS 20000000 /* between looks at everything */
#define REST_S  5        /* how long nothing may advance after an abort */

enum outcome { GOING, CANCELLED, FAILED };

static void sleep_ns(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* --- what is over */

/* Whether the op's event of that step is complete; an error is left to whoever asks for good. */
static bool is_over(const struct cuda *c, uint32_t op, uint32_t step)
{
    return atomic_load(&c->ops[op].recorded) > step &&
           cudaEventQuery(c->ops[op].end[cuda_slot(step)]) != cudaErrorNotReady;
}

/* Moves the lane's place on as far as its events say; an op without one is over when a later one is. */
static void advance(struct cuda *c, struct gpu_lane *l)
{
    for (uint32_t i = l->next; i < l->n_ops && atomic_load(&c->ops[l->ops[i]].issued) > l->step; i++)
        if (is_over(c, l->ops[i], l->step))
            l->next = i + 1;
        else if (atomic_load(&c->ops[l->ops[i]].recorded) > l->step)
            break;
    if (l->n_ops && l->next == l->n_ops) {
        l->step++;
        l->next = 0;
    }
}

/* Grows whenever anything was done. */
static uint64_t look(struct cuda *c)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->plan->t.n_ranks; i++)
        sum += atomic_load(&c->ranks[i].calls);
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++) {
        advance(c, &c->lanes[i]);
        sum += (uint64_t)c->lanes[i].step * c->lanes[i].n_ops + c->lanes[i].next;
    }
    return sum;
}

/* Now and then: true if it is time again; then progress_ns is when something last advanced. */
static bool look_again(struct cuda *c)
{
    const int64_t now_ns = clock_ns();
    if (now_ns < c->next_look_ns)
        return false;
    const uint64_t progress = look(c);
    if (progress != c->progress)
        c->progress_ns = now_ns;
    c->progress = progress;
    c->next_look_ns = now_ns + LOOK_NS;
    return true;
}

static double idle_s(const struct cuda *c)
{
    return (double)(clock_ns() - c->progress_ns) / 1e9;
}

/* --- who waits for what */

static bool is_past(const struct cuda *c, uint32_t op, uint32_t step)
{
    const struct gpu_lane *l = &c->lanes[c->plan->ops[op].lane];
    for (uint32_t i = 0; l->step == step && i < l->next; i++)
        if (l->ops[i] == op)
            return true;
    return l->step > step;
}

/* Not because of another op of the rank that is not over: what depends on a culprit is not named. */
static bool is_held_by_itself(const struct cuda *c, uint32_t op, uint32_t step)
{
    const struct plan *plan = c->plan;
    for (uint32_t d = plan->ops[op].first_dep; d < plan->ops[op + 1].first_dep; d++)
        if (!is_past(c, plan->deps[d], step))
            return false;
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        if (plan->t.lanes[i].rank == plan->t.lanes[plan->ops[op].lane].rank && c->lanes[i].n_ops &&
            c->lanes[i].step < step)
            return false;
    return true;
}

/* Whether the op is what its lane, or its rank's thread, is at: nothing else keeps it from ending. */
static bool is_at(const struct cuda *c, uint32_t op, uint32_t step)
{
    const uint32_t lane = c->plan->ops[op].lane;
    const struct gpu_lane *l = &c->lanes[lane];
    if (l->step != step || l->ops[l->next] != op)
        return false;
    const bool called = atomic_load(&c->ops[op].issued) > step ||
                        atomic_load(&c->ranks[c->plan->t.lanes[lane].rank].op) == op;
    return called && is_held_by_itself(c, op, step);
}

static void say_absent(const struct cuda *c, uint32_t op, uint32_t step, GString *text)
{
    const struct plan *plan = c->plan;
    const struct gang *gang = &plan->gangs[plan->ops[op].tag.gang];
    uint32_t absent = 0;
    for (uint32_t i = 0; i < gang->n; i++) {
        const uint32_t member = plan->gang_ops[gang->first + i];
        if (!is_past(c, member, step) && !is_at(c, member, step))
            g_string_append_printf(text, "%s rank %u", absent++ ? " and" : " for",
                                   plan->t.lanes[plan->ops[member].lane].rank);
    }
    if (!absent)
        g_string_append(text, ", to which every rank has come");
}

/* What a lane is at, OP_NONE: it is idle, or kept by another. */
static uint32_t culprit(const struct cuda *c, uint32_t lane)
{
    const struct gpu_lane *l = &c->lanes[lane];
    return l->n_ops && is_at(c, l->ops[l->next], l->step) ? l->ops[l->next] : OP_NONE;
}

static bool in_gang(const struct cuda *c, uint32_t op)
{
    return c->plan->ops[op].tag.gang != OP_NONE;
}

/* Whether nothing but the device keeps the op, which may be over: who has no event is not asked. */
static bool is_vague(const struct cuda *c, uint32_t op, uint32_t step)
{
    return !in_gang(c, op) && atomic_load(&c->ops[op].issued) > step;
}

static void say_lane(const struct cuda *c, uint32_t lane, bool vague, GString *text)
{
    const uint32_t op = culprit(c, lane), step = c->lanes[lane].step;
    if (op == OP_NONE || is_vague(c, op, step) != vague)
        return;
    const bool gang = in_gang(c, op);
    g_string_append_printf(text, "; rank %u %s %s", c->plan->t.lanes[lane].rank,
                           gang || vague ? "waits in" : "hangs in a call for", c->ops[op].name);
    if (gang)
        say_absent(c, op, step, text);
}

static void say_lanes(const struct cuda *c, bool vague, GString *text)
{
    for (uint32_t rank = 0; rank < c->plan->t.n_ranks; rank++)
        for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
            if (c->plan->t.lanes[i].rank == rank)
                say_lane(c, i, vague, text);
}

static bool hung(struct cuda *c, GError **error)
{
    GString *text = g_string_new(NULL);
    say_lanes(c, false, text);
    if (!text->len)
        say_lanes(c, true, text);
    char seconds[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(seconds, sizeof seconds, "%.6g", c->run->timeout_s);
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "nothing has advanced for %s s%s", seconds,
                text->str);
    g_string_free(text, TRUE);
    return false;
}

/* --- waiting */

static bool cancelled(const struct cuda *c)
{
    return c->run->cancel && __atomic_load_n(c->run->cancel, __ATOMIC_RELAXED);
}

/* Between two polls of what is waited for. */
static enum outcome pause_once(struct cuda *c, GError **error)
{
    enum outcome outcome = GOING;
    if (workers_failed(c->workers, error))
        outcome = FAILED;
    else if (cancelled(c))
        outcome = CANCELLED;
    else if (look_again(c)) {
        if ((c->nccl && !comm_nccl_poll(c->nccl, error)) ||
            (c->run->timeout_s > 0 && idle_s(c) > c->run->timeout_s && !hung(c, error)))
            outcome = FAILED;
    }
    if (outcome == GOING)
        sleep_ns(POLL_NS);
    else
        cuda_stop(c);
    return outcome;
}

/* A rank's own error tells more than what the walker's thread meets after it. */
static bool fail(struct cuda *c, const char *call, int status, uint32_t rank, GError **error)
{
    if (!workers_failed(c->workers, error))
        cuda_ok(c, status, call, rank, error);
    cuda_stop(c);
    return false;
}

/* Whoever waits anew begins with a whole time limit. */
static void begin_wait(struct cuda *c)
{
    c->progress_ns = clock_ns();
    c->next_look_ns = 0;
}

/* The looks at everything are too seldom to follow short steps: events would be asked for steps that are long
 * over, and by then stand for later ones. */
static void settle(struct gpu_lane *l, uint32_t op, uint32_t step)
{
    if (l->ops[l->n_ops - 1] == op && l->step <= step) {
        l->step = step + 1;
        l->next = 0;
    }
}

bool cuda_watch_reach(struct cuda *c, uint32_t op, uint32_t step, GError **error)
{
    const uint32_t lane = c->plan->ops[op].lane, rank = c->plan->t.lanes[lane].rank;
    enum outcome outcome;
    begin_wait(c);
    for (;;) {
        if (atomic_load(&c->ops[op].recorded) > step) {
            const int status = cudaEventQuery(c->ops[op].end[cuda_slot(step)]);
            if (status == cudaSuccess) {
                settle(&c->lanes[lane], op, step);
                return !c->timed || cuda_times_read(c, lane, step, error);
            }
            if (status != cudaErrorNotReady)
                return fail(c, "cudaEventQuery", status, rank, error);
        }
        if ((outcome = pause_once(c, error)) != GOING)
            return outcome == CANCELLED;
    }
}

/* Over the streams themselves: they know errors of what has no event. */
static bool drain(struct cuda *c, uint32_t lane, GError **error)
{
    enum outcome outcome;
    for (;;) {
        const int status = cudaStreamQuery(c->lanes[lane].stream);
        if (status == cudaSuccess)
            return true;
        if (status != cudaErrorNotReady)
            return fail(c, "cudaStreamQuery", status, c->plan->t.lanes[lane].rank, error);
        if ((outcome = pause_once(c, error)) != GOING)
            return outcome == CANCELLED;
    }
}

bool cuda_watch_sync(struct cuda *c, GError **error)
{
    enum outcome outcome = GOING;
    begin_wait(c);
    while (!workers_idle(c->workers) || workers_failed(c->workers, NULL))
        if ((outcome = pause_once(c, error)) != GOING)
            return outcome == CANCELLED;
    for (uint32_t i = 0; i < c->plan->t.n_lanes; i++)
        if (!drain(c, i, error))
            return false;
        else if (c->aborted)
            return true;
    if (c->failed_cell) {
        g_propagate_error(error, g_steal_pointer(&c->failed_cell));
        cuda_stop(c);
        return false;
    }
    return true;
}

static bool at_rest(const struct cuda *c)
{
    bool rest = !c->workers || workers_idle(c->workers);
    for (uint32_t i = 0; i < c->plan->t.n_lanes && rest; i++)
        rest = !c->lanes[i].stream || cudaStreamQuery(c->lanes[i].stream) != cudaErrorNotReady;
    return rest;
}

bool cuda_watch_rest(struct cuda *c)
{
    begin_wait(c);
    while (!at_rest(c)) {
        if (look_again(c) && idle_s(c) > REST_S)
            return false;
        sleep_ns(POLL_NS);
    }
    return true;
}
