/* cli/history-file.h -- a history of measurements: lines appended under a lock, so that writers at once lose nothing and one
 * that is killed leaves the lines before its own whole. */
#ifndef CLI_HISTORY_FILE_H
#define CLI_HISTORY_FILE_H

#include "profile/measurement.h"

/* Appends what was measured now, with the verdict that came of it (NULL: it was not compared); the file is made where there
 * is none.  The name of the measurement is kept as its source.  False with the error: nothing was appended. */
bool history_append(const char *path, const struct measurement *, const char *verdict, GError **);

/* Leaves of each kind of work (equal in what must match) the last `keep` runs that others may be compared with and what came
 * after the first of these, and takes lines away that cannot be read.
 * *left and *gone count runs and what went.  False with the error: the file is as it was. */
bool history_prune(const char *path, uint32_t keep, uint32_t *left, uint32_t *gone, GError **);

#endif
