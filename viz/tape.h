/* viz/tape.h -- a writer that remembers what is drawn and where it belongs, to draw it again, whole or in
 * part.
 *
 * Widths of texts are those of the writer behind it, so that a figure is laid out as it would be there.
 */
#ifndef VIZ_TAPE_H
#define VIZ_TAPE_H

#include "viz/draw.h"

struct tape; /* draws through tape_ops into tape_draw */

/* The writer and the canvas begun on it outlive the tape. */
struct tape *tape_new(const struct draw_ops *, struct draw *);
void tape_free(struct tape *);
const struct draw_ops *tape_ops(const struct tape *);
struct draw *tape_draw(struct tape *);

/* Marks are numbered in the order in which they were drawn; a group is one too, which belongs nowhere. */
guint tape_length(const struct tape *);
const struct belongs *tape_belongs(const struct tape *, guint mark);
bool tape_paints(const struct tape *, guint mark); /* it can be seen: no group, and no span */
/* Draws the marks for which shown holds, and all groups, onto another canvas of the same writer. */
void tape_replay(const struct tape *, const bool *shown, struct draw *);

#endif
