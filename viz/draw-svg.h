/* viz/draw-svg.h -- the SVG that Cairo writes, made shorter and given real texts.
 *
 * Cairo writes texts as outlines, every number with six decimals and every style in full.  Here its stream is
 * rewritten with at most two decimals and without what SVG assumes anyway; what is not known is left as it is.
 * Texts follow as elements that can be searched and edited; they lie over all shapes. */
#ifndef VIZ_DRAW_SVG_H
#define VIZ_DRAW_SVG_H

#include "viz/draw.h"

struct svg_text {
    double x, y; /* px; of the point that `align` says, on the baseline */
    struct font font;
    uint8_t align; /* enum align */
    uint32_t color;
    char *text; /* of characters that XML has */
};

/* The title and the array of struct svg_text may be NULL. */
GBytes *svg_write(const char *stream, size_t bytes, const char *title, const GArray *texts);

#endif
