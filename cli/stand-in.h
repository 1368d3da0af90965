/* cli/stand-in.h -- prices for what a run did not measure, by what it did; each by a rule that is said.
 *
 * A key that the costs know is priced by them.  Of others:
 *   halves     I and W take their parts of the FLOPs of a B that the trace has; where that has none, W takes it all.
 *              B takes the I and the W that the trace has, together.
 *   link       a hop takes what the job's paced link gives it: latency + bytes / rate.
 *   optimizer  copies into and out of buckets take as long for each byte as the optimizer did.
 *   bytes      inputs and losses of other numbers of samples, by their bytes.
 * What is still unknown has no price. */
#ifndef CLI_STAND_IN_H
#define CLI_STAND_IN_H

#include "cli/job.h"
#include "profile/trace.h"

enum assumption { ASSUME_HALVES = 1, ASSUME_LINK = 2, ASSUME_OPTIMIZER = 4, ASSUME_BYTES = 8 };

struct stand_in {
    struct cost_model model; /* first */
    const struct cost_model *costs;
    const struct trace *trace;
    double link_gbps, link_us; /* 0 and 0: none */
    unsigned *assumed;         /* set of enum assumption that prices were made by; whoever asks clears it */
};

/* Borrows all of it; nothing is to be released. */
void stand_in_init(struct stand_in *, const struct job *, const struct cost_model *costs,
                   const struct trace *, unsigned *assumed);
/* ", backward cut by FLOPs", one for each, or nothing. */
void assumptions_print(unsigned assumed, GString *out);

#endif
