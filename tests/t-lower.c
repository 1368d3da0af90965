/* Collectives taken apart: what each algorithm's plan sums, when its hops end, and which gangs sealing
 * refuses. */
#include <math.h>
#include <string.h>

#include "sim/cost-model.h"
#include "sim/sim.h"
#include "profile/trace.h"
#include "tests/hand-plan.h"
#include "tests/tap.h"

enum { RANKS_MOST = 9 };

static const uint32_t sizes[] = {1, 2, 3, 7, 64, 1001};

static unsigned rounds(uint32_t n)
{
    unsigned k = 0;
    while (1u << k < n)
        k++;
    return k;
}

/* --- run with numbers, in the sealed order */

struct memory {
    const struct plan *plan;
    double **roots; /* by value */
};

static double *cell(const struct memory *m, uint32_t op, uint32_t access, uint64_t *n)
{
    uint32_t id = m->plan->accesses[m->plan->ops[op].first_access + access].value;
    const struct value *v = &m->plan->values[id];
    *n = v->bytes / sizeof(float);
    return m->roots[v->root] + v->offset / sizeof(float);
}

/* What the member's peer sends: all is read before anything is written. */
static double *sent_to(const struct memory *m, const struct gang *gang, uint32_t member, uint64_t *n)
{
    const struct plan *plan = m->plan;
    unsigned kind = plan->ops[plan->gang_ops[gang->first + member]].tag.kind;
    if (kind == OP_SEND)
        return NULL;
    bool pair = kind == OP_RECV || kind == OP_RECV_ADD;
    uint32_t peer = pair ? 1 - member : (member + gang->n - gang->shift) % gang->n;
    const double *from = cell(m, plan->gang_ops[gang->first + peer], 0, n);
    return g_memdup2(from, *n * sizeof *from);
}

static void run_gang(const struct memory *m, const struct gang *gang)
{
    double *sent[RANKS_MOST];
    uint64_t n[RANKS_MOST], to_n;
    g_assert_cmpuint(gang->n, <=, RANKS_MOST);
    for (uint32_t i = 0; i < gang->n; i++)
        sent[i] = sent_to(m, gang, i, &n[i]);
    for (uint32_t i = 0; i < gang->n; i++) {
        uint32_t op = m->plan->gang_ops[gang->first + i];
        unsigned kind = m->plan->ops[op].tag.kind;
        if (!sent[i])
            continue;
        double *to = cell(m, op, kind == OP_RECV || kind == OP_RECV_ADD ? 0 : 1, &to_n);
        g_assert_cmpuint(to_n, ==, n[i]);
        for (uint64_t k = 0; k < to_n; k++)
            to[k] = sent[i][k] + (kind == OP_RECV_ADD || kind == OP_EXCHANGE_ADD ? to[k] : 0);
        g_free(sent[i]);
    }
}

static void run_sum(const struct memory *m, uint32_t op)
{
    uint32_t members = m->plan->ops[op + 1].first_access - m->plan->ops[op].first_access - 1;
    uint64_t n;
    double *to = cell(m, op, members, &n);
    for (uint64_t k = 0; k < n; k++) {
        double sum = 0;
        for (uint32_t i = 0; i < members; i++)
            sum += cell(m, op, i, &n)[k];
        to[k] = sum;
    }
}

/* Sevenths: not exact, so that another order of additions shows. */
static double element(uint32_t rank, uint64_t i)
{
    return (double)((rank + 1) * (i % 101 + 1)) + (double)(rank * rank) / 7;
}

static void run(const struct plan *plan, struct memory *m)
{
    *m = (struct memory){plan, g_new0(double *, plan->n_values)};
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        if (v->root != i)
            continue;
        m->roots[i] = g_new(double, v->bytes / sizeof(float) + 1);
        for (uint64_t k = 0; k < v->bytes / sizeof(float); k++)
            m->roots[i][k] = v->cls == VALUE_BUCKET ? element(v->rank, k) : NAN;
    }
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        uint32_t id = plan->order[i], gang = plan->ops[id].tag.gang;
        if (gang == OP_NONE)
            run_sum(m, id);
        else if (plan->gang_ops[plan->gangs[gang].first] == id)
            run_gang(m, &plan->gangs[gang]);
    }
}

static void check_results(const struct plan *plan, bool sums)
{
    struct memory m;
    const double *first = NULL;
    run(plan, &m);
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        uint64_t n = v->bytes / sizeof(float);
        if (v->root != i || v->cls != VALUE_BUCKET)
            continue;
        for (uint64_t k = 0; k < n && !first; k++) {
            double expected = element(0, k);
            for (uint32_t r = 1; r < plan->t.n_ranks && sums; r++)
                expected += element(r, k);
            g_assert_cmpfloat_with_epsilon(m.roots[i][k], expected, 1e-9);
        }
        if (first)
            g_assert_cmpmem(first, n * sizeof *first, m.roots[i], n * sizeof *first);
        first = m.roots[i];
    }
    for (uint32_t i = 0; i < plan->n_values; i++)
        g_free(m.roots[i]);
    g_free(m.roots);
}

static void for_plans(uint8_t kind, void (*f)(const struct plan *, uint8_t algo, uint32_t elems))
{
    struct model *model = tiny_model(DTYPE_F32);
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (uint32_t n = 1; n <= RANKS_MOST; n++)
            for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                struct plan plan;
                collective_plan(&plan, model, kind, algo, n, sizes[i]);
                f(&plan, algo, sizes[i]);
                plan_release(&plan);
            }
    model_free(model);
}

static void check_sums(const struct plan *plan, uint8_t algo, uint32_t elems)
{
    (void)algo;
    (void)elems;
    check_results(plan, true);
}

static void test_sums(void)
{
    for_plans(OP_ALLREDUCE, check_sums);
}

static void check_delivered(const struct plan *plan, uint8_t algo, uint32_t elems)
{
    uint32_t n = plan->t.n_ranks;
    (void)algo;
    (void)elems;
    check_results(plan, false);
    g_assert_cmpuint(plan->n_ops, ==, 2 * (n - 1));
    for (uint32_t i = 0; i < plan->n_ops; i++)
        g_assert_cmpuint(plan->ops[i].tag.hop, <, rounds(n));
}

static void test_broadcast(void)
{
    for_plans(OP_BROADCAST, check_delivered);
}

/* --- the hops themselves */

/* Bytes that all ranks send together: the ring's chunks once a hop, a whole buffer by pair or exchange. */
static uint64_t all_sent(uint8_t algo, uint32_t n, uint64_t bytes)
{
    return algo == ALLREDUCE_ALL_TO_ALL ? (uint64_t)n * (n - 1) * bytes : 2 * (uint64_t)(n - 1) * bytes;
}

static uint32_t most_hops(uint8_t algo, uint32_t n)
{
    return algo == ALLREDUCE_TREE ? 2 * rounds(n) : algo == ALLREDUCE_ALL_TO_ALL ? n : 2 * (n - 1);
}

static void check_hops(const struct plan *plan, uint8_t algo, uint32_t elems)
{
    uint32_t n = plan->t.n_ranks;
    uint64_t sent = 0;
    bool pairs = algo == ALLREDUCE_TREE || algo == ALLREDUCE_REDUCE_BROADCAST;
    g_assert_cmpuint(plan->n_ops, ==, n > 1 ? plan_lowered_ops(algo, n) : 0);
    g_assert_cmpuint(plan->n_gangs, ==, algo == ALLREDUCE_ALL_TO_ALL ? n - 1 : 2 * (n - 1));
    for (uint32_t g = 0; g < plan->n_gangs; g++)
        g_assert_cmpuint(plan->gangs[g].n, ==, pairs ? 2 : n);
    for (uint32_t i = 0; i < plan->n_ops; i++) {
        const struct op_tag *tag = &plan->ops[i].tag;
        g_assert_cmpuint(tag->algo, ==, algo);
        g_assert_cmpuint(tag->hop, <, most_hops(algo, n));
        g_assert_cmpuint(plan->costs[plan->ops[i].cost].algo, ==, algo);
        if (tag->kind != OP_RECV && tag->kind != OP_RECV_ADD)
            sent += tag->bytes;
    }
    g_assert_cmpuint(sent, ==, all_sent(algo, n, elems * sizeof(float)));
}

static void test_hops(void)
{
    for_plans(OP_ALLREDUCE, check_hops);
}

/* The slots of every rank hold the others' buffers, and collectives take turns in them. */
static void test_scratch(void)
{
    struct model *model = tiny_model(DTYPE_F32);
    struct plan whole, plan;
    const uint32_t n = 3, elems[] = {5, 9, 2};
    begin_plan(&whole, model, n);
    for (size_t k = 0; k < G_N_ELEMENTS(elems); k++) {
        uint32_t gang = plan_add_gang(&whole, 0);
        for (uint32_t r = 0; r < n; r++) {
            struct value v = {.bytes = elems[k] * 4, .rank = r, .cls = VALUE_BUCKET, .flags = VALUE_LIVE_IN};
            uint32_t bucket = plan_add_value(&whole, &v);
            add_op(&whole, r * LANES + COMM_LANE, OP_ALLREDUCE, gang, v.bytes);
            plan_access(&whole, bucket, ACCESS_UPDATE);
        }
    }
    g_assert_true(plan_lower_allreduce(&whole, ALLREDUCE_ALL_TO_ALL, 4, &plan, NULL));
    end_plan(&plan);
    uint32_t roots = 0;
    for (uint32_t i = 0; i < plan.n_values; i++)
        if (plan.values[i].root == i && plan.values[i].cls == VALUE_SCRATCH) {
            g_assert_cmpuint(plan.values[i].bytes, ==, 2 * 9 * 4);
            roots++;
        }
    g_assert_cmpuint(roots, ==, n);
    plan_release(&plan);
    plan_release(&whole);
    model_free(model);
}

/* --- simulated, against the formulas of alpha and beta */

/* 10 Gb/s: 0.8 ns a byte. */
static const struct cluster cluster = {.name = "test",
                                       .f32_tflops = 1,
                                       .f64_tflops = 1,
                                       .memory_gbs = 100,
                                       .efficiency = 1,
                                       .link_gbps = 10,
                                       .link_us = 20};

static int64_t simulate(const struct plan *plan)
{
    GError *error = NULL;
    struct trace trace;
    struct cost_model *costs = cost_analytic_new(&cluster, NULL);
    struct run run = {.plan = plan, .costs = costs};
    int64_t end_ns = 0;
    trace_init(&trace);
    sim_engine.run(&run, &trace, &error);
    g_assert_no_error(error);
    for (size_t i = 0; i < trace.n_ops; i++)
        end_ns = MAX(end_ns, trace.ops[i].end_ns);
    trace_release(&trace);
    cost_model_free(costs);
    return end_ns;
}

static int64_t hop_ns(uint64_t bytes)
{
    return 20000 + (int64_t)((bytes * 8 + 5) / 10);
}

/* hops, each rounded to a whole ns. */
static void check_formula(int64_t end_ns, uint32_t hops, double hop_ns)
{
    g_assert_cmpfloat(fabs((double)end_ns - hops * hop_ns), <=, hops / 2.0 + 1e-6);
}

static void check_time(const struct plan *plan, uint8_t algo, uint32_t elems)
{
    const uint32_t n = plan->t.n_ranks;
    const uint64_t bytes = elems * sizeof(float), chunk = (elems + n - 1) / n * sizeof(float);
    const double a = 20000, b_over_beta = 0.8 * (double)bytes;
    int64_t end_ns = simulate(plan);
    switch (algo) {
    case ALLREDUCE_RING:
        g_assert_cmpint(end_ns, ==, 2 * (n - 1) * hop_ns(chunk));
        if (elems % n == 0)
            check_formula(end_ns, 2 * (n - 1), a + b_over_beta / n);
        break;
    case ALLREDUCE_TREE:
        check_formula(end_ns, 2 * rounds(n), a + b_over_beta);
        break;
    case ALLREDUCE_REDUCE_BROADCAST:
        check_formula(end_ns, 2 * (n - 1), a + b_over_beta);
        break;
    default:
        check_formula(end_ns, n - 1, a + b_over_beta);
    }
    /* Nothing beats what must leave a rank, nor the rounds that it takes to hear of everybody. */
    g_assert_cmpfloat((double)end_ns + n, >=, 2.0 * (n - 1) / n * b_over_beta);
    g_assert_cmpint(end_ns, >=, (int64_t)(rounds(n) * a));
}

static void test_time(void)
{
    for_plans(OP_ALLREDUCE, check_time);
}

static void check_broadcast_time(const struct plan *plan, uint8_t algo, uint32_t elems)
{
    struct cost_key key = {
        .kind = OP_BROADCAST, .members = (uint16_t)plan->t.n_ranks, .bytes = elems * sizeof(float)};
    struct cost_model *analytic = cost_analytic_new(&cluster, NULL), *unit = cost_unit_new("C=2", NULL);
    int64_t expected_ns = rounds(plan->t.n_ranks) * hop_ns(key.bytes);
    (void)algo;
    g_assert_cmpint(simulate(plan), ==, expected_ns);
    struct cost cost = {-1, -1};
    g_assert_true(analytic->price(analytic, &key, &cost, NULL));
    g_assert_cmpint(ABS(cost.alone_ns - expected_ns), <=, rounds(key.members));
    g_assert_true(unit->price(unit, &key, &cost, NULL));
    g_assert_cmpint(cost.alone_ns, ==, rounds(key.members) * 2000000);
    cost_model_free(analytic);
    cost_model_free(unit);
}

static void test_broadcast_time(void)
{
    for_plans(OP_BROADCAST, check_broadcast_time);
}

/* --- gangs that are refused */

/* A member: its kind, bytes of its tag, then of its pieces. */
struct member {
    uint8_t kind, mode;
    uint64_t bytes, pieces[3];
};

static void check_gang(const struct member *members, uint32_t n, const char *problem)
{
    g_autoptr(GError) error = NULL;
    struct model *model = tiny_model(DTYPE_F32);
    struct plan plan;
    begin_plan(&plan, model, n);
    uint32_t gang = plan_add_gang(&plan, 0);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t values[3], pieces = 0;
        for (; pieces < 3 && members[r].pieces[pieces]; pieces++)
            values[pieces] = plan_add_value(&plan, &(struct value){.bytes = members[r].pieces[pieces],
                                                                   .rank = r,
                                                                   .cls = VALUE_BUCKET,
                                                                   .flags = VALUE_LIVE_IN});
        add_op(&plan, r * LANES + COMM_LANE, members[r].kind, gang, members[r].bytes);
        for (uint32_t i = 0; i < pieces; i++)
            plan_access(&plan, values[i], members[r].mode);
    }
    bool ok = plan_seal(&plan, &error);
    if (problem) {
        g_assert_false(ok);
        g_assert_nonnull(strstr(error->message, problem));
    } else
        g_assert_no_error(error);
    plan_release(&plan);
    model_free(model);
}

enum { R = ACCESS_READ, W = ACCESS_WRITE, U = ACCESS_UPDATE };

static void test_pairs(void)
{
    static const struct {
        struct member members[3];
        uint32_t n;
        const char *problem;
    } cases[] = {
        {{{OP_SEND, R, 8, {8}}, {OP_RECV, W, 8, {8}}}, 2, NULL},
        {{{OP_RECV_ADD, U, 8, {8}}, {OP_SEND, R, 8, {8}}}, 2, NULL},
        {{{OP_SEND, R, 12, {8, 4}}, {OP_RECV, W, 12, {8, 4}}}, 2, NULL},
        {{{OP_SEND, R, 8, {8}}, {OP_SEND, R, 8, {8}}}, 2, "its gang has no receiver"},
        {{{OP_RECV, W, 8, {8}}, {OP_RECV, W, 8, {8}}}, 2, "its gang has no sender"},
        {{{OP_RECV, W, 8, {8}}, {OP_RECV_ADD, U, 8, {8}}}, 2, "its gang has no sender"},
        {{{OP_SEND, R, 8, {8}}, {OP_EXCHANGE, W, 8, {8}}}, 2, "its gang has no receiver"},
        {{{OP_EXCHANGE, W, 8, {8}}, {OP_SEND, R, 8, {8}}}, 2, "of its gang is of another kind"},
        {{{OP_SEND, R, 8, {8}}}, 1, "its gang has 1 ops, not a sender and a receiver"},
        {{{OP_SEND, R, 8, {8}}, {OP_RECV, W, 8, {8}}, {OP_RECV, W, 8, {8}}}, 3, "its gang has 3 ops"},
        {{{OP_SEND, R, 8, {8}}, {OP_RECV, W, 12, {12}}}, 2, "piece 0 has other bytes"},
        {{{OP_SEND, R, 12, {8, 4}}, {OP_RECV, W, 12, {4, 8}}}, 2, "piece 0 has other bytes"},
        {{{OP_SEND, R, 12, {8, 4}}, {OP_RECV, W, 12, {12}}}, 2, "another number of pieces"},
        {{{OP_SEND, R, 8, {8}}, {OP_RECV, W, 9, {8}}}, 2, "9 bytes, but its pieces are 8 together"},
        {{{OP_SEND, R, 9, {8}}, {OP_RECV, W, 8, {8}}}, 2, "9 bytes, but its pieces are 8 together"},
        {{{OP_SEND, W, 8, {8}}, {OP_RECV, W, 8, {8}}}, 2, "accesses piece 0 otherwise"},
        {{{OP_SEND, R, 8, {8}}, {OP_RECV, U, 8, {8}}}, 2, "accesses piece 0 otherwise"},
        {{{OP_SEND, R, 8, {8}}, {OP_RECV_ADD, W, 8, {8}}}, 2, "accesses piece 0 otherwise"},
        {{{OP_BROADCAST, R, 8, {8}}, {OP_BROADCAST, R, 8, {8}}}, 2, "accesses piece 0 otherwise"},
        {{{OP_BROADCAST, W, 8, {8}}, {OP_BROADCAST, W, 8, {8}}}, 2, "accesses piece 0 otherwise"},
        {{{OP_BROADCAST, R, 8, {8}}, {OP_RECV, W, 8, {8}}}, 2, "of its gang is of another kind"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        check_gang(cases[i].members, cases[i].n, cases[i].problem);
}

static void test_alone(void)
{
    static const uint8_t kinds[] = {OP_SEND, OP_RECV, OP_RECV_ADD};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_autoptr(GError) error = NULL;
        struct model *model = tiny_model(DTYPE_F32);
        struct plan plan;
        begin_plan(&plan, model, 1);
        add_op(&plan, COMM_LANE, kinds[i], OP_NONE, 8);
        g_assert_false(plan_seal(&plan, &error));
        g_assert_nonnull(strstr(error->message, "is in no gang"));
        plan_release(&plan);
        model_free(model);
    }
}

/* Whatever op of a lowered plan is spoilt, sealing refuses. */
static const char *const spoils[] = {"kind", "bytes", "gang", "access"};

static bool spoil(struct plan *plan, uint32_t op, unsigned how)
{
    struct op_tag *tag = &plan->ops[op].tag;
    if (tag->gang == OP_NONE)
        return false;
    switch (how) {
    case 0:
        tag->kind = tag->kind == OP_SEND ? OP_RECV : OP_SEND;
        return true;
    case 1:
        tag->bytes += 4;
        return true;
    case 2: /* too many there, too few here; with two pairs only, they may just swap */
        tag->gang = (tag->gang + 1) % plan->n_gangs;
        return plan->n_gangs > 1;
    default:
        plan->accesses[plan->ops[op].first_access].mode ^= ACCESS_READ | ACCESS_WRITE;
        return tag->kind == OP_SEND || tag->kind == OP_RECV;
    }
}

static void test_spoilt(void)
{
    struct model *model = tiny_model(DTYPE_F32);
    for (uint8_t algo = ALLREDUCE_RING; algo < ALLREDUCES; algo++)
        for (uint32_t n = 2; n <= 5; n++)
            for (unsigned how = 0; how < G_N_ELEMENTS(spoils); how++)
                for (uint32_t op = 0;; op++) {
                    struct plan plan;
                    collective_plan(&plan, model, OP_ALLREDUCE, algo, n, 12);
                    bool more = op < plan.n_ops;
                    if (more && spoil(&plan, op, how) && plan_seal(&plan, NULL))
                        g_error("%s of op %u of %s is wrong, %u ranks, and sealed", spoils[how], op,
                                allreduce_name(algo), n);
                    plan_release(&plan);
                    if (!more)
                        break;
                }
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/lower/sums", test_sums);
    g_test_add_func("/lower/broadcast", test_broadcast);
    g_test_add_func("/lower/hops", test_hops);
    g_test_add_func("/lower/scratch", test_scratch);
    g_test_add_func("/lower/time", test_time);
    g_test_add_func("/lower/broadcast-time", test_broadcast_time);
    g_test_add_func("/lower/pairs", test_pairs);
    g_test_add_func("/lower/alone", test_alone);
    g_test_add_func("/lower/spoilt", test_spoilt);
    return g_test_run();
}
