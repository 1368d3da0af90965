/* viz/sweep-bars.h -- a sweep over options that are no numbers: a bar a point. */
#ifndef VIZ_SWEEP_BARS_H
#define VIZ_SWEEP_BARS_H

#include "viz/frame.h"

/* Fills the frame.  The series has a best point.  False: there is no room. */
bool sweep_bars(struct frame *, const struct series *, GError **);

#endif
