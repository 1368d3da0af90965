/* Through the first member: it receives and adds the others' buffers one after another, in rank order, then
 * sends the sum to each; or receives or sends a piece of each. */
#include "plan/lower.h"

static void to_root(struct lower *l, const struct part *part)
{
    const bool root = part->member == 0;
    for (uint32_t hop = 0; hop + 1 < part->n; hop++)
        if (root || part->member == hop + 1)
            lower_pair(l, part, root ? hop + 1 : 0, root ? OP_RECV_ADD : OP_SEND, OP_RECV_ADD, hop, hop);
}

static void star_add(struct lower *l, const struct part *part)
{
    uint32_t others = part->n - 1;
    bool root = part->member == 0;
    to_root(l, part);
    for (uint32_t hop = others; hop < 2 * others; hop++)
        if (root || part->member == hop - others + 1)
            lower_pair(l, part, root ? hop - others + 1 : 0, root ? OP_SEND : OP_RECV, OP_RECV, hop, hop);
}

/* The first member's accesses are the others' pieces, member after member. */
static void pieces(struct lower *l, const struct part *part, bool scatter)
{
    const uint32_t accesses = part->op[1].first_access - part->op->first_access;
    if (part->member > 0) {
        lower_pair_of(l, part, 0, scatter ? OP_RECV : OP_SEND, OP_RECV, part->member - 1, part->member - 1, 0,
                      accesses);
        return;
    }
    const uint32_t each = accesses / (part->n - 1);
    for (uint32_t hop = 0; hop + 1 < part->n; hop++)
        lower_pair_of(l, part, hop + 1, scatter ? OP_SEND : OP_RECV, OP_RECV, hop, hop, hop * each, each);
}

static void scatter_add(struct lower *l, const struct part *part)
{
    pieces(l, part, true);
}

static void gather_add(struct lower *l, const struct part *part)
{
    pieces(l, part, false);
}

static uint32_t one_way_gangs(uint32_t n)
{
    return lower_pair_gangs(n) / 2;
}

static uint64_t one_way_ops(uint32_t n)
{
    return lower_pair_ops(n) / 2;
}

#define STAR ALLREDUCE_REDUCE_BROADCAST
const struct lowering lower_reduce_broadcast = {STAR, lower_pair_ops, lower_pair_gangs, NULL, star_add};
const struct lowering lower_reduce_star = {STAR, one_way_ops, one_way_gangs, NULL, to_root};
const struct lowering lower_scatter = {STAR, one_way_ops, one_way_gangs, NULL, scatter_add};
const struct lowering lower_gather = {STAR, one_way_ops, one_way_gangs, NULL, gather_add};
