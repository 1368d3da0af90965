#include "sim/nccl.h"

#include <glib.h>

enum { ARCHES = NCCL_BLACKWELL + 1, SPANS = 3 };
enum hardware { HW_NVLINK, HW_PCI, HW_NET };

/* Constants of NVIDIA/nccl, src/graph/tuning.cc of commit 5067397c2676 (2.30.7): us, and GB/s of a channel
 * or, for LL, of all.  Protocols are in the order LL, LL128, Simple; a span is one node, two, or more. */
static const double base_us[NCCL_ALGOS][NCCL_PROTOS] = {
    [NCCL_TREE] = {6.8, 14, 8.4},
    [NCCL_RING] = {6.6, 14, 8.4},
};
static const double hop_us[][NCCL_ALGOS][NCCL_PROTOS] = {
    [HW_NVLINK] = {[NCCL_TREE] = {0.6, 1.25, 4},
                   [NCCL_RING] = {0.6, 1.9, 3.4},
                   [NCCL_NVLS] = {0, 0, 25},
                   [NCCL_NVLS_TREE] = {0, 0, 25}},
    [HW_PCI] = {[NCCL_TREE] = {1, 1.9, 4}, [NCCL_RING] = {1, 2.5, 5.7}},
    [HW_NET] = {[NCCL_TREE] = {5, 8.5, 14},
                [NCCL_RING] = {2.7, 4, 14},
                [NCCL_NVLS] = {0, 0, 18},
                [NCCL_NVLS_TREE] = {0, 0, 20.9}},
};
/* Rows: one node by its GPU, several by their CPU, Intel's first. */
static const double ll_gbs[ARCHES][SPANS] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
static const double ring_ll128_gbs[ARCHES] = {20, 20, 36.7, 40};
static const double tree_ll128_gbs[ARCHES][SPANS] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static const double tree_gbs[ARCHES][SPANS] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double nvls_tree_gbs[ARCHES][SPANS] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
static const double nvls_efficiency[ARCHES] = {0, 0, 0.85, 0.74};
/* What a tree reaches of its bandwidth, by powers of two from 64 bytes. */
enum { TREE_SIZES = 23 };
static const double tree_part[NCCL_PROTOS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
};

static unsigned span(const struct nccl_topo *t)
{
    return MIN(t->nodes, SPANS) - 1;
}

static unsigned log2_floor(uint64_t x)
{
    return g_bit_storage(x) - 1;
}

static double n_steps(const struct nccl_topo *t, enum nccl_coll coll)
{
    return coll == NCCL_ALLREDUCE                                  ? 2.0 * (t->ranks - 1)
           : coll == NCCL_REDUCE_SCATTER || coll == NCCL_ALLGATHER ? t->ranks - 1.0
                                                                   : t->ranks;
}

static bool applies(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo,
                    enum nccl_proto proto)
{
    const bool scatters = coll == NCCL_REDUCE_SCATTER || coll == NCCL_ALLGATHER;
    if (proto == NCCL_LL128 && !t->nvlink)
        return false;
    switch (algo) {
    case NCCL_RING:
        return true;
    case NCCL_TREE:
        return coll == NCCL_ALLREDUCE;
    case NCCL_NVLS:
        return t->nvls && proto == NCCL_SIMPLE && t->channels >= 2 && t->nodes == 1 &&
               (scatters || coll == NCCL_ALLREDUCE);
    case NCCL_NVLS_TREE:
        return t->nvls && proto == NCCL_SIMPLE && t->channels >= 2 && t->nodes > 1 && coll == NCCL_ALLREDUCE;
    default:
        return false;
    }
}

static double nvls_channel_gbs(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo)
{
    const double channels = t->channels, local = (double)t->ranks / t->nodes;
    double intra = t->intra_gbs * nvls_efficiency[t->arch] * (channels - 1) / channels;
    intra *= coll == NCCL_ALLREDUCE ? 2 : (local - 1) / local;
    if (algo == NCCL_NVLS)
        return intra;
    return MIN(MIN(intra, t->inter_gbs * (t->nodes <= 2 ? 2 : 1)), nvls_tree_gbs[t->arch][span(t)]);
}

static double ring_bus_gbs(const struct nccl_topo *t, enum nccl_proto proto, double bus)
{
    const unsigned row = t->nodes == 1 ? t->arch : t->amd;
    switch (proto) {
    case NCCL_LL:
        return MIN(ll_gbs[row][span(t)], bus * 0.5);
    case NCCL_LL128:
        return MIN(bus * 0.92, t->channels * ring_ll128_gbs[t->arch]);
    default:
        return bus;
    }
}

static double tree_bus_gbs(const struct nccl_topo *t, enum nccl_proto proto, double bus)
{
    const unsigned row = t->nodes == 1 ? t->arch : t->amd;
    bus = MIN(bus * 0.92, t->channels * tree_gbs[t->arch][span(t)]);
    switch (proto) {
    case NCCL_LL:
        return MIN(bus / 3.8, ll_gbs[row][span(t)]);
    case NCCL_LL128:
        return MIN(bus * (t->nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                   t->channels * tree_ll128_gbs[t->arch][span(t)]);
    default:
        return bus;
    }
}

/* Bytes of the collective per time, not of the bus. */
static double algorithm_gbs(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo,
                            enum nccl_proto proto)
{
    const double bus = t->channels * (t->nodes <= 2 ? t->intra_gbs : t->inter_gbs);
    const double per_step = t->ranks / n_steps(t, coll);
    switch (algo) {
    case NCCL_RING:
        return ring_bus_gbs(t, proto, bus) * per_step;
    case NCCL_TREE:
        return tree_bus_gbs(t, proto, bus) * 0.5;
    default:
        return t->channels * nvls_channel_gbs(t, coll, algo) * (coll == NCCL_ALLREDUCE ? per_step : 1);
    }
}

static double ring_us(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_proto proto, double local_us,
                      double net_us)
{
    if (coll == NCCL_BROADCAST || coll == NCCL_REDUCE)
        return t->nodes == 1 ? local_us : hop_us[HW_NET][NCCL_RING][proto];
    const double post_us = t->nodes == 1 ? 0 : (t->amd ? 2 : 1) * (proto == NCCL_SIMPLE ? 3 : 1);
    const double crossings = (t->nodes - 1.0) * (coll == NCCL_ALLREDUCE ? 2 : 1);
    return (n_steps(t, coll) - crossings) * MAX(local_us, post_us) + crossings * net_us;
}

static double latency_us(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo,
                         enum nccl_proto proto)
{
    const double local_us = hop_us[t->nvlink ? HW_NVLINK : HW_PCI][algo][proto];
    const double net_us = hop_us[HW_NET][t->ranks == t->nodes ? NCCL_TREE : algo][proto];
    const double base = base_us[algo][proto];
    switch (algo) {
    case NCCL_RING:
        return base + ring_us(t, coll, proto, local_us, net_us);
    case NCCL_TREE:
        return base + 2 * ((t->ranks / t->nodes - 1.0) * local_us + log2_floor(t->nodes) * net_us);
    case NCCL_NVLS:
        return local_us;
    default:
        return base + local_us + 2 * log2_floor(t->nodes) * net_us;
    }
}

/* What the size alone changes. */
static double tree_factor(const struct nccl_topo *t, enum nccl_algo algo, enum nccl_proto proto,
                          uint64_t bytes)
{
    const bool corrected = algo == NCCL_TREE || (algo == NCCL_NVLS_TREE && t->arch == NCCL_BLACKWELL);
    const uint64_t units = bytes >> 6;
    return corrected && units && log2_floor(units) < TREE_SIZES ? tree_part[proto][log2_floor(units)] : 1;
}

static double plateau_factor(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo,
                             enum nccl_proto proto, uint64_t bytes)
{
    if (algo != NCCL_RING || proto != NCCL_SIMPLE || coll != NCCL_ALLREDUCE || t->nodes == 1 ||
        bytes / ((uint64_t)t->channels * t->ranks) < 64)
        return 1;
    return t->arch == NCCL_VOLTA ? 1.9 : 1.4;
}

double nccl_time_us(const struct nccl_topo *t, enum nccl_coll coll, enum nccl_algo algo,
                    enum nccl_proto proto, uint64_t bytes)
{
    if (t->ranks <= 1)
        return 0;
    if (!applies(t, coll, algo, proto))
        return -1;
    const double gbs = algorithm_gbs(t, coll, algo, proto) * tree_factor(t, algo, proto, bytes);
    if (!(gbs > 0))
        return -1;
    return latency_us(t, coll, algo, proto) * plateau_factor(t, coll, algo, proto, bytes) +
           (double)bytes / (1000 * gbs);
}

struct nccl_choice nccl_choose(const struct nccl_topo *t, enum nccl_coll coll, uint64_t bytes)
{
    struct nccl_choice best = {NCCL_RING, NCCL_SIMPLE, -1};
    for (unsigned algo = 0; algo < NCCL_ALGOS; algo++)
        for (unsigned proto = 0; proto < NCCL_PROTOS; proto++) {
            const double us = nccl_time_us(t, coll, algo, proto, bytes);
            if (us >= 0 && (best.us < 0 || us < best.us))
                best = (struct nccl_choice){(uint8_t)algo, (uint8_t)proto, us};
        }
    return best;
}

const char *nccl_algo_name(unsigned algo)
{
    static const char *const names[NCCL_ALGOS] = {"Tree", "Ring", "NVLS", "NVLSTree"};
    return algo < NCCL_ALGOS ? names[algo] : "?";
}

const char *nccl_proto_name(unsigned proto)
{
    static const char *const names[NCCL_PROTOS] = {"LL", "LL128", "Simple"};
    return proto < NCCL_PROTOS ? names[proto] : "?";
}
