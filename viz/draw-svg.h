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
    guint group;   /* how many marks came before it */
    uint32_t color;
    char *text; /* of characters that XML has */
};

/* An area that says what it shows. */
struct svg_span {
    double x, y, w, h;
    guint group;
    char *text;
};

/* A stroke of this width in the stream is a mark: the next group begins. */
#define SVG_MARK_WIDTH 0.046875

/* What may be NULL: all of it. */
struct svg_parts {
    const char *title, *font;
    const GArray *texts;     /* struct svg_text */
    const GPtrArray *groups; /* id of the group that begins with the mark, or "" for what is of none */
    const GArray *spans;     /* struct svg_span */
};

GBytes *svg_write(const char *stream, size_t bytes, const struct svg_parts *);

#endif
