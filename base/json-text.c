#include "base/json-text.h"

#include <stdbool.h>
#include <string.h>

/* From a quote to the one that ends the text: NULL where none does.  Linear: each run of backslashes is
 * counted once. */
const char *json_text_end(const char *quote, const char *end)
{
    for (const char *at = quote + 1; (at = memchr(at, '"', (size_t)(end - at))); at++) {
        const char *c = at;
        while (c[-1] == '\\')
            c--;
        if ((at - c) % 2 == 0)
            return at;
    }
    return NULL;
}

static bool hex4(const char *at, const char *end, gunichar *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        if (at + i >= end || !g_ascii_isxdigit(at[i]))
            return false;
        *out = *out << 4 | (gunichar)g_ascii_xdigit_value(at[i]);
    }
    return true;
}

/* After the "\u"; returns what follows. */
static const char *decode_unicode(const char *at, const char *end, GString *out)
{
    gunichar c, low;
    if (!hex4(at, end, &c)) {
        g_string_append(out, "\uFFFD");
        return at;
    }
    at += 4;
    if (c >= 0xD800 && c < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
        hex4(at + 2, end, &low) && low >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
    }
    g_string_append_unichar(out, c == 0 || (c >= 0xD800 && c < 0xE000) ? 0xFFFD : c);
    return at;
}

static const char *decode_escape(const char *at, const char *end, GString *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    if (at == end)
        return at;
    if (*at == 'u')
        return decode_unicode(at + 1, end, out);
    const char *simple = *at ? strchr(from, *at) : NULL;
    g_string_append_c(out, simple ? to[simple - from] : *at);
    return at + 1;
}

static void make_valid(GString *s)
{
    if (g_utf8_validate_len(s->str, s->len, NULL))
        return;
    g_autofree char *bytes = g_memdup2(s->str, s->len + 1);
    const char *at = bytes, *end = bytes + s->len, *bad;
    g_string_truncate(s, 0);
    while (!g_utf8_validate_len(at, (gsize)(end - at), &bad)) {
        g_string_append_len(s, at, bad - at);
        g_string_append(s, "\uFFFD");
        at = bad + 1;
    }
    g_string_append_len(s, at, end - at);
}

/* The end of the characters that stand for themselves. */
static const char *plain_end(const char *at, const char *end)
{
    while (at < end && (signed char)*at > 0 && *at != '"' && *at != '\\')
        at++;
    return at;
}

void json_text_decode(const char *at, const char *end, GString *out)
{
    const char *plain = plain_end(at, end);
    g_string_truncate(out, 0);
    if (plain == end) {
        g_string_append_len(out, at, end - at);
        return;
    }
    for (const char *slash; (slash = memchr(at, '\\', (size_t)(end - at)));) {
        g_string_append_len(out, at, slash - at);
        at = decode_escape(slash + 1, end, out);
    }
    g_string_append_len(out, at, end - at);
    make_valid(out);
}
