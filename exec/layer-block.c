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

/* Gradients inside a sublayer, rows of: what its last product with its bias gave, its first product, and what
 * went into that behind a norm (pre-norm only). */
struct inner {
    const void *out;
    void *first, *normed;
};

/* Where a post-norm or a dropout stands behind the last product, the gradient by it is not the layer's. */
static bool is_apart(const struct call *l)
{
    return !l->dims->pre_norm || l->dims->dropout > 0;
}

/* Backwards: *out becomes the gradient by the last product with its bias.  Post: dx takes the gradient by the
 * sum, of which x is a term.  spare: rows x d. */
static int leave_input(const struct call *l, const struct norm *norms, const void *saved, const void *dy,
                       void *dx, void *spare, const void **out)
{
    const struct norm *n = &norms[0];
    struct k_dropout at;
    *out = dy;
    if (!l->dims->pre_norm) {
        RUN(l->k->add_norm_grad(l->stream, l->rows, l->dims->d, dy, piece(l, saved, n->input),
                                param(l, n->weight), piece(l, saved, n->mean), piece(l, saved, n->rstd), NULL,
                                dx, NULL, NULL, 0));
        *out = dx;
    }
    return dropped(l, dropout(l, SITE_OUT, l->dims->seq, &at), l->rows, l->dims->d, out, spare);
}

/* The same where `out` must outlive dx, which takes more than the gradient by the sum. */
static int leave_pending(const struct call *l, const struct norm *norms, const void *saved, const void *dy,
                         void *dx, void *kept, const void **out)
{
    RUN(leave_input(l, norms, saved, dy, dx, kept, out));
    if (*out != dx)
        return 0;
    *out = kept;
    return l->k->scale_copy(l->stream, l->rows * l->dims->d, 1, dx, kept);
}

/* The gradients by a norm's parameters, by what it gave and what went into it. */
static int norm_weight(const struct call *l, const struct norm *n, const void *saved, const void *dout,
                       const void *in, void *dw)
{
    return l->k->add_norm_grad(l->stream, l->rows, l->dims->d, dout, in, param(l, n->weight),
                               piece(l, saved, n->mean), piece(l, saved, n->rstd), NULL, NULL,
                               grad(l, dw, n->weight), grad(l, dw, n->bias), l->accumulate);
}

static int leave_weight(const struct call *l, const struct norm *norms, const void *saved, const void *dy,
                        void *dw)
{
    const struct norm *n = &norms[0];
    return l->dims->pre_norm ? 0 : norm_weight(l, n, saved, dy, piece(l, saved, n->input), dw);
}

/* The last step back: dx, of a first product of so many columns. */
static int enter_input(const struct call *l, const struct norm *norms, const void *saved, const void *x,
                       const void *dy, size_t columns, const void *w, const struct inner *g, void *dx)
{
    const size_t d = l->dims->d;
    const struct norm *n = &norms[1];
    if (!l->dims->pre_norm)
        return by_input(l, l->rows, d, columns, g->first, w, 1, dx, d);
    RUN(by_input(l, l->rows, d, columns, g->first, w, 0, g->normed, d));
    return l->k->add_norm_grad(l->stream, l->rows, d, g->normed, x, param(l, n->weight),
                               piece(l, saved, n->mean), piece(l, saved, n->rstd), dy, dx, NULL, NULL, 0);
}

static int enter_weight(const struct call *l, const struct norm *norms, const void *saved, const void *x,
                        const struct inner *g, void *dw)
{
    return l->dims->pre_norm ? norm_weight(l, &norms[1], saved, g->normed, x, dw) : 0;
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

/* Back from the gradient by the last product to that by query, key and value.  scratch: as the layer's, whose
 * second to fourth parts are not used. */
static int attention_inner(const struct call *l, const void *saved, const struct inner *g, void *scratch)
{
    const size_t d = l->dims->d, heads = l->dims->heads, seq = l->dims->seq, rows = l->rows;
    void *dcontext = scratch, *dprobs = after(l, scratch, 4 * rows * d);
    struct k_dropout at;
    RUN(by_input(l, rows, d, d, g->out, param(l, SLOT_ATTENTION_OUT_WEIGHT), 0, dcontext, d));
    return l->k->attention_grad(l->stream, l->samples, heads, seq, d / heads,
                                dropout(l, SITE_PROBABILITIES, heads * seq, &at), dcontext,
                                piece(l, saved, SAVED_ATTENTION_QKV), piece(l, saved, SAVED_ATTENTION_PROBS),
                                after(l, dprobs, rows * heads * seq), dprobs, g->first);
}

static int attention_enter(const struct call *l, const void *x, const void *saved, const void *dy,
                           const struct inner *g, void *dx)
{
    return enter_input(l, attention_norms, saved, x, dy, 3 * l->dims->d, param(l, qkv_weight(l)), g, dx);
}

/* But for those of a norm before. */
static int attention_products(const struct call *l, const void *x, const void *saved, const void *dy,
                              const struct inner *g, void *dw)
{
    const struct norm *norms = attention_norms;
    const size_t d = l->dims->d, rows = l->rows;
    RUN(leave_weight(l, norms, saved, dy, dw));
    RUN(l->k->bias_grad(l->stream, rows, d, g->out, d, grad(l, dw, SLOT_ATTENTION_OUT_BIAS), l->accumulate));
    RUN(by_weight(l, rows, d, d, g->out, piece(l, saved, SAVED_ATTENTION_CONTEXT), d,
                  grad(l, dw, SLOT_ATTENTION_OUT_WEIGHT)));
    RUN(l->k->bias_grad(l->stream, rows, 3 * d, g->first, 3 * d, grad(l, dw, qkv_bias(l)), l->accumulate));
    return by_weight(l, rows, d, 3 * d, g->first, entered(l, norms, saved, x), d, grad(l, dw, qkv_weight(l)));
}

static struct inner attention_pending(const struct call *l, const void *dy, const void *pending)
{
    return (struct inner){is_apart(l) ? left(l, pending, PENDING_ATTENTION_OUT) : dy,
                          left(l, pending, PENDING_ATTENTION_QKV),
                          left(l, pending, PENDING_ATTENTION_NORMED)};
}

/* dx may be what the last product's gradient lies in, so its weights come before dx is done. */
int attention_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                       void *dw, void *scratch)
{
    const size_t d = l->dims->d, rows = l->rows, square = rows * l->dims->heads * l->dims->seq;
    struct inner g = {NULL, after(l, scratch, rows * d), scratch};
    RUN(leave_input(l, attention_norms, saved, dy, dx, after(l, scratch, 4 * rows * d + 2 * square), &g.out));
    RUN(attention_inner(l, saved, &g, scratch));
    RUN(attention_products(l, x, saved, dy, &g, dw));
    RUN(attention_enter(l, x, saved, dy, &g, dx));
    return enter_weight(l, attention_norms, saved, x, &g, dw);
}

int attention_input(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                    void *pending, void *scratch)
{
    struct inner g = attention_pending(l, dy, pending);
    RUN(leave_pending(l, attention_norms, saved, dy, dx, left(l, pending, PENDING_ATTENTION_OUT), &g.out));
    RUN(attention_inner(l, saved, &g, scratch));
    return attention_enter(l, x, saved, dy, &g, dx);
}

int attention_weight(const struct call *l, const void *x, const void *saved, const void *dy,
                     const void *pending, void *dw)
{
    const struct inner g = attention_pending(l, dy, pending);
    RUN(attention_products(l, x, saved, dy, &g, dw));
    return enter_weight(l, attention_norms, saved, x, &g, dw);
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

/* Back from the gradient by the last product to that by the first with its bias, whose gradient goes to
 * dbias. */
static int feed_forward_inner(const struct call *l, const void *saved, const struct inner *g, void *dbias)
{
    const size_t d = l->dims->d, f = l->dims->ff, rows = l->rows;
    struct k_dropout at;
    const struct k_dropout *drop = drop_active(l, &at);
    RUN(by_input(l, rows, f, d, g->out, param(l, SLOT_FEED_FORWARD_OUT_WEIGHT), 0, g->first, f));
    if (drop)
        RUN(l->k->dropout(l->stream, rows, f, drop, g->first, g->first));
    return l->k->bias_act_grad(l->stream, call_activation(l), rows, f, g->first,
                               piece(l, saved, SAVED_FEED_FORWARD_HIDDEN), g->first, dbias, l->accumulate);
}

static int feed_forward_enter(const struct call *l, const void *x, const void *saved, const void *dy,
                              const struct inner *g, void *dx)
{
    return enter_input(l, feed_forward_norms, saved, x, dy, l->dims->ff,
                       param(l, SLOT_FEED_FORWARD_IN_WEIGHT), g, dx);
}

/* But for the first one's bias, and a norm before. */
static int feed_forward_products(const struct call *l, const void *x, const void *saved, const void *dy,
                                 const struct inner *g, void *dw)
{
    const struct norm *norms = feed_forward_norms;
    const size_t d = l->dims->d, f = l->dims->ff, rows = l->rows;
    RUN(leave_weight(l, norms, saved, dy, dw));
    RUN(l->k->bias_grad(l->stream, rows, d, g->out, d, grad(l, dw, SLOT_FEED_FORWARD_OUT_BIAS),
                        l->accumulate));
    RUN(by_weight(l, rows, f, d, g->out, piece(l, saved, SAVED_FEED_FORWARD_ACTIVE), f,
                  grad(l, dw, SLOT_FEED_FORWARD_OUT_WEIGHT)));
    return by_weight(l, rows, d, f, g->first, entered(l, norms, saved, x), d,
                     grad(l, dw, SLOT_FEED_FORWARD_IN_WEIGHT));
}

static struct inner feed_forward_pending(const struct call *l, const void *dy, const void *pending)
{
    return (struct inner){is_apart(l) ? left(l, pending, PENDING_FEED_FORWARD_OUT) : dy,
                          left(l, pending, PENDING_FEED_FORWARD_HIDDEN),
                          left(l, pending, PENDING_FEED_FORWARD_NORMED)};
}

int feed_forward_backward(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                          void *dw, void *scratch)
{
    const size_t d = l->dims->d, f = l->dims->ff, rows = l->rows;
    void *normed = after(l, scratch, rows * f);
    struct inner g = {NULL, scratch, normed};
    RUN(leave_input(l, feed_forward_norms, saved, dy, dx,
                    l->dims->pre_norm ? after(l, normed, rows * d) : normed, &g.out));
    RUN(feed_forward_inner(l, saved, &g, grad(l, dw, SLOT_FEED_FORWARD_IN_BIAS)));
    RUN(feed_forward_products(l, x, saved, dy, &g, dw));
    RUN(feed_forward_enter(l, x, saved, dy, &g, dx));
    return enter_weight(l, feed_forward_norms, saved, x, &g, dw);
}

int feed_forward_input(const struct call *l, const void *x, const void *saved, const void *dy, void *dx,
                       void *pending)
{
    struct inner g = feed_forward_pending(l, dy, pending);
    RUN(leave_pending(l, feed_forward_norms, saved, dy, dx, left(l, pending, PENDING_FEED_FORWARD_OUT),
                      &g.out));
    RUN(feed_forward_inner(l, saved, &g, NULL));
    return feed_forward_enter(l, x, saved, dy, &g, dx);
}

int feed_forward_weight(const struct call *l, const void *x, const void *saved, const void *dy,
                        const void *pending, void *dw)
{
    const size_t f = l->dims->ff;
    const struct inner g = feed_forward_pending(l, dy, pending);
    RUN(l->k->bias_grad(l->stream, l->rows, f, g.first, f, grad(l, dw, SLOT_FEED_FORWARD_IN_BIAS),
                        l->accumulate));
    RUN(feed_forward_products(l, x, saved, dy, &g, dw));
    return enter_weight(l, feed_forward_norms, saved, x, &g, dw);
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
                               dw ? grad(l, dw, SLOT_NORM_WEIGHT) : NULL,
                               dw ? grad(l, dw, SLOT_NORM_BIAS) : NULL, l->accumulate);
}
