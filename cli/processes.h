/* cli/processes.h -- `run --processes N`: the same run in N processes, one after another, as steps of one process resemble each
 * other. */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H

#include "cli/options.h"

/* Each run is this program again with the options given, its files numbered: FILE-1.json ... FILE-N.json.  What each measured is
 * printed as it comes, and appended to --history. */
bool processes_run(const struct options *, int *status, GError **);

#endif
