/* NCCL's rule against values computed from its source, and what any estimate must hold. */
#include "sim/nccl.h"
#include "tests/tap.h"

static const struct nccl_topo node = {.arch = NCCL_HOPPER,
                                      .nodes = 1,
                                      .ranks = 8,
                                      .channels = 12,
                                      .intra_gbs = 30,
                                      .inter_gbs = 30,
                                      .nvlink = true};
static const struct nccl_topo pair = {.arch = NCCL_HOPPER,
                                      .nodes = 2,
                                      .ranks = 16,
                                      .channels = 16,
                                      .intra_gbs = 24,
                                      .inter_gbs = 24,
                                      .nvlink = true};

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

static void test_choices(void)
{
    static const struct {
        const struct nccl_topo *topo;
        enum nccl_coll coll;
        uint64_t bytes;
        const char *algo, *proto;
        double us;
    } golden[] = {
        {&node, NCCL_ALLREDUCE, KIB, "Ring", "LL", 15.0},
        {&node, NCCL_ALLREDUCE, MIB, "Ring", "LL", 28.0},
        {&node, NCCL_ALLREDUCE, 16 * MIB, "Ring", "LL128", 129.2},
        {&node, NCCL_ALLREDUCE, 64 * MIB, "Ring", "Simple", 382.2},
        {&node, NCCL_ALLREDUCE, GIB, "Ring", "Simple", 5275.6},
        {&pair, NCCL_ALLREDUCE, MIB, "Tree", "LL128", 59.1},
        {&pair, NCCL_ALLREDUCE, GIB, "Ring", "Simple", 5427.1},
        {&node, NCCL_REDUCE_SCATTER, MIB, "Ring", "LL", 17.3},
        {&node, NCCL_ALLGATHER, MIB, "Ring", "LL", 17.3},
        {&node, NCCL_REDUCE_SCATTER, 256 * MIB, "Ring", "Simple", 684.6},
        {&node, NCCL_ALLGATHER, 256 * MIB, "Ring", "Simple", 684.6},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(golden); i++) {
        struct nccl_choice choice = nccl_choose(golden[i].topo, golden[i].coll, golden[i].bytes);
        g_assert_cmpfloat_with_epsilon(choice.us, golden[i].us, 0.0501);
        g_assert_cmpstr(nccl_algo_name(choice.algo), ==, golden[i].algo);
        g_assert_cmpstr(nccl_proto_name(choice.proto), ==, golden[i].proto);
    }
}

static void test_others(void)
{
    static const struct {
        enum nccl_algo algo;
        enum nccl_proto proto;
        double us;
    } golden[] = {
        {NCCL_RING, NCCL_LL128, 46.1}, {NCCL_RING, NCCL_SIMPLE, 61.1}, {NCCL_TREE, NCCL_LL128, 45.1}};
    for (size_t i = 0; i < G_N_ELEMENTS(golden); i++)
        g_assert_cmpfloat_with_epsilon(
            nccl_time_us(&node, NCCL_ALLREDUCE, golden[i].algo, golden[i].proto, MIB), golden[i].us, 0.0501);
}

static struct nccl_topo random_topo(void)
{
    struct nccl_topo t = {.arch = (uint8_t)g_test_rand_int_range(0, NCCL_BLACKWELL + 1),
                          .nodes = (uint32_t)g_test_rand_int_range(1, 9),
                          .channels = (uint32_t)g_test_rand_int_range(1, 33),
                          .intra_gbs = g_test_rand_double_range(1, 60),
                          .nvlink = g_test_rand_bit(),
                          .nvls = g_test_rand_bit(),
                          .amd = g_test_rand_bit()};
    t.ranks = t.nodes * (uint32_t)g_test_rand_int_range(1, 17);
    t.inter_gbs = t.intra_gbs * g_test_rand_double_range(0.1, 1);
    return t;
}

/* The choice is the least of all that apply; ring and NVLS grow with the bytes, as does a choice that stays;
 * nothing is faster than its latency, and only NVLink has LL128. */
static void test_invariants(void)
{
    for (unsigned round = 0; round < 300; round++) {
        struct nccl_topo t = random_topo();
        enum nccl_coll coll = (enum nccl_coll)g_test_rand_int_range(0, NCCL_REDUCE + 1);
        struct nccl_choice last = {.us = 0};
        for (uint64_t bytes = 1; bytes <= 16 * GIB; bytes *= 2) {
            struct nccl_choice choice = nccl_choose(&t, coll, bytes);
            if (t.ranks == 1) {
                g_assert_cmpfloat(choice.us, ==, 0);
                continue;
            }
            g_assert_cmpfloat(choice.us, >, 0);
            g_assert_true(choice.proto != NCCL_LL128 || t.nvlink);
            for (unsigned a = 0; a < NCCL_ALGOS; a++)
                for (unsigned p = 0; p < NCCL_PROTOS; p++) {
                    double us = nccl_time_us(&t, coll, a, p, bytes);
                    g_assert_true(us < 0 || us >= choice.us);
                }
            if (bytes > 1 && choice.algo == last.algo && choice.proto == last.proto)
                g_assert_cmpfloat(choice.us, >=, last.us);
            last = choice;
        }
    }
}

static void test_alone(void)
{
    struct nccl_topo t = node;
    t.ranks = 1;
    for (unsigned coll = 0; coll <= NCCL_REDUCE; coll++)
        g_assert_cmpfloat(nccl_choose(&t, coll, GIB).us, ==, 0);
}

/* A switch that reduces wins for large sizes only, and never across nodes without its tree. */
static void test_nvls(void)
{
    struct nccl_topo t = node;
    t.nvls = true;
    g_assert_cmpuint(nccl_choose(&t, NCCL_ALLREDUCE, GIB).algo, ==, NCCL_NVLS);
    g_assert_cmpuint(nccl_choose(&t, NCCL_ALLREDUCE, KIB).algo, ==, NCCL_RING);
    /* 25 us + bytes / (12 channels of 30 x .85 x 11/12 x 2 GB/s, and 8 ranks in 14 steps) */
    g_assert_cmpfloat_with_epsilon(nccl_time_us(&t, NCCL_ALLREDUCE, NCCL_NVLS, NCCL_SIMPLE, GIB),
                                   25 + 1073741824.0 / (1000 * 12 * 30 * .85 * 11 / 12 * 2 * 8 / 14), 1e-6);
    g_assert_cmpfloat(nccl_time_us(&t, NCCL_ALLREDUCE, NCCL_NVLS_TREE, NCCL_SIMPLE, GIB), <, 0);
    t.nodes = 2;
    g_assert_cmpfloat(nccl_time_us(&t, NCCL_ALLREDUCE, NCCL_NVLS, NCCL_SIMPLE, GIB), <, 0);
    g_assert_cmpfloat(nccl_time_us(&t, NCCL_ALLREDUCE, NCCL_NVLS_TREE, NCCL_SIMPLE, GIB), >, 0);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/nccl/choices", test_choices);
    g_test_add_func("/nccl/others", test_others);
    g_test_add_func("/nccl/invariants", test_invariants);
    g_test_add_func("/nccl/alone", test_alone);
    g_test_add_func("/nccl/nvls", test_nvls);
    return g_test_run();
}
