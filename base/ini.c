#include "base/ini.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bom.h"
#include "base/data.h"
#include "base/decimal.h"

G_DEFINE_QUARK(parprof_ini, ini_error)

/* Far above any model, cluster or language. */
#define TEXT_MAX ((gsize)64 << 10)

/* A group's own line has no key. */
struct entry {
    char *group, *key;
    unsigned line;
    bool used;
};

struct ini {
    char *file, *text;
    GKeyFile *values;
    bool utf8;       /* outside comments too */
    GArray *entries; /* of struct entry, in file order */
    GHashTable *places; /* index in entries, plus 1, by group and key */
};

static void clear_entry(gpointer data)
{
    struct entry *e = data;
    g_free(e->group);
    g_free(e->key);
}

static char *place_of(const char *group, const char *key)
{
    return g_strconcat(group, key ? "\n" : NULL, key, NULL);
}

static struct entry *find(const struct ini *ini, const char *group, const char *key)
{
    g_autofree char *place = group ? place_of(group, key) : NULL;
    const guint at = place ? GPOINTER_TO_UINT(g_hash_table_lookup(ini->places, place)) : 0;

    return at ? &g_array_index(ini->entries, struct entry, at - 1) : NULL;
}

static void fail_line(const struct ini *ini, unsigned line, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static void fail_line(const struct ini *ini, unsigned line, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, INI_ERROR, 0, "%s:%u: %s", ini->file, line, what);
}

void ini_error(const struct ini *ini, const char *group, const char *key, GError **error, const char *format,
               ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    const struct entry *e = find(ini, group, key);
    if (!e)
        e = find(ini, group, NULL);
    if (e)
        fail_line(ini, e->line, error, "%s", what);
    else
        g_set_error(error, INI_ERROR, 0, "%s: %s", ini->file, what);
}

static bool is_word(const char *s)
{
    return *s && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] == '\0';
}

/* One line that is neither blank nor a comment; group is that of the lines before and after it. */
static bool scan_line(struct ini *ini, char *line, unsigned number, const char **group, GError **error)
{
    for (const char *c = line; *c; c++)
        if (!g_ascii_isprint(*c) && *c != '\t' && !(ini->utf8 && *c & 0x80)) {
            fail_line(ini, number, error, "byte 0x%02x, outside comments only printable ASCII is allowed",
                      (unsigned char)*c);
            return false;
        }
    struct entry entry = {.line = number};
    char *equals = strchr(line, '=');
    gsize length = strlen(line);
    if (line[0] == '[' && line[length - 1] == ']') {
        line[length - 1] = '\0';
        entry.group = line + 1;
    } else if (equals && *group) {
        *equals = '\0';
        entry.group = (char *)*group;
        entry.key = g_strchomp(line);
    } else {
        fail_line(ini, number, error,
                  equals ? "'%s' stands before the first [group], move it into one"
                         : "'%s' is neither [group], key = value nor # comment",
                  line);
        return false;
    }
    const char *word = entry.key ? entry.key : entry.group;
    if (!is_word(word)) {
        fail_line(ini, number, error, "'%s' is no name, write it in letters, digits, - and _", word);
        return false;
    }
    const struct entry *twin = find(ini, entry.group, entry.key);
    if (twin) {
        fail_line(ini, number, error, "%s '%s' stands on line %u already, remove one",
                  entry.key ? "key" : "group", word, twin->line);
        return false;
    }
    entry.group = g_strdup(entry.group);
    entry.key = g_strdup(entry.key);
    g_array_append_val(ini->entries, entry);
    g_hash_table_insert(ini->places, place_of(entry.group, entry.key), GUINT_TO_POINTER(ini->entries->len));
    *group = entry.group;
    return true;
}

static bool scan(struct ini *ini, const char *text, GError **error)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const char *group = NULL;
    for (unsigned i = 0; lines[i]; i++) {
        char *line = g_strstrip(lines[i]);
        if (*line && *line != '#' && !scan_line(ini, line, i + 1, &group, error))
            return false;
    }
    return true;
}

static struct ini *parse(const char *text, const char *file, bool utf8, GError **error)
{
    struct ini *ini = g_new0(struct ini, 1);
    text += bom_bytes(text, strlen(text));
    ini->utf8 = utf8;
    ini->file = g_strdup(file);
    ini->text = g_strdup(text);
    ini->values = g_key_file_new();
    ini->entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
    g_array_set_clear_func(ini->entries, clear_entry);
    ini->places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GError) cause = NULL;
    bool ok = false;
    if (strlen(text) > TEXT_MAX)
        ini_error(ini, NULL, NULL, error, "more than %u KiB, is this the right file?",
                  (unsigned)(TEXT_MAX >> 10));
    else if (utf8 && !g_utf8_validate(text, -1, NULL))
        ini_error(ini, NULL, NULL, error, "is not UTF-8, save it as such");
    else if (!scan(ini, text, error))
        ;
    else if (ini->entries->len == 0)
        ini_error(ini, NULL, NULL, error, "holds nothing, is this the right file?");
    else if (!g_key_file_load_from_data(ini->values, text, (gsize)-1, G_KEY_FILE_NONE, &cause))
        ini_error(ini, NULL, NULL, error, "%s", cause->message);
    else
        ok = true;
    if (!ok)
        g_clear_pointer(&ini, ini_free);
    return ini;
}

struct ini *ini_parse(const char *text, const char *file, GError **error)
{
    return parse(text, file, false, error);
}

static char *read_file(const char *name, GError **error)
{
    FILE *f = fopen(name, "rb");
    if (!f) {
        g_set_error(error, INI_ERROR, 0, "%s: cannot open: %s", name, g_strerror(errno));
        return NULL;
    }
    char *text = g_malloc(TEXT_MAX + 2);
    gsize n = fread(text, 1, TEXT_MAX + 1, f);
    text[n] = '\0';
    if (ferror(f)) {
        g_set_error(error, INI_ERROR, 0, "%s: cannot read: %s", name, g_strerror(errno));
        g_clear_pointer(&text, g_free);
    } else if (strlen(text) != n) {
        g_set_error(error, INI_ERROR, 0, "%s: holds a zero byte, is this the right file?", name);
        g_clear_pointer(&text, g_free);
    }
    fclose(f);
    return text;
}

static struct ini *load(const char *dir, const char *name, bool utf8, GError **error)
{
    if (strchr(name, '/') || g_str_has_suffix(name, ".ini")) {
        g_autofree char *text = read_file(name, error);
        return text ? parse(text, name, utf8, error) : NULL;
    }
    g_autofree char *file = g_strconcat(name, ".ini", NULL), *path = g_strconcat(dir, "/", file, NULL);
    for (const struct data_file *f = data_files; f->name; f++)
        if (strcmp(f->name, path) == 0)
            return parse(f->text, file, utf8, error);
    g_auto(GStrv) names = ini_list(dir);
    g_autofree char *list = g_strjoinv(", ", names);
    g_set_error(error, INI_ERROR, 0,
                "no '%s' among the built-in %s, have %s; a file's name has a / or ends in .ini", name, dir,
                list);
    return NULL;
}

struct ini *ini_load(const char *dir, const char *name, GError **error)
{
    return load(dir, name, false, error);
}

struct ini *ini_load_text(const char *dir, const char *name, GError **error)
{
    return load(dir, name, true, error);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **ini_list(const char *dir)
{
    GPtrArray *names = g_ptr_array_new();
    size_t n = strlen(dir);
    for (const struct data_file *f = data_files; f->name; f++)
        if (strncmp(f->name, dir, n) == 0 && f->name[n] == '/')
            g_ptr_array_add(names, g_strndup(f->name + n + 1, strlen(f->name + n + 1) - strlen(".ini")));
    qsort(names->pdata, names->len, sizeof *names->pdata, by_name);
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(names, FALSE);
}

void ini_free(struct ini *ini)
{
    if (!ini)
        return;
    g_free(ini->file);
    g_free(ini->text);
    g_key_file_free(ini->values);
    g_array_unref(ini->entries);
    g_hash_table_unref(ini->places);
    g_free(ini);
}

const char *ini_text(const struct ini *ini)
{
    return ini->text;
}

char **ini_groups(const struct ini *ini)
{
    return g_key_file_get_groups(ini->values, NULL);
}

char **ini_keys(const struct ini *ini, const char *group)
{
    char **keys = g_key_file_get_keys(ini->values, group, NULL, NULL);
    return keys ? keys : g_new0(char *, 1);
}

bool ini_has(const struct ini *ini, const char *group, const char *key)
{
    return find(ini, group, key) != NULL;
}

/* The value, which the caller frees.  Missing: NULL, with the error set unless there is a fallback. */
static char *take(struct ini *ini, const char *group, const char *key, bool fallback, GError **error)
{
    struct entry *g = find(ini, group, NULL), *e = find(ini, group, key);
    if (g)
        g->used = true;
    if (e) {
        e->used = true;
        return g_key_file_get_value(ini->values, group, key, NULL);
    }
    if (!fallback && g)
        ini_error(ini, group, NULL, error, "[%s] has no key '%s', add it", group, key);
    else if (!fallback)
        ini_error(ini, NULL, NULL, error, "there is no group [%s], add it", group);
    return NULL;
}

bool ini_uint(struct ini *ini, const char *group, const char *key, uint32_t min, uint32_t max,
              const uint32_t *fallback, uint32_t *out, GError **error)
{
    g_autofree char *text = take(ini, group, key, fallback, error);
    if (!text) {
        if (fallback)
            *out = *fallback;
        return fallback;
    }
    uint64_t number;
    if (!decimal_uint(text, min, max, &number)) {
        ini_error(ini, group, key, error, "%s is '%s', write a whole number from %u to %u", key, text, min,
                  max);
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

bool ini_double(struct ini *ini, const char *group, const char *key, double min, double max,
                const double *fallback, double *out, GError **error)
{
    g_autofree char *text = take(ini, group, key, fallback, error);
    if (!text) {
        if (fallback)
            *out = *fallback;
        return fallback;
    }
    double number;
    if (!decimal_double(text, text + strlen(text), &number) || number < min || number > max) {
        char low[G_ASCII_DTOSTR_BUF_SIZE], high[G_ASCII_DTOSTR_BUF_SIZE];
        g_ascii_formatd(low, sizeof low, "%g", min);
        g_ascii_formatd(high, sizeof high, "%g", max);
        ini_error(ini, group, key, error, "%s is '%s', write a number from %s to %s", key, text, low, high);
        return false;
    }
    *out = number;
    return true;
}

bool ini_string(struct ini *ini, const char *group, const char *key, const char *fallback, char **out,
                GError **error)
{
    char *text = take(ini, group, key, fallback, error);
    if (text && !*text) {
        ini_error(ini, group, key, error, "%s is empty, write something after the =", key);
        g_free(text);
        return false;
    }
    *out = text ? text : g_strdup(fallback);
    return *out;
}

bool ini_choice(struct ini *ini, const char *group, const char *key, const char *const *names,
                const unsigned *fallback, unsigned *out, GError **error)
{
    g_autofree char *text = take(ini, group, key, fallback, error);
    if (!text) {
        if (fallback)
            *out = *fallback;
        return fallback;
    }
    for (unsigned i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    ini_error(ini, group, key, error, "%s is '%s', write one of %s", key, text, list);
    return false;
}

bool ini_done(struct ini *ini, GError **error)
{
    for (guint i = 0; i < ini->entries->len; i++) {
        const struct entry *e = &g_array_index(ini->entries, struct entry, i);
        if (e->used)
            continue;
        if (e->key)
            fail_line(ini, e->line, error, "unknown key '%s' in [%s], remove it", e->key, e->group);
        else
            fail_line(ini, e->line, error, "unknown group [%s], remove it", e->group);
        return false;
    }
    return true;
}
