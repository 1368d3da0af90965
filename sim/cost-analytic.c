#include "sim/cost-model.h"

#include "plan/plan.h"

struct cost_analytic {
    struct cost_model model; /* first */
    const struct cluster *cluster;
    char name[80];
};

/* Of a price: what passes whatever else runs, and the work that others can slow down. */
struct parts {
    double rest_ns, work_ns;
};

static struct parts compute(const struct cluster *c, const struct cost_key *key)
{
    const double launches_ns = key->kernels * c->launch_us * 1e3;
    if (c->sms && cost_gemms(key))
        return (struct parts){launches_ns, cost_waves_ns(c, key, c->sms)};
    const double flops_ns = (double)key->flops / (cost_peak_tflops(c, key) * c->efficiency * 1e3);
    return (struct parts){launches_ns, MAX(flops_ns, (double)key->bytes / c->memory_gbs)};
}

static bool spans_nodes(const struct cost_key *key)
{
    return key->nodes > 1;
}

/* Gb/s is bits per ns.  Over nodes the slowest link of the way counts. */
static struct parts hop(const struct cluster *c, const struct cost_key *key)
{
    const double bits = (double)key->bytes * 8;
    if (!spans_nodes(key))
        return (struct parts){c->link_us * 1e3, bits / c->link_gbps};
    return (struct parts){MAX(c->link_us, c->net_us) * 1e3, bits / MIN(c->link_gbps, c->net_gbps)};
}

/* What each member sends at a time, if all do so along a ring. */
static double ring_gbps(const struct cluster *c, const struct cost_key *key)
{
    const uint32_t nodes = MAX(key->nodes, 1), local = (key->members + nodes - 1) / nodes;
    const double inside = c->link_shared ? c->link_gbps / local : c->link_gbps;
    if (!spans_nodes(key))
        return inside;
    const double between = c->net_gbps * MIN(c->net_cards, local);
    return local > 1 ? MIN(inside, between) : between;
}

static struct parts ring(const struct cluster *c, const struct cost_key *key)
{
    const double n = MAX(key->members, 1), hops = 2 * (n - 1);
    const double crossings = spans_nodes(key) ? MIN(hops, 2.0 * key->nodes) : 0;
    return (struct parts){((hops - crossings) * c->link_us + crossings * c->net_us) * 1e3,
                          hops / n * (double)key->bytes * 8 / ring_gbps(c, key)};
}

static struct parts in_turn(struct parts p, double times)
{
    return (struct parts){p.rest_ns * times, p.work_ns * times};
}

/* The root sends or receives one piece after another.  Nodes are filled alike: n / N - 1 pieces stay in its
 * own. */
static struct parts pieces(const struct cluster *c, const struct cost_key *key)
{
    const double members = key->members, near = MAX(members / MAX(key->nodes, 1) - 1, 0),
                 far = members - 1 - near;
    struct cost_key local = *key;
    if (key->members < 2)
        return (struct parts){0, 0};
    local.nodes = 1;
    const struct parts away = hop(c, key), home = hop(c, &local);
    return (struct parts){far * away.rest_ns + near * home.rest_ns,
                          (far * away.work_ns + near * home.work_ns) / (members - 1)};
}

/* Up or down. */
static struct parts tree(const struct cluster *c, const struct cost_key *key)
{
    const double between = cost_rounds(key->nodes), inside = cost_rounds(key->members) - between;
    struct cost_key local = *key;
    local.nodes = 1;
    const struct parts far = hop(c, key), near = hop(c, &local);
    return (struct parts){between * far.rest_ns + inside * near.rest_ns,
                          between * far.work_ns + inside * near.work_ns};
}

static struct parts parts(const struct cluster *c, const struct cost_key *key)
{
    switch (key->kind) {
    case OP_ALLREDUCE:
        return ring(c, key);
    case OP_BROADCAST:
    case OP_REDUCE:
        return tree(c, key);
    case OP_SCATTER:
    case OP_GATHER:
        return pieces(c, key);
    case OP_EXCHANGE:
    case OP_EXCHANGE_ADD:
    case OP_SEND:
    case OP_RECV:
    case OP_RECV_ADD:
        return hop(c, key);
    case OP_ALLGATHER:
        return in_turn(hop(c, key), MAX(key->members, 1) - 1);
    case OP_SUM:
        return (struct parts){0, 0};
    case OP_LAUNCH:
        return (struct parts){0, key->kernels * c->launch_us * 1e3};
    default:
        return compute(c, key);
    }
}

bool cost_cluster_price(const struct cluster *c, const struct cost_key *key, struct cost *out, GError **error)
{
    if (spans_nodes(key) && !(c->net_gbps > 0)) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "cluster %s is one node, but %s is between %u: take a cluster with a network", c->name,
                    op_name(key->kind), key->nodes);
        return false;
    }
    const struct parts p = parts(c, key);
    out->alone_ns = cost_round_ns(key, p.rest_ns + p.work_ns, error);
    out->work_ns = out->alone_ns < 0 ? 0 : MIN(cost_round_ns(key, p.work_ns, NULL), out->alone_ns);
    return out->alone_ns >= 0;
}

static bool analytic_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                           GError **error)
{
    return cost_cluster_price(((const struct cost_analytic *)model)->cluster, key, out, error);
}

static bool usable(const struct cluster *c, GError **error)
{
    const struct {
        const char *what;
        double value;
    } rates[] = {{"f32_tflops", c->f32_tflops},
                 {"f64_tflops", c->f64_tflops},
                 {"memory_gbs", c->memory_gbs},
                 {"efficiency", c->efficiency},
                 {"link_gbps", c->link_gbps}};
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        if (!(rates[i].value > 0)) {
            g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "cluster %s: %s must be above 0", c->name,
                        rates[i].what);
            return false;
        }
    return true;
}

struct cost_model *cost_analytic_new(const struct cluster *cluster, GError **error)
{
    if (!usable(cluster, error))
        return NULL;
    struct cost_analytic *a = g_new(struct cost_analytic, 1);
    *a = (struct cost_analytic){.model = {.price = analytic_price}, .cluster = cluster};
    g_snprintf(a->name, sizeof a->name, "analytic on %s", cluster->name);
    a->model.name = a->name;
    return &a->model;
}
