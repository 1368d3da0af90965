/* profile/profiler-events.h -- what PyTorch's profiler recorded: the events of one process, as Kineto writes
 * them (Chrome's trace events), of which only those are kept that say when a device was busy, and for what.
 *
 * Times are ns, from "baseTimeNanoseconds" where the file has it, exact from the decimals.  Rows that only
 * sum up others
 * ("gpu_user_annotation") and waits ("cuda_sync") are left out.  Categories of older versions ("Kernel",
 * "Memcpy") are known. Names are cut to 500 bytes.
 */
#ifndef PROFILE_PROFILER_EVENTS_H
#define PROFILE_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <glib.h>

enum profiler_kind {
    PROFILER_COMPUTE, /* a kernel, or memory that is set */
    PROFILER_COMM, /* a kernel that communicates: the profiler names its collective, or its library is known
                      by its name */
    PROFILER_COPY,
    PROFILER_DEVICE_KINDS,
    PROFILER_LAUNCH = PROFILER_DEVICE_KINDS, /* a call of the driver or its runtime */
    PROFILER_BACKWARD,                       /* a function of autograd */
    PROFILER_OPTIMIZER,                      /* a step of an optimizer */
    PROFILER_STEP                            /* "ProfilerStep#N", which prof.step() ends */
};

struct profiler_event {
    int64_t start_ns, end_ns;
    uint64_t correlation; /* of a device's event and its launch; 0: none */
    uint64_t track;       /* of a device, its stream; of a host, its thread */
    uint32_t device;
    uint32_t number;  /* of a step, N */
    const char *name; /* of a device's event: owned by the process's names */
    uint8_t kind;     /* enum profiler_kind */
};

struct profiler_process {
    GArray *events; /* struct profiler_event, in the order of the file */
    GStringChunk *names;
    char *device;         /* name of the first one, may be NULL */
    uint32_t untimed;     /* events of devices that were left out, as they have no time that can be read */
    bool host;            /* what the host computed was recorded, so that what a kernel is for can be known */
    uint32_t rank, ranks; /* of a distributed job; ranks 0: the file does not say */
};

/* False with the error, which names file and line, and nothing to release: it is no such trace, or is cut. */
bool profiler_read(const char *text, size_t n, const char *name, struct profiler_process *, GError **);
void profiler_release(struct profiler_process *);

#endif
