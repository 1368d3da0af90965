#include "profile/read.h"

#include <string.h>

bool read_schema(struct json *j, const char *wanted)
{
    const char *schema = json_text(j);
    bool same = !strcmp(schema, wanted);
    if (!same && !json_cut(j))
        json_fail(j, "found \"%s\", should be \"%s\"", schema, wanted);
    return same;
}

void read_text(struct json *j, char **text)
{
    g_clear_pointer(text, g_free);
    if (json_peek(j) == JSON_NULL)
        json_skip(j);
    else
        *text = g_strdup(json_text(j));
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
