#include "kernels/cpu/fast.h"
#include "kernels/cpu/fast-math.h"

#include <math.h>

/* Where one head of one sample begins: in qkv (rows of stride 3 d), in out (stride d), in the square
 * matrices. */
struct head {
    size_t qkv, out, square;
};

static struct head head_at(size_t heads, size_t seq, size_t dh, size_t b, size_t h)
{
    const size_t d = heads * dh;
    return (struct head){b * seq * 3 * d + h * dh, b * seq * d + h * dh, (b * heads + h) * seq * seq};
}

/* Of a square matrix, causal: of its lower triangle, and the rest becomes 0. */
ON_EVERY_CPU static void softmax(size_t size, int causal, float *x)
{
    for (size_t r = 0; r < size; r++, x += size) {
        const size_t n = causal ? r + 1 : size;
        float max = x[0], sum = 0;
#pragma omp simd reduction(max : max)
        for (size_t j = 0; j < n; j++)
            max = max < x[j] ? x[j] : max;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < n; j++)
            sum += x[j] = fast_exp(x[j] - max);
        const float inverse = 1 / sum;
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            x[j] *= inverse;
        for (size_t j = n; j < size; j++)
            x[j] = 0;
    }
}

int fast_attention(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                   const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out)
{
    const size_t d = heads * dh, ld = 3 * d;
    const double scale = 1 / sqrt((double)dh);
    int status = 0;
    for (size_t b = 0; b < batch && !status; b++) {
        for (size_t h = 0; h < heads && !status; h++) {
            const struct head at = head_at(heads, seq, dh, b, h);
            const float *q = (const float *)qkv + at.qkv, *k = q + d, *v = k + d;
            float *p = (float *)probs + at.square;
            status = fast_gemm(stream, 0, 1, seq, seq, dh, scale, q, ld, k, ld, 0, p, seq);
            softmax(seq, causal, p);
            if (drop) {
                fast_drop(drop, b, h * seq * seq, seq * seq, p, dropped);
                p = dropped;
            }
            if (!status)
                status = fast_gemm(stream, 0, 0, seq, dh, seq, 1, p, seq, v, ld, 0, (float *)out + at.out, d);
        }
    }
    return status;
}

/* dp becomes ds = p (dp - sum over the row of dp p). */
ON_EVERY_CPU static void softmax_grad(size_t rows, size_t n, const float *p, float *dp)
{
    for (size_t r = 0; r < rows; r++, p += n, dp += n) {
        float dot = 0;
#pragma omp simd reduction(+ : dot)
        for (size_t j = 0; j < n; j++)
            dot += p[j] * dp[j];
#pragma omp simd
        for (size_t j = 0; j < n; j++)
            dp[j] = p[j] * (dp[j] - dot);
    }
}

/* One matrix of dprobs and of dropped serves all heads, and stays in the cache. */
int fast_attention_grad(void *stream, size_t batch, size_t heads, size_t seq, size_t dh,
                        const struct k_dropout *drop, const void *dout, const void *qkv, const void *probs,
                        void *dropped, void *dprobs, void *dqkv)
{
    const size_t d = heads * dh, ld = 3 * d, square = seq * seq;
    const double scale = 1 / sqrt((double)dh);
    int status = 0;
    for (size_t b = 0; b < batch && !status; b++) {
        for (size_t h = 0; h < heads && !status; h++) {
            const struct head at = head_at(heads, seq, dh, b, h);
            const float *q = (const float *)qkv + at.qkv, *k = q + d, *v = k + d,
                        *o = (const float *)dout + at.out;
            const float *p = (const float *)probs + at.square;
            float *dq = (float *)dqkv + at.qkv, *dk = dq + d, *dv = dk + d, *dp = dprobs;
            if (drop)
                fast_drop(drop, b, h * square, square, p, dropped);
            status = fast_gemm(stream, 1, 0, seq, dh, seq, 1, drop ? dropped : p, seq, o, d, 0, dv, ld);
            if (!status)
                status = fast_gemm(stream, 0, 1, seq, seq, dh, 1, o, d, v, ld, 0, dp, seq);
            if (drop)
                fast_drop(drop, b, h * square, square, dp, dp);
            softmax_grad(seq, seq, p, dp);
            if (!status)
                status = fast_gemm(stream, 0, 0, seq, dh, seq, scale, dp, seq, k, ld, 0, dq, ld);
            if (!status)
                status = fast_gemm(stream, 1, 0, seq, dh, seq, scale, dp, seq, q, ld, 0, dk, ld);
        }
    }
    return status;
}
