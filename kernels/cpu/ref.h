/* kernels/cpu/ref.h -- the reference kernels: plain loops, sums in double.  ref-f32.c and ref-f64.c define
 * REAL (the dtype), TABLE and NAME, and include this once each. */
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/total.h"

#include <math.h>
#include <string.h>

static const double norm_epsilon = 1e-5;

static int ref_gemm(void *stream, int ta, int tb, size_t m, size_t n, size_t k, double alpha, const void *a,
                    size_t lda, const void *b, size_t ldb, double beta, void *c, size_t ldc)
{
    (void)stream;
    enum { TILE = 8 }; /* columns at a time, so that the sums do not wait for each other */
    const size_t a_row = ta ? 1 : lda, a_col = ta ? lda : 1, b_row = tb ? 1 : ldb, b_col = tb ? ldb : 1;
    const REAL *A = a, *B = b;
    REAL *C = c;

    for (size_t i = 0; i < m; i++) {
        for (size_t j0 = 0; j0 < n; j0 += TILE) {
            const size_t width = n - j0 < TILE ? n - j0 : TILE;
            double sum[TILE] = {0};
            for (size_t p = 0; p < k; p++)
                for (size_t j = 0; j < width; j++)
                    sum[j] += (double)A[i * a_row + p * a_col] * B[p * b_row + (j0 + j) * b_col];
            REAL *out = C + i * ldc + j0;
            for (size_t j = 0; j < width; j++)
                out[j] = (REAL)(alpha * sum[j] + (beta != 0 ? beta * out[j] : 0));
        }
    }
    return 0;
}

static int ref_bias(void *stream, size_t rows, size_t n, const void *bias, void *y, size_t ld)
{
    (void)stream;
    const REAL *b = bias;
    REAL *Y = y;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < n; j++)
            Y[r * ld + j] += b[j];
    return 0;
}

static void ref_give(double sum, int accumulate, REAL *to)
{
    *to = (REAL)(sum + (accumulate ? (double)*to : 0));
}

static int ref_bias_grad(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias,
                         int accumulate)
{
    (void)stream;
    const REAL *dY = dy;
    REAL *db = dbias;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++)
            sum += dY[r * ld + j];
        ref_give(sum, accumulate, db + j);
    }
    return 0;
}

static int ref_add_norm(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias,
                        const void *gamma, const void *beta, void *sum, void *out, void *mean, void *rstd)
{
    (void)stream;
    const REAL *b = bias, *g = gamma, *be = beta;
    for (size_t r = 0; r < rows; r++) {
        const REAL *X = x ? (const REAL *)x + r * d : NULL, *Y = (const REAL *)y + r * d;
        REAL *O = (REAL *)out + r * d;
        const REAL *S = sum ? (REAL *)sum + r * d : Y;
        double total = 0, squares = 0;
        for (size_t j = 0; j < d && sum; j++)
            ((REAL *)sum)[r * d + j] = (REAL)((X ? (double)X[j] : 0) + (double)Y[j] + (b ? (double)b[j] : 0));
        for (size_t j = 0; j < d; j++)
            total += S[j];
        const double m = total / (double)d;
        for (size_t j = 0; j < d; j++)
            squares += (S[j] - m) * (S[j] - m);
        const double inverse = 1 / sqrt(squares / (double)d + norm_epsilon);
        for (size_t j = 0; j < d; j++)
            O[j] = (REAL)((S[j] - m) * inverse * g[j] + be[j]);
        ((REAL *)mean)[r] = (REAL)m;
        ((REAL *)rstd)[r] = (REAL)inverse;
    }
    return 0;
}

/* With n = (sum - mean) rstd and g = dout gamma: dsum = rstd (g - mean(g) - n mean(g n)). */
static int ref_add_norm_grad(void *stream, size_t rows, size_t d, const void *dout, const void *sum,
                             const void *gamma, const void *mean, const void *rstd, const void *plus,
                             void *dsum, void *dgamma, void *dbeta, int accumulate)
{
    (void)stream;
    const REAL *dO = dout, *S = sum, *g = gamma, *m = mean, *rs = rstd;
    for (size_t r = 0; r < rows && dsum; r++) {
        double mean_g = 0, mean_gn = 0;
        for (size_t j = 0; j < d; j++) {
            const double gj = (double)dO[r * d + j] * g[j], n = ((double)S[r * d + j] - m[r]) * rs[r];
            mean_g += gj / (double)d;
            mean_gn += gj * n / (double)d;
        }
        for (size_t j = 0; j < d; j++) {
            const double gj = (double)dO[r * d + j] * g[j], n = ((double)S[r * d + j] - m[r]) * rs[r];
            ((REAL *)dsum)[r * d + j] = (REAL)(rs[r] * (gj - mean_g - n * mean_gn) +
                                               (plus ? (double)((const REAL *)plus)[r * d + j] : 0));
        }
    }
    for (size_t j = 0; j < d && dgamma; j++) {
        double by_gamma = 0, by_beta = 0;
        for (size_t r = 0; r < rows; r++) {
            by_gamma += dO[r * d + j] * ((double)S[r * d + j] - m[r]) * rs[r];
            by_beta += dO[r * d + j];
        }
        ref_give(by_gamma, accumulate, (REAL *)dgamma + j);
        ref_give(by_beta, accumulate, (REAL *)dbeta + j);
    }
    return 0;
}

static void ref_softmax(size_t n, REAL *x)
{
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++)
        max = fmax(max, x[j]);
    for (size_t j = 0; j < n; j++)
        sum += exp(x[j] - max);
    for (size_t j = 0; j < n; j++)
        x[j] = (REAL)(exp(x[j] - max) / sum);
}

/* y = dropout(x), whose first element is element `at` of the sample. */
static void ref_drop(const struct k_dropout *drop, size_t sample, size_t at, size_t n, const REAL *x, REAL *y)
{
    const struct dropout_sample s = dropout_sample(drop, sample);
    for (size_t j = 0; j < n; j++)
        y[j] = dropout_keeps(s, (uint32_t)(at + j)) ? (REAL)(x[j] / (1 - drop->p)) : 0;
}

static int ref_dropout(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x,
                       void *y)
{
    (void)stream;
    for (size_t r = 0; r < rows; r++)
        ref_drop(drop, r / drop->sample_rows, r % drop->sample_rows * n, n, (const REAL *)x + r * n,
                 (REAL *)y + r * n);
    return 0;
}

static int ref_residual(void *stream, size_t rows, size_t n, const void *bias, const void *x,
                        const struct k_dropout *drop, void *y)
{
    REAL *Y = y;
    if (bias)
        ref_bias(stream, rows, n, bias, y, n);
    if (drop)
        ref_dropout(stream, rows, n, drop, y, y);
    for (size_t i = 0; i < rows * n && x; i++)
        Y[i] += ((const REAL *)x)[i];
    return 0;
}

static int ref_attention(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                         const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out)
{
    (void)stream;
    const size_t d = heads * dh, ld = 3 * d;
    for (size_t b = 0; b < batch; b++) {
        for (size_t h = 0; h < heads; h++) {
            const REAL *q = (const REAL *)qkv + b * seq * ld + h * dh, *k = q + d, *v = k + d;
            REAL *p = (REAL *)probs + (b * heads + h) * seq * seq, *o = (REAL *)out + b * seq * d + h * dh;
            ref_gemm(NULL, 0, 1, seq, seq, dh, 1 / sqrt((double)dh), q, ld, k, ld, 0, p, seq);
            for (size_t i = 0; i < seq; i++) {
                const size_t n = causal ? i + 1 : seq;
                ref_softmax(n, p + i * seq);
                for (size_t j = n; j < seq; j++)
                    p[i * seq + j] = 0;
            }
            if (drop) {
                ref_drop(drop, b, h * seq * seq, seq * seq, p, dropped);
                p = dropped;
            }
            ref_gemm(NULL, 0, 0, seq, dh, seq, 1, p, seq, v, ld, 0, o, d);
        }
    }
    return 0;
}

/* With s = q k' / sqrt(dh) and p = softmax(s): ds = p (dp - sum over the row of dp p). */
static int ref_attention_grad(void *stream, size_t batch, size_t heads, size_t seq, size_t dh,
                              const struct k_dropout *drop, const void *dout, const void *qkv,
                              const void *probs, void *dropped, void *dprobs, void *dqkv)
{
    (void)stream;
    const size_t d = heads * dh, ld = 3 * d;
    const double scale = 1 / sqrt((double)dh);
    for (size_t b = 0; b < batch; b++) {
        for (size_t h = 0; h < heads; h++) {
            const size_t at = b * seq * ld + h * dh, square = (b * heads + h) * seq * seq;
            const REAL *q = (const REAL *)qkv + at, *k = q + d, *v = k + d, *p = (const REAL *)probs + square;
            const REAL *dO = (const REAL *)dout + b * seq * d + h * dh;
            REAL *dq = (REAL *)dqkv + at, *dk = dq + d, *dv = dk + d, *dp = (REAL *)dprobs + square;
            const REAL *used = drop ? dropped : p;
            if (drop)
                ref_drop(drop, b, h * seq * seq, seq * seq, p, dropped);
            ref_gemm(NULL, 1, 0, seq, dh, seq, 1, used, seq, dO, d, 0, dv, ld);
            ref_gemm(NULL, 0, 1, seq, seq, dh, 1, dO, d, v, ld, 0, dp, seq);
            if (drop)
                ref_drop(drop, b, h * seq * seq, seq * seq, dp, dp);
            for (size_t i = 0; i < seq; i++) {
                double dot = 0;
                for (size_t j = 0; j < seq; j++)
                    dot += (double)dp[i * seq + j] * p[i * seq + j];
                for (size_t j = 0; j < seq; j++)
                    dp[i * seq + j] = (REAL)(p[i * seq + j] * (dp[i * seq + j] - dot));
            }
            ref_gemm(NULL, 0, 0, seq, dh, seq, scale, dp, seq, k, ld, 0, dq, ld);
            ref_gemm(NULL, 1, 0, seq, dh, seq, scale, dp, seq, q, ld, 0, dk, ld);
        }
    }
    return 0;
}

static double ref_normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static const double root_2_over_pi = 0.79788456080286535588, cubic = 0.044715;

static double ref_act(int activation, double x)
{
    if (activation == K_RELU)
        return x < 0 ? 0 : x;
    if (activation == K_GELU)
        return x * ref_normal_cdf(x);
    return 0.5 * x * (1 + tanh(root_2_over_pi * (x + cubic * x * x * x)));
}

static int ref_bias_act(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x,
                        void *y)
{
    (void)stream;
    REAL *X = x, *Y = y;
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < n; j++) {
            const REAL v = X[r * n + j] += ((const REAL *)bias)[j];
            Y[r * n + j] = (REAL)ref_act(activation, v);
        }
    }
    return 0;
}

static double ref_act_slope(int activation, double x)
{
    static const double inverse_root_2pi = 0.39894228040143267794;
    if (activation == K_RELU)
        return x > 0;
    if (activation == K_GELU_TANH) {
        const double t = tanh(root_2_over_pi * (x + cubic * x * x * x));
        return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root_2_over_pi * (1 + 3 * cubic * x * x);
    }
    return ref_normal_cdf(x) + x * inverse_root_2pi * exp(-x * x / 2);
}

static int ref_bias_act_grad(void *stream, int activation, size_t rows, size_t n, const void *dy,
                             const void *x, void *dx, void *dbias, int accumulate)
{
    (void)stream;
    const REAL *dY = dy, *X = x;
    REAL *dX = dx;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t r = 0; r < rows; r++) {
            const size_t i = r * n + j;
            dX[i] = (REAL)(dY[i] * ref_act_slope(activation, X[i]));
            sum += dX[i];
        }
        if (dbias)
            ref_give(sum, accumulate, (REAL *)dbias + j);
    }
    return 0;
}

static int ref_bias_tanh(void *stream, size_t rows, size_t n, const void *bias, void *y)
{
    (void)stream;
    REAL *Y = y;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < n; j++)
            Y[r * n + j] = (REAL)tanh((double)Y[r * n + j] + ((const REAL *)bias)[j]);
    return 0;
}

static int ref_tanh_grad(void *stream, size_t n, const void *dy, const void *y, void *dx)
{
    (void)stream;
    const REAL *dY = dy, *Y = y;
    for (size_t i = 0; i < n; i++)
        ((REAL *)dx)[i] = (REAL)(dY[i] * (1 - (double)Y[i] * Y[i]));
    return 0;
}

static int ref_sine(void *stream, size_t seq, size_t d, void *position)
{
    (void)stream;
    for (size_t i = 0; i < seq; i++)
        for (size_t j = 0; j < d; j++) {
            const double angle = (double)i * pow(10000, -(double)(j - j % 2) / (double)d);
            ((REAL *)position)[i * d + j] = (REAL)(j % 2 ? cos(angle) : sin(angle));
        }
    return 0;
}

static int ref_embed(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token,
                     const void *word, const void *position, const void *type, void *y)
{
    (void)stream;
    const REAL *w = word, *p = position, *t = type;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < d; j++)
            ((REAL *)y)[r * d + j] = (REAL)(scale * (double)w[(size_t)token[r] * d + j] +
                                            (p ? (double)p[r % seq * d + j] : 0) + (t ? (double)t[j] : 0));
    return 0;
}

/* out[j] = scale x sum of dy[r,j] over rows r = first, first + step, ... whose token is `token` (any, if -1).
 */
static void ref_sum_rows(size_t rows, size_t d, double scale, const REAL *dy, size_t first, size_t step,
                         const int32_t *tokens, int32_t token, int accumulate, REAL *out)
{
    for (size_t j = 0; j < d; j++) {
        double sum = 0;
        for (size_t r = first; r < rows; r += step)
            if (token < 0 || tokens[r] == token)
                sum += dy[r * d + j];
        ref_give(scale * sum, accumulate, out + j);
    }
}

static int ref_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                          size_t types, double scale, const int32_t *token, const void *dy, void *dword,
                          void *dposition, void *dtype, int accumulate)
{
    (void)stream;
    REAL *dw = dword, *dp = dposition;
    for (size_t i = 0; i < vocab * d && !accumulate; i++)
        dw[i] = 0;
    for (size_t r = 0; r < rows; r++) {
        size_t first = 0;
        while (token[first] != token[r])
            first++;
        if (first == r)
            ref_sum_rows(rows, d, scale, dy, r, 1, token, token[r], accumulate, dw + (size_t)token[r] * d);
    }
    for (size_t i = 0; i < positions; i++)
        ref_sum_rows(i < seq ? rows : 0, d, 1, dy, i, seq, token, -1, accumulate, dp + i * d);
    for (size_t i = 0; i < types; i++)
        ref_sum_rows(i == 0 ? rows : 0, d, 1, dy, 0, 1, token, -1, accumulate, (REAL *)dtype + i * d);
    return 0;
}

static int ref_bag(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word,
                   void *y)
{
    (void)stream;
    for (size_t b = 0; b < batch; b++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t i = 0; i < seq; i++)
                sum += ((const REAL *)word)[(size_t)token[b * seq + i] * d + j];
            ((REAL *)y)[b * d + j] = (REAL)(sum / (double)seq);
        }
    return 0;
}

static int ref_bag_grad(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token,
                        const void *dy, void *dword, int accumulate)
{
    (void)stream;
    for (size_t t = 0; t < vocab; t++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t i = 0; i < batch * seq; i++)
                if ((size_t)token[i] == t)
                    sum += ((const REAL *)dy)[i / seq * d + j];
            ref_give(sum / (double)seq, accumulate, (REAL *)dword + t * d + j);
        }
    return 0;
}

static int ref_cross_entropy(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                             const int32_t *target, void *dlogits, double *loss)
{
    (void)stream;
    double total = 0;
    for (size_t r = 0; r < rows; r++) {
        const REAL *x = (const REAL *)logits + r * classes;
        REAL *dx = (REAL *)dlogits + r * classes;
        const size_t t = (size_t)target[r];
        double max = -INFINITY, sum = 0;
        for (size_t j = 0; j < classes; j++)
            max = fmax(max, x[j]);
        for (size_t j = 0; j < classes; j++)
            sum += exp(x[j] - max);
        for (size_t j = 0; j < classes; j++)
            dx[j] = (REAL)((exp(x[j] - max) / sum - (j == t)) * weight / (double)rows);
        total += log(sum) + max - x[t];
    }
    *loss = rows ? weight * total / (double)rows : 0;
    return 0;
}

static int ref_scale_copy(void *stream, size_t n, double scale, const void *src, void *dst)
{
    (void)stream;
    for (size_t i = 0; i < n; i++)
        ((REAL *)dst)[i] = (REAL)(scale * ((const REAL *)src)[i]);
    return 0;
}

static int ref_add(void *stream, size_t n, const void *src, void *dst)
{
    (void)stream;
    for (size_t i = 0; i < n; i++)
        ((REAL *)dst)[i] += ((const REAL *)src)[i];
    return 0;
}

static int ref_zero(void *stream, size_t n, void *dst)
{
    (void)stream;
    for (size_t i = 0; i < n; i++)
        ((REAL *)dst)[i] = 0;
    return 0;
}

static int ref_sum(void *stream, size_t members, size_t n, const void *const *src, void *dst)
{
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        REAL sum = ((const REAL *)src[0])[i];
        for (size_t m = 1; m < members; m++)
            sum += ((const REAL *)src[m])[i];
        ((REAL *)dst)[i] = sum;
    }
    return 0;
}

#include "kernels/cpu/ref-optim.h"

const struct k_table TABLE = {
    .name = NAME,
    .elem_bytes = sizeof(REAL),
    .gemm = ref_gemm,
    .bias = ref_bias,
    .bias_grad = ref_bias_grad,
    .add_norm = ref_add_norm,
    .add_norm_grad = ref_add_norm_grad,
    .attention = ref_attention,
    .dropout = ref_dropout,
    .residual = ref_residual,
    .sine = ref_sine,
    .bag = ref_bag,
    .bag_grad = ref_bag_grad,
    .attention_grad = ref_attention_grad,
    .bias_act = ref_bias_act,
    .bias_act_grad = ref_bias_act_grad,
    .bias_tanh = ref_bias_tanh,
    .tanh_grad = ref_tanh_grad,
    .embed = ref_embed,
    .embed_grad = ref_embed_grad,
    .cross_entropy = ref_cross_entropy,
    .scale_copy = ref_scale_copy,
    .add = ref_add,
    .zero = ref_zero,
    .sum = ref_sum,
    .sgd = ref_sgd,
    .adam = ref_adam,
    .sum_squares = ref_sum_squares,
    .total = cpu_total,
    .clip_factor = ref_clip_factor,
};
