#include "viz/lang.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/ini.h"

#define DIR      "lang"
#define STANDARD "en"
#define BUFFERS  16 /* more than a text has numbers */

struct language {
    char *code;
    GHashTable *texts; /* "section.key" -> text */
};

static GHashTable *loaded; /* name -> struct language */

/* --- placeholders */

/* "{name}" or "{name|one|many}" at the brace; the parts are cut out of it.  NULL: it is not closed, or has no
 * name. */
static const char *take_placeholder(const char *at, char **parts[static 1])
{
    const char *end = strchr(at, '}');
    if (!end)
        return NULL;
    g_autofree char *inside = g_strndup(at + 1, (gsize)(end - at - 1));
    *parts = g_strsplit(inside, "|", -1);
    const guint n = g_strv_length(*parts);
    if ((n == 1 || n == 3) && *(*parts)[0])
        return end + 1;
    g_strfreev(*parts);
    return NULL;
}

/* The set of names, in order; NULL: what stands in braces is no placeholder. */
static GPtrArray *placeholders(const char *text)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *at = strchr(text, '{'); at; at = strchr(at, '{')) {
        char **parts;
        at = take_placeholder(at, &parts);
        if (!at) {
            g_ptr_array_unref(names);
            return NULL;
        }
        if (!g_ptr_array_find_with_equal_func(names, parts[0], g_str_equal, NULL))
            g_ptr_array_add(names, g_strdup(parts[0]));
        g_strfreev(parts);
    }
    return names;
}

/* A name of `these` that `those` lacks; NULL: none. */
static const char *lacking(const GPtrArray *these, const GPtrArray *those)
{
    for (guint i = 0; i < these->len; i++)
        if (!g_ptr_array_find_with_equal_func((GPtrArray *)those, these->pdata[i], g_str_equal, NULL))
            return these->pdata[i];
    return NULL;
}

/* --- files */

static bool check_text(const struct ini *ini, const char *group, const char *key, const char *text,
                       const char *english, GError **error)
{
    g_autoptr(GPtrArray) names = placeholders(text), wanted = english ? placeholders(english) : NULL;
    const char *name;

    if (!names)
        ini_error(ini, group, key, error, "'%s' has a brace that is neither {name} nor {name|one|many}",
                  text);
    else if (wanted && (name = lacking(wanted, names)))
        ini_error(ini, group, key, error, "'%s' lacks {%s}, which says a number or a name; en.ini has '%s'",
                  text, name, english);
    else if (wanted && (name = lacking(names, wanted)))
        ini_error(ini, group, key, error, "'%s' has {%s}, of which nothing is known; en.ini has '%s'", text,
                  name, english);
    else
        return true;
    return false;
}

/* english: NULL for itself. */
static bool read_group(struct language *l, struct ini *ini, const char *group, const struct language *english,
                       GError **error)
{
    g_auto(GStrv) keys = ini_keys(ini, group);

    for (char **key = keys; *key; key++) {
        g_autofree char *name = g_strconcat(group, ".", *key, NULL);
        const char *original = english ? g_hash_table_lookup(english->texts, name) : NULL;
        char *text;
        if (english && !original) {
            ini_error(ini, group, *key, error, "no figure asks for '%s', remove it or see en.ini", *key);
            return false;
        }
        if (!ini_string(ini, group, *key, NULL, &text, error))
            return false;
        g_hash_table_insert(l->texts, g_steal_pointer(&name), text);
        if (!check_text(ini, group, *key, text, original, error))
            return false;
    }
    return true;
}

static bool complete(const struct language *l, const struct ini *ini, const struct language *english,
                     GError **error)
{
    g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(english->texts), (GCompareFunc)strcmp);

    for (GList *k = keys; k; k = k->next) {
        const char *key = k->data, *dot = strchr(key, '.');
        if (g_hash_table_contains(l->texts, key))
            continue;
        g_autofree char *group = g_strndup(key, (gsize)(dot - key));
        ini_error(ini, group, NULL, error, "[%s] lacks '%s', which is '%s' in en.ini", group, dot + 1,
                  (const char *)g_hash_table_lookup(english->texts, key));
        return false;
    }
    return true;
}

static void language_free(gpointer data)
{
    struct language *l = data;

    g_hash_table_destroy(l->texts);
    g_free(l);
}

static struct language *read_language(const char *name, const struct language *english, GError **error)
{
    struct ini *ini = ini_load_text(DIR, name, error);
    if (!ini)
        return NULL;
    struct language *l = g_new0(struct language, 1);
    l->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_auto(GStrv) groups = ini_groups(ini);
    bool ok = true;
    for (char **group = groups; ok && *group; group++)
        ok = read_group(l, ini, *group, english, error);
    ok = ok && (!english || complete(l, ini, english, error));
    ini_free(ini);
    if (!ok) {
        language_free(l);
        return NULL;
    }
    l->code = g_hash_table_lookup(l->texts, "language.code");
    return l;
}

static const struct language *find(const char *name, const struct language *english, GError **error)
{
    if (!loaded)
        loaded = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, language_free);
    struct language *l = g_hash_table_lookup(loaded, name);
    if (!l && (l = read_language(name, english, error)))
        g_hash_table_insert(loaded, g_strdup(name), l);
    return l;
}

const struct language *language_find(const char *name, GError **error)
{
    return g_str_equal(name, STANDARD) ? language_standard() : find(name, language_standard(), error);
}

const struct language *language_standard(void)
{
    GError *error = NULL;
    const struct language *l = find(STANDARD, NULL, &error);

    g_assert_no_error(error);
    return l;
}

const char *language_code(const struct language *l)
{
    return l->code;
}

/* --- texts */

static const char *text_of(const struct language *l, const char *key)
{
    const char *text = g_hash_table_lookup(l->texts, key);

    if (!text)
        g_error("no language has a text '%s'; write it into viz/lang/*.ini", key);
    return text;
}

const char *word(const struct language *l, const char *key)
{
    return text_of(l, key);
}

const char *word_or(const struct language *l, const char *section, const char *name)
{
    g_autofree char *key = g_strconcat(section, ".", name, NULL);
    const char *text = g_hash_table_lookup(l->texts, key);

    return text ? text : name;
}

struct binding {
    const char *names[BUFFERS], *values[BUFFERS];
    unsigned n;
};

/* The text of a key with its placeholders filled. */
static char *fill(const char *key, const char *at, const struct binding *b)
{
    GString *out = g_string_new(NULL);

    for (const char *brace; (brace = strchr(at, '{'));) {
        char **parts;
        unsigned i = 0;
        g_string_append_len(out, at, brace - at);
        at = take_placeholder(brace, &parts);
        while (i < b->n && strcmp(b->names[i], parts[0]))
            i++;
        if (i == b->n)
            g_error("text '%s' is not given its {%s}", key, parts[0]);
        g_string_append(out, !parts[1] ? b->values[i] : g_str_equal(b->values[i], "1") ? parts[1] : parts[2]);
        g_strfreev(parts);
    }
    g_string_append(out, at);
    return g_string_free(out, FALSE);
}

char *say(const struct language *l, const char *key, ...)
{
    struct binding b = {0};
    va_list args;

    va_start(args, key);
    for (const char *name; b.n < BUFFERS && (name = va_arg(args, const char *)); b.n++) {
        b.names[b.n] = name;
        b.values[b.n] = va_arg(args, const char *);
    }
    va_end(args);
    return fill(key, text_of(l, key), &b);
}

/* Whether a text has that form, {name} standing for any: what each of them is then.  `kept` owns names and
 * values. */
static bool take_form(const char *form, const char *text, struct binding *b, GPtrArray *kept)
{
    for (const char *brace; (brace = strchr(form, '{')); b->n++) {
        const size_t before = (size_t)(brace - form);
        char **parts;
        if (b->n == BUFFERS || strncmp(form, text, before))
            return false;
        text += before;
        form = take_placeholder(brace, &parts);
        g_autofree char *after = g_strndup(form, strcspn(form, "{"));
        const char *end = *after ? strstr(text, after) : text + strlen(text);
        b->names[b->n] = g_strdup(parts[0]);
        g_ptr_array_add(kept, (gpointer)b->names[b->n]);
        g_strfreev(parts);
        if (!end)
            return false;
        b->values[b->n] = g_strndup(text, (gsize)(end - text));
        g_ptr_array_add(kept, (gpointer)b->values[b->n]);
        text = end;
    }
    return g_str_equal(form, text);
}

char *say_known(const struct language *l, const char *section, const char *text)
{
    g_autofree char *prefix = g_strconcat(section, ".", NULL);
    GHashTableIter i;
    gpointer key, form;
    size_t longest = 0;
    char *said = NULL;

    g_hash_table_iter_init(&i, language_standard()->texts);
    while (g_hash_table_iter_next(&i, &key, &form)) {
        g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(g_free);
        struct binding b = {0};
        /* A shorter one may take for a name what another has words for. */
        if (!g_str_has_prefix(key, prefix) || strlen(form) <= longest || !take_form(form, text, &b, kept))
            continue;
        longest = strlen(form);
        g_free(said);
        said = fill(key, text_of(l, key), &b);
    }
    return said ? said : g_strdup(text);
}

const char *count(uint64_t n)
{
    static char buffers[BUFFERS][24];
    static unsigned turn;
    char *text = buffers[turn++ % BUFFERS];

    g_snprintf(text, sizeof *buffers, "%" G_GUINT64_FORMAT, n);
    return text;
}
