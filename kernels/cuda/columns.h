/* kernels/cuda/columns.h -- sums over the rows of a matrix, K of them a column, the same bits every time.
 *
 * Blocks of 32 columns and COLUMN_LANES rows sum a chunk of rows each; where there is more than one chunk,
 * their sums go to the stream's scratch and a second launch adds these.  Four rows are added in float, all
 * the rest in double.
 */
#ifndef KERNELS_CUDA_COLUMNS_H
#define KERNELS_CUDA_COLUMNS_H

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace k
{

enum { COLUMN_LANES = 8 };

/* Where column sums go. */
template <int K> struct column_sums {
    float *to[K];
    int accumulate;
    double *scratch; /* [chunks, K, n] */

    __device__ void give(size_t n, int i, size_t j, double sum) const
    {
        if (gridDim.y > 1)
            scratch[(blockIdx.y * size_t(K) + i) * n + j] = sum;
        else
            to[i][j] = float(sum + (accumulate ? double(to[i][j]) : 0));
    }
};

/* values(r, j, v) puts what row r adds to the sums of column j into v[K], numbers of X. */
template <class X, int K, class F>
__device__ void sum_columns(size_t rows, size_t n, column_sums<K> sums, F values)
{
    __shared__ double part[K][COLUMN_LANES][32];
    const size_t j = blockIdx.x * size_t(32) + threadIdx.x, chunk = (rows + gridDim.y - 1) / gridDim.y;
    const size_t first = blockIdx.y * chunk, end = first + chunk < rows ? first + chunk : rows;
    double sum[K] = {};
    for (size_t r = first + threadIdx.y; r < end && j < n; r += 4 * COLUMN_LANES) {
        X few[K] = {};
        for (int u = 0; u < 4; u++)
            if (r + u * COLUMN_LANES < end) {
                X v[K];
                values(r + u * COLUMN_LANES, j, v);
                for (int i = 0; i < K; i++)
                    few[i] += v[i];
            }
        for (int i = 0; i < K; i++)
            sum[i] += few[i];
    }
    for (int i = 0; i < K; i++)
        part[i][threadIdx.y][threadIdx.x] = sum[i];
    __syncthreads();
    if (threadIdx.y != 0 || j >= n)
        return;
    for (int i = 0; i < K; i++) {
        for (int lane = 1; lane < COLUMN_LANES; lane++)
            sum[i] += part[i][lane][threadIdx.x];
        sums.give(n, i, j, sum[i]);
    }
}

template <int K> __global__ void add_chunks(size_t chunks, size_t n, column_sums<K> sums)
{
    sum_columns<double>(chunks, n, sums, [=](size_t r, size_t j, double *v) {
        for (int i = 0; i < K; i++)
            v[i] = sums.scratch[(r * K + i) * n + j];
    });
}

/* kernel(rows, n, sums, arguments...), which calls sum_columns.  Without rows the sums are zeros. */
template <auto kernel, int K, class... A>
int launch_columns(void *stream, size_t rows, size_t n, column_sums<K> sums, A... arguments)
{
    const size_t columns = ceil_div(n, 32), room = SCRATCH_BYTES / (sizeof(double) * K * (n + 1));
    const size_t busy =
        std::max<size_t>(1024 / (columns + 1), 1); /* blocks beyond some for every processor are no use */
    const size_t chunks = std::max<size_t>(std::min({ceil_div(rows, 64), busy, room, size_t(256)}), 1);
    const dim3 block(32, COLUMN_LANES);
    sums.scratch = static_cast<double *>(static_cast<k_cuda_stream *>(stream)->scratch);
    const int status = launch<kernel>(stream, dim3(unsigned(columns), unsigned(chunks)), block, 0, rows, n,
                                      sums, arguments...);
    if (status || chunks == 1)
        return status;
    return launch<add_chunks<K>>(stream, dim3(unsigned(columns)), block, 0, chunks, n, sums);
}

} // namespace k

#endif
