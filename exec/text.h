/* exec/text.h -- any text file as training data.
 *
 * Words are those of exec/words.h.  The vocabulary is <unk>, number 0, and the model's vocab - 1 most
 * frequent words, from 1 by falling frequency, of equally frequent ones the earlier first; all others are
 * <unk>, and so are words that occur first after 4 Mi different ones. A sample is a window of seq words, the
 * next window begins where it ends.  A model of tokens predicts each next word, for which the window has one
 * more; one of classes predicts the first word's number modulo the classes.
 *
 * A text is taken whole, or in parts, in the order of the file: the first eight tenths of its samples to train, a
 * tenth to validate, the rest to test.  Then the vocabulary is of the words to train on alone.
 *
 * Samples of a part are dealt as PyTorch's DistributedSampler does: an epoch is ceil(N / batch) steps; sample g of its
 * step k is entry (k batch + g) mod N of the epoch's permutation, which is keyed by (seed, epoch).  So no
 * sample occurs twice in a step, each at least once an epoch, and no split over ranks changes a number. */
#ifndef EXEC_TEXT_H
#define EXEC_TEXT_H

#include "plan/engine.h"

struct text;

/* Reads the file, 64 KiB at a time; keeps 4 bytes a word and the vocabulary, of all words or, in_parts, of those to train
 * on.  Fails, naming the file, if it cannot be read, is no regular file, has a NUL byte, or is larger than 4 GiB or has more than 2^28
 * words.  Borrows the model. */
struct text *text_open(const char *path, const struct model *, bool in_parts, GError **);
void text_close(struct text *); /* NULL is legal */

char *text_name(const struct text *);                       /* of its file, to be shown; caller frees */
const char *text_word(const struct text *, uint32_t token); /* NULL: the text has fewer words */

/* Samples [first, first + n) of a text, dealt in batches. */
struct text_part {
    const struct text *text;
    uint64_t first, n;
    uint32_t batch;
};
/* False, naming the file, if the part has fewer samples than a batch. */
bool text_part(const struct text *, enum data_part, uint32_t batch, struct text_part *, GError **);
/* Of the step's sample, counted in the text. */
uint64_t text_index(const struct text_part *, uint64_t seed, uint32_t step, uint32_t sample);
/* As data_fill: the samples [first, first + n) of a step's global mini-batch. */
void text_fill(const struct text_part *, uint64_t seed, uint32_t step, uint32_t first, uint32_t n, int32_t *out);

#endif
