/* Attention: products by cuBLAS, softmax with mask and dropout here. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/table.h"

#include <cmath>

namespace k
{

/* The scores of x become probabilities, with dropout also what is kept of them, in `dropped`.  A sample has
 * `heads` x seq rows. */
template <int T>
__global__ void softmax(size_t rows, size_t heads, size_t seq, int causal, dropping drop, float *x,
                        float *dropped)
{
    const size_t r = group_row<T>(), n = causal ? r % seq + 1 : seq;
    const unsigned thread = group_thread<T>();
    if (r >= rows)
        return;
    float *p = x + r * seq, *kept = dropped + r * seq;
    exponentials of_row;
    spread(n, p, thread, T, [&](size_t i, auto w) { of_row.add(load<w.value>(p + i)); });
    of_row.join<T>();
    const float inverse = 1 / of_row.sum;
    const struct dropout_sample s = drop.sample(r / (heads * seq));
    const size_t place = r % (heads * seq) * seq;
    spread(seq, p, thread, T, [&](size_t i, auto w) {
        pack<w.value> v = load<w.value>(p + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = i + j < n ? expf(v.at[j] - of_row.max) * inverse : 0;
        store(p + i, v);
        if (drop.on) {
            for (int j = 0; j < w.value; j++)
                v.at[j] = drop(s, place + i + j, v.at[j]);
            store(kept + i, v);
        }
    });
}

/* dp, the gradient by what is kept, becomes the one by the scores: p (g - sum over the row of g p), g =
 * drop(dp).  What is kept is found again. */
template <int T>
__global__ void softmax_grad(size_t rows, size_t heads, size_t seq, dropping drop, const float *p, float *dp,
                             float *dropped)
{
    const size_t r = group_row<T>(), at = r * seq;
    const unsigned thread = group_thread<T>();
    if (r >= rows)
        return;
    const struct dropout_sample s = drop.sample(r / (heads * seq));
    const size_t place = r % (heads * seq) * seq;
    float dot = 0;
    spread(seq, dp + at, thread, T, [&](size_t i, auto w) {
        const pack<w.value> a = load<w.value>(p + at + i), g = load<w.value>(dp + at + i);
        for (int j = 0; j < w.value; j++)
            dot += a.at[j] * drop(s, place + i + j, g.at[j]);
    });
    dot = total<T>(dot);
    spread(seq, dp + at, thread, T, [&](size_t i, auto w) {
        pack<w.value> a = load<w.value>(p + at + i), g = load<w.value>(dp + at + i);
        for (int j = 0; j < w.value; j++)
            g.at[j] = a.at[j] * (drop(s, place + i + j, g.at[j]) - dot);
        store(dp + at + i, g);
        if (drop.on) {
            for (int j = 0; j < w.value; j++)
                a.at[j] = drop(s, place + i + j, a.at[j]);
            store(dropped + at + i, a);
        }
    });
}

/* The same matrix of every head of every sample. */
struct heads_of {
    const float *first;
    size_t ld, by_head, by_sample; /* strides */
};

/* Heads of a sample, and samples of a head, lie evenly, but not both together: the fewer are a call each. */
static int products(void *stream, size_t batch, size_t heads, int ta, int tb, size_t m, size_t n,
                    size_t inner, double alpha, heads_of a, heads_of b, heads_of c)
{
    const bool samples_inside = batch >= heads;
    const size_t calls = samples_inside ? heads : batch, inside = samples_inside ? batch : heads;
    int status = 0;
    for (size_t i = 0; i < calls && !status; i++) {
        const auto at = [&](const heads_of &x) {
            return strided{x.first + i * (samples_inside ? x.by_head : x.by_sample), x.ld,
                           samples_inside ? x.by_sample : x.by_head};
        };
        status = product(stream, inside, ta, tb, m, n, inner, alpha, at(a), at(b), 0, at(c));
    }
    return status;
}

/* Where operands lie. */
struct layout {
    size_t heads, seq, dh;

    /* which: 0 query, 1 key, 2 value */
    heads_of qkv(const void *p, size_t which) const
    {
        const size_t d = heads * dh;
        return {floats(p) + which * d, 3 * d, dh, seq * 3 * d};
    }
    heads_of square(const void *p) const
    {
        return {floats(p), seq, seq * seq, heads * seq * seq};
    }
    heads_of out(const void *p) const
    {
        const size_t d = heads * dh;
        return {floats(p), d, dh, seq * d};
    }
};

} // namespace k

int k_cuda_attention(void *stream, size_t batch, size_t heads, size_t seq, size_t dh, int causal,
                     const struct k_dropout *drop, const void *qkv, void *probs, void *dropped, void *out)
{
    const k::layout l = {heads, seq, dh};
    const size_t rows = batch * heads * seq;
    const k::dropping dropping = k::dropping_of(drop);
    int status = k::products(stream, batch, heads, 0, 1, seq, seq, dh, 1 / std::sqrt(double(dh)),
                             l.qkv(qkv, 0), l.qkv(qkv, 1), l.square(probs));
    if (!status)
        status = k::by_groups(rows, seq, [&](auto t) {
            return k::launch<k::softmax<t.value>>(stream, t.grid(rows), t.block(), 0, rows, heads, seq,
                                                  causal, dropping, k::floats(probs), k::floats(dropped));
        });
    return status ? status
                  : k::products(stream, batch, heads, 0, 0, seq, dh, seq, 1, l.square(drop ? dropped : probs),
                                l.qkv(qkv, 2), l.out(out));
}

int k_cuda_attention_grad(void *stream, size_t batch, size_t heads, size_t seq, size_t dh,
                          const struct k_dropout *drop, const void *dout, const void *qkv, const void *probs,
                          void *dropped, void *dprobs, void *dqkv)
{
    const k::layout l = {heads, seq, dh};
    const size_t rows = batch * heads * seq;
    const double scale = 1 / std::sqrt(double(dh));
    const k::dropping dropping = k::dropping_of(drop);
    const auto by = [&](int ta, int tb, size_t n, size_t inner, double alpha, k::heads_of a, k::heads_of b,
                        k::heads_of c) {
        return k::products(stream, batch, heads, ta, tb, seq, n, inner, alpha, a, b, c);
    };
    int status = by(0, 1, seq, dh, 1, l.out(dout), l.qkv(qkv, 2), l.square(dprobs));
    if (!status)
        status = k::by_groups(rows, seq, [&](auto t) {
            return k::launch<k::softmax_grad<t.value>>(stream, t.grid(rows), t.block(), 0, rows, heads, seq,
                                                       dropping, k::floats(probs), k::floats(dprobs),
                                                       k::floats(dropped));
        });
    if (!status)
        status = by(1, 0, dh, seq, 1, l.square(drop ? dropped : probs), l.out(dout), l.qkv(dqkv, 2));
    if (!status)
        status = by(0, 0, dh, seq, scale, l.square(dprobs), l.qkv(qkv, 1), l.qkv(dqkv, 0));
    return status ? status : by(1, 0, dh, seq, scale, l.square(dprobs), l.qkv(qkv, 0), l.qkv(dqkv, 1));
}
