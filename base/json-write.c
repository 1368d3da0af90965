#include "base/json.h"

#include <math.h>
#include <stdbool.h>

static void json_char(GString *out, const char *s, int bytes)
{
    static const char *const escapes[0x20] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"};
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
        g_string_append_c(out, '\\');
    if (c >= 0x20)
        g_string_append_len(out, s, bytes);
    else if (escapes[c])
        g_string_append(out, escapes[c]);
    else
        g_string_append_printf(out, "\\u%04x", c);
}

void json_string(GString *out, const char *s)
{
    if (!s) {
        g_string_append(out, "null");
        return;
    }
    g_string_append_c(out, '"');
    while (*s) {
        gunichar c = g_utf8_get_char_validated(s, -1);
        bool valid = c < (gunichar)-2;
        int bytes = valid ? g_utf8_skip[(unsigned char)*s] : 1;
        if (valid)
            json_char(out, s, bytes);
        else
            g_string_append(out, "\uFFFD");
        s += bytes;
    }
    g_string_append_c(out, '"');
}

void json_double(GString *out, double x)
{
    if (!isfinite(x)) {
        g_string_append(out, "null");
        return;
    }
    static const char *const formats[] = {"%.15g", "%.16g", "%.17g"};
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++) {
        g_ascii_formatd(text, sizeof text, formats[i], x);
        if (g_ascii_strtod(text, NULL) == x)
            break;
    }
    g_string_append(out, text);
}

/* By hand: a trace has millions of numbers, and a format string for each is most of the time of writing it.
 */
void json_uint(GString *out, uint64_t x)
{
    char digits[20], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + x % 10);
    while (x /= 10);
    g_string_append_len(out, at, digits + sizeof digits - at);
}

static uint64_t append_sign(GString *out, int64_t x)
{
    if (x < 0)
        g_string_append_c(out, '-');
    return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

void json_int(GString *out, int64_t x)
{
    json_uint(out, append_sign(out, x));
}

void json_us(GString *out, int64_t ns)
{
    uint64_t magnitude = append_sign(out, ns), rest = magnitude % 1000;
    json_uint(out, magnitude / 1000);
    const char decimals[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                             (char)('0' + rest % 10)};
    g_string_append_len(out, decimals, sizeof decimals);
}

static void begin_member(GString *out, const char *before, const char *key)
{
    g_string_append_printf(out, "%s\"%s\": ", before, key);
}

void json_member_int(GString *out, const char *before, const char *key, int64_t n)
{
    begin_member(out, before, key);
    json_int(out, n);
}

void json_member_double(GString *out, const char *before, const char *key, double x)
{
    begin_member(out, before, key);
    json_double(out, x);
}
