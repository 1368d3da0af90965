/* sim/fair.h -- the rates that tasks, which share resources, can work at.
 *
 * Max-min fairness: the rates of all tasks rise together until a resource is full; its users stay there, the others rise
 * on, up to 1.  Rates change only where a full resource gets or loses a user, so only those are found anew. */
#ifndef SIM_FAIR_H
#define SIM_FAIR_H

#include "sim/resources.h"

struct fair;
/* Tasks are ops of the plan that the resources are of; the resources must outlive it. */
struct fair *fair_new(uint32_t n_ops, const struct resources *);
void fair_free(struct fair *);

void fair_enter(struct fair *, uint32_t task); /* begins to use its resources; its rate is 1 */
void fair_leave(struct fair *, uint32_t task);
/* Finds the rates after tasks have entered and left.  Returns those whose rate may have changed, n of them, until the next
 * call. */
const uint32_t *fair_settle(struct fair *, uint32_t *n);
double fair_rate(const struct fair *, uint32_t task); /* above 0, at most 1; of a task that has entered, once settled */

#endif
