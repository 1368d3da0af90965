#include "plan/split.h"

#include <string.h>

/* What a split keeps together: layers [first[i], first[i + 1]). */
struct units {
    uint32_t n, *first;
};

/* Encoder blocks, with what stands before the first and behind the last of them; single layers where those
 * are too few. */
static struct units find_units(const struct shape *shape, uint32_t n_stages)
{
    const struct model *m = shape->model;
    struct units u = {0, g_new(uint32_t, (gsize)m->n_layers + 1)};
    for (uint32_t i = 0; i < m->n_layers; i++) {
        const bool repeats = strcmp(m->layers[i].block, m->layers[i].name) != 0;
        const bool begins = repeats && (i == 0 || strcmp(m->layers[i].block, m->layers[i - 1].block));
        if (begins) {
            u.first[u.n] = u.n ? i : 0;
            u.n++;
        }
    }
    if (u.n < n_stages) {
        u.n = m->n_layers;
        for (uint32_t i = 0; i < u.n; i++)
            u.first[i] = i;
    }
    u.first[u.n] = m->n_layers;
    return u;
}

static bool even(const struct shape *shape, const struct units *u, uint32_t n_stages, uint32_t *first)
{
    (void)shape;
    for (uint32_t s = 0; s < n_stages; s++)
        first[s] = u->first[s * (u->n / n_stages) + MIN(s, u->n % n_stages)];
    return true;
}

/* As many as its first stages take, the last ones get the rest, or nothing. */
static bool tutorial(const struct shape *shape, const struct units *u, uint32_t n_stages, uint32_t *first)
{
    (void)shape;
    const uint32_t each = (u->n - 1) / n_stages + 1;
    for (uint32_t s = 0; s < n_stages; s++) {
        if (s * each >= u->n)
            return false;
        first[s] = u->first[s * each];
    }
    return true;
}

/* Contiguous parts whose largest sum is as small as can be: by bisection over the sum, each part taking as
 * much as fits but leaving a unit for each part behind it. */
static uint32_t take_parts(const uint64_t *weight, const struct units *u, uint32_t n_stages, uint64_t limit,
                           uint32_t *first)
{
    uint32_t at = 0;
    for (uint32_t s = 0; s < n_stages; s++) {
        uint64_t sum = 0;
        const uint32_t leave = n_stages - 1 - s, begin = at;
        while (at < u->n - leave && (at == begin || sum + weight[at] <= limit))
            sum += weight[at++];
        first[s] = u->first[begin];
        if (sum > limit)
            return 0;
    }
    return at;
}

static bool smallest_largest(const uint64_t *weight, const struct units *u, uint32_t n_stages,
                             uint32_t *first)
{
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < u->n; i++)
        high += weight[i];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (take_parts(weight, u, n_stages, middle, first) == u->n)
            high = middle;
        else
            low = middle + 1;
    }
    return take_parts(weight, u, n_stages, low, first) == u->n;
}

static bool by_weight(const struct shape *shape, const struct units *u, uint32_t n_stages, uint32_t *first,
                      uint64_t (*of)(const struct shape *, uint32_t layer))
{
    g_autofree uint64_t *weight = g_new0(uint64_t, (gsize)u->n + 1);
    for (uint32_t i = 0; i < u->n; i++)
        for (uint32_t layer = u->first[i]; layer < u->first[i + 1]; layer++)
            weight[i] += of(shape, layer);
    return smallest_largest(weight, u, n_stages, first);
}

static uint64_t layer_bytes(const struct shape *shape, uint32_t layer)
{
    return shape->model->layers[layer].numel * dtype_bytes(shape->model->dtype);
}

static uint64_t layer_work(const struct shape *shape, uint32_t layer)
{
    if (shape->layer_ns)
        return (uint64_t)MAX(shape->layer_ns[layer], 0);
    return layer_forward_flops(shape->model, layer, 1) + layer_backward_flops(shape->model, layer, 1);
}

static bool bytes(const struct shape *shape, const struct units *u, uint32_t n_stages, uint32_t *first)
{
    return by_weight(shape, u, n_stages, first, layer_bytes);
}

static bool balanced(const struct shape *shape, const struct units *u, uint32_t n_stages, uint32_t *first)
{
    return by_weight(shape, u, n_stages, first, layer_work);
}

static const struct split_rule rule_even = {"even", "blocks as evenly as they go", even},
                               rule_tutorial = {"tutorial",
                                                "PyTorch's pipeline tutorial: (blocks-1)/ranks+1 each",
                                                tutorial},
                               rule_bytes = {"bytes", "the largest stage has the fewest bytes of parameters",
                                             bytes},
                               rule_balanced = {"balanced", "the slowest stage is as fast as can be",
                                                balanced};

const struct split_rule *const split_rules[] = {&rule_even, &rule_tutorial, &rule_bytes, &rule_balanced,
                                                NULL};

const struct split_rule *split_find(const char *name)
{
    for (const struct split_rule *const *r = split_rules; *r; r++)
        if (strcmp((*r)->name, name) == 0)
            return *r;
    return NULL;
}

bool split_layers(const struct shape *shape, uint32_t n_stages, uint32_t *first, GError **error)
{
    const struct split_rule *rule = shape->split ? shape->split : split_rules[0];
    const uint32_t layers = shape->model->n_layers;
    if (n_stages > layers) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "%u stages, but model %s has %u layers and each stage needs one, give --ranks times "
                    "--stages-per-rank of at most %u, or more --layers",
                    n_stages, shape->model->name, layers, layers);
        return false;
    }
    struct units u = find_units(shape, n_stages);
    const bool good = rule->split(shape, &u, n_stages, first);
    g_free(u.first);
    first[n_stages] = layers;
    if (!good)
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "--split %s leaves a stage of %u without layers, give --split even, or other --ranks",
                    rule->name, n_stages);
    return good;
}
