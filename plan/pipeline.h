/* plan/pipeline.h -- the parts of mode pipeline: from an order of actions to ops.
 *
 * Each rank's actions become runs of ops of one layer each on its compute lane, in their order.  What crosses
 * ranks is sent from a channel lane and received on one, a lane each for (forward or backward, peer, send or
 * receive): fewer deadlock, as 1F1B's ranks send to each other at once, or serialise.  A channel's messages
 * go in the order in which their sender makes them.  Every micro-batch has values of its own; liveness and
 * placement find what may share memory.
 */
#ifndef PLAN_PIPELINE_H
#define PLAN_PIPELINE_H

#include "plan/build.h"
#include "plan/schedule.h"

struct pipeline {
    struct build *b;
    struct op_tag blank; /* what ops are added with; what is theirs follows in place */
    const struct actions *actions;
    bool asynchronous;
    uint32_t rounds, micro; /* micro-batches of a round */
    uint32_t full;          /* those before this one are of equal size; so is the last one, or it is smaller */
    uint32_t
        kept_from; /* micro-batches from here on keep their activations; those before run forward again */
    uint32_t *first_layer; /* by stage; one more than stages */
    uint32_t *local;       /* by stage: its number among its rank's */
    uint32_t
        *gangs; /* by stage: gang of the first message to the next one, then of the first back; OP_NONE */
    /* What was worked out once; OP_NONE or UINT64_MAX: not yet.  last: of the last micro-batch, which may be smaller. */
    uint32_t *costs;       /* [((kind * layers + layer) * 2 + last) * 2 + paired] */
    uint64_t *stage_flops; /* [(kind * stages + stage) * 2 + last] */
    uint64_t *sizes;       /* bytes: [(layer * VALUE_CLASSES + class) * 2 + last] */
    uint32_t input_costs[2], loss_costs[2]; /* [last] */
    uint32_t comm_gangs;   /* first gang of the collectives; a round has comm_gangs_round of them */
    uint32_t *memory;      /* of the rank that is built: its arrays below */
    bool tied_apart;       /* embedding and head share weights and are on two ranks */
};

/* One direction of one peer. */
struct channel {
    uint32_t peer, lane;
    bool forward, sends;
};

/* Messages that a rank receives over one channel, in order. */
struct inbox {
    uint32_t peer, lane, n, next;
    bool forward;
    struct message {
        uint32_t local, micro; /* of the action that needs it: its stage's number among the rank's */
        uint32_t after;        /* index of the action after which it is posted; OP_NONE: at once */
    } * messages;
};

/* What messages from one stage to another have in common, at one end. */
struct route {
    uint32_t peer;       /* OP_NONE: nothing crosses here, and nothing below holds */
    uint32_t lane;       /* OP_NONE: not yet */
    uint32_t layer, cls; /* of the values */
    uint32_t costs[2];   /* [last]; OP_NONE: neither this nor the bytes are known yet */
    uint64_t bytes[2];
    struct op_tag tag;   /* with the gang of the first micro-batch */
    struct inbox *inbox; /* of what is received */
};

/* A rank while it is built.  Slots are (local stage, micro-batch of the round). */
struct pipe_rank {
    struct pipeline *p;
    uint32_t rank, n_stages; /* of its own */
    uint32_t *stages;        /* their numbers */
    uint32_t compute, copy, comm;
    struct channel channels[16];
    uint32_t n_channels;
    struct inbox inboxes[8];
    uint32_t n_inboxes;
    struct route *arrivals, *departures; /* [2 * local stage], forward, then backward */
    /* by model layer: values of class; OP_NONE: another rank's */
    uint32_t *weight, *grad, *moment, *variance;
    uint32_t *stash; /* by version: copy of the weights of its first layer; the others follow */
    bool *grad_begun;
    uint32_t scratch, norms, norm, words; /* words: of the embedding, if the head is tied to it */
    uint32_t last;                        /* op of the compute lane */
    uint32_t *input, *input_op;           /* by micro-batch of the round */
    uint32_t losses;                      /* value of micro-batch 0 of the plan */
    /* by slot: the stage's input, its first layer's output (then SAVED, and so on for each layer), the
     * gradient by its output, of the first layer's input (then PENDING, and so on), the op after which what
     * is received may be read */
    uint32_t *x, *acts, *dy, *deltas, *x_op, *dy_op;
    uint32_t *version;         /* by slot: of the weights that F used */
    uint32_t *users;           /* by version: micro-batches under way that used it; asynchronous only */
    uint32_t *position;        /* by slot: F's message in its inbox, then B's */
    uint32_t *last_op;         /* by action of the round: the last op at its end */
    gsize used;                /* of p->memory */
    uint32_t round, versions;  /* optimizer steps of the plan so far */
    const struct action *list; /* its actions */
    uint32_t n_list;
};

/* pipeline-rank.c: all of a rank that its actions begin with. */
void pipe_open_rank(struct pipe_rank *, struct pipeline *, uint32_t rank);
void pipe_close_rank(struct pipe_rank *);
/* n ids of OP_NONE out of p->memory, which the next rank reuses. */
uint32_t *pipe_ids(struct pipe_rank *, gsize n);

/* Lanes to and from peers, and what will arrive on them. */
void pipe_open_channels(struct pipe_rank *);
void pipe_close_channels(struct pipe_rank *);
/* Adds the receives up to what action `at` needs; its dependency is x_op or dy_op of the slot. */
void pipe_receive(struct pipe_rank *, uint32_t at);
/* Adds the send of what action `at` made, after its last op. */
void pipe_send(struct pipe_rank *, uint32_t at, uint32_t after);

/* pipeline-ops.c: an action with what it receives and sends. */
void pipe_action(struct pipe_rank *, uint32_t at);

/* pipeline-update.c: tied gradients, clipping and optimizer at the end of a round; or, asynchronous, the
 * optimizer after each backward, action `at`, with copies of the weights that forwards under way have used.
 */
void pipe_update(struct pipe_rank *);
void pipe_step(struct pipe_rank *, uint32_t at);
uint32_t pipe_collectives(const struct pipeline *); /* of a round */

static inline uint32_t pipe_slot(const struct pipe_rank *r, const struct action *a)
{
    return r->p->local[a->stage] * r->p->micro + a->micro;
}

static inline uint32_t pipe_stages(const struct pipeline *p)
{
    return p->actions->n_stages;
}

/* Numbers micro-batches over the whole plan, as tags do. */
static inline uint32_t pipe_tag_micro(const struct pipe_rank *r, uint32_t micro)
{
    return r->round * r->p->micro + micro;
}

static inline uint32_t pipe_samples(const struct pipeline *p, uint32_t micro)
{
    return p->b->plan->micro_rows[micro]; /* the same on every rank and in every round */
}

static inline bool pipe_is_last(const struct pipeline *p, uint32_t micro)
{
    return micro >= p->full;
}

/* Of a value of a micro-batch. */
static inline uint64_t pipe_bytes(const struct pipeline *p, enum value_class cls, uint32_t layer, uint32_t micro)
{
    uint64_t *bytes = &p->sizes[((gsize)layer * VALUE_CLASSES + cls) * 2 + pipe_is_last(p, micro)];
    if (*bytes == UINT64_MAX)
        *bytes = build_value_bytes(p->b, cls, layer, pipe_samples(p, micro));
    return *bytes;
}

/* A micro-batch's own. */
static inline uint32_t pipe_add_value(const struct pipe_rank *r, enum value_class cls, uint32_t layer,
                                      uint32_t micro)
{
    const struct value v = {.bytes = pipe_bytes(r->p, cls, layer, micro),
                            .rank = r->rank,
                            .index = layer,
                            .micro = pipe_tag_micro(r, micro),
                            .cls = (uint8_t)cls};
    return plan_add_value(r->p->b->plan, &v);
}

#endif
