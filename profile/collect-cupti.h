/* profile/collect-cupti.h -- between the files of the collector: session and buffers (collect-cupti.c), what
 * is in a buffer (collect-records.c), whose a launch is (collect-mark.c). */
#ifndef PROFILE_COLLECT_CUPTI_H
#define PROFILE_COLLECT_CUPTI_H

#include "plan/op.h"
#include "profile/collect.h"

struct collect_buffer {
    uint8_t *bytes; /* of the C library's heap */
    size_t valid;
};

/* A stream as records name it.  Its number is one of its context only; context OP_NONE: not known. */
struct collect_key {
    uint32_t device, context, stream;
};

/* Fills `out` from buffers that CUPTI has given back.  Names go to `names`.  dropped stays 0.  False where a
 * buffer cannot be read; nothing is to be freed then. */
bool collect_records(const struct collect_buffer *, size_t n, const struct collect_key *lanes,
                     uint32_t n_lanes, GStringChunk *names, struct collected *out, GError **);

/* From here on pushes make NVTX ranges and, with `correlate`, ids that CUPTI records. */
void collect_mark_open(bool correlate);
/* How often was pushed since the last call.  An error if pushes and pops were no pairs, or CUPTI refused one.
 */
bool collect_mark_take(uint64_t *pushes, GError **);
void collect_mark_close(void);

/* What a result means and what to do; of COLLECT_ERROR_REFUSED or _FAILED.  False.  holder: who else holds
 * CUPTI, or "". */
bool collect_fail(GError **, int code, const char *call, int result, const char *holder);

#endif
