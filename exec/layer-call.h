/* exec/layer-call.h -- what the layers' files share: one layer of one call, its pieces of memory, its
 * products. Kernels are called through RUN, which leaves the function at the first failure. */
#ifndef EXEC_LAYER_CALL_H
#define EXEC_LAYER_CALL_H

#include "exec/compute.h"
#include "exec/data.h"

struct call {
    const struct compute *c;
    const struct k_table *k;
    const struct dims *dims;
    void *stream;
    uint32_t layer, step, first_sample;
    size_t samples, rows; /* rows = samples x sequence length */
    size_t elem;
    const char *weight;
    int accumulate; /* gradients by parameters are added to what is there */
};

#define RUN(kernel)                                                                                          \
    do {                                                                                                     \
        const int status_ = (kernel);                                                                        \
        if (status_)                                                                                         \
            return status_;                                                                                  \
    } while (0)

static inline size_t slot(const struct call *l, unsigned which)
{
    return (size_t)layer_param_offset(l->c->model, l->layer, which) * l->elem;
}

static inline const void *param(const struct call *l, unsigned which)
{
    return l->weight + slot(l, which);
}

static inline void *grad(const struct call *l, void *dweight, unsigned which)
{
    return (char *)dweight + slot(l, which);
}

static inline void *piece(const struct call *l, const void *saved, unsigned which)
{
    return (char *)saved +
           (size_t)layer_saved_offset(l->c->model, l->layer, (uint32_t)l->samples, which) * l->elem;
}

/* Of what input gradients leave to weight gradients. */
static inline void *left(const struct call *l, const void *pending, unsigned which)
{
    return (char *)pending +
           (size_t)layer_pending_offset(l->c->model, l->layer, (uint32_t)l->samples, which) * l->elem;
}

static inline void *after(const struct call *l, void *scratch, size_t elements)
{
    return (char *)scratch + elements * l->elem;
}

/* y[rows, out] = x[rows, in] w', w[out, in] */
static inline int product(const struct call *l, size_t rows, size_t in, size_t out, const void *x, size_t ldx,
                          const void *w, void *y)
{
    return l->k->gemm(l->stream, 0, 1, rows, out, in, 1, x, ldx, w, in, 0, y, out);
}

/* dw = dy' x, or added */
static inline int by_weight(const struct call *l, size_t rows, size_t in, size_t out, const void *dy,
                            const void *x, size_t ldx, void *dw)
{
    return l->k->gemm(l->stream, 1, 0, out, in, rows, 1, dy, out, x, ldx, l->accumulate, dw, in);
}

/* dx = dy w + beta dx */
static inline int by_input(const struct call *l, size_t rows, size_t in, size_t out, const void *dy,
                           const void *w, double beta, void *dx, size_t ldx)
{
    return l->k->gemm(l->stream, 0, 0, rows, in, out, 1, dy, out, w, in, beta, dx, ldx);
}

/* Where a layer drops. */
enum site { SITE_PROBABILITIES, SITE_ACTIVE, SITE_OUT };

/* NULL where nothing is dropped. */
static inline const struct k_dropout *dropout(const struct call *l, enum site site, size_t sample_rows,
                                              struct k_dropout *drop)
{
    if (l->dims->dropout == 0)
        return NULL;
    *drop = (struct k_dropout){data_dropout_key(l->c->run->seed, l->step, l->layer, site), l->first_sample,
                               sample_rows, l->dims->dropout};
    return drop;
}

/* x, or in `to` what of it is kept: the gradient by what went into a dropout. */
static inline int dropped(const struct call *l, const struct k_dropout *drop, size_t rows, size_t n,
                          const void **x, void *to)
{
    if (!drop)
        return 0;
    RUN(l->k->dropout(l->stream, rows, n, drop, *x, to));
    *x = to;
    return 0;
}

static inline int call_activation(const struct call *l)
{
    static const int of[ACTS] = {[ACT_GELU] = K_GELU, [ACT_RELU] = K_RELU, [ACT_GELU_TANH] = K_GELU_TANH};
    return of[l->dims->activation];
}

/* layer-embedding.c, layer-block.c, layer-dense.c: forward and backward of a layer kind, as in layer_forward
 * and layer_backward; NAME_input and NAME_weight, as in layer_backward_input and layer_backward_weight.  Of
 * norm and logits, NAME_backward is these too: without dw, without dx. */
int embedding_forward(const struct call *l, const int32_t *token, void *y, void *saved, void *scratch);
int embedding_backward(const struct call *l, const int32_t *token, const void *saved, const void *dy,
                       void *dw, void *scratch);
int attention_forward(const struct call *l, const void *x, void *y, void *saved, void *scratch);
int attention_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                       void *dw, void *scratch);
int attention_input(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                    void *pending, void *scratch);
int attention_weight(const struct call *l, const void *x, const void *saved, const void *dy,
                     const void *pending, void *dw);
int feed_forward_forward(const struct call *l, const void *x, void *y, void *saved);
int feed_forward_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                          void *dw, void *scratch);
int feed_forward_input(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                       void *pending);
int feed_forward_weight(const struct call *l, const void *x, const void *saved, const void *dy,
                        const void *pending, void *dw);
int norm_forward(const struct call *l, const void *x, void *y, void *saved);
int norm_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx, void *dw);
int dense_forward(const struct call *l, const void *x, void *y, void *saved);
int dense_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx, void *dw,
                   void *dhidden);
int dense_input(const struct call *l, const void *saved, const void *dy, void *dx, void *pending);
int dense_weight(const struct call *l, const void *x, const void *pending, void *dw);
int pooler_forward(const struct call *l, const void *x, void *y, void *saved);
int pooler_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                    void *dw, void *dout);
int pooler_input(const struct call *l, const void *saved, const void *dy, void *dx, void *dout);
int pooler_weight(const struct call *l, const void *x, const void *dout, void *dw);
int classifier_forward(const struct call *l, const void *x, void *y);
int classifier_backward(const struct call *l, const void *x, const void *dy, void *dx, void *dw);
int head_forward(const struct call *l, const void *x, void *y);
int head_backward(const struct call *l, const void *x, const void *dy, void *dx, void *dw);

#endif
