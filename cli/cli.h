/* cli/cli.h -- the command line: options in, files and an exit status out.  Only here is anything printed. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/options.h"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_SLOWER = 1,       /* a comparison found a regression */
    EXIT_USAGE = 2,        /* bad usage or input */
    EXIT_INCOMPARABLE = 3, /* ... or that nothing can be said */
    EXIT_UNAVAILABLE = 4, /* backend not available here */
    EXIT_FAILED = 5,      /* the run failed */
    EXIT_INTERRUPTED = 130
};

/* What main.c calls: parses, runs the command, prints the error if there is one, picks the status. */
int cli_main(int argc, char **argv);

/* One file a command.  False with the error set; *status stays EXIT_DONE or becomes what says
 * how it ended. */
struct command {
    const char *name, *summary;
    bool (*run)(const struct options *, int *status, GError **);
    const char *operands; /* "[PLAN.json]"; NULL: none */
    unsigned least, most; /* how many */
    bool sides;           /* a "--" parts them in two, and options may follow it */
};
/* commands.c */
extern const struct command command_run, command_plan, command_sweep, command_render, command_list, command_doctor,
    command_compare,
    command_gate, command_history, command_help;
extern const struct command *const commands[];         /* ends with NULL; the first is the default */
const struct command *command_find(const char *name); /* NULL: there is none */

/* help.c: help, the manual page and the completion, all from the table of options.  command: NULL for all.  g_free */
char *help_text(const char *command);

/* published.c: draws the published steps of a preset, and prints their table. */
struct preset;
bool published_show(const struct preset *, const struct options *, GError **);

/* engines.c: every engine of this build, ends with NULL, the preferred one first. */
struct engine;
extern const struct engine *const engines[];

#endif
