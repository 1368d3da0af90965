/* cli/sides.h -- the two sides of a comparison: runs out of reports, folders of reports, and histories. */
#ifndef CLI_SIDES_H
#define CLI_SIDES_H

#include "cli/options.h"
#include "profile/verdict.h"

struct sides {
    GPtrArray *base, *new;  /* struct measurement, owned */
    const char *history;    /* BASE's file where it is one history, or is not there yet; NULL: it is not */
    bool missing;           /* there is nothing to compare with: no file, or no run of the same work in the history */
    uint32_t passed_over;   /* lines of histories that could not be read, files of folders that are no reports */
};

/* Reads what the operands name: BASE and NEW, or several of each with -- between.  Of a history as BASE the last runs of the
 * same work as NEW that were not called slower or worse, --last of them; of one as NEW its last run.  False with the error;
 * release also then. */
bool sides_read(struct sides *, const struct options *, GError **);
void sides_release(struct sides *);

/* Appends the runs of a file or folder.  *is_history: it was one. */
bool sides_add(GPtrArray *runs, const char *path, bool *is_history, uint32_t *passed_over, GError **);

#endif
