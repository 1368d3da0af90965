/* kernels/cuda/table.h -- what the files of k_cuda_f32 define: functions of kernels.h. */
#ifndef KERNELS_CUDA_TABLE_H
#define KERNELS_CUDA_TABLE_H

#include "kernels/cuda.h"

int k_cuda_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a,
                size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc);
int k_cuda_bias(void *stream, size_t rows, size_t n, const void *bias, void *y, size_t ld);
int k_cuda_bias_grad(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias,
                     int accumulate);
int k_cuda_add_norm(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias,
                    const void *gamma, const void *beta, void *sum, void *out, void *mean, void *rstd);
int k_cuda_add_norm_grad(void *stream, size_t rows, size_t d, const void *dout, const void *sum,
                         const void *gamma, const void *mean, const void *rstd, const void *plus, void *dsum,
                         void *dgamma, void *dbeta, int accumulate);
int k_cuda_attention(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                     const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out);
int k_cuda_attention_grad(void *stream, size_t batch, size_t heads, size_t seq, size_t dh,
                          const struct k_dropout *drop, const void *dout, const void *qkv, const void *probs,
                          void *dropped, void *dprobs, void *dqkv);
int k_cuda_dropout(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x, void *y);
int k_cuda_residual(void *stream, size_t rows, size_t n, const void *bias, const void *x,
                    const struct k_dropout *drop, void *y);
int k_cuda_bias_act(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x, void *y);
int k_cuda_bias_act_grad(void *stream, int activation, size_t rows, size_t n, const void *dy, const void *x,
                         void *dx, void *dbias, int accumulate);
int k_cuda_bias_tanh(void *stream, size_t rows, size_t n, const void *bias, void *y);
int k_cuda_tanh_grad(void *stream, size_t n, const void *dy, const void *y, void *dx);
int k_cuda_sine(void *stream, size_t seq, size_t d, void *position);
int k_cuda_embed(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token,
                 const void *word, const void *position, const void *type, void *y);
int k_cuda_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                      size_t types, double scale, const int32_t *token, const void *dy, void *dword,
                      void *dposition, void *dtype, int accumulate);
int k_cuda_bag(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word,
               void *y);
int k_cuda_bag_grad(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token,
                    const void *dy, void *dword, int accumulate);
int k_cuda_cross_entropy(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                         const int32_t *target, void *dlogits, double *loss);
int k_cuda_scale_copy(void *stream, size_t n, double scale, const void *src, void *dst);
int k_cuda_add(void *stream, size_t n, const void *src, void *dst);
int k_cuda_zero(void *stream, size_t n, void *dst);
int k_cuda_sum(void *stream, size_t members, size_t n, const void *const *src, void *dst);
int k_cuda_sgd(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad,
               void *moment, void *weight);
int k_cuda_adam(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
                const double *factor, const void *grad, void *moment, void *variance, void *weight);
int k_cuda_sum_squares(void *stream, size_t n, const void *x, double *sum);
int k_cuda_total(void *stream, size_t n, const double *x, double *sum);
int k_cuda_clip_factor(void *stream, double max_norm, double *norm);

#endif
