#include "exec/data.h"

#include <math.h>

#include "exec/random.h"

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
        return 0.02 * normal_like(random_numbered(key, i));
    if (init == INIT_DENSE)
        return normal_like(random_numbered(key, i)) / sqrt(cols);
    return init == INIT_ONE;
}

void data_init_layer(const struct model *model, uint32_t layer, uint64_t seed, void *block)
{
    const struct layer *l = &model->layers[layer];
    for (uint32_t p = l->first_param; p < l->first_param + l->n_params; p++) {
        const struct param *param = &model->params[p];
        const enum init init = param_init(model, p);
        const uint64_t key = random_numbered(random_mix(seed), p);
        if (model->dtype != DTYPE_F64)
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

/* The remainder modulo `classes` that most tokens have, the first of them. */
static int32_t most_frequent(const int32_t *token, uint32_t n, uint32_t classes)
{
    uint32_t most = 0, best = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t class = (uint32_t)token[i] % classes;
        uint32_t count = 0;
        for (uint32_t j = 0; j < n; j++)
            count += (uint32_t)token[j] % classes == class;
        if (count > most || (count == most && class < best)) {
            most = count;
            best = class;
        }
    }
    return (int32_t)best;
}

void data_fill(const struct model *model, uint64_t seed, uint32_t step, uint32_t first, uint32_t n,
               int32_t *out)
{
    const struct dims *d = &model->dims;
    const uint64_t key = random_numbered(~random_mix(seed), step);
    int32_t *target = out + (size_t)n * d->seq;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t sample = random_numbered(key, (uint64_t)first + i);
        int32_t *token = out + (size_t)i * d->seq;
        for (uint32_t j = 0; j < d->seq; j++)
            token[j] = skewed(random_numbered(sample, j), d->vocab);
        if (model->layers[0].kind == LAYER_BAG)
            target[i] = most_frequent(token, d->seq, d->classes);
        else if (model->task == TASK_CLASS)
            target[i] = (int32_t)((uint32_t)token[0] % d->classes);
        else
            for (uint32_t j = 0; j < d->seq; j++)
                target[(size_t)i * d->seq + j] = (int32_t)(((uint32_t)token[j] + 1) % d->vocab);
    }
}

void data_deal(const struct run *run, uint32_t step, uint32_t first, uint32_t n, int32_t *out)
{
    const bool apart = run->part == DATA_VALID || run->part == DATA_TEST;
    if (run->data)
        text_fill(run->data, run->seed, step, first, n, out);
    else
        data_fill(run->model, apart ? random_numbered(random_mix(run->seed), run->part) : run->seed, step,
                  first, n, out);
}

uint64_t data_dropout_key(uint64_t seed, uint32_t step, uint32_t layer, uint32_t site)
{
    /* another start than that of weights and of samples */
    const uint64_t key = random_numbered(random_mix(~seed) ^ RANDOM_STRIDE, step);
    return random_numbered(random_numbered(key, layer), site);
}
