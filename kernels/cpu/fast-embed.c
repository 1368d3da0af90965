#include "kernels/cpu/fast.h"

#include <string.h>

ON_EVERY_CPU static void embed(size_t rows, size_t seq, size_t d, const int32_t *token, const float *word,
                               const float *position, const float *type, float *y)
{
    for (size_t r = 0; r < rows; r++) {
        const float *w = word + (size_t)token[r] * d, *p = position + r % seq * d;
        float *out = y + r * d;
        if (type) {
#pragma omp simd
            for (size_t j = 0; j < d; j++)
                out[j] = w[j] + p[j] + type[j];
        } else {
#pragma omp simd
            for (size_t j = 0; j < d; j++)
                out[j] = w[j] + p[j];
        }
    }
}

int fast_embed(void *stream, size_t rows, size_t seq, size_t d, const int32_t *token, const void *word,
               const void *position, const void *type, void *y)
{
    (void)stream;
    embed(rows, seq, d, token, word, position, type, y);
    return 0;
}

/* Rows of equal tokens are added in the order of the rows. */
ON_EVERY_CPU static void add_rows(size_t rows, size_t d, const int32_t *token, const float *dy, float *dword)
{
    for (size_t r = 0; r < rows; r++, dy += d) {
        float *w = dword + (size_t)token[r] * d;
#pragma omp simd
        for (size_t j = 0; j < d; j++)
            w[j] += dy[j];
    }
}

int fast_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                    size_t types, const int32_t *token, const void *dy, void *dword, void *dposition,
                    void *dtype, int accumulate)
{
    if (!accumulate)
        memset(dword, 0, vocab * d * sizeof(float));
    add_rows(rows, d, token, dy, dword);
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
