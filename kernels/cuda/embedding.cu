/* Embeddings: tables of words, positions and types, and bags of words. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/table.h"

namespace k
{

/* In double: an angle of hundreds has lost its fraction in float. */
__global__ void sine(size_t seq, size_t d, float *position)
{
    spread_row(seq, d, position, d, [=](size_t r, size_t i, auto w) {
        pack<w.value> v;
        for (int j = 0; j < w.value; j++) {
            const size_t c = i + j;
            const double angle = double(r) * pow(10000.0, -double(c - c % 2) / double(d));
            v.at[j] = float(c % 2 ? cos(angle) : sin(angle));
        }
        store(position + r * d + i, v);
    });
}

__global__ void embed(size_t rows, size_t seq, size_t d, float scale, const int32_t *token, const float *word,
                      const float *position, const float *type, float *y)
{
    spread_row(rows, d, y, d, [=](size_t r, size_t i, auto w) {
        const pack<w.value> p = load_if<w.value>(position, r % seq * d + i), t = load_if<w.value>(type, i);
        pack<w.value> v = load<w.value>(word + size_t(token[r]) * d + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = scale * v.at[j] + p.at[j] + t.at[j];
        store(y + r * d + i, v);
    });
}

enum { WORD_THREADS = 256, WORD_COLUMNS = 4 };

/* A block a token and WORD_THREADS x WORD_COLUMNS columns.  The block of a token's first occurrence adds up
 * the rows of dy of all of them, in order; token i has row i / per. */
__global__ void words_grad(size_t tokens, size_t d, size_t per, float scale, const int32_t *token,
                           const float *dy, float *dword, int accumulate)
{
    __shared__ unsigned counts[WORD_THREADS / 32], list[WORD_THREADS];
    const unsigned thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const size_t own = blockIdx.x, column = blockIdx.y * size_t(WORD_THREADS * WORD_COLUMNS) + thread;
    const int32_t mine = token[own];
    int before = 0;
    for (size_t i = thread; i < own; i += WORD_THREADS)
        before |= token[i] == mine;
    if (total<WORD_THREADS>(before))
        return;

    double sum[WORD_COLUMNS] = {};
    for (size_t base = own; base < tokens; base += WORD_THREADS) {
        const bool here = base + thread < tokens && token[base + thread] == mine;
        const unsigned mask = __ballot_sync(0xffffffffu, here);
        if (lane == 0)
            counts[warp] = __popc(mask);
        __syncthreads();
        unsigned place = __popc(mask & ((1u << lane) - 1)), n = 0;
        for (unsigned w = 0; w < WORD_THREADS / 32; w++) {
            place += w < warp ? counts[w] : 0;
            n += counts[w];
        }
        if (here)
            list[place] = thread;
        __syncthreads();
        for (unsigned m = 0; m < n; m += 4) {
            float few[WORD_COLUMNS] = {};
            for (unsigned u = m; u < m + 4 && u < n; u++)
                for (unsigned c = 0; c < WORD_COLUMNS; c++)
                    if (column + c * WORD_THREADS < d)
                        few[c] += dy[(base + list[u]) / per * d + column + c * WORD_THREADS];
            for (unsigned c = 0; c < WORD_COLUMNS; c++)
                sum[c] += few[c];
        }
    }
    for (unsigned c = 0; c < WORD_COLUMNS; c++) {
        float *to = dword + size_t(mine) * d + column + c * WORD_THREADS;
        if (column + c * WORD_THREADS < d)
            *to = float(double(scale) * sum[c] + (accumulate ? double(*to) : 0));
    }
}

/* Row r of the table is the sum of rows r, r + seq, ... of dy. */
__global__ void positions_grad(size_t rows, size_t seq, size_t d, size_t positions, const float *dy,
                               float *dposition, int accumulate)
{
    spread_row(positions, d, dposition, d, [=](size_t r, size_t i, auto w) {
        double sum[w.value] = {};
        for (size_t from = r; from < rows && r < seq; from += seq) {
            const pack<w.value> v = load<w.value>(dy + from * d + i);
            for (int j = 0; j < w.value; j++)
                sum[j] += v.at[j];
        }
        pack<w.value> to = load_if<w.value>(accumulate ? dposition : nullptr, r * d + i);
        for (int j = 0; j < w.value; j++)
            to.at[j] = float(sum[j] + to.at[j]);
        store(dposition + r * d + i, to);
    });
}

__global__ void types_grad(size_t rows, size_t d, column_sums<1> sums, const float *dy)
{
    sum_columns<float>(rows, d, sums, [=](size_t r, size_t j, float *v) { v[0] = dy[r * d + j]; });
}

__global__ void bag(size_t batch, size_t seq, size_t d, const int32_t *token, const float *word, float *y)
{
    spread_row(batch, d, y, d, [=](size_t r, size_t i, auto w) {
        double sum[w.value] = {};
        for (size_t t = 0; t < seq; t++) {
            const pack<w.value> v = load<w.value>(word + size_t(token[r * seq + t]) * d + i);
            for (int j = 0; j < w.value; j++)
                sum[j] += v.at[j];
        }
        pack<w.value> mean;
        for (int j = 0; j < w.value; j++)
            mean.at[j] = float(sum[j] / double(seq));
        store(y + r * d + i, mean);
    });
}

/* The whole table; what no token names is zero, or kept. */
static int table_grad(void *stream, size_t tokens, size_t d, size_t vocab, size_t per, double scale,
                      const int32_t *token, const void *dy, void *dword, int accumulate)
{
    const int status = accumulate ? 0 : k_cuda_zero(stream, vocab * d, dword);
    const dim3 grid(unsigned(tokens), unsigned(ceil_div(d, WORD_THREADS * WORD_COLUMNS)));
    return status ? status
                  : launch<words_grad>(stream, grid, WORD_THREADS, 0, tokens, d, per, float(scale), token,
                                       floats(dy), floats(dword), accumulate);
}

} // namespace k

int k_cuda_sine(void *stream, size_t seq, size_t d, void *position)
{
    const k::tiles t = k::by_rows(seq, d);
    return k::launch<k::sine>(stream, t.grid, t.block, 0, seq, d, k::floats(position));
}

int k_cuda_embed(void *stream, size_t rows, size_t seq, size_t d, double scale, const int32_t *token,
                 const void *word, const void *position, const void *type, void *y)
{
    const k::tiles t = k::by_rows(rows, d);
    return k::launch<k::embed>(stream, t.grid, t.block, 0, rows, seq, d, float(scale), token, k::floats(word),
                               k::floats(position), k::floats(type), k::floats(y));
}

int k_cuda_embed_grad(void *stream, size_t rows, size_t seq, size_t d, size_t vocab, size_t positions,
                      size_t types, double scale, const int32_t *token, const void *dy, void *dword,
                      void *dposition, void *dtype, int accumulate)
{
    const k::tiles t = k::by_rows(positions, d);
    const k::column_sums<1> first = {{k::floats(dtype)}, accumulate, nullptr};
    int status = k::table_grad(stream, rows, d, vocab, 1, scale, token, dy, dword, accumulate);
    if (!status && positions)
        status = k::launch<k::positions_grad>(stream, t.grid, t.block, 0, rows, seq, d, positions,
                                              k::floats(dy), k::floats(dposition), accumulate);
    if (!status && types)
        status = k::launch_columns<k::types_grad>(stream, rows, d, first, k::floats(dy));
    if (!status && types > 1 && !accumulate)
        status = k_cuda_zero(stream, (types - 1) * d, k::floats(dtype) + d);
    return status;
}

int k_cuda_bag(void *stream, size_t batch, size_t seq, size_t d, const int32_t *token, const void *word,
               void *y)
{
    const k::tiles t = k::by_rows(batch, d);
    return k::launch<k::bag>(stream, t.grid, t.block, 0, batch, seq, d, token, k::floats(word), k::floats(y));
}

int k_cuda_bag_grad(void *stream, size_t batch, size_t seq, size_t d, size_t vocab, const int32_t *token,
                    const void *dy, void *dword, int accumulate)
{
    return k::table_grad(stream, batch * seq, d, vocab, seq, 1 / double(seq ? seq : 1), token, dy, dword,
                         accumulate);
}
