/* sim/cost-model.h -- prices from a specification: unit costs for teaching, analytic ones from a cluster's data. */
#ifndef SIM_COST_MODEL_H
#define SIM_COST_MODEL_H

#include "plan/cost.h"
#include "sim/cluster.h"

/* Unit costs, "F=1,B=1,W=1,C=0": forward, input gradient, weight gradient of one micro-batch on a whole rank, latency of
 * a hop; a full backward is B+W; one unit is 1 ms.  An op costs its share; a collective's hop C; all else nothing.
 * The specification is the text after "unit:"; missing letters keep these defaults.
 * A whole all-reduce of n costs the ring's 2(n-1) hops, a whole broadcast the binomial tree's ceil(log2 n). */
struct cost_model *cost_unit_new(const char *spec, GError **);

/* Analytic costs.  Compute and copies: kernels x launch overhead + max(flops / (efficiency x peak of the dtype), bytes /
 * memory bandwidth), a roofline (Williams, Waterman, Patterson 2009); the dtype is the suffix of the key's shape.
 * Hop of a gang, and sending to a peer: alpha + bytes / beta.  A whole all-reduce of n members: 2(n-1)(alpha + bytes/n/
 * beta), the ring's time; a whole broadcast: ceil(log2 n)(alpha + bytes/beta), a binomial tree's (Thakur, Rabenseifner,
 * Gropp 2005).  What is received is added for nothing, by hops and by SUM alike: the formulas of alpha and beta that
 * algorithms are compared by have no gamma; measured costs have it.  The cluster must outlive the model. */
struct cost_model *cost_analytic_new(const struct cluster *, GError **);

/* Collectives and hops by one model, all else by another; neither is owned. */
struct cost_model *cost_split_new(const struct cost_model *comm, const struct cost_model *rest);
/* Whole collectives by NCCL's rule for the cluster, which must have what it needs and outlive the model; hops of lowered
 * ones are refused: NCCL picks its own algorithm. */
struct cost_model *cost_nccl_new(const struct cluster *, GError **);

/* How many times as long an op's products take while `held` of the device's `sms` multiprocessors do other work, by waves:
 * a product is cut into tiles, each keeps a multiprocessor busy for a time that grows with the product's depth, and
 * `sms` tiles run at once.  1 where no product is known.  held is below sms. */
double cost_waves_slowdown(const struct cost_key *, uint32_t sms, uint32_t held);

/* Rounds of a binomial tree: ceil(log2 members). */
unsigned cost_rounds(unsigned members);

void cost_model_free(struct cost_model *);

#endif
