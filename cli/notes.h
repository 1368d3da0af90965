/* cli/notes.h -- what the summary of DataParallel says beside times: what only rank 0 keeps, whose samples count how much. */
#ifndef CLI_NOTES_H
#define CLI_NOTES_H

#include "cli/job.h"
#include "profile/trace.h"

/* A line each, or nothing of another mode:
 * - by how much rank 0's memory at its peak is above that of the other rank with most, by category, most first; what that one
 *   has more of; the difference that was measured; what the gathered outputs take, at the peak or not;
 * - that a mean of the ranks' means is not that over the samples, where their chunks are uneven, and what the last one's
 *   samples count instead;
 * - which ranks have no samples. */
void notes_print(const struct job *, const struct trace *, GString *out);

#endif
