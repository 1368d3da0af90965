#include "exec/compute.h"

#include <math.h>

#include "exec/data.h"

/* One layer of one call.  Kernels are called through RUN, which leaves the function at the first failure. */
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

/* Where a layer drops. */
enum site { SITE_PROBABILITIES, SITE_ACTIVE, SITE_OUT };

/* NULL where nothing is dropped. */
static const struct k_dropout *dropout(const struct call *l, enum site site, size_t sample_rows,
                                       struct k_dropout *drop)
{
    if (l->dims->dropout == 0)
        return NULL;
    *drop = (struct k_dropout){data_dropout_key(l->c->run->seed, l->step, l->layer, site), l->first_sample,
                               sample_rows, l->dims->dropout};
    return drop;
}

/* x, or in `to` what of it is kept: the gradient by what went into a dropout. */
static int dropped(const struct call *l, const struct k_dropout *drop, size_t rows, size_t n, const void **x,
                   void *to)
{
    if (!drop)
        return 0;
    RUN(l->k->dropout(l->stream, rows, n, drop, *x, to));
    *x = to;
    return 0;
}

static int embedding_forward(const struct call *l, const int32_t *token, void *y, void *saved, void *scratch)
{
    const struct dims *m = l->dims;
    const size_t d = m->d;
    struct k_dropout at;
    const struct k_dropout *drop = dropout(l, SITE_OUT, m->seq, &at);
    const void *position = m->position_kind == POSITIONS_LEARNED ? param(l, SLOT_EMBEDDING_POSITION)
                           : m->position_kind == POSITIONS_SINE  ? scratch
                                                                 : NULL;
    const void *type = m->token_types ? param(l, SLOT_EMBEDDING_TYPE) : NULL;
    void *sum = m->embedding_norm ? piece(l, saved, SAVED_EMBEDDING_SUM) : y;
    if (m->position_kind == POSITIONS_SINE)
        RUN(l->k->sine(l->stream, m->seq, d, scratch));
    RUN(l->k->embed(l->stream, l->rows, m->seq, d, m->scaled ? sqrt((double)d) : 1, token,
                    param(l, SLOT_EMBEDDING_WORD), position, type, sum));
    if (m->embedding_norm)
        RUN(l->k->add_norm(l->stream, l->rows, d, NULL, sum, NULL, param(l, SLOT_EMBEDDING_NORM_WEIGHT),
                           param(l, SLOT_EMBEDDING_NORM_BIAS), NULL, y, piece(l, saved, SAVED_EMBEDDING_MEAN),
                           piece(l, saved, SAVED_EMBEDDING_RSTD)));
    return drop ? l->k->dropout(l->stream, l->rows, d, drop, y, y) : 0;
}

static int embedding_backward(const struct call *l, const int32_t *token, const void *saved, const void *dy,
                              void *dw, void *scratch)
{
    const struct dims *m = l->dims;
    const size_t d = m->d;
    struct k_dropout at;
    RUN(dropped(l, dropout(l, SITE_OUT, m->seq, &at), l->rows, d, &dy, after(l, scratch, l->rows * d)));
    if (m->embedding_norm) {
        RUN(l->k->add_norm_grad(l->stream, l->rows, d, dy, piece(l, saved, SAVED_EMBEDDING_SUM),
                                param(l, SLOT_EMBEDDING_NORM_WEIGHT), piece(l, saved, SAVED_EMBEDDING_MEAN),
                                piece(l, saved, SAVED_EMBEDDING_RSTD), NULL, scratch,
                                grad(l, dw, SLOT_EMBEDDING_NORM_WEIGHT),
                                grad(l, dw, SLOT_EMBEDDING_NORM_BIAS), l->accumulate));
        dy = scratch;
    }
    return l->k->embed_grad(l->stream, l->rows, m->seq, d, m->vocab, m->positions, m->token_types,
                            m->scaled ? sqrt((double)d) : 1, token, dy, grad(l, dw, SLOT_EMBEDDING_WORD),
                            m->positions ? grad(l, dw, SLOT_EMBEDDING_POSITION) : NULL,
                            m->token_types ? grad(l, dw, SLOT_EMBEDDING_TYPE) : NULL, l->accumulate);
}

/* What the two sublayers of a block share: where their norm and what it leaves are. */
struct norm {
    unsigned weight, bias, input, mean, rstd; /* slots; saved: input is what is normalised of a post-norm,
                                                 else what is made of it */
};

static const struct norm attention_norms[] = {
    {SLOT_ATTENTION_POST_NORM_WEIGHT, SLOT_ATTENTION_POST_NORM_BIAS, SAVED_ATTENTION_SUM,
     SAVED_ATTENTION_MEAN, SAVED_ATTENTION_RSTD},
    {SLOT_ATTENTION_PRE_NORM_WEIGHT, SLOT_ATTENTION_PRE_NORM_BIAS, SAVED_ATTENTION_NORMED,
     SAVED_ATTENTION_MEAN, SAVED_ATTENTION_RSTD}};
static const struct norm feed_forward_norms[] = {
    {SLOT_FEED_FORWARD_POST_NORM_WEIGHT, SLOT_FEED_FORWARD_POST_NORM_BIAS, SAVED_FEED_FORWARD_SUM,
     SAVED_FEED_FORWARD_MEAN, SAVED_FEED_FORWARD_RSTD},
    {SLOT_FEED_FORWARD_PRE_NORM_WEIGHT, SLOT_FEED_FORWARD_PRE_NORM_BIAS, SAVED_FEED_FORWARD_NORMED,
     SAVED_FEED_FORWARD_MEAN, SAVED_FEED_FORWARD_RSTD}};

/* Before a sublayer: *x becomes what goes into it. */
static int enter(const struct call *l, const struct norm *norms, void *saved, const void **x)
{
    const struct norm *n = &norms[1];
    if (!l->dims->pre_norm)
        return 0;
    void *normed = piece(l, saved, n->input);
    RUN(l->k->add_norm(l->stream, l->rows, l->dims->d, NULL, *x, NULL, param(l, n->weight), param(l, n->bias),
                       NULL, normed, piece(l, saved, n->mean), piece(l, saved, n->rstd)));
    *x = normed;
    return 0;
}

/* Where a sublayer's last product goes. */
static void *branch(const struct call *l, const struct norm *norms, void *saved, void *y)
{
    return l->dims->pre_norm ? y : piece(l, saved, norms[0].input);
}

/* After it: y, from x, what came before, and the branch. */
static int leave(const struct call *l, const struct norm *norms, const void *x, const void *bias, void *saved,
                 void *y)
{
    const size_t d = l->dims->d;
    const struct norm *n = &norms[0];
    struct k_dropout at;
    const struct k_dropout *drop = dropout(l, SITE_OUT, l->dims->seq, &at);
    void *out = branch(l, norms, saved, y);
    if (l->dims->pre_norm || drop)
        RUN(l->k->residual(l->stream, l->rows, d, bias, x, drop, out));
    if (l->dims->pre_norm)
        return 0;
    return l->k->add_norm(l->stream, l->rows, d, drop ? NULL : x, out, drop ? NULL : bias,
                          param(l, n->weight), param(l, n->bias), drop ? NULL : out, y,
                          piece(l, saved, n->mean), piece(l, saved, n->rstd));
}

/* Backwards: *branch becomes the gradient by the last product with its bias.  Post: dx takes the gradient by
 * the sum, of which x is a term.  spare: rows x d. */
static int leave_grad(const struct call *l, const struct norm *norms, const void *saved, const void *dy,
                      void *dx, void *dw, void *spare, const void **branch)
{
    const struct norm *n = &norms[0];
    struct k_dropout at;
    *branch = dy;
    if (!l->dims->pre_norm) {
        RUN(l->k->add_norm_grad(l->stream, l->rows, l->dims->d, dy, piece(l, saved, n->input),
                                param(l, n->weight), piece(l, saved, n->mean), piece(l, saved, n->rstd), NULL,
                                dx, grad(l, dw, n->weight), grad(l, dw, n->bias), l->accumulate));
        *branch = dx;
    }
    return dropped(l, dropout(l, SITE_OUT, l->dims->seq, &at), l->rows, l->dims->d, branch, spare);
}

/* The last step back: dx, of a first product of `in` columns whose gradient is dfirst.  normed: rows x d of
 * scratch. */
static int enter_grad(const struct call *l, const struct norm *norms, const void *saved, const void *x,
                      const void *dy, size_t columns, const void *dfirst, const void *w, void *normed,
                      void *dx, void *dw)
{
    const size_t d = l->dims->d;
    const struct norm *n = &norms[1];
    if (!l->dims->pre_norm)
        return by_input(l, l->rows, d, columns, dfirst, w, 1, dx, d);
    RUN(by_input(l, l->rows, d, columns, dfirst, w, 0, normed, d));
    return l->k->add_norm_grad(l->stream, l->rows, d, normed, x, param(l, n->weight),
                               piece(l, saved, n->mean), piece(l, saved, n->rstd), dy, dx,
                               grad(l, dw, n->weight), grad(l, dw, n->bias), l->accumulate);
}

/* What a sublayer's first product multiplies. */
static const void *entered(const struct call *l, const struct norm *norms, const void *saved, const void *x)
{
    return l->dims->pre_norm ? piece(l, saved, norms[1].input) : x;
}

/* Query, key and value lie one after the other, their weights and their biases: one product serves all three.
 */
static unsigned qkv_weight(const struct call *l)
{
    return l->dims->fused_qkv ? SLOT_ATTENTION_QKV_WEIGHT : SLOT_ATTENTION_QUERY_WEIGHT;
}

static unsigned qkv_bias(const struct call *l)
{
    return l->dims->fused_qkv ? SLOT_ATTENTION_QKV_BIAS : SLOT_ATTENTION_QUERY_BIAS;
}

static int attention_forward(const struct call *l, const void *x, void *y, void *saved, void *scratch)
{
    const struct norm *norms = attention_norms;
    const size_t d = l->dims->d, heads = l->dims->heads, seq = l->dims->seq;
    void *qkv = piece(l, saved, SAVED_ATTENTION_QKV), *context = piece(l, saved, SAVED_ATTENTION_CONTEXT);
    const void *in = x;
    struct k_dropout at;
    RUN(enter(l, norms, saved, &in));
    RUN(product(l, l->rows, d, 3 * d, in, d, param(l, qkv_weight(l)), qkv));
    RUN(l->k->bias(l->stream, l->rows, 3 * d, param(l, qkv_bias(l)), qkv, 3 * d));
    RUN(l->k->attention(l->stream, l->samples, heads, seq, d / heads, l->dims->causal,
                        dropout(l, SITE_PROBABILITIES, heads * seq, &at), qkv,
                        piece(l, saved, SAVED_ATTENTION_PROBS), scratch, context));
    RUN(product(l, l->rows, d, d, context, d, param(l, SLOT_ATTENTION_OUT_WEIGHT),
                branch(l, norms, saved, y)));
    return leave(l, norms, x, param(l, SLOT_ATTENTION_OUT_BIAS), saved, y);
}

static int attention_backward(const struct call *l, const void *x, const void *saved, const void *dy,
                              void *dx, void *dw, void *scratch)
{
    const struct norm *norms = attention_norms;
    const size_t d = l->dims->d, heads = l->dims->heads, seq = l->dims->seq, rows = l->rows,
                 square = rows * heads * seq;
    void *dcontext = scratch, *dqkv = after(l, scratch, rows * d), *dprobs = after(l, scratch, 4 * rows * d);
    const void *dout;
    struct k_dropout at;
    RUN(leave_grad(l, norms, saved, dy, dx, dw, after(l, dprobs, 2 * square), &dout));
    RUN(l->k->bias_grad(l->stream, rows, d, dout, d, grad(l, dw, SLOT_ATTENTION_OUT_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, d, dout, piece(l, saved, SAVED_ATTENTION_CONTEXT), d,
                  grad(l, dw, SLOT_ATTENTION_OUT_WEIGHT)));
    RUN(by_input(l, rows, d, d, dout, param(l, SLOT_ATTENTION_OUT_WEIGHT), 0, dcontext, d));
    RUN(l->k->attention_grad(l->stream, l->samples, heads, seq, d / heads,
                             dropout(l, SITE_PROBABILITIES, heads * seq, &at), dcontext,
                             piece(l, saved, SAVED_ATTENTION_QKV), piece(l, saved, SAVED_ATTENTION_PROBS),
                             after(l, dprobs, square), dprobs, dqkv));
    RUN(l->k->bias_grad(l->stream, rows, 3 * d, dqkv, 3 * d, grad(l, dw, qkv_bias(l)), l->accumulate));
    RUN(by_weight(l, rows, d, 3 * d, dqkv, entered(l, norms, saved, x), d, grad(l, dw, qkv_weight(l))));
    return enter_grad(l, norms, saved, x, dy, 3 * d, dqkv, param(l, qkv_weight(l)), dcontext, dx, dw);
}

static int k_activation(const struct call *l)
{
    static const int of[ACTS] = {[ACT_GELU] = K_GELU, [ACT_RELU] = K_RELU, [ACT_GELU_TANH] = K_GELU_TANH};
    return of[l->dims->activation];
}

static const struct k_dropout *drop_active(const struct call *l, struct k_dropout *at)
{
    return l->dims->drop_active ? dropout(l, SITE_ACTIVE, l->dims->seq, at) : NULL;
}

static int feed_forward_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const struct norm *norms = feed_forward_norms;
    const size_t d = l->dims->d, f = l->dims->ff;
    void *hidden = piece(l, saved, SAVED_FEED_FORWARD_HIDDEN),
         *active = piece(l, saved, SAVED_FEED_FORWARD_ACTIVE);
    const void *in = x;
    struct k_dropout at;
    const struct k_dropout *drop = drop_active(l, &at);
    RUN(enter(l, norms, saved, &in));
    RUN(product(l, l->rows, d, f, in, d, param(l, SLOT_FEED_FORWARD_IN_WEIGHT), hidden));
    RUN(l->k->bias_act(l->stream, k_activation(l), l->rows, f, param(l, SLOT_FEED_FORWARD_IN_BIAS), hidden,
                       active));
    if (drop)
        RUN(l->k->dropout(l->stream, l->rows, f, drop, active, active));
    RUN(product(l, l->rows, f, d, active, f, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT),
                branch(l, norms, saved, y)));
    return leave(l, norms, x, param(l, SLOT_FEED_FORWARD_OUT_BIAS), saved, y);
}

static int feed_forward_backward(const struct call *l, const void *x, const void *saved, const void *dy,
                                 void *dx, void *dw, void *scratch)
{
    const struct norm *norms = feed_forward_norms;
    const size_t d = l->dims->d, f = l->dims->ff, rows = l->rows;
    void *dhidden = scratch, *normed = after(l, scratch, rows * f);
    const void *dout;
    struct k_dropout at;
    const struct k_dropout *drop = drop_active(l, &at);
    RUN(leave_grad(l, norms, saved, dy, dx, dw, l->dims->pre_norm ? after(l, normed, rows * d) : normed,
                   &dout));
    RUN(l->k->bias_grad(l->stream, rows, d, dout, d, grad(l, dw, SLOT_FEED_FORWARD_OUT_BIAS), l->accumulate));
    RUN(by_weight(l, rows, f, d, dout, piece(l, saved, SAVED_FEED_FORWARD_ACTIVE), f,
                  grad(l, dw, SLOT_FEED_FORWARD_OUT_WEIGHT)));
    RUN(by_input(l, rows, f, d, dout, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT), 0, dhidden, f));
    if (drop)
        RUN(l->k->dropout(l->stream, rows, f, drop, dhidden, dhidden));
    RUN(l->k->bias_act_grad(l->stream, k_activation(l), rows, f, dhidden,
                            piece(l, saved, SAVED_FEED_FORWARD_HIDDEN), dhidden,
                            grad(l, dw, SLOT_FEED_FORWARD_IN_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, f, dhidden, entered(l, norms, saved, x), d,
                  grad(l, dw, SLOT_FEED_FORWARD_IN_WEIGHT)));
    return enter_grad(l, norms, saved, x, dy, f, dhidden, param(l, SLOT_FEED_FORWARD_IN_WEIGHT), normed, dx,
                      dw);
}

static int norm_forward(const struct call *l, const void *x, void *y, void *saved)
{
    return l->k->add_norm(l->stream, l->rows, l->dims->d, NULL, x, NULL, param(l, SLOT_NORM_WEIGHT),
                          param(l, SLOT_NORM_BIAS), NULL, y, piece(l, saved, SAVED_NORM_MEAN),
                          piece(l, saved, SAVED_NORM_RSTD));
}

static int norm_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                         void *dw)
{
    return l->k->add_norm_grad(l->stream, l->rows, l->dims->d, dy, x, param(l, SLOT_NORM_WEIGHT),
                               piece(l, saved, SAVED_NORM_MEAN), piece(l, saved, SAVED_NORM_RSTD), NULL, dx,
                               grad(l, dw, SLOT_NORM_WEIGHT), grad(l, dw, SLOT_NORM_BIAS), l->accumulate);
}

static int dense_forward(const struct call *l, const void *x, void *y, void *saved)
{
    const size_t d = l->dims->d;
    void *hidden = piece(l, saved, SAVED_DENSE_HIDDEN);
    struct k_dropout at;
    const struct k_dropout *drop = dropout(l, SITE_ACTIVE, 1, &at);
    RUN(product(l, l->samples, d, d, x, d, param(l, SLOT_DENSE_WEIGHT), hidden));
    RUN(l->k->bias_act(l->stream, k_activation(l), l->samples, d, param(l, SLOT_DENSE_BIAS), hidden, y));
    return drop ? l->k->dropout(l->stream, l->samples, d, drop, y, y) : 0;
}

static int dense_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                          void *dw, void *dhidden)
{
    const size_t d = l->dims->d;
    struct k_dropout at;
    RUN(dropped(l, dropout(l, SITE_ACTIVE, 1, &at), l->samples, d, &dy, dhidden));
    RUN(l->k->bias_act_grad(l->stream, k_activation(l), l->samples, d, dy,
                            piece(l, saved, SAVED_DENSE_HIDDEN), dhidden, grad(l, dw, SLOT_DENSE_BIAS),
                            l->accumulate));
    RUN(by_weight(l, l->samples, d, d, dhidden, x, d, grad(l, dw, SLOT_DENSE_WEIGHT)));
    return by_input(l, l->samples, d, d, dhidden, param(l, SLOT_DENSE_WEIGHT), 0, dx, d);
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
/* bias NULL: none */
static int logits_forward(const struct call *l, size_t rows, size_t classes, const void *w, const void *bias,
                          const void *x, void *y)
{
    RUN(product(l, rows, l->dims->d, classes, x, l->dims->d, w, y));
    return bias ? l->k->bias(l->stream, rows, classes, bias, y, classes) : 0;
}

static int logits_backward(const struct call *l, size_t rows, size_t classes, const void *w, const void *x,
                           const void *dy, void *dx, void *dw, void *dbias)
{
    const size_t d = l->dims->d;
    if (dbias)
        RUN(l->k->bias_grad(l->stream, rows, classes, dy, classes, dbias, l->accumulate));
    RUN(by_weight(l, rows, d, classes, dy, x, d, dw));
    return by_input(l, rows, d, classes, dy, w, 0, dx, d);
}

static int head_forward(const struct call *l, const void *x, void *y)
{
    if (l->dims->tied)
        return logits_forward(l, l->rows, l->dims->vocab, l->weight, NULL, x, y);
    return logits_forward(l, l->rows, l->dims->vocab, param(l, SLOT_HEAD_WEIGHT), param(l, SLOT_HEAD_BIAS), x,
                          y);
}

/* A tied head's dw is the embedding's whole block, which begins with the words; the rest of it is begun here
 * too. */
static int head_backward(const struct call *l, const void *x, const void *dy, void *dx, void *dw)
{
    if (!l->dims->tied)
        return logits_backward(l, l->rows, l->dims->vocab, param(l, SLOT_HEAD_WEIGHT), x, dy, dx,
                               grad(l, dw, SLOT_HEAD_WEIGHT), grad(l, dw, SLOT_HEAD_BIAS));
    const size_t words = (size_t)l->dims->vocab * l->dims->d;
    if (!l->accumulate)
        RUN(l->k->zero(l->stream, (size_t)l->c->model->layers[0].numel - words, after(l, dw, words)));
    return logits_backward(l, l->rows, l->dims->vocab, l->weight, x, dy, dx, dw, NULL);
}

static struct call call_of(const struct layer_call *call, int accumulate)
{
    const struct compute *c = call->compute;
    return (struct call){.c = c,
                         .k = c->k,
                         .dims = &c->model->dims,
                         .stream = call->stream,
                         .layer = call->layer,
                         .step = call->step,
                         .first_sample = call->first_sample,
                         .samples = call->samples,
                         .rows = (size_t)call->samples * c->model->dims.seq,
                         .elem = c->k->elem_bytes,
                         .weight = call->weight,
                         .accumulate = accumulate};
}

int layer_forward(const struct layer_call *call, void *y)
{
    const struct call l = call_of(call, 0);
    const struct dims *m = l.dims;
    const void *x = call->x;
    void *saved = call->saved;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_EMBEDDING:
        return embedding_forward(&l, x, y, saved, call->scratch);
    case LAYER_ATTENTION:
        return attention_forward(&l, x, y, saved, call->scratch);
    case LAYER_FEED_FORWARD:
        return feed_forward_forward(&l, x, y, saved);
    case LAYER_NORM:
        return norm_forward(&l, x, y, saved);
    case LAYER_POOLER:
        return pooler_forward(&l, x, y, saved);
    case LAYER_BAG:
        return l.k->bag(l.stream, l.samples, m->seq, m->d, x, l.weight, y);
    case LAYER_DENSE:
        return dense_forward(&l, x, y, saved);
    case LAYER_CLASSIFIER:
        return logits_forward(&l, l.samples, m->classes, param(&l, SLOT_CLASSIFIER_WEIGHT),
                              param(&l, SLOT_CLASSIFIER_BIAS), x, y);
    case LAYER_HEAD:
        return head_forward(&l, x, y);
    case LAYER_STEM:
    case LAYER_BASIC:
    case LAYER_BOTTLENECK:
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}

int layer_backward(const struct layer_call *call, const void *dy, void *dx, void *dweight, int accumulate)
{
    const struct call l = call_of(call, accumulate);
    const struct dims *m = l.dims;
    const void *x = call->x, *saved = call->saved;
    void *scratch = call->scratch;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_EMBEDDING:
        return embedding_backward(&l, x, saved, dy, dweight, scratch);
    case LAYER_ATTENTION:
        return attention_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_FEED_FORWARD:
        return feed_forward_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_NORM:
        return norm_backward(&l, x, saved, dy, dx, dweight);
    case LAYER_POOLER:
        return pooler_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_BAG:
        return l.k->bag_grad(l.stream, l.samples, m->seq, m->d, m->vocab, x, dy, dweight, accumulate);
    case LAYER_DENSE:
        return dense_backward(&l, x, saved, dy, dx, dweight, scratch);
    case LAYER_CLASSIFIER:
        return logits_backward(&l, l.samples, m->classes, param(&l, SLOT_CLASSIFIER_WEIGHT), x, dy, dx,
                               grad(&l, dweight, SLOT_CLASSIFIER_WEIGHT),
                               grad(&l, dweight, SLOT_CLASSIFIER_BIAS));
    case LAYER_HEAD:
        return head_backward(&l, x, dy, dx, dweight);
    case LAYER_STEM:
    case LAYER_BASIC:
    case LAYER_BOTTLENECK:
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}
