/* sim/resources.h -- which resources each op of a plan uses, and how often. */
#ifndef SIM_RESOURCES_H
#define SIM_RESOURCES_H

#include "plan/plan.h"
#include "sim/sharing.h"

struct use {
    uint32_t resource;
    double weight; /* of the capacity, at full rate */
};

/* A gang's uses stand at its first member; its other members have none.  Only resources that ops can compete for are
 * kept: where one lane runs all that uses a resource, and none of it exceeds the capacity, nobody ever waits for it. */
struct resources {
    uint32_t n;
    double *capacity;
    uint32_t *first_use; /* by op, n_ops + 1 */
    struct use *uses;
    uint32_t *device;    /* by lane, numbered from 0 without gaps */
    uint32_t n_devices;
};

/* Nothing of the arguments is kept. */
struct resources *resources_new(const struct plan *, const struct sharing *);
void resources_free(struct resources *);

/* The op that stands for the gang, or the op itself. */
uint32_t resources_task(const struct plan *, uint32_t op);

#endif
