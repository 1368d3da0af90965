#include <math.h>
#include <string.h>

#include "sim/cost-model.h"
#include "sim/fair.h"
#include "sim/resources.h"
#include "sim/sim.h"

/* Paces are products of doubles: what differs by less is equal. */
#define SAME 1e-9

enum activity_phase { TASK_WAITS, TASK_RESTS_FIRST, TASK_WORKS, TASK_RESTS_LAST };

/* What advances as one: an op alone, or a gang, which its first member stands for. */
struct activity {
    int64_t begin_ns;
    int64_t alone_ns, work_ns;
    int64_t since_ns; /* when left_ns was right */
    double left_ns;   /* of the work, at full pace */
    double pace;      /* since since_ns */
    int64_t next_ns;  /* when its phase ends at this pace */
    uint32_t place;   /* in the heap */
    uint8_t phase;    /* enum activity_phase */
    bool touched;
};

struct flow {
    const struct plan *plan;
    const struct cost *cost;
    const struct sharing *sharing;
    struct resources *r;
    int64_t now_ns, *start_ns, *end_ns;
    struct fair *fair;
    struct activity *tasks;             /* by op */
    uint32_t *missing;                  /* by op: dependencies and lane still to come */
    uint32_t *gang_missing;             /* by gang: members */
    uint32_t *first_after, *after;      /* by op: who waits for it, its lane's next included */
    uint32_t *queue, n_queued, n_taken; /* ops that became ready */
    uint32_t *heap, n_heap;             /* tasks by next_ns */
    uint32_t *lane_task;                /* by lane: the task whose work it runs, OP_NONE: none */
    uint32_t *domain;             /* by lane: whom its communication disturbs: its rank, or its device */
    uint32_t *communicating;      /* by domain */
    uint32_t *first_lane, *lanes; /* by domain: its lanes */
    uint32_t *touched, n_touched; /* tasks whose pace may have changed */
};

/* Times beyond what int64 holds stay at its end. */
static int64_t plus(int64_t ns, int64_t by_ns)
{
    return by_ns < INT64_MAX - ns ? ns + by_ns : INT64_MAX;
}

/* --- the heap: earliest first, then by number */

static bool before(const struct flow *f, uint32_t a, uint32_t b)
{
    int64_t x = f->tasks[a].next_ns, y = f->tasks[b].next_ns;
    return x < y || (x == y && a < b);
}

static void put(struct flow *f, uint32_t place, uint32_t task)
{
    f->heap[place] = task;
    f->tasks[task].place = place;
}

static void sift_up(struct flow *f, uint32_t place)
{
    uint32_t task = f->heap[place];
    for (; place > 0 && before(f, task, f->heap[(place - 1) / 2]); place = (place - 1) / 2)
        put(f, place, f->heap[(place - 1) / 2]);
    put(f, place, task);
}

static void sift_down(struct flow *f, uint32_t place)
{
    uint32_t task = f->heap[place];
    for (uint32_t child; (child = 2 * place + 1) < f->n_heap; place = child) {
        if (child + 1 < f->n_heap && before(f, f->heap[child + 1], f->heap[child]))
            child++;
        if (!before(f, f->heap[child], task))
            break;
        put(f, place, f->heap[child]);
    }
    put(f, place, task);
}

static void push(struct flow *f, uint32_t task, int64_t next_ns)
{
    f->tasks[task].next_ns = next_ns;
    put(f, f->n_heap, task);
    sift_up(f, f->n_heap++);
}

static uint32_t pop(struct flow *f)
{
    uint32_t task = f->heap[0];
    put(f, 0, f->heap[--f->n_heap]);
    if (f->n_heap)
        sift_down(f, 0);
    return task;
}

static void reschedule(struct flow *f, uint32_t task, int64_t next_ns)
{
    f->tasks[task].next_ns = next_ns;
    sift_up(f, f->tasks[task].place);
    sift_down(f, f->tasks[task].place);
}

static void touch(struct flow *f, uint32_t task)
{
    if (!f->tasks[task].touched)
        f->touched[f->n_touched++] = task;
    f->tasks[task].touched = true;
}

static bool disturbs(const struct flow *f)
{
    return f->sharing->interference != INTERFERENCE_NONE;
}

static uint8_t lane_class(const struct flow *f, uint32_t op)
{
    return f->plan->t.lanes[f->plan->ops[op].lane].cls;
}

/* --- an op's way: ready, its gang begins, works, ends */

static void enter(struct flow *f, uint32_t task)
{
    struct activity *t = &f->tasks[task];
    t->phase = TASK_WORKS;
    t->since_ns = f->now_ns;
    t->left_ns = (double)t->work_ns;
    t->pace = 1;
    fair_enter(f->fair, task);
    if (disturbs(f) && lane_class(f, task) == LANE_COMPUTE) {
        f->lane_task[f->plan->ops[task].lane] = task;
        touch(f, task);
    }
    if (f->sharing->lane_speed)
        touch(f, task);
    push(f, task, plus(f->now_ns, t->work_ns));
}

static void leave(struct flow *f, uint32_t task)
{
    fair_leave(f->fair, task);
    if (disturbs(f) && lane_class(f, task) == LANE_COMPUTE)
        f->lane_task[f->plan->ops[task].lane] = OP_NONE;
}

static void communicate(struct flow *f, uint32_t op, int change)
{
    if (!disturbs(f) || lane_class(f, op) != LANE_COMM)
        return;
    uint32_t domain = f->domain[f->plan->ops[op].lane];
    f->communicating[domain] += (uint32_t)change;
    for (uint32_t i = f->first_lane[domain]; i < f->first_lane[domain + 1]; i++)
        if (f->lane_task[f->lanes[i]] != OP_NONE)
            touch(f, f->lane_task[f->lanes[i]]);
}

static void end_op(struct flow *f, uint32_t op)
{
    f->end_ns[op] = f->now_ns;
    communicate(f, op, -1);
    for (uint32_t i = f->first_after[op]; i < f->first_after[op + 1]; i++)
        if (--f->missing[f->after[i]] == 0)
            f->queue[f->n_queued++] = f->after[i];
}

static void end_task(struct flow *f, uint32_t task)
{
    uint32_t gang = f->plan->ops[task].tag.gang;
    if (gang == OP_NONE)
        end_op(f, task);
    else
        for (uint32_t i = 0; i < f->plan->gangs[gang].n; i++)
            end_op(f, f->plan->gang_ops[f->plan->gangs[gang].first + i]);
}

static void take_longest(struct flow *f, struct activity *t, uint32_t op)
{
    const struct cost *cost = &f->cost[f->plan->ops[op].cost];
    t->alone_ns = MAX(t->alone_ns, cost->alone_ns);
    t->work_ns = MAX(t->work_ns, MIN(cost->work_ns, cost->alone_ns));
}

static void begin(struct flow *f, uint32_t task)
{
    struct activity *t = &f->tasks[task];
    uint32_t gang = f->plan->ops[task].tag.gang;
    if (gang == OP_NONE)
        take_longest(f, t, task);
    else
        for (uint32_t i = 0; i < f->plan->gangs[gang].n; i++)
            take_longest(f, t, f->plan->gang_ops[f->plan->gangs[gang].first + i]);
    t->begin_ns = f->now_ns;
    if (t->alone_ns == 0)
        end_task(f, task);
    else if (t->work_ns == 0 || (!f->sharing->beside && t->work_ns < t->alone_ns)) {
        t->phase = TASK_RESTS_FIRST;
        push(f, task, plus(f->now_ns, t->alone_ns - t->work_ns));
    } else
        enter(f, task);
}

static void become_ready(struct flow *f, uint32_t op)
{
    f->start_ns[op] = f->now_ns;
    communicate(f, op, 1);
    uint32_t gang = f->plan->ops[op].tag.gang;
    if (gang == OP_NONE || --f->gang_missing[gang] == 0)
        begin(f, resources_task(f->plan, op));
}

static void end_phase(struct flow *f, uint32_t task)
{
    struct activity *t = &f->tasks[task];
    if (t->phase == TASK_RESTS_FIRST && t->work_ns > 0) {
        enter(f, task);
        return;
    }
    if (t->phase == TASK_WORKS) {
        leave(f, task);
        if (plus(t->begin_ns, t->alone_ns) > f->now_ns) {
            t->phase = TASK_RESTS_LAST;
            push(f, task, plus(t->begin_ns, t->alone_ns));
            return;
        }
    }
    end_task(f, task);
}

/* --- paces */

static double speed_of_lane(const struct flow *f, uint32_t task)
{
    const struct op *op = &f->plan->ops[task];
    return f->sharing->lane_speed && op->tag.gang == OP_NONE ? f->sharing->lane_speed[op->lane] : 1;
}

/* What is left of its speed to compute beside communication. */
static double speed_beside(const struct flow *f, uint32_t task)
{
    if (!disturbs(f) || lane_class(f, task) != LANE_COMPUTE)
        return 1;
    const struct op *op = &f->plan->ops[task];
    uint32_t beside = f->communicating[f->domain[op->lane]];
    if (beside == 0)
        return 1;
    if (f->sharing->interference == INTERFERENCE_FACTOR)
        return 1 / f->sharing->factor;
    uint32_t sms = f->sharing->cluster->sms;
    uint64_t held = MIN((uint64_t)beside * f->sharing->sms, sms - 1);
    return 1 / cost_waves_slowdown(f->sharing->cluster, &f->plan->costs[op->cost], (uint32_t)held);
}

static int64_t later_by(int64_t ns, double by_ns)
{
    by_ns = MAX(ceil(by_ns * (1 - 1e-12) - 1e-3), 0); /* a sum of rounded parts is no ns more */
    return by_ns < (double)(INT64_MAX - ns) ? ns + (int64_t)by_ns : INT64_MAX;
}

static void set_pace(struct flow *f, uint32_t task)
{
    struct activity *t = &f->tasks[task];
    if (t->phase != TASK_WORKS)
        return;
    double pace = fair_rate(f->fair, task) * (speed_of_lane(f, task) * speed_beside(f, task));
    if (fabs(pace - t->pace) <= SAME * pace)
        return;
    t->left_ns = MAX(t->left_ns - (double)(f->now_ns - t->since_ns) * t->pace, 0);
    t->since_ns = f->now_ns;
    t->pace = pace;
    reschedule(f, task, later_by(f->now_ns, t->left_ns / pace));
}

static void settle(struct flow *f)
{
    uint32_t n;
    const uint32_t *changed = fair_settle(f->fair, &n);
    for (uint32_t i = 0; i < n; i++)
        touch(f, changed[i]);
    for (uint32_t i = 0; i < f->n_touched; i++) {
        f->tasks[f->touched[i]].touched = false;
        set_pace(f, f->touched[i]);
    }
    f->n_touched = 0;
}

/* --- preparing */

/* The op before each on its lane. */
static uint32_t *list_previous(const struct plan *plan)
{
    uint32_t *previous = g_new(uint32_t, plan->n_ops), *last = g_new(uint32_t, plan->t.n_lanes);
    memset(last, 0xff, plan->t.n_lanes * sizeof *last);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        previous[i] = last[plan->ops[i].lane];
        last[plan->ops[i].lane] = i;
    }
    g_free(last);
    return previous;
}

/* first[k] becomes the sum of the counts before k, counted one further on. */
static void sum_counts(uint32_t *first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
}

/* Who waits for whom: dependencies, and each lane's next op. */
static void list_waits(struct flow *f)
{
    const struct plan *plan = f->plan;
    uint32_t *previous = list_previous(plan);
    f->first_after = g_new0(uint32_t, (size_t)plan->n_ops + 1);
    f->after = g_new(uint32_t, (size_t)plan->n_deps + plan->n_ops);
    for (uint32_t d = 0; d < plan->n_deps; d++)
        f->first_after[plan->deps[d] + 1]++;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (previous[i] != OP_NONE)
            f->first_after[previous[i] + 1]++;
    sum_counts(f->first_after, plan->n_ops);
    uint32_t *at = g_memdup2(f->first_after, plan->n_ops * sizeof *at);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        f->missing[i] = plan->ops[i + 1].first_dep - plan->ops[i].first_dep + (previous[i] != OP_NONE);
        for (uint32_t d = plan->ops[i].first_dep; d < plan->ops[i + 1].first_dep; d++)
            f->after[at[plan->deps[d]]++] = i;
        if (previous[i] != OP_NONE)
            f->after[at[previous[i]]++] = i;
    }
    g_free(at);
    g_free(previous);
}

/* Which compute lanes the communication of each domain disturbs. */
static void list_domains(struct flow *f)
{
    const struct plan *plan = f->plan;
    bool by_device = f->sharing->interference == INTERFERENCE_SM;
    uint32_t n = by_device ? f->r->n_devices : plan->t.n_ranks;
    f->domain = g_new(uint32_t, plan->t.n_lanes);
    f->communicating = g_new0(uint32_t, n);
    f->first_lane = g_new0(uint32_t, (size_t)n + 1);
    f->lanes = g_new(uint32_t, plan->t.n_lanes);
    for (uint32_t l = 0; l < plan->t.n_lanes; l++) {
        f->domain[l] = by_device ? f->r->device[l] : plan->t.lanes[l].rank;
        f->first_lane[f->domain[l] + 1]++;
    }
    sum_counts(f->first_lane, n);
    uint32_t *at = g_memdup2(f->first_lane, n * sizeof *at);
    for (uint32_t l = 0; l < plan->t.n_lanes; l++)
        f->lanes[at[f->domain[l]]++] = l;
    g_free(at);
}

static void prepare(struct flow *f)
{
    const struct plan *plan = f->plan;
    f->fair = fair_new(plan->n_ops, f->r);
    f->tasks = g_new0(struct activity, plan->n_ops);
    f->missing = g_new(uint32_t, plan->n_ops);
    f->gang_missing = g_new(uint32_t, plan->n_gangs);
    f->queue = g_new(uint32_t, plan->n_ops);
    f->heap = g_new(uint32_t, plan->t.n_lanes);
    f->touched = g_new(uint32_t, plan->n_ops);
    f->lane_task = g_new(uint32_t, plan->t.n_lanes);
    memset(f->lane_task, 0xff, plan->t.n_lanes * sizeof *f->lane_task);
    for (uint32_t i = 0; i < plan->n_gangs; i++)
        f->gang_missing[i] = plan->gangs[i].n;
    list_waits(f);
    list_domains(f);
}

static void release(struct flow *f)
{
    void *const all[] = {f->tasks,   f->missing,    f->gang_missing, f->queue,       f->heap,
                         f->touched, f->lane_task,  f->after,        f->first_after, f->communicating,
                         f->domain,  f->first_lane, f->lanes};
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++)
        g_free(all[i]);
    fair_free(f->fair);
    resources_free(f->r);
}

static void start_ready(struct flow *f)
{
    while (f->n_taken < f->n_queued)
        become_ready(f, f->queue[f->n_taken++]);
}

int64_t flow_time(const struct plan *plan, const struct cost *cost, const struct sharing *sharing,
                  int64_t *start_ns, int64_t *end_ns)
{
    struct flow f = {.plan = plan, .cost = cost, .sharing = sharing, .start_ns = start_ns, .end_ns = end_ns};
    g_assert(plan->order != NULL || plan->n_ops == 0);
    f.r = resources_new(plan, sharing);
    prepare(&f);
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (f.missing[i] == 0)
            f.queue[f.n_queued++] = i;
    for (start_ready(&f), settle(&f); f.n_heap > 0; settle(&f)) {
        f.now_ns = f.tasks[f.heap[0]].next_ns;
        while (f.n_heap > 0 && f.tasks[f.heap[0]].next_ns == f.now_ns) {
            end_phase(&f, pop(&f));
            start_ready(&f);
        }
    }
    g_assert(f.n_taken == plan->n_ops);
    release(&f);
    return f.now_ns;
}

static bool can_disturb(const struct plan *plan, const struct sharing *sharing)
{
    bool compute = false, comm = false;
    for (uint32_t i = 0; i < plan->n_ops && sharing->interference != INTERFERENCE_NONE; i++) {
        compute |= op_lane_class(plan->ops[i].tag.kind) == LANE_COMPUTE;
        comm |= op_lane_class(plan->ops[i].tag.kind) == LANE_COMM;
    }
    return compute && comm;
}

bool flow_needed(const struct plan *plan, const struct sharing *sharing)
{
    if (can_disturb(plan, sharing) || sharing->lane_speed)
        return true;
    struct resources *r = resources_new(plan, sharing);
    bool needed = r->first_use[plan->n_ops] > 0;
    resources_free(r);
    return needed;
}
