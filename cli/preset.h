/* cli/preset.h -- presets: sets of options, or steps that were published, as INI files (presets/NAME.ini).
 *
 *   [preset]          name, summary
 *   [options]         any option of the command = what it takes, a flag yes or no; what is given on the command line wins
 *   [step-NAME]       a published step, see struct preset_step; then also in [preset]: mode, model, ranks, source (where
 *                     the numbers are from) and computed (how what is not published is)
 */
#ifndef CLI_PRESET_H
#define CLI_PRESET_H

#include "cli/options.h"
#include "profile/digest.h"

/* Parts of a step without overlap, each of the whole. */
struct preset_step {
    char *name;
    double forward, backward, comm, optimizer;
    double efficiency;                         /* of the overlap: what it hides of what it could */
    double published_total, published_percent; /* the step with overlap, and how much shorter it is */
};

struct preset {
    char *name, *summary;
    char **options;                         /* key, value, ... NULL */
    char *mode, *model, *source, *computed; /* NULL where no steps are */
    uint32_t ranks, n_steps;
    struct preset_step *steps;
};

/* A built-in preset or a file; the error names file and line. */
struct preset *preset_load(const char *name, GError **);
void preset_free(struct preset *);
char **preset_list(void); /* g_strfreev */

bool preset_apply(const struct preset *, struct options *, GError **);

/* sum of the parts - efficiency x min(backward, comm) */
double preset_total(const struct preset_step *);
/* Two rows a step, without overlap and with it.  A step without overlap lasts 1 s: nothing is published of how long it was. */
void preset_digest(const struct preset *, struct digest *);

#endif
