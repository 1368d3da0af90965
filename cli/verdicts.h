/* cli/verdicts.h -- what commands that come to a verdict have in common: thresholds, files out, exit status. */
#ifndef CLI_VERDICTS_H
#define CLI_VERDICTS_H

#include "cli/options.h"
#include "profile/compare-out.h"

struct verdict_choices {
    double relative[METRICS]; /* as of struct comparison's `compare` */
    bool strict, quiet;
    const char *json, *junit, *markdown; /* NULL: not asked for */
};

/* --threshold, --inconclusive, --quiet and the files, which are checked. */
bool verdict_choose(struct verdict_choices *, const struct options *, GError **);
/* Of two words the default first. */
bool verdict_pick_word(const struct options *, enum option_id, const char *first, const char *second, bool *is_second, GError **);

/* Prints the comparison, with a warning if it is ambiguous and that passes; *status is how the command ends. */
void verdict_print(const struct verdict_choices *, const struct comparison *, const struct compared_sides *, int *status);
/* Writes the files, whatever the verdict. */
bool verdict_write(const struct verdict_choices *, const struct comparison *, const struct compared_sides *, GError **);

#endif
