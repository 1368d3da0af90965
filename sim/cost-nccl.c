#include "sim/cost-model.h"

#include "plan/plan.h"

struct cost_nccl {
    struct cost_model model; /* first */
    const struct cluster *cluster;
    char name[80];
};

static struct nccl_topo topo_of(const struct cluster *c, const struct cost_key *key)
{
    struct nccl_topo topo = c->nccl;
    topo.ranks = key->members;
    topo.nodes = MAX(key->nodes, 1);
    return topo;
}

static bool collective(unsigned kind, enum nccl_coll *coll)
{
    static const struct {
        uint8_t kind, coll;
    } known[] = {{OP_ALLREDUCE, NCCL_ALLREDUCE},
                 {OP_BROADCAST, NCCL_BROADCAST},
                 {OP_REDUCE, NCCL_REDUCE},
                 {OP_ALLGATHER, NCCL_ALLGATHER}};
    for (unsigned i = 0; i < G_N_ELEMENTS(known); i++)
        if (known[i].kind == kind) {
            *coll = known[i].coll;
            return true;
        }
    return false;
}

/* NCCL counts what an all-gather leaves on each rank. */
static uint64_t size_of(const struct cost_key *key)
{
    return key->kind == OP_ALLGATHER ? key->bytes * key->members : key->bytes;
}

static bool nccl_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                       GError **error)
{
    const struct cluster *c = ((const struct cost_nccl *)model)->cluster;
    enum nccl_coll coll;
    const bool known = collective(key->kind, &coll);
    if (!known && key->algo == ALLREDUCE_WHOLE && key->kind != OP_SUM)
        return cost_cluster_price(c, key, out, error);
    if (!known) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "NCCL picks its own algorithm, so %s of %s cannot be priced: keep the all-reduce whole",
                    op_name(key->kind), allreduce_name(key->algo));
        return false;
    }
    if (key->nodes > c->nodes) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "cluster %s has %u nodes, but %s is between %u",
                    c->name, c->nodes, op_name(key->kind), key->nodes);
        return false;
    }
    const struct nccl_topo topo = topo_of(c, key);
    const struct nccl_choice choice = nccl_choose(&topo, coll, size_of(key));
    const double latency_us = nccl_time_us(&topo, coll, choice.algo, choice.proto, 0);
    out->alone_ns = cost_round_ns(key, choice.us * 1e3, error);
    out->work_ns = out->alone_ns < 0 ? 0 : cost_round_ns(key, (choice.us - latency_us) * 1e3, NULL);
    return out->alone_ns >= 0;
}

struct cost_model *cost_nccl_new(const struct cluster *cluster, GError **error)
{
    if (!cluster->nccl_known) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "cluster %s has no [nccl] group, which NCCL's rule needs: add one, or take alpha-beta",
                    cluster->name);
        return NULL;
    }
    struct cost_nccl *n = g_new(struct cost_nccl, 1);
    *n = (struct cost_nccl){.model = {.price = nccl_price}, .cluster = cluster};
    g_snprintf(n->name, sizeof n->name, "NCCL's rule on %s", cluster->name);
    n->model.name = n->name;
    return &n->model;
}
