/* profile/trace.h -- what happened, or what is predicted to: self-contained, without its plan.
 *
 * Ops are what was scheduled; spans are the intervals that were busy (kernels, copies), each of at most one
 * op.  The simulator and the CPU executor have one span an op, a GPU has several.  Times are int64 ns,
 * half-open [start, end), from a base near zero.  Invariants: ops are ordered by step, then as the plan's
 * sealed order; spans by lane, then start; within a lane they do not overlap (own engines).  Every op's
 * tag.step is below n_steps, which whoever fills the trace sets, as it does simulated, cancelled, loss,
 * weight_hash and the measured memory (g_malloc'd; release frees them).
 */
#ifndef PROFILE_TRACE_H
#define PROFILE_TRACE_H

#include <stddef.h>

#include "plan/cost.h"
#include "plan/op.h"

struct trace_op {
    struct op_tag tag; /* tag.step: measured step, from 0 */
    uint32_t lane, cost;
    int64_t ready_ns; /* when the last of its dependencies ended, its lane not counted; the step's start if it
                         has none */
    int64_t start_ns, end_ns; /* as a member of a gang, includes waiting for the peers */
    int64_t work_ns; /* of that, on its core, link or device (struct cost); -1: unknown, taken as all of it */
};

/* host: a call that launches; it keeps no device busy, so analysis leaves it alone */
enum span_class { SPAN_COMPUTE, SPAN_COMM, SPAN_COPY, SPAN_HOST, SPAN_CLASSES };

struct trace_span {
    int64_t start_ns, end_ns;
    uint32_t lane, op; /* op: index of ops, OP_NONE if unknown */
    uint8_t cls;       /* enum span_class */
    const char *name;  /* of the kernel or call, in t.strings; NULL: the op's */
};

/* How the trace came about, printed in captions and kept in files: "engine" = "cpu", "link" = "paced to 10
 * Gb/s, 20 us". */
struct trace_label {
    char *key, *value;
};

struct trace {
    struct tables t;
    uint32_t n_costs, n_labels, n_facts, n_steps;
    uint32_t first_rank; /* in its job, of which this may be a part */
    size_t n_ops, n_spans, room_ops, room_spans; /* room: allocated rows, private to trace.c */
    struct trace_op *ops;
    struct trace_span *spans;
    struct cost_key *costs; /* shapes live in t.strings */
    struct trace_label *labels;
    struct trace_label *facts; /* about the machine: in files and reports, not in captions */
    double *loss;              /* per step, sample-weighted over the ranks; NULL: nothing was trained */
    uint64_t *weight_hash;     /* per rank, after the last step; NULL likewise, or they hold other layers */
    uint32_t n_memory;         /* memory classes, and their names */
    char **memory_names;
    uint64_t *memory_bytes; /* per rank x class: what the plan has alive at the rank's peak; NULL: unknown */
    uint64_t *memory_touched;  /* likewise: how much of that was touched; NULL: nothing was run */
    uint64_t *memory_measured; /* per rank: all of its memory that was touched; NULL likewise */
    bool simulated, cancelled;
    bool interleaved; /* ranks on one device took turns on it: each op's time includes others' */
};

void trace_init(struct trace *);
void trace_release(struct trace *);
/* Copies the tables and cost keys; the trace is initialised and empty. */
void trace_adopt(struct trace *, const struct tables *, uint32_t n_costs, const struct cost_key *);
/* Replaces.  %f and the like would follow the locale: format such numbers with g_ascii_formatd first. */
void trace_label(struct trace *, const char *key, const char *format, ...) G_GNUC_PRINTF(3, 4);
void trace_label_text(struct trace *, const char *key, const char *value);
void trace_fact_text(struct trace *, const char *key, const char *value); /* replaces */
const char *trace_label_value(const struct trace *, const char *key);     /* NULL if absent */
const char *trace_fact_value(const struct trace *, const char *key);      /* likewise */
/* Sets the names of n memory classes and the bytes at each rank's peak, which it takes over.  The tables are
 * there. */
void trace_memory(struct trace *, uint32_t n, const char *(*name)(unsigned), uint64_t *bytes);
void trace_reserve(struct trace *, size_t ops); /* room for that many ops with a span each */
/* An op with one span of its lane's class; none on a host lane.  Amortised O(1). */
void trace_add_op(struct trace *, const struct trace_op *);
/* An op whose spans are added one by one; the span's name is copied, its op exists. */
void trace_add_bare_op(struct trace *, const struct trace_op *);
void trace_add_span(struct trace *, const struct trace_span *);
uint32_t trace_add_lane(struct trace *, const struct lane *); /* behind those of the plan; copies the name */
/* By lane: whether its spans have names of their own, as kernels have, so that an op is several spans with
 * gaps; not of host lanes.  g_free. */
bool *trace_kernel_lanes(const struct trace *);
/* Call once after the last add: sorts spans, moves the base to 0. */
void trace_finish(struct trace *);

/* Costs of the keys, each the median over the trace's steps of the mean over the step's ops: the means of a
 * step add up to the step, which medians of skewed samples do not.  A sample is an op's duration, or for
 * members of a gang the time from the arrival (start) of its last member to the last end.  Where
 * ranks took turns on a device (trace->interleaved), an op that is no gang's costs its part: what it takes
 * alone.  cost_table_free. */
struct cost_table *trace_costs(const struct trace *);
/* The same for ranks of unlike speed: speed[rank] is how fast the rank worked off its ops that are no gang's,
 * as equal keys tell, the fastest's 1; the costs of such ops are the fastest's. */
struct cost_table *trace_costs_of_fastest(const struct trace *, double *speed);

#endif
