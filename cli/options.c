#include "cli/options.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"

G_DEFINE_QUARK(parprof - option, option_error)

enum type { TEXT, NUMBER, COUNT, FLAG };

static const struct spec {
    const char *name;
    char letter;
    uint8_t type; /* enum type */
    const char *argument;
    double min, max;
    const char *commands, *modes, *backends, *help;
} specs[N_OPTIONS] = {
#define OPTION(id, ...) {__VA_ARGS__},
#include "cli/options.def"
#undef OPTION
};

static void usage(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void usage(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, OPTION_ERROR, 0, message);
}

/* Whether a space-separated list has a word; an empty list has every word. */
static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    if (!*list)
        return true;
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

static bool parse_number(const struct spec *spec, const char *text, double *out, GError **error)
{
    char *end;
    double x = g_ascii_strtod(text, &end);
    if (end == text || *end || strpbrk(text, "xX") || !isfinite(x) || (spec->type == COUNT && x != floor(x)))
        usage(error, "--%s takes a %snumber, not '%s'", spec->name, spec->type == COUNT ? "whole " : "",
              text);
    else if (x < spec->min || x > spec->max)
        usage(error, "--%s takes %.10g to %.10g, not '%s'", spec->name, spec->min, spec->max, text);
    else {
        *out = x;
        return true;
    }
    return false;
}

static const struct spec *find(const char *option)
{
    for (unsigned i = 0; i < N_OPTIONS; i++)
        if (option[1] == '-' ? !strcmp(specs[i].name, option + 2) : specs[i].letter == option[1])
            return &specs[i];
    return NULL;
}

/* GOption calls this for every option of the table, as "--name" or "-n". */
static gboolean set(const char *option, const char *text, gpointer data, GError **error)
{
    struct options *o = data;
    const struct spec *spec = find(option);
    unsigned id = spec - specs;
    if (!listed(spec->commands, o->command)) {
        usage(error, "--%s is an option of '%s', not of '%s': leave it out", spec->name, spec->commands,
              o->command);
        return FALSE;
    }
    o->given[id] = true;
    if (spec->type == FLAG)
        o->value[id].on = true;
    else if (spec->type == TEXT && !*text) {
        usage(error, "--%s takes %s, not an empty text", spec->name, spec->argument);
        return FALSE;
    } else if (spec->type == TEXT)
        o->value[id].text = g_string_chunk_insert(o->strings, text);
    else
        return parse_number(spec, text, &o->value[id].number, error);
    return TRUE;
}

/* A context with the options of one command, or with all. */
static GOptionContext *context_new(struct options *o, const char *command)
{
    GOptionContext *context = g_option_context_new(NULL);
    GOptionGroup *group = g_option_group_new("all", "", "", o, NULL);
    for (unsigned i = 0; i < N_OPTIONS; i++) {
        GOptionEntry entry[2] = {{specs[i].name, specs[i].letter, 0, G_OPTION_ARG_CALLBACK, (gpointer)set,
                                  specs[i].help, *specs[i].argument ? specs[i].argument : NULL}};
        /* Raw bytes: a file's name need not be text of the locale. */
        entry[0].flags = specs[i].type == FLAG ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME;
        if (!command || listed(specs[i].commands, command))
            g_option_group_add_entries(group, entry);
    }
    GOptionEntry general[] = {
        {"help", 'h', 0, G_OPTION_ARG_NONE, &o->help, "this", NULL},
        {"version", 0, 0, G_OPTION_ARG_NONE, &o->version, "the program's version", NULL},
        {0}};
    g_option_group_add_entries(group, general);
    g_option_context_set_main_group(context, group);
    g_option_context_set_help_enabled(context, FALSE);
    return context;
}

static bool find_command(struct options *o, const char *name, GError **error)
{
    for (unsigned c = 0; commands[c]; c++)
        if (!strcmp(name, commands[c]->name)) {
            o->command = commands[c]->name;
            return true;
        }
    usage(error, "unknown command '%s': 'parprof --help' lists them", name);
    return false;
}

bool options_parse(struct options *o, int argc, char **argv, GError **error)
{
    *o = (struct options){.command = commands[0]->name, .strings = g_string_chunk_new(256)};
    bool named = argc > 1 && argv[1][0] != '-';
    if (named && !find_command(o, argv[1], error))
        return false;
    g_auto(GStrv) args = g_new0(char *, argc + 1);
    for (int i = 0, n = 0; i < argc; i++)
        if (i != 1 || !named)
            args[n++] = g_strdup(argv[i]);
    g_autoptr(GOptionContext) context = context_new(o, NULL);
    GError *bad = NULL;
    if (!g_option_context_parse_strv(context, &args, &bad)) {
        if (bad->domain == OPTION_ERROR)
            g_propagate_error(error, bad);
        else {
            usage(error, "%s: 'parprof --help' lists the options", bad->message);
            g_error_free(bad);
        }
        return false;
    }
    if (args[0] && args[1]) {
        usage(error, "'%s' is not an option, and '%s' takes nothing else", args[1], o->command);
        return false;
    }
    return true;
}

bool options_preset(struct options *o, const char *name, const char *text, GError **error)
{
    g_autofree char *option = g_strconcat("--", name, NULL);
    const struct spec *spec = find(option);
    if (!spec) {
        usage(error, "there is no option --%s: 'parprof --help' lists them", name);
        return false;
    }
    if (o->given[spec - specs] || (spec->type == FLAG && !strcmp(text, "no")))
        return true;
    if (spec->type == FLAG && strcmp(text, "yes")) {
        usage(error, "--%s is yes or no, not '%s'", name, text);
        return false;
    }
    return set(option, text, o, error);
}

void options_release(struct options *o)
{
    g_clear_pointer(&o->strings, g_string_chunk_free);
}

bool options_check(const struct options *o, const char *mode, const char *backend, GError **error)
{
    for (unsigned i = 0; i < N_OPTIONS; i++) {
        if (!o->given[i])
            continue;
        if (!listed(specs[i].modes, mode)) {
            usage(error, "--%s belongs to --mode %s, not to %s: leave it out", specs[i].name, specs[i].modes,
                  mode);
            return false;
        }
        if (backend && !listed(specs[i].backends, backend)) {
            usage(error, "--%s belongs to --backend %s, not to %s: leave it out or say --backend %s",
                  specs[i].name, specs[i].backends, backend, specs[i].backends);
            return false;
        }
    }
    return true;
}

const char *option_text(const struct options *o, enum option_id id, const char *fallback)
{
    return o->given[id] ? o->value[id].text : fallback;
}

double option_number(const struct options *o, enum option_id id, double fallback)
{
    return o->given[id] ? o->value[id].number : fallback;
}

const char *option_name(enum option_id id)
{
    return specs[id].name;
}

bool option_link(const struct options *o, double *gbps, double *us, GError **error)
{
    const char *text = option_text(o, OPTION_LINK, "10,20");
    char *comma, *end;
    *gbps = *us = 0;
    if (!strcmp(text, "none"))
        return true;
    *gbps = g_ascii_strtod(text, &comma);
    if (comma != text && *comma == ',' && !strpbrk(text, "xX")) {
        *us = g_ascii_strtod(comma + 1, &end);
        if (end != comma + 1 && !*end && isfinite(*gbps) && *gbps >= 1e-3 && *gbps <= 1e6 && isfinite(*us) &&
            *us >= 0 && *us <= 1e6)
            return true;
    }
    usage(error, "--link takes GBPS,US (rate in Gb/s from 0.001, latency in microseconds) or none, not '%s'",
          text);
    return false;
}

char *options_help(const char *command)
{
    struct options unused = {0};
    g_autoptr(GOptionContext) context = context_new(&unused, command);
    g_autoptr(GString) summary = g_string_new("Timelines of parallel training: predicts them, runs them, "
                                              "measures what communication hides.\n\nCommands:\n");
    for (unsigned c = 0; commands[c]; c++)
        g_string_append_printf(summary, "  %-8s %s%s\n", commands[c]->name, commands[c]->summary,
                               c ? "" : " (needs not be said)");
    g_option_context_set_summary(context, summary->str);
    g_option_context_set_description(
        context, "MB means MiB, as in PyTorch.  'parprof list' says what names there are.\n"
                 "Exit status: 0 done, 2 bad usage or input, 4 backend not available here,\n"
                 "5 the run failed, 130 interrupted.\n");
    return g_option_context_get_help(context, TRUE, NULL);
}
