#include "exec/walk.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/state.h"
#include "profile/clock.h"
#include "profile/facts.h"
#include "profile/trace.h"

#define WARMUP_MAX   1000
#define FORGET_STEPS 200

/* The plan as calls on lanes, compiled once. */
struct schedule {
    uint32_t *waits, *first_wait; /* by op: the ops whose events it waits for */
    bool *records;                /* by op: whether another lane or the end of the step waits for it */
    uint32_t *last;               /* by lane: its last op, OP_NONE if it has none */
};

struct walk {
    struct run run; /* as given, but for warm-up steps that are added */
    const struct plan *plan;
    const struct backend_ops *ops;
    void *backend;
    struct schedule schedule;
    struct timing timing[2]; /* of the steps under way, by the step's parity */
    struct trace *trace;
    double *loss_share;     /* by op: what a LOSS op's result counts in the step's loss */
    int64_t *rank_start_ns; /* of the step being collected */
    uint32_t settled;       /* steps that are over */
};

static bool cancelled(const struct run *run)
{
    return run->cancel && __atomic_load_n(run->cancel, __ATOMIC_RELAXED);
}

/* --- compiling */

static uint32_t *place_in_lane(const struct plan *plan, uint32_t *last)
{
    uint32_t *place = g_new(uint32_t, plan->n_ops), *count = g_new0(uint32_t, plan->t.n_lanes);
    for (uint32_t i = 0; i < plan->t.n_lanes; i++)
        last[i] = OP_NONE;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t op = plan->order[i], lane = plan->ops[op].lane;
        place[op] = count[lane]++;
        last[lane] = op;
    }
    g_free(count);
    return place;
}

/* The latest dependency on `lane`, OP_NONE if there is none. */
static uint32_t latest_on(const struct plan *plan, uint32_t op, uint32_t lane, const uint32_t *place)
{
    uint32_t latest = OP_NONE;
    for (uint32_t d = plan->ops[op].first_dep; d < plan->ops[op + 1].first_dep; d++) {
        uint32_t on = plan->deps[d];
        if (plan->ops[on].lane == lane && (latest == OP_NONE || place[on] > place[latest]))
            latest = on;
    }
    return latest;
}

/* Waits are written in sealed order; first_wait is by place in that order. */
static void compile(const struct plan *plan, struct schedule *s)
{
    uint32_t n_lanes = plan->t.n_lanes, n = 0;
    s->waits = g_new(uint32_t, plan->n_deps);
    s->first_wait = g_new(uint32_t, plan->n_ops + 1);
    s->records = g_new0(bool, plan->n_ops);
    s->last = g_new(uint32_t, n_lanes);
    uint32_t *place = place_in_lane(plan, s->last);
    uint32_t *waited =
        g_new0(uint32_t, (size_t)n_lanes * n_lanes); /* places of that lane that are behind us */
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t op = plan->order[i];
        uint32_t *behind = waited + (size_t)plan->ops[op].lane * n_lanes;
        s->first_wait[i] = n;
        for (uint32_t d = plan->ops[op].first_dep; d < plan->ops[op + 1].first_dep; d++) {
            uint32_t on = plan->deps[d], lane = plan->ops[on].lane;
            if (lane == plan->ops[op].lane || place[on] < behind[lane])
                continue;
            on = latest_on(plan, op, lane, place);
            behind[lane] = place[on] + 1;
            s->records[on] = true;
            s->waits[n++] = on;
        }
    }
    s->first_wait[plan->n_ops] = n;
    for (uint32_t i = 0; i < n_lanes; i++)
        if (s->last[i] != OP_NONE)
            s->records[s->last[i]] = true;
    g_free(waited);
    g_free(place);
}

/* --- issuing */

/* Every lane of a rank waits for the end of the step before on the rank's other lanes. */
static bool join_ranks(struct walk *w, uint32_t step, GError **error)
{
    const struct lane *lanes = w->plan->t.lanes;
    for (uint32_t i = 0; i < w->plan->t.n_lanes; i++)
        for (uint32_t j = 0; j < w->plan->t.n_lanes; j++)
            if (i != j && lanes[i].rank == lanes[j].rank && w->schedule.last[i] != OP_NONE &&
                w->schedule.last[j] != OP_NONE &&
                !w->ops->wait(w->backend, i, w->schedule.last[j], step - 1, error))
                return false;
    return true;
}

static bool issue_step(struct walk *w, uint32_t step, GError **error)
{
    const struct schedule *s = &w->schedule;
    if (step > 0 && !join_ranks(w, step, error))
        return false;
    for (uint32_t i = 0; i < w->plan->n_ops; i++) {
        uint32_t op = w->plan->order[i], lane = w->plan->ops[op].lane;
        for (uint32_t j = s->first_wait[i]; j < s->first_wait[i + 1]; j++)
            if (!w->ops->wait(w->backend, lane, s->waits[j], step, error))
                return false;
        if (!w->ops->launch(w->backend, op, step, &w->timing[step & 1], error))
            return false;
        if (s->records[op] && !w->ops->record(w->backend, lane, op, step, error))
            return false;
    }
    return true;
}

/* --- collecting */

static int64_t ready_ns(const struct walk *w, uint32_t op, const struct timing *t)
{
    const struct op *o = &w->plan->ops[op];
    if (o[0].first_dep == o[1].first_dep)
        return w->rank_start_ns[w->plan->t.lanes[o->lane].rank];
    int64_t latest_ns = INT64_MIN;
    for (uint32_t d = o[0].first_dep; d < o[1].first_dep; d++)
        latest_ns = MAX(latest_ns, t->end_ns[w->plan->deps[d]]);
    return latest_ns;
}

static double step_loss(const struct walk *w, uint32_t step, const struct timing *t)
{
    double loss = 0;
    for (uint32_t i = 0; i < w->plan->n_ops; i++)
        if (w->plan->ops[i].tag.kind == OP_LOSS)
            loss += w->loss_share[i] * (w->ops->loss ? w->ops->loss(w->backend, i, step) : t->loss[i]);
    return loss;
}

static void collect_step(struct walk *w, uint32_t measured, const struct timing *t)
{
    const struct plan *plan = w->plan;
    struct trace *trace = w->trace;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        w->rank_start_ns[i] = INT64_MAX;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        int64_t *start_ns = &w->rank_start_ns[plan->t.lanes[plan->ops[i].lane].rank];
        *start_ns = MIN(*start_ns, t->start_ns[i]);
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t op = plan->order[i];
        struct trace_op row = {plan->ops[op].tag, plan->ops[op].lane, plan->ops[op].cost, ready_ns(w, op, t),
                               t->start_ns[op],   t->end_ns[op],      t->work_ns[op]};
        row.tag.step = measured;
        if (w->ops->gather)
            trace_add_bare_op(trace, &row);
        else
            trace_add_op(trace, &row);
    }
    if (w->loss_share)
        trace->loss[measured] = step_loss(w, run_first_measured(&w->run) + measured, t);
    trace->n_steps = measured + 1;
}

/* Waits until the step is over on every lane, then keeps what it left.  True without keeping anything if
 * cancelled. */
static bool settle_step(struct walk *w, uint32_t step, GError **error)
{
    const struct run *run = &w->run;
    for (uint32_t i = 0; i < w->plan->t.n_lanes; i++) {
        uint32_t last = w->schedule.last[i];
        if (last != OP_NONE && !w->ops->reach(w->backend, last, step, error))
            return false;
        if (cancelled(run))
            return true;
    }
    w->settled = step + 1;
    if (step >= run_first_measured(run) && !w->ops->gather)
        collect_step(w, step - run_first_measured(run), &w->timing[step & 1]);
    if (run->learned && step >= run->warmup)
        run->learned(run->user, w->loss_share ? step_loss(w, step, &w->timing[step & 1]) : NAN);
    if (run->progress)
        run->progress(run->user, step + 1, run_first_measured(run) + run->steps);
    return true;
}

static bool observe(struct walk *w, uint32_t step, GError **error)
{
    const struct run *run = &w->run;
    if (!w->ops->sync(w->backend, error))
        return false;
    const uint32_t first = run_first_measured(run);
    const bool measured = step >= first;
    if (!cancelled(run))
        run->observe(run->user, measured ? step - first : step, measured, w->ops->cell, w->backend);
    return true;
}

/* Issues [from, to) one step ahead of what is settled, and settles all of it. */
static bool walk_steps(struct walk *w, uint32_t from, uint32_t to, GError **error)
{
    bool at_rest = w->run.observe != NULL;
    for (uint32_t step = from; step < to && !cancelled(&w->run); step++) {
        if (!issue_step(w, step, error))
            return false;
        if (!at_rest && step > from && !settle_step(w, step - 1, error))
            return false;
        if (at_rest && !(settle_step(w, step, error) && observe(w, step, error)))
            return false;
    }
    if (!at_rest && to > from && !cancelled(&w->run))
        return settle_step(w, to - 1, error);
    return true;
}

/* As many more, by what the first ones took, as fill the time that is asked for. */
static uint32_t missing_warmup(const struct walk *w, int64_t passed_ns)
{
    const double wanted_ns = w->run.warmup_s * 1e9, a_step_ns = MAX(1, (double)passed_ns / w->run.warmup);
    return w->run.warmup && passed_ns < wanted_ns
               ? (uint32_t)MIN((wanted_ns - passed_ns) / a_step_ns, WARMUP_MAX)
               : 0;
}

static bool warm_up(struct walk *w, GError **error)
{
    int64_t began_ns = clock_ns();
    uint32_t first = w->run.warmup;
    if (!walk_steps(w, 0, first, error))
        return false;
    if (cancelled(&w->run)) /* lanes may not be at rest, and read the run */
        return true;
    w->run.warmup += missing_warmup(w, clock_ns() - began_ns);
    return walk_steps(w, first, w->run.warmup, error);
}

/* Every so often what a backend keeps of steps that nobody will look at is dropped. */
static bool go_ahead(struct walk *w, GError **error)
{
    const uint32_t first = run_first_measured(&w->run);
    for (uint32_t step = w->run.warmup; step < first && !cancelled(&w->run); step += FORGET_STEPS)
        if (!walk_steps(w, step, MIN(step + FORGET_STEPS, first), error) ||
            (w->ops->forget && !cancelled(&w->run) &&
             !(w->ops->sync(w->backend, error) && w->ops->forget(w->backend, error))))
            return false;
    return true;
}

static bool walk_all(struct walk *w, GError **error)
{
    if (!warm_up(w, error))
        return false;
    if (w->run.warmup && !cancelled(&w->run) &&
        !(w->ops->sync(w->backend, error) && w->ops->reset(w->backend, error)))
        return false;
    g_autofree char *warmup = g_strdup_printf("%" PRIu32, w->run.warmup);
    trace_fact_text(w->trace, FACT_WARMUP, warmup);
    const uint32_t first = run_first_measured(&w->run);
    if (w->run.begun && !cancelled(&w->run))
        w->run.begun(w->run.user);
    return go_ahead(w, error) && walk_steps(w, first, first + w->run.steps, error) &&
           (cancelled(&w->run) || w->ops->sync(w->backend, error));
}

/* Keeps the steps that are over where the backend knows their times only now. */
static bool gather_steps(struct walk *w, GError **error)
{
    if (!w->ops->gather)
        return true;
    for (uint32_t step = run_first_measured(&w->run); step < w->settled; step++) {
        size_t first_row = w->trace->n_ops;
        if (!w->ops->gather(w->backend, step, &w->timing[0], first_row, w->trace, error))
            return false;
        collect_step(w, step - run_first_measured(&w->run), &w->timing[0]);
    }
    return true;
}

/* --- the trace around the steps */

/* A rank's loss is the sum over its LOSS ops; it counts by the rank's part of the samples. */
static double *loss_shares(const struct plan *plan)
{
    double *share = NULL;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        if (plan->ops[i].tag.kind != OP_LOSS)
            continue;
        if (!share)
            share = g_new0(double, plan->n_ops);
        share[i] = plan->rank_share[plan->t.lanes[plan->ops[i].lane].rank];
    }
    return share;
}

static void begin_trace(struct walk *w)
{
    const struct plan *plan = w->plan;
    struct trace *trace = w->trace;
    trace_adopt(trace, &plan->t, plan->n_costs, plan->costs);
    trace_reserve(trace, (size_t)w->run.steps * plan->n_ops);
    w->loss_share = loss_shares(plan);
    if (w->loss_share)
        trace->loss = g_new0(double, w->run.steps);
    uint64_t *bytes = g_new(uint64_t, (size_t)plan->t.n_ranks * VALUE_CLASSES);
    plan_memory(plan, bytes, NULL);
    trace_memory(trace, VALUE_CLASSES, value_class_name, bytes);
}

/* FNV-1a by words of 8 bytes, the rest by bytes. */
static uint64_t hash_bytes(uint64_t hash, const unsigned char *p, uint64_t bytes)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    uint64_t word;
    for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 32; /* or the high bits of a word would never reach the low ones */
    }
    for (; bytes; bytes--)
        hash = (hash ^ *p++) * prime;
    return hash;
}

/* Whether every rank ends with weights of the same layers, so that they should be equal. */
static bool hold_alike(const struct plan *plan)
{
    g_autofree uint32_t *held = g_new0(uint32_t, (size_t)plan->t.n_layers + 1);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->cls == VALUE_WEIGHT && v->root == i && v->flags & VALUE_LIVE_OUT &&
            v->index < plan->t.n_layers)
            held[v->index]++;
    }
    for (uint32_t i = 0; i < plan->t.n_layers; i++)
        if (held[i] && held[i] != plan->t.n_ranks)
            return false;
    return true;
}

static void hash_weights(struct walk *w)
{
    const struct plan *plan = w->plan;
    uint64_t *hash = g_new(uint64_t, plan->t.n_ranks);
    bool any = false;
    for (uint32_t i = 0; i < plan->t.n_ranks; i++)
        hash[i] = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->cls != VALUE_WEIGHT || v->root != i || !(v->flags & VALUE_LIVE_OUT))
            continue;
        hash[v->rank] = hash_bytes(hash[v->rank], w->ops->cell(w->backend, i), v->bytes);
        any = true;
    }
    if (any)
        w->trace->weight_hash = hash;
    else
        g_free(hash);
}

/* Of what is alive at the peak each class counts the bytes that were touched. */
static void measure_memory(struct walk *w)
{
    const struct plan *plan = w->plan;
    struct trace *trace = w->trace;
    g_autofree uint64_t *bytes = g_new(uint64_t, (size_t)plan->t.n_ranks * VALUE_CLASSES);
    g_autofree bool *at_peak = g_new(bool, (size_t)plan->n_values + 1);
    plan_memory(plan, bytes, at_peak);
    trace->memory_touched = g_new0(uint64_t, (size_t)plan->t.n_ranks * VALUE_CLASSES);
    trace->memory_measured = g_new(uint64_t, plan->t.n_ranks);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (at_peak[i])
            trace->memory_touched[(size_t)v->rank * VALUE_CLASSES + v->cls] +=
                w->ops->touched(w->backend, v->rank, plan->place[i], v->bytes);
    }
    for (uint32_t rank = 0; rank < plan->t.n_ranks; rank++)
        trace->memory_measured[rank] = w->ops->touched(w->backend, rank, 0, plan->arena_bytes[rank]);
}

static void end_trace(struct walk *w)
{
    w->trace->cancelled = cancelled(&w->run);
    if (!w->trace->cancelled) {
        if (hold_alike(w->plan))
            hash_weights(w);
        if (w->run.end)
            state_keep(w->run.end, w->plan, w->run.begin,
                       (uint64_t)(w->run.ahead + w->run.steps) * MAX(w->plan->n_updates, 1), w->ops->cell,
                       w->backend);
        if (w->ops->touched)
            measure_memory(w);
    }
}

static void init_timing(struct timing *t, uint32_t n_ops)
{
    t->start_ns = g_new0(int64_t, n_ops);
    t->end_ns = g_new0(int64_t, n_ops);
    t->work_ns = g_new0(int64_t, n_ops);
    t->loss = g_new0(double, n_ops);
}

static void release(struct walk *w)
{
    for (unsigned i = 0; i < 2; i++) {
        g_free(w->timing[i].start_ns);
        g_free(w->timing[i].end_ns);
        g_free(w->timing[i].work_ns);
        g_free(w->timing[i].loss);
    }
    g_free(w->schedule.waits);
    g_free(w->schedule.first_wait);
    g_free(w->schedule.records);
    g_free(w->schedule.last);
    g_free(w->loss_share);
    g_free(w->rank_start_ns);
}

bool walk_run(const struct run *run, const struct backend_ops *ops, struct trace *trace, bool *stuck,
              GError **error)
{
    struct walk w = {.run = *run, .plan = run->plan, .ops = ops, .trace = trace};
    bool ok = ops->open(&w.run, &w.backend, error);
    if (ok) {
        compile(run->plan, &w.schedule);
        init_timing(&w.timing[0], run->plan->n_ops);
        init_timing(&w.timing[1], run->plan->n_ops);
        w.rank_start_ns = g_new(int64_t, run->plan->t.n_ranks);
        begin_trace(&w);
        ok = walk_all(&w, error);
        ok = gather_steps(&w, ok ? error : NULL) && ok;
        if (ok) {
            end_trace(&w);
            ok = cancelled(run) || ops->sync(w.backend, error); /* what cell met */
        }
        if (!ok) /* of weights that could not all be read */
            g_clear_pointer(&trace->weight_hash, g_free);
        trace_finish(trace);
    }
    if (stuck)
        *stuck = w.backend && ops->stuck && ops->stuck(w.backend);
    ops->close(w.backend); /* lanes write to the timings until here */
    release(&w);
    return ok;
}
