#include "plan/model.h"

#include <string.h>

#include "plan/ini.h"
#include "plan/plan.h"

#define NOT_AN_OPTION SIZE_MAX

/* The sizes: key in [model], which is the option's name too, and the range. */
static const struct size {
    const char *key;
    size_t dim, override; /* offsets of uint32_t in struct dims and struct model_override */
    uint32_t min, max;
} sizes[] = {
#define DIM(member)      offsetof(struct dims, member)
#define OVERRIDE(member) offsetof(struct model_override, member)
    {"layers", DIM(layers), OVERRIDE(layers), 1, 10000},
    {"d-model", DIM(d), OVERRIDE(d), 1, 1 << 16},
    {"heads", DIM(heads), OVERRIDE(heads), 1, 1 << 16},
    {"ff", DIM(ff), OVERRIDE(ff), 1, 1 << 20},
    {"vocab", DIM(vocab), OVERRIDE(vocab), 2, 1 << 24},
    {"seq-len", DIM(seq), OVERRIDE(seq), 1, 1 << 20},
    {"positions", DIM(positions), NOT_AN_OPTION, 1, 1 << 20},
    {"token-types", DIM(token_types), NOT_AN_OPTION, 0, 1 << 16},
    {"classes", DIM(classes), NOT_AN_OPTION, 2, 1 << 20},
#undef DIM
#undef OVERRIDE
};

/* Kinds of groups; all but the encoder are one layer. */
enum run { RUN_EMBEDDING, RUN_ENCODER, RUN_POOLER, RUN_CLASSIFIER, RUN_HEAD, RUNS };
static const char *const run_names[RUNS + 1] = {"embedding", "encoder", "pooler", "classifier", "head", NULL};
/* What each kind of run must follow; the first of a model follows nothing. */
static const uint8_t run_follows[RUNS] = {
    [RUN_EMBEDDING] = RUNS,        [RUN_ENCODER] = RUN_EMBEDDING, [RUN_POOLER] = RUN_ENCODER,
    [RUN_CLASSIFIER] = RUN_POOLER, [RUN_HEAD] = RUN_ENCODER,
};
static const uint8_t run_layer[RUNS] = {
    [RUN_EMBEDDING] = LAYER_EMBEDDING,
    [RUN_POOLER] = LAYER_POOLER,
    [RUN_CLASSIFIER] = LAYER_CLASSIFIER,
    [RUN_HEAD] = LAYER_HEAD,
};
static const char *const task_names[] = {"tokens", "class", NULL};
static const char *const activation_names[] = {"gelu", "relu", NULL};

static uint32_t override_of(const struct model_override *over, const struct size *size)
{
    return over && size->override != NOT_AN_OPTION ? *(const uint32_t *)((const char *)over + size->override)
                                                   : 0;
}

static bool fail_option(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool fail_option(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *what = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error_literal(error, PLAN_ERROR, PLAN_ERROR_INPUT, what);
    return false;
}

static bool read_sizes(struct model *model, struct ini *ini, const struct model_override *over,
                       GError **error)
{
    static const uint32_t no_token_types = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        const struct size *size = &sizes[i];
        uint32_t *dim = (uint32_t *)((char *)&model->dims + size->dim);
        if (dim == &model->dims.classes && model->task != TASK_CLASS)
            continue;
        const uint32_t *fallback = dim == &model->dims.token_types ? &no_token_types : NULL;
        if (!ini_uint(ini, "model", size->key, size->min, size->max, fallback, dim, error))
            return false;
        uint32_t laid = override_of(over, size);
        if (laid && (laid < size->min || laid > size->max))
            return fail_option(error, "--%s %u is out of range, give %u to %u", size->key, laid, size->min,
                               size->max);
        if (laid)
            *dim = laid;
    }
    return true;
}

/* Sizes against each other.  What an option brought in is reported by the option, the rest by the line. */
static bool check_sizes(struct model *model, const struct ini *ini, const struct model_override *over,
                        GError **error)
{
    struct dims *m = &model->dims;
    if (m->d % m->heads != 0) {
        if (over && over->heads)
            return fail_option(error, "--heads %u does not divide the width %u, give a divisor of it",
                               m->heads, m->d);
        if (over && over->d)
            return fail_option(error,
                               "--d-model %u is not divisible by the %u heads, give a multiple or --heads",
                               m->d, m->heads);
        ini_error(ini, "model", "heads", error, "heads is %u, write a divisor of d-model, which is %u",
                  m->heads, m->d);
        return false;
    }
    if (m->seq > m->positions && over && over->seq)
        m->positions = m->seq;
    if (m->seq > m->positions) {
        ini_error(ini, "model", "seq-len", error, "seq-len is %u, write at most the number of positions, %u",
                  m->seq, m->positions);
        return false;
    }
    return true;
}

static void add_layer(struct model *model, unsigned kind, const char *name, const char *block)
{
    struct layer *layer = &model->layers[model->n_layers];
    *layer = (struct layer){g_strdup(name), g_strdup(block), (uint8_t)kind, model->n_params, 0, 0};
    struct slot slots[LAYER_SLOTS_MAX];
    unsigned n = layer_slots(model, kind, slots);
    for (unsigned i = 0; i < n; i++) {
        uint64_t numel = (uint64_t)slots[i].rows * slots[i].cols;
        if (numel == 0)
            continue;
        model->params[model->n_params++] = (struct param){
            g_strconcat(name, ".", slots[i].name, NULL),
            model->n_layers,
            i,
            slots[i].rows,
            slots[i].cols,
            numel,
            0,
        };
        layer->n_params++;
        layer->numel += numel;
    }
    uint32_t index = model->n_layers++;
    for (uint32_t i = layer->first_param; i < model->n_params; i++)
        model->params[i].offset = layer_param_offset(model, index, model->params[i].slot);
    model->numel += layer->numel;
}

static void add_run(struct model *model, enum run run, const char *group)
{
    if (run != RUN_ENCODER) {
        add_layer(model, run_layer[run], group, group);
        return;
    }
    for (uint32_t i = 0; i < model->dims.layers; i++) {
        g_autofree char *block = g_strdup_printf("%s%u", group, i);
        for (unsigned kind = LAYER_ATTENTION; kind <= LAYER_FEED_FORWARD; kind++) {
            g_autofree char *name = g_strconcat(block, ".", layer_kind_name(kind), NULL);
            add_layer(model, kind, name, block);
        }
    }
}

/* A digit could make a group's name that of an encoder's block. */
static bool check_group(const struct ini *ini, const char *group, GError **error)
{
    if (!strpbrk(group, "0123456789"))
        return true;
    ini_error(ini, group, NULL, error, "[%s] names layers, write it without digits", group);
    return false;
}

static bool read_layers(struct model *model, struct ini *ini, GError **error)
{
    g_auto(GStrv) groups = ini_groups(ini);
    unsigned n = g_strv_length(groups), last = RUNS;
    gsize most = n + 2 * (gsize)model->dims.layers;
    model->layers = g_new0(struct layer, most);
    model->params = g_new0(struct param, most * LAYER_SLOTS_MAX);
    for (unsigned i = 0; i < n; i++) {
        unsigned run;
        if (strcmp(groups[i], "model") == 0)
            continue;
        if (!check_group(ini, groups[i], error) ||
            !ini_choice(ini, groups[i], "kind", run_names, NULL, &run, error))
            return false;
        if (run_follows[run] != last) {
            ini_error(ini, groups[i], "kind", error, "kind %s stands in a wrong place, put it %s%s",
                      run_names[run],
                      run_follows[run] == RUNS ? "before all other layers" : "right after kind ",
                      run_follows[run] == RUNS ? "" : run_names[run_follows[run]]);
            return false;
        }
        add_run(model, run, groups[i]);
        last = run;
    }
    unsigned needed = model->task == TASK_TOKENS ? RUN_HEAD : RUN_CLASSIFIER;
    if (last != needed) {
        ini_error(ini, "model", "task", error, "task %s needs a last group of kind %s, add it",
                  task_names[model->task], run_names[needed]);
        return false;
    }
    return true;
}

static bool read_model(struct model *model, struct ini *ini, const struct model_override *over,
                       GError **error)
{
    static const unsigned gelu = ACT_GELU;
    unsigned task, activation;
    if (!ini_string(ini, "model", "name", NULL, &model->name, error) ||
        !ini_string(ini, "model", "summary", "", &model->summary, error) ||
        !ini_choice(ini, "model", "task", task_names, NULL, &task, error) ||
        !ini_choice(ini, "model", "activation", activation_names, &gelu, &activation, error))
        return false;
    model->task = (uint8_t)task;
    model->dims.activation = (uint8_t)activation;
    model->dtype = over ? over->dtype : DTYPE_F32;
    if (!read_sizes(model, ini, over, error) || !check_sizes(model, ini, over, error) ||
        !read_layers(model, ini, error) || !ini_done(ini, error))
        return false;
    if (model_fits(model, 1))
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (override_of(over, &sizes[i]))
            return fail_option(error, "--%s %u makes the model too large to count, give less", sizes[i].key,
                               override_of(over, &sizes[i]));
    ini_error(ini, "model", NULL, error, "the model is too large to count, write smaller sizes");
    return false;
}

static struct model *from_ini(struct ini *ini, const struct model_override *over, GError **error)
{
    struct model *model = ini ? g_new0(struct model, 1) : NULL;
    if (model && !read_model(model, ini, over, error))
        g_clear_pointer(&model, model_free);
    ini_free(ini);
    return model;
}

struct model *model_load(const char *name, const struct model_override *over, GError **error)
{
    return from_ini(ini_load("models", name, error), over, error);
}

struct model *model_parse(const char *text, const char *file, const struct model_override *over,
                          GError **error)
{
    return from_ini(ini_parse(text, file, error), over, error);
}

void model_free(struct model *model)
{
    if (!model)
        return;
    for (uint32_t i = 0; i < model->n_layers; i++) {
        g_free(model->layers[i].name);
        g_free(model->layers[i].block);
    }
    for (uint32_t i = 0; i < model->n_params; i++)
        g_free(model->params[i].name);
    g_free(model->layers);
    g_free(model->params);
    g_free(model->name);
    g_free(model->summary);
    g_free(model);
}

char **model_list(void)
{
    return ini_list("models");
}
