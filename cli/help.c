#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "config.h"

static const char about[] =
    "Timelines of parallel training: predicts them, runs them, measures what communication hides, "
    "draws them.";
static const char sweeping[] = "With sweep, an option may have several values: with commas (1,5,25), as a "
                               "range (1..8; 10..100+10 in steps, "
                               "1..64*2 by a factor), or given again. Every combination is a point: "
                               "simulated ones run on all cores, real ones one by one.";

static const struct {
    int status;
    const char *text;
} statuses[] = {{EXIT_DONE, "done"},
                {EXIT_SLOWER, "compare, gate: slower"},
                {EXIT_USAGE, "bad usage or input, or a file that could not be written"},
                {EXIT_INCOMPARABLE, "compare, gate: incomparable, or ambiguous with --inconclusive fail"},
                {EXIT_UNAVAILABLE, "backend not available here"},
                {EXIT_FAILED, "the run failed"},
                {EXIT_INTERRUPTED, "interrupted"}};

static const struct {
    const char *command, *text;
} examples[] = {
    {"parprof --mode ddp --bucket-mb 25", "train here, measure what overlap hides, draw the median step"},
    {"parprof --backend sim --model bert-base --ranks 8 --cluster dgx-h100", "predict a step on GPUs"},
    {"parprof sweep --backend sim --bucket-mb 1..100*2 -o sweep.svg", "find the best bucket size"},
    {"parprof --report r.json && parprof --backend sim --model mini --cost measured:r.json --cluster cpu "
     "--comm-model alpha-beta --ranks 8 --batch 32",
     "predict more ranks from what was measured"},
    {"parprof gate --base './old/train' --new './new/train' --samples 'regex:step ([0-9.]+) ms' --budget 5m",
     "whether a training script got slower, both run by turns"},
    {"parprof render step.json --figure timeline -o step.pdf", "draw a trace again, ours or of PyTorch's profiler"},
};

static const struct {
    const char *name, *text;
} variables[] = {
    {"OPENBLAS_CORETYPE", "as of OpenBLAS, whose kernels real runs use; threads are parprof's own"},
    {"PARPROF_JITTER",
     "a seed: CPU lanes are delayed at random, so that a missing dependency becomes a wrong number"},
    {"PARPROF_POISON", "1: memory that is not live is filled with NaN before every step"},
};

enum { WIDTH = 110 };

/* Words of text in lines of at most `width` columns (UTF-8), each after `indent` blanks but for the first. */
static void wrap(GString *out, const char *text, unsigned indent, unsigned width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    glong at = indent;
    for (unsigned i = 0; words[i]; i++) {
        glong length = g_utf8_strlen(words[i], -1);
        if (i && at + 1 + length > (glong)width) {
            g_string_append_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (i) {
            g_string_append_c(out, ' ');
            at++;
        }
        g_string_append(out, words[i]);
        at += length;
    }
    g_string_append_c(out, '\n');
}

static char *option_form(const struct option_spec *spec)
{
    return g_strdup_printf("%c%c%s --%s%s%s", spec->letter ? '-' : ' ', spec->letter ? spec->letter : ' ',
                           spec->letter ? "," : " ", spec->name, *spec->argument ? "=" : "", spec->argument);
}

/* An option that belongs to one backend, or mode, says so. */
static char *option_meaning(const struct option_spec *spec)
{
    g_autofree char *owners = option_words(spec->backends, ", ");
    return g_strdup_printf("%s%s%s", owners, *owners ? ": " : "", spec->help);
}

static void help_line(GString *out, const char *form, const char *meaning)
{
    enum { COLUMN = 34 };
    g_string_append_printf(out, "  %-*s", COLUMN - 2, form);
    if (strlen(form) > COLUMN - 4)
        g_string_append_printf(out, "\n%*s", COLUMN, "");
    wrap(out, meaning, COLUMN, WIDTH);
}

static void help_option(GString *out, const struct option_spec *spec)
{
    g_autofree char *form = option_form(spec), *meaning = option_meaning(spec);
    help_line(out, form, meaning);
}

static void help_section(GString *out, const struct option_section *section, const char *command)
{
    bool titled = false;
    for (unsigned i = section[0].first; i < section[1].first; i++) {
        if (command && !option_listed(option_specs[i].commands, command))
            continue;
        if (!titled)
            g_string_append_printf(out, "\n%s\n", section->title);
        titled = true;
        help_option(out, &option_specs[i]);
    }
}

static void help_usage(GString *out, const struct command *c)
{
    g_string_append_printf(out, "  parprof %s [option...]%s%s\n", c == commands[0] ? "[run]" : c->name,
                           c->operands ? " " : "", c->operands ? c->operands : "");
}

char *help_text(const char *command)
{
    GString *out = g_string_new("Usage\n");
    if (command)
        help_usage(out, command_find(command));
    else
        for (unsigned c = 0; commands[c]; c++)
            help_usage(out, commands[c]);
    g_string_append_c(out, '\n');
    wrap(out, about, 0, WIDTH);
    if (!command)
        g_string_append(out, "\nCommands\n");
    for (unsigned c = 0; !command && commands[c]; c++)
        g_string_append_printf(out, "  %-8s %s\n", commands[c]->name, commands[c]->summary);
    for (const struct option_section *s = option_sections; s->title; s++)
        help_section(out, s, command);
    g_string_append(out, "\nGeneral\n");
    help_line(out, "-h, --help", "this");
    help_line(out, "    --version", "the program's version");
    g_string_append_c(out, '\n');
    if (!command || !strcmp(command, command_sweep.name))
        wrap(out, sweeping, 0, WIDTH);
    wrap(out, "MB means MiB, as in PyTorch. 'parprof list' says what names there are.", 0, WIDTH);
    g_autoptr(GString) ends = g_string_new("Exit status:");
    for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++)
        g_string_append_printf(ends, "%s %d %s", i ? ";" : "", statuses[i].status, statuses[i].text);
    g_string_append_c(ends, '.');
    wrap(out, ends->str, 0, WIDTH);
    return g_string_free(out, FALSE);
}

/* Text for roff: what would be a command or an escape is none. */
static void roff(GString *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        g_string_append(out, "\\&");
    for (; *text; text++) {
        if (*text == '-')
            g_string_append(out, "\\-");
        else if (*text == '\\')
            g_string_append(out, "\\e");
        else
            g_string_append_c(out, *text);
    }
}

static void roff_item(GString *out, const char *term, const char *argument, const char *text)
{
    g_string_append(out, ".TP\n\\fB");
    roff(out, term);
    g_string_append(out, "\\fR");
    if (*argument) {
        g_string_append(out, "=\\fI");
        roff(out, argument);
        g_string_append(out, "\\fR");
    }
    g_string_append_c(out, '\n');
    roff(out, text);
    g_string_append_c(out, '\n');
}

static void man_options(GString *out)
{
    for (const struct option_section *s = option_sections; s->title; s++) {
        g_string_append_printf(out, ".SS %s\n", s->title);
        for (unsigned i = s[0].first; i < s[1].first; i++) {
            const struct option_spec *spec = &option_specs[i];
            g_autofree char *meaning = option_meaning(spec);
            g_autofree char *term = spec->letter ? g_strdup_printf("-%c, --%s", spec->letter, spec->name)
                                                 : g_strdup_printf("--%s", spec->name);
            roff_item(out, term, spec->argument, meaning);
        }
    }
}

static void manual(GString *out)
{
    g_string_append_printf(out, ".\\\" Made by 'parprof help man'.\n.TH PARPROF 1 \"\" \"parprof %s\"\n",
                           PACKAGE_VERSION);
    g_string_append(out, ".SH NAME\nparprof \\- timelines of parallel training\n.SH SYNOPSIS\n");
    for (unsigned c = 0; commands[c]; c++) {
        g_string_append_printf(out, "%s\\fBparprof\\fR %s [option...] ", c ? ".br\n" : "",
                               c ? commands[c]->name : "[run]");
        roff(out, commands[c]->operands ? commands[c]->operands : "");
        g_string_append_c(out, '\n');
    }
    g_string_append(out, ".SH DESCRIPTION\n");
    roff(out, about);
    g_string_append(out, "\n.SH COMMANDS\n");
    for (unsigned c = 0; commands[c]; c++)
        roff_item(out, commands[c]->name, "", commands[c]->summary);
    g_string_append(
        out, ".SH OPTIONS\nMB means MiB, as in PyTorch. \\fBparprof list\\fR says what names there are.\n");
    man_options(out);
    g_string_append(out, ".SH SWEEPS\n");
    roff(out, sweeping);
    g_string_append(out, "\n.SH EXAMPLES\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(examples); i++)
        roff_item(out, examples[i].command, "", examples[i].text);
    g_string_append(out, ".SH ENVIRONMENT\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(variables); i++)
        roff_item(out, variables[i].name, "", variables[i].text);
    g_string_append(out, ".SH EXIT STATUS\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(statuses); i++) {
        char number[16];
        g_snprintf(number, sizeof number, "%d", statuses[i].status);
        roff_item(out, number, "", statuses[i].text);
    }
}

/* Names come from the program as it is installed; an option's words are the first words of its help. */
static void completion(GString *out)
{
    g_string_append(
        out,
        "# Made by 'parprof help bash'.\n"
        "_parprof() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=run words\n"
        "    [[ $word == = ]] && word= || [[ $option == = ]] && option=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]] && command=${COMP_WORDS[1]}\n"
        "    case $option in\n");
    static const struct {
        enum option_id id;
        const char *section;
    } named[] = {{OPTION_MODE, "modes"},       {OPTION_BACKEND, "backends"}, {OPTION_MODEL, "models"},
                 {OPTION_CLUSTER, "clusters"}, {OPTION_PRESET, "presets"},   {OPTION_FIGURE, "figures"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(named); i++)
        g_string_append_printf(out,
                               "    --%s) words=$(parprof list | awk '/^[a-z]/ { on = $1 == \"%s\" } /^ / && "
                               "on { print $1 }') ;;\n",
                               option_name(named[i].id), named[i].section);
    g_string_append(out,
                    "    --*) case $word in -*) ;; *) COMPREPLY=($(compgen -f -- \"$word\")) ;; esac ;;\n"
                    "    esac\n"
                    "    if [[ -z $words && ( $word == -* || $COMP_CWORD -eq 1 ) ]]; then\n"
                    "        case $command in\n");
    for (unsigned c = 0; commands[c]; c++) {
        g_string_append_printf(out, "        %s) words='--help", commands[c]->name);
        for (unsigned i = 0; i < N_OPTIONS; i++)
            if (option_listed(option_specs[i].commands, commands[c]->name))
                g_string_append_printf(out, " --%s", option_specs[i].name);
        g_string_append(out, "' ;;\n");
    }
    g_string_append(out, "        esac\n        [[ $COMP_CWORD -eq 1 ]] && words+=' --version");
    for (unsigned c = 0; commands[c]; c++)
        g_string_append_printf(out, " %s", commands[c]->name);
    g_string_append(out, "'\n    fi\n"
                         "    [[ $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                         "    [[ ${COMPREPLY[*]} ]] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
                         "}\n"
                         "complete -o filenames -F _parprof parprof\n");
}

static bool help_command(const struct options *o, int *status, GError **error)
{
    (void)status;
    const char *about_what = o->operands[0];
    g_autoptr(GString) out = g_string_new(NULL);
    if (about_what && !strcmp(about_what, "man"))
        manual(out);
    else if (about_what && !strcmp(about_what, "bash"))
        completion(out);
    else if (!about_what || command_find(about_what)) {
        g_autofree char *help = help_text(about_what);
        g_string_append(out, help);
    } else {
        g_set_error(error, OPTION_ERROR, 0, "help takes a command, man or bash, not '%s'", about_what);
        return false;
    }
    fputs(out->str, stdout);
    return true;
}

const struct command command_help = {"help",
                                     "this; 'help man' is the manual page, 'help bash' completion for bash",
                                     help_command,
                                     "[COMMAND|man|bash]",
                                     0,
                                     1};
