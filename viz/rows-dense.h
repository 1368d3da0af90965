/* viz/rows-dense.h -- level of detail: where cells are too thin to be told apart, shares of the time stand
 * for them. */
#ifndef VIZ_ROWS_DENSE_H
#define VIZ_ROWS_DENSE_H

#include "viz/palette.h"
#include "viz/rows.h"

/* Replaces runs of cells under 1.5 units, near each other, by cells that have a share (viz/layout.h), a role
 * each: the area of a role is its time exactly.  gaps, waits and exposed keep what is outside of such runs;
 * inside, the shares of ROLE_WAIT and ROLE_COMM are what waits and what moves, and that of ROLE_EXPOSED is
 * what is exposed of both. */
void row_condense(struct row *, double ns_per_unit);

#endif
