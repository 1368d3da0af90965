/* viz/build.h -- a figure built up step by step for slides: frames of one geometry, each with more of it.
 *
 * The figure is drawn once, onto a tape whose marks know where they belong; a frame is the tape without what
 * comes later, and the last frame the figure itself.  A mark comes with the number that it has of the key.
 * What has none comes
 *   - where all others leave it (a bubble): with the last frame;
 *   - where it has a time: with the first frame that has something as late, else the last;
 *   - else at once, as axes, legend and title do.
 */
#ifndef VIZ_BUILD_H
#define VIZ_BUILD_H

#include "viz/figure.h"

struct build {
    enum draw_key by;
    uint32_t
        frames; /* of KEY_TIME: as many, of equal parts of the time that is shown; else 0: one a number */
};
#define BUILD_MAX_FRAMES 400

/* The bytes of each frame, GBytes.  NULL: the figure cannot be drawn, or nothing in it belongs to the key;
 * the error says by what it can be built. */
GPtrArray *build_render(const struct build *, const struct figure *, const struct figure_input *,
                        const struct figure_options *, const struct draw_ops *, GError **);

#endif
