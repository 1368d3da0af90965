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

struct texts; /* the layouts of one figure */
/* families: names before the standard ones, or NULL; language: "ko", or NULL. */
struct texts *texts_new(const char *families, const char *language);
void texts_free(struct texts *);

/* Of FONT_EM px; owned by `texts`, made once a text and weight. */
PangoLayout *texts_layout(struct texts *, enum weight, const char *text);
/* What canvas.missing of viz/draw.h asks for: of the layouts that were made. */
void texts_report_missing(struct texts *, GString *missing);
double texts_width(struct texts *, const struct font *, const char *text); /* px */

#endif
