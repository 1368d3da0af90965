#include "plan/cost.h"

#include <string.h>

gboolean cost_key_equal(gconstpointer a, gconstpointer b)
{
    const struct cost_key *x = a, *y = b;
    return x->kind == y->kind && x->algo == y->algo && x->members == y->members && x->rows == y->rows &&
           x->bytes == y->bytes && g_strcmp0(x->shape, y->shape) == 0;
}

guint cost_key_hash(gconstpointer key)
{
    const struct cost_key *k = key;
    guint h = k->shape ? g_str_hash(k->shape) : 5381;
    h = h * 31 + k->kind;
    h = h * 31 + k->algo;
    h = h * 31 + k->members;
    h = h * 31 + k->rows;
    return h * 31 + (guint)(k->bytes ^ k->bytes >> 32);
}
