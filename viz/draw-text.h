/* viz/draw-text.h -- figures in characters, for terminals and logs: needs no library and no font.
 *
 * A character is DRAW_COLUMN wide and DRAW_LINE high, one that is wide in East Asia twice as wide.  Areas have a character by the
 * role of their colour, texts lie over them, lines are drawn where nothing else is; the grid of axes is left out.
 */
#ifndef VIZ_DRAW_TEXT_H
#define VIZ_DRAW_TEXT_H

#include "viz/draw.h"

extern const struct draw_ops draw_text;

#endif
