/* kernels/cpu/fast.h -- what the files of k_cpu_f32 share.
 *
 * Loops are written so that the compiler vectorises them (#pragma omp simd); ON_EVERY_CPU compiles a function
 * once for each generation of x86-64 and picks at the program's start.  No result depends on the thread that
 * computes it; the last bits do depend on the generation.
 */
#ifndef KERNELS_CPU_FAST_H
#define KERNELS_CPU_FAST_H

#include "kernels/kernels.h"

/* Sanitizers miss the resolvers of clones, which run before them. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && __GNUC__ >= 12 &&                        \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define ON_EVERY_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ON_EVERY_CPU
#endif
/* What such a function calls must become part of it, or it would be compiled for the oldest generation only.
 */
#define FAST_INLINE static inline __attribute__((always_inline))

/* A column sum over many rows is kept in double, for this many columns at a time. */
enum { SUM_COLUMNS = 256 };
/* A sum along a row is kept in float for this many elements, then in double. */
enum { SUM_BLOCK = 512 };

/* Column sums that are done go where they belong. */
static inline void give_sums(size_t n, const double *sum, int accumulate, float *to)
{
    for (size_t j = 0; j < n; j++)
        to[j] = (float)(sum[j] + (accumulate ? (double)to[j] : 0));
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int fast_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a,
              size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc); /* blas.c */
int fast_bias_grad(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias,
                   int accumulate);

int fast_add_norm(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias,
                  const void *gamma, const void *beta, void *sum, void *out, void *mean, void *rstd);
int fast_add_norm_grad(void *stream, size_t rows, size_t d, const void *dout, const void *sum,
                       const void *gamma, const void *mean, const void *rstd, const void *plus, void *dsum,
                       void *dgamma, void *dbeta, int accumulate);
int fast_attention(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                   const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out);
int fast_attention_grad(void *stream, size_t batch, size_t heads, size_t seq, size_t dh,
                        const struct k_dropout *drop, const void *dout, const void *qkv, const void *probs,
                        void *dropped, void *dprobs, void *dqkv);
/* y = dropout(x) (y may be x), whose first element is element `at` of the sample */
void fast_drop(const struct k_dropout *drop, size_t sample, size_t at, size_t n, const float *x, float *y);
int fast_dropout(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x, void *y);
int fast_residual(void *stream, size_t rows, size_t n, const void *bias, const void *x,
                  const struct k_dropout *drop, void *y);
int fast_bias_act(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x, void *y);
int fast_bias_act_grad(void *stream, int activation, size_t rows, size_t n, const void *dy, const void *x,
                       void *dx, void *dbias, int accumulate);
int fast_sine(void *stream, size_t seq, size_t d, void *position);
int fast_embed(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token,
               const void *word, const void *position, const void *type, void *y);
int fast_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                    size_t types, double scale, const int32_t *token, const void *dy, void *dword,
                    void *dposition, void *dtype, int accumulate);
int fast_bag(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word,
             void *y);
int fast_bag_grad(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token,
                  const void *dy, void *dword, int accumulate);
int fast_cross_entropy(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                       const int32_t *target, void *dlogits, double *loss);

int fast_sgd(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad,
             void *moment, void *weight);
int fast_adam(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
              const double *factor, const void *grad, void *moment, void *variance, void *weight);
int fast_sum_squares(void *stream, size_t n, const void *x, double *sum);
int fast_clip_factor(void *stream, double max_norm, double *norm);

#endif
