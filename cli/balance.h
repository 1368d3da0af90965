/* cli/balance.h -- what --split balanced goes by: what each layer costs.
 *
 * A layer's cost is what a micro-batch takes of it, by the cost model: forward, backward (or input and weight gradient)
 * and, where there are checkpoints, forward again, the loss with the last layer; the mean over the micro-batches of a step
 * that is planned with the even split.  So a simulation's split goes by its costs, and a run's by what it measured with the
 * even one.  Without a cost model, as in `parprof plan`, FLOPs stand in. */
#ifndef CLI_BALANCE_H
#define CLI_BALANCE_H

#include "cli/job.h"

bool balance_wanted(const struct job *);
/* Fills the job's layer_ns, and its shape's.  Nothing where it is not wanted. */
bool balance(struct job *, const struct cost_model *, GError **);
/* "split balanced by costs analytic on a100x4: 5+4+4+5 layers, the slowest stage 12.1 ms a micro-batch, even 14.0" and a line's end;
 * nothing without layer_ns.  `costs` is the name of what filled it. */
void balance_print(const struct job *, const char *costs, GString *out);

#endif
