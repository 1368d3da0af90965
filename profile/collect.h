/* profile/collect.h -- what a GPU did and when: kernels, copies, launches, each with the op that asked for
 * it.
 *
 * Call order: collect_open before there is a context of CUDA, at most once in the process; collect_lanes
 * when the streams exist; collect_push and collect_pop around the calls of an op, on the thread that makes
 * them; and when all devices are at rest and no thread is between a push and its pop, collect_discard after
 * warm-up and collect_take at the end.  Times are of CLOCK_MONOTONIC, in ns.
 */
#ifndef PROFILE_COLLECT_H
#define PROFILE_COLLECT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct trace;

/* A launch is a call of the API that asked for a kernel, a copy or a set.  On a stream they run in the order
 * of their launches: where an op has as many launches as the three together, the k-th of the one is of the
 * k-th of the other. */
enum collect_kind { COLLECT_KERNEL, COLLECT_COPY, COLLECT_SET, COLLECT_LAUNCH, COLLECT_KINDS };

struct collect_record {
    int64_t start_ns, end_ns;
    uint32_t step, op; /* OP_NONE: of no op */
    uint32_t lane;     /* index into collect_lanes' array; OP_NONE: another stream, or a launch */
    uint32_t device;   /* OP_NONE: a launch */
    uint64_t bytes;    /* of copies and sets */
    const char *name;  /* the kernel's, mangled as the device has it, or the call's; until collect_close */
    uint8_t kind;      /* enum collect_kind */
};

/* Why a record is missing or was not believed. */
struct collect_counts {
    uint64_t kernels, copies, launches; /* kept */
    uint64_t dropped;                   /* CUPTI had no room */
    uint64_t zero;                      /* start or end is 0 */
    uint64_t inverted;                  /* ends before it starts */
    uint64_t early; /* a kernel that starts before its launch call by more than COLLECT_EARLY_NS: kept */
    uint64_t unattributed; /* of no op, or on no lane */
    int64_t overhead_ns;   /* CUPTI's own, in sum */
    int64_t lazy_ns;       /* of loading kernels at their first launch */
};
#define COLLECT_EARLY_NS 20000

struct collected {
    size_t n;
    struct collect_record *records; /* by step, op, kind, start */
    struct collect_counts counts;
};

struct collect_lane {
    uint32_t device;
    void *stream; /* cudaStream_t */
};

/* Subscribes.  False with the reason and what to do: who holds CUPTI, which right is lacking; then times come
 * from elsewhere, pushes and pops only make ranges, and nothing else may be called but collect_close. */
bool collect_open(GError **);
bool collect_lanes(const struct collect_lane *, uint32_t n, GError **);
/* Also an NVTX range of that name.  They do not nest; what is no pair is an error of collect_take. */
void collect_push(uint32_t step, uint32_t op, const char *name);
void collect_pop(void);
bool collect_discard(GError **);
/* The records since the last discard; the array is the caller's to g_free.  False where CUPTI fails, has
 * recorded no kernel although there were pushes, or kernels were loaded meanwhile; nothing is to be freed
 * then. */
bool collect_take(struct collected *, GError **);
void collect_close(void); /* from any state */
/* What reports show of the counts (profile/facts.h) becomes facts of the trace. */
void collect_facts(const struct collect_counts *, struct trace *);

const char *collect_version(void); /* "CUPTI 13.0 (130001)", of the library that is there */
/* One kernel recorded?  `launch` launches one over a stream that it owns and waits for it.  For doctor. */
bool collect_sentinel(int (*launch)(void), GError **);

#define COLLECT_ERROR (collect_error_quark())
GQuark collect_error_quark(void);
enum { COLLECT_ERROR_REFUSED, COLLECT_ERROR_FAILED };

#endif
