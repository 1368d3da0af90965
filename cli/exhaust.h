/* cli/exhaust.h -- the end where memory runs out: a message of one line that says what is too large, not an abort.
 *
 * GLib ends a program that cannot have memory by a fatal message; huge_alloc likewise.  Plans, timelines and files are
 * many arrays that grow with what was asked for, so the message is found here, once, and not at every one of them. */
#ifndef CLI_EXHAUST_H
#define CLI_EXHAUST_H

#include "cli/options.h"

/* From here on such an end has EXIT_USAGE and names the options, or the files, that ask for much. */
void exhaust_expect(const struct options *);

#endif
