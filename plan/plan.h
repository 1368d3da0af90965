/* plan/plan.h -- the DAG of one training step.
 *
 * A mode builds it, passes rewrite it, plan_seal proves it, engines read it.  Nothing after the builder knows
 * which mode made it: an op names the values that it reads and writes, and that is all that running it needs.
 * Ids are dense uint32_t.  Time does not occur here.
 *
 * Build: plan_init, then fill the tables (t.n_ranks, layers, params, buckets, mode, model), then lanes, values and ops
 * in any order in which every id exists before it is used; accesses and dependencies are added to the op added last.  A
 * lane runs its ops in the order they were added.
 *
 * Invariants, proved by plan_seal:
 *  1 a dependency names an op of the same rank that was added before; what crosses ranks is a gang;
 *  2 with each gang contracted to one node and each lane a chain, the graph has no cycle (no deadlock);
 *  3 a gang has at least one member, at most one op a lane and one a rank, all of the same kind, or is a SEND and a RECV
 *    or RECV_ADD; the bytes of their tags are equal or, in an EXCHANGE gang, those that each member's peer receives, and
 *    are those of what is sent or received;
 *  4 two accesses of one rank to overlapping bytes of a root, at least one of them a write, are ordered by a path of
 *    ops of that rank;
 *  5 nothing is read before it is written, except values that are live in;
 *  6 an op accesses values of its own rank only; a view lies inside its root and is no view of a view;
 *  7 an op runs on a lane of its kind's class; tag indexes (layer, bucket) exist.
 * A step may be run after itself: all ops of a rank end before its next step starts.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stddef.h>

#include "plan/cost.h"
#include "plan/model.h"
#include "plan/op.h"

enum value_class {
    VALUE_WEIGHT, /* a layer's parameters, in the layer's own memory order; index = layer */
    VALUE_GRAD,   /* the same for their gradients */
    VALUE_BUCKET, /* gradients packed for one all-reduce; index = bucket */
    VALUE_INPUT,  /* tokens and targets of a rank's samples */
    VALUE_ACT,    /* output of a layer; index = layer */
    VALUE_SAVED,  /* what a layer's backward needs beside its input; index = layer */
    VALUE_DELTA,  /* gradient by the output of a layer; index = layer */
    VALUE_MOMENT, /* momentum, or Adam's first moment; index = layer, laid out as the weights */
    VALUE_VARIANCE, /* Adam's second moment, likewise */
    VALUE_NORM,   /* two doubles: sum of the gradients' squares, factor that clips them */
    VALUE_LOSS,   /* one double: a micro-batch's part of the rank's mean loss: the rank's is the sum over them */
    VALUE_PENDING, /* what a layer's weight gradients need beside what is saved; index = layer */
    VALUE_NORMS,  /* a double for each rank: sums of the squares of its gradients, or losses */
    VALUE_SCRATCH,
    VALUE_CLASSES
};
const char *value_class_name(unsigned cls); /* "weight" */

enum optimizer { OPTIMIZER_SGD, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM, OPTIMIZERS };
const char *optimizer_name(unsigned optimizer); /* "sgd"; momentum is SGD with a moment */

enum { VALUE_LIVE_IN = 1, VALUE_LIVE_OUT = 2 };
enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_UPDATE = 3 };

/* A storage cell of one rank, or a byte range of one. */
struct value {
    uint64_t offset, bytes; /* offset inside the root; 0 for a root */
    uint32_t root;          /* itself for a root */
    uint32_t rank, index, micro;
    uint32_t version;   /* of stashed weights: as in struct op_tag */
    uint8_t cls, flags; /* a view has its root's */
};

/* A large plan has nearly three an op. */
struct access {
    uint32_t value : 30, mode : 2;
};

/* What ids and accesses have room for. */
#define PLAN_OPS_MAX    (UINT32_C(1) << 31)
#define PLAN_VALUES_MAX (UINT32_C(1) << 30)

/* Members in rank order are gang_ops[first .. first + n), filled by plan_seal from the ops' tags.  In an EXCHANGE gang
 * member i receives what member (i - shift) mod n sends. */
struct gang {
    uint32_t first, n, shift;
};

/* Accesses of op i are accesses[ops[i].first_access .. ops[i+1].first_access), deps likewise: there is one op more
 * than n_ops, the end mark.  The order of accesses is the kind's contract with whoever runs it:
 *   INPUT   write input
 *   FWD, RECOMPUTE  read weight, read act (input of the first layer: the tokens), write act, write saved, write scratch
 *   LOSS    read act (logits), read input, whole or its targets alone, write delta, write loss; both weighted by the micro-batch's part of the rank's
 *           samples
 *   BWD     read weight, read act (input), read saved, read delta, write delta (none at the first layer), write grad (update: is added to),
 *           write scratch
 *   BWD_INPUT   read weight, read act (input), read saved, read delta, write delta, write pending, write scratch; none for
 *           the first layer, which has no gradient by its input
 *   BWD_WEIGHT  read weight, read act (input), read saved, read delta, read pending, write grad (update: is added to), write
 *           scratch; of the first layer, without pending, all of its backward
 *   PACK    (read grad view, write bucket view) for each parameter, in bucket order
 *   UNPACK  (read bucket view, write grad view) for each parameter, in bucket order
 *   NORM    write norm, then read grad for each piece; where the gradients are on several ranks, write one double
 *           of norms, the sum of the squares, instead
 *   CLIP    write norm, read norms
 *   TOTAL   read norms (the losses of all ranks), write loss
 *   STASH   (read weight, write weight of a version) for each piece
 *   OPTIM   (update weight, read grad, update moment, update variance) for each piece, the moments as the optimizer has
 *           them; last, when gradients are clipped, read norm.  A piece is a layer, or a parameter where the gradient is
 *           a view of a bucket or the step goes bucket by bucket
 *   BROADCAST  the first member reads, the others write: for each piece one access, the same pieces at every member
 *   REDUCE  the first member updates, the others read, the same pieces
 *   SCATTER the first member reads each other member's pieces, member after member; these write as many each
 *   GATHER  the first member writes each other member's pieces, member after member; these read as many each
 *   ALLGATHER  a piece for each member: reads its own, writes the others
 *   SEND    read;  RECV  write;  RECV_ADD  update;  for each piece, the same at the sender and its receiver
 *   SUM     read for each rank, in rank order, then write; what is written may be one of those read
 *   ALLREDUCE  update bucket
 *   EXCHANGE   read the range sent, write the range received;  EXCHANGE_ADD  read ..., update ...
 * FWD, RECOMPUTE, the BWDs and PACK are of one layer each; UNPACK and what reduces a bucket name the layers that the bucket spans, OPTIM
 * all of them, INPUT and LOSS none. */
struct op {
    struct op_tag tag;
    uint32_t lane, cost; /* cost: index of costs */
    uint32_t first_access, first_dep;
};

struct plan {
    struct tables t;
    uint32_t n_ops, n_values, n_accesses, n_deps, n_gangs, n_gang_ops, n_costs, n_colls;
    struct op *ops;
    struct value *values;
    struct access *accesses;
    uint32_t *deps;
    struct gang *gangs;
    uint32_t *gang_ops;  /* in the memory of order, behind it */
    struct cost_key *costs;
    uint32_t batch;      /* samples of a step of all ranks; 0: nobody said */
    double *rank_share;  /* per rank: what its losses count in the step's, and what PACK multiplies by; where ranks divide
                            the samples, its part of them */
    uint32_t *rank_first, *rank_rows; /* per rank: its samples of a step, [first, first + rows); first NULL:
                            behind those of the ranks before it */
    uint32_t n_micro;    /* micro-batches of all steps of the plan, at least 1 */
    uint32_t *micro_rows; /* [rank * n_micro + micro]: samples; chunk_size's rule within the rank's */
    double *micro_weight; /* likewise: what LOSS multiplies the mean over them by; NULL: their part of the rank's */
    double loss_scale;    /* ... and that is multiplied by: 1, or what makes a mean a sum; 0 counts as 1 */
    uint32_t n_updates;   /* optimizer steps of the plan; 0 counts as 1 */
    uint8_t optimizer;   /* enum optimizer */
    const char *ini;     /* the model as model_parse takes it, in t.strings; NULL: nobody said */
    struct model_override override;
    uint32_t *order;     /* sealed: a topological order of the ops, members of a gang adjacent */
    /* sealed, where that took it, until it is placed; else NULL: clocks[op * clock_slots + k] is the place, from 1, on the k-th lane of
     * the op's rank up to which ops come before it by a path of ops of that rank; 0: none.  On its own lane it is its own
     * place.  clock_lane: by lane, its number among its rank's. */
    uint32_t *clocks, *clock_lane, clock_slots;
    uint64_t *place;     /* placed: per root value, offset in its rank's arena (unused for views) */
    uint64_t *arena_bytes; /* placed: per rank */
    bool sealed;
    /* Private to who builds: rows that are allocated, and a hash of the costs. */
    struct {
        uint32_t ops, values, accesses, deps, gangs, costs;
    } room;
    GHashTable *cost_ids;
    void *block; /* holds the arrays that were reserved, unless they have grown; NULL */
    size_t block_bytes, block_order; /* from block_order on there is room for the order */
};

/* The samples of an op's micro-batch: [first, first + n) of the global mini-batch of step `round` of the plan. */
struct samples {
    uint32_t first, n, round;
};
struct samples plan_samples(const struct plan *, uint32_t op);
double plan_loss_weight(const struct plan *, uint32_t op); /* of a LOSS */
uint32_t plan_batch(const struct plan *);                  /* samples of a step of all ranks */
uint32_t plan_rounds(const struct plan *);                 /* at least 1 */

void plan_init(struct plan *);
void plan_release(struct plan *); /* safe on a plan that is partly built */

/* Room for so many more, so that a large plan does not move while it grows: once, of a plan that is to be large. */
struct plan_room {
    uint64_t ops, values, accesses, deps, gangs;
    uint64_t gang_ops; /* of the ops */
};
void plan_reserve(struct plan *, const struct plan_room *);

/* For plan_seal: room for order and gang_ops, of n_ops and n_gang_ops; and none. */
void plan_make_order(struct plan *);
void plan_drop_order(struct plan *);

uint32_t plan_add_lane(struct plan *, const struct lane *); /* copies the name */
uint32_t plan_add_view(struct plan *, uint32_t root, uint64_t offset, uint64_t bytes);
uint32_t plan_add_cost(struct plan *, const struct cost_key *); /* an equal key of equal share gives the id it has */

/* What a large plan is made of is added without a call.  plan_grow: room for PLAN_FEW more of each, private. */
enum { PLAN_FEW = 16 };
void plan_grow(struct plan *);

/* A root: offset and root are set here. */
static inline uint32_t plan_add_value(struct plan *plan, const struct value *value)
{
    if (plan->n_values == plan->room.values)
        plan_grow(plan);
    struct value *v = &plan->values[plan->n_values];
    *v = *value;
    v->offset = 0;
    v->root = plan->n_values;
    return plan->n_values++;
}

/* Ops join it by their tag.gang. */
static inline uint32_t plan_add_gang(struct plan *plan, uint32_t shift)
{
    if (plan->n_gangs == plan->room.gangs)
        plan_grow(plan);
    plan->gangs[plan->n_gangs] = (struct gang){.shift = shift};
    return plan->n_gangs++;
}

/* The op after the last one says where the last one's accesses and dependencies end. */
static inline uint32_t plan_add_op(struct plan *plan, uint32_t lane, const struct op_tag *tag, uint32_t cost)
{
    if (plan->n_ops + 1 == plan->room.ops)
        plan_grow(plan);
    struct op *op = &plan->ops[plan->n_ops];
    op->tag = *tag;
    op->lane = lane;
    op->cost = cost;
    op[1].first_access = plan->n_accesses;
    op[1].first_dep = plan->n_deps;
    return plan->n_ops++;
}

static inline void plan_access(struct plan *plan, uint32_t value, uint8_t mode)
{
    if (plan->n_accesses == plan->room.accesses)
        plan_grow(plan);
    plan->accesses[plan->n_accesses++] = (struct access){value, mode};
    plan->ops[plan->n_ops].first_access = plan->n_accesses;
}

/* At most PLAN_FEW at once. */
static inline void plan_access_few(struct plan *plan, const struct access *accesses, uint32_t n)
{
    if (plan->room.accesses - plan->n_accesses < PLAN_FEW)
        plan_grow(plan);
    for (uint32_t i = 0; i < n; i++)
        plan->accesses[plan->n_accesses + i] = accesses[i];
    plan->n_accesses += n;
    plan->ops[plan->n_ops].first_access = plan->n_accesses;
}

static inline void plan_dep(struct plan *plan, uint32_t on)
{
    if (plan->n_deps == plan->room.deps)
        plan_grow(plan);
    plan->deps[plan->n_deps++] = on;
    plan->ops[plan->n_ops].first_dep = plan->n_deps;
}

enum { PLAN_RANK_LANES_MAX = 256 }; /* of a plan that is read: what sealing keeps grows with ops times lanes */

/* Replaces each ALLREDUCE gang of n ranks by hops of `algo`, so that every rank ends with the same bits:
 *  ring              2(n-1) EXCHANGE gangs of shift 1 (Thakur et al. 2005); chunk c is bytes [c*len/n, (c+1)*len/n) in
 *                    whole elements of elem_bytes; member i begins by sending chunk i to member i+1.  A chunk is summed
 *                    once, in ring order, then copied;
 *  tree              binomial: ceil(log2 n) rounds up to the first member, as many down, of pairs SEND, RECV(_ADD);
 *  reduce-broadcast  the first member receives and adds the others' buffers in rank order, then sends the sum to each;
 *  all-to-all        n-1 EXCHANGE gangs of shift 1 to n-1 of whole buffers, into slots of one VALUE_SCRATCH a rank, which
 *                    its collectives use in turn, then a SUM in rank order.
 * A BROADCAST gang becomes the way down of the tree, whichever algo, a REDUCE the way up, or the star's with
 * reduce-broadcast; SCATTER and GATHER are pairs of the first member with each other, in rank order; ALLGATHER the second
 * half of the ring.  A hop's tag has the number of the hop or round, and
 * the chunk that it receives (all-to-all: the member whose buffer it receives); a SEND has the cost key of its receiver.
 * `from` is unsealed, but what its ops name exists; `to` is uninitialised, and on failure nothing is left in it.  A gang
 * of one vanishes into its dependencies; ALLREDUCE_WHOLE copies.  A value to be summed that is no whole number of elements
 * is refused. */
bool plan_lower_allreduce(const struct plan *from, enum allreduce algo, size_t elem_bytes, struct plan *to, GError **);
/* Ops that one all-reduce of so many ranks becomes. */
uint64_t plan_lowered_ops(enum allreduce, uint32_t ranks);

/* What the LOSS ops need, and nothing else: who wrote what they read, and so on, whole gangs; ops stay ordered as they were.
 * Both plans are as in plan_lower_allreduce, of which this may come before; `from` has at least one LOSS. */
void plan_forward(const struct plan *from, struct plan *to);

/* What plan_write_json wrote, of this version or another: a plan that is not sealed yet, equal to the one written, and
 * the model that it is of (model_free), made again from the text in the plan, with which it agrees.  Version 0.1 did not
 * write that text: then the model is the built-in one of that name if the plan agrees with it, else NULL, and the plan
 * can only be simulated.  Errors name file and line; nothing is left then.  plan is uninitialised. */
bool plan_read_json(const char *text, size_t n, const char *name, struct plan *, struct model **, GError **);

/* contract.c, contract-apart.c, contract-model.c: what makes it safe to run a plan that somebody else made.
 * plan_check_model: layers, parameters and the shapes of the layers' ops are the model's.
 * plan_check_run: of a sealed plan that agrees with the model: each op accesses what its kind does, in sizes
 * that its layer needs for its samples, so that kernels stay inside the values.  Errors are of PLAN_ERROR_INVALID. */
bool plan_check_model(const struct plan *, const struct model *, GError **);
bool plan_check_run(const struct plan *, const struct model *, GError **);

/* Proves the invariants and fills `order` and the gangs.  On failure the error names the first offending op, and is of
 * PLAN_ERROR_INVALID. */
bool plan_seal(struct plan *, GError **);

/* Fills place and arena_bytes (64-byte aligned; UINT64_MAX: more than that) of a sealed plan.  Separate from sealing: the
 * simulator needs no addresses.  Two roots share bytes only if every access of one comes before every access of the other
 * by a path of ops of their rank.  Members of a gang end together, so what peers read of a member is read by then; and
 * replays are joined per rank, so a last access comes before the next step's first.  Roots that are live in or live out
 * share with none. */
void plan_place(struct plan *);

/* A value is alive from its first access in the sealed order to its last, both included; one that is live in or live out
 * always.  plan_memory: bytes by class at the op of each rank where the sum is greatest, the first of these;
 * out[rank * VALUE_CLASSES + class].  The sum never exceeds arena_bytes.  at_peak[value], unless NULL: whether it is a root that
 * is alive there.
 * plan_memory_timeline: the same at each op of one rank, in sealed order: out[i * VALUE_CLASSES + class] at the i-th, whose
 * id goes to ops[i]; both have room for all of the rank's ops.  Returns how many. */
void plan_memory(const struct plan *, uint64_t *out, bool *at_peak);
uint32_t plan_memory_timeline(const struct plan *, uint32_t rank, uint32_t *ops, uint64_t *out);

/* "op 17 (B layer3.attention, rank 1)": how every message names an op.  Caller frees. */
char *plan_op_text(const struct plan *, uint32_t op);

/* Writers: what `parprof plan` prints, doc/formats.md.  Append to out. */
void plan_write_table(const struct plan *, GString *out);
void plan_write_json(const struct plan *, GString *out);

#define PLAN_ERROR (plan_error_quark())
GQuark plan_error_quark(void);
enum { PLAN_ERROR_INVALID, PLAN_ERROR_INPUT }; /* a broken plan; a wrong option, size or model */

#endif
