#include "cli/options.h"

#include <string.h>

#include "base/decimal.h"
#include "cli/cli.h"

G_DEFINE_QUARK(parprof_option, option_error)

/* Stands for a "--" that GOption would take away. */
#define BETWEEN "\1--"

#define TEXT   TAKES_TEXT
#define TUPLE  TAKES_TUPLE
#define NUMBER TAKES_NUMBER
#define COUNT  TAKES_COUNT
#define FLAG   TAKES_NOTHING
const struct option_spec option_specs[N_OPTIONS] = {
#define SECTION(...)
#define OPTION(id, ...) {__VA_ARGS__},
#include "cli/options.def"
#undef OPTION
#undef SECTION
};

/* A heading takes no number of its own: the option after it has the same. */
enum {
#define SECTION(id, title) FIRST_##id, BEFORE_##id = FIRST_##id - 1,
#define OPTION(id, ...)    PLACE_##id,
#include "cli/options.def"
#undef OPTION
#undef SECTION
};

const struct option_section option_sections[] = {
#define SECTION(id, title) {title, FIRST_##id},
#define OPTION(...)
#include "cli/options.def"
#undef OPTION
#undef SECTION
    {NULL, N_OPTIONS},
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

bool option_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    if (!*list)
        return true;
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' '))
            return true;
    return false;
}

/* As in INI files: "3e0" and "+3" are no counts. */
static bool is_digits(const char *text)
{
    return *text && !text[strspn(text, "0123456789")];
}

static bool parse_number(const struct option_spec *spec, const char *text, double *out, GError **error)
{
    const bool whole = spec->type == COUNT, below = whole && *text == '-';
    double x;
    if (!decimal_double(text, text + strlen(text), &x) || (whole && !is_digits(text + below)))
        usage(error, "--%s takes a %snumber, not '%s'", spec->name, whole ? "whole " : "", text);
    else if (x < spec->min || x > spec->max || below)
        usage(error, "--%s takes %.10g to %.10g, not '%s'", spec->name, spec->min, spec->max, text);
    else {
        *out = x;
        return true;
    }
    return false;
}

static const struct option_spec *find(const char *option)
{
    for (unsigned i = 0; i < N_OPTIONS; i++)
        if (option[1] == '-' ? !strcmp(option_specs[i].name, option + 2)
                             : option_specs[i].letter == option[1])
            return &option_specs[i];
    return NULL;
}

bool options_set(struct options *o, enum option_id id, const char *text, GError **error)
{
    const struct option_spec *spec = &option_specs[id];
    o->given[id] = true;
    if (spec->type == FLAG)
        o->value[id].on = true;
    else if (spec->type == NUMBER || spec->type == COUNT)
        return parse_number(spec, text, &o->value[id].number, error);
    else if (*text || id == OPTION_TITLE)
        o->value[id].text = g_string_chunk_insert(o->strings, text);
    else {
        usage(error, "--%s takes %s, not an empty text", spec->name, spec->argument);
        return false;
    }
    return true;
}

/* "run plan sweep" as "'run', 'plan' and 'sweep'".  g_free */
static char *enumerated(const char *words)
{
    g_auto(GStrv) each = g_strsplit(words, " ", -1);
    const guint n = g_strv_length(each);
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < n; i++)
        g_string_append_printf(out, "%s'%s'", i == 0 ? "" : i + 1 == n ? " and " : ", ", each[i]);
    return g_string_free(out, FALSE);
}

/* GOption calls this for every option of the table, as "--name" or "-n". */
static gboolean set(const char *option, const char *text, gpointer data, GError **error)
{
    struct options *o = data;
    const struct option_spec *spec = find(option);
    unsigned id = spec - option_specs;
    if (!option_listed(spec->commands, o->command)) {
        g_autofree char *of = enumerated(spec->commands);
        usage(error, "--%s is an option of %s, not of '%s': leave it out", spec->name, of, o->command);
        return FALSE;
    }
    if (strcmp(o->command, "sweep") || spec->type == FLAG)
        return options_set(o, id, text, error);
    if (!o->texts[id])
        o->texts[id] = g_ptr_array_new();
    o->given[id] = true;
    g_ptr_array_add(o->texts[id], g_string_chunk_insert(o->strings, text));
    return TRUE;
}

bool options_preset(struct options *o, const char *name, const char *text, GError **error)
{
    g_autofree char *option = g_strconcat("--", name, NULL);
    const struct option_spec *spec = find(option);
    if (!spec) {
        usage(error, "there is no option --%s: 'parprof --help' lists them", name);
        return false;
    }
    if (o->given[spec - option_specs] || (spec->type == FLAG && !strcmp(text, "no")))
        return true;
    if (spec->type == FLAG && strcmp(text, "yes")) {
        usage(error, "--%s is yes or no, not '%s'", name, text);
        return false;
    }
    o->offered[spec - option_specs] = true;
    return set(option, text, o, error);
}

static GOptionContext *context_new(struct options *o)
{
    GOptionContext *context = g_option_context_new(NULL);
    GOptionGroup *group = g_option_group_new("all", "", "", o, NULL);
    for (unsigned i = 0; i < N_OPTIONS; i++) {
        GOptionEntry entry[2] = {{option_specs[i].name, option_specs[i].letter, 0, G_OPTION_ARG_CALLBACK,
                                  (gpointer)set, NULL, NULL}};
        /* Raw bytes: a file's name need not be text of the locale. */
        entry[0].flags = option_specs[i].type == FLAG ? G_OPTION_FLAG_NO_ARG : G_OPTION_FLAG_FILENAME;
        g_option_group_add_entries(group, entry);
    }
    GOptionEntry general[] = {{"help", 'h', 0, G_OPTION_ARG_NONE, &o->help, NULL, NULL},
                              {"version", 0, 0, G_OPTION_ARG_NONE, &o->version, NULL, NULL},
                              {0}};
    g_option_group_add_entries(group, general);
    g_option_context_set_main_group(context, group);
    g_option_context_set_help_enabled(context, FALSE);
    return context;
}

static bool find_command(struct options *o, const char *name, GError **error)
{
    const struct command *command = command_find(name);
    if (command) {
        o->command = command->name;
        return true;
    }
    usage(error, "unknown command '%s': 'parprof --help' lists them", name);
    return false;
}

static bool operands_ok(const struct options *o, GError **error)
{
    const struct command *command = command_find(o->command);
    unsigned n = g_strv_length(o->operands);
    if (n < command->least) {
        if (n)
            usage(error, "'%s' takes %s, and '%s' is all that is named", o->command, command->operands,
                  o->operands[n - 1]);
        else
            usage(error, "'%s' takes %s: name one", o->command, command->operands);
        return false;
    }
    if (n > command->most) {
        if (command->most)
            usage(error, "'%s' takes %s, and '%s' is one too many", o->command, command->operands,
                  o->operands[command->most]);
        else
            usage(error, "'%s' is not an option, and '%s' takes nothing else", o->operands[0], o->command);
        return false;
    }
    return true;
}

/* GOption would take "--quiet=no" for "--quiet". */
static bool flags_bare(char **args, GError **error)
{
    for (; *args && strcmp(*args, "--"); args++) {
        const char *equals = g_str_has_prefix(*args, "--") ? strchr(*args, '=') : NULL;
        g_autofree char *name = equals ? g_strndup(*args, (gsize)(equals - *args)) : NULL;
        const struct option_spec *spec = name ? find(name) : NULL;
        if (spec && spec->type == FLAG) {
            usage(error, "%s takes no value: leave out '%s'", name, equals);
            return false;
        }
    }
    return true;
}

/* GOption leaves the "--" that stands before what is no option. */
static unsigned drop_separator(char **operands, const char *separator)
{
    unsigned before = 0;
    for (; *operands && strcmp(*operands, separator); operands++)
        before++;
    if (!*operands)
        return 0;
    g_free(*operands);
    for (; *operands; operands++)
        operands[0] = operands[1];
    return before;
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
    if (!flags_bare(args, error))
        return false;
    const bool sides = command_find(o->command)->sides;
    for (char **arg = args; sides && *arg; arg++)
        if (!strcmp(*arg, "--")) {
            g_free(*arg);
            *arg = g_strdup(BETWEEN);
        }
    g_autoptr(GOptionContext) context = context_new(o);
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
    o->operands = args[0] ? g_strdupv(args + 1) : g_new0(char *, 1);
    o->n_before = drop_separator(o->operands, sides ? BETWEEN : "--");
    return o->help || o->version || operands_ok(o, error);
}

void options_release(struct options *o)
{
    for (unsigned i = 0; i < N_OPTIONS; i++)
        g_clear_pointer(&o->texts[i], g_ptr_array_unref);
    g_clear_pointer(&o->operands, g_strfreev);
    g_clear_pointer(&o->strings, g_string_chunk_free);
}

void options_copy(struct options *to, const struct options *from)
{
    *to = *from;
    to->strings = g_string_chunk_new(256);
    to->operands = g_strdupv(from->operands);
    for (unsigned i = 0; i < N_OPTIONS; i++) {
        to->texts[i] = NULL;
        if (from->given[i] && from->value[i].text &&
            (option_specs[i].type == TEXT || option_specs[i].type == TUPLE))
            to->value[i].text = g_string_chunk_insert(to->strings, from->value[i].text);
    }
}

char *option_words(const char *list, const char *between)
{
    g_auto(GStrv) words = g_strsplit(list, " ", -1);
    return g_strjoinv(between, words);
}

bool options_check(const struct options *o, const char *mode, const char *backend, GError **error)
{
    for (unsigned i = 0; i < N_OPTIONS; i++) {
        if (!o->given[i])
            continue;
        if (!option_listed(option_specs[i].modes, mode)) {
            g_autofree char *owners = option_words(option_specs[i].modes, " or ");
            usage(error, "--%s belongs to --mode %s, not to %s: leave it out", option_specs[i].name, owners,
                  mode);
            return false;
        }
        if (backend && !o->offered[i] && !option_listed(option_specs[i].backends, backend)) {
            g_autofree char *owners = option_words(option_specs[i].backends, " or ");
            usage(error, "--%s belongs to --backend %s, not to %s: leave it out or say --backend %s",
                  option_specs[i].name, owners, backend, owners);
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

bool option_unknown(GError **error, enum option_id id, const char *text, const char *known)
{
    g_set_error(error, OPTION_ERROR, 0, "--%s takes %s, not '%s'", option_name(id), known, text);
    return false;
}

bool option_of_look(enum option_id id)
{
    return id >= (unsigned)FIRST_LOOK;
}

const char *option_name(enum option_id id)
{
    return option_specs[id].name;
}

bool option_link(const struct options *o, const char *fallback, double *gbps, double *us, GError **error)
{
    const char *text = option_text(o, OPTION_LINK, fallback);
    const char *comma, *end;
    *gbps = *us = 0;
    if (!strcmp(text, "none"))
        return true;
    if (decimal_begin(text, &comma, gbps) && *comma == ',' && decimal_begin(comma + 1, &end, us) && !*end &&
        *gbps >= 1e-3 && *gbps <= 1e6 && *us >= 0 && *us <= 1e6)
        return true;
    usage(error, "--link takes GBPS,US (rate in Gb/s from 0.001, latency in microseconds) or none, not '%s'",
          text);
    return false;
}
