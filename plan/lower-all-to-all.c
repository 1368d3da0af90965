/* All to all, as lectures draw it: in hop h every member sends its whole buffer h+1 members on.  When all are
 * there, each adds them up in rank order, so that all get the same bits. */
#include "plan/lower.h"

static uint64_t all_to_all_ops(uint32_t n)
{
    return (uint64_t)n * n;
}

static uint32_t all_to_all_gangs(uint32_t n)
{
    return n - 1;
}

static uint32_t all_to_all_shift(uint32_t gang)
{
    return gang + 1;
}

/* Buffers of later collectives reuse the slots: a rank's collectives share a lane. */
static uint32_t scratch_of(struct lower *l, const struct part *part)
{
    const uint32_t rank = l->to->values[part->value].rank;
    if (l->scratch[rank] == OP_NONE) {
        uint32_t most = 0;
        for (uint32_t g = 0; g < l->from->n_gangs; g++)
            most = MAX(most, l->gangs[g].n);
        struct value root = {.bytes = (most - 1) * l->scratch_bytes, .rank = rank, .cls = VALUE_SCRATCH};
        l->scratch[rank] = plan_add_value(l->to, &root);
    }
    return l->scratch[rank];
}

static void add_hop(struct lower *l, const struct part *part, uint32_t number, uint32_t views)
{
    struct hop hop = {.kind = OP_EXCHANGE,
                      .number = number,
                      .chunk = (part->member + part->n - 1 - number) % part->n,
                      .gang = number,
                      .bytes = part->bytes};
    hop.cost = (struct cost_key){
        .kind = hop.kind, .members = (uint16_t)part->n, .nodes = part->nodes, .bytes = hop.bytes};
    lower_hop(l, part, &hop);
    plan_access(l->to, part->value, ACCESS_READ);
    plan_access(l->to, views + number, ACCESS_WRITE);
}

/* The view that hop i fills is number i, and is of member - 1 - i. */
static void add_sum(struct lower *l, const struct part *part, uint32_t views)
{
    struct hop hop = {.kind = OP_SUM, .number = part->n - 1, .gang = OP_NONE};
    hop.cost = (struct cost_key){
        .kind = OP_SUM, .members = 1, .kernels = 1, .bytes = ((uint64_t)part->n + 1) * part->bytes};
    lower_hop(l, part, &hop);
    for (uint32_t from = 0; from < part->n; from++)
        plan_access(
            l->to, from == part->member ? part->value : views + (part->member + part->n - 1 - from) % part->n,
            ACCESS_READ);
    plan_access(l->to, part->value, ACCESS_WRITE);
}

static void all_to_all_add(struct lower *l, const struct part *part)
{
    uint32_t root = scratch_of(l, part), views = l->to->n_values;
    for (uint32_t i = 0; i + 1 < part->n; i++)
        plan_add_view(l->to, root, i * l->scratch_bytes, part->bytes);
    for (uint32_t hop = 0; hop + 1 < part->n; hop++)
        add_hop(l, part, hop, views);
    add_sum(l, part, views);
}

const struct lowering lower_all_to_all = {ALLREDUCE_ALL_TO_ALL, all_to_all_ops, all_to_all_gangs,
                                          all_to_all_shift, all_to_all_add};
