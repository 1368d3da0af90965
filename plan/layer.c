#include "plan/model.h"

#include <string.h>

/* The names that the expressions of layer.def use. */
#define VARIABLES(type, model, layer, samples)                                                               \
    const struct dims *const dims = &(model)->dims;                                                          \
    const struct image *const image = &(model)->layers[layer].image;                                         \
    const type B = (samples), s = dims->seq, R = B * s, d = dims->d, h = dims->heads, f = dims->ff,          \
               v = dims->vocab, p = dims->positions, t = dims->token_types, c = dims->classes,               \
               pre = dims->pre_norm, post = !dims->pre_norm, fused = dims->fused_qkv,                        \
               apart = !dims->fused_qkv, norm = dims->embedding_norm,                                        \
               sine = dims->position_kind == POSITIONS_SINE, own = !dims->tied, drop = dims->dropout > 0,    \
               within = dims->dropout > 0 && dims->drop_active, ci = image->in, cm = image->middle,          \
               co = image->out, k = image->kernel, g = image->projects,                                      \
               a = (type)image->side_in * image->side_in, q = (type)image->side_out * image->side_out,       \
               u = (type)image->side_conv * image->side_conv;                                                \
    (void)B, (void)s, (void)R, (void)d, (void)h, (void)f, (void)v, (void)p, (void)t, (void)c, (void)pre,     \
        (void)post, (void)fused, (void)apart, (void)norm, (void)sine, (void)own, (void)drop, (void)within,   \
        (void)ci, (void)cm, (void)co, (void)k, (void)g, (void)a, (void)q, (void)u

struct sizes {
    uint64_t out, scratch, forward_kernels, backward_kernels, input_kernels, weight_kernels;
};

static struct sizes sizes(const struct model *model, uint32_t layer, uint32_t samples)
{
    VARIABLES(uint64_t, model, layer, samples);
    struct sizes none = {0};
    switch (model->layers[layer].kind) {
#define LAYER(kind, name, ...)                                                                               \
    case LAYER_##kind:                                                                                       \
        return (struct sizes){__VA_ARGS__};
#define PARAM(...)
#define SAVED(...)
#define PENDING(...)
#define END(kind)
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    }
    return none;
}

uint64_t layer_out_numel(const struct model *model, uint32_t layer, uint32_t samples)
{
    return sizes(model, layer, samples).out;
}

uint64_t layer_scratch_numel(const struct model *model, uint32_t layer, uint32_t samples)
{
    return sizes(model, layer, samples).scratch;
}

enum factor { PARAMETER, ACTIVATION };

static unsigned products(const struct model *model, uint32_t layer, uint32_t samples, struct gemm *gemms,
                         enum factor *factors)
{
    VARIABLES(uint64_t, model, layer, samples);
    unsigned n = 0;
    switch (model->layers[layer].kind) {
#define LAYER(kind, ...) case LAYER_##kind:
#define GEMM(kind, rows, cols, depth, times, factor)                                                         \
    if ((rows) > 0 && (cols) > 0 && (times) > 0) {                                                           \
        factors[n] = factor;                                                                                 \
        gemms[n++] =                                                                                         \
            (struct gemm){(uint32_t)(rows), (uint32_t)(cols), (uint32_t)(depth), (uint32_t)(times)};         \
    }
#define PARAM(...)
#define SAVED(...)
#define PENDING(...)
#define END(kind) break;
#include "plan/layer.def"
#undef LAYER
#undef GEMM
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    }
    return n;
}

unsigned layer_forward_gemms(const struct model *model, uint32_t layer, uint32_t samples, struct gemm *gemms)
{
    enum factor factors[LAYER_GEMMS_MAX];
    return products(model, layer, samples, gemms, factors);
}

/* The gradients by the inputs, by the weights, or both. */
static unsigned gradients(const struct model *model, uint32_t layer, uint32_t samples, bool input,
                          bool weight, struct gemm *gemms)
{
    struct gemm forward[LAYER_GEMMS_MAX];
    enum factor factors[LAYER_GEMMS_MAX];
    const unsigned n_forward = products(model, layer, samples, forward, factors);
    unsigned n = 0;
    for (unsigned i = 0; i < n_forward; i++) {
        const struct gemm g = forward[i];
        if (layer == 0 ? weight : input)
            gemms[n++] = (struct gemm){g.m, g.k, g.n, g.batch};
        if (layer > 0 && factors[i] == ACTIVATION ? input : weight)
            gemms[n++] = (struct gemm){g.k, g.n, g.m, g.batch};
    }
    return n;
}

unsigned layer_backward_gemms(const struct model *model, uint32_t layer, uint32_t samples, struct gemm *gemms)
{
    return gradients(model, layer, samples, true, true, gemms);
}

unsigned layer_input_gemms(const struct model *model, uint32_t layer, uint32_t samples, struct gemm *gemms)
{
    return gradients(model, layer, samples, true, false, gemms);
}

unsigned layer_weight_gemms(const struct model *model, uint32_t layer, uint32_t samples, struct gemm *gemms)
{
    return gradients(model, layer, samples, false, true, gemms);
}

static uint64_t flops_of(const struct gemm *gemms, unsigned n)
{
    uint64_t flops = 0;
    for (unsigned i = 0; i < n; i++)
        flops += UINT64_C(2) * gemms[i].m * gemms[i].n * gemms[i].k * gemms[i].batch;
    return flops;
}

uint64_t layer_forward_flops(const struct model *model, uint32_t layer, uint32_t samples)
{
    struct gemm gemms[LAYER_GEMMS_MAX];
    return flops_of(gemms, layer_forward_gemms(model, layer, samples, gemms));
}

uint64_t layer_backward_flops(const struct model *model, uint32_t layer, uint32_t samples)
{
    return 2 * layer_forward_flops(model, layer, samples);
}

uint64_t layer_input_flops(const struct model *model, uint32_t layer, uint32_t samples)
{
    struct gemm gemms[2 * LAYER_GEMMS_MAX];
    return flops_of(gemms, layer_input_gemms(model, layer, samples, gemms));
}

uint64_t layer_weight_flops(const struct model *model, uint32_t layer, uint32_t samples)
{
    struct gemm gemms[2 * LAYER_GEMMS_MAX];
    return flops_of(gemms, layer_weight_gemms(model, layer, samples, gemms));
}

uint32_t layer_forward_kernels(const struct model *model, uint32_t layer)
{
    return (uint32_t)sizes(model, layer, 1).forward_kernels;
}

uint32_t layer_backward_kernels(const struct model *model, uint32_t layer)
{
    return (uint32_t)sizes(model, layer, 1).backward_kernels;
}

uint32_t layer_input_kernels(const struct model *model, uint32_t layer)
{
    return (uint32_t)sizes(model, layer, 1).input_kernels;
}

uint32_t layer_weight_kernels(const struct model *model, uint32_t layer)
{
    return (uint32_t)sizes(model, layer, 1).weight_kernels;
}

static uint64_t padded(uint64_t numel)
{
    return (numel + 15) / 16 * 16;
}

uint64_t layer_saved_offset(const struct model *model, uint32_t layer, uint32_t samples, unsigned piece)
{
    VARIABLES(uint64_t, model, layer, samples);
    uint64_t offset = 0;
    unsigned i = 0;
    switch (model->layers[layer].kind) {
#define LAYER(kind, ...) case LAYER_##kind:
#define PARAM(...)
#define SAVED(kind, name, numel)                                                                             \
    if (i++ < piece)                                                                                         \
        offset += padded(numel);
#define PENDING(...)
#define END(kind) break;
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    }
    return offset;
}

uint64_t layer_saved_numel(const struct model *model, uint32_t layer, uint32_t samples)
{
    return layer_saved_offset(model, layer, samples, UINT32_MAX);
}

uint64_t layer_pending_offset(const struct model *model, uint32_t layer, uint32_t samples, unsigned piece)
{
    VARIABLES(uint64_t, model, layer, samples);
    uint64_t offset = 0;
    unsigned i = 0;
    switch (model->layers[layer].kind) {
#define LAYER(kind, ...) case LAYER_##kind:
#define PARAM(...)
#define SAVED(...)
#define PENDING(kind, name, numel)                                                                           \
    if (i++ < piece)                                                                                         \
        offset += padded(numel);
#define END(kind) break;
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    }
    return offset;
}

uint64_t layer_pending_numel(const struct model *model, uint32_t layer, uint32_t samples)
{
    return layer_pending_offset(model, layer, samples, UINT32_MAX);
}

unsigned layer_slots(const struct model *model, uint32_t layer, struct slot *slots)
{
    VARIABLES(uint64_t, model, layer, 1);
    unsigned n = 0;
    switch (model->layers[layer].kind) {
#define LAYER(kind, ...) case LAYER_##kind:
#define PARAM(kind, upper, name, rows, cols, place, init)                                                    \
    slots[n++] = (struct slot){name, (uint32_t)(rows), (uint32_t)(cols), place, init};
#define SAVED(...)
#define PENDING(...)
#define END(kind) break;
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    }
    return n;
}

uint64_t layer_param_offset(const struct model *model, uint32_t layer, unsigned slot)
{
    struct slot slots[LAYER_SLOTS_MAX];
    unsigned n = layer_slots(model, layer, slots);
    uint64_t offset = 0;
    for (unsigned i = 0; i < n; i++)
        if (slots[i].place < slots[slot].place)
            offset += (uint64_t)slots[i].rows * slots[i].cols;
    return offset;
}

enum init param_init(const struct model *model, uint32_t param)
{
    struct slot slots[LAYER_SLOTS_MAX];
    layer_slots(model, model->params[param].layer, slots);
    return slots[model->params[param].slot].init;
}

/* In double, so that what would overflow shows. */
bool model_fits(const struct model *model, uint32_t samples)
{
    double total = 0, largest = 0;
    for (uint32_t layer = 0; layer < model->n_layers; layer++) {
        VARIABLES(double, model, layer, samples);
        switch (model->layers[layer].kind) {
#define LAYER(kind, name, out, scratch, ...)                                                                 \
    case LAYER_##kind:                                                                                       \
        total += (out) + (scratch);
#define PARAM(kind, upper, name, rows, cols, ...) total += (rows) * (double)(cols);
#define SAVED(kind, name, numel)                  total += (numel) + 15;
#define PENDING(kind, name, numel)                total += (numel) + 15;
#define END(kind)                                 break;
#define GEMM(kind, rows, cols, depth, times, factor)                                                         \
    total += 6 * (rows) * (cols) * (depth) * (double)(times);                                                \
    largest = MAX(largest, MAX(rows, times));
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
        }
    }
    return total < 0x1p58 && largest < 0x1p31 && (double)samples * model->dims.seq < 0x1p31;
}

uint64_t model_input_bytes(const struct model *model, uint32_t samples)
{
    const uint64_t side = model->dims.image, n = samples;
    const uint64_t targets = n * (model->task == TASK_TOKENS ? model->dims.seq : 1);
    const uint64_t inputs = side ? 3 * side * side * n : n * model->dims.seq;
    return sizeof(int32_t) * (inputs + targets);
}

const char *layer_kind_name(unsigned kind)
{
    static const char *const names[LAYER_KINDS] = {
#define LAYER(kind, name, ...) name,
#define PARAM(...)
#define SAVED(...)
#define PENDING(...)
#define END(kind)
#define GEMM(...)
#include "plan/layer.def"
#undef GEMM
#undef LAYER
#undef PARAM
#undef SAVED
#undef PENDING
#undef END
    };
    return kind < LAYER_KINDS ? names[kind] : "?";
}

const char *activation_name(unsigned activation)
{
    static const char *const names[ACTS] = {"gelu", "relu", "gelu-tanh"};
    return activation < ACTS ? names[activation] : "?";
}

/* What a kind's work depends on for a given number of rows: sizes by their letters, then traits. */
static const struct {
    const char *letters;
    bool activation, sublayer, drops;
} shapes[LAYER_KINDS] = {
    [LAYER_EMBEDDING] = {"dvpts", .drops = true},
    [LAYER_ATTENTION] = {"dhs", .sublayer = true, .drops = true},
    [LAYER_FEED_FORWARD] = {"df", true, true, true},
    [LAYER_NORM] = {"d"},
    [LAYER_POOLER] = {"ds"},
    [LAYER_BAG] = {"dvs"},
    [LAYER_DENSE] = {"d", .activation = true, .drops = true},
    [LAYER_CLASSIFIER] = {"dcs"},
    [LAYER_HEAD] = {"dv"},
    [LAYER_STEM] = {"ioakq"},
    [LAYER_BASIC] = {"ioaq"},
    [LAYER_BOTTLENECK] = {"imoaq"},
};

char *layer_shape(const struct model *model, uint32_t layer)
{
    const struct dims *m = &model->dims;
    const struct image *image = &model->layers[layer].image;
    const uint32_t of['z'] = {
        ['d'] = m->d,           ['h'] = m->heads,        ['f'] = m->ff,          ['v'] = m->vocab,
        ['s'] = m->seq,         ['p'] = m->positions,    ['t'] = m->token_types, ['c'] = m->classes,
        ['i'] = image->in,      ['m'] = image->middle,   ['o'] = image->out,     ['k'] = image->kernel,
        ['a'] = image->side_in, ['q'] = image->side_out,
    };
    const unsigned kind = model->layers[layer].kind;
    GString *shape = g_string_new(layer_kind_name(kind));
    for (const char *l = shapes[kind].letters; *l; l++)
        g_string_append_printf(shape, " %c%u", *l, of[(unsigned char)*l]);
    if (shapes[kind].activation)
        g_string_append_printf(shape, " %s", activation_name(m->activation));
    if (shapes[kind].sublayer && m->pre_norm)
        g_string_append(shape, " pre");
    if (kind == LAYER_ATTENTION && m->causal)
        g_string_append(shape, " causal");
    if (shapes[kind].drops && m->dropout > 0)
        g_string_append(shape, " dropout");
    g_string_append_printf(shape, " %s", dtype_name(model->dtype));
    return g_string_free(shape, FALSE);
}

size_t dtype_bytes(unsigned dtype)
{
    return dtype == DTYPE_F64 ? 8 : 4;
}

const char *dtype_name(unsigned dtype)
{
    static const char *const names[DTYPES] = {"f32", "f64", "tf32"};
    return dtype < DTYPES ? names[dtype] : "?";
}

unsigned dtype_find(const char *name)
{
    unsigned dtype = 0;
    while (dtype < DTYPES && strcmp(name, dtype_name(dtype)))
        dtype++;
    return dtype;
}
