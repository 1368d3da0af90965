/* viz/critical.h -- what the length of a step hangs on.
 *
 * From the op that ends last, back to what it waited for: where it was ready before it began, its lane's op before it; else the
 * op that ended when it became ready.  A member of a gang waits for the member that came last.
 */
#ifndef VIZ_CRITICAL_H
#define VIZ_CRITICAL_H

#include "viz/rows.h"

/* By op of the trace; g_free. */
bool *critical_path(const struct trace *, uint32_t step);
/* Where the rows' computing and communicating is on it. */
void critical_mark(struct step_rows *, const struct trace *, uint32_t step);

#endif
