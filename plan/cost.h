/* plan/cost.h -- how long an op takes alone.
 *
 * A cost key is all that the duration of an op depends on: ops with equal keys cost the same, and a plan
 * stores each key once.  sim reads costs through a cost_model; profile makes a cost_table from any trace.
 */
#ifndef PLAN_COST_H
#define PLAN_COST_H

#include "plan/op.h"

/* A matrix product m x n of depth k, `batch` of them in one launch; m and n are not 0, but in what ends a list that is
 * not full. */
struct gemm {
    uint32_t m, n, k, batch;
};
enum { COST_GEMMS = 12 };

struct cost_key {
    const char
        *shape;     /* layer shape with its dtype, "attention d512 h8 s32 f32"; "" where no layer is meant */
    uint64_t bytes; /* communication: payload a member sends; else memory traffic, read plus written */
    uint64_t flops; /* floating-point operations; 0 for copies and communication */
    double share;   /* F, B and the like: this op's part of what its rank computes for one micro-batch; of a
                       rank with V stages, each is the V-th part of it */
    uint32_t rows;  /* samples x positions; of a LAUNCH, its launches */
    uint32_t kernels; /* launches that it takes on a GPU */
    uint16_t members; /* gang size; 1 outside a gang */
    uint16_t nodes;   /* nodes that the gang's ranks sit on; 0 or 1: all on one */
    uint8_t kind;     /* enum op_kind */
    uint8_t algo;     /* enum allreduce; ALLREDUCE_WHOLE outside collectives */
    uint8_t paired;   /* belongs to a pair of actions, forward beside backward, that run as one */
    struct gemm gemms[COST_GEMMS]; /* the products among its launches: what flops counts */
};

/* What an op takes when nothing else runs.  0 <= work_ns <= alone_ns: the part in which it uses a core, a link or a
 * device, that others on the same one stretch; the rest (latency, the sleep of a paced transfer) passes by itself. */
struct cost {
    int64_t alone_ns, work_ns;
};

unsigned cost_gemms(const struct cost_key *); /* how many products the list has */

/* Same kind, algo, members, nodes, rows, bytes and shape (by content). */
gboolean cost_key_equal(gconstpointer a,
                        gconstpointer b); /* of struct cost_key, as a GHashTable wants them */
guint cost_key_hash(gconstpointer);

/* One way to price a key.  False with the error set when it has no answer. */
struct cost_model {
    const char *name; /* "analytic", printed in captions */
    bool (*price)(const struct cost_model *, const struct cost_key *, struct cost *, GError **);
};

/* The last step of a model: nearest whole ns, or -1 and an error that names the key if ns is negative, not a
 * number or beyond what int64 holds. */
int64_t cost_round_ns(const struct cost_key *, double ns, GError **);

/* Measured costs.  A key that was measured gives the medians of its samples.  One that was not is answered
 * from keys that differ in bytes only: log-log interpolation between two neighbours, the linear ratio beyond
 * the outermost; with no such key it is an error that names the kind and shape. */
struct cost_table;
struct cost_table *cost_table_new(void);
void cost_table_free(struct cost_table *);
/* Copies the key and its shape. */
void cost_table_add(struct cost_table *, const struct cost_key *, const struct cost *sample);
/* In the order in which the keys were first added; cost: what a key that was measured is priced at. */
void cost_table_each(struct cost_table *, void (*each)(void *user, const struct cost_key *, const struct cost *, uint32_t samples),
                     void *user);
const struct cost_model *cost_table_model(struct cost_table *); /* owned by the table */

#endif
