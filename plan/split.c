#include "plan/split.h"

#include <string.h>

/* What a split keeps together: layers [first[i], first[i + 1]). */
struct units {
    uint32_t n, *first;
};

/* Of the row of blocks that a model consists of, not of what stands before or behind it. */
static bool in_row(const struct layer *layer)
{
    switch (layer->kind) {
    case LAYER_ATTENTION:
    case LAYER_FEED_FORWARD:
    case LAYER_DENSE:
    case LAYER_BASIC:
    case LAYER_BOTTLENECK:
        return true;
    default:
        return false;
    }
}

static bool goes_on(const struct model *m, uint32_t layer)
{
    return layer > 0 && strcmp(m->layers[layer].block, m->layers[layer - 1].block) == 0;
}

/* The row's blocks, with what stands before the first and behind the last of them. */
static struct units find_blocks(const struct model *m)
{
    struct units u = {0, g_new(uint32_t, (gsize)m->n_layers + 1)};
    for (uint32_t i = 0; i < m->n_layers; i++)
        if (in_row(&m->layers[i]) && !goes_on(m, i)) {
            u.first[u.n] = u.n ? i : 0;
            u.n++;
        }
    u.first[u.n] = m->n_layers;
    return u;
}

static struct units find_layers(const struct model *m)
{
    struct units u = {m->n_layers, g_new(uint32_t, (gsize)m->n_layers + 1)};
    for (uint32_t i = 0; i <= u.n; i++)
        u.first[i] = i;
    return u;
}

static bool even(const struct shape *shape, uint32_t n_stages, uint32_t *first)
{
    struct units u = find_blocks(shape->model);
    if (u.n < n_stages) {
        g_free(u.first);
        u = find_layers(shape->model);
    }
    for (uint32_t s = 0; s < n_stages; s++)
        first[s] = u.first[s * (u.n / n_stages) + MIN(s, u.n % n_stages)];
    g_free(u.first);
    return true;
}

/* As many as its first stages take, the last ones get the rest, or nothing. */
static bool tutorial(const struct shape *shape, uint32_t n_stages, uint32_t *first)
{
    const struct units u = find_blocks(shape->model);
    g_autofree uint32_t *begin = u.first;
    const uint32_t each = u.n ? (u.n - 1) / n_stages + 1 : 0;
    first[0] = 0;
    for (uint32_t s = 1; s < n_stages; s++) {
        if (s * each >= u.n)
            return false;
        first[s] = begin[s * each];
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

static bool by_weight(const struct shape *shape, uint32_t n_stages, uint32_t *first,
                      uint64_t (*of)(const struct shape *, uint32_t layer))
{
    const struct units u = find_layers(shape->model);
    g_autofree uint64_t *weight = g_new0(uint64_t, (gsize)u.n + 1);
    for (uint32_t i = 0; i < u.n; i++)
        weight[i] = of(shape, i);
    const bool ok = smallest_largest(weight, &u, n_stages, first);
    g_free(u.first);
    return ok;
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

static bool bytes(const struct shape *shape, uint32_t n_stages, uint32_t *first)
{
    return by_weight(shape, n_stages, first, layer_bytes);
}

static bool balanced(const struct shape *shape, uint32_t n_stages, uint32_t *first)
{
    return by_weight(shape, n_stages, first, layer_work);
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
    if (n_stages < 1 || n_stages > layers) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                    "%u stages, but model %s has %u layers and each stage needs one, give --ranks times "
                    "--stages-per-rank of at most %u, or more --layers",
                    n_stages, shape->model->name, layers, layers);
        return false;
    }
    first[n_stages] = layers;
    if (rule->split(shape, n_stages, first))
        return true;
    uint32_t most = n_stages - 1;
    while (!rule->split(shape, most, first))
        most--;
    g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT,
                "--split %s leaves a stage of %u without layers, give --split %s, or --ranks times "
                "--stages-per-rank of at most %u",
                rule->name, n_stages, rule_even.name, most);
    return false;
}
