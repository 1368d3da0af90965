/* cli/output.h -- files are written whole or not at all. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

/* Whether path could be written, before hours are spent on what goes there.  "-" is standard output. */
bool output_check(const char *path, GError **);

/* Whether two outputs would overwrite each other; NULL is none. */
bool output_same(const char *a, const char *b);

/* Writes to a temporary file beside path, then renames it over it; what is no regular file (a pipe, a device)
 * is written to directly.  On failure the old content, or nothing, is there. */
bool output_write(const char *path, const void *data, size_t bytes, GError **);

#endif
