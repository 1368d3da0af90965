/* Whole models of a few dozen weights, forward and backward, against PyTorch, finite differences, and
 * themselves. */
#include <math.h>

#include "tests/step.h"
#include "tests/tap.h"

enum { SAMPLES = 3 };
#define SIZES   "[model]\nname=tiny\nlayers=2\nd-model=12\nvocab=11\nseq-len=5\n"
#define ENCODER SIZES "heads=3\nff=20\n"
#define BLOCKS  "[embeddings]\nkind=embedding\n[layer]\nkind=encoder\n"
#define NORM    "[norm]\nkind=norm\n"
#define HEAD    "[head]\nkind=head\n"
#define CLASS   "[pooler]\nkind=pooler\n[classifier]\nkind=classifier\n"
#define GPT2                                                                                                 \
    ENCODER "task=tokens\npositions=7\nactivation=gelu-tanh\nnorm=pre\nembedding-norm=no\nqkv=fused\n"       \
            "causal=yes\ntied=yes\n"
#define TRANSFORMER_LM                                                                                       \
    ENCODER "task=tokens\nactivation=relu\nposition-kind=sine\nembedding-norm=no\nembedding-scale=sqrt-d\n"  \
            "qkv=fused\ncausal=yes\n"
#define BERT ENCODER "positions=7\ntask=class\nactivation=relu\ntoken-types=2\nclasses=3\n"
#define MLP  SIZES "task=class\nclasses=3\nactivation=gelu-tanh\n"
#define BAG  "[words]\nkind=bag\n[layer]\nkind=dense\n[classifier]\nkind=classifier\n"

/* The first ones are those of golden/encoder-torch.py, in its order. */
static const struct {
    const char *name, *text;
} models[] = {
    {"tokens", ENCODER "positions=7\ntask=tokens\nactivation=gelu\n" BLOCKS HEAD},
    {"class", BERT BLOCKS CLASS},
    {"gpt2", GPT2 BLOCKS NORM HEAD},
    {"transformer-lm", TRANSFORMER_LM BLOCKS HEAD},
    {"pre-class", ENCODER "task=class\nactivation=gelu\ntoken-types=2\nclasses=3\nnorm=pre\n"
                          "position-kind=none\n" BLOCKS NORM CLASS},
    {"post-tied",
     ENCODER "task=tokens\npositions=7\nactivation=gelu-tanh\ncausal=yes\ntied=yes\n" BLOCKS NORM HEAD},
    {"mlp", MLP BAG},
    {"class-dropout", BERT "dropout=0.3\n" BLOCKS CLASS},
    {"gpt2-dropout", GPT2 "dropout=0.2\n" BLOCKS NORM HEAD},
    {"transformer-lm-dropout", TRANSFORMER_LM "dropout=0.2\nactivation-dropout=yes\n" BLOCKS HEAD},
    {"mlp-dropout", MLP "dropout=0.4\n" BAG},
};
enum { GOLDEN = 7 };

static struct model *parse(const char *text, enum dtype dtype)
{
    g_autoptr(GError) error = NULL;
    struct model *model =
        model_parse(text, "tiny.ini", &(struct model_override){.dtype = (uint8_t)dtype}, &error);
    g_assert_no_error(error);
    return model;
}

static double get(const struct step *s, const uint32_t *table, uint32_t param, uint64_t i)
{
    const struct param *p = &s->model->params[param];
    const void *block = s->cell[table[p->layer]];
    return s->model->dtype == DTYPE_F64 ? ((const double *)block)[p->offset + i]
                                        : (double)((const float *)block)[p->offset + i];
}

static void put(struct step *s, const uint32_t *table, uint32_t param, uint64_t i, double value)
{
    const struct param *p = &s->model->params[param];
    void *block = s->cell[table[p->layer]];
    if (s->model->dtype == DTYPE_F64)
        ((double *)block)[p->offset + i] = value;
    else
        ((float *)block)[p->offset + i] = (float)value;
}

/* The formulas of golden/encoder-torch.py. */
static void fill(struct step *s)
{
    const struct model *m = s->model;
    for (uint32_t k = 0; k < m->n_params; k++)
        for (uint64_t i = 0; i < m->params[k].numel; i++)
            put(s, s->weight, k, i,
                g_str_has_suffix(m->params[k].name, "norm.weight") + 0.3 * sin(0.7 * (double)i + 1.3 * k));
    int32_t *token = s->cell[s->input], *target = token + s->samples * m->dims.seq;
    for (uint32_t i = 0; i < s->samples * m->dims.seq; i++) {
        token[i] = (int32_t)(i * 7 % m->dims.vocab);
        if (m->task == TASK_TOKENS)
            target[i] = (token[i] * 3 + 1) % (int32_t)m->dims.vocab;
        else if (i % m->dims.seq == 0)
            target[i / m->dims.seq] = token[i] % (int32_t)m->dims.classes;
    }
}

static double norm_of(const struct step *s, uint32_t param)
{
    double square = 0;
    for (uint64_t i = 0; i < s->model->params[param].numel; i++)
        square += get(s, s->grad, param, i) * get(s, s->grad, param, i);
    return sqrt(square);
}

static double next_number(char **at)
{
    return g_ascii_strtod(*at, at);
}

static void check_param(const struct step *s, uint32_t param, char *line)
{
    const struct param *p = &s->model->params[param];
    g_assert_true(g_str_has_prefix(line, p->name));
    char *at = line + strlen(p->name);
    const double norm = next_number(&at), projection = next_number(&at);
    double projected = 0;
    for (uint64_t i = 0; i < p->numel; i++)
        projected += get(s, s->grad, param, i) * cos(0.3 * (double)i + 0.7);
    g_assert_cmpfloat_with_epsilon(norm_of(s, param), norm, 1e-11);
    g_assert_cmpfloat_with_epsilon(projected, projection, 1e-11);
}

static void check_model(const char *name, const char *text, char ***line)
{
    struct model *model = parse(text, DTYPE_F64);
    struct step s;
    step_open(&s, model, &k_ref_f64, SAMPLES, 1, 0);
    fill(&s);
    step_run(&s, 0, s.pack);
    g_autofree char *start = g_strconcat(name, " loss ", NULL);
    g_assert_true(g_str_has_prefix(**line, start));
    char *at = *(*line)++ + strlen(start);
    g_assert_cmpfloat_with_epsilon(*(double *)s.cell[s.loss], next_number(&at), 1e-12);
    for (uint32_t p = 0; p < model->n_params; p++)
        check_param(&s, p, *(*line)++);
    step_close(&s);
    model_free(model);
}

static void test_torch(void)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "golden", "encoder-torch.txt", NULL),
                    *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    char **line = lines;
    for (unsigned i = 0; i < GOLDEN; i++)
        check_model(models[i].name, models[i].text, &line);
    g_assert_cmpstr(*line, ==, "");
}

static double loss_with(struct step *s, uint32_t param, uint64_t i, double weight)
{
    const double old = get(s, s->weight, param, i);
    put(s, s->weight, param, i, weight);
    const double loss = step_loss(s);
    put(s, s->weight, param, i, old);
    return loss;
}

/* Central differences of step h err by h^2 / 6 of the third derivative and by rounding / h: about 1e-10 both.
 */
static void check_difference(struct step *s, uint32_t param, uint64_t i)
{
    const double h = 1e-5, w = get(s, s->weight, param, i), g = get(s, s->grad, param, i);
    const double slope = (loss_with(s, param, i, w + h) - loss_with(s, param, i, w - h)) / (2 * h);
    if (fabs(slope - g) > 1e-6 * fabs(g) + 1e-9)
        g_error("%s[%u]: gradient %.12g, finite difference %.12g", s->model->params[param].name, (unsigned)i,
                g, slope);
}

static void test_finite_differences(gconstpointer text)
{
    struct model *model = parse(text, DTYPE_F64);
    struct step s;
    step_open(&s, model, &k_ref_f64, SAMPLES, 1, 0);
    fill(&s);
    step_run(&s, 0, s.pack);
    for (uint32_t p = 0; p < model->n_params; p++) {
        const uint64_t n = model->params[p].numel;
        uint64_t steepest = 0;
        for (uint64_t i = 0; i < n; i++)
            if (fabs(get(&s, s.grad, p, i)) > fabs(get(&s, s.grad, p, steepest)))
                steepest = i;
        const uint64_t sampled[] = {steepest, 0, n / 3, n / 2 + 1 < n ? n / 2 + 1 : 0, n - 1};
        for (size_t i = 0; i < G_N_ELEMENTS(sampled); i++)
            check_difference(&s, p, sampled[i]);
    }
    step_close(&s);
    model_free(model);
}

/* Gradients in float agree with those in double, tensor by tensor; those that vanish, with the rounding of
 * all. */
static void compare_with_double(const char *text, const struct k_table *k)
{
    struct model *wide_model = parse(text, DTYPE_F64), *model = parse(text, DTYPE_F32);
    struct step wide, s;
    step_open(&wide, wide_model, &k_ref_f64, SAMPLES, 1, 0);
    step_open(&s, model, k, SAMPLES, 1, 0);
    fill(&s);
    fill(&wide);
    double all = 0;
    for (uint32_t p = 0; p < model->n_params; p++)
        for (uint64_t i = 0; i < model->params[p].numel; i++)
            put(&wide, wide.weight, p, i, get(&s, s.weight, p, i));
    step_run(&wide, 0, wide.pack);
    step_run(&s, 0, s.pack);
    g_assert_cmpfloat_with_epsilon(*(double *)s.cell[s.loss], *(double *)wide.cell[wide.loss], 1e-6);
    for (uint32_t p = 0; p < model->n_params; p++)
        all = hypot(all, norm_of(&wide, p));
    for (uint32_t p = 0; p < model->n_params; p++) {
        double off = 0;
        for (uint64_t i = 0; i < model->params[p].numel; i++)
            off = hypot(off, get(&s, s.grad, p, i) - get(&wide, wide.grad, p, i));
        g_assert_cmpfloat(off, <=, 1e-5 * norm_of(&wide, p) + 1e-7 * all);
    }
    step_close(&s);
    step_close(&wide);
    model_free(model);
    model_free(wide_model);
}

static void test_float(gconstpointer text)
{
    compare_with_double(text, &k_ref_f32);
    compare_with_double(text, &k_cpu_f32);
}

/* PACK lays the gradients, scaled by the rank's share, behind each other from the last parameter to the
 * first; UNPACK brings the bucket back; OPTIM descends. */
static void test_update(gconstpointer text)
{
    struct model *model = parse(text, DTYPE_F64);
    struct step s;
    const double share = 0.375, lr = 0.25;
    step_open(&s, model, &k_ref_f64, SAMPLES, share, lr);
    fill(&s);
    step_run(&s, 0, s.pack);
    g_autofree double *weight = g_new(double, model->numel), *grad = g_new(double, model->numel);
    uint64_t at = 0;
    for (uint32_t p = model->n_params; p-- > 0;)
        for (uint64_t i = 0; i < model->params[p].numel; i++, at++) {
            weight[at] = get(&s, s.weight, p, i);
            grad[at] = get(&s, s.grad, p, i);
        }
    step_run(&s, s.pack, s.unpack);
    double *bucket = s.cell[s.bucket];
    for (at = 0; at < model->numel; at++) {
        g_assert_cmpfloat_with_epsilon(bucket[at], share * grad[at], 1e-15);
        bucket[at] = (double)at;
    }
    step_run(&s, s.unpack, s.plan.n_ops);
    at = 0;
    for (uint32_t p = model->n_params; p-- > 0;)
        for (uint64_t i = 0; i < model->params[p].numel; i++, at++) {
            g_assert_cmpfloat(get(&s, s.grad, p, i), ==, (double)at);
            g_assert_cmpfloat_with_epsilon(get(&s, s.weight, p, i), weight[at] - lr * (double)at, 1e-12);
        }
    step_close(&s);
    model_free(model);
}

/* A rank without samples: zero gradients over whatever was there, loss 0. */
static void test_no_samples(gconstpointer text)
{
    const struct k_table *const tables[] = {&k_ref_f32, &k_cpu_f32};
    struct model *model = parse(text, DTYPE_F32);
    for (int t = 0; t < 2; t++) {
        struct step s;
        step_open(&s, model, tables[t], 0, 0, 0.1);
        for (uint32_t p = 0; p < model->n_params; p++)
            for (uint64_t i = 0; i < model->params[p].numel; i++) {
                put(&s, s.grad, p, i, NAN);
                put(&s, s.weight, p, i, 0.5);
            }
        *(double *)s.cell[s.loss] = 7;
        step_run(&s, 0, s.plan.n_ops);
        g_assert_cmpfloat(*(double *)s.cell[s.loss], ==, 0);
        for (uint32_t p = 0; p < model->n_params; p++)
            for (uint64_t i = 0; i < model->params[p].numel; i++) {
                g_assert_cmpfloat(get(&s, s.grad, p, i), ==, 0);
                g_assert_cmpfloat(get(&s, s.weight, p, i), ==, 0.5);
            }
        step_close(&s);
    }
    model_free(model);
}

/* The whole mini-batch's gradient is the parts' by their shares of the samples, and so is the loss. */
static void test_split(gconstpointer text)
{
    enum { WHOLE = 5 };
    static const uint32_t cuts[] = {0, 2, 5, 5};
    struct model *model = parse(text, DTYPE_F64);
    g_autofree double *sum = g_new0(double, model->numel);
    double loss = 0;
    for (int part = 0; part < 4; part++) {
        const bool whole = part == 3;
        const uint32_t first = whole ? 0 : cuts[part], n = whole ? WHOLE : cuts[part + 1] - first;
        struct step s;
        step_open(&s, model, &k_ref_f64, n, (double)n / WHOLE, 0);
        step_follow(&s, first);
        s.position = 6;
        fill(&s);
        data_fill(model, 3, 1, first, n, s.cell[s.input]);
        step_run(&s, 0, s.unpack);
        const double *bucket = s.cell[s.bucket];
        for (uint64_t i = 0; i < model->numel && !whole; i++)
            sum[i] += bucket[i];
        for (uint64_t i = 0; i < model->numel && whole; i++)
            g_assert_cmpfloat_with_epsilon(sum[i], bucket[i], 1e-12);
        const double part_loss = *(double *)s.cell[s.loss];
        if (whole)
            g_assert_cmpfloat_with_epsilon(loss, part_loss, 1e-12);
        loss += part_loss * n / WHOLE;
        step_close(&s);
    }
    model_free(model);
}

/* Micro-batches that add their gradients make the whole's. */
static void test_accumulate(gconstpointer text)
{
    enum { WHOLE = 5, PARTS = 3 };
    static const uint32_t cuts[PARTS + 1] = {0, 2, 4, 5};
    struct model *model = parse(text, DTYPE_F64);
    struct step whole, part[PARTS];
    step_open(&whole, model, &k_ref_f64, WHOLE, 1, 0);
    fill(&whole);
    data_fill(model, 3, 1, 0, WHOLE, whole.cell[whole.input]);
    step_run(&whole, 0, whole.pack);
    double loss = 0;
    for (unsigned i = 0; i < PARTS; i++) {
        struct step *s = &part[i];
        const uint32_t n = cuts[i + 1] - cuts[i];
        step_open(s, model, &k_ref_f64, n, 1, 0);
        step_follow(s, cuts[i]);
        s->plan.rank_rows[1] = WHOLE; /* of which the micro-batch has n */
        fill(s);
        data_fill(model, 3, 1, cuts[i], n, s->cell[s->input]);
        for (uint32_t l = 0; l < model->n_layers && i; l++)
            memcpy(s->cell[s->grad[l]], part[i - 1].cell[part[i - 1].grad[l]],
                   model->layers[l].numel * sizeof(double));
        for (uint32_t a = 0; a < s->plan.n_accesses && i; a++)
            if (s->plan.values[s->plan.accesses[a].value].cls == VALUE_GRAD &&
                s->plan.accesses[a].mode == ACCESS_WRITE)
                s->plan.accesses[a].mode = ACCESS_UPDATE;
        step_run(s, 0, s->pack);
        loss += *(double *)s->cell[s->loss];
    }
    g_assert_cmpfloat_with_epsilon(loss, *(double *)whole.cell[whole.loss], 1e-12);
    for (uint32_t p = 0; p < model->n_params; p++)
        for (uint64_t i = 0; i < model->params[p].numel; i++)
            g_assert_cmpfloat_with_epsilon(get(&part[PARTS - 1], part[PARTS - 1].grad, p, i),
                                           get(&whole, whole.grad, p, i), 1e-12);
    for (unsigned i = 0; i < PARTS; i++)
        step_close(&part[i]);
    step_close(&whole);
    model_free(model);
}

static double loss_of(const char *text, uint64_t seed, uint32_t position)
{
    struct model *model = parse(text, DTYPE_F64);
    struct step s;
    step_open(&s, model, &k_ref_f64, SAMPLES, 1, 0);
    s.run.seed = seed;
    s.position = position;
    fill(&s);
    const double loss = step_loss(&s);
    step_close(&s);
    model_free(model);
    return loss;
}

/* Every place of dropout counts, so do the seed and the step; probability 0 is none. */
static void test_dropout(void)
{
    const double none = loss_of(TRANSFORMER_LM BLOCKS HEAD, 1, 1);
    static const char some[] = TRANSFORMER_LM "dropout=0.2\n" BLOCKS HEAD;
    g_assert_cmpfloat(loss_of(TRANSFORMER_LM "dropout=0\nactivation-dropout=yes\n" BLOCKS HEAD, 1, 1), ==,
                      none);
    g_assert_cmpfloat(loss_of(some, 1, 1), !=, none);
    g_assert_cmpfloat(loss_of(some, 1, 1), ==, loss_of(some, 1, 1));
    g_assert_cmpfloat(loss_of(some, 1, 1), !=, loss_of(some, 2, 1));
    g_assert_cmpfloat(loss_of(some, 1, 1), !=, loss_of(some, 1, 2));
    g_assert_cmpfloat(loss_of(some, 1, 1), !=,
                      loss_of(TRANSFORMER_LM "dropout=0.2\nactivation-dropout=yes\n" BLOCKS HEAD, 1, 1));
}

/* SGD on the synthetic data learns what holds for data not seen before. */
static void test_learns(gconstpointer text)
{
    struct model *model = parse(text, DTYPE_F32);
    struct step s;
    step_open(&s, model, &k_cpu_f32, 8, 1, 0.1);
    for (uint32_t l = 0; l < model->n_layers; l++)
        data_init_layer(model, l, 1, s.cell[s.weight[l]]);
    double loss[2] = {0};
    for (uint32_t step = 0; step < 220; step++) {
        data_fill(model, 1, step, 0, 8, s.cell[s.input]);
        step_run(&s, 0, s.plan.n_ops);
        if (step < 20 || step >= 200)
            loss[step >= 200] += *(double *)s.cell[s.loss] / 20;
    }
    g_assert_cmpfloat(loss[1], <, 0.7 * loss[0]);
    step_close(&s);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    const char *missing = k_cpu_open();
    if (missing)
        g_error("%s", missing);
    g_test_add_func("/layers/torch", test_torch);
    g_test_add_func("/layers/dropout", test_dropout);
    static const struct {
        const char *name;
        void (*run)(gconstpointer);
    } tests[] = {{"float", test_float},   {"finite-differences", test_finite_differences},
                 {"update", test_update}, {"no-samples", test_no_samples},
                 {"split", test_split},   {"accumulate", test_accumulate},
                 {"learns", test_learns}};
    for (size_t m = 0; m < G_N_ELEMENTS(models); m++)
        for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
            g_autofree char *name = g_strdup_printf("/layers/%s/%s", models[m].name, tests[i].name);
            g_test_add_data_func(name, models[m].text, tests[i].run);
        }
    return g_test_run();
}
