/* tests/gpu/kernels.h -- the tests of tests/gpu/kernels.c, by subject. */
#ifndef TESTS_GPU_KERNELS_H
#define TESTS_GPU_KERNELS_H

#include "tests/gpu/machine.h"

/* kernels-vectors.c */
void test_gemm(void);
void test_gemm_empty(void);
void test_elementwise(void);
void test_bits(void);
void test_sum(void);
void test_sgd(void);
void test_adam(void);
void test_total(void);
void test_clip(void);

/* kernels-rows.c */
void test_bias(void);
void test_bias_grad(void);
void test_bias_grad_long(void);
void test_norm(void);
void test_norm_rows(void);
void test_apart(void);
void test_activation(void);
void test_gelu_values(void);
void test_tanh(void);
void test_cross_entropy(void);
void test_losses(void);

/* kernels-layers.c */
void test_dropout(void);
void test_kept(void);
void test_attention(void);
void test_sine(void);
void test_embedding(void);
void test_words(void);
void test_bag(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Every pair of these sizes with every way to misalign, or some of them; ends with the operands given back.
 */
static const size_t row_counts[] = {0, 1, 3, 65, 130}, widths[] = {1, 3, 17, 65, 130, 600};
static inline void each_size(void (*run)(size_t rows, size_t n, unsigned way))
{
    unsigned turn = 0;
    for (size_t i = 0; i < COUNT(row_counts); i++)
        for (size_t j = 0; j < COUNT(widths); j++)
            for (unsigned way = 0; way < WAYS; way++) {
                if (turn++ % thin())
                    continue;
                about("%zu rows of %zu", row_counts[i], widths[j]);
                misalign(way);
                run(row_counts[i], widths[j], way);
                give_back();
            }
}

#endif
