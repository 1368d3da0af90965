#include "profile/read.h"

#include <stdlib.h>
#include <string.h>

bool read_schema(struct json *j, const char *wanted)
{
    const char *schema = json_text(j);
    bool same = !strcmp(schema, wanted);
    if (!same && !json_cut(j))
        json_fail(j, "found \"%s\", should be \"%s\"", schema, wanted);
    return same;
}

char *read_later_schema(const char *text, size_t n, const char *prefix)
{
    struct json *j = json_open(text, n, "");
    char *schema = NULL;
    json_object(j);
    for (const char *key; !schema && (key = json_key(j));)
        if (!strcmp(key, "schema"))
            read_text(j, &schema);
    if (schema && !(g_str_has_prefix(schema, prefix) && atoi(schema + strlen(prefix)) > 1))
        g_clear_pointer(&schema, g_free);
    json_close(j, NULL);
    return schema;
}

void read_text(struct json *j, char **text)
{
    g_clear_pointer(text, g_free);
    if (json_peek(j) == JSON_NULL)
        json_skip(j);
    else
        *text = g_strdup(json_text(j));
}

char **read_pairs(struct json *j)
{
    GPtrArray *all = g_ptr_array_new();
    json_object(j);
    for (const char *key; (key = json_key(j));) {
        char *value = NULL;
        g_ptr_array_add(all, g_strdup(key));
        read_text(j, &value);
        g_ptr_array_add(all, value ? value : g_strdup(""));
    }
    g_ptr_array_add(all, NULL);
    return (char **)g_ptr_array_free(all, FALSE);
}

void read_bytes(struct json *j, GArray **list)
{
    g_clear_pointer(list, g_array_unref);
    *list = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    for (json_array(j); json_element(j);) {
        uint64_t x = json_u64(j, UINT64_MAX);
        g_array_append_val(*list, x);
    }
}

uint8_t read_name(struct json *j, const char *(*name)(unsigned), unsigned n)
{
    const char *text = json_text(j);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(text, name(i)) == 0)
            return (uint8_t)i;
    if (!json_cut(j))
        json_fail(j, "\"%s\" is nothing that this version knows", text);
    return 0;
}
