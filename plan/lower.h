/* plan/lower.h -- how each algorithm takes a collective apart into hops, for plan_lower_allreduce. */
#ifndef PLAN_LOWER_H
#define PLAN_LOWER_H

#include "plan/plan.h"

/* Of a value of `from`: the view of its first chunk, and how many there are; 0 where there are none yet. */
struct chunks {
    uint32_t first, n;
};

struct lower {
    const struct plan *from;
    struct plan *to; /* has the values of `from` under the same ids, then its own */
    enum allreduce algo;
    size_t elem_bytes;
    struct gang *gangs; /* of `from`, gathered */
    uint32_t *gang_ops;
    uint32_t *gang_ids; /* of `to`: of a collective's first hop, or of the gang itself */
    uint32_t *op_ids;   /* of `to`: the op or its last hop; OP_NONE for one that vanished */
    struct chunks *chunks;
    uint64_t scratch_bytes; /* of a slot: the largest buffer */
    uint32_t *scratch;      /* per rank: a root of a slot for each other member; OP_NONE: not needed yet */
};

/* One rank's part of a collective of n > 1 members. */
struct part {
    const struct op *op; /* of `from` */
    uint32_t n, member;  /* which of them, in rank order */
    uint32_t value;      /* what it reduces; a broadcast has several, its op's accesses */
    uint64_t bytes;      /* of all of them */
    uint16_t nodes;      /* that the members sit on */
    enum allreduce algo; /* for the tags */
};

struct lowering {
    enum allreduce algo;
    uint64_t (*ops)(uint32_t n); /* of all members together */
    uint32_t (*gangs)(uint32_t n);
    uint32_t (*shift)(uint32_t gang);                 /* of one of those gangs; NULL: 0 */
    void (*add)(struct lower *, const struct part *); /* the part's hops, in order */
};

extern const struct lowering lower_ring, lower_tree, lower_reduce_broadcast, lower_all_to_all,
    lower_broadcast, lower_reduce, lower_reduce_star, lower_scatter, lower_gather, lower_allgather;

struct hop {
    uint8_t kind;
    uint32_t number, chunk;
    uint32_t gang; /* of the collective's, from 0; OP_NONE: in none */
    uint64_t bytes;
    struct cost_key cost; /* kind, members, bytes; the rest is filled in */
};

/* Adds a hop; its accesses are added by the caller.  The part's first one gets the dependencies of its op. */
void lower_hop(struct lower *, const struct part *, const struct hop *);
/* A hop that sends what the part reduces or broadcasts to member `peer`, or receives it; accesses are added. */
void lower_pair(struct lower *, const struct part *, uint32_t peer, enum op_kind, enum op_kind receiver,
                uint32_t number, uint32_t gang);

/* The same of n of the op's accesses, from `first` on. */
void lower_pair_of(struct lower *, const struct part *, uint32_t peer, enum op_kind, enum op_kind receiver,
                   uint32_t number, uint32_t gang, uint32_t first, uint32_t n);

/* Pairs of trees and stars: member c > 0 sends to its parent in gang c-1, and is sent to in the same gang of
 * a broadcast, which follow.  Each is one transfer, of two ops. */
uint32_t lower_pair_gangs(uint32_t n); /* there and back */
uint64_t lower_pair_ops(uint32_t n);

#endif
