#include "cli/stand-in.h"

#include <string.h>

/* The trace's key of another kind for the same work; NULL: there is none. */
static const struct cost_key *find_key(const struct stand_in *s, const struct cost_key *key, unsigned kind)
{
    for (uint32_t i = 0; i < s->trace->n_costs; i++) {
        const struct cost_key *k = &s->trace->costs[i];
        if (k->kind == kind && k->rows == key->rows && !g_strcmp0(k->shape, key->shape))
            return k;
    }
    return NULL;
}

static bool price_kind(const struct stand_in *s, const struct cost_key *key, unsigned kind, struct cost *out)
{
    const struct cost_key *k = find_key(s, key, kind);
    return k && s->costs->price(s->costs, k, out, NULL);
}

static bool price_part(const struct stand_in *s, const struct cost_key *key, struct cost *out)
{
    const struct cost_key *whole = find_key(s, key, OP_BWD);
    if (!whole || !s->costs->price(s->costs, whole, out, NULL))
        return false;
    const double part = whole->flops ? MIN((double)key->flops / (double)whole->flops, 1)
                                     : (key->kind == OP_BWD_WEIGHT ? 1 : 0);
    out->alone_ns = (int64_t)((double)out->alone_ns * part);
    out->work_ns = (int64_t)((double)out->work_ns * part);
    return true;
}

/* The first layer has no I: nobody needs the gradient by its input. */
static bool price_whole(const struct stand_in *s, const struct cost_key *key, struct cost *out)
{
    struct cost input;
    if (!price_kind(s, key, OP_BWD_WEIGHT, out))
        return false;
    if (!price_kind(s, key, OP_BWD_INPUT, &input))
        return true;
    out->alone_ns += input.alone_ns;
    out->work_ns += input.work_ns;
    return true;
}

static bool price_link(const struct stand_in *s, const struct cost_key *key, struct cost *out)
{
    if (!(s->link_gbps > 0) && !(s->link_us > 0))
        return false;
    const double rest_ns = s->link_us * 1e3,
                 work_ns = s->link_gbps > 0 ? (double)key->bytes * 8 / s->link_gbps : 0;
    *out = (struct cost){cost_round_ns(key, rest_ns + work_ns, NULL), 0};
    return out->alone_ns >= 0;
}

/* As long for each byte as the first op of that kind. */
static bool price_bytes(const struct stand_in *s, const struct cost_key *key, unsigned kind, struct cost *out)
{
    for (uint32_t i = 0; i < s->trace->n_costs; i++) {
        const struct cost_key *k = &s->trace->costs[i];
        if (k->kind != kind || !k->bytes || !s->costs->price(s->costs, k, out, NULL))
            continue;
        const double ratio = (double)key->bytes / (double)k->bytes;
        out->alone_ns = cost_round_ns(key, (double)out->alone_ns * ratio, NULL);
        out->work_ns = MIN((int64_t)((double)out->work_ns * ratio), out->alone_ns);
        return out->alone_ns >= 0;
    }
    return false;
}

static bool price_otherwise(const struct stand_in *s, const struct cost_key *key, struct cost *out,
                            unsigned *assumed)
{
    switch (key->kind) {
    case OP_BWD_INPUT:
    case OP_BWD_WEIGHT:
        *assumed = ASSUME_HALVES;
        return price_part(s, key, out);
    case OP_BWD:
        *assumed = ASSUME_HALVES;
        return price_whole(s, key, out);
    case OP_PACK:
    case OP_UNPACK:
        *assumed = ASSUME_OPTIMIZER;
        return price_bytes(s, key, OP_OPTIM, out);
    case OP_INPUT:
    case OP_LOSS:
        *assumed = ASSUME_BYTES;
        return price_bytes(s, key, key->kind, out);
    case OP_EXCHANGE:
    case OP_EXCHANGE_ADD:
    case OP_SEND:
    case OP_RECV:
    case OP_RECV_ADD:
        *assumed = ASSUME_LINK;
        return price_link(s, key, out);
    default:
        return false;
    }
}

static bool price(const struct cost_model *model, const struct cost_key *key, struct cost *out,
                  GError **error)
{
    const struct stand_in *s = (const struct stand_in *)model;
    unsigned assumed = 0;
    if (s->costs->price(s->costs, key, out, NULL))
        return true;
    if (price_otherwise(s, key, out, &assumed)) {
        *s->assumed |= assumed;
        return true;
    }
    return s->costs->price(s->costs, key, out, error);
}

void stand_in_init(struct stand_in *s, const struct job *job, const struct cost_model *costs,
                   const struct trace *trace, unsigned *assumed)
{
    *s = (struct stand_in){.model = {costs->name, price},
                           .costs = costs,
                           .trace = trace,
                           .link_gbps = job->link_gbps,
                           .link_us = job->link_us,
                           .assumed = assumed};
}

void assumptions_print(unsigned assumed, GString *out)
{
    static const struct {
        enum assumption flag;
        const char *text;
    } texts[] = {{ASSUME_HALVES, "I and W cut by FLOPs"},
                 {ASSUME_LINK, "hops as the link is paced"},
                 {ASSUME_OPTIMIZER, "bucket copies at the optimizer's rate"},
                 {ASSUME_BYTES, "inputs and losses by their bytes"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++)
        if (assumed & texts[i].flag)
            g_string_append_printf(out, ", %s", texts[i].text);
}
