#include "exec/layer-call.h"

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
        return classifier_forward(&l, x, y);
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
        return classifier_backward(&l, x, dy, dx, dweight);
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

int layer_backward_input(const struct layer_call *call, const void *dy, void *dx, void *pending)
{
    const struct call l = call_of(call, 0);
    const void *x = call->x, *saved = call->saved;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_ATTENTION:
        return attention_input(&l, x, saved, dy, dx, pending, call->scratch);
    case LAYER_FEED_FORWARD:
        return feed_forward_input(&l, x, saved, dy, dx, pending);
    case LAYER_NORM:
        return norm_backward(&l, x, saved, dy, dx, NULL);
    case LAYER_POOLER:
        return pooler_input(&l, saved, dy, dx, pending);
    case LAYER_DENSE:
        return dense_input(&l, saved, dy, dx, pending);
    case LAYER_CLASSIFIER:
        return classifier_backward(&l, x, dy, dx, NULL);
    case LAYER_HEAD:
        return head_backward(&l, x, dy, dx, NULL);
    case LAYER_EMBEDDING:
    case LAYER_BAG:
    case LAYER_STEM:
    case LAYER_BASIC:
    case LAYER_BOTTLENECK:
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}

int layer_backward_weight(const struct layer_call *call, const void *dy, const void *pending, void *dweight,
                          int accumulate)
{
    const struct call l = call_of(call, accumulate);
    const void *x = call->x, *saved = call->saved;
    switch ((enum layer_kind)l.c->model->layers[l.layer].kind) {
    case LAYER_ATTENTION:
        return attention_weight(&l, x, saved, dy, pending, dweight);
    case LAYER_FEED_FORWARD:
        return feed_forward_weight(&l, x, saved, dy, pending, dweight);
    case LAYER_NORM:
        return norm_backward(&l, x, saved, dy, NULL, dweight);
    case LAYER_POOLER:
        return pooler_weight(&l, x, pending, dweight);
    case LAYER_DENSE:
        return dense_weight(&l, x, pending, dweight);
    case LAYER_CLASSIFIER:
        return classifier_backward(&l, x, dy, NULL, dweight);
    case LAYER_HEAD:
        return head_backward(&l, x, dy, NULL, dweight);
    case LAYER_EMBEDDING:
    case LAYER_BAG:
        return layer_backward(call, dy, NULL, dweight, accumulate);
    case LAYER_STEM:
    case LAYER_BASIC:
    case LAYER_BOTTLENECK:
    case LAYER_KINDS:
        break;
    }
    g_assert_not_reached();
}
