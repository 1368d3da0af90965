#include <math.h>

#include "exec/layer-call.h"

int embedding_forward(const struct call *l, const int32_t *token, void *y, void *saved, void *scratch)
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

int embedding_backward(const struct call *l, const int32_t *token, const void *saved, const void *dy,
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
