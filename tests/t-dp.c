/* DataParallel's plan: what travels together, who takes part, in which order, what each collective and launch
 * costs, and that a plan that was written is the plan.  That it trains as one rank does is t-train-modes.c's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "plan/mode.h"
#include "profile/trace.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/plans.h"
#include "tests/tap.h"

enum { MS = 1000000 };

static struct model *load(const char *name, const struct model_override *over)
{
    GError *error = NULL;
    struct model *model = model_load(name, over, &error);
    g_assert_no_error(error);
    return model;
}

static struct model *tiny(uint8_t dtype)
{
    const struct model_override over = {
        .layers = 1, .d = 8, .heads = 2, .ff = 8, .vocab = 11, .seq = 4, .dtype = dtype};
    return load("mini", &over);
}

static void make(const struct shape *shape, struct plan *plan)
{
    GError *error = NULL;
    plan_make(&mode_dp, shape, plan, &error);
    g_assert_no_error(error);
}

static uint32_t rank_of(const struct plan *plan, uint32_t op)
{
    return plan->t.lanes[plan->ops[op].lane].rank;
}

static uint32_t count(const struct plan *plan, unsigned kind, uint32_t rank)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        n += plan->ops[i].tag.kind == kind && rank_of(plan, i) == rank;
    return n;
}

/* --- chunks of 10 MiB: counted with PyTorch's own functions on the models' parameters (facts of PyTorch 2.7)
 */

static uint64_t bytes_of(const struct plan *plan, unsigned kind, uint32_t rank, uint64_t *first)
{
    uint64_t bytes = 0;
    *first = 0;
    for (uint32_t i = 0; i < plan->n_ops; i++)
        if (plan->ops[i].tag.kind == kind && rank_of(plan, i) == rank) {
            *first = *first ? *first : plan->ops[i].tag.bytes;
            bytes += plan->ops[i].tag.bytes;
        }
    return bytes;
}

static void test_chunks(void)
{
    static const struct {
        const char *model;
        uint32_t broadcasts, reductions;
        double first_mib; /* 0: not known */
    } golden[] = {{"bert-base", 26, 39, 84.95}, {"resnet50", 9, 13, 0}, {"resnet18", 4, 6, 0}};
    for (unsigned i = 0; i < G_N_ELEMENTS(golden); i++) {
        struct plan plan;
        uint64_t first, last;
        struct model *model = load(golden[i].model, NULL);
        const struct shape shape = {.model = model, .ranks = 2, .batch = 4};
        make(&shape, &plan);
        for (uint32_t rank = 0; rank < 2; rank++) {
            g_assert_cmpuint(count(&plan, OP_BROADCAST, rank), ==, golden[i].broadcasts);
            g_assert_cmpuint(count(&plan, OP_REDUCE, rank), ==, golden[i].reductions);
            g_assert_cmpuint(bytes_of(&plan, OP_BROADCAST, rank, &first), ==, model->numel * 4);
            g_assert_cmpuint(bytes_of(&plan, OP_REDUCE, rank, &last), ==, model->numel * 4);
        }
        if (golden[i].first_mib > 0)
            g_assert_cmpfloat(fabs((double)first / 1048576 - golden[i].first_mib), <, 0.005);
        plan_release(&plan);
        model_free(model);
    }
}

/* --- every size */

struct sizes {
    uint32_t ranks, batch, n;
    uint8_t gather, algo;
    bool gil;
};

static void check_sizes(const struct model *model, const struct sizes *s)
{
    struct plan plan;
    const struct shape shape = {.model = model,
                                .ranks = s->ranks,
                                .batch = s->batch,
                                .gather = s->gather,
                                .algo = s->algo,
                                .clip = s->batch % 2,
                                .gil = s->gil};
    make(&shape, &plan);
    uint32_t computing = 0, launches = 0;
    for (uint32_t i = 0; i < plan.n_ops; i++) {
        const bool computes = op_lane_class(plan.ops[i].tag.kind) == LANE_COMPUTE;
        g_assert_cmpuint(rank_of(&plan, i), <, s->n);
        computing += computes;
        launches += plan.ops[i].tag.kind == OP_LAUNCH;
        if (computes && s->gil) /* its launch is the first thing it waits for */
            g_assert_cmpuint(plan.ops[plan.deps[plan.ops[i].first_dep]].tag.kind, ==, OP_LAUNCH);
    }
    g_assert_cmpuint(launches, ==, s->gil ? computing : 0);
    for (uint32_t rank = 0; rank < s->n; rank++) {
        const bool first = rank == 0, own_loss = s->gather == GATHER_LOSS;
        g_assert_cmpuint(count(&plan, OP_FWD, rank), ==, model->n_layers);
        g_assert_cmpuint(count(&plan, OP_BWD, rank), ==, model->n_layers);
        g_assert_cmpuint(count(&plan, OP_INPUT, rank), ==, first);
        g_assert_cmpuint(count(&plan, OP_OPTIM, rank), ==, first);
        g_assert_cmpuint(count(&plan, OP_NORM, rank), ==, first && shape.clip);
        g_assert_cmpuint(count(&plan, OP_LOSS, rank), ==, own_loss || first);
        g_assert_cmpuint(count(&plan, OP_TOTAL, rank), ==, own_loss && first);
    }
    if (plan.n_ops <= 200)
        g_assert_true(plans_ordered(&plan));
    plan_release(&plan);
}

static void test_sizes(void)
{
    static const uint8_t algos[] = {ALLREDUCE_WHOLE, ALLREDUCE_RING, ALLREDUCE_REDUCE_BROADCAST};
    struct model *model = tiny(DTYPE_F32);
    for (uint32_t id = 0; id < 8 * 17 * GATHERS * 3 * 2; id++) {
        struct sizes s = {.ranks = id % 8 + 1,
                          .batch = id / 8 % 17 + 1,
                          .gather = (uint8_t)(id / 136 % GATHERS),
                          .algo = algos[id / 272 % 3],
                          .gil = id / 816};
        while (s.n < s.ranks && chunk_size(s.batch, s.ranks, s.n))
            s.n++;
        check_sizes(model, &s);
    }
    model_free(model);
}

static void test_refused(void)
{
    struct model *model = tiny(DTYPE_F32);
    struct plan plan;
    GError *error = NULL;
    const struct shape shape = {.model = model, .ranks = 2, .batch = 8, .accumulate = 2};
    g_assert_false(plan_make(&mode_dp, &shape, &plan, &error));
    g_assert_nonnull(strstr(error->message, "--accumulate 2"));
    g_error_free(error);
    model_free(model);
}

/* --- the timeline */

static void simulate(const struct shape *shape, const struct cost_model *costs, struct trace *trace)
{
    GError *error = NULL;
    struct plan plan;
    const struct sharing sharing = {0};
    make(shape, &plan);
    struct run run = {.plan = &plan, .model = shape->model, .costs = costs, .sharing = &sharing};
    trace_init(trace);
    sim_engine.run(&run, trace, &error);
    g_assert_no_error(error);
    plan_release(&plan);
}

static int64_t end_of(const struct trace *trace)
{
    int64_t end_ns = 0;
    for (size_t i = 0; i < trace->n_ops; i++)
        end_ns = MAX(end_ns, trace->ops[i].end_ns);
    return end_ns;
}

/* When all members of its gang are there. */
static int64_t moves_ns(const struct trace *trace, const struct trace_op *op)
{
    int64_t start_ns = op->start_ns;
    for (size_t i = 0; i < trace->n_ops; i++)
        if (trace->ops[i].tag.gang == op->tag.gang)
            start_ns = MAX(start_ns, trace->ops[i].start_ns);
    return start_ns;
}

/* Nothing computes while anything is communicated: anywhere, or, of hops, which other ranks need not wait
 * for, on the rank. */
static void check_apart(const struct trace *trace, bool anywhere)
{
    for (size_t i = 0; i < trace->n_ops; i++) {
        const struct trace_op *comm = &trace->ops[i];
        if (op_lane_class(comm->tag.kind) != LANE_COMM)
            continue;
        const int64_t start_ns = moves_ns(trace, comm);
        for (size_t k = 0; k < trace->n_ops; k++) {
            const struct trace_op *op = &trace->ops[k];
            if (op_lane_class(op->tag.kind) == LANE_COMPUTE && op->start_ns < op->end_ns &&
                (anywhere || trace->t.lanes[op->lane].rank == trace->t.lanes[comm->lane].rank))
                g_assert_true(op->end_ns <= start_ns || op->start_ns >= comm->end_ns);
        }
    }
}

/* F = B = W = 1, C a hop: scatter, a broadcast, 1, gather, scatter, 2, a reduction; n - 1 hops where a piece
 * follows another, as many as a tree has rounds elsewhere. */
static void test_no_overlap(void)
{
    GError *error = NULL;
    struct cost_model *costs = cost_unit_new("C=1", &error);
    g_assert_no_error(error);
    struct model *model = tiny(DTYPE_F32);
    for (uint32_t id = 0; id < 7 * GATHERS * 2; id++) {
        struct trace trace;
        const struct shape shape = {.model = model,
                                    .ranks = id % 7 + 2,
                                    .batch = 8 * (id % 7 + 2),
                                    .gather = (uint8_t)(id / 7 % GATHERS),
                                    .algo = id / 14 ? ALLREDUCE_RING : ALLREDUCE_WHOLE};
        simulate(&shape, costs, &trace);
        const int64_t want_ns = MS * (3 + 3 * (shape.ranks - 1) + 2 * cost_rounds(shape.ranks));
        const bool whole = shape.algo == ALLREDUCE_WHOLE;
        check_apart(&trace, whole);
        if (whole)
            g_assert_cmpint(end_of(&trace), ==, want_ns);
        else
            g_assert_cmpint(end_of(&trace), <=, want_ns);
        trace_release(&trace);
    }
    model_free(model);
    cost_model_free(costs);
}

/* --- one thread launches */

static const struct cluster cluster = {.name = (char *)"test",
                                       .nodes = 2,
                                       .devices = 4,
                                       .f32_tflops = 1e6,
                                       .f64_tflops = 1e6,
                                       .memory_gbs = 1e9,
                                       .launch_us = 100,
                                       .efficiency = 1,
                                       .link_gbps = 1e9,
                                       .link_us = 0,
                                       .net_gbps = 8,
                                       .net_us = 7,
                                       .net_cards = 1};

/* Where computing and links take nothing, a step is its launches: of one rank's without the lock, of all
 * ranks' with it. */
static void test_gil(void)
{
    GError *error = NULL;
    struct cost_model *costs = cost_analytic_new(&cluster, &error);
    g_assert_no_error(error);
    struct model *model = tiny(DTYPE_F32);
    for (uint32_t ranks = 1; ranks <= 4; ranks++) {
        struct trace free_ranks, locked;
        struct shape shape = {.model = model, .ranks = ranks, .batch = ranks, .gather = GATHER_LOSS};
        int64_t all_ns = 0, launches = 0;
        simulate(&shape, costs, &free_ranks);
        shape.gil = true;
        simulate(&shape, costs, &locked);
        for (size_t i = 0; i < locked.n_ops; i++)
            if (locked.ops[i].tag.kind == OP_LAUNCH) {
                all_ns += locked.ops[i].work_ns;
                launches++;
            }
        const struct trace_op *last = NULL;
        for (size_t i = 0; i < locked.n_ops; i++)
            if (locked.ops[i].tag.kind == OP_LAUNCH && (!last || locked.ops[i].end_ns > last->end_ns))
                last = &locked.ops[i];
        g_assert_cmpint(launches, >, 0);
        g_assert_cmpint(llabs(last->end_ns - all_ns), <=, launches); /* each rounds up */
        if (ranks == 1)
            g_assert_cmpint(llabs(end_of(&locked) - end_of(&free_ranks)), <, end_of(&free_ranks) / 10);
        else
            g_assert_cmpint(end_of(&locked), >, end_of(&free_ranks) * 3 / 2);
        trace_release(&free_ranks);
        trace_release(&locked);
    }
    model_free(model);
    cost_model_free(costs);
}

/* --- prices of whole collectives */

static struct cost priced(const struct cost_model *model, unsigned kind, uint16_t members, uint16_t nodes,
                          uint64_t bytes)
{
    GError *error = NULL;
    struct cost cost = {-1, -1};
    const struct cost_key key = {
        .kind = (uint8_t)kind, .members = members, .nodes = nodes, .bytes = bytes, .kernels = 1};
    model->price(model, &key, &cost, &error);
    g_assert_no_error(error);
    return cost;
}

/* 8 Gb/s are a byte a ns, in nodes too here; 5 and 7 us a hop. */
static void test_prices(void)
{
    GError *error = NULL;
    struct cluster slow = cluster;
    slow.link_gbps = 8;
    slow.link_us = 5;
    struct cost_model *m = cost_analytic_new(&slow, &error);
    g_assert_no_error(error);
    g_assert_cmpint(priced(m, OP_REDUCE, 4, 1, 1000).alone_ns, ==, 2 * (5000 + 1000));
    g_assert_cmpint(priced(m, OP_REDUCE, 5, 1, 1000).alone_ns, ==, 3 * (5000 + 1000));
    g_assert_cmpint(priced(m, OP_REDUCE, 4, 1, 1000).alone_ns, ==,
                    priced(m, OP_BROADCAST, 4, 1, 1000).alone_ns);
    g_assert_cmpint(priced(m, OP_SCATTER, 4, 1, 3000).alone_ns, ==, 3 * (5000 + 1000));
    g_assert_cmpint(priced(m, OP_GATHER, 4, 1, 3000).work_ns, ==, 3000);
    g_assert_cmpint(priced(m, OP_SCATTER, 8, 2, 7000).alone_ns, ==, 3 * 5000 + 4 * 7000 + 7000);
    g_assert_cmpint(priced(m, OP_SCATTER, 1, 1, 0).alone_ns, ==, 0);
    g_assert_cmpint(priced(m, OP_ALLGATHER, 4, 1, 8).alone_ns, ==, 3 * (5000 + 8));
    g_assert_cmpint(priced(m, OP_LAUNCH, 1, 1, 0).work_ns, ==, 100000);
    cost_model_free(m);
}

/* NCCL's rule for what it has, alpha and beta for pieces. */
static void test_nccl_prices(void)
{
    GError *error = NULL;
    struct cluster *c = cluster_load("a100x4", &error);
    g_assert_no_error(error);
    struct cost_model *nccl = cost_nccl_new(c, &error), *links = cost_analytic_new(c, &error);
    g_assert_no_error(error);
    struct nccl_topo topo = c->nccl;
    topo.ranks = 4;
    topo.nodes = 1;
    const uint64_t bytes = 10 << 20;
    g_assert_cmpint(priced(nccl, OP_REDUCE, 4, 1, bytes).alone_ns, ==,
                    (int64_t)round(nccl_choose(&topo, NCCL_REDUCE, bytes).us * 1e3));
    g_assert_cmpint(priced(nccl, OP_ALLGATHER, 4, 1, bytes).alone_ns, ==,
                    (int64_t)round(nccl_choose(&topo, NCCL_ALLGATHER, 4 * bytes).us * 1e3));
    g_assert_cmpint(priced(nccl, OP_SCATTER, 4, 1, bytes).alone_ns, ==,
                    priced(links, OP_SCATTER, 4, 1, bytes).alone_ns);
    cost_model_free(nccl);
    cost_model_free(links);
    cluster_free(c);
}

/* --- memory: of bert-base with Adam, rank 0 alone has the moments, 413 MiB each */

static void test_memory(void)
{
    struct model *model = load("bert-base", NULL);
    struct plan plan;
    const struct shape shape = {.model = model, .ranks = 4, .batch = 128, .optimizer = OPTIMIZER_ADAM};
    make(&shape, &plan);
    g_autofree uint64_t *bytes = g_new(uint64_t, 4 * VALUE_CLASSES);
    plan_memory(&plan, bytes, NULL);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const uint64_t *of = bytes + (gsize)rank * VALUE_CLASSES,
                       want = rank ? 0 : 2 * model->numel * sizeof(float);
        g_assert_cmpuint(of[VALUE_MOMENT] + of[VALUE_VARIANCE], ==, want);
    }
    g_assert_cmpuint((bytes[VALUE_MOMENT] + bytes[VALUE_VARIANCE] + (1 << 19)) >> 20, ==, 826);
    plan_release(&plan);
    model_free(model);
}

/* --- written and read */

static void run_both(const struct plan *plan, const struct model *model, double *loss, GError **error)
{
    struct trace trace;
    struct run run = {.plan = plan, .model = model, .steps = 2, .seed = 5, .lr = 0.1, .momentum = 0.9};
    trace_init(&trace);
    if (plan_check_run(plan, model, error) && cpu_engine.run(&run, &trace, error))
        memcpy(loss, trace.loss, 2 * sizeof *loss);
    trace_release(&trace);
}

static void test_written(void)
{
    struct model *model = tiny(DTYPE_F64);
    for (uint32_t id = 0; id < 3 * GATHERS * 2 * 2; id++) {
        GError *error = NULL;
        struct plan plan, read;
        struct model *again;
        double loss[2], same[2];
        const struct shape shape = {.model = model,
                                    .ranks = id % 3 + 2,
                                    .batch = 7 - id % 2,
                                    .algo = ALLREDUCE_RING,
                                    .optimizer = (uint8_t)(id % OPTIMIZERS),
                                    .gather = (uint8_t)(id / 3 % GATHERS),
                                    .loss_sum = id / 6 % 2,
                                    .gil = id / 12};
        make(&shape, &plan);
        g_autoptr(GString) text = g_string_new(NULL), second = g_string_new(NULL);
        plan_write_json(&plan, text);
        plan_read_json(text->str, text->len, "plan.json", &read, &again, &error);
        g_assert_no_error(error);
        plan_seal(&read, &error);
        g_assert_no_error(error);
        plan_write_json(&read, second);
        g_assert_cmpstr(text->str, ==, second->str);
        plan_place(&plan);
        plan_place(&read);
        run_both(&plan, model, loss, shape.gil ? NULL : &error);
        g_assert_no_error(error);
        run_both(&read, again, same, &error);
        if (shape.gil) {
            g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
            g_assert_nonnull(strstr(error->message, "only simulated"));
            g_clear_error(&error);
        } else {
            g_assert_no_error(error);
            g_assert_cmpmem(loss, sizeof loss, same, sizeof same);
        }
        plan_release(&plan);
        plan_release(&read);
        model_free(again);
    }
    model_free(model);
}

/* A rank's tokens are tokens that rank 0 was given, its targets are targets. */
static void break_pieces(uint8_t algo)
{
    struct model *model = tiny(DTYPE_F64);
    struct plan plan;
    GError *error = NULL;
    const struct shape shape = {.model = model, .ranks = 2, .batch = 4, .algo = algo, .gather = GATHER_LOSS};
    make(&shape, &plan);
    g_assert_true(plan_check_run(&plan, model, &error));
    g_assert_no_error(error);
    uint32_t sender = 0; /* of the tokens and targets: the first to scatter anything */
    while (plan.ops[sender].tag.kind != OP_SCATTER &&
           (plan.ops[sender].tag.kind != OP_SEND || plan.ops[sender].tag.collective != COLLECTIVE_SCATTER))
        sender++;
    struct access *pieces = &plan.accesses[plan.ops[sender].first_access];
    const struct access tokens = pieces[0];
    pieces[0] = pieces[1];
    pieces[1] = tokens;
    g_assert_false(plan_check_run(&plan, model, &error));
    g_assert_error(error, PLAN_ERROR, PLAN_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "an input, what is no piece of another"));
    g_clear_error(&error);
    plan_release(&plan);
    model_free(model);
}

static void test_broken_pieces(void)
{
    break_pieces(ALLREDUCE_RING);
    break_pieces(ALLREDUCE_WHOLE);
}

/* What only NCCL runs whole. */
static void test_whole_on_cores(void)
{
    struct model *model = tiny(DTYPE_F64);
    struct plan plan;
    GError *error = NULL;
    double loss[2];
    const struct shape shape = {.model = model, .ranks = 2, .batch = 4, .algo = ALLREDUCE_WHOLE};
    make(&shape, &plan);
    plan_place(&plan);
    run_both(&plan, model, loss, &error);
    g_assert_error(error, ENGINE_ERROR, ENGINE_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "lower it to hops"));
    g_clear_error(&error);
    plan_release(&plan);
    model_free(model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dp/chunks", test_chunks);
    g_test_add_func("/dp/sizes", test_sizes);
    g_test_add_func("/dp/refused", test_refused);
    g_test_add_func("/dp/no-overlap", test_no_overlap);
    g_test_add_func("/dp/gil", test_gil);
    g_test_add_func("/dp/prices", test_prices);
    g_test_add_func("/dp/nccl-prices", test_nccl_prices);
    g_test_add_func("/dp/memory", test_memory);
    g_test_add_func("/dp/written", test_written);
    g_test_add_func("/dp/broken-pieces", test_broken_pieces);
    g_test_add_func("/dp/whole-on-cores", test_whole_on_cores);
    return g_test_run();
}
