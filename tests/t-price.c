/* Prices from a cluster's data: closed forms between nodes, products by waves, NCCL's rule, two models as
 * one; and on random clusters that no algorithm beats what the links allow. */
#include <math.h>
#include <string.h>

#include "plan/mode.h"
#include "sim/cost-model.h"
#include "sim/sim.h"
#include "tests/tap.h"

static const struct cluster cluster = {.name = (char *)"four",
                                       .nodes = 4,
                                       .devices = 8,
                                       .f32_tflops = 10,
                                       .f64_tflops = 2,
                                       .memory_gbs = 100,
                                       .launch_us = 3,
                                       .efficiency = 0.5,
                                       .link_gbps = 100,
                                       .link_us = 2,
                                       .net_gbps = 10,
                                       .net_us = 20,
                                       .net_cards = 4};

static struct cost price_on(const struct cluster *c, struct cost_key key)
{
    GError *error = NULL;
    struct cost cost = {-1, -1};
    struct cost_model *model = cost_analytic_new(c, &error);
    g_assert_no_error(error);
    model->price(model, &key, &cost, &error);
    g_assert_no_error(error);
    g_assert_cmpint(cost.work_ns, >=, 0);
    g_assert_cmpint(cost.work_ns, <=, cost.alone_ns);
    cost_model_free(model);
    return cost;
}

static void assert_cost(struct cost_key key, int64_t rest_ns, int64_t work_ns)
{
    struct cost cost = price_on(&cluster, key);
    g_assert_cmpint(cost.alone_ns, ==, rest_ns + work_ns);
    g_assert_cmpint(cost.work_ns, ==, work_ns);
}

static void test_hops(void)
{
    /* 1 MB at 100 Gb/s takes 80 us, at 10 Gb/s 800. */
    assert_cost((struct cost_key){.bytes = 1000000, .members = 2, .kind = OP_SEND}, 2000, 80000);
    assert_cost((struct cost_key){.bytes = 1000000, .members = 2, .nodes = 2, .kind = OP_RECV}, 20000,
                800000);
    assert_cost((struct cost_key){.bytes = 1000000, .members = 32, .nodes = 4, .kind = OP_EXCHANGE}, 20000,
                800000);
    assert_cost((struct cost_key){.kernels = 2, .bytes = 1000000, .members = 1, .kind = OP_PACK}, 6000,
                10000);
}

static void test_whole(void)
{
    /* 8 ranks of a node: 14 hops of 2 us; 14/8 of 80 us. */
    assert_cost((struct cost_key){.bytes = 1000000, .members = 8, .kind = OP_ALLREDUCE}, 28000, 140000);
    /* 32 of 4 nodes: 62 hops, 8 between nodes; four cards carry 40 Gb/s: 62/32 of 200 us. */
    assert_cost((struct cost_key){.bytes = 1000000, .members = 32, .nodes = 4, .kind = OP_ALLREDUCE},
                54 * 2000 + 8 * 20000, 387500);
    /* One rank a node: every hop is between nodes, one card. */
    assert_cost((struct cost_key){.bytes = 1000000, .members = 4, .nodes = 4, .kind = OP_ALLREDUCE},
                6 * 20000, 1200000);
    /* 5 rounds, 2 of them between nodes. */
    assert_cost((struct cost_key){.bytes = 1000000, .members = 32, .nodes = 4, .kind = OP_BROADCAST},
                2 * 20000 + 3 * 2000, 2 * 800000 + 3 * 80000);
    /* Four on one bus: each has a quarter of it. */
    struct cluster bus = cluster;
    bus.link_shared = true;
    struct cost cost =
        price_on(&bus, (struct cost_key){.bytes = 1000000, .members = 4, .kind = OP_ALLREDUCE});
    g_assert_cmpint(cost.work_ns, ==, 480000);
    struct cluster one = cluster;
    GError *error = NULL;
    one.nodes = 1;
    one.net_gbps = 0;
    struct cost_model *model = cost_analytic_new(&one, NULL);
    struct cost_key key = {.bytes = 1, .members = 2, .nodes = 2, .kind = OP_SEND};
    g_assert_false(model->price(model, &key, &cost, &error));
    g_assert_nonnull(strstr(error->message, "four is one node"));
    g_clear_error(&error);
    cost_model_free(model);
}

/* --- no algorithm beats what the links allow */

static struct cluster random_cluster(void)
{
    struct cluster c = cluster;
    c.nodes = (uint32_t)g_test_rand_int_range(1, 4);
    c.devices = (uint32_t)g_test_rand_int_range(1, 5);
    c.link_gbps = exp(g_test_rand_double_range(0, 8));
    c.link_us = g_test_rand_double_range(0, 30);
    c.net_gbps = exp(g_test_rand_double_range(0, 6));
    c.net_us = g_test_rand_double_range(0, 30);
    c.net_cards = (uint32_t)g_test_rand_int_range(1, 5);
    c.link_shared = g_test_rand_bit();
    return c;
}

/* A gradient of so many floats, all-reduced as one bucket: the makespan of the communication alone. */
static int64_t allreduce_ns(const struct cluster *c, const struct model *model, enum allreduce algo,
                            uint64_t *bytes)
{
    GError *error = NULL;
    struct plan plan;
    struct shape shape = {.model = model,
                          .ranks = c->nodes * c->devices,
                          .batch = c->nodes * c->devices,
                          .algo = (uint8_t)algo,
                          .bucket_bytes = (uint64_t)1 << 40,
                          .first_bucket_bytes = (uint64_t)1 << 40,
                          .node_devices = c->nodes > 1 ? c->devices : 0};
    plan_make(&mode_ddp, &shape, &plan, &error);
    g_assert_no_error(error);
    struct cost_model *costs = cost_analytic_new(c, NULL);
    int64_t *cost_ns = g_new0(int64_t, plan.n_costs);
    for (uint32_t i = 0; i < plan.n_costs; i++) {
        struct cost cost;
        costs->price(costs, &plan.costs[i], &cost, &error);
        g_assert_no_error(error);
        if (op_lane_class(plan.costs[i].kind) == LANE_COMM)
            cost_ns[i] = cost.alone_ns;
    }
    struct sweep *sweep = sweep_new(&plan);
    int64_t makespan_ns = sweep_time(sweep, cost_ns, NULL, NULL);
    *bytes = plan.t.buckets[0].bytes;
    sweep_free(sweep);
    g_free(cost_ns);
    cost_model_free(costs);
    plan_release(&plan);
    return makespan_ns;
}

static void test_bounds(void)
{
    static const uint8_t algos[] = {ALLREDUCE_WHOLE, ALLREDUCE_RING};
    for (unsigned round = 0; round < 60; round++) {
        struct cluster c = random_cluster();
        struct model_override over = {.d = 4u << g_test_rand_int_range(0, 6), .heads = 2};
        struct model *model = model_load("mini", &over, NULL);
        const double n = c.nodes * c.devices, nodes = c.nodes;
        /* What leaves a rank has its own link, or its part of the cards; nothing is nearer than the nearest.
         */
        const double between = c.net_gbps * MIN(c.net_cards, c.devices),
                     inside = c.devices > 1 ? c.link_gbps : between;
        const double gbps = nodes > 1 ? MIN(inside, between) : c.link_gbps;
        const double us = nodes > 1 ? (c.devices > 1 ? MIN(c.link_us, c.net_us) : c.net_us) : c.link_us;
        for (unsigned a = 0; a < G_N_ELEMENTS(algos); a++) {
            uint64_t bytes;
            int64_t ns = allreduce_ns(&c, model, algos[a], &bytes);
            const double slack = 4 * n; /* each hop is rounded to a ns; chunks to an element */
            g_assert_cmpfloat((double)ns + slack, >=, 2 * (n - 1) / n * (double)bytes * 8 / gbps);
            g_assert_cmpfloat((double)ns + slack, >=, ceil(log2(n)) * us * 1e3);
        }
        model_free(model);
    }
}

/* --- products */

static struct cost_key product(uint32_t m, uint32_t n, uint32_t k, uint32_t batch)
{
    return (struct cost_key){.shape = "x f32",
                             .flops = 2ull * m * n * k * batch,
                             .members = 1,
                             .kind = OP_FWD,
                             .gemms = {{m, n, k, batch}}};
}

static void test_waves(void)
{
    struct cluster c = cluster;
    c.sms = 100;
    c.memory_gbs = 1e9;
    /* 100 tiles of 256 x 128 are one full wave, at 5 TFLOP/s: no fraction is lost. */
    struct cost_key key = product(2560, 1280, 1000, 1);
    g_assert_cmpint(price_on(&c, key).alone_ns, ==, (int64_t)(key.flops / 5000));
    /* Whatever has one row more takes longer than in proportion. */
    struct cost_key more = product(2561, 1280, 1000, 1);
    g_assert_cmpfloat((double)price_on(&c, more).alone_ns, >, 1.02 * (double)price_on(&c, key).alone_ns);
    /* A batch is so many tiles. */
    g_assert_cmpint(price_on(&c, product(256, 128, 1000, 100)).alone_ns, ==, price_on(&c, key).alone_ns);
    /* One tile of 32 x 32 keeps one multiprocessor busy: at most a hundredth of the rate. */
    struct cost_key tile = product(32, 32, 100, 1);
    g_assert_cmpfloat((double)price_on(&c, tile).alone_ns, >=, (double)tile.flops / 50);
    /* A deep one is cut. */
    struct cost_key deep = product(128, 128, 100000, 1);
    g_assert_cmpfloat((double)price_on(&c, deep).alone_ns, <, (double)deep.flops / 50 / 8);
    /* Half the multiprocessors, twice the time of full waves. */
    g_assert_cmpfloat_with_epsilon(cost_waves_ns(&c, &key, 50), 2 * cost_waves_ns(&c, &key, 100), 1);
}

/* A product is no faster than its operations at full rate and its bytes, and with all of it known no slower
 * than all waves but one idle; without multiprocessors the whole is the roofline. */
static void test_roofline(void)
{
    for (unsigned round = 0; round < 300; round++) {
        struct cluster c = cluster;
        struct cost_key key = product(
            (uint32_t)exp(g_test_rand_double_range(0, 9)), (uint32_t)exp(g_test_rand_double_range(0, 9)),
            (uint32_t)exp(g_test_rand_double_range(0, 9)), (uint32_t)g_test_rand_int_range(1, 20));
        key.gemms[1] = key.gemms[0];
        key.flops *= 2;
        key.bytes = (uint64_t)exp(g_test_rand_double_range(0, 22));
        const double floor_ns = MAX((double)key.flops / 5000, (double)key.bytes / 100);
        g_assert_cmpint(price_on(&c, key).alone_ns, ==, (int64_t)nearbyint(floor_ns));
        c.sms = (uint32_t)g_test_rand_int_range(1, 200);
        const double ns = (double)price_on(&c, key).alone_ns;
        g_assert_cmpfloat(ns + 1, >=, floor_ns);
        key.shape = "x f64";
        g_assert_cmpfloat((double)price_on(&c, key).alone_ns + 1, >=, ns);
    }
}

/* --- NCCL's rule, and a split */

static void test_nccl(void)
{
    GError *error = NULL;
    struct cluster *c = cluster_load("dgx-h100x4", &error);
    g_assert_no_error(error);
    struct cost_model *model = cost_nccl_new(c, &error);
    g_assert_no_error(error);
    struct cost_key key = {.bytes = 1 << 20, .members = 16, .nodes = 2, .kind = OP_ALLREDUCE};
    struct cost cost;
    g_assert_true(model->price(model, &key, &cost, &error));
    struct nccl_topo topo = c->nccl;
    topo.ranks = 16;
    topo.nodes = 2;
    struct nccl_choice choice = nccl_choose(&topo, NCCL_ALLREDUCE, key.bytes);
    g_assert_cmpint(cost.alone_ns, ==, (int64_t)nearbyint(choice.us * 1e3));
    g_assert_cmpint(cost.work_ns, <, cost.alone_ns);
    g_assert_cmpint(cost.work_ns, >, 0);
    key.kind = OP_EXCHANGE;
    key.algo = ALLREDUCE_RING;
    g_assert_false(model->price(model, &key, &cost, &error));
    g_assert_nonnull(strstr(error->message, "EXCHANGE of ring"));
    g_clear_error(&error);
    key.kind = OP_ALLREDUCE;
    key.nodes = 5;
    g_assert_false(model->price(model, &key, &cost, &error));
    g_assert_nonnull(strstr(error->message, "dgx-h100x4 has 4 nodes"));
    g_clear_error(&error);
    cost_model_free(model);
    cluster_free(c);
    g_assert_null(cost_nccl_new(&cluster, &error));
    g_assert_nonnull(strstr(error->message, "four has no [nccl]"));
    g_clear_error(&error);
}

static void test_split(void)
{
    struct cost_model *rest = cost_unit_new("F=2,C=9", NULL), *comm = cost_analytic_new(&cluster, NULL);
    struct cost_model *model = cost_split_new(comm, rest);
    struct cost_key key = {.bytes = 1000000, .share = 1, .members = 2, .kind = OP_SEND};
    struct cost cost;
    g_assert_true(model->price(model, &key, &cost, NULL));
    g_assert_cmpint(cost.alone_ns, ==, 82000);
    key.kind = OP_FWD;
    g_assert_true(model->price(model, &key, &cost, NULL));
    g_assert_cmpint(cost.alone_ns, ==, 2000000);
    g_assert_nonnull(strstr(model->name, "unit:F=2"));
    g_assert_nonnull(strstr(model->name, "analytic on four"));
    cost_model_free(model);
    cost_model_free(comm);
    cost_model_free(rest);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/price/hops", test_hops);
    g_test_add_func("/price/whole", test_whole);
    g_test_add_func("/price/bounds", test_bounds);
    g_test_add_func("/price/waves", test_waves);
    g_test_add_func("/price/roofline", test_roofline);
    g_test_add_func("/price/nccl", test_nccl);
    g_test_add_func("/price/split", test_split);
    return g_test_run();
}
