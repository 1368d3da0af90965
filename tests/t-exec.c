/* Random plans on lanes against a sequential reading of the same plan. */
#include <string.h>

#include "exec/data.h"
#include "exec/exec.h"
#include "tests/check-trace.h"
#include "tests/hand-plan.h"
#include "tests/tap.h"

static uint32_t pick(GRand *rand, uint32_t n)
{
    return (uint32_t)g_rand_int_range(rand, 0, (int)n);
}

static void set_jitter(unsigned seed)
{
    g_autofree char *text = g_strdup_printf("%u", seed);
    g_setenv("PARPROF_JITTER", text, TRUE);
}

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

static void cancel_soon(void *user, uint32_t done, uint32_t of)
{
    g_assert_cmpuint(done, <, of);
    if (done == 2)
        __atomic_store_n((volatile int *)user, 1, __ATOMIC_SEQ_CST);
}

/* While the step after it is on the lanes: for the thread sanitizer. */
static void test_cancelled_warmup(void)
{
    struct model *model = tiny_model(DTYPE_F64);
    GRand *rand = g_rand_new_with_seed(21);
    for (unsigned i = 0; i < 10; i++) {
        GError *error = NULL;
        volatile int cancel = 0;
        struct plan plan;
        struct trace trace;
        random_plan(&plan, model, rand);
        set_jitter(i);
        struct run run = {.plan = &plan,
                          .model = model,
                          .warmup = 5,
                          .warmup_s = 1,
                          .steps = 3,
                          .cancel = &cancel,
                          .progress = cancel_soon,
                          .user = (void *)&cancel};
        trace_init(&trace);
        g_assert_true(cpu_engine.run(&run, &trace, &error));
        g_assert_no_error(error);
        g_assert_true(trace.cancelled && trace.n_steps == 0);
        trace_release(&trace);
        plan_release(&plan);
    }
    g_unsetenv("PARPROF_JITTER");
    g_rand_free(rand);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/exec/cancelled-warmup", test_cancelled_warmup);
    g_test_add_func("/exec/random-plans", test_random_plans);
    return g_test_run();
}
