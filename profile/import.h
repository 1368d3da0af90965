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

/* Reads what PyTorch's profiler wrote (profile/profiler-events.h): one file, or those of consecutive ranks of one job, in
 * any order.  Each kernel, copy and memory that is set is an op of its own, since what lies between is idle, of the kind and
 * the step that profile/profiler-purpose.h finds; steps are those that all ranks have, counted from 0, and a file without
 * any is one.  Lanes are streams, one for each class of span.  Collectives are gangs where profile/profiler-gangs.h finds
 * them.  Mode is "profile", model the device's name.  Labels tell what was left out.  trace is uninitialised; on failure
 * nothing is left in it. */
bool import_profiler(unsigned n, const struct import_file *, struct trace *, GError **);

/* One or the other from one file, whose kind import_kind said: "trace" or "profile". */
bool import_trace_of(const char *kind, const char *text, size_t n, const char *name, struct trace *, GError **);

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
