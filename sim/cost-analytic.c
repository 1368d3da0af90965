#include "sim/cost-model.h"

#include <string.h>

#include "plan/plan.h"

struct cost_analytic {
    struct cost_model model; /* first */
    const struct cluster *cluster;
    char name[80];
};

static double peak_tflops(const struct cluster *c, const struct cost_key *key)
{
    return key->shape && g_str_has_suffix(key->shape, " f64") ? c->f64_tflops : c->f32_tflops;
}

static double compute_ns(const struct cluster *c, const struct cost_key *key)
{
    double flops_ns = (double)key->flops / (peak_tflops(c, key) * c->efficiency * 1e3);
    double memory_ns = (double)key->bytes / c->memory_gbs;
    return key->kernels * c->launch_us * 1e3 + MAX(flops_ns, memory_ns);
}

/* Gb/s is bits per ns. */
static double hop_ns(const struct cluster *c, double bytes)
{
    return c->link_us * 1e3 + bytes * 8 / c->link_gbps;
}

static double ring_ns(const struct cluster *c, const struct cost_key *key)
{
    double n = MAX(key->members, 1);
    return 2 * (n - 1) * hop_ns(c, (double)key->bytes / n);
}

static bool analytic_price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                           GError **error)
{
    const struct cluster *c = ((const struct cost_analytic *)model)->cluster;
    double ns;
    switch (key->kind) {
    case OP_ALLREDUCE:
        ns = ring_ns(c, key);
        break;
    case OP_BROADCAST:
        ns = cost_rounds(key->members) * hop_ns(c, (double)key->bytes);
        break;
    case OP_EXCHANGE:
    case OP_EXCHANGE_ADD:
    case OP_SEND:
    case OP_RECV:
    case OP_RECV_ADD:
        ns = hop_ns(c, (double)key->bytes);
        break;
    case OP_SUM:
        ns = 0;
        break;
    default:
        ns = compute_ns(c, key);
    }
    out->alone_ns = out->work_ns = cost_round_ns(key, ns, error);
    return out->alone_ns >= 0;
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
