/* exec/compute.h -- an op that is no member of a gang as calls of kernels, whatever the device.
 * layers.c holds the forward and backward of every layer kind of plan/layer.def; this dispatches on the op's
 * kind. */
#ifndef EXEC_COMPUTE_H
#define EXEC_COMPUTE_H

#include "kernels/kernels.h"
#include "plan/engine.h"

struct compute {
    const struct run *run; /* plan, model, seed, optimizer settings */
    const struct plan *plan;
    const struct model *model;
    const struct k_table *k; /* kernels of the model's dtype */
};

/* step: the plan's, by position in the data: its rounds are at compute_data_step, which keys dropout; Adam
 * counts the updates from the first step of the run, run->data_step, and those before it. mem[i] is the memory of the op's i-th
 * access (order: see plan.h).  stream is handed to every kernel, NULL on CPU. Returns 0 or the first kernel's
 * nonzero status.  A rank without samples writes zeros where it would write gradients. */
/* Where in the data an op of a plan with several rounds finds its samples. */
uint32_t compute_data_step(const struct plan *, uint32_t op, uint32_t step);
int compute_op(const struct compute *, void *stream, uint32_t op, uint32_t step, void *const *mem);

/* layers.c, called by compute_op.  The samples are [first, first + n) of the step's global mini-batch, which
 * keys dropout. dx is NULL at the first layer.  dweight is overwritten, or added to. */
struct layer_call {
    const struct compute *compute;
    void *stream;
    uint32_t layer, step, first_sample, samples;
    const void *weight, *x;
    void *saved, *scratch;
};
int layer_forward(const struct layer_call *, void *y);
int layer_backward(const struct layer_call *, const void *dy, void *dx, void *dweight, int accumulate);
/* The same in two parts, of which the second may come any time after the first: dx and what the weight
 * gradients will need beside dy and what is saved; then these.  The first layer has no first part, its second
 * one is all of it. */
int layer_backward_input(const struct layer_call *, const void *dy, void *dx, void *pending);
int layer_backward_weight(const struct layer_call *, const void *dy, const void *pending, void *dweight,
                          int accumulate);

#endif
