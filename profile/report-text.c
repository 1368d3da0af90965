#include "profile/report-text.h"

#include <math.h>
#include <string.h>

#include "profile/table.h"

#define NAME_COLUMNS 28

int text_decimals(const struct report *r)
{
    int64_t step_ns = r->analysis->median_ns;
    return step_ns >= 10000000 ? 1 : step_ns >= 1000000 ? 2 : 3;
}

char *text_number(const char *format, double x)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(text, sizeof text, format, x));
}

char *text_perplexity(double loss)
{
    const double x = exp(loss);
    return text_number(x >= 9999.5 && x < 1e9 ? "%.0f" : "%.4g", x);
}

char *text_ms(int64_t ns, int decimals)
{
    const char *const formats[] = {"%.0f", "%.1f", "%.2f", "%.3f"};
    return text_number(formats[decimals], (double)ns / 1e6);
}

char *text_percent(double x)
{
    g_autofree char *text = text_number("%.1f", fabs(x));
    return g_strdup_printf("%s%s %%", x < 0 && strcmp(text, "0.0") ? "−" : "", text);
}

char *text_param(const struct trace *trace, uint32_t param)
{
    char *name = printable(trace->t.params[param].name);
    if (g_str_has_suffix(name, ".weight"))
        name[strlen(name) - strlen(".weight")] = '\0';
    glong length = g_utf8_strlen(name, -1);
    if (length <= NAME_COLUMNS)
        return name;
    g_autofree char *head = g_utf8_substring(name, 0, NAME_COLUMNS / 2 - 1);
    g_autofree char *tail = g_utf8_substring(name, length - NAME_COLUMNS / 2, length);
    g_free(name);
    return g_strdup_printf("%s…%s", head, tail);
}
