/* Models: the built-in ones against what PyTorch's named_parameters lists, the arithmetic of layers against
 * closed forms, and every way to write a wrong file. */
#include <string.h>

#include "base/decimal.h"
#include "base/ini.h"
#include "plan/model.h"
#include "tests/tap.h"

static const char good[] = "# a comment, with ümlauts\n" /* 1 */
                           "[model]\n"
                           "name = tiny\n" /* 3 */
                           "summary = a model for tests\n"
                           "task = class\n" /* 5 */
                           "layers = 2\n"
                           "d-model = 8\n" /* 7 */
                           "heads = 2\n"
                           "ff = 16\n" /* 9 */
                           "vocab = 11\n"
                           "seq-len = 4\n" /* 11 */
                           "positions = 6\n"
                           "token-types = 2\n" /* 13 */
                           "classes = 3\n"
                           "activation = relu\n" /* 15 */
                           "\n"
                           "[emb]\n" /* 17 */
                           "kind = embedding\n"
                           "[block]\n" /* 19 */
                           "kind = encoder\n"
                           "[pool]\n" /* 21 */
                           "kind=pooler\n"
                           "[out]\n" /* 23 */
                           "kind = classifier\n";

static struct model *load(const char *name, const struct model_override *over)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_load(name, over, &error);
    g_assert_no_error(error);
    g_assert_nonnull(model);
    return model;
}

static struct model *parse(const char *text, const struct model_override *over)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_parse(text, "tiny.ini", over, &error);
    g_assert_no_error(error);
    g_assert_nonnull(model);
    return model;
}

static void refused(const char *text, const struct model_override *over, const char *want)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_parse(text, "tiny.ini", over, &error);
    if (model)
        g_error("accepted, although wanted: %s", want);
    if (!strstr(error->message, want))
        g_error("said '%s', wanted '%s'", error->message, want);
}

static char *replaced(const char *from, const char *to)
{
    g_auto(GStrv) parts = g_strsplit(good, from, -1);
    g_assert_cmpuint(g_strv_length(parts), >=, 2);
    return g_strjoinv(to, parts);
}

/* --- counts and order */

static void expect(const struct model *model, uint32_t *at, const char *layer, const char *param,
                   uint64_t numel)
{
    g_autofree char *name = g_strconcat(layer, ".", param, NULL);
    g_assert_cmpuint(*at, <, model->n_params);
    g_assert_cmpstr(model->params[*at].name, ==, name);
    g_assert_cmpuint(model->params[*at].numel, ==, numel);
    g_assert_cmpuint((uint64_t)model->params[*at].rows * model->params[*at].cols, ==, numel);
    ++*at;
}

static void expect_encoder(const struct model *model, uint32_t *at, uint32_t i, uint64_t d, uint64_t f)
{
    g_autofree char *attention = g_strdup_printf("layer%u.attention", i);
    g_autofree char *feed_forward = g_strdup_printf("layer%u.feed_forward", i);
    const char *const products[] = {"query", "key", "value", "out"};
    for (unsigned k = 0; k < 4; k++) {
        g_autofree char *weight = g_strconcat(products[k], ".weight", NULL);
        g_autofree char *bias = g_strconcat(products[k], ".bias", NULL);
        expect(model, at, attention, weight, d * d);
        expect(model, at, attention, bias, d);
    }
    expect(model, at, attention, "norm.weight", d);
    expect(model, at, attention, "norm.bias", d);
    expect(model, at, feed_forward, "in.weight", d * f);
    expect(model, at, feed_forward, "in.bias", f);
    expect(model, at, feed_forward, "out.weight", d * f);
    expect(model, at, feed_forward, "out.bias", d);
    expect(model, at, feed_forward, "norm.weight", d);
    expect(model, at, feed_forward, "norm.bias", d);
}

static void test_bert(void)
{
    struct model *model = load("bert-base", NULL);
    uint32_t at = 0;
    g_assert_cmpuint(model->numel, ==, 108312579);
    g_assert_cmpuint(model->n_params, ==, 201);
    g_assert_cmpuint(model->n_layers, ==, 27);
    expect(model, &at, "embeddings", "word.weight", 28996 * 768);
    expect(model, &at, "embeddings", "position.weight", 512 * 768);
    expect(model, &at, "embeddings", "token_type.weight", 2 * 768);
    expect(model, &at, "embeddings", "norm.weight", 768);
    expect(model, &at, "embeddings", "norm.bias", 768);
    for (uint32_t i = 0; i < 12; i++)
        expect_encoder(model, &at, i, 768, 3072);
    expect(model, &at, "pooler", "weight", 768 * 768);
    expect(model, &at, "pooler", "bias", 768);
    expect(model, &at, "classifier", "weight", 3 * 768);
    expect(model, &at, "classifier", "bias", 3);
    g_assert_cmpuint(at, ==, model->n_params);
    g_assert_cmpstr(model->layers[1].block, ==, "layer0");
    g_assert_cmpstr(model->layers[2].block, ==, "layer0");
    g_assert_cmpstr(model->layers[25].block, ==, "pooler");
    model_free(model);
}

static void test_mini(void)
{
    struct model *model = load("mini", NULL);
    uint32_t at = 0;
    expect(model, &at, "embeddings", "word.weight", 8192 * 512);
    expect(model, &at, "embeddings", "position.weight", 32 * 512);
    expect(model, &at, "embeddings", "norm.weight", 512);
    expect(model, &at, "embeddings", "norm.bias", 512);
    for (uint32_t i = 0; i < 6; i++)
        expect_encoder(model, &at, i, 512, 2048);
    expect(model, &at, "head", "weight", 8192 * 512);
    expect(model, &at, "head", "bias", 8192);
    g_assert_cmpuint(at, ==, model->n_params);
    g_assert_cmpuint(model->numel, ==, 27328512);
    g_assert_cmpint(model->task, ==, TASK_TOKENS);
    model_free(model);
}

static void test_gpt2(void)
{
    struct model *model = load("gpt2", NULL);
    uint32_t at = 0;
    g_assert_cmpuint(model->numel, ==, 124439808);
    g_assert_cmpuint(model->n_params, ==, 148);
    expect(model, &at, "embeddings", "word.weight", 50257 * 768);
    expect(model, &at, "embeddings", "position.weight", 1024 * 768);
    for (unsigned i = 0; i < 12; i++) {
        g_autofree char *attention = g_strdup_printf("layer%u.attention", i);
        g_autofree char *feed_forward = g_strdup_printf("layer%u.feed_forward", i);
        expect(model, &at, attention, "norm.weight", 768);
        expect(model, &at, attention, "norm.bias", 768);
        expect(model, &at, attention, "qkv.weight", 3 * 768 * 768);
        expect(model, &at, attention, "qkv.bias", 3 * 768);
        expect(model, &at, attention, "out.weight", 768 * 768);
        expect(model, &at, attention, "out.bias", 768);
        expect(model, &at, feed_forward, "norm.weight", 768);
        expect(model, &at, feed_forward, "norm.bias", 768);
        expect(model, &at, feed_forward, "in.weight", 3072 * 768);
        expect(model, &at, feed_forward, "in.bias", 3072);
        expect(model, &at, feed_forward, "out.weight", 768 * 3072);
        expect(model, &at, feed_forward, "out.bias", 768);
    }
    expect(model, &at, "norm", "weight", 768);
    expect(model, &at, "norm", "bias", 768);
    g_assert_cmpuint(at, ==, model->n_params);
    g_assert_cmpuint(model->layers[model->n_layers - 1].numel, ==,
                     0); /* the head's weight is the embedding's */
    g_assert_true(model->executable);
    model_free(model);
}

static void test_transformer_lm(void)
{
    struct model *model = load("transformer-lm", NULL);
    uint32_t at = 0;
    const uint64_t d = 4096;
    expect(model, &at, "embeddings", "word.weight", 28782 * d);
    for (unsigned i = 0; i < 12; i++) {
        g_autofree char *attention = g_strdup_printf("layer%u.attention", i);
        g_autofree char *feed_forward = g_strdup_printf("layer%u.feed_forward", i);
        expect(model, &at, attention, "qkv.weight", 3 * d * d);
        expect(model, &at, attention, "qkv.bias", 3 * d);
        expect(model, &at, attention, "out.weight", d * d);
        expect(model, &at, attention, "out.bias", d);
        expect(model, &at, attention, "norm.weight", d);
        expect(model, &at, attention, "norm.bias", d);
        expect(model, &at, feed_forward, "in.weight", d * d);
        expect(model, &at, feed_forward, "in.bias", d);
        expect(model, &at, feed_forward, "out.weight", d * d);
        expect(model, &at, feed_forward, "out.bias", d);
        expect(model, &at, feed_forward, "norm.weight", d);
        expect(model, &at, feed_forward, "norm.bias", d);
    }
    expect(model, &at, "head", "weight", 28782 * d);
    expect(model, &at, "head", "bias", 28782);
    g_assert_cmpuint(at, ==, model->n_params);
    g_assert_cmpuint(model->numel, ==, 1444261998);
    model_free(model);
}

static void test_mlp(void)
{
    struct model *model = load("mlp", NULL);
    uint32_t at = 0;
    expect(model, &at, "words", "weight", 8192 * 512);
    expect(model, &at, "layer0.dense", "weight", 512 * 512);
    expect(model, &at, "layer0.dense", "bias", 512);
    g_assert_cmpuint(model->n_params, ==, 9);
    g_assert_cmpuint(model->numel, ==, 4987402);
    model_free(model);
}

/* torchvision's published operations are products of 1.814 and 4.089 G, counted once each. */
static void test_resnet(void)
{
    static const struct {
        const char *name, *params[12];
        uint64_t numel, n_params, macs;
    } nets[] = {{"resnet18",
                 {"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer1.0.bn1.weight",
                  "layer1.0.bn1.bias", "layer1.0.conv2.weight", "layer1.0.bn2.weight", "layer1.0.bn2.bias",
                  "layer1.1.conv1.weight"},
                 11689512,
                 62,
                 1814},
                {"resnet50",
                 {"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer1.0.bn1.weight",
                  "layer1.0.bn1.bias", "layer1.0.conv2.weight", "layer1.0.bn2.weight", "layer1.0.bn2.bias",
                  "layer1.0.conv3.weight"},
                 25557032,
                 161,
                 4089}};
    for (size_t i = 0; i < G_N_ELEMENTS(nets); i++) {
        struct model *model = load(nets[i].name, NULL);
        uint64_t flops = 0;
        g_assert_cmpuint(model->numel, ==, nets[i].numel);
        g_assert_cmpuint(model->n_params, ==, nets[i].n_params);
        for (unsigned p = 0; nets[i].params[p]; p++)
            g_assert_cmpstr(model->params[p].name, ==, nets[i].params[p]);
        g_assert_cmpstr(model->params[nets[i].n_params - 3].name, ==,
                        i ? "layer4.2.bn3.bias" : "layer4.1.bn2.bias");
        g_assert_cmpstr(model->params[nets[i].n_params - 2].name, ==, "fc.weight");
        for (uint32_t l = 0; l < model->n_layers; l++) {
            flops += layer_forward_flops(model, l, 1);
            g_assert_cmpuint(layer_backward_flops(model, l, 3), ==, 2 * layer_forward_flops(model, l, 3));
        }
        g_assert_cmpuint((flops / 2 + 500000) / 1000000, ==, nets[i].macs);
        g_assert_false(model->executable);
        model_free(model);
        g_autoptr(GError) error = NULL;
        g_assert_null(model_load(nets[i].name, &(struct model_override){.heads = 3}, &error));
        g_assert_nonnull(strstr(error->message, "--heads means nothing to model resnet"));
    }
}

static void test_list(void)
{
    g_auto(GStrv) names = model_list();
    g_assert_true(g_strv_contains((const char *const *)names, "mini"));
    for (unsigned i = 0; names[i]; i++) {
        struct model *model = load(names[i], NULL);
        g_assert_cmpstr(model->name, ==, names[i]);
        g_assert_true(i == 0 || strcmp(names[i - 1], names[i]) < 0);
        model_free(model);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(model_load("nano", NULL, &error));
    g_assert_nonnull(strstr(error->message, "'nano'"));
    g_assert_nonnull(strstr(error->message, "bert-base, gpt2, mini, mlp, resnet18"));
    g_clear_error(&error);
    g_assert_null(model_load("/nowhere/x.ini", NULL, &error));
    g_assert_true(g_str_has_prefix(error->message, "/nowhere/x.ini: cannot open"));
}

/* --- arithmetic */

/* Places of the parameters cover the block exactly, query, key and value side by side. */
static void test_offsets(void)
{
    struct model *model = load("bert-base", NULL);
    for (uint32_t i = 0; i < model->n_layers; i++) {
        const struct layer *l = &model->layers[i];
        g_autofree uint8_t *taken = g_new0(uint8_t, l->numel);
        for (uint32_t p = l->first_param; p < l->first_param + l->n_params; p++) {
            const struct param *param = &model->params[p];
            g_assert_cmpuint(param->layer, ==, i);
            g_assert_cmpuint(param->offset, ==, layer_param_offset(model, i, param->slot));
            g_assert_cmpuint(param->offset + param->numel, <=, l->numel);
            g_assert_null(memchr(taken + param->offset, 1, param->numel));
            memset(taken + param->offset, 1, param->numel);
        }
        g_assert_null(memchr(taken, 0, l->numel));
    }
    g_assert_cmpuint(layer_param_offset(model, 1, SLOT_ATTENTION_KEY_WEIGHT), ==, 768 * 768);
    g_assert_cmpuint(layer_param_offset(model, 1, SLOT_ATTENTION_QUERY_BIAS), ==, 3 * 768 * 768);
    g_assert_cmpuint(layer_param_offset(model, 1, SLOT_ATTENTION_OUT_WEIGHT), ==, 3 * 768 * 769);
    model_free(model);
}

static void assert_gemm(struct gemm g, uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{
    g_assert_cmpuint(g.m, ==, m);
    g_assert_cmpuint(g.n, ==, n);
    g_assert_cmpuint(g.k, ==, k);
    g_assert_cmpuint(g.batch, ==, batch);
}

static uint64_t sum_flops(const struct gemm *gemms, unsigned n)
{
    uint64_t flops = 0;
    for (unsigned i = 0; i < n; i++)
        flops += UINT64_C(2) * gemms[i].m * gemms[i].n * gemms[i].k * gemms[i].batch;
    return flops;
}

/* The products of attention, both ways of its parameters; forward and backward of every layer of every model
 * add up to the operations, and a gradient has the shape of what it is the gradient of. */
static void test_gemms(void)
{
    struct gemm forward[LAYER_GEMMS_MAX], backward[2 * LAYER_GEMMS_MAX];
    struct model *model = load("bert-base", NULL);
    const uint64_t b = 3, s = 128, d = 768, h = 12;
    g_assert_cmpuint(layer_forward_gemms(model, 1, b, forward), ==, 6);
    for (unsigned i = 0; i < 3; i++)
        assert_gemm(forward[i], b * s, d, d, 1);
    assert_gemm(forward[3], s, s, d / h, b * h);
    assert_gemm(forward[4], s, d / h, s, b * h);
    assert_gemm(forward[5], b * s, d, d, 1);
    model_free(model);
    model = load("gpt2", NULL);
    g_assert_cmpuint(layer_forward_gemms(model, 1, 1, forward), ==, 4);
    assert_gemm(forward[0], model->dims.seq, 3 * d, d, 1);
    model_free(model);
    g_auto(GStrv) names = model_list();
    for (unsigned name = 0; names[name]; name++) {
        model = load(names[name], NULL);
        for (uint32_t l = 0; l < model->n_layers; l++) {
            unsigned n = layer_forward_gemms(model, l, 5, forward);
            g_assert_cmpuint(layer_backward_gemms(model, l, 5, backward), ==, 2 * n);
            g_assert_cmpuint(sum_flops(forward, n), ==, layer_forward_flops(model, l, 5));
            g_assert_cmpuint(sum_flops(backward, 2 * n), ==, layer_backward_flops(model, l, 5));
            for (unsigned i = 0; i < n; i++) {
                assert_gemm(backward[2 * i], forward[i].m, forward[i].k, forward[i].n, forward[i].batch);
                assert_gemm(backward[2 * i + 1], forward[i].k, forward[i].n, forward[i].m, forward[i].batch);
            }
        }
        model_free(model);
    }
}

static void test_counts(void)
{
    struct model *model = load("bert-base", NULL);
    const uint64_t b = 3, s = 128, r = b * s, d = 768, f = 3072, h = 12;
    g_assert_cmpuint(layer_out_numel(model, 0, 3), ==, r * d);
    g_assert_cmpuint(layer_out_numel(model, 25, 3), ==, b * d);
    g_assert_cmpuint(layer_out_numel(model, 26, 3), ==, b * 3);
    /* q, k, v and out; scores and context of each sample's heads */
    g_assert_cmpuint(layer_forward_flops(model, 1, 3), ==,
                     4 * 2 * r * d * d + 2 * b * h * 2 * s * s * (d / h));
    g_assert_cmpuint(layer_forward_flops(model, 2, 3), ==, 2 * 2 * r * d * f);
    for (uint32_t i = 0; i < model->n_layers; i++) {
        g_assert_cmpuint(layer_backward_flops(model, i, 3), ==, 2 * layer_forward_flops(model, i, 3));
        g_assert_cmpuint(layer_forward_kernels(model, i), >, 0);
    }
    /* saved tensors of attention, each at a multiple of 16 elements */
    const uint64_t pieces[] = {r * 3 * d, b * h * s * s, r * d, 0, r * d, r, r};
    uint64_t at = 0;
    for (unsigned i = 0; i < SAVEDS_ATTENTION; i++) {
        g_assert_cmpuint(layer_saved_offset(model, 1, 3, i), ==, at);
        at += (pieces[i] + 15) & ~(uint64_t)15;
    }
    g_assert_cmpuint(layer_saved_numel(model, 1, 3), ==, at);
    struct model *small = parse(good, NULL);
    /* 3 samples of 4: QKV 288 elements, probabilities 96, context 96, sum 96, mean 12 in 16, rstd */
    g_assert_cmpuint(layer_saved_offset(small, 1, 3, SAVED_ATTENTION_RSTD), ==, 288 + 3 * 96 + 16);
    model_free(small);
    g_assert_cmpuint(layer_saved_numel(model, 1, 0), ==, 0);
    g_assert_cmpuint(layer_saved_numel(model, 26, 3), ==, 0);
    g_assert_cmpint(param_init(model, 0), ==, INIT_NORMAL);
    g_assert_cmpint(param_init(model, 3), ==, INIT_ONE);
    g_assert_cmpint(param_init(model, 200), ==, INIT_ZERO);
    g_assert_true(model_fits(model, 1 << 20));
    g_assert_false(model_fits(model, 1 << 24));
    model_free(model);
}

static void test_shapes(void)
{
    struct model *model = parse(good, &(struct model_override){.dtype = DTYPE_F64});
    g_autofree char *first = layer_shape(model, 1), *second = layer_shape(model, 3);
    g_autofree char *feed_forward = layer_shape(model, 2);
    g_assert_cmpstr(first, ==, "attention d8 h2 s4 f64");
    g_assert_cmpstr(first, ==, second);
    g_assert_cmpstr(feed_forward, ==, "feed_forward d8 f16 relu f64");
    model_free(model);
}

/* --- files */

static void test_tiny(void)
{
    struct model *model = parse(good, NULL);
    g_assert_cmpstr(model->name, ==, "tiny");
    g_assert_cmpuint(model->n_layers, ==, 7);
    g_assert_cmpstr(model->layers[0].name, ==, "emb");
    g_assert_cmpstr(model->layers[3].name, ==, "block1.attention");
    g_assert_cmpstr(model->layers[6].name, ==, "out");
    g_assert_cmpuint(model->dims.token_types, ==, 2);
    g_assert_cmpint(model->dims.activation, ==, ACT_RELU);
    model_free(model);
}

static void test_bad_files(void)
{
    static const struct {
        const char *from, *to, *want;
    } cases[] = {
        {"ff = 16\n", "ff = 16x\n", "tiny.ini:9: ff is '16x'"},
        {"ff = 16\n", "ff = 16 # wide\n", "tiny.ini:9: ff is"},
        {"ff = 16\n", "ff = -16\n", "tiny.ini:9: ff is '-16'"},
        {"ff = 16\n", "ff = +16\n", "tiny.ini:9: ff is '+16'"},
        {"ff = 16\n", "ff = 0x10\n", "tiny.ini:9: ff is '0x10'"},
        {"ff = 16\n", "ff = 16.0\n", "tiny.ini:9: ff is '16.0'"},
        {"ff = 16\n", "ff =\n", "tiny.ini:9: ff is ''"},
        {"ff = 16\n", "ff = 0\n", "tiny.ini:9: ff is '0'"},
        {"ff = 16\n", "ff = 4294967312\n", "tiny.ini:9: ff is '4294967312'"},
        {"ff = 16\n", "ff = 18446744073709551632\n", "tiny.ini:9: ff is '18446744073709551632'"},
        {"ff = 16\n", "ff = 2000000\n", "from 1 to 1048576"},
        {"ff = 16\n", "", "tiny.ini:2: [model] has no key 'ff'"},
        {"ff = 16\n", "fff = 16\n", "[model] has no key 'ff'"},
        {"ff = 16\n", "ff = 16\nwidth = 3\n", "tiny.ini:10: unknown key 'width' in [model]"},
        {"ff = 16\n", "ff = 16\nff = 16\n", "tiny.ini:10: key 'ff' stands on line 9 already"},
        {"ff = 16\n", "ff = 16\nff[de] = 16\n", "tiny.ini:10: 'ff[de]' is no name"},
        {"ff = 16\n", "ff 16\n", "tiny.ini:9: 'ff 16' is neither"},
        {"ff = 16\n", "= 16\n", "tiny.ini:9: '' is no name"},
        {"ff = 16\n", "ff = 1\x01\n", "tiny.ini:9: byte 0x01"},
        {"name = tiny", "name = t\xc3\xbcny", "tiny.ini:3: byte 0xc3"},
        {"name = tiny", "name =", "tiny.ini:3: name is empty"},
        {"task = class", "task = classes", "tiny.ini:5: task is 'classes', write one of tokens, class"},
        {"task = class\n", "task = tokens\n", "tiny.ini:5: task tokens needs a last group of kind head"},
        {"heads = 2", "heads = 3", "tiny.ini:8: heads is 3, write a divisor of d-model, which is 8"},
        {"seq-len = 4", "seq-len = 7", "tiny.ini:11: seq-len is 7, write at most the number of positions, 6"},
        {"activation = relu", "activation = tanh", "tiny.ini:15: activation is 'tanh'"},
        {"[model]", "name = x\n[model]", "tiny.ini:2: 'name = x' stands before the first [group]"},
        {"[model]", "[models]", "there is no group [model]"},
        {"[model]", "[mo del]", "tiny.ini:2: 'mo del' is no name"},
        {"[pool]", "[block]", "tiny.ini:21: group 'block' stands on line 19 already"},
        {"[pool]", "[block1]", "tiny.ini:21: [block1] names layers, write it without digits"},
        {"[pool]", "[pool", "tiny.ini:21: '[pool' is neither"},
        {"kind=pooler", "kind=pooling", "tiny.ini:22: kind is 'pooling', write one of embedding, encoder"},
        {"kind=pooler", "kind=encoder",
         "tiny.ini:22: kind encoder stands in a wrong place, put it right after kind embedding"},
        {"kind=pooler", "kind=embedding",
         "tiny.ini:22: kind embedding stands in a wrong place, put it before all"},
        {"kind=pooler", "kind=pooler\nlayers=3", "tiny.ini:23: unknown key 'layers' in [pool]"},
        {"kind=pooler", "", "tiny.ini:21: [pool] has no key 'kind'"},
        {"[emb]\nkind = embedding\n", "", "tiny.ini:18: kind encoder stands in a wrong place"},
        {"[out]\nkind = classifier\n", "", "tiny.ini:5: task class needs a last group of kind classifier"},
        {"ff = 16\n", "ff = 16\nnorm = before\n", "tiny.ini:10: norm is 'before', write one of post, pre"},
        {"ff = 16\n", "ff = 16\ncausal = 1\n", "tiny.ini:10: causal is '1', write one of no, yes"},
        {"ff = 16\n", "ff = 16\ntied = yes\n", "tiny.ini:10: tied is about a head"},
        {"ff = 16\n", "ff = 16\ndropout = 1\n", "tiny.ini:10: dropout is '1', write a number from 0 to 0.99"},
        {"ff = 16\n", "ff = 16\nposition-kind = sine\n", "tiny.ini:13: unknown key 'positions' in [model]"},
        {"ff = 16\n", "ff = 16\nimage = 3\n", "tiny.ini:10: unknown key 'image' in [model]"},
        {"kind=pooler", "kind=dense",
         "tiny.ini:22: kind dense stands in a wrong place, put it right after kind bag"},
        {"kind=pooler", "kind=norm",
         "tiny.ini:24: kind classifier stands in a wrong place, put it right after kind "
         "pooler or dense or basic or bottleneck"},
        {"[out]\n", "[tail]\n[out]\n", "tiny.ini:23: [tail] has no key 'kind'"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = replaced(cases[i].from, cases[i].to);
        refused(text, NULL, cases[i].want);
    }
    refused("", NULL, "tiny.ini: holds nothing");
    g_autofree char *longer = g_strnfill(70000, '#');
    refused(longer, NULL, "tiny.ini: more than 64 KiB");
    g_autofree char *huge = replaced("layers = 2\nd-model = 8\n", "layers = 10000\nd-model = 65536\n");
    g_auto(GStrv) parts = g_strsplit(huge, "seq-len = 4\npositions = 6", -1);
    g_autofree char *huger = g_strjoinv("seq-len = 1048576\npositions = 1048576", parts);
    refused(huger, NULL, "tiny.ini:2: the model is too large to count");
}

static void test_line_ends(void)
{
    g_autofree char *text = replaced("\n", "\r\n");
    struct model *model = parse(text, NULL);
    g_assert_cmpuint(model->dims.ff, ==, 16);
    model_free(model);
    g_autofree char *tail = g_strndup(good, strlen(good) - 1);
    model_free(parse(tail, NULL));
    g_autofree char *marked = g_strconcat("\xef\xbb\xbf", text, NULL);
    model = parse(marked, NULL);
    g_assert_true(g_str_has_prefix(model->ini, "\xef\xbb\xbf") == false); /* it travels in plans */
    model_free(model);
}

static void test_overrides(void)
{
    struct model *model =
        parse(good, &(struct model_override){
                        .layers = 3, .d = 12, .heads = 4, .ff = 5, .vocab = 7, .seq = 9, .dtype = DTYPE_F64});
    g_assert_cmpuint(model->n_layers, ==, 9);
    g_assert_cmpuint(model->params[0].numel, ==, 7 * 12);
    g_assert_cmpuint(model->dims.seq, ==, 9);
    g_assert_cmpuint(model->dims.positions, ==, 9);
    g_assert_cmpuint(model->params[1].rows, ==, 9);
    g_assert_cmpint(model->dtype, ==, DTYPE_F64);
    model_free(model);
    model = parse(good, &(struct model_override){.seq = 5});
    g_assert_cmpuint(model->dims.positions, ==, 6);
    model_free(model);
    refused(good, &(struct model_override){.d = 9}, "--d-model 9 is not divisible by the 2 heads");
    refused(good, &(struct model_override){.heads = 3}, "--heads 3 does not divide the width 8");
    refused(good, &(struct model_override){.layers = 10001},
            "--layers 10001 is out of range, give 1 to 10000");
    refused(good, &(struct model_override){.vocab = 1}, "--vocab 1 is out of range");
    refused(good, &(struct model_override){.ff = UINT32_MAX}, "--ff 4294967295 is out of range");
    refused(good, &(struct model_override){.layers = 10000, .d = 65536, .seq = 1 << 20},
            "--layers 10000 makes");
}

/* --- what clusters use of the same reader */

static void test_numbers(void)
{
    static const char text[] = "[a]\nx = 1.5\ny = 0x10\nz = nan\nw = 1e999\nv = 2,5\nu = 1.5-2\n";
    g_autoptr(GError) error = NULL;
    struct ini *ini = ini_parse(text, "c.ini", &error);
    g_assert_no_error(error);
    double x = 0, seven = 7;
    g_assert_true(ini_double(ini, "a", "x", 0, 10, NULL, &x, &error));
    g_assert_cmpfloat(x, ==, 1.5);
    g_assert_true(ini_double(ini, "a", "none", 0, 10, &seven, &x, &error));
    g_assert_cmpfloat(x, ==, 7);
    g_assert_false(ini_done(ini, &error));
    g_assert_cmpstr(error->message, ==, "c.ini:3: unknown key 'y' in [a], remove it");
    g_clear_error(&error);
    for (const char *key = "yzwvu"; *key; key++) {
        const char name[] = {*key, 0};
        g_assert_false(ini_double(ini, "a", name, 0, 1e6, NULL, &x, &error));
        g_assert_nonnull(strstr(error->message, "write a number from 0 to 1e+06"));
        g_clear_error(&error);
    }
    g_assert_true(ini_done(ini, &error));
    g_assert_false(ini_has(ini, "a", "none"));
    ini_free(ini);
}

static void test_whole_numbers(void)
{
    static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "0x10", "1.0", "1e3", "18446744073709551616",
                                        "99999999999999999999", "4", "13"};
    uint64_t n = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_false(decimal_uint(wrong[i], 5, 12, &n));
    g_assert_true(decimal_uint("007", 5, 12, &n));
    g_assert_cmpuint(n, ==, 7);
    g_assert_true(decimal_uint("5", 5, 12, &n) && decimal_uint("12", 5, 12, &n));
    g_assert_true(decimal_uint("18446744073709551615", 0, UINT64_MAX, &n));
    g_assert_cmpuint(n, ==, UINT64_MAX);
    g_assert_false(decimal_uint("18446744073709551616", 0, UINT64_MAX, &n)); /* which wraps to 0 */
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/model/bert-base", test_bert);
    g_test_add_func("/model/mini", test_mini);
    g_test_add_func("/model/gpt2", test_gpt2);
    g_test_add_func("/model/transformer-lm", test_transformer_lm);
    g_test_add_func("/model/mlp", test_mlp);
    g_test_add_func("/model/resnet", test_resnet);
    g_test_add_func("/model/built-in", test_list);
    g_test_add_func("/model/offsets", test_offsets);
    g_test_add_func("/model/gemms", test_gemms);
    g_test_add_func("/model/counts", test_counts);
    g_test_add_func("/model/shapes", test_shapes);
    g_test_add_func("/model/file", test_tiny);
    g_test_add_func("/model/bad-files", test_bad_files);
    g_test_add_func("/model/line-ends", test_line_ends);
    g_test_add_func("/model/overrides", test_overrides);
    g_test_add_func("/ini/numbers", test_numbers);
    g_test_add_func("/decimal/whole-numbers", test_whole_numbers);
    return g_test_run();
}
