/* cli/options.h -- every option of every command, from one table (options.def).
 *
 * The table gives name, argument, range, help and where an option belongs; parsing, help and the refusal of
 * foreign options all read it.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

enum option_id {
#define OPTION(id, ...) OPTION_##id,
#include "cli/options.def"
#undef OPTION
    N_OPTIONS
};

union option_value {
    const char *text; /* owned by struct options */
    double number;
    bool on;
};

struct options {
    const char *command;
    union option_value value[N_OPTIONS]; /* what was given, or zero */
    bool given[N_OPTIONS];
    GStringChunk *strings;
    gboolean help, version;
};

/* Parses argv; nothing is printed.  False with a message that names the option and what it takes. */
bool options_parse(struct options *, int argc, char **argv, GError **);
void options_release(struct options *);
/* Gives an option of the command as a preset does: what was given before stays.  A flag takes yes or no. */
bool options_preset(struct options *, const char *name, const char *text, GError **);
char *options_help(const char *command); /* NULL: all commands; g_free */

/* An option that means nothing for this mode or backend is an error that says to which it belongs. */
bool options_check(const struct options *, const char *mode, const char *backend, GError **);

const char *option_text(const struct options *, enum option_id, const char *fallback);
double option_number(const struct options *, enum option_id, double fallback);
const char *option_name(enum option_id); /* "bucket-mb" */

/* "GBPS,US" or "none" (0 and 0).  The error says the form. */
bool option_link(const struct options *, double *gbps, double *us, GError **);

#define OPTION_ERROR (option_error_quark())
GQuark option_error_quark(void);

#endif
