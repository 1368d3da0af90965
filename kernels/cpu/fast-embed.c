#include "kernels/cpu/fast.h"

#include <math.h>
#include <string.h>

/* Down each pair of columns the angle grows by a fixed step: a rotation, in double. */
int fast_sine(void *stream, size_t seq, size_t d, void *position)
{
    (void)stream;
    float *out = position;
    for (size_t j = 0; j < d; j += 2) {
        const double step = pow(10000, -(double)j / (double)d), by_sin = sin(step), by_cos = cos(step);
        double s = 0, c = 1;
        for (size_t i = 0; i < seq; i++) {
            out[i * d + j] = (float)s;
            if (j + 1 < d)
                out[i * d + j + 1] = (float)c;
            const double next = s * by_cos + c * by_sin;
            c = c * by_cos - s * by_sin;
            s = next;
        }
    }
    return 0;
}

/* with_* are constants where it is called. */
FAST_INLINE void embed_row(size_t d, float scale, const float *w, int with_position, const float *p,
                           int with_type, const float *type, float *out)
{
#pragma omp simd
    for (size_t j = 0; j < d; j++)
        out[j] = scale * w[j] + (with_position ? p[j] : 0) + (with_type ? type[j] : 0);
}

ON_EVERY_CPU static void embed(size_t rows, size_t seq, size_t d, float scale, const int32_t *token,
                               const float *word, const float *position, const float *type, float *y)
{
    for (size_t r = 0; r < rows; r++) {
        const float *w = word + (size_t)token[r] * d, *p = position ? position + r % seq * d : NULL;
        float *out = y + r * d;
        if (p && type)
            embed_row(d, scale, w, 1, p, 1, type, out);
        else if (p)
            embed_row(d, scale, w, 1, p, 0, NULL, out);
        else if (type)
            embed_row(d, scale, w, 0, NULL, 1, type, out);
        else
            embed_row(d, scale, w, 0, NULL, 0, NULL, out);
    }
}

int fast_embed(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token,
               const void *word, const void *position, const void *type, void *y)
{
    (void)stream;
    embed(rows, seq, d, (float)scale, token, word, position, type, y);
    return 0;
}

/* Rows of equal tokens are added in the order of the rows; `repeat` tokens share a row of dy. */
ON_EVERY_CPU static void add_rows(size_t tokens, size_t repeat, size_t d, float scale, const int32_t *token,
                                  const float *dy, float *dword)
{
    for (size_t r = 0; r < tokens; r++) {
        float *w = dword + (size_t)token[r] * d;
        const float *g = dy + r / repeat * d;
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            w[j] += scale * g[j];
    }
}

int fast_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                    size_t types, double scale, const int32_t *token, const void *dy, void *dword,
                    void *dposition, void *dtype, int accumulate)
{
    if (!accumulate)
        memset(dword, 0, vocab * d * sizeof(float));
    add_rows(rows, 1, d, (float)scale, token, dy, dword);
    for (size_t i = 0; i < positions; i++) {
        const size_t n = i < seq && i < rows ? (rows - i + seq - 1) / seq : 0;
        fast_bias_grad(stream, n, d, n ? (const float *)dy + i * d : NULL, seq * d,
                       (float *)dposition + i * d, accumulate);
    }
    if (types) {
        fast_bias_grad(stream, rows, d, dy, d, dtype, accumulate);
        if (!accumulate)
            memset((float *)dtype + d, 0, (types - 1) * d * sizeof(float));
    }
    return 0;
}

ON_EVERY_CPU static void bag(size_t batch, size_t seq, size_t d, const int32_t *token, const float *word,
                             float *y)
{
    const float share = 1 / (float)seq;
    for (size_t b = 0; b < batch; b++, y += d) {
        memset(y, 0, d * sizeof(float));
        for (size_t i = 0; i < seq; i++) {
            const float *w = word + (size_t)token[b * seq + i] * d;
#pragma omp simd
            for (size_t j = 0; j < d; j++)
                y[j] += w[j];
        }
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            y[j] *= share;
    }
}

int fast_bag(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word,
             void *y)
{
    (void)stream;
    bag(batch, seq, d, token, word, y);
    return 0;
}

int fast_bag_grad(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token,
                  const void *dy, void *dword, int accumulate)
{
    (void)stream;
    if (!accumulate)
        memset(dword, 0, vocab * d * sizeof(float));
    add_rows(batch * seq, seq, d, 1 / (float)seq, token, dy, dword);
    return 0;
}
