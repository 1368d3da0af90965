/* viz/frame.h -- what figures share: ground, title, legend, notes, caption, axis and bars around a plot.
 * Lengths are units of the pen. */
#ifndef VIZ_FRAME_H
#define VIZ_FRAME_H

#include "viz/figure.h"
#include "viz/palette.h"
#include "viz/pen.h"
#include "viz/scale.h"

#define FRAME_AIR 8.0 /* between a text and what it is beside */

struct frame {
    struct pen pen;
    double x0, x1, y0, y1; /* what is left for the plot */
    double axis;           /* height that frame_axis takes below y1 */
};

/* Paints ground, title (the look's, or the first of the two that fits, else the second cut) and caption. */
struct frame frame_begin(const struct pen *, const char *title, const char *brief, const char *caption);

struct legend_entry {
    const char *text;
    struct shade shade;
    bool mark, line; /* a triangle, a dashed line instead of a box; of the shade's colour */
    bool rise;       /* the triangle points up */
    bool exposed;    /* hatched with ROLE_EXPOSED too */
    bool hollow;     /* a box in ink, empty */
    bool core;       /* a box of which the middle is empty */
    bool off;        /* an arrow to the right: it is beyond the axis */
    bool part;       /* a lane of which a part is filled */
};

/* Paints the entries below the title, in lines of the width; what finds no room in three lines is left out.
 * Below them stays room for the notes of the look: call it once, also with no entry. */
void frame_legend(struct frame *, unsigned n, const struct legend_entry *);

/* Ticks and their grid from y0 to y1, where the axis is, and below it the unit to the left: under a plot of
 * bars. */
void frame_axis(const struct frame *, const struct scale *, const char *title, double y0, double y1);

void frame_text(const struct frame *, double x, double y, const struct font *, enum align, enum role,
                const char *);

/* Ends a scale, which reaches to the right edge of the plot, where a bar of that part of it still has room
 * for a text on its right; the bars keep some width. */
void frame_leave_beside(const struct frame *, struct scale *, double part, const char *text);

/* A part of a bar, and the first of the texts that fits on it; false: none does, and there was something to
 * say. */
bool frame_bar(const struct frame *, double x0, double x1, double y, double height, struct shade,
               bool exposed, unsigned n, const char *const *texts);

/* Bars one below the other, each with something above and below that belongs to it. */
struct frame_rows {
    uint32_t n, shown;    /* shown < n: a line below them is left for saying so, FRAME_NOTE high */
    double around;        /* height above and below a bar */
    double extra;         /* of headings, in all */
    double bar, gap, top; /* height of a bar, distance to the next, where the first row begins */
    double axis;          /* y1 of frame_axis */
};
#define FRAME_NOTE 22.0

/* Makes the bars that are shown as high as they may be, from n, shown, around and extra.  False: they have no
 * room. */
bool frame_fit(const struct frame *, struct frame_rows *);
/* Shows as many as fit.  False: none does. */
bool frame_divide(const struct frame *, struct frame_rows *);

/* Sets the error: the canvas leaves no room for what the figure draws at least.  False. */
bool frame_no_room(const struct pen *, const char *figure, const char *what, GError **);

/* "DDP, bert-base, 8 ranks: message" of what a digest is of. */
char *frame_headline(const struct pen *, const struct digest *, const char *message);
/* "simulated: ddp, bert-base, 8 ranks · label: value · extra"; g_free. */
char *frame_origin(const struct pen *, const struct digest *);

#endif
