/* profile/import-tables.h -- all of a trace file that is not an event: its member "parprof". */
#ifndef PROFILE_IMPORT_TABLES_H
#define PROFILE_IMPORT_TABLES_H

#include "base/json.h"
#include "profile/trace.h"

/* How many there are, as the file says; whether there are is for the events to show. */
struct trace_counts {
    uint64_t ops, spans;
    uint32_t steps;
};

/* Reads the object that comes next into an initialised trace: tables, costs, labels, training, memory.  Every
 * index lies in its table, every rank has a lane, lists have as many elements as there are ranks or steps;
 * else j is bad. */
void import_tables(struct json *j, struct trace *, struct trace_counts *);

#endif
