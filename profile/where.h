/* profile/where.h -- where the difference between two sides' steps is: in which computation, transfers, waits.
 *
 * From traces.  One rank is looked at on both sides: the one that is busy longest (computes, transfers or copies, see
 * profile/where-walk.h) over all steps of the side with the longer step, the lowest among equals; what makes a step
 * long is there, while the others wait for it.  Of each key its median over the side's steps is taken (0 in a step
 * without it; of an even number the lower of the middle two), of all traces of the side; of the step likewise.  A part
 * is the difference of a key's two medians, NEW less BASE.  Medians alone do not add up: what is left of the
 * difference of the steps' medians is an item of its own, the rest; of one step a side it is 0, as the pieces of
 * a step add up to it.
 *
 * Items say it in few words: each part is in exactly one.  So their ns, the rest's included, add up to
 * step_ns[1] - step_ns[0] in integers, always (asserted).
 *
 * From measurements, where there are no traces: coarser.  Of each run the slowest rank's median step, in forward,
 * backward and optimizer (busy), exposed communication, and what is left of it; of several runs the medians, with a rest.
 */
#ifndef PROFILE_WHERE_H
#define PROFILE_WHERE_H

#include "profile/analyze.h"
#include "profile/verdict.h"
#include "profile/where-walk.h"

struct where_run {
    const struct trace *trace;
    const struct analysis *analysis;
};

struct where_part {
    struct where_key key;
    int64_t ns[2];       /* medians of BASE, NEW */
    int64_t whole_ns[2]; /* of a transfer: medians of the time under way, beside computation or not */
};

/* What items are.  Of several the first one that holds a part has it; the numbers are those of struct where_item. */
enum where_what {
    WHERE_THROUGHOUT, /* all computation, where it is longer by the same factor everywhere */
    WHERE_LAYERS,     /* computation of layers that most of the computation's difference is in */
    WHERE_PHASE_LAYERS, /* ... of a phase's: by phase */
    WHERE_PHASE = WHERE_PHASE_LAYERS + PHASES, /* the other computation of a phase: by phase */
    WHERE_BUCKET = WHERE_PHASE + PHASES, /* the transfers of the bucket that most of it is in */
    WHERE_BUCKETS,                       /* of the other buckets */
    WHERE_MESSAGE,                       /* messages with one peer, likewise */
    WHERE_MESSAGES,
    WHERE_COMM,    /* other transfers */
    WHERE_PEER,    /* waiting for one rank, likewise */
    WHERE_PEERS,
    WHERE_COPIES,
    WHERE_IDLING,
    WHERE_EXPOSED, /* from measurements: communication with no computation beside it */
    WHERE_REST,
    WHERE_WHATS
};
const char *where_what_name(unsigned what); /* "layers" */

struct where_item {
    unsigned what;
    int64_t ns;      /* NEW less BASE */
    unsigned phase;  /* of computation; PHASES: of several */
    uint32_t layer0, layer1; /* [layer0, layer1) of the tables; OP_NONE: of all */
    uint32_t bucket; /* OP_NONE: of none alone */
    uint32_t peer;   /* likewise */
    uint32_t alike;  /* of computation: on how many ranks it is at least half as much */
    double times;    /* how many times as long as in BASE: of transfers, hidden or not; 0: unknown */
};

struct where {
    struct tables t;    /* names, of NEW's first trace; empty: from measurements */
    bool traced;
    uint32_t rank;      /* that is looked at; OP_NONE: the slowest, whichever it was */
    int64_t step_ns[2]; /* medians of BASE, NEW */
    uint32_t n_parts;
    struct where_part *parts; /* those that differ, the largest difference first; empty from measurements */
    uint32_t n_items;
    struct where_item items[WHERE_WHATS]; /* those that are not 0, the largest first */
    double clock; /* of the GPUs' multiprocessors, NEW by BASE; 0: unknown */
};

/* False with the error: they are of different work.  n >= 1 a side.  where_release. */
bool where_of_traces(struct where *, const struct where_run *base, uint32_t n_base, const struct where_run *new,
                     uint32_t n_new, GError **);
/* False: a run of them does not say. */
bool where_of_measurements(struct where *, const struct side *base, const struct side *new);
void where_release(struct where *); /* of zeros, too */

/* "layer3.attention", a block's name, or "layer3 to layer5"; NULL: of all.  g_free. */
char *where_layers(const struct where *, const struct where_item *);
/* The items worth saying: at most 4, none below a twentieth of the first. */
unsigned where_main_items(const struct where *);
/* "NEW is 12.4 ms (8.1 %) slower: 10.9 ms more in backward of layer3 on every rank, ...".  g_free. */
char *where_sentence(const struct where *, const char *base, const char *new);
/* The object "where" of parprof.compare/1. */
void where_json(const struct where *, const char *base, const char *new, GString *out);

#endif
