/* viz/pen.h -- a writer with a scale.  Layout counts in units, each 1 px of a 1280 x 720 canvas; larger
 * canvases scale them up, smaller ones down to a half, and beyond that hold fewer of them. */
#ifndef VIZ_PEN_H
#define VIZ_PEN_H

#include "viz/draw.h"

struct pen {
    const struct draw_ops *ops;
    struct draw *draw;
    double px;            /* of a unit */
    double width, height; /* of the canvas, units */
};

struct pen pen_make(const struct draw_ops *, struct draw *, double width_px, double height_px);

void pen_box(const struct pen *, double x, double y, double w, double h, uint32_t color);
void pen_hatch(const struct pen *, double x, double y, double w, double h,
               uint32_t ink); /* over what is there */
void pen_line(const struct pen *, double x0, double y0, double x1, double y1, uint32_t color, double width,
              bool dashed);
void pen_mark(const struct pen *, double x, double y, double size,
              uint32_t color); /* triangle, its tip at (x, y + size) */
void pen_polygon(const struct pen *, unsigned n, const double *xy, uint32_t color); /* n corners */

double pen_width(const struct pen *, const struct font *, const char *text);
/* One line, vertically centred on y. */
void pen_text(const struct pen *, double x, double y, const struct font *, enum align, uint32_t color,
              const char *text);
/* The first of the texts that is not wider; NULL if none is. */
const char *pen_fit(const struct pen *, const struct font *, unsigned n, const char *const *texts,
                    double width);
char *pen_one_line(const char *text); /* a copy made valid UTF-8 without control characters */
/* Such a copy, shortened with an ellipsis until it fits; "" if nothing does. */
char *pen_ellipsize(const struct pen *, const struct font *, const char *text, double width);
/* The text broken at spaces into lines; what does not fit in max_lines ends in an ellipsis.  g_strfreev. */
char **pen_wrap(const struct pen *, const struct font *, const char *text, double width, unsigned max_lines);

#endif
