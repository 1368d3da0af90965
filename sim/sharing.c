#include "sim/sharing.h"

#include <string.h>

#include "base/decimal.h"
#include "plan/plan.h"

/* What follows the prefix, as a number. */
static bool takes(const char *text, const char *prefix, double *out)
{
    if (!g_str_has_prefix(text, prefix))
        return false;
    text += strlen(prefix);
    return g_ascii_isdigit(*text) && decimal_double(text, text + strlen(text), out);
}

static bool parse(struct sharing *s, const char *text)
{
    double number;
    if (!strcmp(text, "none")) {
        s->interference = INTERFERENCE_NONE;
        return true;
    }
    if (takes(text, "factor:", &number) && number >= 1 && number <= SHARING_FACTOR_MAX) {
        s->interference = INTERFERENCE_FACTOR;
        s->factor = number;
        return true;
    }
    if (takes(text, "sm:", &number) && number >= 1 && number <= 65535 && number == (uint32_t)number) {
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
