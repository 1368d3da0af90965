#include "base/json.h"

#include <string.h>

#include "base/bom.h"
#include "base/decimal.h"
#include "base/json-text.h"

enum { MAX_DEPTH = 64 };

/* What the reader stands before. */
enum place {
    PLACE_OPEN,  /* the first member or element */
    PLACE_VALUE, /* a value */
    PLACE_NEXT,  /* a comma or an end */
};

struct json {
    const char *name, *text, *at, *end;
    const char *token; /* where the value or key that was read last begins */
    const char *key;   /* the member that is read, as it stands in the text; NULL: none */
    size_t key_bytes;
    GString *decoded;
    GError *error;
    uint64_t is_object; /* a bit a level that is open */
    unsigned depth;
    enum place place;
    bool cut;
};

GQuark json_error_quark(void)
{
    return g_quark_from_static_string("parprof-json");
}

struct json *json_open(const char *text, size_t n, const char *name)
{
    struct json *j = g_new0(struct json, 1);
    j->name = name;
    j->text = j->at = text;
    j->end = text + n;
    j->at += bom_bytes(text, n);
    j->decoded = g_string_sized_new(64);
    j->place = PLACE_VALUE;
    j->token = j->at;
    if (n >= 2 && !memcmp(text, "\x1f\x8b", 2))
        json_fail(j, "it is compressed: unpack it first, as gunzip does");
    return j;
}

bool json_close(struct json *j, GError **error)
{
    bool good = !j->error;
    if (j->error)
        g_propagate_error(error, j->error);
    g_string_free(j->decoded, TRUE);
    g_free(j);
    return good;
}

bool json_bad(const struct json *j)
{
    return j->error != NULL;
}

bool json_cut(const struct json *j)
{
    return j->cut;
}

static size_t line_of(const struct json *j, const char *at)
{
    size_t line = 1;
    for (const char *c = j->text; (c = memchr(c, '\n', (size_t)(at - c))); c++)
        line++;
    return line;
}

void json_fail(struct json *j, const char *format, ...)
{
    if (j->error)
        return;
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_autofree char *raw = j->key ? g_strndup(j->key, MIN(j->key_bytes, 60)) : NULL;
    g_autofree char *key = raw ? g_utf8_make_valid(raw, -1) : NULL;
    g_set_error(&j->error, JSON_ERROR, 0, "%s:%zu: %s%s%s%s%s", j->name, line_of(j, j->token),
                key ? "\"" : "", key ? key : "", key ? "\": " : "", what,
                j->cut ? "; the file ends in the middle" : "");
}

static bool stopped(const struct json *j)
{
    return j->error || j->cut;
}

static void skip_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

/* Whether something comes; else the text is cut. */
static bool something(struct json *j)
{
    skip_space(j);
    j->cut = j->cut || j->at == j->end;
    return !j->cut;
}

static bool is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

static enum json_type word_type(const char *at, const char *end)
{
    size_t n = (size_t)(end - at);
    bool truth = (n >= 4 && memcmp(at, "true", 4) == 0 && (n == 4 || !is_word(at[4]))) ||
                 (n >= 5 && memcmp(at, "false", 5) == 0 && (n == 5 || !is_word(at[5])));
    return truth ? JSON_BOOL : JSON_NULL;
}

static enum json_type type_at(const char *at, const char *end)
{
    char c = *at;
    if (c == '"')
        return JSON_TEXT;
    if (c == '{')
        return JSON_OBJECT;
    if (c == '[')
        return JSON_ARRAY;
    if (g_ascii_isdigit(c) || c == '.')
        return JSON_NUMBER;
    if (c == '-' || c == '+')
        return at + 1 < end && g_ascii_isalpha(at[1]) ? JSON_NULL : JSON_NUMBER;
    return is_word(c) ? word_type(at, end) : JSON_NOTHING;
}

static const char *word_end(const char *at, const char *end)
{
    at += *at == '-' || *at == '+';
    while (at < end && is_word(*at))
        at++;
    return at;
}

enum json_type json_peek(struct json *j)
{
    if (stopped(j) || j->place != PLACE_VALUE || !something(j))
        return JSON_NOTHING;
    j->token = j->at;
    enum json_type type = type_at(j->at, j->end);
    if (type == JSON_NOTHING)
        json_fail(j, "a value is missing here");
    /* "tr" may have been true. */
    if (type == JSON_NULL && j->depth > 0 && word_end(j->at, j->end) == j->end) {
        j->cut = true;
        return JSON_NOTHING;
    }
    return type;
}

static bool expect(struct json *j, enum json_type wanted, const char *what)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",   [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
        [JSON_TEXT] = "a text", [JSON_ARRAY] = "a list",       [JSON_OBJECT] = "an object"};
    enum json_type found = json_peek(j);
    if (found == JSON_NULL && wanted != JSON_NULL) /* NaN, Infinity: what it is, not what it is taken for */
        json_fail(j, "found %.*s, should be %s", (int)MIN(word_end(j->at, j->end) - j->at, 40), j->at,
                  what ? what : names[wanted]);
    else if (found != JSON_NOTHING && found != wanted)
        json_fail(j, "found %s, should be %s", names[found], what ? what : names[wanted]);
    return found == wanted;
}

/* Ends a number or a word; one that touches the end of the text may have been longer, unless it is all of it.
 */
static bool scalar_end(struct json *j, const char *end)
{
    j->at = end;
    j->cut = end == j->end && j->depth > 0;
    j->place = PLACE_NEXT;
    return !j->cut;
}

static bool is_numeric(char c)
{
    return g_ascii_isdigit(c) || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+';
}

static const char *number_end(const char *at, const char *end)
{
    while (at < end && is_numeric(*at))
        at++;
    return at;
}

/* Over the text that begins here, and what is between its quotes; the end of the file ends it too. */
static const char *take_text(struct json *j, const char **end)
{
    const char *at = j->at + 1;
    *end = json_text_end(j->at, j->end);
    j->cut = !*end;
    j->at = *end ? *end + 1 : j->end;
    if (!*end)
        *end = j->end;
    return at;
}

static const char *decode(struct json *j)
{
    const char *end, *at = take_text(j, &end);
    json_text_decode(at, end, j->decoded);
    return j->decoded->str;
}

static void enter(struct json *j, bool object)
{
    if (j->depth == MAX_DEPTH) {
        json_fail(j, "nested deeper than %d", MAX_DEPTH);
        return;
    }
    j->is_object = j->is_object << 1 | object;
    j->depth++;
    j->at++;
    j->place = PLACE_OPEN;
}

static void leave(struct json *j)
{
    j->is_object >>= 1;
    j->depth--;
    j->at++;
    j->key = NULL;
    j->place = PLACE_NEXT;
}

void json_object(struct json *j)
{
    if (expect(j, JSON_OBJECT, NULL))
        enter(j, true);
}

void json_array(struct json *j)
{
    if (expect(j, JSON_ARRAY, NULL))
        enter(j, false);
}

/* Goes on to the next member or element.  False at the end, which it steps over. */
static bool next(struct json *j, bool object)
{
    if (stopped(j) || j->depth == 0 || (j->is_object & 1) != object)
        return false;
    if (j->place == PLACE_VALUE)
        json_skip(j);
    if (stopped(j) || !something(j))
        return false;
    j->token = j->at;
    if (j->place == PLACE_NEXT && *j->at == ',') {
        j->at++;
        j->place = PLACE_OPEN;
        if (!something(j))
            return false;
    }
    if (*j->at == (object ? '}' : ']')) {
        leave(j);
        return false;
    }
    if (j->place == PLACE_NEXT)
        json_fail(j, "\",\" or \"%c\" is missing here", object ? '}' : ']');
    return !j->error;
}

const char *json_key(struct json *j)
{
    if (!next(j, true))
        return NULL;
    j->token = j->at;
    if (*j->at != '"') {
        json_fail(j, "the name of a member is missing here");
        return NULL;
    }
    const char *name = decode(j), *end = j->at - 1;
    if (j->cut || !something(j))
        return NULL;
    if (*j->at != ':') {
        json_fail(j, "\":\" is missing here");
        return NULL;
    }
    j->key = j->token + 1;
    j->key_bytes = (size_t)(end - j->key);
    j->at++;
    j->place = PLACE_VALUE;
    return name;
}

bool json_element(struct json *j)
{
    if (!next(j, false))
        return false;
    j->place = PLACE_VALUE;
    return true;
}

/* Looks at brackets and texts only. */
static void skip_nested(struct json *j)
{
    static const bool stops[256] = {['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};
    unsigned outside = j->depth;
    const char *member = j->key;
    do {
        while (j->at < j->end && !stops[(unsigned char)*j->at])
            j->at++;
        if (j->at == j->end) {
            j->cut = true;
            return;
        }
        j->token = j->at;
        char c = *j->at;
        if (c == '"') {
            const char *end;
            take_text(j, &end);
        } else if (c == '{' || c == '[') {
            enter(j, c == '{');
        } else if ((c == '}') == (j->is_object & 1)) {
            leave(j);
        } else {
            json_fail(j, "\"%c\" ends what \"%c\" began", c, c == '}' ? '[' : '{');
        }
    } while (j->depth > outside && !stopped(j));
    j->key = member;
}

void json_skip(struct json *j)
{
    const char *end;
    switch (json_peek(j)) {
    case JSON_NOTHING:
        return;
    case JSON_OBJECT:
    case JSON_ARRAY:
        skip_nested(j);
        break;
    case JSON_TEXT:
        take_text(j, &end);
        break;
    case JSON_NUMBER:
        scalar_end(j, number_end(j->at, j->end));
        break;
    default:
        scalar_end(j, word_end(j->at, j->end));
    }
    j->place = PLACE_NEXT;
}

const char *json_text(struct json *j)
{
    if (!expect(j, JSON_TEXT, NULL))
        return "";
    j->place = PLACE_NEXT;
    return decode(j);
}

bool json_bool(struct json *j)
{
    return expect(j, JSON_BOOL, NULL) && scalar_end(j, word_end(j->at, j->end)) && *j->token == 't';
}

/* The number that comes next; false where there is none. */
static bool take_decimal(struct json *j, const char *what, struct decimal *d)
{
    if (!expect(j, JSON_NUMBER, what) || !scalar_end(j, number_end(j->at, j->end)))
        return false;
    if (!decimal_read(j->token, j->at, d))
        json_fail(j, "found %.*s, should be a number", (int)MIN(j->at - j->token, 40), j->token);
    return !j->error;
}

/* What most numbers are: a few digits and nothing else. */
static bool take_digits(struct json *j, uint64_t *out)
{
    uint64_t x = 0;
    if (json_peek(j) != JSON_NUMBER)
        return false;
    const char *at = j->at, *end = MIN(j->end - at, 18) + at;
    for (; at < end && g_ascii_isdigit(*at); at++)
        x = x * 10 + (uint64_t)(*at - '0');
    if (at == j->at || at == j->end || is_numeric(*at))
        return false;
    *out = x;
    return scalar_end(j, at);
}

static void out_of_range(struct json *j, const char *what)
{
    json_fail(j, "found %.*s, should be %s", (int)MIN(j->at - j->token, 40), j->token, what);
}

static bool signed_value(const struct decimal *d, int64_t shift, int64_t *out)
{
    uint64_t x;
    if (!decimal_whole(d, shift, &x) || x > (uint64_t)INT64_MAX + d->negative)
        return false;
    *out = (int64_t)(d->negative ? -x : x);
    return true;
}

int64_t json_i64(struct json *j, int64_t min, int64_t max)
{
    struct decimal d;
    uint64_t digits;
    int64_t x;
    if (take_digits(j, &digits)) {
        if ((int64_t)digits >= min && (int64_t)digits <= max)
            return (int64_t)digits;
    } else if (!take_decimal(j, "a whole number", &d)) {
        return 0;
    } else if (d.point >= d.n && signed_value(&d, 0, &x) && x >= min && x <= max) {
        return x;
    }
    g_autofree char *what =
        g_strdup_printf("a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, min, max);
    out_of_range(j, what);
    return 0;
}

uint64_t json_u64(struct json *j, uint64_t max)
{
    struct decimal d;
    uint64_t x;
    if (take_digits(j, &x)) {
        if (x <= max)
            return x;
    } else if (!take_decimal(j, "a whole number", &d)) {
        return 0;
    } else if (d.point >= d.n && decimal_whole(&d, 0, &x) && x <= max && (!d.negative || x == 0)) {
        return x;
    }
    g_autofree char *what = g_strdup_printf("a whole number from 0 to %" G_GUINT64_FORMAT, max);
    out_of_range(j, what);
    return 0;
}

uint32_t json_u32(struct json *j, uint32_t min, uint32_t max)
{
    return (uint32_t)json_i64(j, min, max);
}

int64_t json_us_ns(struct json *j)
{
    struct decimal d;
    int64_t ns = 0;
    if (take_decimal(j, "a time in microseconds", &d) && !signed_value(&d, 3, &ns))
        out_of_range(j, "a time in microseconds of at most 292 years");
    return ns;
}

double json_number(struct json *j)
{
    struct decimal d;
    if (!take_decimal(j, NULL, &d))
        return 0;
    double x;
    if (decimal_double(j->token, j->at, &x))
        return x;
    out_of_range(j, "a number that a double holds");
    return 0;
}
