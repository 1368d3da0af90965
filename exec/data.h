/* exec/data.h -- initial weights and training data, keyed so that no split changes a number. */
#ifndef EXEC_DATA_H
#define EXEC_DATA_H

#include "exec/text.h"
#include "plan/model.h"

/* Fills a layer's parameter block: normal-like with standard deviation 0.02 or 1 / sqrt(cols), zeros or ones
 * (model.h: param_init), keyed by (seed, parameter, element); of the model's dtype. */
void data_init_layer(const struct model *, uint32_t layer, uint64_t seed, void *block);

/* The samples [first, first + n) of a step's global mini-batch, keyed by (seed, step, global sample,
 * position): n*s tokens, then targets (n*s or n, by the model's task).  Synthetic, with structure to learn:
 * tokens follow a skewed distribution and the target is a fixed function of the token; of the first one, or
 * for a bag of words of what most of them are.  out has model_input_bytes. */
void data_fill(const struct model *, uint64_t seed, uint32_t step, uint32_t first, uint32_t n, int32_t *out);

/* The same samples of what a run trains on: a text, or synthetic data of its seed, other ones to validate and to test. */
void data_deal(const struct run *, uint32_t step, uint32_t first, uint32_t n, int32_t *out);

/* What keys the dropout of a step at one place, `site`, of a layer: k_dropout's key. */
uint64_t data_dropout_key(uint64_t seed, uint32_t step, uint32_t layer, uint32_t site);

#endif
