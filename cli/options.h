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
#define SECTION(...)
#define OPTION(id, ...) OPTION_##id,
#include "cli/options.def"
#undef OPTION
#undef SECTION
    N_OPTIONS
};

enum option_type { TAKES_TEXT, TAKES_TUPLE, TAKES_NUMBER, TAKES_COUNT, TAKES_NOTHING };

/* A row of the table. */
struct option_spec {
    const char *name;
    char letter;  /* 0: none */
    uint8_t type; /* enum option_type */
    const char *argument;
    double min, max;
    const char *commands, *modes, *backends, *help;
};
extern const struct option_spec option_specs[N_OPTIONS];

/* Headings of the table: `first` is the option that follows. */
struct option_section {
    const char *title;
    unsigned first;
};
extern const struct option_section option_sections[]; /* ends with first == N_OPTIONS */

/* Whether a space-separated list of the table has a word; an empty list has every word. */
bool option_listed(const char *list, const char *word);
/* The words of such a list with something else than spaces between them.  g_free */
char *option_words(const char *list, const char *between);

union option_value {
    const char *text; /* owned by struct options */
    double number;
    bool on;
};

struct options {
    const char *command;
    union option_value value[N_OPTIONS]; /* what was given, or zero */
    bool given[N_OPTIONS];
    bool offered[N_OPTIONS]; /* by a preset: where it means nothing for the backend it does not count */
    GPtrArray *texts[N_OPTIONS]; /* command sweep: each time as given, not parsed; NULL: not given */
    char **operands;             /* what is no option: files; ends with NULL */
    unsigned n_before;           /* how many of them stand before a "--"; 0: none, or there is no "--" */
    GStringChunk *strings;
    gboolean help, version;
};

/* Parses argv; nothing is printed.  False with a message that names the option and what it takes. */
bool options_parse(struct options *, int argc, char **argv, GError **);
void options_release(struct options *);
/* Sets one option as if it had been given, for a command that is not sweep. */
bool options_set(struct options *, enum option_id, const char *text, GError **);
/* Gives an option of the command as a preset does: what was given before stays.  A flag takes yes or no. */
bool options_preset(struct options *, const char *name, const char *text, GError **);
/* A copy of what was given, of its own. */
void options_copy(struct options *to, const struct options *from);

/* An option that means nothing for this mode or backend is an error that says to which it belongs. */
bool options_check(const struct options *, const char *mode, const char *backend, GError **);

const char *option_text(const struct options *, enum option_id, const char *fallback);
double option_number(const struct options *, enum option_id, double fallback);
bool option_of_look(enum option_id); /* it says how a figure looks: of the section for that */
const char *option_name(enum option_id); /* "bucket-mb" */

/* Sets the error: --option takes `known`, not `text`.  False. */
bool option_unknown(GError **, enum option_id, const char *text, const char *known);

/* "GBPS,US" or "none" (0 and 0).  The error says the form. */
bool option_link(const struct options *, const char *fallback, double *gbps, double *us, GError **);

#define OPTION_ERROR (option_error_quark())
GQuark option_error_quark(void);

#endif
