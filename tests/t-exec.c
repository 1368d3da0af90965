/* Lanes, gangs and the walker against a sequential reading of the same plan, and what happens when a run
 * stops. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "exec/comm.h"
#include "exec/data.h"
#include "exec/exec.h"
#include "exec/host.h"
#include "exec/workers.h"
#include "profile/clock.h"
#include "profile/trace.h"
#include "tests/tap.h"

enum { LANES = 4, COMM_LANE = 3 };

static uint32_t pick(GRand *rand, uint32_t n)
{
    return (uint32_t)g_rand_int_range(rand, 0, (int)n);
}

static struct model *tiny_model(uint8_t dtype)
{
    GError *error = NULL;
    struct model_override small = {
        .layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = 11, .seq = 4, .dtype = dtype};
    struct model *model = model_load("mini", &small, &error);
    g_assert_no_error(error);
    return model;
}

static void set_jitter(unsigned seed)
{
    g_autofree char *text = g_strdup_printf("%u", seed);
    g_setenv("PARPROF_JITTER", text, TRUE);
}

static uint32_t add_op(struct plan *plan, uint32_t lane, uint8_t kind, uint32_t gang, uint64_t bytes)
{
    struct op_tag tag = {.kind = kind,
                         .layer0 = LAYER_NONE,
                         .layer1 = LAYER_NONE,
                         .bucket = OP_NONE,
                         .gang = gang,
                         .coll = OP_NONE,
                         .bytes = bytes};
    struct cost_key key = {.shape = "", .bytes = bytes, .members = 1, .kind = kind};
    return plan_add_op(plan, lane, &tag, plan_add_cost(plan, &key));
}

static void begin_plan(struct plan *plan, const struct model *model, uint32_t ranks)
{
    static const struct lane lanes[LANES] = {{.name = "compute", .cls = LANE_COMPUTE, .peer = OP_NONE},
                                             {.name = "compute 2", .cls = LANE_COMPUTE, .peer = OP_NONE},
                                             {.name = "copy", .cls = LANE_COPY, .peer = OP_NONE},
                                             {.name = "comm", .cls = LANE_COMM, .peer = OP_NONE}};
    plan_init(plan);
    plan->t.mode = tables_intern(&plan->t, "test");
    plan->t.n_ranks = ranks;
    plan->t.n_layers = model->n_layers;
    plan->t.layers = g_new0(struct layer_row, model->n_layers);
    for (uint32_t i = 0; i < model->n_layers; i++)
        plan->t.layers[i].name = plan->t.layers[i].block = tables_intern(&plan->t, model->layers[i].name);
    plan->rank_share = g_new(double, ranks);
    plan->rank_rows = g_new(uint32_t, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        plan->rank_share[i] = 1.0 / ranks;
        plan->rank_rows[i] = 1;
        for (uint32_t j = 0; j < LANES; j++) {
            struct lane lane = lanes[j];
            lane.rank = lane.device = i;
            plan_add_lane(plan, &lane);
        }
    }
}

static void end_plan(struct plan *plan)
{
    GError *error = NULL;
    plan_seal(plan, &error);
    g_assert_no_error(error);
    plan_place(plan);
}

/* --- random plans */

enum { ROOTS = 5, ELEMS = 12, ELEM = sizeof(double) };

/* The roots of a rank: two blocks of weights, then cells that copies go to and fro between. */
struct scene {
    struct plan *plan;
    GRand *rand;
    uint32_t roots[4][ROOTS]; /* by rank */
};

static bool conflict(const struct plan *plan, struct access a, struct access b)
{
    const struct value *x = &plan->values[a.value], *y = &plan->values[b.value];
    return x->root == y->root && ((a.mode | b.mode) & ACCESS_WRITE) && x->offset < y->offset + y->bytes &&
           y->offset < x->offset + x->bytes;
}

/* What ordering demands of the op added last, and now and then more. */
static void add_deps(struct scene *s, uint32_t op)
{
    struct plan *plan = s->plan;
    for (uint32_t on = 0; on < op; on++) {
        bool needed = false;
        for (uint32_t i = plan->ops[op].first_access; i < plan->n_accesses; i++)
            for (uint32_t j = plan->ops[on].first_access; j < plan->ops[on + 1].first_access; j++)
                needed |= conflict(plan, plan->accesses[i], plan->accesses[j]);
        if (needed)
            plan_dep(plan, on);
    }
}

static uint32_t any_view(struct scene *s, uint32_t rank, uint32_t root, uint32_t elems)
{
    uint32_t offset = pick(s->rand, ELEMS - elems + 1);
    return plan_add_view(s->plan, s->roots[rank][root], offset * ELEM, elems * ELEM);
}

/* Two ranges that do not touch: of two roots, or apart in one. */
static void two_views(struct scene *s, uint32_t rank, uint32_t elems, uint32_t *from, uint32_t *to)
{
    uint32_t a = pick(s->rand, ROOTS), b = pick(s->rand, ROOTS);
    if (a == b && 2 * elems <= ELEMS) {
        *from = plan_add_view(s->plan, s->roots[rank][a], 0, elems * ELEM);
        *to = plan_add_view(s->plan, s->roots[rank][a], (ELEMS - elems) * ELEM, elems * ELEM);
        return;
    }
    *from = any_view(s, rank, a, elems);
    *to = any_view(s, rank, a == b ? (a + 1) % ROOTS : b, elems);
}

static void add_local(struct scene *s, uint32_t rank)
{
    static const uint8_t kinds[] = {OP_PACK, OP_UNPACK, OP_OPTIM};
    uint32_t from, to, kind = kinds[pick(s->rand, 3)], lane = rank * LANES + pick(s->rand, 2);
    two_views(s, rank, 1 + pick(s->rand, ELEMS), &from, &to);
    uint32_t op = add_op(s->plan, lane, (uint8_t)kind, OP_NONE, 0);
    if (kind == OP_OPTIM)
        plan_access(s->plan, to, ACCESS_UPDATE);
    plan_access(s->plan, from, ACCESS_READ);
    if (kind != OP_OPTIM)
        plan_access(s->plan, to, ACCESS_WRITE);
    add_deps(s, op);
}

static void add_exchange(struct scene *s)
{
    uint32_t n = s->plan->t.n_ranks, elems = pick(s->rand, ELEMS / 2) + 1;
    uint32_t gang = plan_add_gang(s->plan, pick(s->rand, n));
    bool add = g_rand_boolean(s->rand);
    for (uint32_t rank = 0; rank < n; rank++) {
        uint32_t from, to;
        two_views(s, rank, elems, &from, &to);
        uint32_t op = add_op(s->plan, rank * LANES + COMM_LANE, add ? OP_EXCHANGE_ADD : OP_EXCHANGE, gang,
                             elems * ELEM);
        plan_access(s->plan, from, ACCESS_READ);
        plan_access(s->plan, to, add ? ACCESS_UPDATE : ACCESS_WRITE);
        add_deps(s, op);
    }
}

/* Cells are written whole before anything else, from weights. */
static void random_plan(struct plan *plan, const struct model *model, GRand *rand)
{
    uint32_t ranks = 1 + pick(rand, 4);
    struct scene s = {plan, rand, {{0}}};
    begin_plan(plan, model, ranks);
    for (uint32_t rank = 0; rank < ranks; rank++)
        for (uint32_t i = 0; i < ROOTS; i++) {
            bool weight = i < 2;
            uint64_t bytes = (weight ? model->layers[i].numel : ELEMS) * ELEM;
            uint8_t live = VALUE_LIVE_IN | VALUE_LIVE_OUT, kept = pick(rand, 2) ? VALUE_LIVE_OUT : 0;
            struct value v = {.bytes = bytes,
                              .rank = rank,
                              .index = weight ? i : 0,
                              .cls = weight ? VALUE_WEIGHT : VALUE_GRAD,
                              .flags = weight ? live : kept};
            s.roots[rank][i] = plan_add_value(plan, &v);
        }
    for (uint32_t rank = 0; rank < ranks; rank++)
        for (uint32_t i = 2; i < ROOTS; i++) {
            uint32_t from = plan_add_view(plan, s.roots[rank][i & 1], i * ELEM, ELEMS * ELEM);
            uint32_t op = add_op(plan, rank * LANES + (i & 1), OP_UNPACK, OP_NONE, 0);
            plan_access(plan, from, ACCESS_READ);
            plan_access(plan, s.roots[rank][i], ACCESS_WRITE);
            add_deps(&s, op);
        }
    for (uint32_t n = 5 + pick(rand, 40); n > 0; n--) {
        if (pick(rand, 3))
            add_local(&s, pick(rand, ranks));
        else
            add_exchange(&s);
    }
    end_plan(plan);
}

/* The sequential reading: one op after the other in sealed order, a gang at once, on memory of its own. */
struct reading {
    const struct plan *plan;
    double lr;
    double **memory; /* by root */
};

static double *read_cell(const struct reading *r, uint32_t value)
{
    const struct value *v = &r->plan->values[value];
    return r->memory[v->root] + v->offset / ELEM;
}

static void read_gang(struct reading *r, uint32_t gang_id)
{
    const struct plan *plan = r->plan;
    const struct gang *gang = &plan->gangs[gang_id];
    double sent[4][ELEMS];
    for (uint32_t i = 0; i < gang->n; i++) {
        const struct access *a = &plan->accesses[plan->ops[plan->gang_ops[gang->first + i]].first_access];
        memcpy(sent[i], read_cell(r, a->value), plan->values[a->value].bytes);
    }
    for (uint32_t i = 0; i < gang->n; i++) {
        const struct op *op = &plan->ops[plan->gang_ops[gang->first + i]];
        const struct access *a = &plan->accesses[op->first_access + 1];
        double *to = read_cell(r, a->value);
        const double *from = sent[(i + gang->n - gang->shift) % gang->n];
        for (uint64_t j = 0; j < plan->values[a->value].bytes / ELEM; j++)
            to[j] = op->tag.kind == OP_EXCHANGE_ADD ? to[j] + from[j] : from[j];
    }
}

static void read_local(struct reading *r, const struct op *op)
{
    const struct plan *plan = r->plan;
    const struct access *a = &plan->accesses[op->first_access];
    double share = op->tag.kind == OP_PACK ? plan->rank_share[plan->t.lanes[op->lane].rank] : 1;
    double *x = read_cell(r, a[0].value), *y = read_cell(r, a[1].value);
    for (uint64_t j = 0; j < plan->values[a->value].bytes / ELEM; j++)
        if (op->tag.kind == OP_OPTIM)
            x[j] -= r->lr * y[j];
        else
            y[j] = share * x[j];
}

static void read_step(struct reading *r)
{
    const struct plan *plan = r->plan;
    uint32_t last_gang = OP_NONE;
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op *op = &plan->ops[plan->order[i]];
        if (op->tag.gang == OP_NONE)
            read_local(r, op);
        else if (op->tag.gang != last_gang)
            read_gang(r, op->tag.gang);
        last_gang = op->tag.gang;
    }
}

static void begin_reading(struct reading *r, const struct model *model, uint64_t seed)
{
    r->memory = g_new0(double *, r->plan->n_values);
    for (uint32_t i = 0; i < r->plan->n_values; i++) {
        const struct value *v = &r->plan->values[i];
        if (v->root != i)
            continue;
        r->memory[i] = g_malloc0(v->bytes);
        if (v->cls == VALUE_WEIGHT)
            data_init_layer(model, v->index, seed, r->memory[i]);
    }
}

static void end_reading(struct reading *r)
{
    for (uint32_t i = 0; i < r->plan->n_values; i++)
        g_free(r->memory[i]);
    g_free(r->memory);
}

struct look {
    struct reading *reading;
    uint32_t measured;
};

static void compare_step(void *user, uint32_t step, bool measured, void *(*cell)(void *, uint32_t),
                         void *engine)
{
    struct look *look = user;
    const struct plan *plan = look->reading->plan;
    if (!measured)
        return;
    g_assert_cmpuint(step, ==, look->measured++);
    read_step(look->reading);
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].root == i && plan->values[i].flags & VALUE_LIVE_OUT)
            g_assert_cmpmem(cell(engine, i), plan->values[i].bytes, look->reading->memory[i],
                            plan->values[i].bytes);
}

static void check_trace(const struct plan *plan, const struct trace *trace, uint32_t steps)
{
    g_assert_cmpuint(trace->n_steps, ==, steps);
    g_assert_cmpuint(trace->n_ops, ==, (size_t)steps * plan->n_ops);
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *op = &trace->ops[i];
        g_assert_cmpuint(op->tag.step, ==, i / plan->n_ops);
        g_assert_cmpuint(op->lane, ==, plan->ops[plan->order[i % plan->n_ops]].lane);
        g_assert_cmpint(op->ready_ns, <=, op->start_ns);
        g_assert_cmpint(op->start_ns, <=, op->end_ns);
    }
    int64_t *lane_end_ns = g_new0(int64_t, plan->t.n_lanes);
    for (size_t i = 0; i < trace->n_ops; i++) {
        g_assert_cmpint(trace->ops[i].start_ns, >=, lane_end_ns[trace->ops[i].lane]);
        lane_end_ns[trace->ops[i].lane] = trace->ops[i].end_ns;
    }
    g_free(lane_end_ns);
}

/* Stopping at each step to compare, then running ahead: the weights must come out the same. */
static void check_random_plan(const struct plan *plan, const struct model *model)
{
    GError *error = NULL;
    struct reading reading = {plan, 0.25, NULL};
    struct look look = {&reading, 0};
    struct run run = {.plan = plan,
                      .model = model,
                      .warmup = 2,
                      .steps = 3,
                      .seed = 7,
                      .lr = reading.lr,
                      .observe = compare_step,
                      .user = &look};
    struct trace at_rest, ahead;
    trace_init(&at_rest);
    trace_init(&ahead);
    begin_reading(&reading, model, run.seed);
    cpu_engine.run(&run, &at_rest, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(look.measured, ==, run.steps);
    check_trace(plan, &at_rest, run.steps);
    run.observe = NULL;
    cpu_engine.run(&run, &ahead, &error);
    g_assert_no_error(error);
    check_trace(plan, &ahead, run.steps);
    g_assert_cmpmem(at_rest.weight_hash, plan->t.n_ranks * sizeof(uint64_t), ahead.weight_hash,
                    plan->t.n_ranks * sizeof(uint64_t));
    end_reading(&reading);
    trace_release(&at_rest);
    trace_release(&ahead);
}

static void test_random_plans(void)
{
    struct model *model = tiny_model(DTYPE_F64);
    GRand *rand = g_rand_new_with_seed(20);
    for (unsigned i = 0; i < 30; i++) {
        struct plan plan;
        random_plan(&plan, model, rand);
        if (i % 3)
            set_jitter(i);
        else
            g_unsetenv("PARPROF_JITTER");
        check_random_plan(&plan, model);
        plan_release(&plan);
    }
    g_unsetenv("PARPROF_JITTER");
    g_rand_free(rand);
    model_free(model);
}

/* --- rings */

struct ring_member {
    const struct plan *plan;
    struct comm *comm;
    char *arena;
    uint32_t rank;
    int64_t *start_ns, *end_ns; /* by op */
    bool stopped;
};

static void *run_member(void *arg)
{
    struct ring_member *m = arg;
    const struct plan *plan = m->plan;
    int64_t ready_ns = clock_ns();
    for (uint32_t i = 0; i < plan->n_ops && !m->stopped; i++) {
        void *mem[2];
        if (plan->t.lanes[plan->ops[i].lane].rank != m->rank)
            continue;
        for (unsigned j = 0; j < 2; j++) {
            const struct value *v = &plan->values[plan->accesses[plan->ops[i].first_access + j].value];
            mem[j] = m->arena + plan->place[v->root] + v->offset;
        }
        m->start_ns[i] = ready_ns;
        m->end_ns[i] = ready_ns = comm_gang(m->comm, i, mem, ready_ns);
        m->stopped = ready_ns < 0;
    }
    return NULL;
}

static void ring_plan(struct plan *plan, const struct model *model, uint32_t ranks, uint32_t elems)
{
    GError *error = NULL;
    struct plan whole;
    begin_plan(&whole, model, ranks);
    uint32_t gang = plan_add_gang(&whole, 0);
    for (uint32_t i = 0; i < ranks; i++) {
        struct value v = {.bytes = elems * sizeof(float),
                          .rank = i,
                          .cls = VALUE_BUCKET,
                          .flags = VALUE_LIVE_IN | VALUE_LIVE_OUT};
        uint32_t bucket = plan_add_value(&whole, &v);
        add_op(&whole, i * LANES + COMM_LANE, OP_ALLREDUCE, gang, v.bytes);
        plan_access(&whole, bucket, ACCESS_UPDATE);
    }
    plan_lower_allreduce(&whole, ALLREDUCE_RING, sizeof(float), plan, &error);
    g_assert_no_error(error);
    plan_release(&whole);
    end_plan(plan);
}

static float element(uint32_t rank, uint32_t i)
{
    return (float)((rank + 1) * (i % 101) + i % 7);
}

static float *bucket_of(const struct plan *plan, const struct ring_member *m)
{
    for (uint32_t i = 0; i < plan->n_values; i++)
        if (plan->values[i].root == i && plan->values[i].rank == m->rank)
            return (float *)(m->arena + plan->place[i]);
    g_assert_not_reached();
}

/* Every rank a thread; `check` looks at what they did. */
static void run_ring(uint32_t ranks, uint32_t elems, double gbps, double us,
                     void (*check)(const struct ring_member *, uint32_t ranks, uint32_t elems))
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    struct ring_member members[4];
    pthread_t threads[4];
    atomic_int stop = 0;
    ring_plan(&plan, model, ranks, elems);
    struct comm *comm = comm_open(&plan, &k_ref_f32, gbps, us, &stop, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < ranks; i++) {
        members[i] = (struct ring_member){.plan = &plan, .comm = comm, .rank = i};
        members[i].arena = g_malloc0(plan.arena_bytes[i]);
        members[i].start_ns = g_new0(int64_t, plan.n_ops);
        members[i].end_ns = g_new0(int64_t, plan.n_ops);
        for (uint32_t j = 0; j < elems; j++)
            bucket_of(&plan, &members[i])[j] = element(i, j);
    }
    for (uint32_t i = 0; i < ranks; i++)
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    for (uint32_t i = 0; i < ranks; i++)
        pthread_join(threads[i], NULL);
    check(members, ranks, elems);
    for (uint32_t i = 0; i < ranks; i++) {
        g_free(members[i].arena);
        g_free(members[i].start_ns);
        g_free(members[i].end_ns);
    }
    comm_close(comm);
    plan_release(&plan);
    model_free(model);
}

static void check_sums(const struct ring_member *members, uint32_t ranks, uint32_t elems)
{
    const struct plan *plan = members->plan;
    const float *first = bucket_of(plan, &members[0]);
    for (uint32_t j = 0; j < elems; j++) {
        float sum = 0;
        for (uint32_t i = 0; i < ranks; i++)
            sum += element(i, j);
        g_assert_cmpfloat(first[j], ==, sum);
    }
    for (uint32_t i = 1; i < ranks; i++)
        g_assert_cmpmem(bucket_of(plan, &members[i]), elems * sizeof(float), first, elems * sizeof(float));
}

static void test_ring_sums(void)
{
    static const uint32_t elems[] = {1, 2, 3, 4, 5, 7, 64, 1000, 1003};
    for (uint32_t ranks = 2; ranks <= 4; ranks++)
        for (unsigned i = 0; i < G_N_ELEMENTS(elems); i++)
            run_ring(ranks, elems[i], 0, 0, check_sums);
}

enum { PACED_GBPS = 1, PACED_US = 50 };

static void check_pace(const struct ring_member *members, uint32_t ranks, uint32_t elems)
{
    const struct plan *plan = members->plan;
    g_assert_cmpuint(plan->n_gangs, ==, 2 * (ranks - 1));
    for (uint32_t g = 0; g < plan->n_gangs; g++) {
        int64_t start_ns = 0, end_ns = 0;
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < plan->gangs[g].n; i++) {
            uint32_t op = plan->gang_ops[plan->gangs[g].first + i];
            start_ns = MAX(start_ns, members[i].start_ns[op]);
            end_ns = members[i].end_ns[op];
            g_assert_cmpint(end_ns, ==, members[0].end_ns[plan->gang_ops[plan->gangs[g].first]]);
            bytes = MAX(bytes, plan->values[plan->accesses[plan->ops[op].first_access].value].bytes);
        }
        g_assert_cmpint(end_ns - start_ns, >=, PACED_US * 1000 + (int64_t)bytes * 8 / PACED_GBPS);
    }
    check_sums(members, ranks, elems);
}

static void test_pace(void)
{
    run_ring(2, 5000, PACED_GBPS, PACED_US, check_pace);
    run_ring(4, 1001, PACED_GBPS, PACED_US, check_pace);
}

/* --- stopping */

/* Three ranks whose last never comes. */
static void test_abort_gang(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    atomic_int stop = 0;
    pthread_t threads[2];
    struct ring_member members[2];
    ring_plan(&plan, model, 3, 30);
    struct comm *comm = comm_open(&plan, &k_ref_f32, 0, 0, &stop, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < 2; i++) {
        members[i] = (struct ring_member){.plan = &plan, .comm = comm, .rank = i};
        members[i].arena = g_malloc0(plan.arena_bytes[i]);
        members[i].start_ns = g_new0(int64_t, plan.n_ops);
        members[i].end_ns = g_new0(int64_t, plan.n_ops);
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    }
    g_usleep(2000);
    comm_abort(comm);
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        g_assert_true(members[i].stopped);
        g_free(members[i].arena);
        g_free(members[i].start_ns);
        g_free(members[i].end_ns);
    }
    comm_close(comm);
    plan_release(&plan);
    model_free(model);
}

struct canceller {
    volatile int cancel;
    atomic_uint done;
    uint32_t at;
};

static void count_steps(void *user, uint32_t done, uint32_t of)
{
    struct canceller *c = user;
    g_assert_cmpuint(done, <=, of);
    atomic_store(&c->done, done);
}

static void *cancel_later(void *arg)
{
    struct canceller *c = arg;
    while (atomic_load(&c->done) < c->at)
        g_usleep(200);
    __atomic_store_n(&c->cancel, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void run_cancelled(uint32_t at, uint32_t warmup)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    struct canceller c = {.at = at};
    pthread_t thread;
    ring_plan(&plan, model, 3, 3000);
    struct run run = {.plan = &plan,
                      .model = model,
                      .warmup = warmup,
                      .steps = 10000,
                      .link_gbps = 1,
                      .link_us = 10,
                      .cancel = &c.cancel,
                      .progress = count_steps,
                      .user = &c};
    struct trace trace;
    trace_init(&trace);
    pthread_create(&thread, NULL, cancel_later, &c);
    g_assert_true(cpu_engine.run(&run, &trace, &error));
    g_assert_no_error(error);
    pthread_join(thread, NULL);
    g_assert_true(trace.cancelled);
    g_assert_cmpuint(trace.n_steps, <, run.steps);
    g_assert_cmpuint(trace.n_steps + warmup, >=, MIN(at, warmup));
    check_trace(&plan, &trace, trace.n_steps);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void test_cancel(void)
{
    run_cancelled(5, 2);
    run_cancelled(1, 9000); /* while warming up: no step at all */
    run_cancelled(0, 2);    /* at once */
}

static void test_too_big(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    for (uint32_t i = 0; i < 2; i++)
        plan_add_value(&plan, &(struct value){.bytes = UINT64_C(1) << 62, .rank = i, .cls = VALUE_ACT});
    end_plan(&plan);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    struct trace trace;
    trace_init(&trace);
    g_assert_false(cpu_engine.run(&run, &trace, &error));
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_TOO_BIG);
    g_assert_nonnull(strstr(error->message, "GiB"));
    g_assert_cmpuint(trace.n_ops, ==, 0);
    g_clear_error(&error);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

static void test_bad_jitter(void)
{
    static const char *const bad[] = {"", "x", "-1", "1.5", "99999999999999999999"};
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    ring_plan(&plan, model, 2, 3);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        GError *error = NULL;
        struct trace trace;
        trace_init(&trace);
        g_setenv("PARPROF_JITTER", bad[i], TRUE);
        g_assert_false(cpu_engine.run(&run, &trace, &error));
        g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INPUT);
        g_clear_error(&error);
        trace_release(&trace);
    }
    g_unsetenv("PARPROF_JITTER");
    plan_release(&plan);
    model_free(model);
}

/* A gang that nobody lowered is refused, not run. */
static void test_whole_allreduce(void)
{
    GError *error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    uint32_t gang = plan_add_gang(&plan, 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct value v = {.bytes = 8, .rank = i, .cls = VALUE_BUCKET, .flags = VALUE_LIVE_IN};
        uint32_t bucket = plan_add_value(&plan, &v);
        add_op(&plan, i * LANES + COMM_LANE, OP_ALLREDUCE, gang, v.bytes);
        plan_access(&plan, bucket, ACCESS_UPDATE);
    }
    end_plan(&plan);
    struct run run = {.plan = &plan, .model = model, .steps = 1};
    struct trace trace;
    trace_init(&trace);
    g_assert_false(cpu_engine.run(&run, &trace, &error));
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED);
    g_clear_error(&error);
    trace_release(&trace);
    plan_release(&plan);
    model_free(model);
}

/* --- lanes alone */

static bool fail_at_three(void *user, uint32_t lane, const struct job *job, int64_t ready_ns, int64_t *end_ns,
                          GError **error)
{
    uint32_t *ran = user;
    (void)ready_ns;
    *end_ns = clock_ns();
    ran[lane]++;
    if (lane != 0 || job->id != 3)
        return true;
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED, "three");
    return false;
}

static struct workers *open_workers(atomic_int *stop, uint32_t *ran, int cpu, GError **error)
{
    static const uint32_t event_lane[] = {0, 1};
    struct worker_spec lanes[2] = {{0, -1, 16}, {0, cpu, 16}};
    struct workers_spec spec = {2, 1, 2, lanes, event_lane, stop, fail_at_three, ran};
    return workers_open(&spec, error);
}

/* The failing lane's own later jobs and a lane that waits for it are dropped; the first error is told. */
static void test_failing_job(void)
{
    GError *error = NULL;
    atomic_int stop = 0;
    uint32_t ran[2] = {0};
    struct workers *all = open_workers(&stop, ran, -1, &error);
    g_assert_no_error(error);
    for (uint32_t i = 0; i < 6; i++)
        workers_give(all, 0, &(struct job){.id = i});
    workers_record(all, 0, 0, 0);
    workers_wait(all, 1, 0, 0);
    workers_give(all, 1, &(struct job){.id = 0});
    workers_record(all, 1, 1, 0);
    g_assert_cmpint(workers_reach(all, 1, 0, NULL, &error), ==, WORKERS_FAILED);
    g_assert_cmpstr(error->message, ==, "three");
    g_clear_error(&error);
    workers_close(all);
    g_assert_cmpuint(ran[0], ==, 4);
    g_assert_cmpuint(ran[1], ==, 0);
}

static void test_thread_refused(void)
{
    GError *error = NULL;
    atomic_int stop = 0;
    uint32_t ran[2] = {0};
    g_assert_null(open_workers(&stop, ran, 8000, &error)); /* no such CPU */
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED);
    g_clear_error(&error);
}

static void test_placing(void)
{
    static const int cpus[] = {4, 6, 5, 7, 9};
    static const struct {
        uint32_t n_cpus;
        int of_lane[2 * LANES];
    } cases[] = {
        {3, {-1, -1, -1, -1, -1, -1, -1, -1}}, /* fewer than compute lanes: nothing */
        {4, {4, 6, 4, 4, 5, 7, 5, 5}},
        {5, {4, 6, 4, 4, 5, 7, 5, 5}}, /* not enough for both comm lanes */
    };
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, 2);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        int of_lane[2 * LANES];
        host_place(&plan, cpus, cases[i].n_cpus, of_lane);
        g_assert_cmpmem(of_lane, sizeof of_lane, cases[i].of_lane, sizeof cases[i].of_lane);
    }
    static const int six[] = {0, 1, 2, 3, 4, 5};
    static const int own[2 * LANES] = {0, 1, 0, 4, 2, 3, 2, 5};
    int of_lane[2 * LANES];
    host_place(&plan, six, 6, of_lane);
    g_assert_cmpmem(of_lane, sizeof of_lane, own, sizeof own);
    plan_release(&plan);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/exec/random-plans", test_random_plans);
    g_test_add_func("/exec/ring/sums", test_ring_sums);
    g_test_add_func("/exec/ring/pace", test_pace);
    g_test_add_func("/exec/ring/abort", test_abort_gang);
    g_test_add_func("/exec/cancel", test_cancel);
    g_test_add_func("/exec/too-big", test_too_big);
    g_test_add_func("/exec/bad-jitter", test_bad_jitter);
    g_test_add_func("/exec/whole-allreduce", test_whole_allreduce);
    g_test_add_func("/exec/workers/failing-job", test_failing_job);
    g_test_add_func("/exec/workers/thread-refused", test_thread_refused);
    g_test_add_func("/exec/placing", test_placing);
    return g_test_run();
}
