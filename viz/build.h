/* viz/build.h -- a figure built up step by step for slides: frames of one geometry, each with more of it.
 *
 * The figure is drawn once, onto a tape whose marks know where they belong; a frame is the tape without what
 * comes later, and the last frame the figure itself.  A mark comes with the number that it has of the key.
 * What has none comes
 *   - where all others leave it (a bubble): with the last frame;
 *   - where it has a time: with the first frame that has something as late, else the last;
 *   - else at once, as axes, legend and title do.
 * What the numbers of a key are is the figure's:
 *   timeline   all keys: ranks, micro-batches, buckets, phases of a step, time
 *   grid       all but buckets
 *   compare    all keys; its phases are the traces one after the other, then what differs
 *   breakdown  phases; its frames are the steps, which are its bars
 *   memory     ranks; its phases are the categories
 *   sweep      its phases are the curves (of one curve: the step, what is exposed, what was predicted), its frames
 *              the values of the option
 *   trend      its phases are the series of equal work, its frames the runs
 *   overlap    buckets, time; its phases: when they were ready and launched, waiting, hidden, exposed
 *   buckets    buckets; its phases: layers, gradients, buckets; its frames are the layers
 *   allreduce  ranks; its phases and frames are the hops
 *   dp         ranks; its phases and frames are the stages
 *   ddp        ranks; its phases and frames are the parts of the loop, the loop, and each place of all-reduce
 */
#ifndef VIZ_BUILD_H
#define VIZ_BUILD_H

#include "viz/figure.h"

struct build {
    enum draw_key by;
    uint32_t frames; /* of KEY_TIME: as many, of equal parts of the time that is shown; 0: one a number */
};
#define BUILD_MAX_FRAMES 400

/* The bytes of each frame, GBytes.  NULL: the figure cannot be drawn, or nothing in it belongs to the key;
 * the error says by what it can be built. */
GPtrArray *build_render(const struct build *, const struct figure *, const struct figure_input *,
                        const struct figure_options *, const struct draw_ops *, GError **);

#endif
