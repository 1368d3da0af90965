/* viz/words.h -- what figures say of a step: headline, caption, what overlap saved. */
#ifndef VIZ_WORDS_H
#define VIZ_WORDS_H

#include "viz/figure.h"
#include "viz/pen.h"

/* What is shown, and what there is to see; where that is too wide, only the latter.  g_free. */
char *words_headline(const struct pen *, const struct figure_input *, double width);
/* All that has to be known to believe the figure, of the step that is shown.  g_free. */
char *words_origin(const struct pen *, const struct figure_input *, uint32_t step);

/* The parts of a caption: "simulated: ddp, bert-base, 8 ranks"; " · text", which may be NULL or empty; " · key: value", the key
 * in the language. */
GString *words_work(const struct language *, bool simulated, const char *mode, const char *model, uint32_t ranks);
void words_append(GString *, const char *text);
void words_append_label(const struct language *, GString *, const char *key, const char *value);

char *words_mode(const struct language *, const char *mode);       /* "DDP"; g_free */
/* One line: its name, as published steps have it of several "ResNet50 and BERT"; NULL: it has none.  g_free. */
char *words_model(const struct language *, const char *model);
char *words_overlap(const struct language *, const char *name);    /* "no overlap" for "none"; g_free */
const char *words_made(const struct language *, bool simulated, bool predicted); /* "measured" */
/* A step of with_ns beside one of without_ns, which has that overlap: "overlap saves 59.2 ms (16.6 %)"; and without what
 * stands in brackets.  guessed: the other is a prediction of a step that was measured.  g_free both. */
void words_saved(const struct language *, const char *overlap, bool guessed, int64_t with_ns, int64_t without_ns,
                 char **whole, char **brief);
/* An option of the command line, one of its values, and all of a point: "ranks 8, overlap none"; g_free the last. */
const char *words_option(const struct language *, const char *option);
const char *words_value(const struct language *, const char *option, const char *value);
char *words_place(const struct language *, const struct series *, uint32_t point);
char *words_title(const struct language *, const char *title); /* of a series; NULL: it has none; g_free */
/* Of a sweep, which has a best point.  g_free all. */
char *words_sweep_headline(const struct language *, const struct series *, char **brief);
char *words_sweep_caption(const struct language *, const struct series *, const char *extra);
const char *words_percent(double percent, char text[static 32]); /* "16.6" */

#endif
