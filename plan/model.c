#include "plan/model.h"

#include "base/ini.h"
#include "plan/model-layers.h"
#include "plan/plan.h"

#define NOT_AN_OPTION SIZE_MAX
#define DROPOUT_MAX   0.99

/* The sizes: key in [model], which is the option's name too, the range, and whose they are. */
static const struct size {
    const char *key;
    size_t dim, override; /* offsets of uint32_t in struct dims and struct model_override */
    uint32_t min, max;
    uint8_t families; /* bit set of enum family */
} sizes[] = {
#define DIM(member)      offsetof(struct dims, member)
#define OVERRIDE(member) offsetof(struct model_override, member)
#define TEXT             (1 << FAMILY_ENCODER | 1 << FAMILY_BAG)
#define ENCODER          (1 << FAMILY_ENCODER)
#define ALL              (TEXT | 1 << FAMILY_IMAGE)
    {"layers", DIM(layers), OVERRIDE(layers), 1, 10000, TEXT},
    {"d-model", DIM(d), OVERRIDE(d), 1, 1 << 16, TEXT},
    {"heads", DIM(heads), OVERRIDE(heads), 1, 1 << 16, ENCODER},
    {"ff", DIM(ff), OVERRIDE(ff), 1, 1 << 20, ENCODER},
    {"vocab", DIM(vocab), OVERRIDE(vocab), 2, 1 << 24, TEXT},
    {"seq-len", DIM(seq), OVERRIDE(seq), 1, 1 << 20, TEXT},
    {"positions", DIM(positions), NOT_AN_OPTION, 1, 1 << 20, ENCODER},
    {"token-types", DIM(token_types), NOT_AN_OPTION, 0, 1 << 16, ENCODER},
    {"classes", DIM(classes), NOT_AN_OPTION, 2, 1 << 20, ALL},
    {"image", DIM(image), NOT_AN_OPTION, 1, 1 << 14, 1 << FAMILY_IMAGE},
#undef DIM
#undef OVERRIDE
#undef TEXT
#undef ENCODER
#undef ALL
};

static const char *const task_names[] = {"tokens", "class", NULL};
static const char *const activation_names[] = {"gelu", "relu", "gelu-tanh", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

/* Choices of [model] for encoders: the index of the word goes to a uint8_t of struct dims. */
static const struct trait {
    const char *key;
    size_t dim;
    const char *const *words;
    unsigned fallback;
} traits[] = {
#define DIM(member) offsetof(struct dims, member)
    {"norm", DIM(pre_norm), (const char *const[]){"post", "pre", NULL}, 0},
    {"position-kind", DIM(position_kind), (const char *const[]){"learned", "sine", "none", NULL}, 0},
    {"embedding-norm", DIM(embedding_norm), no_yes, 1},
    {"embedding-scale", DIM(scaled), (const char *const[]){"one", "sqrt-d", NULL}, 0},
    {"qkv", DIM(fused_qkv), (const char *const[]){"separate", "fused", NULL}, 0},
    {"causal", DIM(causal), no_yes, 0},
    {"tied", DIM(tied), no_yes, 0},
    {"activation-dropout", DIM(drop_active), no_yes, 0},
#undef DIM
};

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

/* Of the sizes of its family a model lacks the classes if it predicts tokens, and positions that it does not
 * learn. */
static bool has_size(const struct model *model, enum family family, const struct size *size)
{
    const struct dims *m = &model->dims;
    const uint32_t *dim = (const uint32_t *)((const char *)m + size->dim);
    return (size->families >> family & 1) && !(dim == &m->classes && model->task != TASK_CLASS) &&
           !(dim == &m->positions && m->position_kind != POSITIONS_LEARNED);
}

static bool read_sizes(struct model *model, struct ini *ini, enum family family,
                       const struct model_override *over, GError **error)
{
    static const uint32_t no_token_types = 0;
    model->dims.seq = 1;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        const struct size *size = &sizes[i];
        uint32_t *dim = (uint32_t *)((char *)&model->dims + size->dim);
        uint32_t laid = override_of(over, size);
        if (!has_size(model, family, size)) {
            if (laid)
                return fail_option(error, "--%s means nothing to model %s, leave it out", size->key,
                                   model->name);
            continue;
        }
        const uint32_t *fallback = dim == &model->dims.token_types ? &no_token_types : NULL;
        if (!ini_uint(ini, "model", size->key, size->min, size->max, fallback, dim, error))
            return false;
        if (laid && (laid < size->min || laid > size->max))
            return fail_option(error, "--%s %u is out of range, give %u to %u", size->key, laid, size->min,
                               size->max);
        if (laid)
            *dim = laid;
    }
    return true;
}

static bool read_traits(struct model *model, struct ini *ini, enum family family, GError **error)
{
    static const unsigned gelu = ACT_GELU;
    static const double none = 0;
    struct dims *m = &model->dims;
    unsigned word;
    for (size_t i = 0; i < G_N_ELEMENTS(traits) && family == FAMILY_ENCODER; i++) {
        const struct trait *t = &traits[i];
        if (!ini_choice(ini, "model", t->key, t->words, &t->fallback, &word, error))
            return false;
        *((uint8_t *)m + t->dim) = (uint8_t)word;
    }
    if (family == FAMILY_IMAGE)
        return true;
    if (!ini_choice(ini, "model", "activation", activation_names, &gelu, &word, error) ||
        !ini_double(ini, "model", "dropout", 0, DROPOUT_MAX, &none, &m->dropout, error))
        return false;
    m->activation = (uint8_t)word;
    return true;
}

/* Sizes against each other.  What an option brought in is reported by the option, the rest by the line. */
static bool check_sizes(struct model *model, const struct ini *ini, const struct model_override *over,
                        GError **error)
{
    struct dims *m = &model->dims;
    if (m->heads && m->d % m->heads != 0) {
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
    if (m->positions && m->seq > m->positions && over && over->seq)
        m->positions = m->seq;
    if (m->positions && m->seq > m->positions) {
        ini_error(ini, "model", "seq-len", error, "seq-len is %u, write at most the number of positions, %u",
                  m->seq, m->positions);
        return false;
    }
    if (m->tied && model->task != TASK_TOKENS) {
        ini_error(ini, "model", "tied", error, "tied is about a head, which task class has not, write no");
        return false;
    }
    return true;
}

static bool check_fits(const struct model *model, const struct ini *ini, const struct model_override *over,
                       GError **error)
{
    if (model_fits(model, 1))
        return true;
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (override_of(over, &sizes[i]))
            return fail_option(error, "--%s %u makes the model too large to count, give less", sizes[i].key,
                               override_of(over, &sizes[i]));
    ini_error(ini, "model", NULL, error, "the model is too large to count, write smaller sizes");
    return false;
}

static bool read_model(struct model *model, struct ini *ini, const struct model_override *over,
                       GError **error)
{
    unsigned task;
    const enum family family = model_family(ini);
    if (!ini_string(ini, "model", "name", NULL, &model->name, error) ||
        !ini_string(ini, "model", "summary", "", &model->summary, error) ||
        !ini_choice(ini, "model", "task", task_names, NULL, &task, error))
        return false;
    model->task = (uint8_t)task;
    model->executable = family != FAMILY_IMAGE;
    model->dtype = over ? over->dtype : DTYPE_F32;
    return read_traits(model, ini, family, error) && read_sizes(model, ini, family, over, error) &&
           check_sizes(model, ini, over, error) && model_read_layers(model, ini, family, error) &&
           ini_done(ini, error) && check_fits(model, ini, over, error);
}

static struct model *from_ini(struct ini *ini, const struct model_override *over, GError **error)
{
    struct model *model = ini ? g_new0(struct model, 1) : NULL;
    if (model) {
        model->ini = g_strdup(ini_text(ini));
        model->override = over ? *over : (struct model_override){0};
    }
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
    g_free(model->ini);
    g_free(model);
}

char **model_list(void)
{
    return ini_list("models");
}
