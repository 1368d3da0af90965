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

/* To the gradient by the product with its bias, whose gradient goes to dbias. */
static int dense_inner(const struct call *l, const void *saved, const void *dy, void *dhidden, void *dbias)
{
    const size_t d = l->dims->d;
    struct k_dropout at;
    RUN(dropped(l, dropout(l, SITE_ACTIVE, 1, &at), l->samples, d, &dy, dhidden));
    return l->k->bias_act_grad(l->stream, call_activation(l), l->samples, d, dy,
                               piece(l, saved, SAVED_DENSE_HIDDEN), dhidden, dbias, l->accumulate);
}

static int dense_enter(const struct call *l, const void *dhidden, void *dx)
{
    const size_t d = l->dims->d;
    return by_input(l, l->samples, d, d, dhidden, param(l, SLOT_DENSE_WEIGHT), 0, dx, d);
}

static int dense_product(const struct call *l, const void *x, const void *dhidden, void *dw)
{
    const size_t d = l->dims->d;
    return by_weight(l, l->samples, d, d, dhidden, x, d, grad(l, dw, SLOT_DENSE_WEIGHT));
}

int dense_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx, void *dw,
                   void *dhidden)
{
    RUN(dense_inner(l, saved, dy, dhidden, grad(l, dw, SLOT_DENSE_BIAS)));
    RUN(dense_product(l, x, dhidden, dw));
    return dense_enter(l, dhidden, dx);
}

int dense_input(const struct call *l, const void *saved, const void *dy, void *dx, void *dhidden)
{
    RUN(dense_inner(l, saved, dy, dhidden, NULL));
    return dense_enter(l, dhidden, dx);
}

int dense_weight(const struct call *l, const void *x, const void *dhidden, void *dw)
{
    const size_t d = l->dims->d;
    RUN(l->k->bias_grad(l->stream, l->samples, d, dhidden, d, grad(l, dw, SLOT_DENSE_BIAS), l->accumulate));
    return dense_product(l, x, dhidden, dw);
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

int pooler_input(const struct call *l, const void *saved, const void *dy, void *dx, void *dout)
{
    const size_t d = l->dims->d;
    RUN(l->k->tanh_grad(l->stream, l->samples * d, dy, piece(l, saved, SAVED_POOLER_OUT), dout));
    RUN(l->k->zero(l->stream, l->rows * d, dx));
    return by_input(l, l->samples, d, d, dout, param(l, SLOT_POOLER_WEIGHT), 0, dx, l->dims->seq * d);
}

int pooler_weight(const struct call *l, const void *x, const void *dout, void *dw)
{
    const size_t d = l->dims->d;
    RUN(l->k->bias_grad(l->stream, l->samples, d, dout, d, grad(l, dw, SLOT_POOLER_BIAS), l->accumulate));
    return by_weight(l, l->samples, d, d, dout, x, l->dims->seq * d, grad(l, dw, SLOT_POOLER_WEIGHT));
}

int pooler_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                    void *dw, void *dout)
{
    RUN(pooler_input(l, saved, dy, dx, dout));
    return pooler_weight(l, x, dout, dw);
}

/* Logits y[rows, classes]: of samples for the classifier, of positions for the head.  bias NULL: none. */
static int logits_forward(const struct call *l, size_t rows, size_t classes, const void *w, const void *bias,
                          const void *x, void *y)
{
    RUN(product(l, rows, l->dims->d, classes, x, l->dims->d, w, y));
    return bias ? l->k->bias(l->stream, rows, classes, bias, y, classes) : 0;
}

/* dx NULL: only those by the parameters; dw NULL: only that by x. */
static int logits_backward(const struct call *l, size_t rows, size_t classes, const void *w, const void *x,
                           const void *dy, void *dx, void *dw, void *dbias)
{
    const size_t d = l->dims->d;
    if (dw && dbias)
        RUN(l->k->bias_grad(l->stream, rows, classes, dy, classes, dbias, l->accumulate));
    if (dw)
        RUN(by_weight(l, rows, d, classes, dy, x, d, dw));
    return dx ? by_input(l, rows, d, classes, dy, w, 0, dx, d) : 0;
}

int classifier_forward(const struct call *l, const void *x, void *y)
{
    return logits_forward(l, l->samples, l->dims->classes, param(l, SLOT_CLASSIFIER_WEIGHT),
                          param(l, SLOT_CLASSIFIER_BIAS), x, y);
}

int classifier_backward(const struct call *l, const void *x, const void *dy, void *dx, void *dw)
{
    return logits_backward(l, l->samples, l->dims->classes, param(l, SLOT_CLASSIFIER_WEIGHT), x, dy, dx,
                           dw ? grad(l, dw, SLOT_CLASSIFIER_WEIGHT) : NULL,
                           dw ? grad(l, dw, SLOT_CLASSIFIER_BIAS) : NULL);
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
                               dw ? grad(l, dw, SLOT_HEAD_WEIGHT) : NULL,
                               dw ? grad(l, dw, SLOT_HEAD_BIAS) : NULL);
    const size_t words = (size_t)l->dims->vocab * l->dims->d;
    if (dw && !l->accumulate)
        RUN(l->k->zero(l->stream, (size_t)l->c->model->layers[0].numel - words, after(l, dw, words)));
    return logits_backward(l, l->rows, l->dims->vocab, l->weight, x, dy, dx, dw, NULL);
}
