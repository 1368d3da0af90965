#include "cli/exhaust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* What to lower, and what is read.  Nothing is allocated when it is needed. */
static char advice[512];

/* Of a sweep every value is one of several. */
static const char *value_of(const struct options *o, enum option_id id, char number[static 32])
{
    if (o->texts[id])
        return "";
    snprintf(number, 32, " %.10g", option_number(o, id, 0));
    return number;
}

/* What the length of plans and timelines grows with. */
static void advise_options(const struct options *o, GString *out)
{
    static const enum option_id ids[] = {OPTION_RANKS,      OPTION_CHUNKS,          OPTION_CHAIN,
                                         OPTION_ACCUMULATE, OPTION_STAGES_PER_RANK, OPTION_LAYERS,
                                         OPTION_STEPS};
    const char *before = "the plan and its times are too large, lower ";
    for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++)
        if (o->given[ids[i]]) {
            char number[32];
            g_string_append_printf(out, "%s--%s%s", before, option_name(ids[i]), value_of(o, ids[i], number));
            before = " or ";
        }
    if (!out->len)
        g_string_append_printf(out, "%sthe number of ranks or of layers, by --ranks or --layers", before);
    g_string_append(out, ", or allow more memory (ulimit -v)");
}

static void find_advice(const struct options *o, GString *out)
{
    for (char **operand = o->operands; operand && *operand; operand++)
        g_string_append_printf(out, "%s%s", out->len ? ", " : "", *operand);
    if (out->len)
        g_string_append(out, " is too large for the memory here: allow more (ulimit -v)");
    else
        advise_options(o, out);
}

static bool find_bytes(const char *message, guint64 *bytes)
{
    const char *number = strstr(message, "allocate ");
    char *end = NULL;
    if (number)
        *bytes = g_ascii_strtoull(number + strlen("allocate "), &end, 10);
    return end && g_str_has_prefix(end, " bytes");
}

static void end(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written; /* there is nothing else to tell it to */
    _exit(EXIT_USAGE);
}

static void on_message(const char *domain, GLogLevelFlags level, const char *message, gpointer unused)
{
    char text[sizeof advice + 128];
    guint64 bytes;
    if (level & G_LOG_LEVEL_ERROR && find_bytes(message, &bytes)) {
        snprintf(text, sizeof text, "parprof: out of memory, %.1f MiB more could not be had: %s\n",
                 (double)bytes / 1048576, advice);
        end(text);
    }
    g_log_default_handler(domain, level, message, unused);
}

void exhaust_expect(const struct options *o)
{
    g_autoptr(GString) text = g_string_new(NULL);
    find_advice(o, text);
    for (char *c = text->str; *c; c++)
        *c = g_ascii_iscntrl(*c) ? '?' : *c; /* a file's name may not steer the terminal */
    g_strlcpy(advice, text->str, sizeof advice);
    g_log_set_default_handler(on_message, NULL);
}
