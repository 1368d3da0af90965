/* Layers that are a product and little else. */
#include "exec/layer-call.h"

int dense_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d;
    void *hidden = piece(l, saved, SAVED_DENSE_HIDDEN);
    struct k_dropout at;
    const struct k_dropout *drop = dropout(l, SITE_ACTIVE, 1, &at);
    RUN(product(l, l->samples, d, d, x, d, param(l, SLOT_DENSE_WEIGHT), hidden));
    RUN(l->k->bias_act(l->stream, call_activation(l), l->samples, d, param(l, SLOT_DENSE_BIAS), hidden, y));
    return drop ? l->k->dropout(l->stream, l->samples, d, drop, y, y) : 0;
}

int dense_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx, void *dw,
                   void *dhidden)
{
    const size_t d = l->dims->d;
    struct k_dropout at;
    RUN(dropped(l, dropout(l, SITE_ACTIVE, 1, &at), l->samples, d, &dy, dhidden));
    RUN(l->k->bias_act_grad(l->stream, call_activation(l), l->samples, d, dy,
                            piece(l, saved, SAVED_DENSE_HIDDEN), dhidden, grad(l, dw, SLOT_DENSE_BIAS),
                            l->accumulate));
    RUN(by_weight(l, l->samples, d, d, dhidden, x, d, grad(l, dw, SLOT_DENSE_WEIGHT)));
    return by_input(l, l->samples, d, d, dhidden, param(l, SLOT_DENSE_WEIGHT), 0, dx, d);
}

/* The first position of every sample: rows of stride seq d. */
int pooler_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d;
    void *out = piece(l, saved, SAVED_POOLER_OUT);
    RUN(product(l, l->samples, d, d, x, l->dims->seq * d, param(l, SLOT_POOLER_WEIGHT), out));
    RUN(l->k->bias_tanh(l->stream, l->samples, d, param(l, SLOT_POOLER_BIAS), out));
    return l->k->scale_copy(l->stream, l->samples * d, 1, out, y);
}

int pooler_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                    void *dw, void *dout)
{
    const size_t d = l->dims->d, stride = l->dims->seq * d;
    RUN(l->k->tanh_grad(l->stream, l->samples * d, dy, piece(l, saved, SAVED_POOLER_OUT), dout));
    RUN(l->k->bias_grad(l->stream, l->samples, d, dout, d, grad(l, dw, SLOT_POOLER_BIAS), l->accumulate));
    RUN(by_weight(l, l->samples, d, d, dout, x, stride, grad(l, dw, SLOT_POOLER_WEIGHT)));
    RUN(l->k->zero(l->stream, l->rows * d, dx));
    return by_input(l, l->samples, d, d, dout, param(l, SLOT_POOLER_WEIGHT), 0, dx, stride);
}

/* Logits y[rows, classes]: of samples for the classifier, of positions for the head.  bias NULL: none. */
int logits_forward(const struct call *l, size_t rows, size_t classes, const void *w, const void *bias,
                   const void *x, void *y)
{
    RUN(product(l, rows, l->dims->d, classes, x, l->dims->d, w, y));
    return bias ? l->k->bias(l->stream, rows, classes, bias, y, classes) : 0;
}

int logits_backward(const struct call *l, size_t rows, size_t classes, const void *w, const void *x,
                    const void *dy, void *dx, void *dw, void *dbias)
{
    const size_t d = l->dims->d;
    if (dbias)
        RUN(l->k->bias_grad(l->stream, rows, classes, dy, classes, dbias, l->accumulate));
    RUN(by_weight(l, rows, d, classes, dy, x, d, dw));
    return by_input(l, rows, d, classes, dy, w, 0, dx, d);
}

int head_forward(const struct call *l, const void *x, void *y)
{
    if (l->dims->tied)
        return logits_forward(l, l->rows, l->dims->vocab, l->weight, NULL, x, y);
    return logits_forward(l, l->rows, l->dims->vocab, param(l, SLOT_HEAD_WEIGHT), param(l, SLOT_HEAD_BIAS), x,
                          y);
}

/* A tied head's dw is the embedding's whole block, which begins with the words; the rest of it is begun here
 * too. */
int head_backward(const struct call *l, const void *x, const void *dy, void *dx, void *dw)
{
    if (!l->dims->tied)
        return logits_backward(l, l->rows, l->dims->vocab, param(l, SLOT_HEAD_WEIGHT), x, dy, dx,
                               grad(l, dw, SLOT_HEAD_WEIGHT), grad(l, dw, SLOT_HEAD_BIAS));
    const size_t words = (size_t)l->dims->vocab * l->dims->d;
    if (!l->accumulate)
        RUN(l->k->zero(l->stream, (size_t)l->c->model->layers[0].numel - words, after(l, dw, words)));
    return logits_backward(l, l->rows, l->dims->vocab, l->weight, x, dy, dx, dw, NULL);
}
