/* profile/export-fields.h -- members of the JSON of a trace, `before` standing before each. */
#ifndef PROFILE_EXPORT_FIELDS_H
#define PROFILE_EXPORT_FIELDS_H

#include "base/json.h"

/* Writes rows of one array or object: "[" or "{" before the first, "," before the others, each on a line. */
struct rows {
    GString *out;
    bool any;
};

static inline void next_row(struct rows *rows)
{
    g_string_append(rows->out, rows->any ? ",\n" : "\n");
    rows->any = true;
}

static inline void key(GString *out, const char *before, const char *name)
{
    g_string_append(out, before);
    g_string_append_c(out, '"');
    g_string_append(out, name);
    g_string_append(out, "\":");
}

static inline void text_field(GString *out, const char *before, const char *name, const char *text)
{
    key(out, before, name);
    json_string(out, text);
}

static inline void field(GString *out, const char *before, const char *name, int64_t x)
{
    key(out, before, name);
    json_int(out, x);
}

static inline void bytes_field(GString *out, const char *before, const char *name, uint64_t x)
{
    key(out, before, name);
    json_uint(out, x);
}

static inline void flag_field(GString *out, const char *name, bool set)
{
    key(out, ",", name);
    g_string_append(out, set ? "true" : "false");
}

/* An index that does not apply is left out. */
static inline void index_field(GString *out, const char *name, uint32_t index, uint32_t none)
{
    if (index != none)
        field(out, ",", name, index);
}

#endif
