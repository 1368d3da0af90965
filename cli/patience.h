/* cli/patience.h -- work without progress of its own that takes long says what it is and for how long, on standard error.
 *
 * A terminal gets one line after 2 s, which counts the seconds and is taken away; a log a line of each stage that takes 10 s.
 */
#ifndef CLI_PATIENCE_H
#define CLI_PATIENCE_H

#include <stdint.h>

struct patience;

/* what: "simulating", not copied; NULL: say nothing yet.  after_ns: 0 is what is said above.  NULL, which the others
 * take too, where no thread can be had. */
struct patience *patience_begin(const char *what, int64_t after_ns);
/* The next stage, with time of its own. */
void patience_stage(struct patience *, const char *what);
void patience_end(struct patience *);

#endif
