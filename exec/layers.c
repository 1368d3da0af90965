#include "exec/compute.h"

/* One layer of one call.  Kernels are called through RUN, which leaves the function at the first failure. */
struct call {
    const struct compute *c;
    const struct k_table *k;
    const struct dims *dims;
    void *stream;
    uint32_t layer;
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

static size_t slot(const struct call *l, unsigned which)
{
    return (size_t)layer_param_offset(l->c->model, l->layer, which) * l->elem;
}

static const void *param(const struct call *l, unsigned which)
{
    return l->weight + slot(l, which);
}

static void *grad(const struct call *l, void *dweight, unsigned which)
{
    return (char *)dweight + slot(l, which);
}

static void *piece(const struct call *l, const void *saved, unsigned which)
{
    return (char *)saved +
           (size_t)layer_saved_offset(l->c->model, l->layer, (uint32_t)l->samples, which) * l->elem;
}

static void *after(const struct call *l, void *scratch, size_t elements)
{
    return (char *)scratch + elements * l->elem;
}

/* y[rows, out] = x[rows, in] w', w[out, in] */
static int product(const struct call *l, size_t rows, size_t in, size_t out, const void *x, size_t ldx,
                   const void *w, void *y)
{
    return l->k->gemm(l->stream, 0, 1, rows, out, in, 1, x, ldx, w, in, 0, y, out);
}

/* dw = dy' x, or added */
static int by_weight(const struct call *l, size_t rows, size_t in, size_t out, const void *dy, const void *x,
                     size_t ldx, void *dw)
{
    return l->k->gemm(l->stream, 1, 0, out, in, rows, 1, dy, out, x, ldx, l->accumulate, dw, in);
}

/* dx = dy w + beta dx */
static int by_input(const struct call *l, size_t rows, size_t in, size_t out, const void *dy, const void *w,
                    double beta, void *dx, size_t ldx)
{
    return l->k->gemm(l->stream, 0, 0, rows, in, out, 1, dy, out, w, in, beta, dx, ldx);
}

static int embedding_forward(const struct call *l, const int32_t *token, void *y, void *saved)
{
    const size_t d = l->dims->d;
    void *sum = piece(l, saved, SAVED_EMBEDDING_SUM);
    const void *type = l->dims->token_types ? param(l, SLOT_EMBEDDING_TYPE) : NULL;
    RUN(l->k->embed(l->stream, l->rows, l->dims->seq, d, token, param(l, SLOT_EMBEDDING_WORD),
                    param(l, SLOT_EMBEDDING_POSITION), type, sum));
    return l->k->add_norm(l->stream, l->rows, d, NULL, sum, NULL, param(l, SLOT_EMBEDDING_NORM_WEIGHT),
                          param(l, SLOT_EMBEDDING_NORM_BIAS), sum, y, piece(l, saved, SAVED_EMBEDDING_MEAN),
                          piece(l, saved, SAVED_EMBEDDING_RSTD));
}

static int embedding_backward(const struct call *l, const int32_t *token, const void *saved, const void *dy,
                              void *dw, void *dsum)
{
    const size_t d = l->dims->d;
    RUN(l->k->add_norm_grad(
        l->stream, l->rows, d, dy, piece(l, saved, SAVED_EMBEDDING_SUM), param(l, SLOT_EMBEDDING_NORM_WEIGHT),
        piece(l, saved, SAVED_EMBEDDING_MEAN), piece(l, saved, SAVED_EMBEDDING_RSTD), dsum,
        grad(l, dw, SLOT_EMBEDDING_NORM_WEIGHT), grad(l, dw, SLOT_EMBEDDING_NORM_BIAS), l->accumulate));
    void *dtype = l->dims->token_types ? grad(l, dw, SLOT_EMBEDDING_TYPE) : NULL;
    return l->k->embed_grad(l->stream, l->rows, l->dims->seq, d, l->dims->vocab, l->dims->positions,
                            l->dims->token_types, token, dsum, grad(l, dw, SLOT_EMBEDDING_WORD),
                            grad(l, dw, SLOT_EMBEDDING_POSITION), dtype, l->accumulate);
}

/* Query, key and value lie one after the other, their weights and their biases: one product serves all three.
 */
static int attention_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d, heads = l->dims->heads, seq = l->dims->seq;
    void *qkv = piece(l, saved, SAVED_ATTENTION_QKV), *context = piece(l, saved, SAVED_ATTENTION_CONTEXT);
    void *sum = piece(l, saved, SAVED_ATTENTION_SUM);
    RUN(product(l, l->rows, d, 3 * d, x, d, param(l, SLOT_ATTENTION_QUERY_WEIGHT), qkv));
    RUN(l->k->bias(l->stream, l->rows, 3 * d, param(l, SLOT_ATTENTION_QUERY_BIAS), qkv, 3 * d));
    RUN(l->k->attention(l->stream, l->samples, heads, seq, d / heads, qkv,
                        piece(l, saved, SAVED_ATTENTION_PROBS), context));
    RUN(product(l, l->rows, d, d, context, d, param(l, SLOT_ATTENTION_OUT_WEIGHT), sum));
    return l->k->add_norm(l->stream, l->rows, d, x, sum, param(l, SLOT_ATTENTION_OUT_BIAS),
                          param(l, SLOT_ATTENTION_NORM_WEIGHT), param(l, SLOT_ATTENTION_NORM_BIAS), sum, y,
                          piece(l, saved, SAVED_ATTENTION_MEAN), piece(l, saved, SAVED_ATTENTION_RSTD));
}

/* dx first takes the gradient by the sum, of which x is a term; what comes through the projections is added.
 */
static int attention_backward(const struct call *l, const void *x, const void *saved, const void *dy,
                              void *dx, void *dw, void *scratch)
{
    const size_t d = l->dims->d, heads = l->dims->heads, seq = l->dims->seq, rows = l->rows;
    const void *context = piece(l, saved, SAVED_ATTENTION_CONTEXT);
    void *dcontext = scratch, *dqkv = after(l, scratch, rows * d), *dprobs = after(l, scratch, 4 * rows * d);
    RUN(l->k->add_norm_grad(
        l->stream, rows, d, dy, piece(l, saved, SAVED_ATTENTION_SUM), param(l, SLOT_ATTENTION_NORM_WEIGHT),
        piece(l, saved, SAVED_ATTENTION_MEAN), piece(l, saved, SAVED_ATTENTION_RSTD), dx,
        grad(l, dw, SLOT_ATTENTION_NORM_WEIGHT), grad(l, dw, SLOT_ATTENTION_NORM_BIAS), l->accumulate));
    RUN(l->k->bias_grad(l->stream, rows, d, dx, d, grad(l, dw, SLOT_ATTENTION_OUT_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, d, dx, context, d, grad(l, dw, SLOT_ATTENTION_OUT_WEIGHT)));
    RUN(by_input(l, rows, d, d, dx, param(l, SLOT_ATTENTION_OUT_WEIGHT), 0, dcontext, d));
    RUN(l->k->attention_grad(l->stream, l->samples, heads, seq, d / heads, dcontext,
                             piece(l, saved, SAVED_ATTENTION_QKV), piece(l, saved, SAVED_ATTENTION_PROBS),
                             dprobs, dqkv));
    RUN(l->k->bias_grad(l->stream, rows, 3 * d, dqkv, 3 * d, grad(l, dw, SLOT_ATTENTION_QUERY_BIAS),
                        l->accumulate));
    RUN(by_weight(l, rows, d, 3 * d, dqkv, x, d, grad(l, dw, SLOT_ATTENTION_QUERY_WEIGHT)));
    return by_input(l, rows, d, 3 * d, dqkv, param(l, SLOT_ATTENTION_QUERY_WEIGHT), 1, dx, d);
}

static int k_activation(const struct call *l)
{
    return l->dims->activation == ACT_RELU ? K_RELU : K_GELU;
}

static int feed_forward_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d, f = l->dims->ff;
    void *hidden = piece(l, saved, SAVED_FEED_FORWARD_HIDDEN),
         *active = piece(l, saved, SAVED_FEED_FORWARD_ACTIVE);
    void *sum = piece(l, saved, SAVED_FEED_FORWARD_SUM);
    RUN(product(l, l->rows, d, f, x, d, param(l, SLOT_FEED_FORWARD_IN_WEIGHT), hidden));
    RUN(l->k->bias_act(l->stream, k_activation(l), l->rows, f, param(l, SLOT_FEED_FORWARD_IN_BIAS), hidden,
                       active));
    RUN(product(l, l->rows, f, d, active, f, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT), sum));
    return l->k->add_norm(l->stream, l->rows, d, x, sum, param(l, SLOT_FEED_FORWARD_OUT_BIAS),
                          param(l, SLOT_FEED_FORWARD_NORM_WEIGHT), param(l, SLOT_FEED_FORWARD_NORM_BIAS), sum,
                          y, piece(l, saved, SAVED_FEED_FORWARD_MEAN),
                          piece(l, saved, SAVED_FEED_FORWARD_RSTD));
}

static int feed_forward_backward(const struct call *l, const void *x, const void *saved, const void *dy,
                                 void *dx, void *dw, void *dhidden)
{
    const size_t d = l->dims->d, f = l->dims->ff, rows = l->rows;
    RUN(l->k->add_norm_grad(l->stream, rows, d, dy, piece(l, saved, SAVED_FEED_FORWARD_SUM),
                            param(l, SLOT_FEED_FORWARD_NORM_WEIGHT), piece(l, saved, SAVED_FEED_FORWARD_MEAN),
                            piece(l, saved, SAVED_FEED_FORWARD_RSTD), dx,
                            grad(l, dw, SLOT_FEED_FORWARD_NORM_WEIGHT),
                            grad(l, dw, SLOT_FEED_FORWARD_NORM_BIAS), l->accumulate));
    RUN(l->k->bias_grad(l->stream, rows, d, dx, d, grad(l, dw, SLOT_FEED_FORWARD_OUT_BIAS), l->accumulate));
    RUN(by_weight(l, rows, f, d, dx, piece(l, saved, SAVED_FEED_FORWARD_ACTIVE), f,
                  grad(l, dw, SLOT_FEED_FORWARD_OUT_WEIGHT)));
    RUN(by_input(l, rows, f, d, dx, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT), 0, dhidden, f));
    RUN(l->k->bias_act_grad(l->stream, k_activation(l), rows, f, dhidden,
                            piece(l, saved, SAVED_FEED_FORWARD_HIDDEN), dhidden,
                            grad(l, dw, SLOT_FEED_FORWARD_IN_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, f, dhidden, x, d, grad(l, dw, SLOT_FEED_FORWARD_IN_WEIGHT)));
    return by_input(l, rows, d, f, dhidden, param(l, SLOT_FEED_FORWARD_IN_WEIGHT), 1, dx, d);
}

/* The first position of every sample: rows of stride seq d. */
static int pooler_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d;
    void *out = piece(l, saved, SAVED_POOLER_OUT);
    RUN(product(l, l->samples, d, d, x, l->dims->seq * d, param(l, SLOT_POOLER_WEIGHT), out));
    RUN(l->k->bias_tanh(l->stream, l->samples, d, param(l, SLOT_POOLER_BIAS), out));
    return l->k->scale_copy(l->stream, l->samples * d, 1, out, y);
}

static int pooler_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                           void *dw, void *dout)
{
    const size_t d = l->dims->d, stride = l->dims->seq * d;
    RUN(l->k->tanh_grad(l->stream, l->samples * d, dy, piece(l, saved, SAVED_POOLER_OUT), dout));
    RUN(l->k->bias_grad(l->stream, l->samples, d, dout, d, grad(l, dw, SLOT_POOLER_BIAS), l->accumulate));
    RUN(by_weight(l, l->samples, d, d, dout, x, stride, grad(l, dw, SLOT_POOLER_WEIGHT)));
    RUN(l->k->zero(l->stream, l->rows * d, dx));
    return by_input(l, l->samples, d, d, dout, param(l, SLOT_POOLER_WEIGHT), 0, dx, stride);
}

/* Logits y[rows, classes]: of samples for the classifier, of positions for the head. */
static int logits_forward(const struct call *l, size_t rows, size_t classes, const void *w, const void *bias,
                          const void *x, void *y)
{
    RUN(product(l, rows, l->dims->d, classes, x, l->dims->d, w, y));
    return l->k->bias(l->stream, rows, classes, bias, y, classes);
}

static int logits_backward(const struct call *l, size_t rows, size_t classes, const void *w, const void *x,
                           const void *dy, void *dx, void *dw, void *dbias)
{
    const size_t d = l->dims->d;
    RUN(l->k->bias_grad(l->stream, rows, classes, dy, classes, dbias, l->accumulate));
    RUN(by_weight(l, rows, d, classes, dy, x, d, dw));
    return by_input(l, rows, d, classes, dy, w, 0, dx, d);
}

static struct call call_of(const struct layer_call *call, int accumulate)
{
    const struct compute *c = call->compute;
    return (struct call){.c = c,
                         .k = c->k,
                         .dims = &c->model->dims,
                         .stream = call->stream,
                         .layer = call->layer,
                         .samples = call->samples,
                         .rows = (size_t)call->samples * c->model->dims.seq,
                         .elem = c->k->elem_bytes,
                         .weight = call->weight,
                         .accumulate = accumulate};
}

int layer_forward(const struct layer_call *call, void *y)
{
    const struct call l = call_of(call, 0);
    const void *x = call->x;
    void *saved = call->saved;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_EMBEDDING:
        return embedding_forward(&l, x, y, saved);
    case LAYER_ATTENTION:
        return attention_forward(&l, x, y, saved);
    case LAYER_FEED_FORWARD:
        return feed_forward_forward(&l, x, y, saved);
    case LAYER_POOLER:
        return pooler_forward(&l, x, y, saved);
    case LAYER_CLASSIFIER:
        return logits_forward(&l, l.samples, l.dims->classes, param(&l, SLOT_CLASSIFIER_WEIGHT),
                              param(&l, SLOT_CLASSIFIER_BIAS), x, y);
    case LAYER_HEAD:
        return logits_forward(&l, l.rows, l.dims->vocab, param(&l, SLOT_HEAD_WEIGHT),
                              param(&l, SLOT_HEAD_BIAS), x, y);
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}

int layer_backward(const struct layer_call *call, const void *dy, void *dx, void *dweight, int accumulate)
{
    const struct call l = call_of(call, accumulate);
    const void *x = call->x, *saved = call->saved;
    void *scratch = call->scratch;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_EMBEDDING:
        return embedding_backward(&l, x, saved, dy, dweight, scratch);
    case LAYER_ATTENTION:
        return attention_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_FEED_FORWARD:
        return feed_forward_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_POOLER:
        return pooler_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_CLASSIFIER:
        return logits_backward(&l, l.samples, l.dims->classes, param(&l, SLOT_CLASSIFIER_WEIGHT), x, dy, dx,
                               grad(&l, dweight, SLOT_CLASSIFIER_WEIGHT),
                               grad(&l, dweight, SLOT_CLASSIFIER_BIAS));
    case LAYER_HEAD:
        return logits_backward(&l, l.rows, l.dims->vocab, param(&l, SLOT_HEAD_WEIGHT), x, dy, dx,
                               grad(&l, dweight, SLOT_HEAD_WEIGHT), grad(&l, dweight, SLOT_HEAD_BIAS));
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}
