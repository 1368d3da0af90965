/* SGD, Adam, and the factor by which gradients are clipped. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

#include <cmath>

namespace k
{

__global__ void sgd(size_t n, float lr, float momentum, const double *factor, const float *grad,
                    float *moment, float *weight)
{
    const float f = factor ? float(factor[0]) : 1;
    spread_flat(n, weight, [=](size_t i, auto w) {
        pack<w.value> g = load<w.value>(grad + i), to = load<w.value>(weight + i);
        for (float &x : g.at)
            x *= f;
        if (moment) {
            const pack<w.value> m = load<w.value>(moment + i);
            for (int j = 0; j < w.value; j++)
                g.at[j] += momentum * m.at[j];
            store(moment + i, g);
        }
        for (int j = 0; j < w.value; j++)
            to.at[j] -= lr * g.at[j];
        store(weight + i, to);
    });
}

/* 1 - beta and what corrects the bias come from numbers in double. */
struct adam_rates {
    float beta1, rest1, beta2, rest2, step, inverse_root_bias2, epsilon;
};

__global__ void adam(size_t n, adam_rates a, const double *factor, const float *grad, float *moment,
                     float *variance, float *weight)
{
    const float f = factor ? float(factor[0]) : 1;
    spread_flat(n, weight, [=](size_t i, auto w) {
        const pack<w.value> gradient = load<w.value>(grad + i);
        pack<w.value> m = load<w.value>(moment + i), v = load<w.value>(variance + i),
                      to = load<w.value>(weight + i);
        for (int j = 0; j < w.value; j++) {
            const float g = f * gradient.at[j];
            m.at[j] = a.beta1 * m.at[j] + a.rest1 * g;
            v.at[j] = a.beta2 * v.at[j] + a.rest2 * g * g;
            to.at[j] -= a.step * m.at[j] / (sqrtf(v.at[j]) * a.inverse_root_bias2 + a.epsilon);
        }
        store(moment + i, m);
        store(variance + i, v);
        store(weight + i, to);
    });
}

/* A sum a block. */
__global__ void squares(size_t n, const float *x, double *sums)
{
    double sum = 0;
    spread_flat(n, x, [&](size_t i, auto w) {
        for (float e : load<w.value>(x + i).at)
            sum += double(e) * double(e);
    });
    sum = total<256>(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

/* One block. */
__global__ void add_squares(unsigned blocks, const double *sums, double *to)
{
    double sum = 0;
    for (unsigned i = threadIdx.x; i < blocks; i += 256)
        sum += sums[i];
    sum = total<256>(sum);
    if (threadIdx.x == 0)
        *to += sum;
}

/* Few: one thread adds them in order. */
__global__ void total_of(size_t n, const double *x, double *sum)
{
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += x[i];
    *sum = all;
}

/* Not a number stays that. */
__global__ void clip_factor(double max_norm, double *norm)
{
    const double factor = max_norm / (sqrt(norm[0]) + 1e-6);
    norm[1] = factor > 1 ? 1 : factor;
}

} // namespace k

int k_cuda_sgd(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad,
               void *moment, void *weight)
{
    return k::launch<k::sgd>(stream, k::flat(n), 256, 0, n, float(lr), float(momentum), factor,
                             k::floats(grad), k::floats(moment), k::floats(weight));
}

int k_cuda_adam(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
                const double *factor, const void *grad, void *moment, void *variance, void *weight)
{
    const double bias1 = 1 - std::pow(beta1, t), bias2 = 1 - std::pow(beta2, t);
    const k::adam_rates rates = {float(beta1),     float(1 - beta1),  float(beta2),
                                 float(1 - beta2), float(lr / bias1), float(1 / std::sqrt(bias2)),
                                 float(epsilon)};
    return k::launch<k::adam>(stream, k::flat(n), 256, 0, n, rates, factor, k::floats(grad),
                              k::floats(moment), k::floats(variance), k::floats(weight));
}

int k_cuda_sum_squares(void *stream, size_t n, const void *x, double *sum)
{
    double *sums = static_cast<double *>(static_cast<k_cuda_stream *>(stream)->scratch);
    const unsigned blocks = unsigned(std::min(k::ceil_div(n, 4096), size_t(1024)));
    const int status = k::launch<k::squares>(stream, blocks, 256, 0, n, k::floats(x), sums);
    return status || n == 0 ? status : k::launch<k::add_squares>(stream, 1, 256, 0, blocks, sums, sum);
}

int k_cuda_total(void *stream, size_t n, const double *x, double *sum)
{
    return k::launch<k::total_of>(stream, 1, 1, 0, n, x, sum);
}

int k_cuda_clip_factor(void *stream, double max_norm, double *norm)
{
    return k::launch<k::clip_factor>(stream, 1, 1, 0, max_norm, norm);
}
