/* The two sublayers of an encoder block, and a norm that stands alone. */
#include "exec/layer-call.h"

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

int attention_forward(const struct call *l, const void *x, void *y, void *saved, void *scratch)
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

int attention_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                       void *dw, void *scratch)
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

static const struct k_dropout *drop_active(const struct call *l, struct k_dropout *at)
{
    return l->dims->drop_active ? dropout(l, SITE_ACTIVE, l->dims->seq, at) : NULL;
}

int feed_forward_forward(const struct call *l, const void *x, void *y, void *saved)
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
    RUN(l->k->bias_act(l->stream, call_activation(l), l->rows, f, param(l, SLOT_FEED_FORWARD_IN_BIAS), hidden,
                       active));
    if (drop)
        RUN(l->k->dropout(l->stream, l->rows, f, drop, active, active));
    RUN(product(l, l->rows, f, d, active, f, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT),
                branch(l, norms, saved, y)));
    return leave(l, norms, x, param(l, SLOT_FEED_FORWARD_OUT_BIAS), saved, y);
}

int feed_forward_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                          void *dw, void *scratch)
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
    RUN(l->k->bias_act_grad(l->stream, call_activation(l), rows, f, dhidden,
                            piece(l, saved, SAVED_FEED_FORWARD_HIDDEN), dhidden,
                            grad(l, dw, SLOT_FEED_FORWARD_IN_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, f, dhidden, entered(l, norms, saved, x), d,
                  grad(l, dw, SLOT_FEED_FORWARD_IN_WEIGHT)));
    return enter_grad(l, norms, saved, x, dy, f, dhidden, param(l, SLOT_FEED_FORWARD_IN_WEIGHT), normed, dx,
                      dw);
}

int norm_forward(const struct call *l, const void *x, void *y, void *saved)
{
    return l->k->add_norm(l->stream, l->rows, l->dims->d, NULL, x, NULL, param(l, SLOT_NORM_WEIGHT),
                          param(l, SLOT_NORM_BIAS), NULL, y, piece(l, saved, SAVED_NORM_MEAN),
                          piece(l, saved, SAVED_NORM_RSTD));
}

int norm_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx, void *dw)
{
    return l->k->add_norm_grad(l->stream, l->rows, l->dims->d, dy, x, param(l, SLOT_NORM_WEIGHT),
                               piece(l, saved, SAVED_NORM_MEAN), piece(l, saved, SAVED_NORM_RSTD), NULL, dx,
                               grad(l, dw, SLOT_NORM_WEIGHT), grad(l, dw, SLOT_NORM_BIAS), l->accumulate);
}
