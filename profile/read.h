/* profile/read.h -- what readers of our files have in common, beside base/json.h. */
#ifndef PROFILE_READ_H
#define PROFILE_READ_H

#include "base/json.h"

#define TIME_MAX (INT64_MAX / 8) /* ns, of any time in a file: sums of a few stay within int64 */

/* Most of these take the value that comes next; a member that stands twice replaces what stood before. */
bool read_schema(struct json *, const char *wanted); /* "parprof.trace/1"; another is an error */
/* The schema of a file's outermost object if it is of a later version than prefix/1, as "parprof.report/2" for
 * "parprof.report/"; else NULL.  g_free */
char *read_later_schema(const char *text, size_t n, const char *prefix);
void read_text(struct json *, char **text);          /* NULL for null; g_free */
/* An object of texts: key, value, ... NULL; null is "".  g_strfreev */
char **read_pairs(struct json *);
void read_bytes(struct json *, GArray **list);       /* numbers, uint64_t; g_array_unref */
/* A name of op_name, allreduce_name or the like, as its number below n. */
uint8_t read_name(struct json *, const char *(*name)(unsigned), unsigned n);

#endif
