/* viz/notes.h -- callouts: "TEXT@SPAN" points with a line at what a figure shows.
 *
 * While a figure is drawn, spans and texts are collected; behind it the callouts are drawn into the lines that frame_begin has
 * left for them above the plot.  Their lines are broken where they would cross a text.
 */
#ifndef VIZ_NOTES_H
#define VIZ_NOTES_H

#include "viz/pen.h"

struct notes;

struct notes *notes_new(void);
void notes_free(struct notes *);

/* Units of the pen.  places: "rank 2", or "".  Tag and place in the figure's language, then in English.  A note belongs
 * where its span does; NULL: nowhere. */
enum { NOTES_LANGUAGES = 2 };
void notes_add_span(struct notes *, double x, double y, double w, double h, const char *const tags[static 2],
                    const char *const places[static 2], const struct belongs *);
void notes_avoid(struct notes *, double x0, double y0, double x1, double y1);
/* Times are on that axis: "12.5ms" names a point of it. */
void notes_set_axis(struct notes *, double ns0, double x0, double ns1, double x1, double y);

#define NOTES_MAX 6
/* Height that the notes of the look need, and where it is. */
double notes_height(const struct pen *);
void notes_place(struct notes *, double y, double x0, double x1);
/* False: a note names no span that is there; the error names near ones. */
bool notes_paint(const struct notes *, const struct pen *, GError **);

#endif
