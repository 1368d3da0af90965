#include "exec/data.h"

#include <math.h>

/* Steele, Lea, Flood 2014: the finalizer of SplitMix64, applied to key + i stride, is its i-th number. */
static const uint64_t stride = 0x9e3779b97f4a7c15u;

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t numbered(uint64_t key, uint64_t i)
{
    return mix(key + (i + 1) * stride);
}

/* Sum of four uniform 16-bit numbers, variance 1/12 each, shifted and scaled: mean 0, standard deviation 1.
 */
static inline double normal_like(uint64_t random)
{
    static const double scale = 1.7320508075688772 / 65536; /* sqrt(12/4) */
    const uint64_t sum =
        (random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48);
    return ((double)sum - 2 * 65535.0) * scale;
}

/* Element i of a parameter; init and key are the parameter's. */
static inline double initial(enum init init, uint32_t cols, uint64_t key, uint64_t i)
{
    if (init == INIT_NORMAL)
        return 0.02 * normal_like(numbered(key, i));
    if (init == INIT_DENSE)
        return normal_like(numbered(key, i)) / sqrt(cols);
    return init == INIT_ONE;
}

void data_init_layer(const struct model *model, uint32_t layer, uint64_t seed, void *block)
{
    const struct layer *l = &model->layers[layer];
    for (uint32_t p = l->first_param; p < l->first_param + l->n_params; p++) {
        const struct param *param = &model->params[p];
        const enum init init = param_init(model, p);
        const uint64_t key = numbered(mix(seed), p);
        if (model->dtype == DTYPE_F32)
            for (uint64_t i = 0; i < param->numel; i++)
                ((float *)block)[param->offset + i] = (float)initial(init, param->cols, key, i);
        else
            for (uint64_t i = 0; i < param->numel; i++)
                ((double *)block)[param->offset + i] = initial(init, param->cols, key, i);
    }
}

/* A number below n whose density falls as its power -3/4: a fourth power of a uniform one, in integers, so
 * that every machine gets the same. */
static int32_t skewed(uint64_t random, uint32_t n)
{
    uint64_t u = random >> 32;
    u = u * u >> 32;
    u = u * u >> 32;
    return (int32_t)(u * n >> 32);
}

void data_fill(const struct model *model, uint64_t seed, uint32_t step, uint32_t first, uint32_t n,
               int32_t *out)
{
    const struct dims *d = &model->dims;
    const uint64_t key = numbered(~mix(seed), step);
    int32_t *target = out + (size_t)n * d->seq;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t sample = numbered(key, (uint64_t)first + i);
        int32_t *token = out + (size_t)i * d->seq;
        for (uint32_t j = 0; j < d->seq; j++)
            token[j] = skewed(numbered(sample, j), d->vocab);
        if (model->task == TASK_CLASS)
            target[i] = (int32_t)((uint32_t)token[0] % d->classes);
        else
            for (uint32_t j = 0; j < d->seq; j++)
                target[(size_t)i * d->seq + j] = (int32_t)(((uint32_t)token[j] + 1) % d->vocab);
    }
}

uint64_t data_bytes(const struct model *model, uint32_t samples)
{
    return model_input_bytes(model, samples);
}

uint64_t data_dropout_key(uint64_t seed, uint32_t step, uint32_t layer, uint32_t site)
{
    /* another start than that of weights and of samples */
    const uint64_t key = numbered(mix(~seed) ^ stride, step);
    return numbered(numbered(key, layer), site);
}
