/* exec/compute.h -- an op of a compute or copy lane as calls of kernels, whatever the device.
 * layers.c holds the forward and backward of every layer kind of plan/layer.def; this dispatches on the op's kind. */
#ifndef EXEC_COMPUTE_H
#define EXEC_COMPUTE_H

#include "kernels/kernels.h"
#include "plan/engine.h"

struct compute {
    const struct plan *plan;
    const struct model *model;
    const struct k_table *k; /* kernels of the model's dtype */
    double lr;
};

/* mem[i] is the memory of the op's i-th access (order: see plan.h).  stream is handed to every kernel, NULL on CPU.
 * Returns 0 or the first kernel's nonzero status.  A rank without samples writes zeros where it would write gradients. */
int compute_op(const struct compute *, void *stream, uint32_t op, void *const *mem);

/* layers.c, called by compute_op.  mem as the kind's contract in plan.h says. */
int layer_forward(const struct compute *, void *stream, uint32_t layer, uint32_t samples, const void *weight, const void *x,
                  void *y, void *saved, void *scratch);
/* dx is NULL at the first layer.  dweight is overwritten. */
int layer_backward(const struct compute *, void *stream, uint32_t layer, uint32_t samples, const void *weight,
                   const void *x, const void *saved, const void *dy, void *dx, void *dweight, void *scratch);

#endif
