#include "exec/words.h"

#include <string.h>

#include <glib.h>

#define REPLACEMENT     0xfffd
#define BYTE_ORDER_MARK 0xfeff /* before the first word of some files */

static const char line_break[] = "<br />";

static void end_word(struct words *w)
{
    if (w->length) {
        w->word[w->length] = '\0';
        w->take(w->user, w->word);
    }
    w->length = 0;
}

static void append(struct words *w, gunichar c)
{
    char bytes[6];
    if (c < 0x80) {
        if (w->length < WORD_BYTES_MAX)
            w->word[w->length++] = (char)c;
        return;
    }
    size_t n = (size_t)g_unichar_to_utf8(c, bytes);
    if (w->length + n > WORD_BYTES_MAX)
        return;
    memcpy(w->word + w->length, bytes, n);
    w->length += n;
}

static bool separates(gunichar c)
{
    if (c < 0x80)
        return c <= ' ' || c == 0x7f || c == ';' || c == ':';
    return g_unichar_isspace(c) || g_unichar_iscntrl(c);
}

static void put(struct words *w, gunichar c)
{
    if (separates(c)) {
        end_word(w);
    } else if (c < 0x80 && strchr("'.,()!?", (int)c)) {
        end_word(w);
        append(w, c);
        end_word(w);
    } else {
        append(w, c);
    }
}

static void add(struct words *w, gunichar c)
{
    if (c == '"' || c == BYTE_ORDER_MARK)
        return;
    c = c < 0x80 ? (gunichar)g_ascii_tolower((char)c) : g_unichar_tolower(c);
    if (c == (gunichar)line_break[w->tag]) {
        if (line_break[++w->tag])
            return;
        w->tag = 0;
        end_word(w);
        return;
    }
    unsigned seen = w->tag;
    w->tag = 0;
    for (unsigned i = 0; i < seen; i++)
        put(w, (gunichar)line_break[i]);
    if (c == '<')
        w->tag = 1;
    else
        put(w, c);
}

/* One character; how many bytes it took, 0 if they end within it. */
static size_t add_first(struct words *w, const char *bytes, size_t n)
{
    if (!(*bytes & 0x80)) {
        add(w, (gunichar)*bytes);
        return 1;
    }
    gunichar c = g_utf8_get_char_validated(bytes, (gssize)n);
    /* GLib calls a character that a NUL cuts short incomplete too. */
    if (c == (gunichar)-2 && !memchr(bytes, '\0', MIN(n, sizeof w->pending)))
        return 0;
    bool valid = c < (gunichar)-2;
    add(w, valid ? c : REPLACEMENT);
    return valid ? (size_t)(g_utf8_next_char(bytes) - bytes) : 1;
}

/* What is left of one piece is put before the next, byte by byte. */
void words_feed(struct words *w, const char *bytes, size_t n)
{
    size_t at = 0;
    while (w->n_pending && at < n) {
        w->pending[w->n_pending++] = bytes[at++];
        size_t took = add_first(w, w->pending, w->n_pending);
        while (took) {
            w->n_pending -= took;
            memmove(w->pending, w->pending + took, w->n_pending);
            took = w->n_pending ? add_first(w, w->pending, w->n_pending) : 0;
        }
    }
    while (at < n) {
        size_t took = add_first(w, bytes + at, n - at);
        if (!took) {
            w->n_pending = n - at;
            memcpy(w->pending, bytes + at, w->n_pending);
            return;
        }
        at += took;
    }
}

void words_end(struct words *w)
{
    for (; w->n_pending; w->n_pending--)
        add(w, REPLACEMENT);
    /* Two, as the first may be taken for the one within a line break. */
    add(w, ' ');
    add(w, ' ');
    end_word(w);
}
