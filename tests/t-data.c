/* Initial weights and training data: their statistics, and that no split changes a number. */
#include <math.h>
#include <string.h>

#include "exec/data.h"
#include "tests/tap.h"

static struct model *load(const char *name, enum dtype dtype, uint32_t vocab)
{
    g_autoptr(GError) error = NULL;
    struct model *model = model_load(
        name, &(struct model_override){.layers = 1, .vocab = vocab, .dtype = (uint8_t)dtype}, &error);
    g_assert_no_error(error);
    return model;
}

static void check_init(const struct model *model, uint32_t param, const float *x)
{
    const uint64_t n = model->params[param].numel;
    double total = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        total += x[i];
        squares += (double)x[i] * x[i];
    }
    if (param_init(model, param) != INIT_NORMAL) {
        g_assert_cmpfloat(total, ==, param_init(model, param) == INIT_ONE ? (double)n : 0);
        g_assert_cmpfloat(squares, ==, total);
        return;
    }
    /* Five standard errors of a mean and of a standard deviation. */
    g_assert_cmpfloat(fabs(total / (double)n), <, 5 * 0.02 / sqrt((double)n));
    g_assert_cmpfloat_with_epsilon(sqrt(squares / (double)n), 0.02, 5 * 0.02 / sqrt(2 * (double)n));
}

/* No two parameters of a layer begin alike, unless both are constant. */
static void check_apart(const struct model *model, const struct layer *layer, const float *block)
{
    for (uint32_t p = layer->first_param; p < layer->first_param + layer->n_params; p++)
        for (uint32_t q = layer->first_param; q < p; q++)
            if (param_init(model, p) == INIT_NORMAL && param_init(model, q) == INIT_NORMAL)
                g_assert_cmpint(memcmp(block + model->params[p].offset, block + model->params[q].offset, 64),
                                !=, 0);
}

static void test_init(void)
{
    struct model *model = load("mini", DTYPE_F32, 0), *wide = load("mini", DTYPE_F64, 0);
    for (uint32_t l = 0; l < model->n_layers; l++) {
        const uint64_t n = model->layers[l].numel;
        g_autofree float *a = g_new(float, n), *b = g_new(float, n);
        g_autofree double *c = g_new(double, n);
        data_init_layer(model, l, 1, a);
        data_init_layer(model, l, 2, b);
        data_init_layer(wide, l, 1, c);
        uint64_t equal = 0;
        for (uint64_t i = 0; i < n; i++) {
            g_assert_cmpfloat(a[i], ==, (float)c[i]);
            equal += a[i] == b[i] && a[i] != 0 && a[i] != 1;
        }
        g_assert_cmpuint(equal, <, n / 1000 + 10);
        check_apart(model, &model->layers[l], a);
        for (uint32_t p = model->layers[l].first_param;
             p < model->layers[l].first_param + model->layers[l].n_params; p++)
            check_init(model, p, a + model->params[p].offset);
    }
    model_free(model);
    model_free(wide);
}

static void check_split(const struct model *model)
{
    enum { N = 7 };
    const uint32_t seq = model->dims.seq, per = model->task == TASK_TOKENS ? seq : 1;
    g_assert_cmpuint(model_input_bytes(model, N), ==, N * (seq + per) * sizeof(int32_t));
    g_autofree int32_t *whole = g_malloc(model_input_bytes(model, N)),
                       *part = g_malloc(model_input_bytes(model, N));
    data_fill(model, 5, 3, 10, N, whole);
    for (uint32_t first = 0; first < N; first++)
        for (uint32_t n = 0; first + n <= N; n++) {
            data_fill(model, 5, 3, 10 + first, n, part);
            g_assert_cmpmem(part, n * seq * sizeof *part, whole + first * seq, n * seq * sizeof *part);
            g_assert_cmpmem(part + n * seq, n * per * sizeof *part, whole + N * seq + first * per,
                            n * per * sizeof *part);
        }
    data_fill(model, 5, 4, 10, N, part);
    g_assert_cmpint(memcmp(part, whole, N * seq * sizeof *part), !=, 0);
    data_fill(model, 6, 3, 10, N, part);
    g_assert_cmpint(memcmp(part, whole, N * seq * sizeof *part), !=, 0);
}

static void test_split(void)
{
    static const char *const names[] = {"mini", "bert-base"};
    for (int i = 0; i < 2; i++) {
        struct model *model = load(names[i], DTYPE_F32, 0);
        check_split(model);
        model_free(model);
    }
}

/* Token k and below has probability ((k + 1) / vocab)^(1/4); equal tokens have equal targets, other tokens
 * others. */
static void check_tokens(uint32_t vocab)
{
    enum { N = 2000 };
    struct model *model = load("mini", DTYPE_F32, vocab);
    const uint32_t n = N * model->dims.seq, bound = vocab / 3;
    g_autofree int32_t *data = g_malloc(model_input_bytes(model, N)), *target_of = g_new(int32_t, vocab);
    g_autofree int32_t *source_of = g_new(int32_t, vocab);
    memset(target_of, -1, vocab * sizeof *target_of);
    memset(source_of, -1, vocab * sizeof *source_of);
    data_fill(model, 1, 0, 0, N, data);
    uint32_t low = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t token = data[i], target = data[n + i];
        g_assert_cmpint(token, >=, 0);
        g_assert_cmpint(token, <, (int32_t)vocab);
        g_assert_cmpint(target, >=, 0);
        g_assert_cmpint(target, <, (int32_t)vocab);
        low += (uint32_t)token <= bound;
        if (target_of[token] < 0)
            target_of[token] = target;
        if (source_of[target] < 0)
            source_of[target] = token;
        g_assert_cmpint(target_of[token], ==, target);
        g_assert_cmpint(source_of[target], ==, token);
    }
    const double expected = pow((bound + 1) / (double)vocab, 0.25);
    g_assert_cmpfloat_with_epsilon(low / (double)n, expected, 5 * sqrt(expected * (1 - expected) / n) + 1e-6);
    model_free(model);
}

static void test_tokens(void)
{
    check_tokens(2);
    check_tokens(3);
    check_tokens(1000);
    check_tokens(8192);
}

static void test_classes(void)
{
    enum { N = 3000 };
    struct model *model = load("bert-base", DTYPE_F32, 0);
    const uint32_t seq = model->dims.seq, classes = model->dims.classes;
    g_autofree int32_t *data = g_malloc(model_input_bytes(model, N));
    uint32_t count[16] = {0};
    g_assert_cmpuint(classes, <=, 16);
    data_fill(model, 1, 0, 0, N, data);
    for (uint32_t i = 0; i < N; i++) {
        g_assert_cmpint(data[N * seq + i], ==, data[i * seq] % (int32_t)classes);
        count[data[N * seq + i]]++;
    }
    for (uint32_t c = 0; c < classes; c++)
        g_assert_cmpuint(count[c], >, N / classes / 2);
    model_free(model);
}

int main(int argc, char **argv)
{
    tap_init(&argc, &argv);
    g_test_add_func("/data/init", test_init);
    g_test_add_func("/data/split", test_split);
    g_test_add_func("/data/tokens", test_tokens);
    g_test_add_func("/data/classes", test_classes);
    return g_test_run();
}
