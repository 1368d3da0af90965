/* viz/blocks.h -- the actions of a pipeline as blocks on a grid: where each is drawn, and in what colour. */
#ifndef VIZ_BLOCKS_H
#define VIZ_BLOCKS_H

#include "profile/pipeline.h"
#include "viz/figure.h"
#include "viz/frame.h"

/* Where in its row a block is: two that run as one share it. */
enum half { HALF_NONE, HALF_UPPER, HALF_LOWER };

struct block {
    const struct pipeline_action *action;
    int64_t start_ns, end_ns; /* from the start of the pipeline's first action */
    uint8_t half;             /* enum half */
    struct shade shade;
};

/* In the order of the actions. */
struct blocks {
    struct block *v;
    size_t n;
    uint32_t per_rank; /* stages of the rank that has most */
};

/* late: a rank's forwards before its first backward are drawn as late as the next action of their rank and
 * the forward that waits for them, with its message's transfer, allow. */
void blocks_make(struct blocks *, const struct tables *, const struct pipeline_times *, const struct palette *,
                 enum color_by, bool late);
void blocks_release(struct blocks *);

/* Of an action on the i-th of n stages of its rank: kinds have their own colours, stages variants of
 * them. */
struct shade block_kind_shade(const struct palette *, unsigned kind, uint32_t i, uint32_t n);
/* Of what has a number: a hue of its own among neighbours, lighter ones for what is not forward. */
struct shade block_number_shade(const struct palette *, unsigned kind, uint32_t number);
/* Entries of the legend that say which hue is which number, of what the look tells apart: at most HUES, none by kind.  Their
 * texts go to `texts`. */
unsigned blocks_legend(const struct pen *, uint32_t numbers, GPtrArray *texts, struct legend_entry *entries);

#endif
