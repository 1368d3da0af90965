/* profile/memory.h -- the memory of a rank at its peak, for people and programs. */
#ifndef PROFILE_MEMORY_H
#define PROFILE_MEMORY_H

#include "profile/trace.h"

/* Bytes of a rank at its peak, all classes together; the trace has memory_bytes. */
uint64_t memory_peak(const struct trace *, uint32_t rank);

/* "memory: 812.0 MiB a rank at the peak (weight 104.0, gradient 104.0, ...), measured 815.3" and a line's
 * end, of the rank that needs most ("up to" where ranks differ); classes below 0.05 MiB are left out unless
 * all are.  Nothing where it is unknown. */
void memory_print(const struct trace *, GString *out);
/* The report's member "memory", a comma before it. */
void memory_json(const struct trace *, GString *out);

#endif
