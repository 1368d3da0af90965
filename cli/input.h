/* cli/input.h -- files that are read whole: plans, traces, reports, costs. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>

#include "cli/options.h"

/* A longer file is refused before it fills the memory. */
#define INPUT_BYTES_MAX ((gsize)4 << 30)

/* All of a file, or for "-" of standard input, with a NUL behind it that `bytes` does not count; g_free.  NULL with the
 * error, which names the file: it is not there, may not be read, is a folder or a device, is empty, or is longer than
 * INPUT_BYTES_MAX or than memory has room for. */
char *file_read(const char *path, gsize *bytes, GError **);

/* Whether no output that the options name would overwrite a file that they, or the operands, name to be read. */
bool input_spared(const struct options *, GError **);

/* How errors of what is read should name a path: "standard input" for "-". */
const char *file_name(const char *path);

#endif
