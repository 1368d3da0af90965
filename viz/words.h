/* viz/words.h -- what figures over time say of a step: headline, caption, what overlap saved. */
#ifndef VIZ_WORDS_H
#define VIZ_WORDS_H

#include "viz/figure.h"
#include "viz/pen.h"

/* What is shown, and what there is to see; where that is too wide, only the latter.  g_free. */
char *words_headline(const struct pen *, const struct figure_input *, const struct font *, double width);
/* All that has to be known to believe the figure.  g_free. */
char *words_origin(const struct figure_input *, const struct figure_options *);
/* The same in lines.  g_strfreev. */
char **words_caption(const struct pen *, const struct figure_input *, const struct figure_options *,
                     const struct font *, double width);
char *words_overlap(const char *name); /* "no overlap" for "none"; g_free */
/* A step of with_ns beside one of without_ns, which has that overlap: "overlap saves 59.2 ms (16.6 %)".  guessed: the other is
 * a prediction of a step that was measured. */
void words_saved(const char *overlap, bool guessed, int64_t with_ns, int64_t without_ns, char whole[static 128],
                 char brief[static 128]);

#endif
