/* kernels/kernels.h -- the arithmetic, one table a device and dtype.  C ABI; valid C17 and C++17; nothing of ours.
 *
 * Everything is row-major; sizes are elements; every pointer but those named int32_t, float, double holds the table's
 * dtype (mean and rstd too).  stream is NULL on CPU.  Functions return 0 or a device's error code.  Zero rows are legal:
 * gradients by parameters are then written as zeros.  accumulate: they are added to what is there instead of overwriting it.  No output aliases an input unless said.
 */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum k_activation { K_GELU, K_RELU, K_GELU_TANH }; /* GELU: the exact one, x Phi(x), as PyTorch's default */

/* Dropout sets an element to 0 with probability p, else multiplies it by 1 / (1 - p).  Which it is depends on the key, the
 * number of the element's sample and its place in the sample alone, so no split into batches changes it, and backward
 * finds it again.  A matrix of n columns has sample_rows rows a sample, the first of them of sample `first`. */
struct k_dropout {
    uint64_t key, first;
    size_t sample_rows;
    double p; /* [0, 1) */
};

struct k_table {
    const char *name; /* "cpu f32" */
    size_t elem_bytes;

    /* c[m,n] = alpha op(a) op(b) + beta c; ta: a is stored [k,m]; tb: b is stored [n,k]; ld*: row strides. */
    int (*gemm)(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a, size_t lda,
                const void *b, size_t ldb, double beta, void *c, size_t ldc);
    /* y[r,j] += bias[j], rows of stride ld */
    int (*bias)(void *stream, size_t rows, size_t n, const void *bias, void *y, size_t ld);
    /* dbias[j] = sum over rows of dy[r,j] */
    int (*bias_grad)(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias, int accumulate);

    /* sum = x + y + bias (x NULL: nothing; bias NULL: nothing; sum may be y, or NULL for y that nothing is added to);
     * out = (sum - mean) rstd gamma + beta.  epsilon 1e-5. */
    int (*add_norm)(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias, const void *gamma,
                    const void *beta, void *sum, void *out, void *mean, void *rstd);
    /* From dout: dsum, to which `plus` is added (NULL: nothing), dgamma, dbeta.  dsum NULL: only the two others; both of
     * these NULL: only dsum. */
    int (*add_norm_grad)(void *stream, size_t rows, size_t d, const void *dout, const void *sum, const void *gamma,
                         const void *mean, const void *rstd, const void *plus, void *dsum, void *dgamma, void *dbeta, int accumulate);

    /* qkv[rows, 3 heads dh], rows = batch seq; probs[batch, heads, seq, seq] = softmax(q k' / sqrt(dh)), causal: over the
     * positions up to a row's own, 0 behind; out[rows, heads dh] = dropout(probs) v (drop NULL: none).
     * dropped, dprobs: scratch of the size of probs; dropped is not needed without dropout. */
    int (*attention)(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                     const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out);
    int (*attention_grad)(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, const struct k_dropout *drop,
                          const void *dout, const void *qkv, const void *probs, void *dropped, void *dprobs, void *dqkv);

    /* y = dropout(x), y may be x */
    int (*dropout)(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x, void *y);
    /* y = x + dropout(y + bias) (x NULL, bias NULL, drop NULL: nothing) */
    int (*residual)(void *stream, size_t rows, size_t n, const void *bias, const void *x, const struct k_dropout *drop,
                    void *y);

    /* x = x + bias, y = activation(x); rows x n */
    int (*bias_act)(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x, void *y);
    /* dx = dy activation'(x), and dbias = column sums of dx (NULL: only dx); dx may be dy */
    int (*bias_act_grad)(void *stream, int activation, size_t rows, size_t n, const void *dy, const void *x, void *dx,
                         void *dbias, int accumulate);
    /* y = tanh(y + bias), rows x n;  dx = dy (1 - y^2) */
    int (*bias_tanh)(void *stream, size_t rows, size_t n, const void *bias, void *y);
    int (*tanh_grad)(void *stream, size_t n, const void *dy, const void *y, void *dx);

    /* position[i,2j] = sin(i w), position[i,2j+1] = cos(i w), w = 10000^(-2j/d) (Vaswani et al. 2017) */
    int (*sine)(void *stream, size_t seq, size_t d, void *position);
    /* y[r] = scale word[token[r]] + position[r mod seq] + type[0] (position NULL, type NULL: none); tokens lie in
     * [0, vocab). */
    int (*embed)(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token, const void *word,
                 const void *position, const void *type, void *y);
    /* Overwrites the whole tables dword[vocab,d], dposition[positions,d], dtype[types,d]; the latter are NULL if
     * positions or types is 0. */
    int (*embed_grad)(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions, size_t types,
                      double scale, const int32_t *token, const void *dy, void *dword, void *dposition, void *dtype,
                      int accumulate);
    /* y[b] = mean over the seq tokens of sample b of word[token];  dword[vocab,d] as above */
    int (*bag)(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word, void *y);
    int (*bag_grad)(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token, const void *dy,
                    void *dword, int accumulate);

    /* loss = weight x mean over rows of -log softmax(logits)[target]; dlogits = gradient of that.  Zero rows: loss 0. */
    int (*cross_entropy)(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                         const int32_t *target, void *dlogits, double *loss);

    int (*scale_copy)(void *stream, size_t n, double scale, const void *src, void *dst); /* scale 1 copies bits */
    int (*add)(void *stream, size_t n, const void *src, void *dst);                      /* dst += src */
    int (*zero)(void *stream, size_t n, void *dst);
    /* dst[i] = src[0][i] + src[1][i] + ..., in that order; dst may be one of src */
    int (*sum)(void *stream, size_t members, size_t n, const void *const *src, void *dst);

    /* Optimizers, as PyTorch's.  g = factor[0] grad (factor NULL: grad).
     * sgd: moment = momentum moment + g, weight -= lr moment (moment NULL: weight -= lr g). */
    int (*sgd)(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad, void *moment,
               void *weight);
    /* t counts from 1; no weight decay, no amsgrad */
    int (*adam)(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
                const double *factor, const void *grad, void *moment, void *variance, void *weight);
    /* sum += x[0]^2 + x[1]^2 + ..., in double */
    int (*sum_squares)(void *stream, size_t n, const void *x, double *sum);
    /* sum = x[0] + x[1] + ..., in that order; zero elements: 0 */
    int (*total)(void *stream, size_t n, const double *x, double *sum);
    /* norm[1] = min(1, max_norm / (sqrt(norm[0]) + 1e-6)): torch.nn.utils.clip_grad_norm_ */
    int (*clip_factor)(void *stream, double max_norm, double *norm);
};

/* The reference: plain loops, sums in double whatever the dtype.  The fast one: OpenBLAS and vectorised loops. */
extern const struct k_table k_ref_f32, k_ref_f64, k_cpu_f32;

/* Loads the BLAS that k_cpu_f32 needs, one thread a call.  Call once, before the first use and from one thread.
 * Returns NULL or, where it is missing, what to install. */
const char *k_cpu_open(void);

#ifdef __cplusplus
}
#endif

#endif
