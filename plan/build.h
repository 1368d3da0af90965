/* plan/build.h -- what modes have in common: the tables, a rank's lanes and values, and the ops of its own
 * work. */
#ifndef PLAN_BUILD_H
#define PLAN_BUILD_H

#include "plan/mode.h"

struct build {
    const struct shape *shape;
    struct plan *plan;
    char **layer_shapes;
};

/* One rank.  Lanes and values are added by build_rank, in this order for every rank. */
struct build_rank {
    uint32_t rank, samples;
    uint32_t compute, copy;        /* lanes */
    uint32_t input, loss, scratch; /* values */
    uint32_t layers;               /* value of the first layer: see build_value */
    double forward_flops, backward_flops;
};

/* What any mode refuses: sizes out of range, samples that do not fit. */
bool build_check(const struct shape *, GError **);

void build_begin(struct build *, const struct shape *, const char *mode,
                 struct plan *); /* fills the tables */
void build_end(struct build *);

struct build_rank build_rank(struct build *, uint32_t rank);
/* Of VALUE_WEIGHT, GRAD, ACT, SAVED and DELTA of a layer. */
uint32_t build_value(const struct build_rank *, enum value_class, uint32_t layer);

/* A tag that says nothing but the kind. */
struct op_tag build_tag(enum op_kind);

void build_forward(struct build *, const struct build_rank *); /* INPUT, FWD of every layer, LOSS */
void build_backward(struct build *, const struct build_rank *, uint32_t layer);
void build_optimizer(struct build *, const struct build_rank *);

#endif
