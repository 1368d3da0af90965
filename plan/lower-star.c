/* Reduce and broadcast through the first member: it receives and adds the others' buffers one after another,
 * in rank order, then sends the sum to each. */
#include "plan/lower.h"

static void star_add(struct lower *l, const struct part *part)
{
    uint32_t others = part->n - 1;
    bool root = part->member == 0;
    for (uint32_t hop = 0; hop < others; hop++)
        if (root || part->member == hop + 1)
            lower_pair(l, part, root ? hop + 1 : 0, root ? OP_RECV_ADD : OP_SEND, OP_RECV_ADD, hop, hop);
    for (uint32_t hop = others; hop < 2 * others; hop++)
        if (root || part->member == hop - others + 1)
            lower_pair(l, part, root ? hop - others + 1 : 0, root ? OP_SEND : OP_RECV, OP_RECV, hop, hop);
}

const struct lowering lower_reduce_broadcast = {ALLREDUCE_REDUCE_BROADCAST, lower_pair_ops, lower_pair_gangs,
                                                NULL, star_add};
