/* plan/build.h -- what modes have in common: the tables, a rank's lanes and values, and the ops of its own
 * work. */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "plan/mode.h"

struct build {
    const struct shape *shape;
    struct plan *plan;
    char **layer_shapes;
    bool replicas; /* rank 0 alone has data, optimizer, and weights and gradients that outlive the step */
};

/* One rank.  Lanes and values are added by build_rank, in this order for every rank. */
struct build_rank {
    uint32_t rank;
    uint32_t compute, copy;        /* lanes */
    uint32_t launches;             /* lane; OP_NONE: who computes launches as well */
    uint32_t inputs, losses;       /* values of micro-batch 0; those of the others follow */
    uint32_t norm;                 /* value; OP_NONE where gradients are not clipped */
    uint32_t scratch;              /* value */
    uint32_t layers, layer_values; /* value of the first layer, and how many a layer has: see build_value */
    uint32_t weights_ready;        /* op after which the weights may be read; OP_NONE: from the start */
    /* What stands in for the micro-batch's input, for its targets, for the last layer's output and the gradient by it,
     * for its loss; OP_NONE: nothing */
    uint32_t tokens, targets, logits, deltas, loss;
};

/* One micro-batch of one rank. */
struct build_micro {
    uint32_t micro, samples;
    double forward_flops, backward_flops;
};

/* Where the optimizer finds the gradient of parameter p: value first + step * p.  step 0: in whole layers. */
struct build_gradients {
    uint32_t first, step;
};

/* What any mode refuses; and what those refuse whose ranks divide the samples. */
bool build_check(const struct shape *, GError **);
bool build_check_divided(const struct shape *, GError **);

/* The rows of a plan whose ranks all have all samples, in micro-batches: of a shape that has chunks.
 * mode-pipeline.c */
void pipeline_rows(const struct shape *, struct plan *);
void build_begin(struct build *, const struct shape *, const char *mode,
                 struct plan *); /* fills the tables */
void build_end(struct build *);

/* Ranks take the devices in turn, devices fill nodes one after another. */
uint32_t build_lane(struct build *, const char *name, uint32_t rank, enum lane_class);
uint32_t build_node(const struct shape *, uint32_t rank);
uint16_t build_nodes(const struct shape *); /* that the ranks sit on */

struct build_rank build_rank(struct build *, uint32_t rank);
struct build_micro build_micro(const struct build *, const struct build_rank *, uint32_t micro);
/* Of the classes that a layer has one of: WEIGHT, GRAD, ACT, SAVED, DELTA and, as the optimizer has them,
 * MOMENT and VARIANCE.  Micro-batches run one after another in the same memory. */
uint32_t build_value(const struct build_rank *, enum value_class, uint32_t layer);
/* A new view: the part of parameter `param` of a value of its layer that is laid out as the weights. */
uint32_t build_param(struct build *, const struct build_rank *, enum value_class, uint32_t param);

/* What a value of a class that a layer has one of takes for so many samples. */
uint64_t build_value_bytes(const struct build *, enum value_class, uint32_t layer, uint32_t samples);
/* A root with the flags of its class. */
uint32_t build_add_value(struct build *, uint32_t rank, enum value_class, uint32_t index, uint32_t micro,
                         uint64_t bytes);

/* The layer whose weights a layer uses: a tied head has the embedding's, layer 0. */
uint32_t build_weight_layer(const struct model *, uint32_t layer);

/* A tag that says nothing but the kind. */
struct op_tag build_tag(enum op_kind);

/* On the compute lane, behind its LAUNCH where the rank has a lane for those.  The kernels of the costs of what is
 * launched are to be forgotten at last: build_launched. */
uint32_t build_compute(struct build *, const struct build_rank *, const struct op_tag *, uint32_t cost);
void build_launched(struct build *);

/* FWD of every layer, the first after op `input`; LOSS, after it too. */
void build_layers(struct build *, const struct build_rank *, const struct build_micro *, uint32_t input);
uint32_t build_loss(struct build *, const struct build_rank *, const struct build_micro *, uint32_t input);
/* INPUT, then both. */
void build_forward(struct build *, const struct build_rank *, const struct build_micro *);
/* Gradients of micro-batches after the first are added to those before. */
void build_backward(struct build *, const struct build_rank *, const struct build_micro *, uint32_t layer);

/* build-cost.c.  Of one layer's FWD, RECOMPUTE or BWDs.  share: see struct cost_key. */
uint64_t build_layer_flops(const struct build *, enum op_kind, uint32_t layer, uint32_t samples);
uint32_t build_layer_cost(struct build *, enum op_kind, uint32_t layer, uint32_t samples, double share,
                          bool paired);

uint32_t build_input_cost(struct build *, uint32_t samples);
uint32_t build_loss_cost(struct build *, uint32_t samples);

/* build-optim.c.  With step 0 the parameters are taken layer by layer, else in the order of the buckets:
 * those of `bucket`, or all for OP_NONE.  The norm is of all gradients. */
uint32_t build_norm(struct build *, const struct build_rank *, struct build_gradients);
/* Of a step on so many parameters of so many bytes together. */
uint32_t build_optimizer_cost(struct build *, uint64_t bytes, uint32_t n_params);
uint32_t build_norm_cost(struct build *, uint64_t bytes, uint32_t n_params);
uint32_t build_optimizer(struct build *, const struct build_rank *, struct build_gradients, uint32_t bucket);

#endif
