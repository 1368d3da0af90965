/* profile/launch.h -- how long computation waits for the host: see profile/analyze.h, "launch-bound". */
#ifndef PROFILE_LAUNCH_H
#define PROFILE_LAUNCH_H

#include "profile/index.h"

/* Of a rank in a step, in ns; -1 where the trace has no launches of the rank in it. */
int64_t launch_wait_ns(const struct index *, uint32_t step, uint32_t rank);

#endif
