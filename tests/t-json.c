/* The reader of JSON against a strict one, on whole texts, cut texts and broken texts; numbers at the ends.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tests/strict-json.h"
#include "tests/tap.h"

/* What a walk over a text meets, an event each.  Nothing is noted that the end of the text may have
 * shortened. */
static void note(GPtrArray *events, struct json *j, char *event)
{
    if (json_cut(j) || json_bad(j))
        g_free(event);
    else
        g_ptr_array_add(events, event);
}

static void walk(struct json *j, GPtrArray *events)
{
    switch (json_peek(j)) {
    case JSON_NOTHING:
        break;
    case JSON_OBJECT:
        json_object(j);
        note(events, j, g_strdup("{"));
        for (const char *key; (key = json_key(j));) {
            note(events, j, g_strdup_printf("key %s", key));
            walk(j, events);
        }
        note(events, j, g_strdup("}"));
        break;
    case JSON_ARRAY:
        json_array(j);
        note(events, j, g_strdup("["));
        while (json_element(j))
            walk(j, events);
        note(events, j, g_strdup("]"));
        break;
    case JSON_TEXT:
        note(events, j, g_strdup_printf("text %s", json_text(j)));
        break;
    case JSON_NUMBER:
        note(events, j, g_strdup_printf("number %.17g", json_number(j)));
        break;
    case JSON_BOOL:
        note(events, j, g_strdup(json_bool(j) ? "true" : "false"));
        break;
    case JSON_NULL:
        json_skip(j);
        note(events, j, g_strdup("null"));
    }
}

static void walk_strict(const struct strict_json *v, GPtrArray *events)
{
    bool object = v->kind == '{';
    if (v->items) {
        g_ptr_array_add(events, g_strdup(object ? "{" : "["));
        for (guint i = 0; i < v->items->len; i++) {
            const struct strict_json *item = v->items->pdata[i];
            if (object && i % 2 == 0)
                g_ptr_array_add(events, g_strdup_printf("key %s", item->text));
            else
                walk_strict(item, events);
        }
        g_ptr_array_add(events, g_strdup(object ? "}" : "]"));
    } else if (v->kind == '"') {
        g_ptr_array_add(events, g_strdup_printf("text %s", v->text));
    } else if (v->kind == '0') {
        g_ptr_array_add(events, g_strdup_printf("number %.17g", g_ascii_strtod(v->text, NULL)));
    } else {
        g_ptr_array_add(events, g_strdup(v->kind == 't' ? "true" : v->kind == 'f' ? "false" : "null"));
    }
}

/* Exactly the bytes, so that a sanitizer sees a read beyond them. */
static struct json *open_copy(const char *text, size_t n, char **copy)
{
    *copy = malloc(n ? n : 1);
    memcpy(*copy, text, n);
    return json_open(*copy, n, "file");
}

static GPtrArray *events_of(const char *text, size_t n, bool *good, bool *cut)
{
    GPtrArray *events = g_ptr_array_new_with_free_func(g_free);
    char *copy;
    struct json *j = open_copy(text, n, &copy);
    walk(j, events);
    *cut = json_cut(j);
    GError *error = NULL;
    *good = json_close(j, &error);
    g_assert_true(*good == !error);
    g_assert_true(*good || g_str_has_prefix(error->message, "file:"));
    g_clear_error(&error);
    free(copy);
    return events;
}

static void random_space(GRand *rand, GString *out)
{
    while (g_rand_int_range(rand, 0, 4) == 0)
        g_string_append_c(out, " \n\t\r"[g_rand_int_range(rand, 0, 4)]);
}

static void random_text(GRand *rand, GString *out)
{
    static const char *const pieces[] = {"a",           "key",     "\\n",     "\\\"",     "\\\\",
                                         "\\/",         "\\u00e4", "\\u20AC", "\xc3\xa4", "\xf0\x9f\x98\x80",
                                         " ",           "{",       "]",       ",",        ":",
                                         "\\b\\f\\t\\r"};
    g_string_append_c(out, '"');
    for (int n = g_rand_int_range(rand, 0, 9); n > 0; n--)
        g_string_append(out, pieces[g_rand_int_range(rand, 0, G_N_ELEMENTS(pieces))]);
    g_string_append_c(out, '"');
}

static void random_number(GRand *rand, GString *out)
{
    if (g_rand_boolean(rand))
        g_string_append_c(out, '-');
    if (g_rand_boolean(rand))
        g_string_append_printf(out, "%u", g_rand_int(rand));
    else
        g_string_append_c(out, '0');
    if (g_rand_boolean(rand))
        g_string_append_printf(out, ".%u", g_rand_int(rand));
    if (g_rand_boolean(rand))
        g_string_append_printf(out, "%c%s%d", "eE"[g_rand_int_range(rand, 0, 2)],
                               g_rand_boolean(rand) ? "-" : "+", g_rand_int_range(rand, 0, 300));
}

static void random_value(GRand *rand, int depth, GString *out)
{
    static const char *const words[] = {"true", "false", "null"};
    random_space(rand, out);
    int kind = g_rand_int_range(rand, depth ? 0 : 2, 5), n = g_rand_int_range(rand, 0, 5);
    if (kind < 2) {
        g_string_append_c(out, "{["[kind]);
        for (int i = 0; i < n; i++) {
            if (i)
                g_string_append_c(out, ',');
            random_space(rand, out);
            if (kind == 0) {
                random_text(rand, out);
                random_space(rand, out);
                g_string_append_c(out, ':');
            }
            random_value(rand, depth - 1, out);
        }
        random_space(rand, out);
        g_string_append_c(out, "}]"[kind]);
    } else if (kind == 2) {
        random_text(rand, out);
    } else if (kind == 3) {
        random_number(rand, out);
    } else {
        g_string_append(out, words[g_rand_int_range(rand, 0, 3)]);
    }
    random_space(rand, out);
}

static void assert_prefix(const GPtrArray *part, const GPtrArray *all)
{
    g_assert_cmpuint(part->len, <=, all->len);
    for (guint i = 0; i < part->len; i++)
        g_assert_cmpstr(part->pdata[i], ==, all->pdata[i]);
}

static void test_whole_and_cut(void)
{
    GRand *rand = g_rand_new_with_seed(7);
    GString *text = g_string_new(NULL);
    for (int round = 0; round < 300; round++) {
        g_string_assign(text, "[");
        random_value(rand, 5, text);
        g_string_append_c(text, ']');
        struct strict_json *strict = strict_json_parse(text->str);
        g_assert_nonnull(strict);
        GPtrArray *truth = g_ptr_array_new_with_free_func(g_free);
        walk_strict(strict, truth);
        bool good, cut;
        for (size_t n = 0; n <= text->len; n += n + 300 < text->len ? 7 : 1) {
            GPtrArray *events = events_of(text->str, n, &good, &cut);
            g_assert_true(good);
            g_assert_true(cut == (n < text->len));
            assert_prefix(events, truth);
            g_assert_true(cut || events->len == truth->len);
            g_ptr_array_unref(events);
        }
        g_ptr_array_unref(truth);
        strict_json_free(strict);
    }
    g_string_free(text, TRUE);
    g_rand_free(rand);
}

/* What a strict reader takes is taken, and read the same; the rest ends in some way. */
static void test_flips(void)
{
    GRand *rand = g_rand_new_with_seed(8);
    GString *text = g_string_new(NULL);
    for (int round = 0; round < 3000; round++) {
        g_string_assign(text, "[");
        random_value(rand, 4, text);
        g_string_append_c(text, ']');
        for (int i = g_rand_int_range(rand, 1, 5); i > 0; i--)
            text->str[g_rand_int_range(rand, 0, (gint32)text->len)] ^=
                (char)(1 << g_rand_int_range(rand, 0, 8));
        bool good, cut;
        GPtrArray *events = events_of(text->str, text->len, &good, &cut);
        struct strict_json *strict = strlen(text->str) == text->len ? strict_json_parse(text->str) : NULL;
        if (strict && good) {
            GPtrArray *truth = g_ptr_array_new_with_free_func(g_free);
            walk_strict(strict, truth);
            assert_prefix(events, truth);
            g_assert_cmpuint(events->len, ==, truth->len);
            g_ptr_array_unref(truth);
        }
        strict_json_free(strict);
        g_ptr_array_unref(events);
    }
    g_string_free(text, TRUE);
    g_rand_free(rand);
}

static struct json *number(const char *text)
{
    return json_open(text, strlen(text), "n");
}

static void test_whole_numbers(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } signed_numbers[] = {{"9223372036854775807", true, INT64_MAX},
                          {"-9223372036854775808", true, INT64_MIN},
                          {"9223372036854775808", false, 0},
                          {"-9223372036854775809", false, 0},
                          {"9223372036854775806.0", true, INT64_MAX - 1},
                          {"922337203685477580700e-2", true, INT64_MAX},
                          {"9223372036854775.807e3", true, INT64_MAX},
                          {"1e3", true, 1000},
                          {"1E+3", true, 1000},
                          {"2.0", true, 2},
                          {"2.5", false, 0},
                          {"25e-1", false, 0},
                          {"0.00012e5", true, 12},
                          {"0.00012e4", false, 0},
                          {"-0", true, 0},
                          {"0e999999999999999999999", true, 0},
                          {"1e999999999999999999999", false, 0},
                          {"1e-999999999999999999999", false, 0},
                          {"007", true, 7},
                          {"1e18", true, 1000000000000000000},
                          {"1e19", false, 0},
                          {"1-2", false, 0},
                          {"1.2.3", false, 0},
                          {"-", false, 0},
                          {"1e", false, 0},
                          {"\"1\"", false, 0},
                          {"NaN", false, 0}};
    for (unsigned i = 0; i < G_N_ELEMENTS(signed_numbers); i++) {
        struct json *j = number(signed_numbers[i].text);
        g_assert_cmpint(json_i64(j, INT64_MIN, INT64_MAX), ==, signed_numbers[i].value);
        g_assert_true(json_close(j, NULL) == signed_numbers[i].good);
    }
    struct json *j = number("[18446744073709551615, 1.8446744073709551615e19, 18446744073709551616]");
    json_array(j);
    for (int i = 0; i < 2; i++)
        g_assert_true(json_element(j) && json_u64(j, UINT64_MAX) == UINT64_MAX);
    g_assert_true(json_element(j));
    g_assert_true(json_u64(j, UINT64_MAX) == 0 && json_bad(j));
    json_close(j, NULL);
    j = number("-1");
    g_assert_true(json_u64(j, UINT64_MAX) == 0 && !json_close(j, NULL));
    j = number("4294967295");
    g_assert_true(json_u32(j, 0, UINT32_MAX) == UINT32_MAX && json_close(j, NULL));
    j = number("4294967296");
    g_assert_true(json_u32(j, 0, UINT32_MAX) == 0 && !json_close(j, NULL));
}

/* Any int64, written in any way, comes back. */
static void test_random_numbers(void)
{
    GRand *rand = g_rand_new_with_seed(9);
    GString *text = g_string_new(NULL);
    for (int round = 0; round < 20000; round++) {
        uint64_t bits = (uint64_t)g_rand_int(rand) << 32 | g_rand_int(rand);
        int64_t x = (int64_t)(bits >> g_rand_int_range(rand, 0, 64));
        if (g_rand_boolean(rand))
            x = (int64_t) - (uint64_t)x;
        g_string_truncate(text, 0);
        json_us(text, x);
        struct json *j = number(text->str);
        g_assert_cmpint(json_us_ns(j), ==, x);
        g_assert_true(json_close(j, NULL));
        g_string_append(text, "e3");
        j = number(text->str);
        g_assert_cmpint(json_i64(j, x, x), ==, x);
        g_assert_true(json_close(j, NULL));
    }
    g_string_free(text, TRUE);
    g_rand_free(rand);
}

static void test_times(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } times[] = {{"1", 1000},
                 {"0.0004", 0},
                 {"0.0005", 1},
                 {"-0.0005", -1},
                 {"12.3456", 12346},
                 {"1e-3", 1},
                 {"1.5e-4", 0},
                 {"9.9995", 10000},
                 {"1e-300", 0},
                 {".25", 250},
                 {"1234567890123.4567", 1234567890123457},
                 {"0.00049999999999999999999999", 0},
                 {"9223372036854775.807", INT64_MAX},
                 {"-9223372036854775.808", INT64_MIN},
                 {"9223372036854775.8074", INT64_MAX}};
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++) {
        struct json *j = number(times[i].text);
        g_assert_cmpint(json_us_ns(j), ==, times[i].ns);
        g_assert_true(json_close(j, NULL));
    }
    struct json *j = number("9223372036854775.8075");
    g_assert_true(json_us_ns(j) == 0 && !json_close(j, NULL));
    j = number("1e400");
    g_assert_true(json_number(j) == 0 && !json_close(j, NULL));
    j = number("-2.5e-3");
    g_assert_cmpfloat(json_number(j), ==, -2.5e-3);
    g_assert_true(json_close(j, NULL));
}

static void test_texts(void)
{
    static const struct {
        const char *text;
        size_t n; /* 0: strlen */
        const char *decoded;
    } texts[] = {{"\"\\ud83d\\ude00\"", 0, "\xf0\x9f\x98\x80"},
                 {"\"\\ud83d\"", 0, "\uFFFD"},
                 {"\"\\ude00x\"", 0, "\uFFFDx"},
                 {"\"\\ud83d\\u0041\"", 0, "\uFFFDA"},
                 {"\"\\ud83d\\ud83d\\ude00\"", 0, "\uFFFD\xf0\x9f\x98\x80"},
                 {"\"a\\u0000b\"", 0, "a\uFFFDb"},
                 {"\"a\0b\"", 5, "a\uFFFDb"},
                 {"\"\xff\xc3(\xe2\x82\"", 0, "\uFFFD\uFFFD(\uFFFD\uFFFD"},
                 {"\"\x01\n\x7f\"", 0, "\x01\n\x7f"},
                 {"\"\\x\\u12\"", 0, "x\uFFFD12"},
                 {"\"\\\\\\\\\"", 0, "\\\\"},
                 {"\"\\\\\\\"\"", 0, "\\\""},
                 {"\"open", 0, "open"},
                 {"\"open\\", 0, "open"},
                 {"\xef\xbb\xbf\"mark\"", 0, "mark"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        char *copy;
        struct json *j = open_copy(texts[i].text, texts[i].n ? texts[i].n : strlen(texts[i].text), &copy);
        g_assert_cmpstr(json_text(j), ==, texts[i].decoded);
        g_assert_true(json_cut(j) == g_str_has_prefix(texts[i].text, "\"open"));
        g_assert_true(json_close(j, NULL));
        free(copy);
    }
}

/* What is tolerated, and what is not. */
static void test_tolerance(void)
{
    static const struct {
        const char *text, *events; /* NULL: an error */
    } texts[] = {{"{\"a\":[1,],}", "{ key a [ number 1 ] }"},
                 {"[NaN, -Infinity, nope, true_, +1]", "[ null null null null number 1 ]"},
                 {"[1] and what follows", "[ number 1 ]"},
                 {"[1 2]", NULL},
                 {"[1,,2]", NULL},
                 {"{\"a\" 1}", NULL},
                 {"{a:1}", NULL},
                 {"[1}", NULL},
                 {"]", NULL},
                 {"[:]", NULL}};
    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        bool good, cut;
        GPtrArray *events = events_of(texts[i].text, strlen(texts[i].text), &good, &cut);
        g_assert_true(good == !!texts[i].events && !cut);
        g_ptr_array_add(events, NULL);
        g_autofree char *all = g_strjoinv(" ", (char **)events->pdata);
        if (good)
            g_assert_cmpstr(all, ==, texts[i].events);
        g_ptr_array_unref(events);
    }
}

static bool skips(const char *text, size_t n)
{
    struct json *j = json_open(text, n, "deep");
    json_skip(j);
    g_assert_true(json_peek(j) == JSON_NOTHING);
    return json_close(j, NULL);
}

static void test_deep(void)
{
    enum { MANY = 1 << 22 };
    char *text = g_malloc(MANY);
    for (int c = 0; c < 2; c++) {
        memset(text, c ? '{' : '[', MANY);
        g_assert_true(c || skips(text, 64));
        g_assert_false(skips(text, 65));
        g_assert_false(skips(text, MANY));
        bool good, cut;
        g_ptr_array_unref(events_of(text, MANY, &good, &cut));
        g_assert_false(good);
    }
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    g_assert_true(skips(text, 128));
    text[64] = '}';
    g_assert_false(skips(text, 128));
    /* Runs of backslashes and of quotes take no more than their length. */
    memset(text, '\\', MANY);
    text[0] = '"';
    g_assert_true(skips(text, MANY));
    for (int i = 2; i < MANY; i += 2)
        text[i] = '"';
    g_assert_true(skips(text, MANY));
    g_free(text);
}

/* The first thing wrong is kept, with its line and member; readers end. */
static void test_errors(void)
{
    static const char text[] = "{\"ok\": 1,\n \"list\": [{\"x\": 1}],\n \"ranks\": -3,\n \"more\": \"x\"}";
    GError *error = NULL;
    struct json *j = json_open(text, strlen(text), "run.json");
    json_object(j);
    g_assert_cmpstr(json_key(j), ==, "ok"); /* its value is skipped */
    g_assert_cmpstr(json_key(j), ==, "list");
    json_skip(j);
    g_assert_cmpstr(json_key(j), ==, "ranks");
    g_assert_cmpuint(json_u32(j, 1, 4096), ==, 0);
    g_assert_true(json_bad(j) && !json_key(j) && !json_element(j) && json_peek(j) == JSON_NOTHING);
    g_assert_cmpstr(json_text(j), ==, "");
    json_fail(j, "later");
    g_assert_false(json_close(j, &error));
    g_assert_cmpstr(error->message, ==,
                    "run.json:3: \"ranks\": found -3, should be a whole number from 1 to 4096");
    g_clear_error(&error);

    j = json_open(text, strlen(text), "run.json");
    json_object(j);
    g_assert_nonnull(json_key(j));
    g_assert_nonnull(json_key(j));
    g_assert_cmpstr(json_text(j), ==, "");
    g_assert_false(json_close(j, &error));
    g_assert_cmpstr(error->message, ==, "run.json:2: \"list\": found a list, should be a text");
    g_clear_error(&error);

    j = json_open("{\n\"a\": tr", 9, "cut");
    json_object(j);
    g_assert_nonnull(json_key(j));
    g_assert_false(json_bool(j));
    g_assert_true(json_cut(j) && !json_bad(j) && !json_key(j));
    json_fail(j, "no schema");
    g_assert_false(json_close(j, &error));
    g_assert_cmpstr(error->message, ==, "cut:2: \"a\": no schema; the file ends in the middle");
    g_clear_error(&error);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/json/whole-and-cut", test_whole_and_cut);
    g_test_add_func("/json/flips", test_flips);
    g_test_add_func("/json/whole-numbers", test_whole_numbers);
    g_test_add_func("/json/random-numbers", test_random_numbers);
    g_test_add_func("/json/times", test_times);
    g_test_add_func("/json/texts", test_texts);
    g_test_add_func("/json/tolerance", test_tolerance);
    g_test_add_func("/json/deep", test_deep);
    g_test_add_func("/json/errors", test_errors);
    return g_test_run();
}
