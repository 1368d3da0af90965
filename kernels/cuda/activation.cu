/* GELU and ReLU, with their biases. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/table.h"

namespace k
{

constexpr float root_2_over_pi = 0.79788456f, cubic = 0.044715f, root_half = 0.70710678f,
                inverse_root_2pi = 0.39894228f;

/* Not a number stays that. */
template <int ACTIVATION> __device__ float active(float x)
{
    if (ACTIVATION == K_RELU)
        return x < 0 ? 0 : x;
    if (ACTIVATION == K_GELU)
        return x * (0.5f * erfcf(-x * root_half));
    return 0.5f * x * (1 + tanhf(root_2_over_pi * (x + cubic * x * x * x)));
}

template <int ACTIVATION> __device__ float slope(float x)
{
    if (ACTIVATION == K_RELU)
        return x > 0 ? 1 : 0;
    if (ACTIVATION == K_GELU)
        return 0.5f * erfcf(-x * root_half) + x * inverse_root_2pi * expf(-0.5f * x * x);
    const float t = tanhf(root_2_over_pi * (x + cubic * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * root_2_over_pi * (1 + 3 * cubic * x * x);
}

template <int ACTIVATION>
__global__ void bias_act(size_t rows, size_t n, const float *bias, float *x, float *y)
{
    spread_row(rows, n, x, n, [=](size_t r, size_t i, auto w) {
        const pack<w.value> b = load<w.value>(bias + i);
        pack<w.value> v = load<w.value>(x + r * n + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] += b.at[j];
        store(x + r * n + i, v);
        for (float &e : v.at)
            e = active<ACTIVATION>(e);
        store(y + r * n + i, v);
    });
}

template <int ACTIVATION> __global__ void act_grad(size_t n, const float *dy, const float *x, float *dx)
{
    spread_flat(n, dx, [=](size_t i, auto w) {
        const pack<w.value> at = load<w.value>(x + i);
        pack<w.value> v = load<w.value>(dy + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] *= slope<ACTIVATION>(at.at[j]);
        store(dx + i, v);
    });
}

template <int ACTIVATION>
__global__ void bias_act_grad(size_t rows, size_t n, column_sums<1> sums, const float *dy, const float *x,
                              float *dx)
{
    sum_columns<float>(rows, n, sums, [=](size_t r, size_t j, float *v) {
        const size_t i = r * n + j;
        v[0] = dx[i] = dy[i] * slope<ACTIVATION>(x[i]);
    });
}

/* go(width<activation>) */
template <class F> int by_activation(int activation, F go)
{
    switch (activation) {
    case K_GELU:
        return go(width<K_GELU>{});
    case K_RELU:
        return go(width<K_RELU>{});
    case K_GELU_TANH:
        return go(width<K_GELU_TANH>{});
    default:
        return cudaErrorInvalidValue;
    }
}

} // namespace k

int k_cuda_bias_act(void *stream, int activation, size_t rows, size_t n, const void *bias, void *x, void *y)
{
    const k::tiles t = k::by_rows(rows, n);
    return k::by_activation(activation, [&](auto a) {
        return k::launch<k::bias_act<a.value>>(stream, t.grid, t.block, 0, rows, n, k::floats(bias),
                                               k::floats(x), k::floats(y));
    });
}

int k_cuda_bias_act_grad(void *stream, int activation, size_t rows, size_t n, const void *dy, const void *x,
                         void *dx, void *dbias, int accumulate)
{
    const k::column_sums<1> sums = {{k::floats(dbias)}, accumulate, nullptr};
    return k::by_activation(activation, [&](auto a) {
        if (!dbias)
            return k::launch<k::act_grad<a.value>>(stream, k::flat(rows * n), 256, 0, rows * n, k::floats(dy),
                                                   k::floats(x), k::floats(dx));
        return k::launch_columns<k::bias_act_grad<a.value>>(stream, rows, n, sums, k::floats(dy),
                                                            k::floats(x), k::floats(dx));
    });
}
