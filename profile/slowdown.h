/* profile/slowdown.h -- what communication beside it costs computation.
 *
 * Samples are the ops on compute lanes that have a cost key, of all ranks and steps; each is as long as its
 * spans of computation are in sum.  One is beside communication if at least half of that lies in the U(m) of
 * its rank and step, apart from it if nothing does, else it is left out.  Of each key with SLOWDOWN_SAMPLES
 * or more of both, b of them beside, B and A are the medians (the lower of the middle two) beside and apart;
 * slowdown = sum of b B / sum of b A - 1.  Samples beside that are less than a SLOWDOWN_PART-th of the time of all say
 * nothing of computation, but of a few short ops.
 */
#ifndef PROFILE_SLOWDOWN_H
#define PROFILE_SLOWDOWN_H

#include "profile/index.h"

#define SLOWDOWN_SAMPLES 3
#define SLOWDOWN_PART    50

/* In percent; NAN where no key has samples enough, or all beside are too little, or all is simulated. */
double slowdown_percent(const struct index *);

#endif
