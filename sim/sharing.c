#include "sim/sharing.h"

#include <string.h>

#include "plan/plan.h"

/* Digits first: g_ascii_strtod alone would take "nan", "0x1p3", " 1" and "-0". */
static bool parse_number(const char *text, double *out)
{
    char *end;
    if (!g_ascii_isdigit(*text) || strspn(text, "0123456789.e+-") < strlen(text))
        return false;
    *out = g_ascii_strtod(text, &end);
    return !*end;
}

static bool parse(struct sharing *s, const char *text)
{
    double number;
    if (!strcmp(text, "none")) {
        s->interference = INTERFERENCE_NONE;
        return true;
    }
    if (g_str_has_prefix(text, "factor:") && parse_number(text + strlen("factor:"), &number) && number >= 1 &&
        number <= SHARING_FACTOR_MAX) {
        s->interference = INTERFERENCE_FACTOR;
        s->factor = number;
        return true;
    }
    if (g_str_has_prefix(text, "sm:") && parse_number(text + strlen("sm:"), &number) && number >= 1 &&
        number <= 65535 && number == (uint32_t)number) {
        s->interference = INTERFERENCE_SM;
        s->sms = (uint32_t)number;
        return true;
    }
    return false;
}

bool sharing_interference(struct sharing *s, const char *text, GError **error)
{
    if (parse(s, text))
        return true;
    g_set_error(
        error, PLAN_ERROR, PLAN_ERROR_INPUT,
        "interference: cannot take \"%.60s\"; write none, factor:X with X from 1 to %d, or sm:K with a "
        "whole K of at least 1",
        text, SHARING_FACTOR_MAX);
    return false;
}

char *sharing_text(const struct sharing *s)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    switch (s->interference) {
    case INTERFERENCE_FACTOR:
        g_ascii_formatd(number, sizeof number, "%.6g", s->factor);
        return g_strdup_printf("computation takes %s times as long beside communication", number);
    case INTERFERENCE_SM:
        return g_strdup_printf("%u SM%s held by communication", s->sms, s->sms == 1 ? "" : "s");
    default:
        return g_strdup("");
    }
}
