/* cli/files.h -- the files that `run` writes: checked before anything runs, named in the summary. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "cli/figures.h"
#include "profile/report.h"

enum file { FILE_FIGURE, FILE_REPORT, FILE_TRACE, FILE_COSTS, FILES };

struct files {
    struct drawing drawing;
    const char *path[FILES]; /* NULL: not asked for */
};

/* Fails on what could not be drawn or written.  Not given, the figure goes to parprof-MODE.svg. */
bool files_check(struct files *, const char *mode, const struct options *, GError **);

/* Writes all that can be written; the error is the first. */
bool files_write(struct files *, const struct report *, GError **);

bool files_take_stdout(const struct files *); /* one of them goes to standard output */

/* "wrote FIGURE (step 3 of 10, the median), TRACE; ", or nothing. */
void files_name(const struct files *, const struct report *, GString *out);

#endif
