/* LayerNorm: a warp or a block a row; the variance from a second pass. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/table.h"

namespace k
{

constexpr float norm_epsilon = 1e-5f;

/* What is read again was written or read by the same thread. */
template <int T>
__global__ void add_norm(size_t rows, size_t d, const float *x, const float *y, const float *bias,
                         const float *gamma, const float *beta, float *sum, float *out, float *mean,
                         float *rstd)
{
    const size_t r = group_row<T>(), at = r * d;
    const unsigned thread = group_thread<T>();
    if (r >= rows)
        return;
    const float *s = (sum ? sum : y) + at;
    float all = 0, squares = 0;
    spread(d, s, thread, T, [&](size_t i, auto w) {
        pack<w.value> v = load<w.value>(y + at + i);
        if (sum) {
            const pack<w.value> a = load_if<w.value>(x, at + i), b = load_if<w.value>(bias, i);
            for (int j = 0; j < w.value; j++)
                v.at[j] = a.at[j] + v.at[j] + b.at[j];
            store(sum + at + i, v);
        }
        for (float e : v.at)
            all += e;
    });
    const float m = total<T>(all) / float(d);
    spread(d, s, thread, T, [&](size_t i, auto w) {
        for (float e : load<w.value>(s + i).at)
            squares += (e - m) * (e - m);
    });
    const float inverse = 1 / sqrtf(total<T>(squares) / float(d) + norm_epsilon);
    spread(d, s, thread, T, [&](size_t i, auto w) {
        const pack<w.value> g = load<w.value>(gamma + i), b = load<w.value>(beta + i);
        pack<w.value> v = load<w.value>(s + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = (v.at[j] - m) * inverse * g.at[j] + b.at[j];
        store(out + at + i, v);
    });
    if (thread == 0) {
        mean[r] = m;
        rstd[r] = inverse;
    }
}

/* With n = (sum - mean) rstd and g = dout gamma: dsum = rstd (g - mean(g) - n mean(g n)) + plus. */
template <int T>
__global__ void add_norm_grad(size_t rows, size_t d, const float *dout, const float *sum, const float *gamma,
                              const float *mean, const float *rstd, const float *plus, float *dsum)
{
    const size_t r = group_row<T>(), at = r * d;
    const unsigned thread = group_thread<T>();
    if (r >= rows)
        return;
    const float m = mean[r], inverse = rstd[r];
    float all_g = 0, all_gn = 0;
    spread(d, dsum + at, thread, T, [&](size_t i, auto w) {
        const pack<w.value> o = load<w.value>(dout + at + i), g = load<w.value>(gamma + i),
                            s = load<w.value>(sum + at + i);
        for (int j = 0; j < w.value; j++) {
            const float og = o.at[j] * g.at[j];
            all_g += og;
            all_gn += og * ((s.at[j] - m) * inverse);
        }
    });
    const float mean_g = total<T>(all_g) / float(d), mean_gn = total<T>(all_gn) / float(d);
    spread(d, dsum + at, thread, T, [&](size_t i, auto w) {
        const pack<w.value> o = load<w.value>(dout + at + i), g = load<w.value>(gamma + i),
                            s = load<w.value>(sum + at + i), p = load_if<w.value>(plus, at + i);
        pack<w.value> v;
        for (int j = 0; j < w.value; j++)
            v.at[j] = inverse * (o.at[j] * g.at[j] - mean_g - (s.at[j] - m) * inverse * mean_gn) + p.at[j];
        store(dsum + at + i, v);
    });
}

__global__ void norm_parameters_grad(size_t rows, size_t d, column_sums<2> sums, const float *dout,
                                     const float *sum, const float *mean, const float *rstd)
{
    sum_columns<float>(rows, d, sums, [=](size_t r, size_t j, float *v) {
        const float o = dout[r * d + j];
        v[0] = o * ((sum[r * d + j] - mean[r]) * rstd[r]);
        v[1] = o;
    });
}

} // namespace k

int k_cuda_add_norm(void *stream, size_t rows, size_t d, const void *x, const void *y, const void *bias,
                    const void *gamma, const void *beta, void *sum, void *out, void *mean, void *rstd)
{
    return k::by_groups(rows, d, [&](auto t) {
        return k::launch<k::add_norm<t.value>>(stream, t.grid(rows), t.block(), 0, rows, d, k::floats(x),
                                               k::floats(y), k::floats(bias), k::floats(gamma),
                                               k::floats(beta), k::floats(sum), k::floats(out),
                                               k::floats(mean), k::floats(rstd));
    });
}

int k_cuda_add_norm_grad(void *stream, size_t rows, size_t d, const void *dout, const void *sum,
                         const void *gamma, const void *mean, const void *rstd, const void *plus, void *dsum,
                         void *dgamma, void *dbeta, int accumulate)
{
    int status = 0;
    if (dsum)
        status = k::by_groups(rows, d, [&](auto t) {
            return k::launch<k::add_norm_grad<t.value>>(
                stream, t.grid(rows), t.block(), 0, rows, d, k::floats(dout), k::floats(sum),
                k::floats(gamma), k::floats(mean), k::floats(rstd), k::floats(plus), k::floats(dsum));
        });
    if (status || !dgamma)
        return status;
    const k::column_sums<2> sums = {{k::floats(dgamma), k::floats(dbeta)}, accumulate, nullptr};
    return k::launch_columns<k::norm_parameters_grad>(stream, rows, d, sums, k::floats(dout), k::floats(sum),
                                                      k::floats(mean), k::floats(rstd));
}
