/* profile/gang.h -- ops that met: all members of a gang in one step. */
#ifndef PROFILE_GANG_H
#define PROFILE_GANG_H

#include "profile/trace.h"

/* The ops that are members of gangs, *n of them, by step, then gang, then as the trace has them.  g_free. */
const struct trace_op **gang_members(const struct trace *, size_t *n);
/* Where the gang that begins at `begin` ends. */
size_t gang_end(const struct trace_op *const *members, size_t n, size_t begin);
/* By op: when the last member of its gang was there, so that nobody waited any longer; of no gang, its own start.  g_free. */
int64_t *gang_arrivals(const struct trace *);

#endif
