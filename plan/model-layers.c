#include "plan/model-layers.h"

#include <string.h>

#define BLOCKS_MAX 1000

/* Kinds of groups. */
enum run {
    RUN_EMBEDDING,
    RUN_ENCODER,
    RUN_NORM,
    RUN_POOLER,
    RUN_BAG,
    RUN_DENSE,
    RUN_STEM,
    RUN_BASIC,
    RUN_BOTTLENECK,
    RUN_CLASSIFIER,
    RUN_HEAD,
    RUNS
};
static const char *const run_names[RUNS + 1] = {
    "embedding", "encoder", "norm",       "pooler",     "bag",  "dense",
    "stem",      "basic",   "bottleneck", "classifier", "head",
};

/* What each kind of run may follow, a bit set; the first of a model follows nothing. */
static const uint16_t run_follows[RUNS] = {
    [RUN_ENCODER] = 1 << RUN_EMBEDDING,
    [RUN_NORM] = 1 << RUN_ENCODER,
    [RUN_POOLER] = 1 << RUN_ENCODER | 1 << RUN_NORM,
    [RUN_DENSE] = 1 << RUN_BAG,
    [RUN_BASIC] = 1 << RUN_STEM | 1 << RUN_BASIC | 1 << RUN_BOTTLENECK,
    [RUN_BOTTLENECK] = 1 << RUN_STEM | 1 << RUN_BASIC | 1 << RUN_BOTTLENECK,
    [RUN_CLASSIFIER] = 1 << RUN_POOLER | 1 << RUN_DENSE | 1 << RUN_BASIC | 1 << RUN_BOTTLENECK,
    [RUN_HEAD] = 1 << RUN_ENCODER | 1 << RUN_NORM,
};
static const uint8_t run_layer[RUNS] = {
    [RUN_EMBEDDING] = LAYER_EMBEDDING,
    [RUN_ENCODER] = LAYER_ATTENTION,
    [RUN_NORM] = LAYER_NORM,
    [RUN_POOLER] = LAYER_POOLER,
    [RUN_BAG] = LAYER_BAG,
    [RUN_DENSE] = LAYER_DENSE,
    [RUN_STEM] = LAYER_STEM,
    [RUN_BASIC] = LAYER_BASIC,
    [RUN_BOTTLENECK] = LAYER_BOTTLENECK,
    [RUN_CLASSIFIER] = LAYER_CLASSIFIER,
    [RUN_HEAD] = LAYER_HEAD,
};

enum family model_family(struct ini *ini)
{
    g_auto(GStrv) groups = ini_groups(ini);
    unsigned run;
    for (char **group = groups; *group; group++) {
        if (strcmp(*group, "model") == 0)
            continue;
        if (!ini_has(ini, *group, "kind") || !ini_choice(ini, *group, "kind", run_names, NULL, &run, NULL))
            break;
        return run == RUN_BAG ? FAMILY_BAG : run == RUN_STEM ? FAMILY_IMAGE : FAMILY_ENCODER;
    }
    return FAMILY_ENCODER;
}

/* Makes room for n more layers. */
static void reserve(struct model *model, uint32_t n)
{
    const gsize most = (gsize)model->n_layers + n;
    model->layers = g_renew(struct layer, model->layers, most);
    model->params = g_renew(struct param, model->params, most * LAYER_SLOTS_MAX);
}

/* Parameters have their layer's name before their own, but for a stem's, which torchvision leaves bare. */
static void add_layer(struct model *model, unsigned kind, const char *name, const char *block,
                      const struct image *image)
{
    const uint32_t index = model->n_layers++;
    struct layer *layer = &model->layers[index];
    *layer = (struct layer){.name = g_strdup(name),
                            .block = g_strdup(block),
                            .kind = (uint8_t)kind,
                            .first_param = model->n_params,
                            .image = image ? *image : (struct image){0}};
    struct slot slots[LAYER_SLOTS_MAX];
    const unsigned n = layer_slots(model, index, slots);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t numel = (uint64_t)slots[i].rows * slots[i].cols;
        if (numel == 0)
            continue;
        model->params[model->n_params++] = (struct param){
            .name =
                kind == LAYER_STEM ? g_strdup(slots[i].name) : g_strconcat(name, ".", slots[i].name, NULL),
            .layer = index,
            .slot = i,
            .rows = slots[i].rows,
            .cols = slots[i].cols,
            .numel = numel,
            .offset = layer_param_offset(model, index, i),
        };
        layer->n_params++;
        layer->numel += numel;
    }
    model->numel += layer->numel;
}

/* `layers` blocks; an encoder's are two layers each. */
static void add_blocks(struct model *model, unsigned first_kind, unsigned last_kind, const char *group)
{
    for (uint32_t i = 0; i < model->dims.layers; i++) {
        g_autofree char *block = g_strdup_printf("%s%u", group, i);
        for (unsigned kind = first_kind; kind <= last_kind; kind++) {
            g_autofree char *name = g_strconcat(block, ".", layer_kind_name(kind), NULL);
            add_layer(model, kind, name, block, NULL);
        }
    }
}

/* Pixels along a side behind a stride, the kernel being odd and padded by half of itself. */
static uint32_t strided(uint32_t side, uint32_t stride)
{
    return (side - 1) / stride + 1;
}

static bool add_stem(struct model *model, struct ini *ini, const char *group, struct image *at,
                     GError **error)
{
    struct image image = {.in = 3, .side_in = model->dims.image};
    if (!ini_uint(ini, group, "channels", 1, 1 << 16, NULL, &image.out, error) ||
        !ini_uint(ini, group, "kernel", 1, 31, NULL, &image.kernel, error))
        return false;
    if (image.kernel % 2 == 0) {
        ini_error(ini, group, "kernel", error, "kernel is %u, write an odd number", image.kernel);
        return false;
    }
    image.side_conv = strided(image.side_in, 2);
    image.side_out = strided(image.side_conv, 2);
    add_layer(model, LAYER_STEM, group, group, &image);
    *at = image;
    return true;
}

/* Residual blocks; the first one strides, and projects its input where the shape changes. */
static bool add_residual(struct model *model, struct ini *ini, const char *group, unsigned kind,
                         struct image *at, GError **error)
{
    enum { EXPANSION = 4 };
    uint32_t blocks, channels, stride;
    if (!ini_uint(ini, group, "blocks", 1, BLOCKS_MAX, NULL, &blocks, error) ||
        !ini_uint(ini, group, "channels", 1, 1 << 14, NULL, &channels, error) ||
        !ini_uint(ini, group, "stride", 1, 16, NULL, &stride, error))
        return false;
    reserve(model, blocks);
    for (uint32_t i = 0; i < blocks; i++) {
        struct image image = {.in = at->out,
                              .middle = channels,
                              .out = kind == LAYER_BOTTLENECK ? EXPANSION * channels : channels,
                              .kernel = 3,
                              .side_in = at->side_out};
        image.side_out = image.side_conv = strided(image.side_in, i ? 1 : stride);
        image.projects = image.in != image.out || image.side_in != image.side_out;
        g_autofree char *name = g_strdup_printf("%s.%u", group, i);
        add_layer(model, kind, name, name, &image);
        *at = image;
    }
    return true;
}

static bool add_run(struct model *model, struct ini *ini, enum run run, const char *group, struct image *at,
                    GError **error)
{
    reserve(model, MAX(1, 2 * model->dims.layers));
    switch (run) {
    case RUN_STEM:
        return add_stem(model, ini, group, at, error);
    case RUN_BASIC:
    case RUN_BOTTLENECK:
        return add_residual(model, ini, group, run_layer[run], at, error);
    case RUN_ENCODER:
        add_blocks(model, LAYER_ATTENTION, LAYER_FEED_FORWARD, group);
        return true;
    case RUN_DENSE:
        add_blocks(model, LAYER_DENSE, LAYER_DENSE, group);
        return true;
    default:
        if (model->dims.image)
            model->dims.d = at->out;
        add_layer(model, run_layer[run], group, group, NULL);
        return true;
    }
}

/* A digit could make a group's name that of a block; those of images have a point before theirs. */
static bool check_group(const struct ini *ini, const char *group, enum family family, GError **error)
{
    if (family == FAMILY_IMAGE || !strpbrk(group, "0123456789"))
        return true;
    ini_error(ini, group, NULL, error, "[%s] names layers, write it without digits", group);
    return false;
}

static bool check_place(const struct ini *ini, const char *group, enum run run, unsigned last, GError **error)
{
    if (run_follows[run] ? last < RUNS && (run_follows[run] >> last & 1) : last == RUNS)
        return true;
    GString *where = g_string_new(run_follows[run] ? "right after kind " : "before all other layers");
    const char *separator = "";
    for (unsigned i = 0; i < RUNS; i++)
        if (run_follows[run] >> i & 1) {
            g_string_append_printf(where, "%s%s", separator, run_names[i]);
            separator = " or ";
        }
    ini_error(ini, group, "kind", error, "kind %s stands in a wrong place, put it %s", run_names[run],
              where->str);
    g_string_free(where, TRUE);
    return false;
}

bool model_read_layers(struct model *model, struct ini *ini, enum family family, GError **error)
{
    g_auto(GStrv) groups = ini_groups(ini);
    unsigned last = RUNS;
    struct image at = {0};
    for (char **group = groups; *group; group++) {
        unsigned run;
        if (strcmp(*group, "model") == 0)
            continue;
        if (!check_group(ini, *group, family, error) ||
            !ini_choice(ini, *group, "kind", run_names, NULL, &run, error) ||
            !check_place(ini, *group, run, last, error) || !add_run(model, ini, run, *group, &at, error))
            return false;
        last = run;
    }
    const unsigned needed = model->task == TASK_TOKENS ? RUN_HEAD : RUN_CLASSIFIER;
    if (last == needed)
        return true;
    ini_error(ini, "model", "task", error, "task %s needs a last group of kind %s, add it",
              model->task == TASK_TOKENS ? "tokens" : "class", run_names[needed]);
    return false;
}
