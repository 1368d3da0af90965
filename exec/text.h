/* exec/text.h -- any text file as training data.
 *
 * Words are those of exec/words.h.  The vocabulary is <unk>, number 0, and the model's vocab - 1 most
 * frequent words, from 1 by falling frequency, of equally frequent ones the earlier first; all others are
 * <unk>, and so are words that occur first after 4 Mi different ones. A sample is a window of seq words, the
 * next window begins where it ends.  A model of tokens predicts each next word, for which the window has one
 * more; one of classes predicts the first word's number modulo the classes.
 *
 * Samples are dealt as PyTorch's DistributedSampler does: an epoch is ceil(N / batch) steps; sample g of its
 * step k is entry (k batch + g) mod N of the epoch's permutation, which is keyed by (seed, epoch).  So no
 * sample occurs twice in a step, each at least once an epoch, and no split over ranks changes a number. */
#ifndef EXEC_TEXT_H
#define EXEC_TEXT_H

#include "plan/model.h"

struct text;

/* Reads the file, 64 KiB at a time; keeps 4 bytes a word and the vocabulary.  Fails, naming the file, if it
 * cannot be read, is no regular file, is larger than 4 GiB or has more than 2^28 words, or has fewer samples
 * than the batch. Borrows the model. */
struct text *text_open(const char *path, const struct model *, uint32_t batch, GError **);
void text_close(struct text *); /* NULL is legal */

uint64_t text_samples(const struct text *);
const char *text_word(const struct text *, uint32_t token); /* NULL: the text has fewer words */
uint64_t text_index(const struct text *, uint64_t seed, uint32_t step,
                    uint32_t sample); /* of the step's sample */

/* As data_fill: the samples [first, first + n) of a step's global mini-batch. */
void text_fill(const struct text *, uint64_t seed, uint32_t step, uint32_t first, uint32_t n, int32_t *out);

#endif
