/* profile/profiler-steps.h -- step times out of a trace of PyTorch's profiler (Chrome's trace events as
 * Kineto writes them). */
#ifndef PROFILE_PROFILER_STEPS_H
#define PROFILE_PROFILER_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include <glib.h>

/* The durations in ns of the host's "ProfilerStep#N" events, which prof.step() ends, in the order of their
 * start, appended to `steps` (double).  False with the error, which names file and line: it is no such trace,
 * is cut, or has no such event. */
bool profiler_steps(const char *text, size_t n, const char *name, GArray *steps, GError **);

#endif
