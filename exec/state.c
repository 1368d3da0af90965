#include "exec/state.h"

#include <string.h>

enum { KEPT_CLASSES = 3 };

struct piece {
    char *bytes;
    uint64_t n;
};

struct state {
    uint32_t n_layers;
    struct piece *pieces; /* [class * n_layers + layer] */
    uint64_t updates;
};

/* Whose pieces a class has; KEPT_CLASSES: it is not kept. */
static unsigned kept_class(unsigned cls)
{
    return cls == VALUE_WEIGHT ? 0 : cls == VALUE_MOMENT ? 1 : cls == VALUE_VARIANCE ? 2 : KEPT_CLASSES;
}

static struct piece *piece_of(const struct state *s, const struct value *v)
{
    const unsigned kept = kept_class(v->cls);
    return s && kept < KEPT_CLASSES && v->index < s->n_layers ? &s->pieces[kept * s->n_layers + v->index]
                                                              : NULL;
}

struct state *state_new(const struct model *model)
{
    struct state *s = g_rc_box_new0(struct state);
    s->n_layers = model->n_layers;
    s->pieces = g_new0(struct piece, (size_t)KEPT_CLASSES * model->n_layers);
    return s;
}

struct state *state_ref(struct state *s)
{
    return g_rc_box_acquire(s);
}

static void release(void *state)
{
    struct state *s = state;
    for (size_t i = 0; i < (size_t)KEPT_CLASSES * s->n_layers; i++)
        g_free(s->pieces[i].bytes);
    g_free(s->pieces);
}

void state_unref(struct state *s)
{
    if (s)
        g_rc_box_release_full(s, release);
}

void state_keep(struct state *s, const struct plan *plan, const struct state *before, uint64_t updates,
                void *(*cell)(void *engine, uint32_t value), void *engine)
{
    s->updates = state_updates(before) + updates;
    for (uint32_t i = 0; i < plan->n_values; i++) {
        const struct value *v = &plan->values[i];
        struct piece *piece = v->flags & VALUE_LIVE_OUT && v->root == i ? piece_of(s, v) : NULL;
        if (!piece || piece->n >= v->bytes)
            continue;
        g_free(piece->bytes);
        piece->bytes = g_memdup2(cell(engine, i), v->bytes);
        piece->n = v->bytes;
    }
}

bool state_put(const struct state *s, const struct value *v, void *out)
{
    const struct piece *piece = piece_of(s, v);
    if (!piece || piece->n < v->bytes || !piece->n)
        return false;
    memcpy(out, piece->bytes, v->bytes);
    return true;
}

uint64_t state_updates(const struct state *s)
{
    return s ? s->updates : 0;
}
