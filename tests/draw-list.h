/* tests/draw-list.h -- a writer that records what is drawn, for tests: no library, no fonts.
 * A Latin character is 0.55 em wide, a Hangul or CJK one 1 em. */
#ifndef TESTS_DRAW_LIST_H
#define TESTS_DRAW_LIST_H

#include "viz/draw.h"

enum item_kind { ITEM_RECT, ITEM_LINE, ITEM_POLYGON, ITEM_TEXT, ITEM_GROUP, ITEM_SPAN };

struct item {
    enum item_kind kind;
    double x0, y0, x1, y1; /* bounding box; of a text, its ascenders and descenders too */
    int64_t fill;          /* colour of a rectangle or text; -1: not filled */
    bool hatched;
    double size; /* em of a text */
    char *text;
    char *name; /* of a group; what a span says */
};

struct draw {
    double width, height;
    GArray *items; /* struct item, in drawing order */
};

extern const struct draw_ops draw_list; /* finish: a line an item */

#endif
