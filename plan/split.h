/* plan/split.h -- how the layers of a model fall into the stages of a pipeline.
 * One rule a descriptor; the sample is the even one. */
#ifndef PLAN_SPLIT_H
#define PLAN_SPLIT_H

#include "plan/mode.h"

/* first[s] is the first layer of stage s; first[n_stages] is n_layers.  Each stage has at least one layer.
 * A block is an attention and a feed-forward layer, or one dense or residual layer.
 *
 * even: blocks as evenly as they go, the remainder to the first stages; what stands before them is with the
 * first block, what stands behind with the last.  Where there are fewer blocks than stages, layers instead.
 *
 * tutorial: (blocks - 1) / stages + 1 blocks each, embedding first, head last: PyTorch's pipeline tutorial.
 *
 * bytes: the largest stage, by bytes of parameters, is as small as it can be; blocks, and whatever stands
 * before and behind them, are not cut where they are enough for all stages.
 *
 * balanced: the same by layer_ns, or by FLOPs. */
struct split_rule {
    const char *name, *summary;
    bool (*split)(const struct shape *, uint32_t n_stages,
                  uint32_t *first); /* false: a stage would be empty */
};

extern const struct split_rule *const split_rules[]; /* ends with NULL; the first is the default */
const struct split_rule *split_find(const char *name);

/* By the shape's rule.  The error says how many stages the model can have. */
bool split_layers(const struct shape *, uint32_t n_stages, uint32_t *first, GError **);

#endif
