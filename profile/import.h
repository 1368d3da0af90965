/* profile/import.h -- traces from files, the counterpart of export.h. */
#ifndef PROFILE_IMPORT_H
#define PROFILE_IMPORT_H

#include "profile/trace.h"

/* Reads what export_chrome writes, of this version or another (doc/formats.md): the trace equals the one that was
 * exported.  A file that was cut gives the steps that are whole, labelled "cut"; with none it is an error.  What is
 * contradictory (an index outside its table, an end before its start, spans of a lane that overlap) is an error that
 * names file and line.  trace is uninitialised; on failure nothing is left in it. */
bool import_trace(const char *text, size_t n, const char *name, struct trace *, GError **);

/* A file, borrowed. */
struct import_file {
    const char *text, *name;
    size_t n;
};

/* Reads what PyTorch's profiler wrote (profile/profiler-events.h): one file, or those of consecutive ranks of one job, in any
 * order.  Each kernel, copy and memory that is set is an op of its own, since what lies between is idle: of a copy COPY, else OPTIM or BWD if it was
 * launched inside an optimizer's step or by autograd, else FWD; of communication the collective that its kernel is named by,
 * else COMM.  Steps are those of ProfilerStep that all ranks have, counted from 0, by when the work was launched; a file
 * without them is one step.  Lanes are streams, one for each class of span.  The ranks' k-th collectives of a step are a gang
 * where all have as many of the same kinds and end together, as their clocks then agree.  Mode is "profile", model the
 * device's name.  Labels tell what was left out.  trace is uninitialised; on failure nothing is left in it. */
bool import_profiler(unsigned n, const struct import_file *, struct trace *, GError **);

/* A trace of either kind, from one file. */
bool import_any_trace(const char *text, size_t n, const char *name, struct trace *, GError **);

/* Measured costs out of a trace, a report or a cost file (parprof.cost/1), told apart by their schema; added to the
 * table. */
bool import_costs(const char *text, size_t n, const char *name, struct cost_table *, GError **);
/* A whole cost file; source: where the numbers come from. */
void export_costs(struct cost_table *, const char *source, GString *out);
/* The list of rows that is the member "costs" of cost files and reports. */
void export_cost_rows(struct cost_table *, GString *out);

/* What a file of ours is, by its schema: "trace", "report", "plan", "cost", "sweep"; a Chrome trace without
 * "parprof" is a "profile"; NULL with an error that says what was found instead. */
const char *import_kind(const char *text, size_t n, const char *name, GError **);

#endif
