/* profile/export.h -- traces as files for other tools. */
#ifndef PROFILE_EXPORT_H
#define PROFILE_EXPORT_H

#include "profile/trace.h"

/* Chrome trace-event JSON that Perfetto opens: one event a line, one pid a rank, one tid a lane, ts and dur
 * in microseconds with three decimals (exact ns), and a top-level "parprof" object (doc/formats.md). */
void export_chrome(const struct trace *, GString *out);
/* Of it the member "parprof": all of the trace that is not an event. */
void export_header(const struct trace *, GString *out);

#endif
