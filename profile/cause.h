/* profile/cause.h -- why communication is exposed; the definitions stand in profile/analyze.h. */
#ifndef PROFILE_CAUSE_H
#define PROFILE_CAUSE_H

#include "profile/analyze.h"
#include "profile/index.h"
#include "profile/reduction.h"

/* Sets causes and bucket_causes of an analysis whose median step and partition are known.  In a collective
 * made of sends and receives, a peer counts as late no longer than until every rank has begun its part: from
 * then on it is the transfer that takes its time. */
void find_causes(const struct index *, const struct rank_times *, struct analysis *);

#endif
