/* profile/trace.h -- what happened, or what is predicted to: self-contained, without its plan.
 *
 * Ops are what was scheduled; spans are the intervals that were busy (kernels, copies), each of at most one op.  The
 * simulator and the CPU executor have one span an op, a GPU has several.  Times are int64 ns, half-open [start, end), from
 * a base near zero.  Invariants: ops are ordered by step, then as the plan's sealed order; spans by lane, then start;
 * within a lane they do not overlap (own engines).
 */
#ifndef PROFILE_TRACE_H
#define PROFILE_TRACE_H

#include <stddef.h>

#include "plan/cost.h"
#include "plan/op.h"

struct trace_op {
    struct op_tag tag; /* tag.step: measured step, from 0 */
    uint32_t lane, cost;
    int64_t ready_ns; /* when the last of its dependencies ended, its lane not counted; the step's start if it has none */
    int64_t start_ns, end_ns; /* as a member of a gang, includes waiting for the peers */
};

enum span_class { SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_CLASSES };

struct trace_span {
    int64_t start_ns, end_ns;
    uint32_t lane, op; /* op: index of ops, OP_NONE if unknown */
    uint8_t cls;       /* enum span_class */
};

/* How the trace came about, printed in captions and kept in files: "engine" = "cpu", "link" = "paced to 10 Gb/s, 20 us". */
struct trace_label {
    char *key, *value;
};

struct trace {
    struct tables t;
    uint32_t n_costs, n_labels, n_steps;
    size_t n_ops, n_spans;
    struct trace_op *ops;
    struct trace_span *spans;
    struct cost_key *costs; /* shapes live in t.strings */
    struct trace_label *labels;
    double *loss;           /* per step, sample-weighted over the ranks; NULL: nothing was trained */
    uint64_t *weight_hash;  /* per rank, after the last step; NULL likewise */
    uint64_t *memory_bytes; /* per rank x memory class; NULL: unknown */
    uint32_t n_memory;      /* memory classes, and their names */
    char **memory_names;
    bool simulated, cancelled;
};

void trace_init(struct trace *);
void trace_release(struct trace *);
/* Copies the tables and cost keys; the trace is initialised and empty. */
void trace_adopt(struct trace *, const struct tables *, uint32_t n_costs, const struct cost_key *);
void trace_label(struct trace *, const char *key, const char *format, ...) G_GNUC_PRINTF(3, 4); /* replaces */
const char *trace_label_value(const struct trace *, const char *key);                          /* NULL if absent */
void trace_reserve(struct trace *, size_t ops);             /* room for that many ops with a span each */
/* An op with one span of its lane's class. */
void trace_add_op(struct trace *, const struct trace_op *);
/* Call once after the last add: sorts spans, moves the base to 0. */
void trace_finish(struct trace *);

/* Median cost of each key over the trace's steps.  Members of a gang count from the arrival of the last member. */
struct cost_table *trace_costs(const struct trace *);

#endif
