#include "profile/kernel-name.h"

#include <stdbool.h>
#include <string.h>

void kernel_name(const char *mangled, GString *out)
{
    const gsize before = out->len;
    const char *p = mangled;
    if (g_str_has_prefix(mangled, "_Z")) {
        const bool nested = mangled[2] == 'N';
        p += nested ? 3 : 2;
        while (g_ascii_isdigit(*p) && (nested || out->len == before)) {
            char *name;
            guint64 n = g_ascii_strtoull(p, &name, 10);
            if (n == 0 || n > strlen(name))
                break;
            g_string_append(out, out->len > before ? "::" : "");
            g_string_append_len(out, name, (gssize)n);
            p = name + n;
        }
    }
    if (out->len == before)
        g_string_append(out, mangled);
}

#define ANONYMOUS "(anonymous namespace)"

char *kernel_short_name(const char *name)
{
    g_autoptr(GString) whole = g_string_new(NULL);
    kernel_name(name, whole);
    const char *from = g_str_has_prefix(whole->str, "void ") ? whole->str + strlen("void ") : whole->str,
               *end = from;
    while (*end && *end != '<' && (*end != '(' || g_str_has_prefix(end, ANONYMOUS))) {
        if (g_str_has_prefix(end, "::"))
            from = end + strlen("::");
        end += *end == '(' ? strlen(ANONYMOUS) : 1;
    }
    while (end > from && end[-1] == ' ')
        end--;
    return end > from ? g_strndup(from, (gsize)(end - from)) : g_strdup(whole->str);
}
