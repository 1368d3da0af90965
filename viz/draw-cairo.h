/* viz/draw-cairo.h -- texts measured and laid out by Pango, for the writers on Cairo.
 *
 * Fonts are loaded once a process, on a thread of its own from fonts_prepare on: that takes longer than simulating a
 * step.  Texts are laid out at FONT_EM px and scaled: unhinted, they are as wide at every position and scale. */
#ifndef VIZ_DRAW_CAIRO_H
#define VIZ_DRAW_CAIRO_H

#include <pango/pangocairo.h>

#include "viz/draw.h"

#define FONT_EM 32.0

void fonts_prepare(void);

/* A copy that every format can hold: control characters are blanks, what is no character is U+FFFD. */
char *texts_clean(const char *text);

struct texts; /* those of one figure, each shaped once a weight */
/* families: names before the standard ones, or NULL; language: "ko", or NULL. */
struct texts *texts_new(const char *families, const char *language);
void texts_free(struct texts *);

double texts_width(struct texts *, const struct font *, const char *text); /* px */
/* Its baseline begins at the origin.  Scales the context, and leaves a point behind. */
void texts_show(struct texts *, cairo_t *, const struct font *, const char *text, bool outlines);
/* What canvas.missing of viz/draw.h asks for: of all that was measured or shown. */
void texts_report_missing(struct texts *, GString *missing);

#endif
