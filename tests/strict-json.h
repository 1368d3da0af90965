/* tests/strict-json.h -- a strict little JSON reader (RFC 8259) for what tests want to know of a text. */
#ifndef TESTS_STRICT_JSON_H
#define TESTS_STRICT_JSON_H

#include <stdbool.h>
#include <string.h>

#include <glib.h>

/* kind: one of { [ " 0 t f n.  text: a string's value or a number as it stands.  An object's items are key,
 * value, ... */
struct strict_json {
    char kind;
    char *text;
    GPtrArray *items;
};

static inline void strict_json_free(struct strict_json *j)
{
    if (!j)
        return;
    g_free(j->text);
    if (j->items)
        g_ptr_array_unref(j->items);
    g_free(j);
}

static inline struct strict_json *strict_json_new(char kind)
{
    struct strict_json *j = g_new0(struct strict_json, 1);
    j->kind = kind;
    if (kind == '{' || kind == '[')
        j->items = g_ptr_array_new_with_free_func((GDestroyNotify)strict_json_free);
    return j;
}

static inline void strict_json_space(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static inline struct strict_json *strict_json_value(const char **at);

static inline struct strict_json *strict_json_text(const char **at)
{
    struct strict_json *j = strict_json_new('"');
    GString *s = g_string_new(NULL);
    const char *c = *at + 1;
    for (; *c != '"' && (unsigned char)*c >= 0x20; c++) {
        if (*c != '\\') {
            g_string_append_c(s, *c);
            continue;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *simple = strchr(from, *++c);
        if (*c && simple) {
            g_string_append_c(s, to[simple - from]);
        } else if (*c == 'u' && strspn(c + 1, "0123456789abcdefABCDEF") >= 4) {
            char digits[5] = {c[1], c[2], c[3], c[4]};
            g_string_append_unichar(s, (gunichar)g_ascii_strtoull(digits, NULL, 16));
            c += 4;
        } else {
            break;
        }
    }
    bool good = *c == '"' && g_utf8_validate_len(s->str, s->len, NULL);
    j->text = g_string_free(s, FALSE);
    if (good)
        *at = c + 1;
    else
        g_clear_pointer(&j, strict_json_free);
    return j;
}

static inline struct strict_json *strict_json_number(const char **at)
{
    const char *c = *at + (**at == '-');
    size_t whole = strspn(c, "0123456789"), rest;
    if (whole == 0 || (whole > 1 && *c == '0'))
        return NULL;
    c += whole;
    if (*c == '.') {
        if (!(rest = strspn(c + 1, "0123456789")))
            return NULL;
        c += 1 + rest;
    }
    if (*c == 'e' || *c == 'E') {
        c += 1 + (c[1] == '+' || c[1] == '-');
        if (!(rest = strspn(c, "0123456789")))
            return NULL;
        c += rest;
    }
    struct strict_json *j = strict_json_new('0');
    j->text = g_strndup(*at, (gsize)(c - *at));
    *at = c;
    return j;
}

static inline bool strict_json_members(const char **at, struct strict_json *j)
{
    char close = j->kind == '{' ? '}' : ']';
    ++*at;
    strict_json_space(at);
    if (**at == close)
        return ++*at, true;
    for (;;) {
        if (j->kind == '{') {
            strict_json_space(at);
            struct strict_json *key = **at == '"' ? strict_json_text(at) : NULL;
            if (!key)
                return false;
            g_ptr_array_add(j->items, key);
            strict_json_space(at);
            if (**at != ':')
                return false;
            ++*at;
        }
        struct strict_json *value = strict_json_value(at);
        if (!value)
            return false;
        g_ptr_array_add(j->items, value);
        strict_json_space(at);
        if (**at == close)
            return ++*at, true;
        if (**at != ',')
            return false;
        ++*at;
    }
}

static inline struct strict_json *strict_json_value(const char **at)
{
    static const char *const words[] = {"true", "false", "null"};
    strict_json_space(at);
    if (**at == '"')
        return strict_json_text(at);
    if (**at == '{' || **at == '[') {
        struct strict_json *j = strict_json_new(**at);
        if (!strict_json_members(at, j))
            g_clear_pointer(&j, strict_json_free);
        return j;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_has_prefix(*at, words[i])) {
            *at += strlen(words[i]);
            return strict_json_new(words[i][0]);
        }
    return strict_json_number(at);
}

/* NULL if the text is no JSON. */
static inline struct strict_json *strict_json_parse(const char *text)
{
    struct strict_json *j = strict_json_value(&text);
    strict_json_space(&text);
    if (*text)
        g_clear_pointer(&j, strict_json_free);
    return j;
}

/* Of an object; NULL if it has no such key. */
static inline const struct strict_json *strict_json_get(const struct strict_json *j, const char *key)
{
    for (guint i = 0; j && j->kind == '{' && i < j->items->len; i += 2)
        if (strcmp(((const struct strict_json *)j->items->pdata[i])->text, key) == 0)
            return j->items->pdata[i + 1];
    return NULL;
}

static inline const struct strict_json *strict_json_at(const struct strict_json *j, guint i)
{
    g_assert_true(j && j->kind == '[' && i < j->items->len);
    return j->items->pdata[i];
}

static inline guint strict_json_length(const struct strict_json *j)
{
    g_assert_true(j && j->kind == '[');
    return j->items->len;
}

static inline gint64 strict_json_integer(const struct strict_json *j, const char *key)
{
    const struct strict_json *x = strict_json_get(j, key);
    g_assert_true(x && x->kind == '0');
    char *end;
    gint64 value = g_ascii_strtoll(x->text, &end, 10);
    g_assert_cmpint(*end, ==, 0);
    return value;
}

/* An index that is left out is `none`. */
static inline gint64 strict_json_index(const struct strict_json *j, const char *key, gint64 none)
{
    return strict_json_get(j, key) ? strict_json_integer(j, key) : none;
}

static inline const char *strict_json_string_of(const struct strict_json *j, const char *key)
{
    const struct strict_json *x = strict_json_get(j, key);
    return x && x->kind == '"' ? x->text : NULL;
}

#endif
