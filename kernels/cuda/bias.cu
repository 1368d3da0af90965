/* Biases, dropout, residual connections. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/table.h"

namespace k
{

__global__ void bias(size_t rows, size_t n, const float *bias, float *y, size_t ld)
{
    spread_row(rows, n, y, ld, [=](size_t r, size_t i, auto w) {
        const pack<w.value> b = load<w.value>(bias + i);
        pack<w.value> v = load<w.value>(y + r * ld + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] += b.at[j];
        store(y + r * ld + i, v);
    });
}

__global__ void bias_grad(size_t rows, size_t n, column_sums<1> sums, const float *dy, size_t ld)
{
    sum_columns<float>(rows, n, sums, [=](size_t r, size_t j, float *v) { v[0] = dy[r * ld + j]; });
}

/* y = x + drop(from + bias) */
__global__ void residual(size_t rows, size_t n, const float *bias, const float *x, dropping drop,
                         const float *from, float *y)
{
    spread_row(rows, n, y, n, [=](size_t r, size_t i, auto w) {
        const size_t in_sample = drop.on ? r % drop.drop.sample_rows : 0;
        const struct dropout_sample s = drop.sample(drop.on ? r / drop.drop.sample_rows : 0);
        const pack<w.value> b = load_if<w.value>(bias, i), a = load_if<w.value>(x, r * n + i);
        pack<w.value> v = load<w.value>(from + r * n + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = a.at[j] + drop(s, in_sample * n + i + j, v.at[j] + b.at[j]);
        store(y + r * n + i, v);
    });
}

__global__ void bias_tanh(size_t rows, size_t n, const float *bias, float *y)
{
    spread_row(rows, n, y, n, [=](size_t r, size_t i, auto w) {
        const pack<w.value> b = load<w.value>(bias + i);
        pack<w.value> v = load<w.value>(y + r * n + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = tanhf(v.at[j] + b.at[j]);
        store(y + r * n + i, v);
    });
}

__global__ void tanh_grad(size_t n, const float *dy, const float *y, float *dx)
{
    spread_flat(n, dx, [=](size_t i, auto w) {
        const pack<w.value> a = load<w.value>(y + i);
        pack<w.value> v = load<w.value>(dy + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] *= 1 - a.at[j] * a.at[j];
        store(dx + i, v);
    });
}

} // namespace k

int k_cuda_bias(void *stream, size_t rows, size_t n, const void *bias, void *y, size_t ld)
{
    const k::tiles t = k::by_rows(rows, n);
    return k::launch<k::bias>(stream, t.grid, t.block, 0, rows, n, k::floats(bias), k::floats(y), ld);
}

int k_cuda_bias_grad(void *stream, size_t rows, size_t n, const void *dy, size_t ld, void *dbias,
                     int accumulate)
{
    const k::column_sums<1> sums = {{k::floats(dbias)}, accumulate, nullptr};
    return k::launch_columns<k::bias_grad>(stream, rows, n, sums, k::floats(dy), ld);
}

int k_cuda_dropout(void *stream, size_t rows, size_t n, const struct k_dropout *drop, const void *x, void *y)
{
    const k::tiles t = k::by_rows(rows, n);
    return k::launch<k::residual>(stream, t.grid, t.block, 0, rows, n, static_cast<const float *>(nullptr),
                                  static_cast<const float *>(nullptr), k::dropping_of(drop), k::floats(x),
                                  k::floats(y));
}

int k_cuda_residual(void *stream, size_t rows, size_t n, const void *bias, const void *x,
                    const struct k_dropout *drop, void *y)
{
    const k::tiles t = k::by_rows(rows, n);
    if (!bias && !x && !drop)
        return 0;
    return k::launch<k::residual>(stream, t.grid, t.block, 0, rows, n, k::floats(bias), k::floats(x),
                                  k::dropping_of(drop), k::floats(y), k::floats(y));
}

int k_cuda_bias_tanh(void *stream, size_t rows, size_t n, const void *bias, void *y)
{
    const k::tiles t = k::by_rows(rows, n);
    return k::launch<k::bias_tanh>(stream, t.grid, t.block, 0, rows, n, k::floats(bias), k::floats(y));
}

int k_cuda_tanh_grad(void *stream, size_t n, const void *dy, const void *y, void *dx)
{
    return k::launch<k::tanh_grad>(stream, k::flat(n), 256, 0, n, k::floats(dy), k::floats(y), k::floats(dx));
}
