/* profile/import.h -- traces from files, the counterpart of export.h. */
#ifndef PROFILE_IMPORT_H
#define PROFILE_IMPORT_H

#include "profile/trace.h"

/* Reads what export_chrome writes, of this version or another (doc/formats.md): the trace equals the one that was
 * exported.  A file that was cut gives the steps that are whole, labelled "cut"; with none it is an error.  What is
 * contradictory (an index outside its table, an end before its start, spans of a lane that overlap) is an error that
 * names file and line.  trace is uninitialised; on failure nothing is left in it. */
bool import_trace(const char *text, size_t n, const char *name, struct trace *, GError **);

/* Measured costs out of a trace, a report or a cost file (parprof.cost/1), told apart by their schema; added to the
 * table. */
bool import_costs(const char *text, size_t n, const char *name, struct cost_table *, GError **);
/* A whole cost file; source: where the numbers come from. */
void export_costs(struct cost_table *, const char *source, GString *out);
/* The list of rows that is the member "costs" of cost files and reports. */
void export_cost_rows(struct cost_table *, GString *out);

/* What a file of ours is, by its schema: "trace", "report", "plan", "cost", "sweep"; NULL with an error that says what
 * was found instead.  A Chrome trace without "parprof" is a foreign trace, which is said. */
const char *import_kind(const char *text, size_t n, const char *name, GError **);

#endif
