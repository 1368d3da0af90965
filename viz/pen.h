/* viz/pen.h -- a writer with a scale, a theme, a language and fonts: what a figure draws and speaks with.
 *
 * Layout counts in units, each 1 px of a 1280 x 720 canvas; larger canvases scale them up, smaller ones down to a half,
 * and beyond that hold fewer of them.  A greater font scale makes units larger, so that the canvas holds fewer.
 */
#ifndef VIZ_PEN_H
#define VIZ_PEN_H

#include "viz/draw.h"
#include "viz/lang.h"
#include "viz/palette.h"

struct figure_options;
struct notes;

struct pen {
    const struct draw_ops *ops;
    struct draw *draw;
    double px;            /* of a unit */
    double width, height; /* of the canvas, units */
    const struct figure_options *look;
    const struct palette *palette;
    const struct language *lang;
    /* strong: names of rows, and what there is to see; text: legend and axes; small: caption and notes. */
    struct font title, strong, text, small;
    uint32_t first_rank;     /* number of rank 0 in its job */
    struct belongs *belongs; /* where what is drawn belongs now; NULL: nobody asks */
    unsigned fixed;          /* keys, as bits, whose numbers stay */
    struct notes *notes; /* what pen_span and pen_text leave behind for viz/notes.h; may be NULL */
};

struct pen pen_make(const struct draw_ops *, struct draw *, const struct figure_options *, struct notes *,
                    struct belongs *);

uint32_t pen_color(const struct pen *, enum role);
struct shade pen_shade(const struct pen *, enum role);

void pen_box(const struct pen *, double x, double y, double w, double h, struct shade);
void pen_hatch(const struct pen *, double x, double y, double w, double h,
               struct shade); /* over what is there: its hatch and ink alone */
void pen_line(const struct pen *, double x0, double y0, double x1, double y1, uint32_t color, double width,
              bool dashed);
void pen_mark(const struct pen *, double x, double y, double size,
              uint32_t color); /* triangle, its tip at (x, y + size) */
void pen_rise(const struct pen *, double x, double y, double size,
              uint32_t color); /* triangle, its tip at (x, y) */
void pen_polygon(const struct pen *, unsigned n, const double *xy, uint32_t color); /* n corners */

/* The font for what stands beside a row of that height, so that it is no higher than it. */
struct font pen_capped(const struct font *, double height);
double pen_width(const struct pen *, const struct font *, const char *text);
/* One line, vertically centred on y. */
void pen_text(const struct pen *, double x, double y, const struct font *, enum align, uint32_t color,
              const char *text);
/* A text in the middle of an area of that shade; where it is hatched, or chip asks for it, on a plain ground of its colour,
 * no higher than the area. */
void pen_label(const struct pen *, double x, double y, double height, const struct font *, struct shade, bool chip,
               const char *text);
/* Two such texts, one over the other, around y: they need PEN_TWO_LINES ems of height. */
#define PEN_TWO_LINES 2.8
void pen_two_lines(const struct pen *, double x, double y, const struct font *, struct shade, const char *upper,
                   const char *lower);
/* The first of the texts that is not wider; NULL if none is. */
const char *pen_fit(const struct pen *, const struct font *, unsigned n, const char *const *texts,
                    double width);
char *pen_one_line(const char *text); /* a copy made valid UTF-8 without control characters */
/* Such a copy, shortened with an ellipsis until it fits; "" if nothing does. */
char *pen_ellipsize(const struct pen *, const struct font *, const char *text, double width);
/* The same, at its beginning: names of files mostly differ at the end. */
char *pen_ellipsize_start(const struct pen *, const struct font *, const char *text, double width);
/* The text broken at spaces into lines; what does not fit in max_lines ends in an ellipsis.  g_strfreev. */
char **pen_wrap(const struct pen *, const struct font *, const char *text, double width, unsigned max_lines);

/* What is drawn from now on belongs to that number of the key, until it is said otherwise; DRAW_NONE: to none. */
void pen_belong(const struct pen *, enum draw_key, int64_t number);
void pen_belong_rest(const struct pen *); /* what all others leave, as a bubble */
void pen_belong_rank_only(const struct pen *); /* to no key but the rank it has */
/* To a step of a figure that is told in steps, not in time: --build takes them as phases and as frames. */
void pen_belong_step(const struct pen *, int64_t step);
/* All that is drawn with this pen belongs to that number of the key. */
struct pen pen_fix(const struct pen *, enum draw_key, int64_t number);
void pen_belong_all(const struct pen *, const struct belongs *);
/* What belongs to a rank is one group. */
void pen_group_rank(const struct pen *, uint32_t rank);
void pen_group_end(const struct pen *);
/* What an area shows: its tag, "F0" or "bucket 2", by which --note finds it, and more about it.  english: the tag in
 * English, by which it is found in every language; NULL: it is the same.  rank: OP_NONE where it is of none. */
void pen_span(const struct pen *, double x, double y, double w, double h, const char *tag, const char *english,
              uint32_t rank, const char *about);
/* The same with all that is said in one. */
void pen_span_said(const struct pen *, double x, double y, double w, double h, const char *tag, const char *english,
                   uint32_t rank, const char *said);
struct pen pen_english(const struct pen *); /* the pen, with English words */
/* What ranks are called, the look's name or the standard one, if need be shortened; g_free. */
char *pen_rank_name(const struct pen *, const char *standard);
/* "rank 3", as the look names and counts ranks; g_free. */
char *pen_rank(const struct pen *, uint32_t rank);

#endif
