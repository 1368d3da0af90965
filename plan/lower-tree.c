/* Binomial tree: in round k of the way up, each member whose lowest bit set is k sends all it has to the
 * member without that bit; the way down is the same backwards. */
#include "plan/lower.h"

static uint32_t rounds(uint32_t n)
{
    return g_bit_storage(n - 1);
}

static void add_up(struct lower *l, const struct part *part)
{
    for (uint32_t k = 0; k < rounds(part->n); k++) {
        uint32_t bit = 1u << k;
        if (part->member & bit) {
            lower_pair(l, part, part->member - bit, OP_SEND, OP_RECV_ADD, k, part->member - 1);
            return;
        }
        if (bit < part->n - part->member)
            lower_pair(l, part, part->member + bit, OP_RECV_ADD, OP_RECV_ADD, k, part->member + bit - 1);
    }
}

/* number and gang: of the way's first round and pair. */
static void add_down(struct lower *l, const struct part *part, uint32_t number, uint32_t gang)
{
    for (uint32_t k = rounds(part->n); k-- > 0; number++) {
        uint32_t bit = 1u << k, below = part->member % (2 * bit);
        if (below == bit)
            lower_pair(l, part, part->member - bit, OP_RECV, OP_RECV, number, gang + part->member - 1);
        else if (below == 0 && bit < part->n - part->member)
            lower_pair(l, part, part->member + bit, OP_SEND, OP_RECV, number, gang + part->member + bit - 1);
    }
}

static void tree_add(struct lower *l, const struct part *part)
{
    add_up(l, part);
    add_down(l, part, rounds(part->n), part->n - 1);
}

static void broadcast_add(struct lower *l, const struct part *part)
{
    add_down(l, part, 0, 0);
}

static uint32_t one_way_gangs(uint32_t n)
{
    return lower_pair_gangs(n) / 2;
}

static uint64_t one_way_ops(uint32_t n)
{
    return lower_pair_ops(n) / 2;
}

static void reduce_add(struct lower *l, const struct part *part)
{
    add_up(l, part);
}

const struct lowering lower_tree = {ALLREDUCE_TREE, lower_pair_ops, lower_pair_gangs, NULL, tree_add};
const struct lowering lower_broadcast = {ALLREDUCE_TREE, one_way_ops, one_way_gangs, NULL, broadcast_add};
const struct lowering lower_reduce = {ALLREDUCE_TREE, one_way_ops, one_way_gangs, NULL, reduce_add};
