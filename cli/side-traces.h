/* cli/side-traces.h -- where the difference of two sides is, from the traces that their runs name. */
#ifndef CLI_SIDE_TRACES_H
#define CLI_SIDE_TRACES_H

#include "profile/where.h"

/* From the traces of the runs that have one, where both sides have; else from the runs themselves.  What cannot be used is said
 * on standard error.  False: nothing is known, and nothing to release. */
bool sides_where(const struct side *base, const struct side *new, struct where *);

#endif
