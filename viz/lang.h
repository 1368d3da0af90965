/* viz/lang.h -- what figures say, in the language asked for; never the locale's.
 *
 * A language is a file like viz/lang/en.ini, which has every key: "step = step {time}" in [timeline] is "timeline.step".
 * {name} stands for what say() is given, in any order; {name|rank|ranks} is the first where that is 1, else the second.
 * A file is refused, with its line, that lacks a key of en.ini or a placeholder of one, or has others.
 */
#ifndef VIZ_LANG_H
#define VIZ_LANG_H

#include <stdint.h>

#include <glib.h>

struct language;

/* A built-in one ("en", "ko") or, with a / or ending in .ini, a file.  Kept for the life of the process. */
const struct language *language_find(const char *name, GError **);
const struct language *language_standard(void); /* English */
/* "ko", of the file's [language]: by it fonts with the script are preferred. */
const char *language_code(const struct language *);

/* The text of a key, without placeholders. */
const char *word(const struct language *, const char *key);
/* The text of a section's key, or the name itself: of what may be anything, as categories of memory. */
const char *word_or(const struct language *, const char *section, const char *name);
/* The text with its placeholders filled: pairs of name and value, then NULL.  g_free. */
char *say(const struct language *, const char *key, ...) G_GNUC_NULL_TERMINATED;
/* A text of the program that is no figure's, as a label or why a point failed, found by its English form:
 * that of a text in the section, of which only one may have it.  A copy of it where none has.  g_free. */
char *say_known(const struct language *, const char *section, const char *text);
/* A number for say(), in one of a few buffers that take turns. */
const char *count(uint64_t n);

#endif
