/* profile/profiler-purpose.h -- what a device's event of a profile is for, as the host's events tell. */
#ifndef PROFILE_PROFILER_PURPOSE_H
#define PROFILE_PROFILER_PURPOSE_H

#include "plan/op.h"
#include "profile/profiler-events.h"

struct profiler_hosts; /* what is known of a process's host */
struct profiler_hosts *profiler_hosts_new(const struct profiler_process *); /* borrows it */
void profiler_hosts_free(struct profiler_hosts *);
bool profiler_hosts_marked(const struct profiler_hosts *); /* it has steps; else all is step 0 */

/* The step is that in which the event was launched, as the profiler numbers it; OP_NONE: none.  A step is
 * launched until the next one begins.  What was launched by autograd's threads is backward, whatever runs
 * then on the others.  What has no launch goes by its own time, and is of no phase: often it is left from the
 * step before.  Communication is a collective that its kernel is named by, else COMM. */
struct profiler_purpose {
    uint8_t kind; /* enum op_kind */
    uint32_t step;
};
struct profiler_purpose profiler_purpose(const struct profiler_hosts *, const struct profiler_event *);

#endif
