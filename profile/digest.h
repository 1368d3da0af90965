/* profile/digest.h -- the numbers of a report: from a fresh analysis or back from a file, for figures and comparisons
 * that need no spans. */
#ifndef PROFILE_DIGEST_H
#define PROFILE_DIGEST_H

#include "profile/report.h"

/* A step, measured, simulated or published. */
struct digest_row {
    char *name;    /* of its overlap, "backward"; never NULL */
    char *group;   /* of the steps that it is compared with, which stand together; NULL: the only one */
    bool measured; /* false: simulated */
    int64_t step_ns;
    int64_t predicted_step_ns; /* what the simulator expected of one that was run; -1: unknown */
    int64_t phase_ns[PHASES];  /* busy time by phase, of the slowest rank; -1: unknown */
    struct partition partition; /* of that rank in the median step; window_ns 0: unknown */
};

/* A gradient bucket as struct bucket_times has it.  In older files each is on the rank where it ends last. */
struct digest_bucket {
    uint64_t bytes;
    uint32_t rank; /* OP_NONE: no times */
    int64_t ready_ns, launch_ns, start_ns, end_ns, hidden_ns, exposed_ns;
    struct causes causes; /* of what is exposed; without late_rank_ns, which is 0 */
    int64_t copied_ns;    /* of hidden_ns, beside copies alone; 0 where unknown too */
};

struct digest {
    char *mode, *backend, *model; /* NULL: unknown */
    uint32_t n_ranks;
    bool simulated, cancelled;
    bool published; /* by others: a row's measured is then published, and what is not is computed from it */
    char **labels, **options, **environment; /* key, value, ... NULL; never NULL themselves */
    uint32_t n_rows;
    struct digest_row *rows; /* the report's own last */
    uint32_t n_buckets; /* 0: none, or unknown */
    struct digest_bucket *buckets; /* in launch order */
    int64_t backward_ns;           /* of the slowest rank, from its start to its end; -1: unknown */
    uint32_t n_memory;       /* categories; 0: unknown */
    char **memory_names;
    uint64_t *memory_bytes;    /* [rank * n_memory + category]: at the rank's peak */
    uint64_t *memory_measured; /* a rank each; NULL: nothing was run */
};

void digest_make(struct digest *, const struct report *);
/* Reads parprof.report/1 of this version or another; what a file lacks is unknown, but it has "mode" and
 * "ranks".  The error names file and line;
 * nothing is left then. */
bool digest_read(const char *text, size_t n, const char *name, struct digest *, GError **);
void digest_release(struct digest *);
/* Of the device that has least, where each rank has one of its own; 0: unknown. */
uint64_t digest_device_bytes(const struct digest *);
const char *digest_label(char *const *pairs, const char *key); /* NULL: not there */

#endif
