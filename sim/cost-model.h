/* sim/cost-model.h -- prices from a specification: unit costs for teaching, analytic ones from a cluster's data. */
#ifndef SIM_COST_MODEL_H
#define SIM_COST_MODEL_H

#include "plan/cost.h"
#include "sim/cluster.h"

/* Unit costs, "F=1,B=1,W=1,C=0,FB=3": forward, input gradient, weight gradient of one micro-batch on a whole rank, latency of
 * a hop, forward beside backward (FB; default the sum); a full backward is B+W; one unit is 1 ms.  An op costs its share; a collective's hop C; all else nothing.
 * The specification is the text after "unit:"; missing letters keep these defaults.
 * A whole all-reduce of n costs the ring's 2(n-1) hops, a whole broadcast or reduction the binomial tree's ceil(log2 n),
 * the others n-1. */
struct cost_model *cost_unit_new(const char *spec, GError **);

/* Analytic costs; the dtype of a key is the suffix of its shape.
 *
 * Compute and copies: kernels x launch overhead, which is no work, + a roofline (Williams, Waterman, Patterson 2009),
 *   max(flops / (efficiency x peak), bytes / memory bandwidth),
 * or, where the cluster knows its multiprocessors and the key its products, a roofline for each: cost_waves_ns.
 *
 * Communication: alpha, no work, + bytes / beta, the work.  n members on N nodes; alpha and beta are the link's, alpha_n
 * and beta_n the network's, of one card; a node has `cards`.
 *   hop of a gang, sending to a peer   alpha + bytes / beta; N > 1: max(alpha, alpha_n) + bytes / min(beta, beta_n)
 *   whole all-reduce, the ring's time  2(n-1) alpha + 2(n-1)/n bytes / beta
 *     on a bus, which l = ceil(n/N) members share, beta is the l-th part
 *     N > 1: a ring through each card, so beta becomes min(beta, beta_n min(cards, l)), or beta_n where l = 1;
 *     of the hops on a chunk's way min(2N, 2(n-1)) are between nodes and take alpha_n
 *   whole broadcast or reduction, a binomial tree's ceil(log2 n) hops, ceil(log2 N) of them between nodes
 *   whole scatter or gather, n - 1 pieces one after another on the link of the root, those of other nodes by the network
 *   whole all-gather, n - 1 hops of a piece
 *   launches, all of it work
 * (Thakur, Rabenseifner, Gropp 2005).  A hop is one transfer: a gang whose transfers share a bus or a card takes longer by
 * sim/sharing.h, whereas a whole collective's price has that in it.  A lowered ring goes through one card of each node.
 * What is received is added for nothing, by hops and by SUM alike: the formulas that algorithms are compared by have no
 * gamma; measured costs have it.  The cluster must outlive the model. */
struct cost_model *cost_analytic_new(const struct cluster *, GError **);

/* The work of a key that has products, on `sms` of the multiprocessors of a cluster that knows them, in ns.
 * A product of m x n of depth k is cut into tiles of t x u, and its depth into c parts; `sms` tiles run at once:
 *   ceil(ceil(m/t) ceil(n/u) batch c / sms) waves of 2 t u ceil(k/c) FLOPs / (e(t, u) efficiency x peak / all sms),
 * + for c > 1, writing and reading the parts of the output.  Tile and cut are those of the usual ones that are fastest on
 * all of the multiprocessors, as libraries choose.
 * Full waves of the largest tile run at the cluster's efficiency; e, at most 1, is what smaller tiles reach of it, since
 * they fetch more for each operation (assumed).  No product is faster than its own bytes, m k + k n + m n elements,
 * through memory, and the rest of the key's bytes comes behind. */
double cost_waves_ns(const struct cluster *, const struct cost_key *, uint32_t sms);
double cost_peak_tflops(const struct cluster *, const struct cost_key *); /* of the key's dtype */

/* What runs on communication lanes by one model, all else by another; neither is owned. */
struct cost_model *cost_split_new(const struct cost_model *comm, const struct cost_model *rest);
/* As cost_analytic_new's, of a cluster that has what the key needs. */
bool cost_cluster_price(const struct cluster *, const struct cost_key *, struct cost *, GError **);
/* Whole collectives by NCCL's rule for the cluster, which must have what it needs and outlive the model; work is all but
 * the latency.  Scatter, gather and bare sends, which NCCL has no algorithms for, by alpha and beta.  Hops of lowered ones
 * are refused: NCCL picks its own algorithm. */
struct cost_model *cost_nccl_new(const struct cluster *, GError **);

/* How many times as long an op's work takes while `held` of the multiprocessors, fewer than all, do other work: its
 * products are cut as for all of them, since whoever chose knows nothing of the others.  1 where no product is known. */
double cost_waves_slowdown(const struct cluster *, const struct cost_key *, uint32_t held);

/* Rounds of a binomial tree: ceil(log2 members). */
unsigned cost_rounds(unsigned members);

void cost_model_free(struct cost_model *);

#endif
