/* exec/words.h -- text as words, in pieces of any size, with bounded memory.
 *
 * The rule is that of torchtext's basic_english: everything is lower case; ' . , ( ) ! ? are words of their
 * own; " vanishes (a"b is the word ab); ; : <br /> and white space only separate.  Beyond it: control
 * characters, NUL too, separate; a byte that is no UTF-8 reads as U+FFFD; lower case is by character (no
 * character becomes two); of a word longer than WORD_BYTES_MAX bytes the rest is dropped. */
#ifndef EXEC_WORDS_H
#define EXEC_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { WORD_BYTES_MAX = 255 };

struct words {
    void (*take)(void *user, const char *word); /* a word has ended; valid during the call */
    void *user;
    /* private; zero at first */
    char word[WORD_BYTES_MAX + 1], pending[8];
    size_t length, n_pending;
    unsigned tag; /* how many characters of <br /> have been seen */
};

void words_feed(struct words *, const char *bytes, size_t n);
void words_end(struct words *); /* the text is over */

#endif
