/* cli/samples.h -- step times out of what any program prints or writes: `parprof gate --samples`. */
#ifndef CLI_SAMPLES_H
#define CLI_SAMPLES_H

#include "profile/measurement.h"

struct sampler;

/* regex:RE     each match of a line of standard output is a step, its first group the number (Perl's syntax, bytes);
 * jsonl:KEY    each line that is a JSON object with that member is a step;
 * trace:FILE   a report or a trace of ours, or one of PyTorch's profiler, that the command writes anew.
 * unit: of the numbers, ns, us, ms, s, or per-s (steps a second, whose times are taken); NULL: ms.  NULL with the error. */
struct sampler *sampler_open(const char *spec, const char *unit, GError **);
void sampler_free(struct sampler *); /* may be NULL */

void sampler_begin(struct sampler *); /* a run begins: what was seen before is forgotten */
void sampler_line(void *sampler, const char *line, gsize n);
/* The run is over: its steps' ns but the first `warmup`, in METRIC_STEP, at least one; with the fingerprint that the file has, else
 * an empty one.  NULL with the error: it gave none, or what is no time. */
struct measurement *sampler_end(struct sampler *, uint32_t warmup, GError **);

#endif
