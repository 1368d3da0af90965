#include "profile/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

void table_init(struct table *table, const char *title, ...)
{
    *table = (struct table){0, g_string_new(NULL), g_ptr_array_new_with_free_func(g_free),
                            g_ptr_array_new_with_free_func(g_free)};
    va_list args;
    va_start(args, title);
    for (; title; title = va_arg(args, const char *))
        table_column(table, title[0], g_strdup(title + 1));
    va_end(args);
}

void table_column(struct table *table, char align, char *title)
{
    g_string_append_c(table->align, align);
    table_cell(table, title);
    table->n_columns++;
}

void table_release(struct table *table)
{
    g_string_free(table->align, TRUE);
    g_ptr_array_unref(table->cells);
    g_ptr_array_unref(table->notes);
}

void table_cell(struct table *table, char *text)
{
    g_ptr_array_add(table->cells, text);
}

void table_end_row(struct table *table, const char *note)
{
    g_ptr_array_add(table->notes, g_strdup(note));
    g_assert(table->cells->len == table->notes->len * table->n_columns);
}

static glong width(const char *text)
{
    glong columns = 0;
    for (; *text; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);
        columns += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return columns;
}

static void pad(GString *out, glong n)
{
    for (; n > 0; n--)
        g_string_append_c(out, ' ');
}

void table_print(const struct table *table, GString *out)
{
    glong *widths = g_new0(glong, table->n_columns);
    for (guint i = 0; i < table->cells->len; i++)
        widths[i % table->n_columns] = MAX(widths[i % table->n_columns], width(table->cells->pdata[i]));
    for (guint row = 0; row < table->notes->len; row++) {
        gsize line = out->len;
        for (guint column = 0; column < table->n_columns; column++) {
            const char *cell = table->cells->pdata[row * table->n_columns + column];
            glong space = widths[column] - width(cell);
            bool right = table->align->str[column] == '>';
            pad(out, (column ? 2 : 0) + (right ? space : 0));
            g_string_append(out, cell);
            pad(out, right ? 0 : space);
        }
        if (table->notes->pdata[row])
            g_string_append(out, table->notes->pdata[row]);
        while (out->len > line && out->str[out->len - 1] == ' ')
            g_string_truncate(out, out->len - 1);
        g_string_append_c(out, '\n');
    }
    g_free(widths);
}

char *printable(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
    GString *out = g_string_new(NULL);
    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        g_string_append_unichar(out, g_unichar_isprint(c) ? c : '?');
    }
    return g_string_free(out, FALSE);
}

char *printable_ends(const char *text, gsize part)
{
    g_autofree char *whole = printable(text);
    const gsize n = strlen(whole);
    if (n <= 2 * part)
        return g_steal_pointer(&whole);
    const char *from = whole + n - part;
    gsize to = part;
    while ((whole[to] & 0xc0) == 0x80) /* no half of a character */
        to--;
    while ((*from & 0xc0) == 0x80)
        from++;
    return g_strdup_printf("%.*s\u2026%s", (int)to, whole, from);
}
