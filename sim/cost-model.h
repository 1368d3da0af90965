/* sim/cost-model.h -- prices from a specification: unit costs for teaching, analytic ones from a cluster's data. */
#ifndef SIM_COST_MODEL_H
#define SIM_COST_MODEL_H

#include "plan/cost.h"
#include "sim/cluster.h"

/* Unit costs, "F=1,B=1,W=1,C=0": forward, input gradient, weight gradient of one micro-batch on a whole rank, latency of
 * a hop; a full backward is B+W; one unit is 1 ms.  An op costs its share; a collective's hop C; all else nothing.
 * The specification is the text after "unit:"; missing letters keep these defaults. */
struct cost_model *cost_unit_new(const char *spec, GError **);

/* Analytic costs.  Compute: kernels x launch overhead + max(flops / peak of the dtype, bytes / memory bandwidth).
 * Hop of a gang: alpha + bytes / beta.  A whole all-reduce of n members: 2(n-1)(alpha + bytes/n/beta), the ring's time
 * (Thakur, Rabenseifner, Gropp 2005).  The cluster must outlive the model. */
struct cost_model *cost_analytic_new(const struct cluster *, GError **);

void cost_model_free(struct cost_model *);

#endif
